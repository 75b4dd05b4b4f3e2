//! The thinking engine that the settings ask for.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::ports::{Embedder, Reasoner};
use crate::config::{self, Settings};
use crate::embed::CachedEmbedder;
use crate::protocol::JobModels;
use crate::reasoner::llm::{EndpointReasoner, EndpointSettings, JobSettings, Jobs};
use crate::reasoner::offline::OfflineReasoner;

use super::EngineError;
use super::model_choice::models_of;

/// How often a request is made again where nothing is set: three pauses come to about four
/// seconds, which outlasts a restart of a worker and not a person's patience.
const RETRIES: u32 = 3;

/// The reasoner in use, and what it is called.
#[derive(Clone)]
pub(super) struct ThinkingEngine {
    /// The engine itself.
    pub(super) reasoner: Arc<dyn Reasoner>,
    /// The same where it is a chat endpoint, whose models can be chosen.
    pub(super) endpoint: Option<Arc<EndpointReasoner>>,
}

impl ThinkingEngine {
    /// Who does which job.
    pub(super) fn models(&self) -> JobModels {
        match &self.endpoint {
            Some(endpoint) => models_of(endpoint),
            None => JobModels::same_for_all(self.reasoner.identity().model),
        }
    }
}

/// The chat endpoint if one is set, or else the offline engine, which compares by `judge_embedder`.
pub(super) fn thinking_engine(
    settings: &Settings,
    judge_embedder: Arc<dyn Embedder>,
) -> Result<ThinkingEngine, EngineError> {
    let Some(llm) = &settings.llm else {
        let embedder = Arc::new(CachedEmbedder::new(judge_embedder));
        return Ok(ThinkingEngine {
            reasoner: Arc::new(OfflineReasoner::new(embedder)),
            endpoint: None,
        });
    };
    let reasoner = endpoint_reasoner(settings, llm)?.with_embedder(judge_embedder);
    let endpoint = Arc::new(reasoner);
    Ok(ThinkingEngine {
        reasoner: endpoint.clone(),
        endpoint: Some(endpoint),
    })
}

/// The thinking engine behind that endpoint.
pub(super) fn endpoint_reasoner(
    settings: &Settings,
    llm: &config::EndpointConfig,
) -> Result<EndpointReasoner, EngineError> {
    EndpointReasoner::new(endpoint(llm, settings.config_dir.clone()))
        .map_err(|error| EngineError::Setting(error.to_string()))
}

/// What is set, and what is built in where nothing is.
fn endpoint(llm: &config::EndpointConfig, overrides: Option<PathBuf>) -> EndpointSettings {
    let built_in = Jobs::default();
    EndpointSettings {
        base_url: llm.base_url.clone(),
        api_key: llm.api_key.clone(),
        model: llm.model.clone(),
        timeout: llm.timeout,
        retries: llm.retries.unwrap_or(RETRIES),
        server: llm.server.clone(),
        context_tokens: llm.context_tokens,
        authorities: llm.authorities.clone(),
        jobs: Jobs {
            analyze: job(&llm.analyze, &built_in.analyze),
            plan: job(&llm.plan, &built_in.plan),
            grade: job(&llm.grade, &built_in.grade),
            synthesize: job(&llm.synthesize, &built_in.synthesize),
        },
        overrides,
    }
}

fn job(set: &config::JobConfig, built_in: &JobSettings) -> JobSettings {
    JobSettings {
        model: set.model.clone(),
        temperature: set.temperature.unwrap_or(built_in.temperature),
        max_tokens: set.max_tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::variables;
    use crate::reasoner::llm::ModelJob;

    #[test]
    fn the_table_of_settings_tells_what_is_built_in() {
        let told = |name: &str| {
            let variable = variables().find(|one| one.name == format!("KB_AGENT_LLM_{name}"));
            let variable = variable.expect(name);
            variable.default.or(variable.unset).unwrap_or_default()
        };
        assert_eq!(told("RETRIES"), RETRIES.to_string());
        for job in ModelJob::ALL {
            let (name, settings) = (format!("{job:?}").to_uppercase(), Jobs::default());
            let temperature = settings.settings_for(job).temperature.to_string();
            assert_eq!(told(&format!("TEMPERATURE_{name}")), temperature);
            let tokens = told(&format!("MAX_TOKENS_{name}"));
            let fixed = job.tokens(0, false);
            let per_item = job.tokens(1, false) - fixed;
            let thoughts = job.tokens(0, true) - fixed;
            assert!(tokens.starts_with(&fixed.to_string()), "{tokens}");
            let told = |number: u32| number == 0 || tokens.contains(&number.to_string());
            assert!(told(per_item) && told(thoughts), "{tokens}");
        }
    }
}
