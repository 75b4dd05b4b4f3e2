//! Thinks without network, key or language model.
//!
//! A question is read once; a classifier routes it, a fitted judge grades passages and scores what can
//! be quoted from them, and the answer is an extract with its sources. Words are data: a language is a
//! table. Everything is deterministic.

mod answer;
mod evidence;
mod judge;
mod language;
mod measured;
mod plan;
mod question;
mod route;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;

use crate::agent::ports::{
    self, Analysis, AnalyzeJob, AnswerSink, EmbedError, Embedder, GradeJob, Grades, Identity,
    PlanJob, Planned, Reasoner, ReasonerError, Synthesis, SynthesizeJob,
};
use crate::domain::{
    Complexity, Evidence, KEEP_FROM, Outcome, Question, QuestionKind, Turn, Usage,
};
use crate::protocol::Mode;
use crate::text::is_cjk;

pub use judge::{Signals, signal_names};
pub use measured::{Given, best_sentence, look_at};

use evidence::Passage;
pub(super) use question::read;
use question::{Reading, readings};
use route::route;

/// What the offline engine calls itself: it extracts, it does not write.
pub const MODEL: &str = "extractive";

/// Characters of scripts without spaces a piece when streaming.
const PIECE: usize = 4;

/// The embedded thinking engine.
pub struct OfflineReasoner {
    embedder: Arc<dyn Embedder>,
}

