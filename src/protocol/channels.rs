use super::{
    DocumentText, Event, KnowledgeContents, LabelChange, ModelCommand, ModelUpdate, QuestionPlace,
    RerunRequest, RunHistory, RunId, SessionCommand, SessionUpdate, Timestamp,
};
use crate::domain::{Complexity, Languages, Wait};

/// What the screen asks of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Answer this. Ignored while a run is going on.
    Ask {
        /// The question.
        query: String,
        /// The route the user chose, if any.
        route: Option<Complexity>,
        /// Where it stands in the conversation.
        place: QuestionPlace,
    },
    /// Answer this by the short way and by the full pipeline at the same time. Ignored while a run
    /// is going on.
    Race {
        /// The question.
        query: String,
        /// Where it stands in the conversation.
        place: QuestionPlace,
    },
    /// Answer a question from a node of an earlier run on. Ignored while a run is going on.
    Rerun(Box<RerunRequest>),
    /// Stop what is going on, if anything.
    Cancel,
    /// Forget the conversation.
    Forget,
    /// Read a document for the person in front of the screen. A later one takes the place of one
    /// that is not answered yet.
    ReadDocument {
        /// Its file, as evidence names it.
        source: String,
        /// The line to show, counted from 1.
        line: usize,
    },
    /// Say why a passage is or is not in what a run found. A later one takes the place of one that is not
    /// answered yet.
    Explain {
        /// The run.
        run: RunId,
        /// The document, as evidence names it.
        source: String,
        /// A line of the passage.
        line: usize,
    },
    /// Something about recorded conversations.
    Session(SessionCommand),
    /// Something about the index.
    Index(IndexCommand),
    /// Something about models.
    Model(ModelCommand),
    /// Keep what the person says of a run.
    Label(LabelChange),
    /// Write these settings, each with its value, to the person's own settings file.
    KeepSettings(Vec<(String, String)>),
    /// Take up this folder or file, too, as long as the screen is open.
    AddSource(String),
    /// Tell what a path that begins so may be.
    ListPaths(String),
    /// Sum up all recorded runs.
    ReadStatistics,
    /// Stop summing up; the result is not needed any more.
    LeaveStatistics,
}

/// What the screen asks about the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexCommand {
    /// Leave it as it is until this is resumed, or until the next start.
    Stop,
    /// Keep it up to date again.
    Resume,
}

/// What the screen receives: the stream, and what lies outside any run.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The next event of a run.
    Event(Event),
    /// What is waited for before the run of the last question begins.
    Starting {
        /// What is waited for.
        wait: Wait,
        /// When the wait began.
        at: Timestamp,
    },
    /// What the knowledge base holds now.
    Knowledge(KnowledgeStatus),
    /// What its documents are, whenever they have changed.
    Contents(KnowledgeContents),
    /// A document that was asked for.
    Document(DocumentText),
    /// Why a passage is or is not in what a run found.
    Explained {
        /// The document, as it was asked for.
        source: String,
        /// The answer, a line each, the first a sentence that says all.
        lines: Vec<String>,
    },
    /// A question is not asked, because what it names to be kept within is not there.
    NotAsked {
        /// The question.
        query: String,
        /// Why; one line.
        reason: String,
    },
    /// Recorded conversations.
    Session(SessionUpdate),
    /// Models.
    Model(ModelUpdate),
    /// A label is not kept.
    NotLabelled {
        /// Which.
        change: LabelChange,
        /// Why; one line.
        reason: String,
    },
    /// What all recorded runs came to; or why that is not known, in one line.
    Statistics(Result<Box<RunHistory>, String>),
    /// Folders, with a `/` at their end, and files whose paths begin so.
    Paths {
        /// The path as it was typed.
        typed: String,
        /// Matching paths in the order of their names.
        paths: Vec<String>,
    },
    /// A folder or file is taken up, or it is not; one line says so.
    SourceAdded(Result<String, String>),
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
    /// What its embedding is for, where that is a built-in one.
    pub languages: Option<Languages>,
    /// Whether the index is being brought up to date: folders read, chunks embedded.
    pub indexing: bool,
    /// How far that is, where it can be counted.
    pub progress: Option<IndexProgress>,
    /// Whether the person stopped it.
    pub stopped: bool,
    /// Whether changes of the files are taken up as they are made.
    pub watching: bool,
}

/// How far the work on the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// What is being done.
    pub step: IndexStep,
    /// Files or chunks done.
    pub done: usize,
    /// Files or chunks in all.
    pub total: usize,
    /// When it was as far as that.
    pub at: Timestamp,
}

impl IndexProgress {
    /// Progress in percent; 100 only when nothing is left.
    pub fn percent(&self) -> u8 {
        let done = self.done.min(self.total) as u128;
        (done * 100).checked_div(self.total as u128).unwrap_or(100) as u8
    }
}

/// What is being done to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexStep {
    /// Files are read.
    Reading,
    /// Chunks are embedded.
    Embedding,
}
