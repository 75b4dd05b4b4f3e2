//! The store in the data folder: the words, the journal of the documents and the vectors as one.
//!
//! The folder of the words and the journal is named by everything that decides what is in it: another
//! version of the program finds another folder, or none, and makes it. The folder of another version is
//! not removed, because it may still be in use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::documents::{ChunkEntry, Documents, Entries, Entry, JournalMark, StoredDocument};
use super::lexical::{self, Commit, LexicalIndex, LexicalWriter};
use super::lock::{LockGuard, Right, lock, try_lock};
use super::vectors::{VectorFiles, Vectors};
use super::view::{View, load};
use crate::files::{create_private_dir, refuse_link};
use crate::kb::error::KbError;
use crate::kb::index::port::{
    Batch, ChunkKey, Damage, Document, Lease, Limits, LocalStamp, NewDocument, Reader, Result,
    Store, VectorBatch,
};
use crate::kb::index::tokens;
use crate::kb::source::Roots;
use crate::kb::source::cache;

/// Raised when what is on disk changes its shape, or when the same files would be read or cut
/// into other chunks.
const FORMAT: u32 = 11;
/// A change of more documents than this is worth several threads.
const LARGE: usize = 200;
/// Vectors of vanished chunks that are tolerated before the files are written anew.
const STALE_ROWS: usize = 1000;

/// The store in the data folder.
pub(crate) struct EmbeddedStore {
    home: PathBuf,
    dir: PathBuf,
    lexical: LexicalIndex,
    vectors: Arc<RwLock<Vectors>>,
    view: RwLock<Arc<View>>,
    /// Locked while a view is loaded, or an older one could replace a newer one.
    loading: Mutex<()>,
}

impl EmbeddedStore {
    /// Opens the index in `home`. A first opening makes files and a damaged index is made anew:
    /// both only under the lock, and both only when that is what is wrong. Every other failure is
    /// the caller's to see.
    pub fn open(home: &Path, model_id: &str) -> Result<Self> {
        let undamaged = || match Self::open_existing(home, model_id) {
            Err(KbError::Damaged(why)) => {
                tracing::warn!(%why, "the index is damaged and is made anew");
                Ok(None)
            }
            opened => opened,
        };
        if let Some(store) = undamaged()? {
            return Ok(store);
        }
        let _held = lock(home, Right::Documents)?;
        // Another process may have made it meanwhile.
        if let Some(store) = undamaged()? {
            return Ok(store);
        }
        // The vectors stay: they are named by what they were made of, so that the chunks find
        // them again.
        let dir = dir_in(home);
        create_private_dir(&dir).map_err(KbError::io(&dir))?;
        let lexical = LexicalIndex::create(&dir.join("lexical"))?;
        Self::with_lexical(home, lexical, model_id)
    }

    /// Removes the words and the journal, whatever they are like.
    pub fn discard(home: &Path) -> Result<()> {
        let _held = lock(home, Right::Documents)?;
        lexical::discard(&dir_in(home))
    }

    /// Opens the index in `home` as it is; `None` when there is none of this format. Mends nothing, and
    /// makes nothing but the lock that keeps the vectors of this model.
    pub fn open_existing(home: &Path, model_id: &str) -> Result<Option<Self>> {
        match LexicalIndex::open(&dir_in(home).join("lexical"))? {
            Some(lexical) => Self::with_lexical(home, lexical, model_id).map(Some),
            None => Ok(None),
        }
    }

    fn with_lexical(home: &Path, lexical: LexicalIndex, model_id: &str) -> Result<Self> {
        let dir = dir_in(home);
        let vectors = Arc::new(RwLock::new(Vectors::open(home, model_id)?));
        let view = load(&dir, &lexical, &vectors, None)?;
        Ok(Self {
            home: home.to_owned(),
            dir,
            lexical,
            vectors,
            view: RwLock::new(Arc::new(view)),
            loading: Mutex::new(()),
        })
    }

    /// The name of this version's format.
    pub fn format() -> String {
        format!("v{FORMAT}-{}", tokens::VERSION)
    }

    /// Whether a folder of this name in `home` belongs to this version.
    pub fn is_own(name: &str) -> bool {
        name == Self::format() || name == cache::folder()
    }

    /// The folder of the index of these roots. A link in its place, on the way or in the place of one
    /// of this version's folders would lead to files that are not ours.
    pub fn home_of(roots: &Roots, index_home: &Path) -> Result<PathBuf> {
        let home = index_home.join(roots.corpus());
        let (texts, dir) = (home.join(cache::folder()), dir_in(&home));
        let lexical = dir.join("lexical");
        for folder in [index_home, &home, &texts, &dir, &lexical] {
            refuse_link(folder).map_err(KbError::Link)?;
        }
        Ok(home)
    }

    /// Whether a name has the form of a format of some version.
    pub fn is_a_format(name: &str) -> bool {
        let numbers = name.strip_prefix('v').unwrap_or_default();
        !numbers.is_empty() && numbers.chars().all(|c| c.is_ascii_digit() || c == '-')
    }

