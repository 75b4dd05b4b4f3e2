//! What the panes and the list above the prompt hold besides the run that they show.

use std::collections::BTreeSet;

use crate::domain::{Edge, NodeName};
use crate::protocol::{NoticeLevel, RunId, Timestamp};

use super::ink::Row;
use super::keymap::Action;
use super::matching::MatchingNames;

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
    /// How wide its items are.
    pub widths: Option<ItemWidths>,
}

/// The widest of the items of a run, in cells.
#[derive(Debug, Clone)]
pub struct ItemWidths {
    /// Id of the run.
    pub run: RunId,
    /// Revision of the evidence that was measured.
    pub revision: u64,
    /// Width of file and lines.
    pub place: usize,
    /// Width of the score at each level of detail, in the order of `ScoreDetail::ALL`.
    pub judged: [usize; 3],
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
    /// The turns that have their rows, the one that was needed last at the end.
    pub laid_out: Vec<usize>,
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
    pub names: MatchingNames,
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
        self.top = self
            .top
            .min(self.selected)
            .max((self.selected + 1).saturating_sub(height))
            .min(count.saturating_sub(height));
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
