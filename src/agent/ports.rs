//! What the agent needs from the world, as traits that the layers above fill in.
//!
//! A port takes a view of the state and returns a value; it never sees the state itself, emits no
//! events and decides no route. That is why the same conformance suite runs on every reasoner.

mod caller;
mod calls;
mod tools;

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    Complexity, Confidence, Cue, DecidedBy, Evidence, Languages, LineRange, NodeName, Outcome,
    PlannedCall, Question, Quotation, RouterThresholds, RoutingPlan, Score, ToolRecord, Turn,
    Usage,
};
use crate::protocol::{Mode, RunId};
use crate::text::Trouble;

pub use caller::{Caller, blocking};
pub use calls::{CallLog, ModelCall, WaitSink};
pub use tools::{NarrowedTools, ToolError, Toolbox};

/// How an answer begins that has no evidence to go by.
pub const NOTHING_FOUND: &str = "Nothing was found in the knowledge base.";
/// The same in Chinese.
pub const NOTHING_FOUND_ZH: &str = "知识库中没有找到相关内容。";

/// A thinking engine: the four jobs that need judgement.
#[async_trait]
pub trait Reasoner: Send + Sync {
    /// How it names itself in `run_started`.
    fn identity(&self) -> Identity;

    /// Finds out what it must know before the first question, such as its model's name. Called
    /// before every run; cheap once it has succeeded. What that waits for is sent to `waits`.
    async fn ready(&self, waits: Option<&WaitSink>) -> Result<(), ReasonerError> {
        let _ = waits;
        Ok(())
    }

    /// Reads a question in its conversation, oldest turn first; once a turn, for all four jobs. What
    /// reads nothing into it takes it as it stands.
    fn read(&self, query: &str, history: &[Turn]) -> Question {
        let _ = history;
        Question {
            text: query.to_owned(),
            ..Question::default()
        }
    }

    /// The thresholds that the built-in router goes by for this question, where these are set.
    fn effective_thresholds(&self, set: RouterThresholds, question: &Question) -> RouterThresholds {
        let _ = question;
        set
    }

    /// R1–R6: what kind of question, which way, which tools; for chitchat also the reply.
    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError>;

    /// R11: which tools to call; never an answer.
    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError>;

    /// R17: one number for each item of `job.context`, in its order.
    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError>;

    /// Whether the answer is there as soon as it begins. Then what it cites is numbered in the order
    /// in which its text first does, and nothing is shown before [`Reasoner::synthesize`] returns. Else
    /// the numbers are those that the prompt gives.
    fn answers_at_once(&self) -> bool {
        self.identity().mode == Mode::Offline
    }

    /// Chooses what of the evidence an answer is written from. `None` where that is all of it, in its order.
    async fn choose(&self, job: ChooseJob<'_>) -> Result<Option<ChosenEvidence>, ReasonerError> {
        let _ = job;
        Ok(None)
    }

    /// Which item of `job.context` carries each sentence of an answer, with the bytes of the sentence and the
    /// citations behind it, in their order; nothing where the engine cannot tell.
    fn find_support(&self, job: SupportJob<'_>) -> Vec<(Range<usize>, Support)> {
        let _ = job;
        Vec::new()
    }

    /// What is said in the place of an answer of which no source says a sentence. `None` where the answer stands.
    async fn withdraw(&self, job: SynthesizeJob<'_>) -> Result<Option<String>, ReasonerError> {
        let _ = job;
        Ok(None)
    }

    /// R23, R24: the answer, piece by piece into `out`.
    ///
    /// Citations are `[n]`, n being the place of the item in `job.context`, from 1; so are the numbers
    /// of [`Synthesis::quoted`]. The agent removes what maps to nothing and renumbers the answer of an
    /// engine that [answers at once](Reasoner::answers_at_once), so pieces may be sent as they come.
    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError>;
}

/// Which engine and which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Whether a chat endpoint or the embedded engine thinks.
    pub mode: Mode,
    /// The model's name.
    pub model: String,
}

/// Who is asking, for headers and logs.
#[derive(Debug, Clone, Copy)]
pub struct CallOrigin<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The node.
    pub node: NodeName,
    /// Where calls of a model are noted, failed ones too; `None` where it does not matter.
    pub calls: Option<&'a CallLog>,
    /// Where it is reported what a call waits for; `None` where it does not matter.
    pub waits: Option<&'a WaitSink>,
    /// What the person tells a model besides, where a run begins at a node.
    pub instruction: Option<&'a str>,
}

