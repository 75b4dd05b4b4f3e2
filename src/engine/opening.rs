//! An engine on its way: what needs no index first, the index after.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use parking_lot::Mutex;
use secrecy::ExposeSecret;

use super::adding::{Adding, CurrentBase, CurrentTools};
use super::knowledge::BuiltInModels;
use super::local_servers::LocalServers;
use super::models::{ThinkingEngine, thinking_engine};
use super::{Engine, EngineError, knowledge, own_files};
use crate::agent::Agent;
use crate::agent::ports::{Identity, Ports};
use crate::audit::{AuditLog, InterruptedRun, LogSettings, Mask, Session};
use crate::config::Settings;
use crate::files::create_private_dir;
use crate::protocol::JobModels;
use crate::telemetry::{TraceDetail, TraceForm, TraceSender};
use crate::text::OrTrouble;

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
    traces: Option<TraceSender>,
}

impl Opening {
    /// Builds what needs no index. Closes runs that a kill left open.
    pub async fn begin(settings: &Settings) -> Result<Self, EngineError> {
        let mask = mask_of(settings);
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
        let traces = trace_sender(settings)?;
        Ok(Self {
            settings: settings.clone(),
            profile: Profile::from_settings(settings),
            built_in,
            thinking,
            audit_log,
            mask,
            notices,
            session,
            traces,
        })
    }

    /// Opens the index.
    pub async fn finish(self) -> Result<Engine, EngineError> {
        let settings = self.settings;
        let built_in = self.built_in;
        let knowledge = knowledge::open_beside(&settings, built_in.clone()).await?;
        let knowledge = CurrentBase::new(Arc::new(knowledge));
        let tools = Arc::new(CurrentTools(knowledge.clone()));
        let local = LocalServers::new(&settings, built_in.judge());
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
            local,
            knowledge,
            adding,
            profile: self.profile,
            audit_log: self.audit_log,
            config_dir: settings.config_dir.clone(),
            mask: self.mask,
            notices: self.notices,
            exports: settings.data_dir.join("exports"),
            own_files: own_files(&settings),
            live: Arc::new(Mutex::new(self.session)),
            said_before: None,
            traces: self.traces,
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

/// What masks the secrets of these settings, besides all that look like secrets.
pub fn mask_of(settings: &Settings) -> Mask {
    let secrets = settings.secrets();
    Mask::knowing(secrets.map(|secret| secret.expose_secret().to_owned()))
}

/// Who sends runs to the collector that the settings name, with their texts where the audit log has them.
pub fn trace_sender(settings: &Settings) -> Result<Option<TraceSender>, EngineError> {
    let form = TraceForm {
        detail: TraceDetail::from_audit_prompts(settings.audit_prompts),
        eval_settings: settings.eval_settings.clone(),
    };
    let endpoint = settings.otlp_endpoint.as_deref();
    let sender = endpoint.map(|endpoint| TraceSender::new(endpoint, &settings.otlp_headers, form));
    let sender = sender.transpose();
    sender.map_err(EngineError::Setting)
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
    begun.await.trouble("opening the audit log broke off")?
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

// The folder of everything that is kept, for its owner alone.

#[cfg(unix)]
use crate::audit::{check_is_log, is_part};
#[cfg(unix)]
use crate::kb::holds_an_index;

/// What is kept there: files, the last of which earlier versions wrote …
#[cfg(unix)]
const FILES: [&str; 5] = [
    "audit.jsonl",
    "audit.jsonl.head", // of earlier versions
    "audit.jsonl.labels",
    "audit.jsonl.sessions",
    "trusted.json",
];
/// … and folders, the last of which earlier versions laid out.
#[cfg(unix)]
const FOLDERS: [&str; 7] = [
    "audit.jsonl.live",
    "index",
    "logs",
    "demo",
    "eval",
    "exports",
    "demo-kb",
];

/// Makes the data folder where there is none. One of an earlier version, which others may look
/// into, is closed to them; a folder that holds anything else is not ours to close.
pub fn prepare_data_folder(path: &Path) -> io::Result<()> {
    create_private_dir(path)?;
    #[cfg(unix)]
    if is_open(path) && holds_only_ours(path) {
        use std::os::unix::fs::PermissionsExt;
        // Of another owner, or on a disk without rights: what is in it has its own.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    }
    Ok(())
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let meta = fs::symlink_metadata(path);
    meta.is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o077 != 0)
}

/// Whether everything in it is named as we name it, and something in it was written by us.
#[cfg(unix)]
fn holds_only_ours(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let log = path.join("audit.jsonl");
    let is_ours = |entry: &fs::DirEntry| {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            return false;
        };
        let is_known = |names: &[&str]| names.contains(&name.as_str());
        (kind.is_dir() && is_known(&FOLDERS))
            || (kind.is_file() && (is_known(&FILES) || is_part(&log, &name)))
    };
    let all = entries
        .into_iter()
        .all(|entry| entry.is_ok_and(|entry| is_ours(&entry)));
    let log = check_is_log(&log).ok().flatten();
    let has_log = log.is_some_and(|meta| meta.len() > 0);
    all && (has_log || holds_an_index(&path.join("index")))
}

#[cfg(test)]
mod data_folder_tests {
    #[cfg(unix)]
    #[test]
    fn trust_an_earlier_data_folder_is_closed_and_no_other() {
        use super::*;
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let event = r#"{"event":"x","run":"a","schema":1,"seq":0,"ts":"t"}"#;
        let index = "index/0123456789abcdef/v5-1/lexical/meta.json";
        let part = "audit.01938d2e-0000-7000-8000-000000000001.jsonl";
        for (name, entries, becomes) in [
            ("ours", &["audit.jsonl", "logs/a.log", part][..], 0o700),
            ("indexed", &[index, "audit.jsonl.live/gate"], 0o700),
            ("shared", &["audit.jsonl", "notes.md"], 0o755),
            ("shares", &["audit.jsonl", "audit.mine.jsonl"], 0o755),
            ("begins", &["audit.jsonl", "indexes/a"], 0o755),
            ("file", &["audit.jsonl", "index"], 0o755),
            ("site", &["index/page.html", "logs/a.log"], 0o755),
            ("empty", &[], 0o755),
        ] {
            let folder = home.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            for entry in entries {
                let path = folder.join(entry);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, event).unwrap();
            }
            prepare_data_folder(&folder).unwrap();
            assert_eq!(mode(&folder), becomes, "{name}");
        }
        let fresh = home.path().join("a/b");
        prepare_data_folder(&fresh).unwrap();
        assert_eq!(mode(&fresh), 0o700);
    }
}
