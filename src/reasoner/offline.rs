//! Thinks without network, key or language model.
//!
//! A question is read once; a classifier routes it, a fitted judge grades passages and scores what can
//! be quoted from them, and the answer is an extract with its sources. Words are data: a language is a
//! table. Everything is deterministic.

mod answer;
mod embedding;
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
use crate::domain::{Complexity, Evidence, Outcome, Turn, Usage};
use crate::protocol::Mode;
use crate::text::is_cjk;

pub use judge::{Signals, signal_names};
pub use measured::{Given, best_sentence, look_at};

use embedding::{Vectors, WhileWanted};
use evidence::Passage;
use judge::{JudgedReading, Seen};
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
    vectors: Arc<Vectors>,
}

impl OfflineReasoner {
    /// An engine that compares meaning with this embedding.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            embedder,
            vectors: Arc::default(),
        }
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
            let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
            let mut seen: Vec<Seen> = passages.iter().map(Seen::read).collect();
            let judged = judged(readings, &items, (&passages, &mut seen), embedder)?;
            let best = |at: usize| {
                let of = judged.iter().map(|(_, judged)| judged.grades[at]);
                of.fold(0.0, f64::max)
            };
            Ok((0..items.len()).map(best).collect())
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
                let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
                let mut seen: Vec<Seen> = passages.iter().map(Seen::read).collect();
                let judged = judged(readings, &items, (&passages, &mut seen), embedder)?;
                let found = answer::Found {
                    items: &items,
                    passages: &passages,
                    seen: &seen,
                };
                Ok(answer::compose(&judged, &history, found))
            };
            self.blocking(compose).await?
        };
        for piece in pieces(&text) {
            out.push(piece).await;
        }
        Ok(Synthesis {
            outcome,
            confidence: None,
            quoted: Vec::new(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

impl OfflineReasoner {
    /// Runs embedding work where it may block; the embedding fails once the run is stopped.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Embedder) -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, ReasonerError> {
        let embedder = Arc::clone(&self.embedder);
        let vectors = Arc::clone(&self.vectors);
        let work = move |stop: &AtomicBool| {
            work(&WhileWanted {
                embedder: embedder.as_ref(),
                vectors: &vectors,
                stop,
            })
        };
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

/// What was judged of each reading. Blocks while it embeds.
fn judged(
    readings: Vec<Reading>,
    items: &[Evidence],
    (passages, seen): (&[Passage], &mut [Seen]),
    embedder: &dyn Embedder,
) -> Result<Vec<(Reading, JudgedReading)>, EmbedError> {
    let judged = readings.into_iter().map(|reading| {
        let judged = judge::judge_reading(&reading, items, (passages, seen), embedder)?;
        Ok((reading, judged))
    });
    judged.collect()
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
