//! What the panes and the list above the prompt hold besides the run that they show.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use serde::{Deserialize, Serialize};

use crate::domain::{Edge, NodeName};
use crate::protocol::{NoticeLevel, Timestamp};

use super::ink::Row;
use super::keymap::Action;

/// One line for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something is wrong.
    pub level: NoticeLevel,
    /// The line, clean.
    pub message: String,
}

/// What a pane shows, as settled.
#[derive(Debug, Clone, Default)]
pub struct DrawnRows {
    /// The rows that are seen.
    pub rows: Vec<Row>,
    /// What each of them is of: a place in [`PathItem::ALL`], an item of evidence, a line of the audit
    /// pane.
    pub items: Vec<Option<usize>>,
    /// Which of them is selected.
    pub selected: Option<usize>,
}

impl DrawnRows {
    /// What the row is of.
    pub fn item(&self, row: usize) -> Option<usize> {
        self.items.get(row).copied().flatten()
    }

    /// The rows that are of such an item.
    pub fn rows_where(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let items = self.items.iter().enumerate();
        let wanted = items.filter(|(_, item)| item.is_some_and(&is_wanted));
        wanted.map(|(row, _)| row).collect()
    }
}

/// The path pane.
#[derive(Debug, Clone, Default)]
pub struct PathState {
    /// Whether it shows the path as it ran.
    pub unrolled: bool,
    /// What was selected: the other panes mark what belongs to it.
    pub selected: Option<PathItem>,
    /// How far it is scrolled.
    pub list: List,
    /// What is seen; where it is drawn visit by visit, no row is of an item.
    pub drawn: DrawnRows,
}

/// The evidence pane.
#[derive(Debug, Clone, Default)]
pub struct EvidenceState {
    /// Whether the selected passage takes half of the pane.
    pub expanded: bool,
    /// The selected row.
    pub list: List,
    /// What is seen.
    pub drawn: DrawnRows,
}

/// The audit pane.
#[derive(Debug, Clone, Default)]
pub struct AuditState {
    /// What is seen.
    pub drawn: DrawnRows,
    /// Selection; following means at the end.
    pub list: List,
    /// Whether the user scrolled away from the end.
    pub left_end: bool,
    /// Events of groups that are unfolded.
    pub unfolded: BTreeSet<(Timestamp, u64)>,
    /// Only events that contain this.
    pub filter: String,
    /// Whether the filter is being typed.
    pub typing: bool,
}

/// What the conversation shows at present.
#[derive(Debug, Clone, Default)]
pub struct ChatScroll {
    /// Turn and row at the top; `None` follows what comes.
    pub anchor: Option<(usize, usize)>,
    /// Whether the end is followed also where the last answer is longer than the pane, whose beginning
    /// is shown otherwise.
    pub at_end: bool,
    /// Whether there is more below what is seen, though nothing was scrolled.
    pub goes_on: bool,
    /// Rows to move before the next drawing.
    pub moving: isize,
    /// Rows that are seen.
    pub height: usize,
    /// Turn and row of the first of these rows.
    pub from: (usize, usize),
    /// The rows, as settled.
    pub visible: Vec<Row>,
    /// The turn of each of these rows; the last number stands for what comes after them all.
    pub turns: Vec<usize>,
    /// Which citation of the shown run is selected: its place in their list.
    pub citation: Option<usize>,
    /// Whether the answer that the panes show is chosen, and what letters are for then.
    pub chosen: AnswerFocus,
    /// Whether the selected citation, or else the chosen answer, is to be brought in sight.
    pub reveal: bool,
}

impl ChatScroll {
    /// Moves by rows.
    pub fn step(&mut self, by: isize) {
        self.moving = self.moving.saturating_add(by);
    }

    /// Moves by pages.
    pub fn page(&mut self, pages: isize) {
        self.step(pages * self.height.saturating_sub(2).max(1).cast_signed());
    }

    /// Scrolls to the beginning.
    pub fn first(&mut self) {
        self.anchor = Some((0, 0));
        self.moving = 0;
    }

    /// Scrolls to the end and stays there.
    pub fn last(&mut self) {
        self.follow();
        self.at_end = true;
    }

    /// Follows what is added, showing the beginning of it where it is long.
    pub fn follow(&mut self) {
        self.anchor = None;
        self.moving = 0;
        self.at_end = false;
    }

    /// Whether nothing was scrolled.
    pub fn is_following(&self) -> bool {
        self.anchor.is_none()
    }
}

/// What was done about the answer that the panes show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerFocus {
    /// Nothing.
    #[default]
    No,
    /// It was gone to. Letters are typed all the same.
    Yes,
    /// Letters act on it, until something is typed.
    ActedOn,
}

/// The list above the prompt: what is selected, and what the selection belongs to.
#[derive(Debug, Clone, Default)]
pub struct Menu {
    /// The selected row.
    pub list: List,
    /// The text that the rows were made for.
    pub text: String,
    /// Whether it was closed; typing opens it again.
    pub closed: bool,
    /// Names that match what stands after an `@`.
    pub names: Vec<String>,
    /// What may stand after the colon of a filter, each as the filter is written then, and what it is.
    pub filters: Vec<(String, String)>,
    /// Paths that begin as what stands after `/add`.
    pub paths: Vec<String>,
}

