//! Thinks without network, key or language model.
//!
//! A question is read once; a classifier routes it, one fitted model judges the blocks of what was found, and the
//! answer quotes the best blocks with their sources. Words are data: a language is a table. Everything is
//! deterministic.

mod answer;
mod judge;
mod language;
mod passage;
mod plan;
mod question;
mod route;
mod sending;
mod support;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::agent::ports::{
    self, Analysis, AnalyzeJob, AnswerSink, AnswerStance, Caller, ChooseJob, ChosenEvidence,
    EmbedError, Embedder, GradeJob, Grades, Identity, PlanJob, PlannedCalls, Reasoner,
    ReasonerError, Support, SupportJob, Synthesis, SynthesizeJob, TokenVectors, TokensWanted,
};
use crate::domain::{
    Complexity, DecidedBy, Evidence, Language, Outcome, PlannedCall, Question, RouterThresholds,
    ToolCall, Turn, Usage,
};
use crate::protocol::Mode;
use crate::text::{OrTrouble, is_cjk};
use judge::Verdict;
pub use judge::{Signals, measure_signals, signal_names};
use language::table;
pub use language::{answer_instruction, is_english};
use question::Part;
pub use question::read;
use route::{Known, route};
pub use route::{effective_thresholds, search_hint, tells_small_talk};

/// What the offline engine calls itself: it extracts, it does not write.
pub const MODEL: &str = "extractive";

/// Characters of scripts without spaces a piece when streaming.
const PIECE: usize = 4;

/// The embedded thinking engine.
pub struct OfflineReasoner {
    embedder: Arc<dyn Embedder>,
    thresholds: RouterThresholds,
}

impl OfflineReasoner {
    /// An engine that compares meaning with this embedding.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            embedder,
            thresholds: RouterThresholds::default(),
        }
    }

    /// The same engine that routes by these thresholds.
    #[must_use]
    pub fn with_thresholds(mut self, thresholds: RouterThresholds) -> Self {
        self.thresholds = thresholds;
        self
    }
}

