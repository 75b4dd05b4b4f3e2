use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::embed::Noting;
use super::error::KbError;
use super::extract::Extraction;
use super::grep::{self, GrepPassage, ReadAs};
use super::lock::{Held, Right, try_lock};
use super::manifest::Document;
use super::names;
use super::roots::Roots;
use super::search::{self, Hit, SearchMode};
use super::shelf::Shelf;
use super::store::{EmbeddedStore, Passage, Store, Within};
use super::update::{Job, Progress, UpdateReport};
use crate::agent::ports::{EmbedError, Embedder, ToolError};

/// A set of folders and files with their index.
///
/// Opening is quick and reads no document; [`KnowledgeBase::update`] brings the index up to date.
/// All methods take `&self`, so that one base in an `Arc` serves the update and every search.
pub struct KnowledgeBase {
    roots: Roots,
    home: PathBuf,
    embedder: Noting,
    store: Box<dyn Store>,
    shelf: Shelf,
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

impl KbStatus {
    /// What cannot be found by its meaning yet, in one line; `None` when all can.
    pub fn incomplete(&self) -> Option<String> {
        if self.pending == 0 {
            return None;
        }
        let all = self.chunks.max(self.pending);
        if all == 1 {
            let line = "the only passage is not embedded yet; it is found by its words only";
            return Some(line.to_owned());
        }
        Some(format!(
            "{} of {all} passages are embedded; the others are found by their words only",
            all - self.pending
        ))
    }
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
        keep_to_the_owner(&home)?;
        let store = EmbeddedStore::open(&home, embedder.model_id())?;
        Ok(Self {
            roots,
            embedder: Noting::new(embedder),
            store: Box::new(store),
            shelf: Shelf::open(&home),
            home,
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
        EmbeddedStore::discard(&home)?;
        Self::open(roots, index_home, embedder)
    }

    /// Brings the index up to date with the files; blocks.
    ///
    /// First the words: what changed is read, cut and committed at once, and can be searched.
    /// Then the meaning: chunks without a vector are embedded in small batches, each kept as it
    /// comes. Raising `stop` ends it early without losing what is done; the next update goes on.
    /// While another process reads or embeds, this is [`KbError::Locked`], after the words have
    /// been brought up to date where only the embedding is taken; searching goes on with what is
    /// there.
    pub fn update(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, |job| job.all(false))
    }

    /// [`KnowledgeBase::update`] from nothing: every document is read and embedded again.
    pub fn rebuild(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, |job| job.all(true))
    }

    /// The first half of [`KnowledgeBase::update`]: reads what changed and makes its words
    /// searchable, in seconds also where the other half takes minutes.
    pub fn update_words(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, words)
    }

    /// [`KnowledgeBase::update_words`] from nothing; the vectors are gone with the words.
    pub fn rebuild_words(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, |job| {
            let mut vectors = job.store.begin_vectors()?;
            vectors.clear()?;
            job.words_afresh()
        })
    }

    /// The second half: embeds what has no vector yet. Its report tells only how many.
    pub fn embed_pending(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, embed)
    }

    /// [`KnowledgeBase::embed_pending`] for somebody with more urgent things to do: once `pause`
    /// is raised it ends with the batch that is going on, or with the first.
    pub fn embed_some(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
        pause: &AtomicBool,
    ) -> Result<UpdateReport, KbError> {
        self.run(progress, stop, |job| {
            embed(&Job {
                pause: Some(pause),
                ..*job
            })
        })
    }

    fn run(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
        work: impl FnOnce(&Job<'_>) -> Result<UpdateReport, KbError>,
    ) -> Result<UpdateReport, KbError> {
        let job = Job {
            roots: &self.roots,
            store: self.store.as_ref(),
            shelf: &self.shelf,
            embedder: &self.embedder,
            progress,
            stop,
            pause: None,
        };
        self.refresh()?;
        let report = work(&job);
        if matches!(report, Err(KbError::Locked))
            && let Err(error) = self.refresh()
        {
            // What the other process is about to replace need not be readable.
            tracing::debug!(%error, "searching goes on with what was there");
        }
        report
    }

    /// The right to keep the index up to date for as long as it is held: of several processes that
    /// stay, one does and the others take over what it has done. `None` while another one does.
    /// Processes with different embeddings do not do each other's work.
    pub fn claim_upkeep(&self) -> Result<Option<Held>, KbError> {
        try_lock(&self.home, Right::Upkeep(self.embedder.model_id()))
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Takes over what another process has indexed since.
    pub fn refresh(&self) -> Result<(), KbError> {
        self.store.refresh(self.embedder.model_id())
    }

    /// What the index holds now.
    pub fn status(&self) -> KbStatus {
        let snapshot = self.store.snapshot();
        KbStatus {
            name: self.roots.name(),
            documents: snapshot.documents().len(),
            chunks: snapshot.chunks(),
            pending: snapshot.pending().map_or(0, |pending| pending.len()),
        }
    }

    /// Why the last embedding failed, of a question or of chunks; `None` when it did not.
    pub fn embedding_trouble(&self) -> Option<EmbedError> {
        self.embedder.trouble()
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
        self.shelf
            .document(resolved, &name)
            .map_err(|reason| ToolError::Failed(format!("{name}: {reason}")))
    }

    /// The indexed documents, ordered by name.
    pub fn documents(&self) -> Result<Arc<[Document]>, KbError> {
        Ok(self.store.snapshot().documents())
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
            SearchMode::Lexical => search::lexical(self.store.snapshot().as_ref(), query, k, None),
            SearchMode::Hybrid => self.hybrid(query, &[], k, None),
            SearchMode::Grep => Ok(self.search_files(query, k)?.0),
        }
    }

    /// What [`SearchMode::Grep`] finds, and what it took the query for. Blocks.
    pub fn search_files(&self, query: &str, k: usize) -> Result<(Vec<Hit>, ReadAs), KbError> {
        let (passages, read_as) = grep::grep(&self.roots, &self.shelf, query, k)?;
        Ok((search::grep_hits(passages), read_as))
    }

    /// Passages nearest in meaning.
    pub(crate) fn vector(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        search::vector(
            self.store.snapshot().as_ref(),
            &self.embedder,
            query,
            k,
            within,
        )
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
        search::hybrid(self.store.snapshot().as_ref(), &self.embedder, &asked)
    }

    /// Passages around the lines that hold words of the query or match it as a pattern; read from
    /// the files as they are now.
    pub(crate) fn grep(&self, query: &str, k: usize) -> Result<Vec<GrepPassage>, KbError> {
        Ok(grep::grep(&self.roots, &self.shelf, query, k)?.0)
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
        let snapshot = self.store.snapshot();
        let Some(first) = snapshot.chunk(source, 0) else {
            return Ok(None);
        };
        Ok(snapshot.passages(&[first])?.pop())
    }
}

/// The index repeats what the documents say, whoever may read those.
fn keep_to_the_owner(home: &Path) -> Result<(), KbError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(home, fs::Permissions::from_mode(0o700)).map_err(KbError::io(home))?;
    }
    Ok(())
}

/// One folder a set of roots, in whatever order they were given.
pub(super) fn folder_of(roots: &Roots) -> String {
    let mut paths: Vec<&Path> = roots.paths().collect();
    paths.sort();
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn words(job: &Job<'_>) -> Result<UpdateReport, KbError> {
    job.words()
}

fn embed(job: &Job<'_>) -> Result<UpdateReport, KbError> {
    Ok(UpdateReport {
        embedded: job.meaning()?,
        ..UpdateReport::default()
    })
}
