//! What the panes hold besides the run that they show.

use std::collections::BTreeSet;

use crate::protocol::{NoticeLevel, Timestamp};

use super::list::List;
use super::panes::graph::{Line, PathItem};

/// One line for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something is wrong.
    pub level: NoticeLevel,
    /// The line, clean.
    pub message: String,
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
    /// The lines of the graph, as settled; none where it is drawn visit by visit.
    pub lines: Vec<Line>,
}

/// The evidence pane.
#[derive(Debug, Clone, Default)]
pub struct EvidenceState {
    /// Whether the selected passage takes half of the pane.
    pub expanded: bool,
    /// Selection.
    pub list: List,
}

/// The audit pane.
#[derive(Debug, Clone, Default)]
pub struct AuditState {
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
