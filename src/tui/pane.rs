//! The panes by name.

/// The panes, in the order of the Tab key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// Conversation and prompt.
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
