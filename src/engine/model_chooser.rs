//! Models for the person in front of the screen: which there are, and which does which job.
//!
//! A server may take its time, so it is asked beside everything else and not for long. What is chosen
//! holds from the next question on and as long as the screen is open; the settings stay as they are.
//! While no endpoint is set, servers that run on this machine take its place: one line says that they are
//! there, and `/model` lists their models.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::local_servers::{LocalServers, in_words};
use super::models::{ChosenModels, is_called};
use super::updates::{info, warning};
use crate::agent::CurrentReasoner;
use crate::agent::ports::Reasoner;
use crate::domain::DecidedBy;
use crate::protocol::{
    JobModels, Mode, ModelCommand, ModelListing, ModelOffer, ModelUpdate, ModelWish,
    OFFLINE_HAS_NO_MODELS, Update,
};
use crate::reasoner::llm::{EndpointReasoner, LocalServer};
use crate::text::{nearest, one_line};

/// Commands that may wait.
const IN_FLIGHT: usize = 16;
/// Columns of a name in a line.
const LONGEST_NAME: usize = 60;
const NONE_FOUND: &str = "Offline, and no server that lists models was found at the usual ports of this \
     machine: start one, such as Ollama, or set KB_AGENT_LLM_BASE_URL.";

/// Answers what is asked about models, one after the other.
pub(super) struct ModelChooser {
    asked: mpsc::Sender<ModelCommand>,
    updates: mpsc::Sender<Update>,
    task: JoinHandle<()>,
}

impl ModelChooser {
    /// For this endpoint, or for servers of this machine; what is chosen thinks in the place of `current`.
    pub(super) fn new(
        endpoint: Option<Arc<EndpointReasoner>>,
        local: Option<Arc<LocalServers>>,
        current: CurrentReasoner,
        updates: mpsc::Sender<Update>,
    ) -> Self {
        let (asked, commands) = mpsc::channel(IN_FLIGHT);
        let choice = ModelChoice {
            local,
            offline: current.get(),
            chosen: endpoint.map(|at| ChosenModels::new(at, current.clone(), Vec::new())),
            server: None,
            found: Vec::new(),
            current,
        };
        let task = tokio::spawn(choice.answer(commands, updates.clone()));
        Self {
            asked,
            updates,
            task,
        }
    }

    /// Takes one command.
    pub(super) async fn take(&self, command: ModelCommand) {
        let is_list = matches!(command, ModelCommand::List);
        if self.asked.try_send(command).is_err() {
            let busy = "the server is still being asked for its models; try again".to_owned();
            let update = Update::Model(if is_list {
                ModelUpdate::Listed(Err(busy))
            } else {
                ModelUpdate::NotChosen(busy)
            });
            let _ = self.updates.send(update).await;
        }
    }

    /// Ends what was begun: nobody waits for it any more.
    pub(super) async fn end(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// What was found and chosen so far.
struct ModelChoice {
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

impl ModelChoice {
    async fn answer(
        mut self,
        mut commands: mpsc::Receiver<ModelCommand>,
        updates: mpsc::Sender<Update>,
    ) {
        if self.find().await.is_ok() {
            let does = if self.found.len() == 1 {
                "uses it"
            } else {
                "lists them"
            };
            let line = format!("{}: /model {does}", in_words(&self.found, 1));
            let _ = updates.send(info(line)).await;
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

    /// Looks for servers on this machine; an error where none is found, or none is looked for.
    async fn find(&mut self) -> Result<(), String> {
        let Some(local) = &self.local else {
            return Err(OFFLINE_HAS_NO_MODELS.to_owned());
        };
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
                Some(models) => models.in_use(),
                None => self.offline_models(),
            },
        })
    }

    fn offline_models(&self) -> JobModels {
        JobModels::same_for_all(self.offline.identity().model)
    }

    async fn choose(&mut self, wish: ModelWish) -> Result<Vec<Update>, String> {
        let uses = |mode, endpoint| Update::Model(ModelUpdate::Engine { mode, endpoint });
        let chosen = |models| Update::Model(ModelUpdate::Chosen(models));
        let Some(local) = self.local.clone() else {
            let models = self.chosen.as_mut().ok_or(OFFLINE_HAS_NO_MODELS)?;
            return Ok(vec![chosen(models.choose(wish).await?)]);
        };
        let Some(name) = wish.model.clone() else {
            if let Some(models) = self.chosen.as_mut().filter(|_| wish.job.is_some()) {
                return Ok(vec![chosen(models.choose(wish).await?)]);
            }
            (self.chosen, self.server) = (None, None);
            self.current.replace(Arc::clone(&self.offline));
            let models = self.offline_models();
            return Ok(vec![uses(Mode::Offline, None), chosen(models)]);
        };
        if name == DecidedBy::BuiltIn.as_str() {
            let Some(models) = self.chosen.as_mut().filter(|_| !wish.is_kept) else {
                return Err(if wish.is_kept {
                    "KB_AGENT_LLM_DECIDES=built-in in your .env keeps this".to_owned()
                } else {
                    "the built-in engine does everything now; choose a model first".to_owned()
                });
            };
            return Ok(vec![chosen(models.choose(wish).await?)]);
        }
        let server = self.server_of(&name, wish.server.as_deref()).await?;
        let current = self.server.as_ref();
        let is_used = current.is_some_and(|it| it.base_url == server.base_url);
        let is_kept = wish.is_kept;
        let models = match &mut self.chosen {
            Some(models) if wish.job.is_some() && is_used => models.choose(wish).await?,
            _ if wish.job.is_some() => {
                let title = one_line(&server.title, LONGEST_NAME);
                return Err(format!(
                    "one server does all jobs: choose a model of {title} for all of them first"
                ));
            }
            _ => {
                let mut models = local.models_at(&server, &name, self.current.clone())?;
                let in_use = models.choose(wish).await?;
                (self.chosen, self.server) = (Some(models), Some(server.clone()));
                in_use
            }
        };
        let endpoint = Some(server.base_url.clone());
        let mut answers = vec![uses(Mode::Llm, endpoint), chosen(models)];
        if is_kept {
            answers.push(match local.keep(&server, &name).await {
                Ok(line) => info(line),
                Err(why) => warning(why),
            });
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
        self.find().await?;
        if let Some(server) = self.found.iter().find(lists) {
            return Ok(server.clone());
        }
        let all = self.found.iter().flat_map(|server| &server.models);
        let near: Vec<_> = nearest(name, all.map(|model| model.name.as_str()))
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
