//! What the mouse holds: a press, a selection, a border between panes.

use std::time::{Duration, Instant};

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use serde::{Deserialize, Serialize};

/// Clicks that follow sooner belong together.
const TOGETHER: Duration = Duration::from_millis(400);

/// What the mouse holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pointer {
    /// Where the button went down, while it is down.
    pub pressed: Option<Position>,
    /// The border that is dragged.
    pub divider: Option<Divider>,
    /// The text that is selected.
    pub selection: Option<Selection>,
}

/// Tells single clicks from those that follow in quick succession.
#[derive(Debug, Default)]
pub struct Clicks {
    last: Option<(Instant, u16, u16)>,
    count: u8,
}

impl Clicks {
    /// What this click selects, if it follows others at the same place.
    pub fn unit(&mut self, event: MouseEvent, now: Instant) -> Option<ClickUnit> {
        if event.kind != MouseEventKind::Down(MouseButton::Left) {
            return None;
        }
        let follows = self.last.is_some_and(|(before, column, row)| {
            now.duration_since(before) < TOGETHER && (column, row) == (event.column, event.row)
        });
        self.count = if follows { self.count % 3 + 1 } else { 1 };
        self.last = Some((now, event.column, event.row));
        match self.count {
            2 => Some(ClickUnit::Word),
            3 => Some(ClickUnit::Line),
            _ => None,
        }
    }
}

/// A border between panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divider {
    /// Between the chat and the panes beside it.
    Side,
    /// Below the path pane.
    Path,
    /// Below the evidence pane.
    Evidence,
    /// Below the chat, where one pane is.
    Chat,
}

/// What the panes take of the room, in thousandths; `None` until they are dragged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Split {
    /// The panes beside the chat, of the width.
    pub side: Option<u16>,
    /// The path pane, of the height.
    pub path: Option<u16>,
    /// The evidence pane, of what the path pane leaves.
    pub evidence: Option<u16>,
    /// The chat above one pane, of the height.
    pub chat: Option<u16>,
}

impl Split {
    /// How much a pane takes of `whole`.
    pub fn part(share: Option<u16>, whole: u16, otherwise: u16, least: u16, most: u16) -> u16 {
        let Some(share) = share else {
            return otherwise;
        };
        let part = (u32::from(whole) * u32::from(share) + 500) / 1000;
        (part as u16).min(most).max(least)
    }

    /// The border was dragged to there.
    pub fn drag(&mut self, border: &Border, to: Position) {
        let at = match border.divider {
            Divider::Side => to.x,
            Divider::Path | Divider::Evidence | Divider::Chat => to.y,
        };
        let part = u32::from(at.abs_diff(border.from));
        let share = (part * 1000 / u32::from(border.whole.max(1))).min(1000) as u16;
        *match border.divider {
            Divider::Side => &mut self.side,
            Divider::Path => &mut self.path,
            Divider::Evidence => &mut self.evidence,
            Divider::Chat => &mut self.chat,
        } = Some(share);
    }
}

/// A border as it stands on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Border {
    /// The divider that is drawn there.
    pub divider: Divider,
    /// Cells of the border.
    pub line: Rect,
    /// Where the part that it ends begins.
    pub from: u16,
    /// The total of which the part is taken.
    pub whole: u16,
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn clicks_in_quick_succession_select_more() {
        let click = |column| MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column,
            row: 1,
            modifiers: KeyModifiers::NONE,
        };
        let begin = Instant::now();
        let mut clicks = Clicks::default();
        for (after, column, unit) in [
            (0, 1, None),
            (100, 1, Some(ClickUnit::Word)),
            (200, 1, Some(ClickUnit::Line)),
            (300, 1, None),
            (1000, 1, None),
            (1100, 2, None),
            (1200, 2, Some(ClickUnit::Word)),
        ] {
            let now = begin + Duration::from_millis(after);
            assert_eq!(clicks.unit(click(column), now), unit, "{after}");
        }
    }
}

/// What clicks in quick succession select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickUnit {
    /// Two clicks select the word.
    Word,
    /// Three clicks select the line.
    Line,
}

/// A stretch of cells in reading order, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// The inside of what it began in.
    pub area: Rect,
    /// Where it began.
    pub anchor: Position,
    /// Where it ends.
    pub head: Position,
}

impl Selection {
    /// From first to last, row by row.
    pub fn ends(&self) -> (Position, Position) {
        let order = |at: Position| (at.y, at.x);
        if order(self.anchor) <= order(self.head) {
            (self.anchor, self.head)
        } else {
            (self.head, self.anchor)
        }
    }

    /// The columns selected in a row of the screen, the last one in it.
    pub fn columns(&self, y: u16) -> Option<(u16, u16)> {
        let (first, last) = self.ends();
        (first.y..=last.y).contains(&y).then(|| {
            let from = if y == first.y { first.x } else { self.area.x };
            let edge = self.area.right().saturating_sub(1);
            (from, if y == last.y { last.x } else { edge })
        })
    }
}
