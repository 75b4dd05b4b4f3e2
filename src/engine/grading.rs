//! Passages graded, question by question, without a knowledge base: what `eval grading` measures.

use std::sync::Arc;

use crate::agent::ports::{AnalyzeJob, CallOrigin, GradeJob, Identity, Reasoner};
use crate::config::Settings;
use crate::domain::{Evidence, NodeName, Score, scores_of};
use crate::embed::{CachedEmbedder, JudgeEmbedder};
use crate::protocol::RunId;

use super::{EngineError, thinking};

/// The thinking engine of the settings, asked for grades only.
pub struct Grader {
    reasoner: Arc<dyn Reasoner>,
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
        let embedder = CachedEmbedder::new(Arc::new(JudgeEmbedder::built_in()));
        Ok(Self {
            reasoner: thinking::thinking_engine(settings, Arc::new(embedder))?.reasoner,
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
        let scores = numbers.and_then(|numbers| scores_of(&numbers, passages.len()));
        // A run drops what was not looked at as it does what is graded 0, and both are measured alike.
        let counted = |scores: Vec<Option<Score>>| {
            let scores = scores.into_iter();
            scores.map(|it| it.unwrap_or(Score::ZERO)).collect()
        };
        Ok(PassageGrades {
            scores: scores.map(counted),
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

    fn origin(&self, node: NodeName) -> CallOrigin<'_> {
        CallOrigin {
            run: &self.run,
            node,
            calls: None,
            waits: None,
        }
    }
}