impl OfflineReasoner {
    /// An engine that compares meaning with this embedding.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder }
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

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (forced, failed) = (job.forced, job.failed.to_vec());
        let route = move |embedder: &dyn Embedder| {
            let mended = question::mended(&query, |word| embedder.knows(word), &[]);
            let question = read(mended.as_deref().unwrap_or(&query), &history);
            Ok(route(&question, forced, &failed, embedder))
        };
        let routed = self.blocking(route).await?;
        Ok(Analysis {
            plan: routed.plan,
            reply: routed.reply,
            because: routed.because,
            small_talk: Some(routed.small_talk),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<Planned, ReasonerError> {
        let question = read(job.query, job.history);
        let readings = readings(&question, &job.routing.sub_questions);
        Ok(plan::plan(&job, &readings))
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let (query, history) = (job.query.to_owned(), job.history.to_vec());
        let (parts, items) = (job.sub_questions.to_vec(), job.context.to_vec());
        let scores = self.blocking(move |embedder| {
            let readings = understood((&query, &history), &parts, &items, embedder);
            grades(&readings, &items, embedder)
        });
        Ok(Grades {
            scores: Ok(scores.await?),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        let (text, outcome) = if job.complexity == Complexity::Chitchat {
            let question = read(job.query, job.history);
            let small_talk = Some(Complexity::Chitchat);
            let reply = move |embedder: &dyn Embedder| {
                Ok(route(&question, small_talk, &[], embedder).reply)
            };
            let reply = self.blocking(reply).await?;
            (reply.unwrap_or_default(), Outcome::Answered)
        } else {
            let (query, history) = (job.query.to_owned(), job.history.to_vec());
            let (parts, items) = (job.sub_questions.to_vec(), job.context.to_vec());
            let compose = move |embedder: &dyn Embedder| {
                let readings = understood((&query, &history), &parts, &items, embedder);
                let readings = readings.into_iter().map(|reading| {
                    let grades = grades(std::slice::from_ref(&reading), &items, embedder)?;
                    Ok((reading, grades.into_iter().fold(0.0, f64::max)))
                });
                let readings = readings.collect::<Result<Vec<_>, EmbedError>>()?;
                answer::compose(&readings, &history, &items, embedder)
            };
            self.blocking(compose).await?
        };
        for piece in pieces(&text) {
            out.push(piece).await;
        }
        Ok(Synthesis {
            outcome,
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

impl OfflineReasoner {
    /// Runs embedding work where it may block; the embedding fails once nobody waits any more.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Embedder) -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, ReasonerError> {
        let embedder = Arc::clone(&self.embedder);
        let work = move |stop: &AtomicBool| work(&WhileWanted(embedder.as_ref(), stop));
        match ports::blocking(work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(ReasonerError::Internal(error.to_string())),
            Err(error) => Err(ReasonerError::Internal(format!(
                "the embedding stopped: {error}"
            ))),
        }
    }
}

/// The readings of a question, its slips mended by the words of what was found.
fn understood(
    (query, history): (&str, &[Turn]),
    parts: &[String],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Vec<Reading> {
    let words = vocabulary(items);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let meant = |text: &str| {
        let known = |word: &str| embedder.knows(word);
        question::mended(text, known, &words).unwrap_or_else(|| text.to_owned())
    };
    let parts: Vec<String> = parts.iter().map(|part| meant(part)).collect();
    readings(&read(&meant(query), history), &parts)
}

/// The words of the items, each once.
fn vocabulary(items: &[Evidence]) -> Vec<String> {
    let words = items.iter().flat_map(|item| {
        let words = item.text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_lowercase)
    });
    words.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The best grade of each item over the readings of the question and their parts, because an item that
/// answers one part is as wanted as one that speaks of all. Blocks while it embeds.
fn grades(
    readings: &[Reading],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<f64>, EmbedError> {
    let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
    let mut grades = vec![0.0_f64; items.len()];
    for reading in readings {
        let of_reading = of_one(reading, items, &passages, embedder)?;
        for (grade, other) in grades.iter_mut().zip(of_reading) {
            *grade = grade.max(other);
        }
    }
    Ok(grades)
}

/// The grades of the items for one reading.
fn of_one(
    reading: &Reading,
    items: &[Evidence],
    passages: &[Passage],
    embedder: &dyn Embedder,
) -> Result<Vec<f64>, EmbedError> {
    let mut grades = vec![0.0_f64; items.len()];
    let mut answered = Vec::new();
    for (at, question) in reading.questions().enumerate() {
        let judged = judge::judge(question, &as_named(question, items), passages, embedder)?;
        if at > 0 {
            answered.push(judged.answers() && holds_names(question, items));
        }
        let mut judged = judged.grades;
        if question.kind == QuestionKind::List {
            continued(&mut judged, items);
        }
        for (grade, other) in grades.iter_mut().zip(judged) {
            *grade = grade.max(other);
        }
    }
    if answered.contains(&true) && answered.contains(&false) {
        // What answers one part only is not enough for the whole; it stays, and the search goes on.
        for grade in &mut grades {
            *grade = (*grade * PARTLY).max(grade.min(KEEP_FROM));
        }
    }
    Ok(grades)
}

/// What is asked, with those names of code as words that nothing found writes so.
fn as_named(question: &Question, items: &[Evidence]) -> String {
    let mut asked = question.asked.clone();
    for name in &question.literals.identifiers {
        if !items.iter().any(|item| item.text.contains(name.as_str())) {
            asked = asked.replace(name.as_str(), &language::spelt_out(name));
        }
    }
    asked
}

/// Whether what a question names is named in any of the items, however its words are joined.
fn holds_names(question: &Question, items: &[Evidence]) -> bool {
    let joined = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let texts: Vec<String> = items
        .iter()
        .map(|item| joined(&format!("{} {}", item.source, item.text)))
        .collect();
    let mut names = question
        .literals
        .ids
        .iter()
        .chain(&question.literals.identifiers);
    names.all(|name| texts.iter().any(|text| text.contains(&joined(name))))
}

/// A list may go on where the passage ends that announces it: what follows that directly in its file is
/// as wanted, less what is not known of it.
fn continued(grades: &mut [f64], items: &[Evidence]) {
    let own = grades.to_vec();
    for (at, item) in items.iter().enumerate() {
        let announces = items.iter().zip(&own).filter(|(other, _)| {
            let gap = item.lines.start.checked_sub(other.lines.end + 1);
            other.source == item.source && gap.is_some_and(|gap| gap <= 1)
        });
        let best = announces.map(|(_, grade)| *grade).fold(0.0, f64::max);
        grades[at] = grades[at].max(CONTINUED * best);
    }
}

/// What a grade is worth while a part of the question has no answer.
const PARTLY: f64 = 0.7;
/// What the grade of a passage is worth to the one behind it.
const CONTINUED: f64 = 0.7;

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

/// An embedding for one piece of work, until that is stopped.
struct WhileWanted<'a>(&'a dyn Embedder, &'a AtomicBool);

impl Embedder for WhileWanted<'_> {
    fn model_id(&self) -> &str {
        self.0.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.0.embed_stoppable(texts, self.1.into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn knows(&self, word: &str) -> bool {
        self.0.knows(word)
    }
}
