//! Thinks without network, key or language model.
//!
//! Rules in English and Chinese route and plan, a fitted map over word and meaning overlap grades,
//! and answers are extracts with their sources. It knows the knowledge base only by what tools
//! return, like any reasoner; of the embedding it knows only the port. Everything is
//! deterministic, so that a run can be repeated and a test can say what it expects.

mod analyze;
mod because;
mod both_sides;
mod bridges;
mod choose;
mod comparing;
mod compose;
mod cutting;
mod decompose;
mod elliptic;
mod ends;
mod fit_to_say;
mod gate;
mod grade;
mod heard;
mod hops;
mod hops_zh;
mod joints_zh;
mod kindred;
mod labels;
mod language;
mod learned;
mod learned_features;
mod lists;
mod literals;
mod markup;
mod named_files;
mod named_things;
mod near;
mod nearest;
mod ordinals;
mod overview;
mod parting_zh;
mod passage;
mod plainly;
mod plan;
mod pointers;
mod quoting;
mod records;
mod relations;
mod relevance;
mod reply;
mod resolve;
mod scoring;
mod sentences;
mod several;
mod sheet;
mod slips;
mod social;
mod social_phrases;
mod sought;
mod sought_words;
mod source_code;
mod states;
mod supported;
mod synthesize;
mod table_lines;
mod titles;
mod topic_zh;
mod words;

use std::sync::Arc;

use async_trait::async_trait;

use crate::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, EmbedError, Embedder, GradeJob, Grades, Identity, PlanJob,
    Planned, Reasoner, ReasonerError, Synthesis, SynthesizeJob,
};
use crate::domain::Evidence;
use crate::protocol::Mode;

pub use relevance::FEATURES;

/// What the offline engine calls itself: it extracts, it does not write.
pub const MODEL: &str = "extractive";

/// What speaks for one item as the answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedAt {
    /// The numbers, in the order of [`FEATURES`].
    pub values: Vec<f64>,
    /// The places of the items that name this one's title, from 0.
    pub named_by: Vec<usize>,
}

/// What speaks for each item, in their order: what the weights of the grades are fitted on. Blocks
/// while it embeds.
pub fn look_at(
    question: &str,
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<LookedAt>, EmbedError> {
    let passages: Vec<passage::Passage> = items.iter().map(passage::Passage::read).collect();
    let rows = relevance::features(&[question.to_owned()], &passages, embedder)?;
    let looked_at = rows
        .into_iter()
        .flatten()
        .zip(relevance::named_by(&passages));
    Ok(looked_at
        .map(|(features, named_by)| LookedAt {
            values: features.values().to_vec(),
            named_by,
        })
        .collect())
}

/// Which sentence of a passage is quoted first, by its place; nothing where there is none. Blocks
/// while it embeds.
pub fn best_sentence(
    question: &str,
    heading: &str,
    sentences: &[&str],
    embedder: &dyn Embedder,
) -> Result<Option<usize>, EmbedError> {
    let passage = passage::Passage::of_sentences(heading, sentences);
    choose::best_unit(question, passage, embedder)
}

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
        Ok(analyze::analyze(&job))
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<Planned, ReasonerError> {
        Ok(plan::plan(&job))
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        grade::grade(&job, &self.embedder).await
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        synthesize::synthesize(&job, &self.embedder, &out).await
    }
}
