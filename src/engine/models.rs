//! The thinking engine that the settings ask for, and which model of an endpoint does which job.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::EngineError;
use crate::agent::CurrentReasoner;
use crate::agent::ports::{Embedder, Reasoner};
use crate::config::{self, Settings};
use crate::domain::DecidedBy;
use crate::embed::CachedEmbedder;
use crate::protocol::{JobModels, JobName, ModelListing, ModelOffer, ModelWish};
use crate::reasoner::llm::{
    Decides, EndpointReasoner, EndpointSettings, JobSettings, Jobs, ListedModel, ModelJob, ModelUse,
};
use crate::reasoner::offline::OfflineReasoner;
use crate::text::{nearest, one_line};

/// How long a person waits for a list.
const PATIENCE: Duration = Duration::from_secs(10);
/// Columns of a name in a line.
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

/// What was chosen so far.
pub(super) struct ChosenModels {
    /// The endpoint as the settings set it up.
    endpoint: Arc<EndpointReasoner>,
    current: CurrentReasoner,
    of_jobs: [Option<ListedModel>; 4],
    /// What the server listed last.
    listed: Vec<ListedModel>,
}

impl ChosenModels {
    /// Nothing is chosen yet at this endpoint, which listed these models.
    pub(super) fn new(
        endpoint: Arc<EndpointReasoner>,
        current: CurrentReasoner,
        listed: Vec<ListedModel>,
    ) -> Self {
        Self {
            endpoint,
            current,
            of_jobs: [const { None }; 4],
            listed,
        }
    }

    /// Who does which job.
    pub(super) fn in_use(&self) -> JobModels {
        models_of(&self.reasoner())
    }

    /// What the server can do, for a person who chooses.
    pub(super) async fn list(&mut self) -> Result<ModelListing, String> {
        let host = self.endpoint.host().to_owned();
        let Some(listed) = self.ask().await? else {
            return Err(format!(
                "{host} has no list of models; /model NAME takes one by its name"
            ));
        };
        let chats = |model: &&ListedModel| model.purpose == ModelUse::Chat;
        let offer = |model: &ListedModel| ModelOffer {
            name: model.name.clone(),
            context: model.context,
            server: None,
        };
        let mut models: Vec<ModelOffer> = listed.iter().filter(chats).map(offer).collect();
        let left_out = listed.len() - models.len();
        if !models.is_empty() {
            models.push(ModelOffer::built_in());
        }
        Ok(ModelListing {
            host,
            in_use: self.in_use(),
            left_out,
            models,
        })
    }

    /// The models that the server lists now; `None` where it has no list.
    async fn ask(&mut self) -> Result<Option<&[ListedModel]>, String> {
        let host = self.endpoint.host();
        let asked = timeout(PATIENCE, self.endpoint.models_now()).await;
        let asked = asked.map_err(|_| {
            let waited = PATIENCE.as_secs();
            format!("{host} did not list its models within {waited} s; try again")
        })?;
        let listed = asked.map_err(|error| one_line(&error.to_string(), 400))?;
        self.listed = listed.clone().unwrap_or_default();
        Ok(listed.is_some().then_some(self.listed.as_slice()))
    }

    /// Takes a model, and returns who does which job then; the error says in one line why not.
    pub(super) async fn choose(&mut self, wish: ModelWish) -> Result<JobModels, String> {
        let model = match wish.model {
            Some(name) if name == DecidedBy::BuiltIn.as_str() => {
                return self.choose_built_in(wish.job);
            }
            Some(name) => Some(self.find(&name).await?),
            None => None,
        };
        for job in JobName::ALL {
            if wish.job.is_none_or(|only| only == job) {
                self.of_jobs[job as usize].clone_from(&model);
            }
        }
        Ok(self.take_effect())
    }

    /// Leaves a job to the built-in engine, or all that it can do.
    fn choose_built_in(&mut self, job: Option<JobName>) -> Result<JobModels, String> {
        if job == Some(JobName::Answer) {
            return Err(
                "the built-in engine decides and does not write answers beside a model; \
                        choose analyze, plan or grade"
                    .to_owned(),
            );
        }
        for decision in [JobName::Analyze, JobName::Plan, JobName::Grade] {
            if job.is_none_or(|only| only == decision) {
                let built_in = ListedModel::named(DecidedBy::BuiltIn.as_str());
                self.of_jobs[decision as usize] = Some(built_in);
            }
        }
        Ok(self.take_effect())
    }

    /// Thinks with what was chosen from the next question on.
    fn take_effect(&self) -> JobModels {
        let reasoner = self.reasoner();
        let models = models_of(&reasoner);
        self.current.replace(Arc::new(reasoner));
        models
    }

    /// The endpoint with what was chosen.
    fn reasoner(&self) -> EndpointReasoner {
        let chosen = JobName::ALL.into_iter().zip(&self.of_jobs);
        let chosen = chosen.filter_map(|(job, model)| Some((model_job(job), model.as_ref()?)));
        self.endpoint.with_models(chosen)
    }

    /// The model of that name; the error says in one line why it is not taken.
    async fn find(&mut self, name: &str) -> Result<ListedModel, String> {
        let chats = |model: &&ListedModel| model.purpose == ModelUse::Chat;
        let known = self.listed.iter().filter(chats);
        if let Some(model) = known.into_iter().find(|model| model.name == name) {
            return Ok(model.clone());
        }
        let called_so = |model: &ListedModel| ListedModel {
            name: name.to_owned(),
            ..model.clone()
        };
        let host = self.endpoint.host().to_owned();
        let shown = one_line(name, LONGEST_NAME);
        let Some(listed) = self.ask().await? else {
            return Ok(ListedModel::named(name));
        };
        match listed.iter().find(|model| is_called(&model.name, name)) {
            Some(model) if model.purpose == ModelUse::Chat => Ok(called_so(model)),
            Some(_) => Err(format!(
                "'{shown}' cannot chat; /model lists those that can"
            )),
            None => {
                let names = listed.iter().filter(chats).map(|model| model.name.as_str());
                let near: Vec<String> = nearest(name, names)
                    .into_iter()
                    .map(|near| one_line(near, LONGEST_NAME))
                    .collect();
                let next = if near.is_empty() {
                    "/model shows its list".to_owned()
                } else {
                    format!("near is {}", near.join(", "))
                };
                Err(format!("{host} lists no model '{shown}'; {next}"))
            }
        }
    }
}

// The thinking engine that the settings ask for.

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