    /// How many documents were removed since the list of documents was last written anew.
    pub fn removals(&self) -> usize {
        self.view().documents.removals
    }

    /// The commit that is searched now.
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Moves on to the last commit, of whatever process; also to its segments as they are now where the
    /// commit is the same.
    fn reload(&self, also_the_same: bool) -> Result<Arc<View>> {
        let _loading = self.loading.lock();
        let known = self.view();
        if !also_the_same && known.commit == self.lexical.payload()? {
            return Ok(known);
        }
        let (dir, lexical, vectors) = (&self.dir, &self.lexical, &self.vectors);
        let fresh = Arc::new(load(dir, lexical, vectors, Some(&known))?);
        *self.view.write() = Arc::clone(&fresh);
        Ok(fresh)
    }

    /// The last commit with all its files; `None` where the next update has to make it anew.
    fn last_undamaged(&self) -> Result<Option<Arc<View>>> {
        let files = self.lexical.has_its_files();
        match files.and_then(|()| self.reload(false)) {
            Err(KbError::Damaged(why)) => {
                tracing::warn!(%why, "the index is damaged: an update makes it anew");
                Ok(None)
            }
            last => last.map(Some),
        }
    }

    /// Changes the files of the vectors with nothing held that a search needs, and takes over what is new.
    fn change_rows(&self, change: impl FnOnce(&Vectors) -> Result<bool>) -> Result<()> {
        if change(&self.vectors.read())? {
            self.vectors.write().refresh()?;
        }
        Ok(())
    }

    /// Looks for damage; makes and repairs nothing. Reads each file of the last commit.
    pub fn damage(&self, model_id: &str, limits: Limits<'_>) -> Result<Damage> {
        limits.check()?;
        let documents = match self.lexical.is_as_written() {
            Err(KbError::Damaged(why)) => Some(why),
            seen => seen.map(|()| None)?,
        };
        Ok(Damage {
            documents,
            vectors: VectorFiles::damage(&self.home, model_id),
        })
    }
}

fn dir_in(home: &Path) -> PathBuf {
    home.join(EmbeddedStore::format())
}

impl Store for EmbeddedStore {
    fn reader(&self) -> Arc<dyn Reader> {
        self.view()
    }

    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        if let Err(error) = self.reload(false) {
            // What another process is about to replace need not be readable.
            let being_remade = matches!(error, KbError::Damaged(_))
                && try_lock(&self.home, Right::Documents)?.is_none();
            if !being_remade {
                return Err(error);
            }
        }
        self.vectors.write().refresh_of(&self.home, model_id)
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>> {
        limits.check()?;
        let held = try_lock(&self.home, Right::Documents)?.ok_or(KbError::Locked)?;
        let last = self.last_undamaged()?;
        let afresh = afresh || last.is_none();
        let view = last.unwrap_or_else(|| self.view());
        Ok(Box::new(DocumentBatch::new(self, held, view, afresh)))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>> {
        limits.check()?;
        let held = try_lock(&self.home, Right::Vectors)?.ok_or(KbError::Locked)?;
        let last = self.last_undamaged()?;
        self.vectors.write().refresh()?;
        if let Some(view) = last {
            self.change_rows(|vectors| {
                let is_mostly_stale = view.stale_rows(vectors) > STALE_ROWS.max(vectors.len() / 2);
                Ok(is_mostly_stale && vectors.compact(|key| view.contains_key(key))?)
            })?;
        }
        Ok(Box::new(EmbeddingBatch {
            store: self,
            _held: held,
        }))
    }

    fn dimensions(&self, limits: Limits<'_>) -> Result<Option<usize>> {
        limits.check()?;
        Ok(self.vectors.read().dimensions())
    }

    /// A lock that its process holds for as long as it lives.
    fn lease(&self, name: &str, _: Duration, limits: Limits<'_>) -> Result<Option<Box<dyn Lease>>> {
        limits.check()?;
        let held = try_lock(&self.home, Right::Upkeep(name))?;
        Ok(held.map(|held| Box::new(held) as Box<dyn Lease>))
    }
}

/// Changes to the documents, under the lock.
struct DocumentBatch<'a> {
    store: &'a EmbeddedStore,
    _held: LockGuard,
    /// The last commit.
    last_view: Arc<View>,
    documents: Documents,
    /// Names of documents that were put or removed since the last commit.
    touched: BTreeSet<String>,
    /// The writer, made when there is something to write.
    writer: Option<LexicalWriter>,
    large: bool,
    /// Whether all documents are removed first.
    clears_all: bool,
    /// Whether the next commit begins another journal.
    needs_new_journal: bool,
}

impl<'a> DocumentBatch<'a> {
    /// Begins with what `view` holds, or with nothing.
    fn new(store: &'a EmbeddedStore, held: LockGuard, view: Arc<View>, clears_all: bool) -> Self {
        let clears_all = clears_all || view.documents.next_number > u32::MAX / 2;
        let documents = if clears_all {
            Documents::default()
        } else {
            view.documents.clone()
        };
        Self {
            store,
            _held: held,
            documents,
            touched: BTreeSet::new(),
            writer: None,
            large: false,
            clears_all,
            needs_new_journal: clears_all || view.commit.journal.number == 0,
            last_view: view,
        }
    }

