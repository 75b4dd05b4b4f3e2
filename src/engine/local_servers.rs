//! Servers that run on this machine, while no endpoint is set: one line says that they are there, `/model`
//! lists their models, and what is chosen thinks from the next question on.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::models::{ChosenModels, ModelChooser, is_called, thinking_engine};
use crate::agent::CurrentReasoner;
use crate::agent::ports::{Embedder, Reasoner};
use crate::config::{EndpointConfig, Settings, set_in_own_file};
use crate::domain::DecidedBy;
use crate::protocol::{
    JobModels, Mode, ModelCommand, ModelListing, ModelOffer, ModelUpdate, ModelWish, NoticeLevel,
    Update,
};
use crate::reasoner::llm::{LocalServer, local_servers};
use crate::text::{nearest, one_line};

/// Columns of a name in a line.
const LONGEST_NAME: usize = 60;
const NONE_FOUND: &str = "Offline, and no server that lists models was found at the usual ports of this \
     machine: start one, such as Ollama, or set KB_AGENT_LLM_BASE_URL.";

/// What was found, in one line, with so many models of each server: `Ollama runs here with qwen3:8b and 2
/// more`.
pub(super) fn in_words(found: &[LocalServer], most: usize) -> String {
    let words = found.iter().map(|server| {
        let first = server.models.iter().take(most);
        let first: Vec<_> = first
            .map(|model| one_line(&model.name, LONGEST_NAME))
            .collect();
        let more = match server.models.len().saturating_sub(most) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let title = one_line(&server.title, LONGEST_NAME);
        format!("{title} runs here with {}{more}", first.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}

/// What looks for servers on this machine, and makes a thinking engine of one.
pub(super) struct LocalServers {
    settings: Settings,
    /// How they are spoken to.
    endpoint: EndpointConfig,
    judge_embedder: Arc<dyn Embedder>,
}

impl LocalServers {
    /// Where the settings want servers to be looked for.
    pub(super) fn new(settings: &Settings, judge_embedder: Arc<dyn Embedder>) -> Option<Box<Self>> {
        Some(Box::new(Self {
            settings: settings.clone(),
            endpoint: settings.local.as_deref().cloned()?,
            judge_embedder,
        }))
    }

    /// Looks for servers at once, and then answers what is asked about models.
    pub(super) fn chooser(
        self: Box<Self>,
        current: CurrentReasoner,
        updates: mpsc::Sender<Update>,
    ) -> ModelChooser {
        let choice = LocalChoice {
            offline: current.get(),
            servers: self,
            current,
            chosen: None,
            found: Vec::new(),
        };
        let answers = updates.clone();
        ModelChooser::answering_by(updates, |commands| choice.answer(commands, answers))
    }

    async fn find(&self) -> Result<Vec<LocalServer>, String> {
        local_servers(self.settings.config_dir.as_deref()).await
    }

    /// The thinking engine behind that server, where this model does what no other is chosen for.
    fn models_at(
        &self,
        server: &LocalServer,
        model: &str,
        current: CurrentReasoner,
    ) -> Result<ChosenModels, String> {
        let settings = Settings {
            llm: Some(EndpointConfig {
                base_url: server.base_url.clone(),
                model: Some(model.to_owned()),
                server: Some(server.kind.clone()),
                ..self.endpoint.clone()
            }),
            ..self.settings.clone()
        };
        let engine = thinking_engine(&settings, Arc::clone(&self.judge_embedder));
        let engine = engine.map_err(|error| one_line(&error.to_string(), 400))?;
        let endpoint = engine.endpoint.ok_or("there is no endpoint")?;
        Ok(ChosenModels::new(endpoint, current, server.models.clone()))
    }

    /// Writes the choice to the user's own `.env`; returns the line that says so.
    async fn keep(&self, server: &LocalServer, model: &str) -> Result<String, String> {
        let folder = self.settings.config_dir.clone();
        let folder = folder.ok_or("no configuration folder is known; set KB_AGENT_CONFIG_DIR")?;
        let (url, name) = (server.base_url.clone(), model.to_owned());
        let writing = move || {
            let settings = [
                ("KB_AGENT_LLM_BASE_URL", &*url),
                ("KB_AGENT_LLM_MODEL", &*name),
            ];
            set_in_own_file(&folder, &settings)
        };
        let written = spawn_blocking(writing).await;
        let path = written.map_err(|error| format!("writing broke off: {error}"))??;
        let (url, model) = (&server.base_url, one_line(model, LONGEST_NAME));
        Ok(format!(
            "From the next question on, and at every start: {model}. Written to {}: \
             KB_AGENT_LLM_BASE_URL={url} and KB_AGENT_LLM_MODEL.",
            path.display()
        ))
    }
}

/// What was found and chosen so far.
struct LocalChoice {
    servers: Box<LocalServers>,
    current: CurrentReasoner,
    /// The engine that thinks while nothing is chosen.
    offline: Arc<dyn Reasoner>,
    chosen: Option<(LocalServer, ChosenModels)>,
    /// What was found last.
    found: Vec<LocalServer>,
}

impl LocalChoice {
    async fn answer(
        mut self,
        mut commands: mpsc::Receiver<ModelCommand>,
        updates: mpsc::Sender<Update>,
    ) {
        if let Ok(found) = self.servers.find().await
            && !found.is_empty()
        {
            let does = if found.len() == 1 {
                "uses it"
            } else {
                "lists them"
            };
            let message = format!("{}: /model {does}", in_words(&found, 1));
            let level = NoticeLevel::Info;
            let _ = updates.send(Update::Notice { level, message }).await;
        }
        while let Some(command) = commands.recv().await {
            let answers = match command {
                ModelCommand::List => vec![Update::Model(ModelUpdate::Listed(self.list().await))],
                ModelCommand::Choose(wish) => match self.choose(wish).await {
                    Ok(answers) => answers,
                    Err(why) => vec![Update::Model(ModelUpdate::NotChosen(why))],
                },
            };
            for answer in answers {
                if updates.send(answer).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn list(&mut self) -> Result<ModelListing, String> {
        self.found = self.servers.find().await?;
        if self.found.is_empty() {
            return Err(NONE_FOUND.to_owned());
        }
        let offers = self.found.iter().flat_map(|server| {
            server.models.iter().map(|model| ModelOffer {
                name: model.name.clone(),
                context: model.context,
                server: Some(server.title.clone()),
            })
        });
        // Nothing is decided for a model before one is chosen.
        let built_in = self.chosen.iter().map(|_| ModelOffer::built_in());
        Ok(ModelListing {
            host: "this machine".to_owned(),
            models: offers.chain(built_in).collect(),
            left_out: 0,
            in_use: match &self.chosen {
                Some((_, models)) => models.in_use(),
                None => self.offline_models(),
            },
        })
    }

    fn offline_models(&self) -> JobModels {
        JobModels::same_for_all(self.offline.identity().model)
    }

    async fn choose(&mut self, wish: ModelWish) -> Result<Vec<Update>, String> {
        let update = |update| Update::Model(update);
        let Some(name) = wish.model.clone() else {
            return match &mut self.chosen {
                Some((_, models)) if wish.job.is_some() => Ok(vec![update(ModelUpdate::Chosen(
                    models.choose(wish).await?,
                ))]),
                _ => {
                    self.chosen = None;
                    self.current.replace(Arc::clone(&self.offline));
                    let (mode, endpoint) = (Mode::Offline, None);
                    let models = self.offline_models();
                    Ok(vec![
                        update(ModelUpdate::Engine { mode, endpoint }),
                        update(ModelUpdate::Chosen(models)),
                    ])
                }
            };
        };
        if name == DecidedBy::BuiltIn.as_str() {
            let Some((_, models)) = self.chosen.as_mut().filter(|_| !wish.is_kept) else {
                return Err(if wish.is_kept {
                    "KB_AGENT_LLM_DECIDES=built-in in your .env keeps this".to_owned()
                } else {
                    "the built-in engine does everything now; choose a model first".to_owned()
                });
            };
            return Ok(vec![update(ModelUpdate::Chosen(
                models.choose(wish).await?,
            ))]);
        }
        let server = self.server_of(&name, wish.server.as_deref()).await?;
        let is_kept = wish.is_kept;
        let models = match &mut self.chosen {
            Some((used, models)) if wish.job.is_some() && used.base_url == server.base_url => {
                models.choose(wish).await?
            }
            _ if wish.job.is_some() => {
                let title = one_line(&server.title, LONGEST_NAME);
                return Err(format!(
                    "one server does all jobs: choose a model of {title} for all of them first"
                ));
            }
            _ => {
                let current = self.current.clone();
                let mut models = self.servers.models_at(&server, &name, current)?;
                let chosen = models.choose(wish).await?;
                self.chosen = Some((server.clone(), models));
                chosen
            }
        };
        let (mode, endpoint) = (Mode::Llm, Some(server.base_url.clone()));
        let mut answers = vec![
            update(ModelUpdate::Engine { mode, endpoint }),
            update(ModelUpdate::Chosen(models)),
        ];
        if is_kept {
            let (level, message) = match self.servers.keep(&server, &name).await {
                Ok(line) => (NoticeLevel::Info, line),
                Err(why) => (NoticeLevel::Warning, why),
            };
            answers.push(Update::Notice { level, message });
        }
        Ok(answers)
    }

    /// The server that lists the model; looks again where it is not among those found last.
    async fn server_of(&mut self, name: &str, title: Option<&str>) -> Result<LocalServer, String> {
        let lists = |server: &&LocalServer| {
            let mut models = server.models.iter();
            title.is_none_or(|title| server.title == title)
                && models.any(|model| is_called(&model.name, name))
        };
        if let Some(server) = self.found.iter().find(lists) {
            return Ok(server.clone());
        }
        self.found = self.servers.find().await?;
        if self.found.is_empty() {
            return Err(NONE_FOUND.to_owned());
        }
        if let Some(server) = self.found.iter().find(lists) {
            return Ok(server.clone());
        }
        let all = self.found.iter().flat_map(|server| &server.models);
        let near = nearest(name, all.map(|model| model.name.as_str()));
        let near: Vec<_> = near
            .into_iter()
            .map(|near| one_line(near, LONGEST_NAME))
            .collect();
        let next = match near.join(", ") {
            near if near.is_empty() => "/model shows what was found".to_owned(),
            near => format!("near is {near}"),
        };
        let shown = one_line(name, LONGEST_NAME);
        Err(format!(
            "no server found on this machine lists '{shown}'; {next}"
        ))
    }
}
