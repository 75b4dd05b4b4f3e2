//! What plain mode tells of the knowledge base and of the engine.

use crate::domain::{Complexity, RoutingLimits};
use crate::engine::Engine;
use crate::protocol::{JobModels, KnowledgeContents, KnowledgeStatus, Mode, joined};
use crate::text::plural;

use super::listing::made_of;
use super::narrator::line;

/// What is asked, and what is searched.
pub(super) struct ConversationInfo {
    mode: Mode,
    /// Which model does which job.
    pub(super) models: JobModels,
    endpoint: Option<String>,
    limits: RoutingLimits,
    /// What the knowledge base holds now.
    pub(super) knowledge: KnowledgeStatus,
    /// What its documents are, once that is known.
    pub(super) contents: Option<KnowledgeContents>,
}

impl ConversationInfo {
    /// What is known of them when the conversation begins.
    pub(super) fn from_engine(engine: &Engine, limits: RoutingLimits) -> Self {
        let status = engine.knowledge().status();
        let identity = engine.identity();
        Self {
            mode: identity.mode,
            models: engine.models(),
            endpoint: engine.profile().endpoint.clone(),
            limits,
            knowledge: KnowledgeStatus {
                name: status.name,
                documents: status.documents,
                chunks: status.chunks,
                pending: status.pending,
                ..KnowledgeStatus::default()
            },
            contents: None,
        }
    }

    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        Self {
            mode: Mode::Offline,
            models: JobModels::default(),
            endpoint: None,
            limits: RoutingLimits::default(),
            knowledge: KnowledgeStatus::default(),
            contents: None,
        }
    }

    /// What the knowledge base holds; `None` where it is not known yet.
    pub(super) fn base(&self) -> Option<String> {
        let contents = self.contents.as_ref()?;
        let base = &self.knowledge;
        let state = match (base.stopped, base.indexing, base.pending) {
            (true, _, _) => "stopped; /index goes on".to_owned(),
            (false, true, 0) => "looking for changes".to_owned(),
            (false, true, pending) => format!("{} to embed", plural(pending, "passage")),
            (false, false, 0) => "up to date".to_owned(),
            (false, false, pending) => format!("{} not embedded", plural(pending, "passage")),
        };
        let kinds = contents.kinds.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let mut said = format!(
            "{}: {} in {}.\n",
            line(&base.name),
            plural(base.documents, "document"),
            plural(base.chunks, "passage"),
        );
        if !kinds.is_empty() {
            said.push_str(&format!("Kinds: {}.\n", line(&kinds.join(", "))));
        }
        for (name, time) in &contents.newest {
            said.push_str(&format!("Newest: {}, {}.\n", line(name), time.minute()));
        }
        said.push_str(&made_of(contents));
        said.push_str(&format!("Index: {state}.\n"));
        Some(said)
    }

    /// Which model does which job.
    pub(super) fn models(&self) -> String {
        let by_model = self.models.by_model();
        match by_model.as_slice() {
            [(only, _)] => format!("Model: {}.\n", line(only)),
            several => {
                let lines = several.iter();
                let lines = lines
                    .map(|(model, jobs)| format!("Model for {}: {}.\n", joined(jobs), line(model)));
                lines.collect()
            }
        }
    }

    /// Whether there are models to choose from.
    pub(super) fn has_endpoint(&self) -> bool {
        self.mode == Mode::Llm
    }

    /// Which engine answers, and by which settings it routes.
    pub(super) fn engine(&self, route: Option<Complexity>) -> String {
        let mut said = match self.mode {
            Mode::Offline => "Engine: offline, built in; answers are quoted from the documents.\n",
            Mode::Llm => "Engine: chat endpoint.\n",
        }
        .to_owned();
        said.push_str(&self.models());
        if let Some(endpoint) = &self.endpoint {
            said.push_str(&format!("Endpoint: {}\n", line(endpoint)));
        }
        let route = route.map_or("auto", |route| route.as_str());
        let limits = &self.limits;
        said.push_str(&format!(
            "Route: {route}; /route sets it.\n\
             At most {}, approved without a grader up to {} or from a match of {:.2}.\n",
            plural(limits.max_iterations as usize, "grading"),
            plural(limits.auto_approve_max_items, "item"),
            limits.vector_score_threshold,
        ));
        said
    }
}