    fn store_document(&mut self, document: StoredDocument) {
        self.touched.insert(document.document.source.clone());
        self.documents.insert(Arc::new(document));
    }

    fn writer(&mut self) -> Result<&mut LexicalWriter> {
        if let Some(writer) = self.writer.take() {
            return Ok(self.writer.insert(writer));
        }
        let lexical = &self.store.lexical;
        let writer = match lexical.writer(self.large) {
            // Not even the list of its files can be read.
            Err(KbError::Damaged(_)) if self.clears_all => {
                LexicalIndex::create(&self.store.dir.join("lexical"))?;
                lexical.writer(self.large)?
            }
            writer => writer?,
        };
        if self.clears_all {
            writer.clear()?;
        }
        Ok(self.writer.insert(writer))
    }

    fn entries(&self, list: impl Iterator<Item = Entry>) -> Entries {
        Entries {
            list: list.collect(),
            next_number: self.documents.next_number,
        }
    }
}

impl Batch for DocumentBatch<'_> {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        (!self.clears_all).then(|| Arc::clone(&self.last_view) as Arc<dyn Reader>)
    }

    fn expect(&mut self, documents: usize) {
        self.large = documents > LARGE;
    }

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<()> {
        self.remove(&document.source, limits)?;
        let number = self.documents.next_number;
        self.documents.next_number += 1;
        let chunks = document.chunks.iter().map(|(_, chunk)| chunk);
        self.writer()?.add(number, chunks, document.reservation)?;
        let chunks = document.chunks.iter().map(|(key, chunk)| ChunkEntry {
            key: *key,
            lines: chunk.lines,
        });
        let chunks: Vec<ChunkEntry> = chunks.collect();
        let links = serde_json::to_string(&document.links).unwrap_or_default();
        let LocalStamp { stamp, .. } = document.stamp;
        self.store_document(StoredDocument {
            document: Arc::new(Document {
                source: document.source,
                title: document.title,
                hash: document.hash,
                bytes: stamp.size,
                modified: stamp.modified,
                chunks: chunks.len(),
                metadata: document.metadata,
                stamp: Some(document.stamp),
            }),
            number,
            chunks,
            links: links.into(),
        });
        Ok(())
    }

    fn restamp(&mut self, source: &str, local: LocalStamp, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        if let Some(known) = self.documents.get(source) {
            let document = Document {
                bytes: local.stamp.size,
                modified: local.stamp.modified,
                stamp: Some(local),
                ..(*known.document).clone()
            };
            self.store_document(StoredDocument {
                document: Arc::new(document),
                ..(**known).clone()
            });
        }
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        if let Some(gone) = self.documents.remove(source) {
            self.touched.insert(gone.document.source.clone());
            self.writer()?.remove(gone.number);
        }
        Ok(())
    }

    fn commit(&mut self, _: Limits<'_>) -> Result<()> {
        if self.touched.is_empty() && !(self.clears_all && self.needs_new_journal) {
            return Ok(());
        }
        let dir = &self.store.dir;
        let generation = JournalMark::next_generation(self.last_view.commit.generation);
        let journal = self.last_view.commit.journal;
        let journal = if self.needs_new_journal || journal.is_mostly_overtaken(self.documents.len())
        {
            let all = self.documents.iter().map(Arc::clone).map(Entry::Put);
            JournalMark::write_anew(dir, generation, &self.entries(all))?
        } else {
            let changed = self.touched.iter();
            let changed = changed.map(|source| match self.documents.get(source) {
                Some(document) => Entry::Put(Arc::clone(document)),
                None => Entry::Gone(source.clone()),
            });
            journal.append(dir, &self.entries(changed))?
        };
        let commit = Commit {
            generation,
            journal,
        };
        self.writer()?.commit(commit)?;
        journal.tidy(dir);
        self.touched.clear();
        self.needs_new_journal = false;
        self.last_view = self.store.reload(false)?;
        // What is the same is kept once.
        self.documents = self.last_view.documents.clone();
        Ok(())
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<()> {
        self.commit(limits)?;
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
            // The segments that were merged need not be kept open.
            self.store.reload(true)?;
        }
        Ok(())
    }
}

/// Adds vectors, under their lock.
struct EmbeddingBatch<'a> {
    store: &'a EmbeddedStore,
    _held: LockGuard,
}

impl VectorBatch for EmbeddingBatch<'_> {
    fn put_vectors(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let Some((_, first)) = vectors.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        let store = self.store;
        store.vectors.read().fits(first)?;
        store.change_rows(|rows| rows.make_room(first.len()))?;
        store.change_rows(|rows| rows.append(vectors))
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.store.vectors.read().remove_other_models();
        Ok(())
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.store.change_rows(|rows| rows.compact(|_| false))
    }
}