/// What `analyze` works on.
#[derive(Debug, Clone, Copy)]
pub struct AnalyzeJob<'a> {
    /// The run and node this is done for.
    pub origin: CallOrigin<'a>,
    /// The question.
    pub query: &'a str,
    /// The same as [`Reasoner::read`] read it.
    pub question: &'a Question,
    /// The conversation so far, oldest first (R5).
    pub history: &'a [Turn],
    /// The route the user chose: the plan should be made for it.
    pub forced: Option<Complexity>,
    /// Calls that found nothing before the search was repeated; empty in the first round.
    pub failed: &'a [ToolRecord],
    /// What of the question the documents speak of ([`Toolbox::spoken_of`]); `None` where nobody can tell.
    pub spoken_of: Option<&'a [String]>,
}

/// What `analyze` found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// The plan; the agent reconciles its fields.
    pub plan: RoutingPlan,
    /// The answer to chitchat, when the engine gave it along (R10).
    pub reply: Option<String>,
    /// How to search instead, where small talk is assumed rather than plain.
    pub search_hint: Option<String>,
    /// What decided the route, the most important first; nothing where a model planned.
    pub because: Vec<Cue>,
    /// Why a model took its route, in its own words.
    pub reason: Option<String>,
    /// How likely small talk, 0–1, where the engine measures it; the route is in the plan.
    pub small_talk: Option<f64>,
    /// Who decided, where a model or the program could.
    pub by: Option<DecidedBy>,
    /// What the built-in router would have decided, where a model did.
    pub built_in: Option<Complexity>,
    /// What the built-in router went by there.
    pub built_in_because: Vec<Cue>,
    /// What it cost.
    pub usage: Usage,
    /// What was wrong with the reply, one warning each.
    pub warnings: Vec<Caveat>,
}

/// What `plan` works on.
#[derive(Debug, Clone, Copy)]
pub struct PlanJob<'a> {
    /// The run and node this is done for.
    pub origin: CallOrigin<'a>,
    /// The question.
    pub query: &'a str,
    /// The same as [`Reasoner::read`] read it.
    pub question: &'a Question,
    /// The conversation so far, oldest first.
    pub history: &'a [Turn],
    /// What the analysis decided.
    pub routing: &'a RoutingPlan,
    /// Every call made so far; none of them is made again.
    pub tool_history: &'a [ToolRecord],
    /// The evidence kept so far; not empty after REFINE.
    pub context: &'a [Evidence],
    /// The last grades of `context`, in its order; empty the first time.
    pub scores: &'a [Score],
    /// Whether this is a REFINE round: look for what is still missing (R21).
    pub refine: bool,
}

/// What `plan` decided.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlannedCalls {
    /// The calls, most promising first. The agent drops repeated ones.
    pub calls: Vec<PlannedCall>,
    /// Who planned, where a model or the program could.
    pub by: Option<DecidedBy>,
    /// What it cost.
    pub usage: Usage,
    /// What was wrong with the reply, one warning each.
    pub warnings: Vec<Caveat>,
}

/// What `grade` works on.
#[derive(Debug, Clone, Copy)]
pub struct GradeJob<'a> {
    /// The run and node this is done for.
    pub origin: CallOrigin<'a>,
    /// The question.
    pub query: &'a str,
    /// The same as [`Reasoner::read`] read it.
    pub question: &'a Question,
    /// The conversation so far, oldest first: what "its" in the question stands for.
    pub history: &'a [Turn],
    /// The parts of the question.
    pub sub_questions: &'a [String],
    /// The items, never empty.
    pub context: &'a [Evidence],
}

/// What `grade` measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Grades {
    /// The numbers as the engine gave them, before any check. The agent accepts exactly as many
    /// finite numbers as there are items and falls back otherwise (R18). `None` of an item that the
    /// engine did not look at.
    pub scores: Result<Vec<Option<f64>>, UnreadableGrades>,
    /// Who graded, where a model or the program could.
    pub by: Option<DecidedBy>,
    /// What it cost.
    pub usage: Usage,
    /// What went on while it was asked for, one warning each.
    pub warnings: Vec<Caveat>,
}

/// A grading reply that holds no list of numbers, with the reason for the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnreadableGrades(pub String);

/// What `choose` works on.
#[derive(Debug, Clone, Copy)]
pub struct ChooseJob<'a> {
    /// The run and node this is done for.
    pub origin: CallOrigin<'a>,
    /// The question.
    pub query: &'a str,
    /// The conversation so far, oldest first.
    pub history: &'a [Turn],
    /// The parts of the question.
    pub sub_questions: &'a [String],
    /// The items, never empty.
    pub context: &'a [Evidence],
    /// Words of the question that occur nowhere in the knowledge base.
    pub absent_words: &'a [String],
}

