//! Models for the person in front of the screen: which there are, and which does which job.
//!
//! A server may take its time, so it is asked beside everything else and not for long. What is chosen
//! holds from the next question on and as long as the screen is open; the settings stay as they are.
//! While no endpoint is set, servers that run on this machine take its place: one line says that they are
//! there, and `/model` lists their models.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::local_servers::{LocalServers, in_words};
use super::models::{chats, is_called, model_job, models_of, near, shown_name};
use super::updates::{info, warning};
use crate::agent::CurrentReasoner;
use crate::agent::ports::Reasoner;
use crate::domain::DecidedBy;
use crate::protocol::{
    JobModels, JobName, Mode, ModelCommand, ModelListing, ModelOffer, ModelUpdate, ModelWish,
    OFFLINE_HAS_NO_MODELS, Update,
};
use crate::reasoner::llm::{EndpointReasoner, ListedModel, LocalServer};
use crate::text::one_line;

/// How long a person waits for a list.
const PATIENCE: Duration = Duration::from_secs(10);
const NONE_FOUND: &str = "Offline, and no server that lists models was found at the usual ports of this \
     machine: start one, such as Ollama, or set KB_AGENT_LLM_BASE_URL.";

/// What was found and chosen so far.
pub(super) struct ModelChooser {
    /// What looks for servers on this machine, where no endpoint is set.
    local: Option<Arc<LocalServers>>,
    current: CurrentReasoner,
    /// The engine that thinks while nothing is chosen.
    offline: Arc<dyn Reasoner>,
    /// The endpoint that thinks, with what was chosen there.
    chosen: Option<ChosenModels>,
    /// The server of this machine that it is.
    server: Option<LocalServer>,
    /// The servers of this machine that were found last.
    found: Vec<LocalServer>,
}

impl ModelChooser {
    /// For this endpoint, or for servers of this machine; what is chosen thinks in the place of `current`.
    pub(super) fn new(
        endpoint: Option<Arc<EndpointReasoner>>,
        local: Option<Arc<LocalServers>>,
        current: CurrentReasoner,
    ) -> Self {
        Self {
            local,
            offline: current.get(),
            chosen: endpoint.map(|endpoint| ChosenModels::new(endpoint, Vec::new())),
            server: None,
            found: Vec::new(),
            current,
        }
    }

