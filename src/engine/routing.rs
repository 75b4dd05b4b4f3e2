//! Questions routed one by one, without a knowledge base: what `eval routing` measures.

use std::sync::Arc;

use crate::agent::ports::{AnalyzeJob, CallOrigin, Identity, Reasoner};
use crate::config::Settings;
use crate::domain::{NodeName, RoutingPlan};
use crate::embed::JudgeEmbedder;
use crate::protocol::RunId;
use crate::reasoner::offline::OfflineReasoner;

use super::{EngineError, thinking};

/// The thinking engine of the settings, asked for routing plans only.
pub struct Router {
    reasoner: Arc<dyn Reasoner>,
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

impl Router {
    /// Opens the router. Where an endpoint is set, the first question makes the first request to
    /// it.
    pub fn open(settings: &Settings) -> Result<Self, EngineError> {
        Ok(Self {
            reasoner: thinking::thinking_engine(settings, Arc::new(JudgeEmbedder::built_in()))?
                .reasoner,
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

    /// Which engine routes, with which model.
    pub fn identity(&self) -> Identity {
        self.reasoner.identity()
    }

    /// The engine itself.
    pub(super) fn reasoner(&self) -> Arc<dyn Reasoner> {
        Arc::clone(&self.reasoner)
    }

    /// Routes a question as the first of a conversation.
    pub async fn route(&self, query: &str) -> Result<Routed, EngineError> {
        let question = self.reasoner.read(query, &[]);
        let job = AnalyzeJob {
            origin: CallOrigin {
                run: &self.run,
                node: NodeName::AnalyzeAndRoute,
                calls: None,
                waits: None,
            },
            query,
            question: &question,
            history: &[],
            forced: None,
            failed: &[],
        };
        let analyzed = self.reasoner.analyze(job).await;
        let analysis = analyzed.map_err(|error| EngineError::Run(error.to_string()))?;
        let mut plan = analysis.plan;
        plan.reconcile();
        let warnings = analysis.warnings.into_iter();
        Ok(Routed {
            plan,
            small_talk: analysis.small_talk,
            warnings: warnings.map(|warning| warning.message).collect(),
        })
    }
}