/// The panes, in the order of the Tab key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pane {
    /// Conversation and prompt.
    #[default]
    Chat,
    /// The graph and the way through it.
    Path,
    /// What the answer rests on.
    Evidence,
    /// Every event.
    Audit,
}

impl Pane {
    /// All panes in the order of the Tab key.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Path, Self::Evidence, Self::Audit];

    /// What the title says.
    pub fn title(self) -> &'static str {
        match self {
            Self::Chat => "Chat",
            Self::Path => "Path",
            Self::Evidence => "Evidence",
            Self::Audit => "Audit",
        }
    }

    /// The pane that many places further.
    #[must_use]
    pub fn step(self, by: isize) -> Self {
        let at = self as isize + by;
        Self::ALL[at.rem_euclid(Self::ALL.len().cast_signed()) as usize]
    }
}

/// Which row is selected and which is the first one seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct List {
    /// The selected row.
    pub selected: usize,
    /// The first row seen.
    pub top: usize,
    /// Rows seen, as last settled.
    height: usize,
}

impl List {
    /// What the keys that move do in every list; `false` for another action.
    pub fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.page(-1),
            Action::PageDown => self.page(1),
            Action::First => self.first(),
            Action::Last => self.last(usize::MAX),
            _ => return false,
        }
        true
    }

    /// Moves the selection.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by);
    }

    /// Moves the selection by pages.
    pub fn page(&mut self, pages: isize) {
        let rows = self.height.saturating_sub(1).max(1).cast_signed();
        self.step(pages * rows);
    }

    /// Selects the first row.
    pub fn first(&mut self) {
        self.selected = 0;
    }

    /// Selects the last of `count` rows.
    pub fn last(&mut self, count: usize) {
        self.selected = count.saturating_sub(1);
    }

    /// Keeps the selection within the list and in sight.
    pub fn settle(&mut self, count: usize, height: usize) {
        self.height = height;
        self.selected = self.selected.min(count.saturating_sub(1));
        let lowest = (self.selected + 1).saturating_sub(height);
        let top = self.top.min(self.selected).max(lowest);
        self.top = top.min(count.saturating_sub(height));
    }

    /// For text without a selected row: the selection is the first row seen.
    pub fn settle_view(&mut self, count: usize, height: usize) {
        self.height = height;
        self.selected = self.selected.min(count.saturating_sub(height));
        self.top = self.selected;
    }
}

/// What can be selected in the path pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathItem {
    /// A node.
    Node(NodeName),
    /// The line of calls made and saved.
    Meter,
}

impl PathItem {
    /// All variants from top to bottom.
    pub const ALL: [Self; 6] = [
        Self::Node(NodeName::AnalyzeAndRoute),
        Self::Node(NodeName::Plan),
        Self::Node(NodeName::ToolExec),
        Self::Node(NodeName::GradeEvidence),
        Self::Node(NodeName::Synthesize),
        Self::Meter,
    ];

    /// Its place among these.
    pub fn place(self) -> usize {
        match self {
            Self::Node(node) => node as usize,
            Self::Meter => Self::ALL.len() - 1,
        }
    }
}

/// One line of the pane.
#[derive(Debug, Clone)]
pub struct PathLine {
    /// What it tells of.
    pub item: PathItem,
    /// Whether it is the item's own line, and no edge or explanation below it.
    pub is_head: bool,
    /// What is drawn.
    pub row: Row,
    /// How much it matters.
    pub rank: Rank,
    /// The edge that it tells of.
    pub edge: Option<&'static Edge>,
}

impl PathLine {
    /// The line of the item itself.
    pub fn head(item: PathItem, row: Row) -> Self {
        Self {
            item,
            is_head: true,
            row,
            rank: Rank::Needed,
            edge: None,
        }
    }

    /// An edge or an explanation below a node.
    pub fn below(name: NodeName, rank: Rank, row: Row) -> Self {
        Self {
            item: PathItem::Node(name),
            is_head: false,
            row,
            rank,
            edge: None,
        }
    }
}

/// What goes last comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Nodes, what was decided, the meter.
    Needed,
    /// What decided the route.
    Cue,
    /// Loops that were not taken.
    Loop,
    /// The plan.
    Plan,
    /// Connectors without words.
    Connector,
    /// Short cuts that were not taken.
    ShortCut,
    /// Parts of the question, tool calls.
    Extra,
}

impl Rank {
    /// All variants, from the one that needs most room to the one that needs least.
    pub const FROM_ALL: [Self; 7] = [
        Self::Extra,
        Self::ShortCut,
        Self::Connector,
        Self::Plan,
        Self::Loop,
        Self::Cue,
        Self::Needed,
    ];
}

// What the mouse holds: a press, a selection, a border between panes.

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
mod list_tests {
    use super::*;

    #[test]
    fn the_selection_stays_in_sight() {
        let mut list = List::default();
        list.settle(100, 10);
        list.step(15);
        list.settle(100, 10);
        assert_eq!((list.selected, list.top), (15, 6));
        list.last(100);
        list.settle(100, 10);
        assert_eq!((list.selected, list.top), (99, 90));
        list.settle(3, 10);
        assert_eq!((list.selected, list.top), (2, 0));
        list.settle(0, 0);
        assert_eq!((list.selected, list.top), (0, 0));
    }
}

#[cfg(test)]
mod pointer_tests {
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