/// What an answer is written from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChosenEvidence {
    /// Parts of items, the most likely to answer first; each item once.
    pub items: Vec<ChosenItem>,
    /// What is to be made of them.
    pub stance: AnswerStance,
    /// How likely they hold the answer, where that was measured.
    pub confidence: Option<Confidence>,
    /// What stands below the answer: what the engine would quote itself.
    pub quotation: Option<QuotedText>,
}

/// Lines of the evidence, word for word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedText {
    /// Markdown with its citations, which count the chosen items from 1.
    pub text: String,
    /// The lines that it shows.
    pub quoted: Vec<Quotation>,
}

/// What of an item an answer is written from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenItem {
    /// The place of the item in the context, from 0.
    pub at: usize,
    /// The text that is sent of it.
    pub text: String,
    /// Its lines in the file; none where all of the item is sent.
    pub lines: Vec<LineRange>,
}

/// What is to be made of evidence, as far as it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerStance {
    /// The evidence answers, or nobody has judged it.
    #[default]
    Answer,
    /// It may not answer: then that is to be said.
    Doubt,
    /// No model is asked: the program says that nothing answers, and what is nearest, or it lists what was found.
    ByProgram,
}

/// What `find_support` works on.
#[derive(Debug, Clone, Copy)]
pub struct SupportJob<'a> {
    /// The question.
    pub query: &'a str,
    /// The answer so far.
    pub text: &'a str,
    /// Where the first sentence that is wanted begins, in bytes.
    pub from: usize,
    /// Whether no more comes; else the last sentence may not be over and is left out.
    pub is_all: bool,
    /// The items as they were sent, numbered from 1.
    pub context: &'a [Evidence],
}

/// What carries a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The item of this number, from 1.
    Item(usize),
    /// No item.
    None,
    /// The sentence says too little to tell.
    Unknown,
}

/// What `synthesize` works on.
#[derive(Debug, Clone, Copy)]
pub struct SynthesizeJob<'a> {
    /// The run and node this is done for.
    pub origin: CallOrigin<'a>,
    /// The question.
    pub query: &'a str,
    /// The same as [`Reasoner::read`] read it.
    pub question: &'a Question,
    /// The conversation so far, oldest first.
    pub history: &'a [Turn],
    /// Chitchat is answered from the conversation alone (R24); the rest only from `context`.
    pub complexity: Complexity,
    /// The parts of the question.
    pub sub_questions: &'a [String],
    /// The items, numbered from 1; never empty except for chitchat.
    pub context: &'a [Evidence],
    /// Words of the question that occur nowhere in the knowledge base.
    pub absent_words: &'a [String],
    /// What is to be made of the items.
    pub stance: AnswerStance,
}

/// What `synthesize` came to; the text went through the sink.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthesis {
    /// Answered, or not found when the engine could tell that the items hold no answer.
    pub outcome: Outcome,
    /// How likely the answer is right, where the engine can tell.
    pub confidence: Option<Confidence>,
    /// The lines that the answer quotes, where the engine quotes.
    pub quoted: Vec<Quotation>,
    /// The whole answer, where some of what went through the sink turned out to be none.
    pub replacement: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// What was wrong with the reply, one warning each.
    pub warnings: Vec<Caveat>,
}

/// A warning that goes into the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caveat {
    /// A stable code for programs.
    pub code: &'static str,
    /// The message for people, one line.
    pub message: String,
}

impl Caveat {
    /// A warning of that code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

/// Where an answer's pieces go. The agent reads the other end, so a slow screen slows the engine.
#[derive(Debug, Clone)]
pub struct AnswerSink(pub mpsc::Sender<String>);

impl AnswerSink {
    /// Hands the next piece over; waits while the reader is behind.
    ///
    /// A run that was cancelled no longer reads, and the piece is dropped: the engine's own
    /// future is dropped with it.
    pub async fn push(&self, piece: impl Into<String>) {
        let _ = self.0.send(piece.into()).await;
    }
}

/// Why an engine could not do its job. Each message is one clear line: what, where, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReasonerError {
    /// The endpoint could not be reached or went silent.
    #[error(transparent)]
    Unreachable(Trouble),
    /// The endpoint answered with an error.
    #[error(transparent)]
    Refused(Trouble),
    /// What it sent is not what it should be.
    #[error(transparent)]
    Protocol(Trouble),
    /// The embedded engine failed.
    #[error(transparent)]
    Internal(Trouble),
}

