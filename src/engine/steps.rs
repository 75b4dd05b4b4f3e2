//! Single steps of a run, without a knowledge base: questions routed and passages graded one by one,
//! as `eval routing` and `eval grading` measure them.

use std::sync::Arc;

use super::EngineError;
use super::models::thinking_engine;
use crate::agent::ports::{AnalyzeJob, CallOrigin, GradeJob, Identity, Reasoner};
use crate::config::Settings;
use crate::domain::{Evidence, NodeName, RoutingPlan, Score, scores_of};
use crate::embed::{CachedEmbedder, JudgeEmbedder};
use crate::protocol::RunId;
use crate::reasoner::offline::OfflineReasoner;

/// A thinking engine that is asked for single steps.
pub struct StepRunner {
    pub(super) reasoner: Arc<dyn Reasoner>,
    run: RunId,
}

/// How one question goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Routed {
    /// The plan, as a run would follow it.
    pub plan: RoutingPlan,
    /// How likely small talk, 0–1, where the engine measures it.
    pub small_talk: Option<f64>,
    /// What was wrong with the engine's reply, one line each; the plan is then what a run falls
    /// back to (R4).
    pub warnings: Vec<String>,
}

impl StepRunner {
    /// The engine of the settings. Where an endpoint is set, the first question makes the first
    /// request to it.
    pub fn open(settings: &Settings) -> Result<Self, EngineError> {
        let embedder = CachedEmbedder::new(Arc::new(JudgeEmbedder::built_in()));
        Ok(Self {
            reasoner: thinking_engine(settings, Arc::new(embedder))?.reasoner,
            run: RunId::generate(),
        })
    }

    /// The embedded engine, whatever the settings say.
    pub fn embedded() -> Self {
        Self {
            reasoner: Arc::new(OfflineReasoner::new(Arc::new(JudgeEmbedder::built_in()))),
            run: RunId::generate(),
        }
    }

    /// Which engine it is, with which model.
    pub fn identity(&self) -> Identity {
        self.reasoner.identity()
    }

    /// Routes a question as the first of a conversation.
    pub async fn route(&self, query: &str) -> Result<Routed, EngineError> {
        let question = self.reasoner.read(query, &[]);
        let job = AnalyzeJob {
            origin: self.origin(NodeName::AnalyzeAndRoute),
            query,
            question: &question,
            history: &[],
            forced: None,
            failed: &[],
            spoken_of: None,
        };
        let analysis = self.reasoner.analyze(job).await?;
        let mut plan = analysis.plan;
        plan.reconcile();
        let warnings = analysis.warnings.into_iter();
        Ok(Routed {
            plan,
            small_talk: analysis.small_talk,
            warnings: warnings.map(|warning| warning.message).collect(),
        })
    }

    /// Grades the passages in one call, as the first grading of a conversation: one score for each
    /// passage, or why there is none; a run then counts each as 0.5 (R18).
    pub async fn grade(
        &self,
        query: &str,
        sub_questions: &[String],
        passages: &[&str],
    ) -> Result<Result<Vec<Score>, String>, EngineError> {
        let passages_from_one = (1..).zip(passages);
        let context: Vec<Evidence> = passages_from_one
            .map(|(at, text)| Evidence::without_file(at, text))
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
        let graded = self.reasoner.grade(job).await?;
        let numbers = graded.scores.map_err(|unreadable| unreadable.to_string());
        let scores = numbers.and_then(|numbers| scores_of(&numbers, passages.len()));
        // A run drops what was not looked at as it does what is graded 0, and both are measured alike.
        Ok(scores.map(|scores| {
            let scores = scores.into_iter();
            scores.map(|it| it.unwrap_or(Score::ZERO)).collect()
        }))
    }

    fn origin(&self, node: NodeName) -> CallOrigin<'_> {
        CallOrigin {
            run: &self.run,
            node,
            calls: None,
            waits: None,
            instruction: None,
        }
    }
}
