use super::{DocumentText, Event, RunId, SessionCommand, SessionUpdate};
use crate::domain::Complexity;

/// What the screen asks of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Answer this. Ignored while a run is going on.
    Ask {
        /// The question.
        query: String,
        /// The route the user chose, if any.
        route: Option<Complexity>,
        /// The run whose question this is once more, the first of them.
        retry_of: Option<RunId>,
    },
    /// Answer this by the short way and by the full pipeline at the same time. Ignored while a run
    /// is going on.
    Race {
        /// The question.
        query: String,
    },
    /// Stop what is going on, if anything.
    Cancel,
    /// Forget the conversation.
    Forget,
    /// Read a document for the person in front of the screen. A later one takes the place of one
    /// that is not answered yet.
    ReadDocument {
        /// Its file, as evidence names it.
        source: String,
        /// Around which line, from 1.
        line: usize,
    },
    /// Something about recorded conversations.
    Session(SessionCommand),
}

/// What the screen is told: the stream, and what lies outside any run.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The next event of a run.
    Event(Event),
    /// What the knowledge base holds now.
    Knowledge(KnowledgeStatus),
    /// A document that was asked for.
    Document(DocumentText),
    /// Recorded conversations.
    Session(SessionUpdate),
    /// One line for the person in front of the screen.
    Notice {
        /// Whether something is wrong.
        level: NoticeLevel,
        /// The line.
        message: String,
    },
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something does not work as it should.
    Warning,
}

/// What the knowledge base holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeStatus {
    /// What to call it: the folder's name, or `demo-kb`.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that still wait for their embedding; 0 when all is ready.
    pub pending: usize,
    /// Whether the index is being brought up to date: folders read, chunks embedded.
    pub indexing: bool,
    /// Whether changes of the files are taken up as they are made.
    pub watching: bool,
}
