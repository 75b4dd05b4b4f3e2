//! Servers that run on this machine, while no endpoint is set: found, in words, and as thinking engines.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::models::{shown_name, thinking_engine};
use crate::agent::ports::Embedder;
use crate::config::{EndpointConfig, Settings, set_in_own_file};
use crate::reasoner::llm::{EndpointReasoner, LocalServer, local_servers};
use crate::text::one_line;

/// What was found, in one line, with so many models of each server: `Ollama runs here with qwen3:8b and 2
/// more`.
pub(super) fn in_words(found: &[LocalServer], most: usize) -> String {
    let words = found.iter().map(|server| {
        let first = server.models.iter().take(most);
        let first: Vec<_> = first.map(|model| shown_name(&model.name)).collect();
        let more = match server.models.len().saturating_sub(most) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let title = shown_name(&server.title);
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
    pub(super) fn new(settings: &Settings, judge_embedder: Arc<dyn Embedder>) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            settings: settings.clone(),
            endpoint: settings.local.as_deref().cloned()?,
            judge_embedder,
        }))
    }

    /// The servers that run now; the error is one line.
    pub(super) async fn find(&self) -> Result<Vec<LocalServer>, String> {
        local_servers(self.settings.config_dir.as_deref()).await
    }

    /// The thinking engine behind that server, where this model does what no other is chosen for.
    pub(super) fn reasoner_at(
        &self,
        server: &LocalServer,
        model: &str,
    ) -> Result<Arc<EndpointReasoner>, String> {
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
        Ok(engine.endpoint.ok_or("there is no endpoint")?)
    }

    /// Writes the choice to the user's own `.env`; returns the line that says so.
    pub(super) async fn keep(&self, server: &LocalServer, model: &str) -> Result<String, String> {
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
        let (url, model) = (&server.base_url, shown_name(model));
        Ok(format!(
            "From the next question on, and at every start: {model}. Written to {}: \
             KB_AGENT_LLM_BASE_URL={url} and KB_AGENT_LLM_MODEL.",
            path.display()
        ))
    }
}
