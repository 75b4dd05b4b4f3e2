//! What keys can do, and where they mean something, by the names of the table.

use serde::Deserialize;

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
    /// Moves one row up.
    Up,
    /// Moves one row down.
    Down,
    /// Moves one page up.
    PageUp,
    /// Moves one page down.
    PageDown,
    /// Selects the first row.
    First,
    /// Selects the last row.
    Last,
    /// Show more of what is selected.
    Open,
    /// Show more or less of what is selected, where it stands.
    Unfold,
    /// The path as it ran, or the graph.
    Unroll,
    /// Narrow the audit list.
    Filter,
    /// Shows the next event in the window of an event.
    NextEvent,
    /// Shows the previous event in the window of an event.
    PreviousEvent,
    /// Selects the next warning.
    NextWarning,
    /// Selects the previous warning.
    PreviousWarning,
    /// Shows one pane alone.
    Zoom,
    /// Shows all keys.
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
    /// Lists recorded conversations.
    Sessions,
    /// Lists earlier questions.
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
    /// Shows which engine answers.
    ShowEngine,
    /// Which model does which job, to choose from.
    ChooseModel,
    /// Goes to the next job in the list of models.
    NextJob,
    /// Goes to the previous job in the list of models.
    PreviousJob,
    /// Forget the conversation.
    Forget,
    /// Leave at once.
    Leave,
    /// Selects the next item of evidence.
    NextEvidence,
    /// Selects the previous item of evidence.
    PreviousEvidence,
    /// Selects the next citation of the answer.
    NextCitation,
    /// Selects the previous citation of the answer.
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
    /// Replays one event forward.
    StepForward,
    /// Replays one event back.
    StepBack,
    /// Goes to where the next node is entered.
    NextNode,
    /// Goes to where this node was entered, or the node before.
    PreviousNode,
    /// Goes to the first event.
    ToStart,
    /// Goes to the last event.
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
    /// Choose the route of the questions to come.
    Route,
    /// Choose the colours.
    Theme,
    /// Ask by two routes at once.
    Race,
    /// Take up another folder or file.
    Add,
}

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
