//! An engine on its way: what needs no index first, the index after.

use std::sync::{Arc, Mutex};

use secrecy::ExposeSecret;

use super::adding::{Adding, CurrentBase, CurrentTools};
use super::built_in_models::BuiltInModels;
use super::thinking::{ThinkingEngine, thinking_engine};
use super::{Engine, EngineError, knowledge, own_files, prepare_data_folder};
use crate::agent::Agent;
use crate::agent::ports::{Identity, Ports};
use crate::audit::{AuditLog, InterruptedRun, LogSettings, Mask, Session};
use crate::config::Settings;
use crate::protocol::JobModels;

impl Engine {
    /// Builds every part. Closes runs that a kill left open; nothing is indexed yet.
    pub async fn open(settings: &Settings) -> Result<Self, EngineError> {
        Opening::begin(settings).await?.finish().await
    }
}

/// An engine whose index is not open yet. A large one takes longer to open than a person likes to
/// wait for a first picture.
pub struct Opening {
    settings: Settings,
    profile: Profile,
    built_in: BuiltInModels,
    thinking: ThinkingEngine,
    audit_log: LogSettings,
    mask: Mask,
    notices: Vec<String>,
    session: Session,
}

impl Opening {
    /// Builds what needs no index. Closes runs that a kill left open.
    pub async fn begin(settings: &Settings) -> Result<Self, EngineError> {
        let mask = Mask::knowing(
            settings
                .llm
                .iter()
                .filter_map(|llm| llm.api_key.as_ref())
                .chain(
                    settings
                        .embedding
                        .iter()
                        .filter_map(|at| at.api_key.as_ref()),
                )
                .chain(settings.store.iter().filter_map(|at| at.password.as_ref()))
                .chain(settings.store.iter().map(|at| &at.url))
                .map(|key| key.expose_secret().to_owned()),
        );
        let audit_log = LogSettings {
            path: settings.audit_log.clone(),
            keep_bytes: settings.audit_keep_bytes,
            prompts: settings.audit_prompts,
        };
        let (session, closed) = begin_session(settings, &audit_log, mask.clone()).await?;
        let mut notices = settings.without_effect.clone();
        notices.extend(interruptions(&closed));
        let built_in = BuiltInModels::new();
        let thinking = thinking_engine(settings, built_in.judge())?;
        Ok(Self {
            settings: settings.clone(),
            profile: Profile::from_settings(settings),
            built_in,
            thinking,
            audit_log,
            mask,
            notices,
            session,
        })
    }

    /// Opens the index.
    pub async fn finish(self) -> Result<Engine, EngineError> {
        let settings = self.settings;
        let built_in = self.built_in;
        let knowledge = knowledge::open_beside(&settings, built_in.clone()).await?;
        let knowledge = CurrentBase::new(Arc::new(knowledge));
        let tools = Arc::new(CurrentTools(knowledge.clone()));
        let adding = Arc::new(Adding::new(&settings, built_in));
        Ok(Engine {
            agent: Agent {
                ports: Ports {
                    reasoner: self.thinking.reasoner.clone(),
                    tools,
                },
                limits: settings.limits,
                session: self.session.id().to_owned(),
            },
            thinking: self.thinking,
            knowledge,
            adding,
            profile: self.profile,
            audit_log: self.audit_log,
            mask: self.mask,
            notices: self.notices,
            exports: settings.data_dir.join("exports"),
            own_files: own_files(&settings),
            live: Arc::new(Mutex::new(self.session)),
            said_before: None,
            endpoint_file: settings.endpoint_file,
        })
    }

    /// What is known of the engine before its index is open.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Which engine thinks, with which model.
    pub fn identity(&self) -> Identity {
        self.thinking.reasoner.identity()
    }

    /// Which model does which job.
    pub fn models(&self) -> JobModels {
        self.thinking.models()
    }

    /// What the person should know before the first question, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// One line, however many runs were cut short.
fn interruptions(closed: &[InterruptedRun]) -> Option<String> {
    let last = crate::text::one_line(&closed.last()?.query, 60);
    Some(match closed.len() {
        1 => format!("the last run was interrupted and is closed as failed: {last}"),
        count => {
            format!("{count} runs were interrupted and are closed as failed, the last: {last}")
        }
    })
}

/// Off the async threads: another process may hold what this waits for.
async fn begin_session(
    settings: &Settings,
    log: &LogSettings,
    mask: Mask,
) -> Result<(Session, Vec<InterruptedRun>), EngineError> {
    let (data_dir, log) = (settings.data_dir.clone(), log.clone());
    let begun = tokio::task::spawn_blocking(move || {
        prepare_data_folder(&data_dir).map_err(|source| EngineError::DataDir {
            path: data_dir,
            source,
        })?;
        Ok(AuditLog::begin_session(&log, mask)?)
    });
    let broke_off = |error| EngineError::Run(format!("opening the audit log broke off: {error}"));
    begun.await.map_err(broke_off)?
}

/// What an engine is, whether its index is open or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Whether the bundled demo is searched.
    pub is_demo: bool,
    /// Where the thinking engine is asked; `None` where the embedded one thinks.
    pub endpoint: Option<String>,
}

impl Profile {
    pub(super) fn from_settings(settings: &Settings) -> Self {
        Self {
            is_demo: knowledge::is_demo(settings),
            endpoint: settings.llm.as_ref().map(|llm| address(&llm.base_url)),
        }
    }
}

/// The address without its query, which may hold a key.
fn address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    url[..end].to_owned()
}