impl From<ReasonerError> for Trouble {
    fn from(error: ReasonerError) -> Self {
        match error {
            ReasonerError::Unreachable(trouble)
            | ReasonerError::Refused(trouble)
            | ReasonerError::Protocol(trouble)
            | ReasonerError::Internal(trouble) => trouble,
        }
    }
}

impl ReasonerError {
    /// The same kind with other words.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Trouble) -> Trouble) -> Self {
        match self {
            Self::Unreachable(trouble) => Self::Unreachable(change(trouble)),
            Self::Refused(trouble) => Self::Refused(change(trouble)),
            Self::Protocol(trouble) => Self::Protocol(change(trouble)),
            Self::Internal(trouble) => Self::Internal(change(trouble)),
        }
    }
}

/// Texts to vectors of one length; the length of each vector is 1.
pub trait Embedder: Send + Sync {
    /// Which model, to be stored with what it made.
    fn model_id(&self) -> &str;

    /// One vector for each text, in its order; the texts are questions, where the model makes a
    /// difference. Blocks; call it from a blocking thread.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Whether it computes on this machine's cores, so that what runs beside it slows it down.
    fn is_cpu_bound(&self) -> bool {
        false
    }

    /// Whether it knows this word as it is written, in lower case, or cannot tell. What it does not
    /// know may be a slip.
    fn knows(&self, word: &str) -> bool {
        let _ = word;
        true
    }

    /// How many texts are worth handing over at once, when there are many.
    fn batch(&self) -> usize {
        16
    }

    /// [`Embedder::embed`], which gives up, with `None`, soon after the caller wants no more.
    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let _ = caller;
        self.embed(texts).map(Some)
    }

    /// The vectors of those tokens of each text that are in the vocabulary, in its order; `None` soon
    /// after the caller wants no more. Where the embedding has one vector for a whole text, that
    /// counts as one token.
    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let _ = tokens;
        let vectors = self.embed_stoppable(texts, caller)?;
        let one = |vector| TokenVectors {
            tokens: vec![0],
            vectors: vec![vector],
        };
        Ok(vectors.map(|vectors| vectors.into_iter().map(one).collect()))
    }

    /// How long its vectors are at present; `None` where that never changes or is not known. Asks a
    /// server that was not asked yet, and blocks then.
    fn length_now(&self) -> Option<usize> {
        None
    }

    /// Why the last text was refused whose vector came back empty.
    fn last_refusal(&self) -> Option<EmbedError> {
        None
    }

    /// [`Embedder::embed`] for passages in bulk, which can wait for a server to recover. The vector of
    /// a text that cannot be embedded, while others can, is empty.
    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let _ = priority;
        self.embed_stoppable(texts, cancel.into())
    }

    /// The embeddings that it stands for; `None` of one that is the same for all texts.
    fn choice(&self) -> Option<&dyn EmbeddingChoice> {
        None
    }
}

/// An embedding that stands for two and is used as one of them.
pub trait EmbeddingChoice: Send + Sync {
    /// What the user wants, whatever the texts are; `None` where they are to decide.
    fn fixed(&self) -> Option<Languages>;

    /// Which one is used.
    fn current(&self) -> Languages;

    /// Uses that one from now on.
    fn choose(&self, languages: Languages);

    /// Returns the embedder for these languages; an engine with a single model returns it for all.
    fn embedder_for(&self, languages: Languages) -> Arc<dyn Embedder>;
}

/// Which tokens of a text are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokensWanted {
    /// The first so many, marks at both ends included.
    pub most: usize,
    /// What the texts are written in, for an embedding that has a model for each.
    pub languages: Languages,
}

/// The known tokens of a text, each with its vector of length 1 in the context of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// Their numbers in the vocabulary.
    pub tokens: Vec<i32>,
    /// One vector for each text, all of the same length.
    pub vectors: Vec<Vec<f32>>,
}

/// How work in bulk shares the cores with everything else that runs on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkPriority {
    /// Like any other program: a person waits for it.
    Normal,
    /// Only where nothing else wants the cores.
    Idle,
}

/// Why texts could not be embedded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the embedding failed: {0}")]
pub struct EmbedError(pub Trouble);

impl EmbedError {
    /// What is wrong, and what to do about it.
    pub fn trouble(&self) -> Trouble {
        let said = self.0.clone();
        said.what(|what| format!("the embedding failed: {what}"))
    }
}

/// The ports of one agent.
#[derive(Clone)]
pub struct Ports {
    /// The reasoner that analyses, plans, grades and answers.
    pub reasoner: Arc<dyn Reasoner>,
    /// The retrieval tools.
    pub tools: Arc<dyn Toolbox>,
}
