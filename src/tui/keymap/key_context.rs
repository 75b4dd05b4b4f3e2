//! Where keys mean something, by the names of the table.

use serde::Deserialize;

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyContext {
    /// The chat pane, where text is typed.
    Prompt,
    /// The chat pane while nothing is typed and the answer has citations.
    Answer,
    /// The chat pane while a citation is selected.
    Citation,
    /// The chat pane while an answer is chosen and nothing is typed.
    Chosen,
    /// The chat pane while letters act on the answer that is chosen.
    Acting,
    /// The search in the conversation.
    Find,
    /// Any of the other panes.
    List,
    /// The path pane.
    Path,
    /// The evidence pane.
    Evidence,
    /// The audit pane.
    Audit,
    /// The window of an event.
    Event,
    /// The source view.
    Source,
    /// The details of a node.
    Detail,
    /// A replay.
    Replay,
    /// The list of recorded conversations.
    Sessions,
    /// The list of models.
    Models,
    /// The search in earlier questions.
    Recall,
    /// A list to choose from that is typed into.
    Menu,
    /// The window of limits that can be moved.
    WhatIf,
    /// What lies above the panes.
    Overlay,
    /// Everywhere below an overlay.
    Global,
}

impl KeyContext {
    /// What help calls it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Prompt => "In the chat",
            Self::Answer => "In the chat, while nothing is typed",
            Self::Citation => "On a citation",
            Self::Chosen => "On an answer (a click, Alt+↑, Alt+↓)",
            Self::Acting => "Acting on an answer",
            Self::Find => "While searching the conversation",
            Self::List => "In the other panes and in windows",
            Self::Path => "Path",
            Self::Evidence => "Evidence",
            Self::Audit => "Audit",
            Self::Event => "In an event's window",
            Self::Source => "In the source view",
            Self::Replay => "In a replay",
            Self::WhatIf => "What if",
            Self::Sessions => "In the list of sessions",
            Self::Models => "In the list of models",
            Self::Recall => "In the search of earlier questions",
            Self::Menu => "In a list while something is typed",
            Self::Detail | Self::Overlay => "In a window like this",
            Self::Global => "Everywhere",
        }
    }
}
