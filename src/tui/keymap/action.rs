//! What keys can do, and a line of the table.

use serde::Deserialize;

use crate::tui::keys::Key;

use super::key_context::KeyContext;

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Send the question, or run the command that is typed.
    Send,
    /// Break the line.
    Newline,
    /// The question asked before.
    HistoryPrevious,
    /// The question asked after.
    HistoryNext,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Show more of what is selected.
    Open,
    /// Show more or less of what is selected, where it stands.
    Unfold,
    /// The path as it ran, or the graph.
    Unroll,
    /// Narrow the audit list.
    Filter,
    /// In the window of an event: to the next event.
    NextEvent,
    /// In the window of an event: to the event before.
    PreviousEvent,
    /// To the next warning.
    NextWarning,
    /// To the warning before.
    PreviousWarning,
    /// One pane alone.
    Zoom,
    /// All keys.
    Help,
    /// The keys go to the next pane.
    NextPane,
    /// The keys go to the pane before.
    PreviousPane,
    /// The keys go to the chat pane.
    FocusChat,
    /// The keys go to the path pane.
    FocusPath,
    /// The keys go to the evidence pane.
    FocusEvidence,
    /// The keys go to the audit pane.
    FocusAudit,
    /// The panes show the run before.
    PreviousRun,
    /// The panes show the run after.
    NextRun,
    /// Choose a route and ask again.
    Retry,
    /// Recorded conversations.
    Sessions,
    /// Earlier questions.
    Recall,
    /// Give it another name.
    Rename,
    /// Leave it out.
    Delete,
    /// Write it to a file.
    Export,
    /// Two runs side by side.
    Compare,
    /// Take over what is selected in the list above the prompt.
    Complete,
    /// All that can be done, to choose from.
    Palette,
    /// Search in the conversation.
    Find,
    /// Sample questions to choose from.
    Samples,
    /// What the conversation came to.
    Stats,
    /// What is indexed and what is not.
    ShowIndex,
    /// What the knowledge base is made of.
    ShowSources,
    /// Which engine answers.
    ShowEngine,
    /// Which model does which job, to choose from.
    ChooseModel,
    /// In the list of models: for the next job.
    NextJob,
    /// For the job before.
    PreviousJob,
    /// Forget the conversation.
    Forget,
    /// Leave at once.
    Leave,
    /// To the next item of evidence.
    NextEvidence,
    /// To the item of evidence before.
    PreviousEvidence,
    /// To the next citation of the answer.
    NextCitation,
    /// To the citation before.
    PreviousCitation,
    /// Copy what is shown.
    Copy,
    /// Copy the run as Markdown.
    CopyRun,
    /// Mouse reporting off, so that the terminal selects, or on again.
    Mouse,
    /// Letters act on the answer that is chosen.
    ActOnAnswer,
    /// Open the file in the person's editor.
    Edit,
    /// Stop the run, else close what is open.
    Cancel,
    /// Clear the question; twice: leave.
    Quit,
    /// Back to the shell, which brings it back with `fg`.
    Suspend,
    /// Replay the run that is shown.
    Replay,
    /// Let the replay go on by itself, or stop it.
    Play,
    /// To the state after the next event.
    StepForward,
    /// To the state before the last event.
    StepBack,
    /// To where the next node is entered.
    NextNode,
    /// To where this node was entered, or the node before.
    PreviousNode,
    /// To the first event.
    ToStart,
    /// To the last event.
    ToEnd,
    /// Play faster.
    Faster,
    /// Play more slowly.
    Slower,
    /// Give every event time to be seen, or the time that it took.
    Slow,
    /// What the run would have done within other limits.
    WhatIf,
    /// Move what is selected down a step.
    Less,
    /// Move it up a step.
    More,
    /// Move it far down.
    MuchLess,
    /// Move it far up.
    MuchMore,
    /// All as it was.
    Reset,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The keys, the one to show first.
    pub keys: Vec<Key>,
    /// What they do.
    pub action: Action,
    /// Where.
    pub place: KeyContext,
    /// The word in the last line of the screen.
    pub hint: Option<String>,
    /// The line in help; an empty one is listed with another key.
    pub help: String,
}
