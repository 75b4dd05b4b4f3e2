//! Brings the index up to date with the files.
//!
//! Two phases, because words are cheap and meaning is not: the first makes everything searchable
//! within seconds, the second may take minutes and can stop after any batch. Which chunks still
//! need a vector is not recorded anywhere: it is the difference between the manifest and the
//! vectors, so there is no state that a kill could leave wrong.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chunk::chunk;
use super::error::KbError;
use super::extract::Extraction;
use super::lexical::{LexicalWriter, Payload};
use super::links;
use super::manifest::{Document, Manifest};
use super::roots::Roots;
use super::shelf::Shelf;
use super::store::{ChunkKey, EmbeddedStore, View};
use super::walk::{self, Found, Skipped};
use crate::agent::ports::Embedder;

/// Chunks embedded between two writes.
const BATCH: usize = 16;
/// Vectors of vanished chunks that are tolerated before the file is written anew.
const STALE_ROWS: usize = 1000;

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Files or chunks done.
    pub done: usize,
    /// Files or chunks in all.
    pub total: usize,
}

/// What an update is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Reading files and indexing their words; counts files.
    Reading,
    /// Embedding; counts chunks.
    Embedding,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateReport {
    /// Documents that are new.
    pub added: usize,
    /// Documents whose text changed.
    pub changed: usize,
    /// Documents that vanished.
    pub removed: usize,
    /// Documents that stayed as they were.
    pub unchanged: usize,
    /// Documents in the index now.
    pub documents: usize,
    /// Chunks in the index now.
    pub chunks: usize,
    /// Chunks embedded by this update.
    pub embedded: usize,
    /// Files that are not in the index, and why.
    pub skipped: Vec<Skipped>,
}

