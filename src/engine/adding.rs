//! Folders and files that a person adds to the knowledge base while the screen is open.
//!
//! The base over all of them is another one, with an index of its own, as at a start that names them
//! all; it takes the place of the one before once its words can be searched. What was found in that
//! one is still found under its name.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;

use crate::agent::ports::{Caveat, Embedder, Narrowed, ToolError, Toolbox};
use crate::config::Settings;
use crate::domain::{Evidence, ToolCall};
use crate::kb::{KbError, KnowledgeBase};
use crate::text::one_line;
use crate::tools::KbToolbox;

use super::knowledge::{open_with, update_words};

/// A path is shown up to this length.
const LONGEST_PATH: usize = 200;

/// The knowledge base that is searched now.
#[derive(Clone)]
pub(super) struct CurrentBase(Arc<RwLock<Arc<KnowledgeBase>>>);

impl CurrentBase {
    pub(super) fn new(base: Arc<KnowledgeBase>) -> Self {
        Self(Arc::new(RwLock::new(base)))
    }

    pub(super) fn get(&self) -> Arc<KnowledgeBase> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace(&self, base: Arc<KnowledgeBase>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = base;
    }
}

/// The tools over the base that is searched now; a run that keeps within a part of it goes on with
/// the one it began with.
pub(super) struct CurrentTools(pub(super) CurrentBase);

#[async_trait]
impl Toolbox for CurrentTools {
    async fn run(&self, call: &ToolCall) -> Result<Vec<Evidence>, ToolError> {
        KbToolbox::new(self.0.get()).run(call).await
    }

    fn narrowed(&self, question: &str) -> Result<Option<Narrowed>, ToolError> {
        KbToolbox::new(self.0.get()).narrowed(question)
    }

    fn caveats(&self) -> Vec<Caveat> {
        KbToolbox::new(self.0.get()).caveats()
    }
}

/// What it takes to open a base with one source more.
pub(super) struct Adding {
    settings: Settings,
    built_in: Arc<dyn Embedder>,
    added: Mutex<Vec<PathBuf>>,
}

impl Adding {
    pub(super) fn new(settings: &Settings, built_in: Arc<dyn Embedder>) -> Self {
        Self {
            settings: settings.clone(),
            built_in,
            added: Mutex::default(),
        }
    }

    /// The base over what `before` is over and this folder or file, its words up to date as far as
    /// nobody else writes its index. An error is one line. Blocks.
    pub(super) fn open(
        &self,
        before: &KnowledgeBase,
        path: &str,
        stop: &AtomicBool,
    ) -> Result<KnowledgeBase, String> {
        let named = one_line(path, LONGEST_PATH);
        let path = expanded(path);
        let real = path
            .canonicalize()
            .map_err(|error| format!("{named} cannot be added: {error}"))?;
        self.refusal(&real)?;
        let in_words = |error: KbError| error.to_string();
        let sources = before.sources().map_err(in_words)?;
        let lies_within = sources.iter().any(|source| real.starts_with(&source.path));
        // A file that a folder leaves out may be named all the same.
        let documents = before.documents().map_err(in_words)?;
        let name = before.source_of(&real);
        let is_read = name.is_some_and(|name| documents.get(&name).is_some());
        if lies_within && (real.is_dir() || is_read) {
            return Err(format!("{named} is part of the knowledge base already"));
        }
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let with = [added.as_slice(), &[real.clone()]].concat();
        let base = open_with(&self.settings, Arc::clone(&self.built_in), &with)
            .map_err(|error| error.to_string())?;
        match update_words(&base, &|_| (), stop) {
            // Who writes its index makes it whole; what is there can be searched.
            Ok(_) | Err(KbError::Locked) => {}
            Err(error) => return Err(format!("{named} cannot be added: {error}")),
        }
        added.push(real);
        Ok(base)
    }

    /// Where the `.env` of a folder names the endpoint, only what lies in that folder goes there.
    fn refusal(&self, real: &Path) -> Result<(), String> {
        let Some(file) = &self.settings.endpoint_file else {
            return Ok(());
        };
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        if folder.is_some_and(|folder| real.starts_with(folder)) {
            return Ok(());
        }
        Err(format!(
            "{} is not added: {} names the endpoint, and documents outside its folder do not go \
             there; with --env-file .env they do",
            one_line(&real.to_string_lossy(), LONGEST_PATH),
            one_line(&file.to_string_lossy(), LONGEST_PATH)
        ))
    }
}

/// The path with the home folder in the place of `~`.
fn expanded(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").or((path == "~").then_some(""));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}