    /// Answers what is asked about models, one after the other.
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<ModelCommand>,
        updates: mpsc::Sender<Update>,
    ) {
        if self.find().await.is_ok() {
            let does = match self.found.len() {
                1 => "uses it",
                _ => "lists them",
            };
            let line = format!("{}: /model {does}", in_words(&self.found, 1));
            let _ = updates.send(info(line)).await;
        }
        while let Some(command) = commands.recv().await {
            let answers = match command {
                ModelCommand::List => vec![Update::Model(ModelUpdate::Listed(self.list().await))],
                ModelCommand::Choose(wish) => self
                    .choose(wish)
                    .await
                    .unwrap_or_else(|why| vec![Update::Model(ModelUpdate::NotChosen(why))]),
            };
            for answer in answers {
                if updates.send(answer).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Looks for servers on this machine; an error where none is found, or none is looked for.
    async fn find(&mut self) -> Result<(), String> {
        let local = self.local.as_ref().ok_or(OFFLINE_HAS_NO_MODELS)?;
        self.found = local.find().await?;
        if self.found.is_empty() {
            return Err(NONE_FOUND.to_owned());
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<ModelListing, String> {
        if self.local.is_none()
            && let Some(models) = &mut self.chosen
        {
            return models.list().await;
        }
        self.find().await?;
        let offers = self.found.iter().flat_map(|server| {
            let title = Some(server.title.clone());
            let models = server.models.iter();
            models.map(move |model| offer(model, title.clone()))
        });
        // Nothing is decided for a model before one is chosen.
        let built_in = self.chosen.iter().map(|_| ModelOffer::built_in());
        let chosen = self.chosen.as_ref();
        Ok(ModelListing {
            host: "this machine".to_owned(),
            models: offers.chain(built_in).collect(),
            left_out: 0,
            in_use: chosen.map_or_else(|| self.offline_models(), ChosenModels::in_use),
        })
    }

    fn offline_models(&self) -> JobModels {
        JobModels::same_for_all(self.offline.identity().model)
    }

    async fn choose(&mut self, wish: ModelWish) -> Result<Vec<Update>, String> {
        let uses = |mode, endpoint| Update::Model(ModelUpdate::Engine { mode, endpoint });
        let Some(local) = self.local.clone() else {
            return self.choose_here(wish).await;
        };
        let name = match wish.model.clone() {
            Some(name) if !is_built_in(&name) => name,
            Some(_) if wish.is_kept => {
                return Err("KB_AGENT_LLM_DECIDES=built-in in your .env keeps this".to_owned());
            }
            Some(_) if self.chosen.is_none() => {
                return Err(
                    "the built-in engine does everything now; choose a model first".to_owned(),
                );
            }
            name if self.chosen.is_some() && (name.is_some() || wish.job.is_some()) => {
                return self.choose_here(wish).await;
            }
            _ => {
                (self.chosen, self.server) = (None, None);
                self.current.replace(Arc::clone(&self.offline));
                let chosen = Update::Model(ModelUpdate::Chosen(self.offline_models()));
                return Ok(vec![uses(Mode::Offline, None), chosen]);
            }
        };
        let server = self.server_of(&name, wish.server.as_deref()).await?;
        let is_kept = wish.is_kept;
        if wish.job.is_none() {
            let endpoint = local.reasoner_at(&server, &name)?;
            let mut models = ChosenModels::new(endpoint, server.models.clone());
            // Nothing else is used until it is there.
            models.find(&name).await?;
            (self.chosen, self.server) = (Some(models), Some(server.clone()));
        } else if self.server.as_ref().map(|used| &used.base_url) != Some(&server.base_url) {
            let title = shown_name(&server.title);
            return Err(format!(
                "one server does all jobs: choose a model of {title} for all of them first"
            ));
        }
        let mut answers = vec![uses(Mode::Llm, Some(server.base_url.clone()))];
        answers.extend(self.choose_here(wish).await?);
        if is_kept {
            answers.push(match local.keep(&server, &name).await {
                Ok(line) => info(line),
                Err(why) => warning(why),
            });
        }
        Ok(answers)
    }

    /// Takes a model of the endpoint that thinks.
    async fn choose_here(&mut self, wish: ModelWish) -> Result<Vec<Update>, String> {
        let models = self.chosen.as_mut().ok_or(OFFLINE_HAS_NO_MODELS)?;
        let reasoner = models.choose(wish).await?;
        let chosen = models_of(&reasoner);
        self.current.replace(Arc::new(reasoner));
        Ok(vec![Update::Model(ModelUpdate::Chosen(chosen))])
    }

    /// The server that lists the model; looks again where it is not among those found last.
    async fn server_of(&mut self, name: &str, title: Option<&str>) -> Result<LocalServer, String> {
        let lists = |server: &&LocalServer| {
            let mut models = server.models.iter();
            title.is_none_or(|title| server.title == title)
                && models.any(|model| is_called(&model.name, name))
        };
        if !self.found.iter().any(|server| lists(&server)) {
            self.find().await?;
        }
        let found = self.found.iter().find(lists).cloned();
        found.ok_or_else(|| {
            let all = self.found.iter().flat_map(|server| &server.models);
            let place = "no server found on this machine lists";
            unlisted(place, name, near(name, all), "/model shows what was found")
        })
    }
}

/// Whether it means the engine that is built in.
fn is_built_in(name: &str) -> bool {
    name == DecidedBy::BuiltIn.as_str()
}

fn offer(model: &ListedModel, server: Option<String>) -> ModelOffer {
    ModelOffer {
        name: model.name.clone(),
        context: model.context,
        server,
    }
}

/// Why a name is not taken: none is called so, and these are near.
fn unlisted(place: &str, name: &str, near: Option<String>, other: &str) -> String {
    let next = near.map_or_else(|| other.to_owned(), |near| format!("near is {near}"));
    format!("{place} '{}'; {next}", shown_name(name))
}

/// An endpoint, and the models that were chosen there.
struct ChosenModels {
    /// The endpoint as the settings set it up.
    endpoint: Arc<EndpointReasoner>,
    of_jobs: [Option<ListedModel>; 4],
    /// What the server listed last.
    listed: Vec<ListedModel>,
}

impl ChosenModels {
    fn new(endpoint: Arc<EndpointReasoner>, listed: Vec<ListedModel>) -> Self {
        Self {
            endpoint,
            of_jobs: [const { None }; 4],
            listed,
        }
    }

    /// Who does which job.
    fn in_use(&self) -> JobModels {
        models_of(&self.reasoner())
    }

    /// The endpoint with what was chosen.
    fn reasoner(&self) -> EndpointReasoner {
        let chosen = JobName::ALL.into_iter().zip(&self.of_jobs);
        let chosen = chosen.filter_map(|(job, model)| Some((model_job(job), model.as_ref()?)));
        self.endpoint.with_models(chosen)
    }

    /// What the server can do, for a person who chooses.
    async fn list(&mut self) -> Result<ModelListing, String> {
        let host = self.endpoint.host().to_owned();
        let Some(listed) = self.ask().await? else {
            return Err(format!(
                "{host} has no list of models; /model NAME takes one by its name"
            ));
        };
        let chat = listed.iter().filter(|model| chats(model));
        let mut models: Vec<ModelOffer> = chat.map(|model| offer(model, None)).collect();
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
        let asked = timeout(PATIENCE, self.endpoint.models_now()).await;
        let asked = asked.map_err(|_| {
            let (host, waited) = (self.endpoint.host(), PATIENCE.as_secs());
            format!("{host} did not list its models within {waited} s; try again")
        })?;
        let listed = asked.map_err(|error| one_line(&error.to_string(), 400))?;
        self.listed = listed.clone().unwrap_or_default();
        Ok(listed.is_some().then_some(self.listed.as_slice()))
    }

    /// Takes a model for a job or for all, and returns what thinks then; the error says in one line why not.
    async fn choose(&mut self, wish: ModelWish) -> Result<EndpointReasoner, String> {
        let is_built_in = wish.model.as_deref().is_some_and(is_built_in);
        let model = match &wish.model {
            Some(_) if is_built_in && wish.job == Some(JobName::Answer) => {
                return Err(
                    "the built-in engine decides and does not write answers beside a model; \
                     choose analyze, plan or grade"
                        .to_owned(),
                );
            }
            Some(name) if is_built_in => Some(ListedModel::from_name(name)),
            Some(name) => Some(self.find(name).await?),
            None => None,
        };
        for job in JobName::ALL {
            let is_meant = wish.job.is_none_or(|only| only == job);
            if is_meant && !(is_built_in && job == JobName::Answer) {
                self.of_jobs[job as usize].clone_from(&model);
            }
        }
        Ok(self.reasoner())
    }

    /// The model of that name; the error says in one line why it is not taken.
    async fn find(&mut self, name: &str) -> Result<ListedModel, String> {
        let is_it = |model: &&ListedModel| chats(model) && model.name == name;
        if let Some(model) = self.listed.iter().find(is_it) {
            return Ok(model.clone());
        }
        let host = self.endpoint.host().to_owned();
        let Some(listed) = self.ask().await? else {
            return Ok(ListedModel::from_name(name));
        };
        match listed.iter().find(|model| is_called(&model.name, name)) {
            Some(model) if chats(model) => Ok(ListedModel {
                name: name.to_owned(),
                ..model.clone()
            }),
            Some(_) => {
                let shown = shown_name(name);
                Err(format!(
                    "'{shown}' cannot chat; /model lists those that can"
                ))
            }
            None => {
                let place = format!("{host} lists no model");
                let near = near(name, listed);
                Err(unlisted(&place, name, near, "/model shows its list"))
            }
        }
    }
}