/// One update.
pub(super) struct Job<'a> {
    pub roots: &'a Roots,
    pub store: &'a EmbeddedStore,
    pub embedder: &'a dyn Embedder,
    pub progress: &'a (dyn Fn(Progress) + Sync),
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// The words: what changed is read and can be searched. `afresh` forgets the old index
    /// first. The caller holds the lock.
    pub fn words(&self, afresh: bool) -> Result<UpdateReport, KbError> {
        self.remove_old_formats();
        let report = self.read(afresh)?;
        if afresh {
            self.vectors_mut().compact(|_| false)?;
        }
        Ok(report)
    }

    /// The meaning: embeds the chunks that have no vector yet, and says how many it did. The
    /// caller holds the lock.
    pub fn meaning(&self) -> Result<usize, KbError> {
        self.embed()
    }

    fn read(&self, afresh: bool) -> Result<UpdateReport, KbError> {
        let view = self.store.view();
        let afresh = afresh || !view.sound;
        let (files, skipped) = walk::walk(self.roots);
        let mut pass = Pass {
            report: UpdateReport {
                skipped,
                ..UpdateReport::default()
            },
            known: if afresh {
                HashMap::new()
            } else {
                by_source(&view)
            },
            documents: Vec::with_capacity(files.len()),
            writer: None,
            store: self.store,
            shelf: Shelf::open(self.store.dir()),
            dirty: afresh,
        };
        if afresh {
            pass.writer()?.clear()?;
        }
        let total = files.len();
        for (done, file) in files.iter().enumerate() {
            self.report(Phase::Reading, done, total);
            if self.stop.load(Ordering::Relaxed) {
                pass.keep_rest();
                break;
            }
            pass.file(file)?;
        }
        pass.shelf.tidy(&files);
        self.report(Phase::Reading, total, total);
        pass.finish(view.generation)
    }

    fn embed(&self) -> Result<usize, KbError> {
        let view = self.store.view();
        self.drop_stale_rows(&view)?;
        let pending = self.pending(&view);
        let total = pending.len();
        let mut done = 0;
        for batch in pending.chunks(BATCH) {
            self.report(Phase::Embedding, done, total);
            if self.stop.load(Ordering::Relaxed) {
                return Ok(done);
            }
            let mut keys = Vec::with_capacity(batch.len());
            let mut texts = Vec::with_capacity(batch.len());
            for key in batch {
                if let Some(passage) = view.lexical.passages(key)?.first() {
                    keys.push(*key);
                    texts.push(passage.indexed_text());
                }
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = self.embedder.embed(&texts)?;
            let rows: Vec<_> = keys.into_iter().zip(vectors).collect();
            self.vectors_mut().append(&rows)?;
            done += rows.len();
        }
        if total > 0 {
            self.report(Phase::Embedding, total, total);
        }
        Ok(done)
    }

    /// In the order of the documents, so that what was read first is ready first.
    fn pending(&self, view: &View) -> Vec<ChunkKey> {
        let vectors = self
            .store
            .vectors
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let mut seen = HashSet::new();
        view.documents
            .iter()
            .flat_map(|document| document.chunks.iter().copied())
            .filter(|key| !vectors.contains(key) && seen.insert(*key))
            .collect()
    }

    fn drop_stale_rows(&self, view: &View) -> Result<(), KbError> {
        let mut vectors = self.vectors_mut();
        let stale = vectors.len().saturating_sub(view.live.len());
        if stale > STALE_ROWS && stale > view.live.len() {
            vectors.compact(|key| view.live.contains(key))?;
        }
        Ok(())
    }

    fn vectors_mut(&self) -> std::sync::RwLockWriteGuard<'_, super::vectors::Vectors> {
        self.store
            .vectors
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, phase: Phase, done: usize, total: usize) {
        (self.progress)(Progress { phase, done, total });
    }

    /// What cannot be removed now is removed next time.
    fn remove_old_formats(&self) {
        let Some(home) = self.store.dir().parent() else {
            return;
        };
        for entry in fs::read_dir(home).into_iter().flatten().flatten() {
            if entry.path().is_dir() && entry.path() != self.store.dir() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// One pass over the files.
struct Pass<'a> {
    report: UpdateReport,
    /// The documents of the index that no file has been seen for yet.
    known: HashMap<String, Document>,
    documents: Vec<Document>,
    /// Made when there is something to write.
    writer: Option<LexicalWriter>,
    store: &'a EmbeddedStore,
    shelf: Shelf,
    dirty: bool,
}

impl Pass<'_> {
    fn file(&mut self, file: &Found) -> Result<(), KbError> {
        let old = self.known.remove(&file.source);
        if let Some(old) = &old
            && (old.size, old.modified) == (file.size, file.modified)
        {
            self.report.unchanged += 1;
            self.documents.push(old.clone());
            return Ok(());
        }
        let document = match self.shelf.document(&file.path, &file.source) {
            Ok(document) => document,
            Err(reason) => {
                self.report.skipped.push(Skipped {
                    path: file.source.clone(),
                    reason,
                });
                return self.forget(old);
            }
        };
        self.dirty = true;
        let hash = blake3::hash(document.text.as_bytes()).to_hex().to_string();
        if let Some(mut same) = old.clone().filter(|old| old.hash == hash) {
            same.size = file.size;
            same.modified = file.modified;
            self.report.unchanged += 1;
            self.documents.push(same);
            return Ok(());
        }
        match old {
            Some(_) => self.report.changed += 1,
            None => self.report.added += 1,
        }
        self.index(file, &document, hash)
    }

    fn index(&mut self, file: &Found, document: &Extraction, hash: String) -> Result<(), KbError> {
        let (title, chunks) = chunk(&file.source, document);
        let writer = self.writer()?;
        // Also for new documents: a pass that was killed after its commit may have left rows.
        writer.remove(&file.source);
        let mut keys = Vec::with_capacity(chunks.len());
        for chunk in &chunks {
            let key = ChunkKey::of(&chunk.indexed_text());
            writer.add(&file.source, key, chunk)?;
            keys.push(key);
        }
        self.documents.push(Document {
            links: links::links(&file.source, &document.text),
            source: file.source.clone(),
            title,
            size: file.size,
            modified: file.modified,
            hash,
            chunks: keys,
        });
        Ok(())
    }

    /// A document that can no longer be read leaves the index.
    fn forget(&mut self, old: Option<Document>) -> Result<(), KbError> {
        if let Some(old) = old {
            self.report.removed += 1;
            self.dirty = true;
            self.writer()?.remove(&old.source);
        }
        Ok(())
    }

    /// After a stop: what was not looked at stays as it is.
    fn keep_rest(&mut self) {
        let rest: Vec<Document> = self.known.drain().map(|(_, document)| document).collect();
        self.report.unchanged += rest.len();
        self.documents.extend(rest);
    }

    fn finish(mut self, generation: u64) -> Result<UpdateReport, KbError> {
        let vanished: Vec<Document> = self.known.drain().map(|(_, document)| document).collect();
        for document in vanished {
            self.forget(Some(document))?;
        }
        if self.dirty {
            let payload = Payload {
                generation: Manifest::next_generation(generation),
            };
            self.writer()?;
            let mut documents = std::mem::take(&mut self.documents);
            documents.sort_by(|a, b| a.source.cmp(&b.source));
            let manifest = Manifest { documents };
            manifest.save(self.store.dir(), payload.generation)?;
            if let Some(writer) = self.writer.take() {
                writer.commit(payload)?;
            }
            Manifest::tidy(self.store.dir(), payload.generation);
            self.store.reload()?;
        }
        let view = self.store.view();
        self.report.documents = view.documents.len();
        self.report.chunks = view.chunks;
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(self.report)
    }

    fn writer(&mut self) -> Result<&LexicalWriter, KbError> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            empty => Ok(empty.insert(self.store.lexical.writer()?)),
        }
    }
}

fn by_source(view: &View) -> HashMap<String, Document> {
    view.documents
        .iter()
        .map(|document| (document.source.clone(), document.clone()))
        .collect()
}
