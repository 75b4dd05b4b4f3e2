use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use super::error::KbError;
use super::extract::Extraction;
use super::grep::{self, GrepPassage};
use super::manifest::Document;
use super::names;
use super::roots::Roots;
use super::search::{self, Hit, SearchMode};
use super::shelf::Shelf;
use super::store::{EmbeddedStore, Passage, Store, Within};
use super::update::{self, Progress, UpdateReport};
use crate::agent::ports::{Embedder, ToolError};

/// A set of folders and files with their index.
///
/// Opening is quick and reads no document; [`KnowledgeBase::update`] brings the index up to date.
/// All methods take `&self`, so that one base in an `Arc` serves the update and every search.
pub struct KnowledgeBase {
    roots: Roots,
    home: PathBuf,
    embedder: Arc<dyn Embedder>,
    store: EmbeddedStore,
}

/// What the index holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KbStatus {
    /// What to call it: the folders' names.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that still wait for their embedding.
    pub pending: usize,
}

impl KnowledgeBase {
    /// Opens the base over these folders and files. Its index lives in a subfolder of
    /// `index_home` that belongs to this set of roots.
    pub fn open(
        roots: &[PathBuf],
        index_home: &Path,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, KbError> {
        let roots = Roots::open(roots)?;
        let home = index_home.join(folder_of(&roots));
        fs::create_dir_all(&home).map_err(KbError::io(&home))?;
        let store = open_store(&home, embedder.model_id())?;
        Ok(Self {
            roots,
            home,
            embedder,
            store,
        })
    }

    /// [`KnowledgeBase::open`] for somebody who is going to [`KnowledgeBase::rebuild`]: an index
    /// that cannot be opened, for whatever reason, is thrown away instead of standing in the way.
    pub fn open_for_rebuild(
        roots: &[PathBuf],
        index_home: &Path,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, KbError> {
        let error = match Self::open(roots, index_home, Arc::clone(&embedder)) {
            Err(error @ (KbError::Io { .. } | KbError::Damaged(_) | KbError::Lexical(_))) => error,
            other => return other,
        };
        let home = index_home.join(folder_of(&Roots::open(roots)?));
        tracing::warn!(%error, "the index cannot be opened and is thrown away");
        let lock = lock(&home)?;
        EmbeddedStore::discard(&home)?;
        drop(lock);
        Self::open(roots, index_home, embedder)
    }

    /// Brings the index up to date with the files; blocks.
    ///
    /// First the words: what changed is read, cut and committed at once, and can be searched.
    /// Then the meaning: chunks without a vector are embedded in small batches, each kept as it
    /// comes. Raising `stop` ends it early without losing what is done; the next update goes on.
    /// While another process does the same, this is [`KbError::Locked`] and searching goes on
    /// with what is there.
    pub fn update(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.update_with(Scope::All { afresh: false }, progress, stop)
    }

    /// [`KnowledgeBase::update`] from nothing: every document is read and embedded again.
    pub fn rebuild(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.update_with(Scope::All { afresh: true }, progress, stop)
    }

    /// The first half of [`KnowledgeBase::update`]: reads what changed and makes its words
    /// searchable, in seconds also where the other half takes minutes.
    pub fn update_words(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.update_with(Scope::Words, progress, stop)
    }

    /// The second half: embeds what has no vector yet. Its report tells only how many.
    pub fn embed_pending(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.update_with(Scope::Meaning, progress, stop)
    }

    fn update_with(
        &self,
        scope: Scope,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        let Some(lock) = try_lock(&self.home)? else {
            // What the other process is about to replace need not be readable.
            if let Err(error) = self.refresh() {
                tracing::debug!(%error, "searching goes on with what was there");
            }
            return Err(KbError::Locked);
        };
        self.refresh()?;
        let job = update::Job {
            roots: &self.roots,
            store: &self.store,
            embedder: self.embedder.as_ref(),
            progress,
            stop,
        };
        let report = match scope {
            Scope::Words => job.words(false),
            Scope::Meaning => job.meaning().map(|embedded| UpdateReport {
                embedded,
                ..UpdateReport::default()
            }),
            Scope::All { afresh } => job.words(afresh).and_then(|mut report| {
                report.embedded = job.meaning()?;
                Ok(report)
            }),
        };
        drop(lock);
        report
    }

    /// Takes over what another process has indexed since.
    pub fn refresh(&self) -> Result<(), KbError> {
        if let Err(error) = self.store.reload() {
            let being_remade =
                matches!(error, KbError::Damaged(_)) && try_lock(&self.home)?.is_none();
            if !being_remade {
                return Err(error);
            }
        }
        self.store.reload_vectors(self.embedder.model_id())
    }

    /// What the index holds now.
    pub fn status(&self) -> KbStatus {
        let view = self.store.view();
        KbStatus {
            name: self.roots.name(),
            documents: view.documents.len(),
            chunks: view.chunks,
            pending: self.store.pending(),
        }
    }

    /// The canonical path of a file or folder of the base. Symlinks and `..` are resolved before
    /// it is asked whether the path lies inside.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        self.roots.resolve(path)
    }

    /// The name under which a resolved path appears as evidence.
    pub fn source_of(&self, resolved: &Path) -> Option<String> {
        self.roots.source_of(resolved)
    }

    /// A resolved file as the index reads it: its text, and where its places are.
    pub fn read(&self, resolved: &Path) -> Result<Extraction, ToolError> {
        let name = self
            .source_of(resolved)
            .unwrap_or_else(|| resolved.to_string_lossy().into_owned());
        let shelf = Shelf::open(self.store.dir());
        shelf
            .document(resolved, &name)
            .map_err(|reason| ToolError::Failed(format!("{name}: {reason}")))
    }

    /// The indexed documents, ordered by name.
    pub fn documents(&self) -> Result<Arc<[Document]>, KbError> {
        self.store.documents()
    }

    /// The documents that a name, title, path or glob may mean; exact ones alone, if there are any.
    pub(crate) fn find_documents(&self, asked: &str) -> Result<Vec<String>, KbError> {
        Ok(names::find(&self.documents()?, asked))
    }

    /// The documents that a question mentions by the name of their file.
    pub(crate) fn mentioned_documents(&self, question: &str) -> Result<Vec<String>, KbError> {
        Ok(names::mentioned(&self.documents()?, question))
    }

    /// Passages for a query, best first. Blocks.
    pub fn search(&self, mode: SearchMode, query: &str, k: usize) -> Result<Vec<Hit>, KbError> {
        match mode {
            SearchMode::Vector => self.vector(query, k, None),
            SearchMode::Hybrid => self.hybrid(query, &[], k, None),
            SearchMode::Grep => {
                let passages = self.grep(query, k)?;
                Ok(search::grep_hits(passages))
            }
        }
    }

    /// Passages nearest in meaning.
    pub(crate) fn vector(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        search::vector(&self.store, self.embedder.as_ref(), query, k, within)
    }

    /// Passages by words and meaning together. `keywords` add to the words only.
    pub(crate) fn hybrid(
        &self,
        query: &str,
        keywords: &[String],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        let asked = search::HybridQuery {
            query,
            keywords,
            k,
            within,
        };
        search::hybrid(&self.store, self.embedder.as_ref(), &asked)
    }

    /// Passages around the lines that hold words of the query or match it as a pattern; read from
    /// the files as they are now.
    pub(crate) fn grep(&self, query: &str, k: usize) -> Result<Vec<GrepPassage>, KbError> {
        grep::grep(&self.roots, query, k)
    }

    /// The names of all indexed documents below a folder, or the file itself.
    pub(crate) fn sources_under(&self, resolved: &Path) -> Result<HashSet<String>, KbError> {
        let Some(source) = self.source_of(resolved) else {
            return Ok(HashSet::new());
        };
        let folder = format!("{source}/");
        Ok(self
            .documents()?
            .iter()
            .map(|document| &document.source)
            .filter(|name| **name == source || source.is_empty() || name.starts_with(&folder))
            .cloned()
            .collect())
    }

    /// The first passage of a document: what it is about.
    pub(crate) fn opening(&self, source: &str) -> Result<Option<Passage>, KbError> {
        let documents = self.store.documents()?;
        let first = documents
            .iter()
            .find(|document| document.source == source)
            .and_then(|document| document.chunks.first());
        let Some(key) = first else { return Ok(None) };
        Ok(self
            .store
            .passages(key)?
            .into_iter()
            .find(|passage| passage.source == source))
    }
}

/// What an update is to do.
#[derive(Debug, Clone, Copy)]
enum Scope {
    Words,
    Meaning,
    All { afresh: bool },
}

/// One folder a set of roots, in whatever order they were given.
fn folder_of(roots: &Roots) -> String {
    let mut paths: Vec<&Path> = roots.paths().collect();
    paths.sort();
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A first opening makes files and a damaged index is made anew: both only under the lock, and
/// both only when that is what is wrong. Every other failure is the caller's to see.
fn open_store(home: &Path, model_id: &str) -> Result<EmbeddedStore, KbError> {
    match EmbeddedStore::open(home, model_id) {
        Ok(None) | Err(KbError::Damaged(_)) => {}
        Ok(Some(store)) => return Ok(store),
        Err(error) => return Err(error),
    }
    let _lock = lock(home)?;
    // Another process may have done it meanwhile.
    match EmbeddedStore::open(home, model_id) {
        Ok(Some(store)) => return Ok(store),
        Ok(None) => {}
        Err(KbError::Damaged(why)) => {
            tracing::warn!(%why, "the index is damaged and is made anew");
        }
        Err(error) => return Err(error),
    }
    EmbeddedStore::create(home, model_id)
}

/// The right to write; waits a moment for somebody who is only opening.
fn lock(home: &Path) -> Result<File, KbError> {
    const ATTEMPTS: usize = 80;
    for _ in 0..ATTEMPTS {
        if let Some(lock) = try_lock(home)? {
            return Ok(lock);
        }
        thread::sleep(Duration::from_millis(25));
    }
    Err(KbError::Locked)
}

fn lock_file(home: &Path) -> Result<File, KbError> {
    let path = home.join("writer.lock");
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(KbError::io(&path))
}

/// The right to write, held until it is dropped; `None` while another process has it.
fn try_lock(home: &Path) -> Result<Option<File>, KbError> {
    let file = lock_file(home)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(KbError::io(home)(error)),
    }
}
