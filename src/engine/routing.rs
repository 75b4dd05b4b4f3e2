//! Questions routed one by one, without a knowledge base: what `eval routing` measures.

use std::sync::Arc;

use crate::agent::ports::{AnalyzeJob, CallOrigin, Embedder, Identity, Reasoner};
use crate::config::Settings;
use crate::domain::{NodeName, RoutingPlan};
use crate::kb::embed::{Remembering, SentenceEmbedding};
use crate::protocol::RunId;
use crate::reasoner::llm::{EndpointReasoner, EndpointSettings};
use crate::reasoner::offline::OfflineReasoner;

use super::EngineError;

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
    /// Connects to the endpoint, if one is set.
    pub async fn open(settings: &Settings) -> Result<Self, EngineError> {
        let built_in: Arc<dyn Embedder> = Arc::new(SentenceEmbedding::new());
        Ok(Self {
            reasoner: reasoner(settings, built_in).await?,
            run: RunId::generate(),
        })
    }

    /// Which engine routes, with which model.
    pub fn identity(&self) -> Identity {
        self.reasoner.identity()
    }

    /// Routes a question as the first of a conversation.
    pub async fn route(&self, query: &str) -> Result<Routed, EngineError> {
        let job = AnalyzeJob {
            origin: CallOrigin {
                run: &self.run,
                node: NodeName::AnalyzeAndRoute,
            },
            query,
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

/// The endpoint of the settings, or the offline engine.
pub(super) async fn reasoner(
    settings: &Settings,
    built_in: Arc<dyn Embedder>,
) -> Result<Arc<dyn Reasoner>, EngineError> {
    let Some(llm) = &settings.llm else {
        let embedder = Arc::new(Remembering::new(built_in));
        return Ok(Arc::new(OfflineReasoner::new(embedder)));
    };
    let endpoint = EndpointSettings {
        base_url: llm.base_url.clone(),
        api_key: llm.api_key.clone(),
        model: llm.model.clone(),
        timeout: llm.timeout,
        tools: crate::tools::DESCRIPTORS,
    };
    let connected = EndpointReasoner::connect(endpoint).await;
    let reasoner = connected.map_err(|error| EngineError::Run(error.to_string()))?;
    Ok(Arc::new(reasoner))
}
