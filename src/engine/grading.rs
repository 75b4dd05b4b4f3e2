//! Passages graded, and sentences and blocks chosen, question by question, without a knowledge base: what
//! `eval grading` and `eval reading` measure.

use std::sync::Arc;

use crate::agent::ports::{AnalyzeJob, CallOrigin, Embedder, GradeJob, Identity, Reasoner};
use crate::config::Settings;
use crate::domain::{Evidence, NodeName, Score, scores_of};
use crate::embed::{CachedEmbedder, JudgeEmbedder};
use crate::protocol::{Mode, RunId};
use crate::reasoner::offline::{self, Given, QuotedBlock};

use super::{EngineError, thinking};

/// Vectors that are remembered where thousands of questions are asked, about 200 MB: every sentence
/// of such a collection is embedded once.
const MANY: usize = 100_000;

/// The thinking engine of the settings, asked for grades only.
pub struct Grader {
    reasoner: Arc<dyn Reasoner>,
    embedder: Arc<dyn Embedder>,
    run: RunId,
}

/// The grades of one question's passages.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageGrades {
    /// One for each passage, or why there is none; a run then counts each as 0.5 (R18).
    pub scores: Result<Vec<Score>, String>,
}

impl Grader {
    /// Opens the grader. Where an endpoint is set, the first question makes the first request to
    /// it.
    pub fn open(settings: &Settings) -> Result<Self, EngineError> {
        Self::remembering(
            settings,
            CachedEmbedder::new(Arc::new(JudgeEmbedder::built_in())),
        )
    }

    /// The same for thousands of questions, whose passages come again.
    pub fn open_for_many(settings: &Settings) -> Result<Self, EngineError> {
        let built_in = Arc::new(JudgeEmbedder::built_in());
        Self::remembering(settings, CachedEmbedder::holding(MANY, built_in))
    }

    fn remembering(settings: &Settings, embedder: CachedEmbedder) -> Result<Self, EngineError> {
        let embedder: Arc<dyn Embedder> = Arc::new(embedder);
        Ok(Self {
            reasoner: thinking::thinking_engine(settings, Arc::clone(&embedder))?.reasoner,
            embedder,
            run: RunId::generate(),
        })
    }

    /// Which engine grades, with which model.
    pub fn identity(&self) -> Identity {
        self.reasoner.identity()
    }

    /// Grades the passages in one call, as the first grading of a conversation.
    pub async fn grade(
        &self,
        query: &str,
        sub_questions: &[String],
        passages: &[&str],
    ) -> Result<PassageGrades, EngineError> {
        let context: Vec<Evidence> = passages
            .iter()
            .enumerate()
            .map(|(at, text)| Evidence::without_file(at + 1, text))
            .collect();
        let question = self.reasoner.read(query, &[]);
        let job = GradeJob {
            origin: self.origin(NodeName::GradeEvidence),
            query,
            question: &question,
            history: &[],
            sub_questions,
            context: &context,
        };
        let graded = self.reasoner.grade(job).await;
        let graded = graded.map_err(|error| EngineError::Run(error.to_string()))?;
        let numbers = graded.scores.map_err(|unreadable| unreadable.to_string());
        Ok(PassageGrades {
            scores: numbers.and_then(|numbers| scores_of(&numbers, passages.len())),
        })
    }

    /// The parts of a question, as a run would find them.
    pub async fn sub_questions(&self, query: &str) -> Result<Vec<String>, EngineError> {
        let question = self.reasoner.read(query, &[]);
        let job = AnalyzeJob {
            origin: self.origin(NodeName::AnalyzeAndRoute),
            query,
            question: &question,
            history: &[],
            forced: None,
            failed: &[],
        };
        let analyzed = self.reasoner.analyze(job).await;
        let mut plan = analyzed
            .map_err(|error| EngineError::Run(error.to_string()))?
            .plan;
        plan.reconcile();
        Ok(plan.sub_questions)
    }

    /// Which of the sentences of one passage the offline engine would quote first, by its place;
    /// nothing for an endpoint, which does not tell. Blocks while it embeds.
    pub fn best_sentence(
        &self,
        query: &str,
        heading: &str,
        sentences: &[&str],
    ) -> Result<Option<usize>, EngineError> {
        if self.identity().mode != Mode::Offline {
            return Ok(None);
        }
        let given = [Given::Sentences(heading, sentences)];
        let signals = offline::measure_signals(query, &given, self.embedder.as_ref())
            .map_err(|error| EngineError::Run(error.to_string()))?;
        Ok(signals[0].first().and_then(|block| block.bold))
    }

    /// What the offline engine would quote of a passage; nothing for an endpoint, which writes its answers. Blocks while
    /// it embeds.
    pub fn quote_best_block(
        &self,
        query: &str,
        passage: &str,
    ) -> Result<Option<QuotedBlock>, EngineError> {
        if self.identity().mode != Mode::Offline {
            return Ok(None);
        }
        offline::quote_best_block(query, passage, self.embedder.as_ref())
            .map_err(|error| EngineError::Run(error.to_string()))
    }

    /// How near each text is to the question by the built-in embedding alone. Blocks.
    pub fn cosines(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, EngineError> {
        let all = [&[query], texts].concat();
        let vectors = self.embedder.embed(&all);
        let vectors = vectors.map_err(|error| EngineError::Run(error.to_string()))?;
        let Some((query, vectors)) = vectors.split_first() else {
            return Ok(Vec::new());
        };
        let dot = |vector: &Vec<f32>| query.iter().zip(vector).map(|(x, y)| x * y).sum::<f32>();
        Ok(vectors
            .iter()
            .map(|vector| f64::from(dot(vector)))
            .collect())
    }

    fn origin(&self, node: NodeName) -> CallOrigin<'_> {
        CallOrigin {
            run: &self.run,
            node,
            calls: None,
            waits: None,
        }
    }
}
