//! Where the borders between panes stand, once they were dragged.

use ratatui::layout::{Position, Rect};
use serde::{Deserialize, Serialize};

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