#[async_trait]
impl Reasoner for OfflineReasoner {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Offline,
            model: MODEL.to_owned(),
        }
    }

    fn read(&self, query: &str, history: &[Turn]) -> Question {
        read(query, history)
    }

    fn effective_thresholds(&self, set: RouterThresholds, question: &Question) -> RouterThresholds {
        effective_thresholds(set, question.language)
    }

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (forced, failed) = (job.forced, job.failed.to_vec());
        let spoken_of = job.spoken_of.map(<[String]>::to_vec);
        let thresholds = self.thresholds;
        let route = move |embedder: &dyn Embedder| {
            let question = read(&query, &history);
            let known = Known {
                forced,
                failed: &failed,
                spoken_of: spoken_of.as_deref(),
            };
            Ok(route(&question, known, thresholds, embedder))
        };
        self.blocking(route).await
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        let question = read(job.query, job.history);
        let parts = question::parts(&question, &job.routing.sub_questions);
        Ok(plan::plan(&job, &question, &parts))
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (planned, items) = (job.sub_questions.to_vec(), job.context.to_vec());
        let grades = move |embedder: &dyn Embedder| {
            let (question, parts) = understand(&query, &history, &planned, &items, embedder);
            Ok(Verdict::reach(&question, &parts, &items, embedder)?.grades())
        };
        Ok(Grades {
            scores: Ok(self.blocking(grades).await?),
            by: None,
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let composed = if job.complexity == Complexity::Chitchat {
            let thresholds = self.thresholds;
            let reply = move |embedder: &dyn Embedder| {
                let question = read(&query, &history);
                let known = Known {
                    forced: Some(Complexity::Chitchat),
                    ..Known::default()
                };
                Ok(route(&question, known, thresholds, embedder).reply)
            };
            let text = self.blocking(reply).await?.unwrap_or_default();
            answer::ComposedAnswer::without_quotation(text, Outcome::Answered)
        } else {
            let (planned, items) = (job.sub_questions.to_vec(), job.context.to_vec());
            let absent = job.absent_words.to_vec();
            let compose = move |embedder: &dyn Embedder| {
                let (question, parts) = understand(&query, &history, &planned, &items, embedder);
                let verdict = Verdict::reach(&question, &parts, &items, embedder)?;
                let unknown = unknown_name(&question, &absent, &items);
                let unknown = unknown.as_deref();
                Ok(answer::compose(
                    &question, &parts, &items, &verdict, unknown,
                ))
            };
            self.blocking(compose).await?
        };
        for piece in pieces(&composed.text) {
            out.push(piece).await;
        }
        Ok(Synthesis {
            replacement: None,
            outcome: composed.outcome,
            confidence: composed.confidence,
            quoted: composed.quoted,
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

// What the engine does for a language model that answers: it chooses what is read, and checks what is written.
impl OfflineReasoner {
    /// Chooses what of the evidence a model reads, within about `budget` tokens as `tokens` counts them, and judges
    /// whether it answers. What the program knows better is left to it: lists of documents, and what no document says, by
    /// the same limit as without a model.
    pub async fn choose_for_model(
        &self,
        job: ChooseJob<'_>,
        budget: usize,
        tokens: fn(&str) -> usize,
    ) -> Result<ChosenEvidence, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (planned, items) = (job.sub_questions.to_vec(), job.context.to_vec());
        let absent = job.absent_words.to_vec();
        let choose = move |embedder: &dyn Embedder| {
            let (question, parts) = understand(&query, &history, &planned, &items, embedder);
            let verdict = Verdict::reach(&question, &parts, &items, embedder)?;
            let unknown = unknown_name(&question, &absent, &items);
            let unknown = unknown.as_deref();
            let composed = answer::compose(&question, &parts, &items, &verdict, unknown);
            // A list is the program's own, and what it would turn away a model only invents.
            let is_quoted = composed.outcome == Outcome::Answered && composed.chance.is_some();
            let chosen = sending::choose_blocks(&items, &verdict, budget, &tokens);
            Ok(ChosenEvidence {
                stance: if is_quoted {
                    AnswerStance::Answer
                } else {
                    AnswerStance::ByProgram
                },
                confidence: composed.chance,
                quotation: composed.quotation(&chosen, &verdict.passages, question.language),
                items: chosen,
            })
        };
        self.blocking(choose).await
    }

    /// Says that nothing answers, and what is nearest.
    pub async fn nothing_answers(&self, job: SynthesizeJob<'_>) -> Result<String, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (planned, items) = (job.sub_questions.to_vec(), job.context.to_vec());
        let say = move |embedder: &dyn Embedder| {
            let (question, parts) = understand(&query, &history, &planned, &items, embedder);
            let verdict = Verdict::reach(&question, &parts, &items, embedder)?;
            Ok(answer::nothing_answers(&question, &verdict))
        };
        self.blocking(say).await
    }

    /// What carries the sentences of an answer.
    pub fn find_support_for(&self, job: SupportJob<'_>) -> Vec<(Range<usize>, Support)> {
        let sentences = support::sentences(job.text, job.from, job.is_all);
        if sentences.is_empty() {
            return Vec::new();
        }
        let text = |range: &Range<usize>| &job.text[range.clone()];
        let texts: Vec<&str> = sentences.iter().map(text).collect();
        let found = support::find_support(job.query, &texts, job.context);
        sentences.into_iter().zip(found).collect()
    }

    /// Runs embedding work where it may block; the embedding fails once the run is stopped.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Embedder) -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, ReasonerError> {
        let embedder = Arc::clone(&self.embedder);
        let work = move |cancel: &CancellationToken| {
            work(&CancellableEmbedder {
                embedder: embedder.as_ref(),
                cancel,
            })
        };
        let done = ports::blocking(work).await;
        let done = done.trouble("the embedding stopped");
        let done = done.and_then(|done| done.map_err(|error| error.trouble()));
        done.map_err(ReasonerError::Internal)
    }
}

/// The searches that the program makes beside a plan: for the question and each of its parts, by words and meaning. What
/// was searched before is not searched again.
pub fn searches(job: &PlanJob<'_>) -> Vec<PlannedCall> {
    let question = read(job.query, job.history);
    let parts = question::parts(&question, &job.routing.sub_questions);
    let asked = std::iter::once(&question).chain(parts.iter().map(|part| &part.question));
    let search = |question: &Question| ToolCall::HybridSearch {
        semantic_query: question.search_text(),
        exact_keywords: question.literals.keywords(),
    };
    let is_new = |call: &ToolCall| job.tool_history.iter().all(|record| record.call != *call);
    let calls = asked.map(search).filter(is_new);
    let by = Some(DecidedBy::BuiltIn);
    calls.map(|call| PlannedCall { call, by }).collect()
}

/// A question about something, in the language of a text.
pub fn question_about(name: &str, text: &str) -> String {
    language::filled(&table(language::language_of(text)).about, name)
}

/// A question and its parts, with slips of the keyboard mended by the words of what was found.
fn understand(
    query: &str,
    history: &[Turn],
    planned: &[String],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> (Question, Vec<Part>) {
    let words = items.iter().flat_map(|item| {
        let words = item.text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_lowercase)
    });
    let words: BTreeSet<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let meant = |text: &str| {
        let is_known = |word: &str| embedder.knows(word);
        question::correct_spelling(text, is_known, &words).unwrap_or_else(|| text.to_owned())
    };
    let planned: Vec<String> = planned.iter().map(|part| meant(part)).collect();
    let question = read(&meant(query), history);
    let parts = question::parts(&question, &planned);
    (question, parts)
}

/// A name in a question that is said nowhere: one that no item holds, however its parts are joined, or the first of
/// the `absent` words that is a name rather than a word which documents may say otherwise.
///
/// A word with a capital in the midst of a sentence is a name, and so is one that is written like code or in letters of
/// an alphabet within Chinese. German writes every noun with a capital, so there only what is written like code is one.
fn unknown_name(question: &Question, absent: &[String], items: &[Evidence]) -> Option<String> {
    let joined = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let text = |item: &Evidence| joined(&format!("{} {}", item.source, item.text));
    let texts: Vec<String> = items.iter().map(text).collect();
    let literals = &question.literals;
    let mut names = literals.ids.iter().chain(&literals.identifiers);
    let is_said = |name: &String| texts.iter().any(|text| text.contains(&joined(name)));
    if let Some(name) = names.find(|name| !is_said(name)) {
        return Some(name.clone());
    }
    let is_code = |word: &str| {
        let mut behind_first = word.chars().skip(1);
        behind_first.any(|c| c.is_uppercase() || c.is_numeric())
    };
    let is_first = |word: &str| question.text.trim_start().starts_with(word);
    let is_name = |word: &&String| {
        let has_capital = word.contains(char::is_uppercase) && !is_first(word);
        match question.language {
            Language::ZH => true,
            language if table(language).writes_nouns_large => is_code(word),
            _ => is_code(word) || has_capital,
        }
    };
    // A slip that was mended is no longer searched for.
    let searched = question.search_text();
    let mut asked = absent.iter().filter(|word| searched.contains(*word));
    asked.find(is_name).cloned()
}

/// The text in word-sized pieces; a citation mark is never cut.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut unspaced = 0;
    for c in text.chars() {
        piece.push(c);
        unspaced = if is_cjk(c) { unspaced + 1 } else { 0 };
        if c == ' ' || c == '\n' || unspaced == PIECE {
            pieces.push(std::mem::take(&mut piece));
            unspaced = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

// The embedding for one piece of work, which fails once that is stopped.

/// An embedding for one piece of work, until that is stopped.
pub(super) struct CancellableEmbedder<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) cancel: &'a CancellationToken,
}

impl CancellableEmbedder<'_> {
    fn unless_stopped<T>(&self, made: Option<T>) -> Result<T, EmbedError> {
        let made = made.filter(|_| !self.cancel.is_cancelled());
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }
}

impl Embedder for CancellableEmbedder<'_> {
    fn model_id(&self) -> &str {
        self.embedder.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.unless_stopped(self.embedder.embed_stoppable(texts, self.cancel.into())?)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        _: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let cancel = self.cancel.into();
        let made = self.embedder.embed_tokens(texts, tokens, cancel)?;
        self.unless_stopped(made).map(Some)
    }

    fn knows(&self, word: &str) -> bool {
        self.embedder.knows(word)
    }
}
