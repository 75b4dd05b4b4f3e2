//! Folders and files that a person adds to the knowledge base while the screen is open.
//!
//! The base over all of them is another one, with an index of its own, as at a start that names them
//! all; it takes the place of the one before once its words can be searched. What was found in that
//! one is still found under its name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use super::knowledge::{BuiltInModels, is_demo, open_with, update_words};
use crate::agent::ports::{NarrowedTools, ToolError, Toolbox, WaitSink};
use crate::config::Settings;
use crate::domain::{Evidence, SearchedBase, ToolCall};
use crate::kb::{KbError, KnowledgeBase, Progress, Skipped};
use crate::text::{one_line, sanitize};
use crate::tools::KbToolbox;

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
        Arc::clone(&self.0.read())
    }

    pub(super) fn replace(&self, base: Arc<KnowledgeBase>) {
        *self.0.write() = base;
    }
}

/// The tools over the base that is searched now. What narrows them for a question are those over the base of that
/// moment: a run ends over the one that it began with.
pub(super) struct CurrentTools(pub(super) CurrentBase);

#[async_trait]
impl Toolbox for CurrentTools {
    async fn run(
        &self,
        call: &ToolCall,
        waits: Option<&WaitSink>,
    ) -> Result<Vec<Evidence>, ToolError> {
        KbToolbox::new(self.0.get()).run(call, waits).await
    }

    fn base(&self) -> Option<SearchedBase> {
        KbToolbox::new(self.0.get()).base()
    }

    async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
        let tools = KbToolbox::new(self.0.get());
        let narrowed = tools.narrow(question).await?;
        Ok(Some(narrowed.unwrap_or_else(|| {
            NarrowedTools::unlimited(Arc::new(tools), question.to_owned())
        })))
    }
}

/// What it takes to open a base with one source more.
pub(super) struct Adding {
    settings: Settings,
    built_in: BuiltInModels,
    added: Mutex<Vec<PathBuf>>,
}

/// A base with one source more.
pub(super) struct ExtendedBase {
    pub(super) base: KnowledgeBase,
    /// The path of the new source.
    pub(super) path: PathBuf,
    /// What is to be said of it.
    pub(super) line: String,
    /// The files of all sources that are not in the index, where that is known.
    pub(super) skipped: Option<Vec<Skipped>>,
}

impl Adding {
    pub(super) fn new(settings: &Settings, built_in: BuiltInModels) -> Self {
        Self {
            settings: settings.clone(),
            built_in,
            added: Mutex::default(),
        }
    }

    /// The base over what `before` is over and this folder or file, its words up to date as far as
    /// no other process writes its index. An error is one line. Blocks.
    pub(super) fn open(
        &self,
        before: &KnowledgeBase,
        path: &str,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &CancellationToken,
    ) -> Result<ExtendedBase, String> {
        let named = one_line(path, LONGEST_PATH);
        if self.settings.store.is_some() {
            return Err(format!(
                "{named} is not added: the base is shared with others; `kb-agent index --kb` adds to it"
            ));
        }
        let real = resolve_path(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("there is no file or folder {named}"),
            _ => format!("{named} cannot be added: {error}"),
        })?;
        let in_words = |error: KbError| format!("{named} cannot be added: {error}");
        if holds(before, &real).map_err(in_words)? {
            return Err(format!("{named} is part of the knowledge base already"));
        }
        let with = [self.added().as_slice(), std::slice::from_ref(&real)].concat();
        let base = open_with(&self.settings, &self.built_in, &with)
            .map_err(|error| format!("{named} cannot be added: {error}"))?;
        let skipped = match update_words(&base, progress, cancel) {
            _ if cancel.is_cancelled() => {
                return Err(format!("{named} is not added: it was stopped"));
            }
            // Who writes its index makes it whole; what is there can be searched.
            Ok(report) => Some(report.skipped),
            Err(KbError::Locked | KbError::ReadOnly) => None,
            Err(error) => return Err(in_words(error)),
        };
        if let Err(error) = base.take_vectors_of(before, cancel) {
            // They are made anew, then.
            tracing::debug!(%error, "no vectors were taken over");
        }
        let sources = base.sources(cancel).map_err(in_words)?;
        let held = sources.iter().find(|source| source.path == real);
        let held = held.map_or(1, |source| source.documents);
        let line = match held {
            0 => format!(
                "Added for this session: {named}. Nothing in it can be searched yet; /index says \
                 what was left out."
            ),
            held => format!(
                "Added for this session: {named}, {held} {}. KB_AGENT_SOURCE keeps it, as /kb says.",
                if held == 1 { "document" } else { "documents" }
            ),
        };
        Ok(ExtendedBase {
            base,
            path: real,
            line,
            skipped,
        })
    }

    /// It is searched now.
    pub(super) fn keep(&self, path: PathBuf) {
        self.added.lock().push(path);
    }

    /// What was added so far.
    pub(super) fn added(&self) -> Vec<PathBuf> {
        self.added.lock().clone()
    }

    /// All that the base is over, where something was added; else nothing.
    pub(super) fn all_sources(&self, base: &KnowledgeBase) -> Vec<PathBuf> {
        let added = self.added();
        if added.is_empty() {
            return added;
        }
        let mut all: Vec<PathBuf> = base.source_paths();
        // A file that a folder holds and leaves out.
        let named = added.into_iter().filter(|path| path.is_file());
        let named: Vec<PathBuf> = named.filter(|path| !all.contains(path)).collect();
        all.extend(named);
        all
    }

    /// The setting that names all that the base is over but the demo, as a shell and a `.env` read it,
    /// where something was added; `None` too where a terminal cannot show it.
    pub(super) fn setting(&self, base: &KnowledgeBase) -> Option<String> {
        let mut sources = self.all_sources(base);
        if is_demo(&self.settings) {
            sources.retain(|path| self.added.lock().contains(path));
        }
        if sources.is_empty() {
            return None;
        }
        let value = std::env::join_paths(sources).ok()?.into_string().ok()?;
        let quoted = shlex::try_quote(&value).ok()?;
        (sanitize(&quoted) == quoted && !quoted.contains('\n'))
            .then(|| format!("KB_AGENT_SOURCE={quoted}"))
    }
}

/// Whether all of this folder, or this file, is read already. A file that a folder leaves out may be
/// named all the same.
fn holds(base: &KnowledgeBase, real: &Path) -> Result<bool, KbError> {
    let sources = base.source_paths();
    if !sources.iter().any(|source| real.starts_with(source)) {
        return Ok(false);
    }
    match base.source_of(real) {
        _ if real.is_dir() => Ok(true),
        Some(name) => Ok(base.document(&name)?.is_some()),
        None => Ok(false),
    }
}

/// What is meant: the path as it is typed, or as a shell would read it, which is how terminals write
/// a file that is dropped on them.
fn resolve_path(path: &str) -> io::Result<PathBuf> {
    let typed = expanded(path).canonicalize();
    let words = shlex::split(path).unwrap_or_default();
    match (typed, words.as_slice()) {
        (Err(error), [word]) if error.kind() == io::ErrorKind::NotFound => {
            expanded(word).canonicalize()
        }
        (typed, _) => typed,
    }
}

/// The path with the home folder in the place of `~`.
pub(super) fn expanded(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").or((path == "~").then_some(""));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}
