//! The lines of the path pane, and what can be selected in them.

use crate::domain::{Edge, NodeName};

use super::ink::Row;

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
