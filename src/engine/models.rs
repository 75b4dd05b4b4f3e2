//! The thinking engine that the settings ask for, and which model of an endpoint does which job.

use std::path::PathBuf;
use std::sync::Arc;

use super::EngineError;
use crate::agent::ports::{Embedder, Reasoner};
use crate::config::{self, Settings};
use crate::domain::DecidedBy;
use crate::embed::CachedEmbedder;
use crate::protocol::{JobModels, JobName};
use crate::reasoner::llm::{
    Decides, EndpointReasoner, EndpointSettings, JobSettings, Jobs, ListedModel, ModelJob, ModelUse,
};
use crate::reasoner::offline::OfflineReasoner;
use crate::text::{nearest, one_line};

/// Columns of a model's name in a line.
const LONGEST_NAME: usize = 60;

/// Who does which job, as far as that is known.
pub(super) fn models_of(endpoint: &EndpointReasoner) -> JobModels {
    let mut models = JobModels::same_for_all(endpoint.identity().model);
    for job in JobName::ALL {
        let own = match endpoint.decider(model_job(job)) {
            DecidedBy::BuiltIn => Some(DecidedBy::BuiltIn.as_str()),
            DecidedBy::Model => endpoint.own_model(model_job(job)),
        };
        models.set(job, own);
    }
    models
}

pub(super) fn model_job(job: JobName) -> ModelJob {
    match job {
        JobName::Analyze => ModelJob::Analyze,
        JobName::Plan => ModelJob::Plan,
        JobName::Grade => ModelJob::Grade,
        JobName::Answer => ModelJob::Synthesize,
    }
}

/// Whether a server that lists the one takes the other: `:latest` may be left out.
pub(super) fn is_called(listed: &str, name: &str) -> bool {
    listed == name || listed.strip_suffix(":latest") == Some(name)
}

/// Whether it answers questions, as far as its name or its kind tell.
pub(super) fn chats(model: &ListedModel) -> bool {
    model.purpose == ModelUse::Chat
}

/// A name as a line shows it.
pub(super) fn shown_name(name: &str) -> String {
    one_line(name, LONGEST_NAME)
}

/// The models that chat and are called almost so; `None` where there is none.
pub(super) fn near<'a>(
    name: &str,
    listed: impl IntoIterator<Item = &'a ListedModel>,
) -> Option<String> {
    let listed = listed.into_iter().filter(|model| chats(model));
    let near = nearest(name, listed.map(|model| model.name.as_str()));
    let near: Vec<String> = near.into_iter().map(shown_name).collect();
    (!near.is_empty()).then(|| near.join(", "))
}

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
    let embedder = Arc::new(CachedEmbedder::new(judge_embedder));
    let offline = OfflineReasoner::new(embedder).with_thresholds(settings.limits.router);
    let Some(llm) = &settings.llm else {
        return Ok(ThinkingEngine {
            reasoner: Arc::new(offline),
            endpoint: None,
        });
    };
    let reasoner = endpoint_reasoner(settings, llm)?.with_offline(offline);
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
        .map_err(|error| EngineError::Setting(error.into()))
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
        evidence_tokens: llm.evidence_tokens,
        decides: match llm.decides {
            None => Decides::Auto,
            Some(DecidedBy::Model) => Decides::Model,
            Some(DecidedBy::BuiltIn) => Decides::BuiltIn,
        },
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
mod thinking_tests {
    use super::*;
    use crate::config::settings;
    use crate::reasoner::llm::ModelJob;

    #[test]
    fn the_table_of_settings_tells_what_is_built_in() {
        let told = |name: &str| {
            let setting = settings().find(|one| one.name == format!("KB_AGENT_LLM_{name}"));
            setting.expect(name).while_unset()
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
