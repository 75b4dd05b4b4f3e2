//! The store in the data folder: the words, the journal of the documents and the vectors as one.
//!
//! The folder of the words and the journal is named by everything that decides what is in it: another
//! version of the program finds another folder, or none, and makes it. The folder of another version is
//! not removed, because it may still be in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::lexical;
use super::lexical::LexicalIndex;
use super::lock::{LockGuard, Right, lock, try_lock};
use super::vectors::Vectors;
use super::view::{View, load};
use crate::files::{create_private_dir, refuse_link};
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Administration, Damage};
use crate::kb::index::tokens;
use crate::kb::source::Roots;
use crate::kb::source::cache;

/// Raised when what is on disk changes its shape, or when the same files would be read or cut
/// into other chunks.
const FORMAT: u32 = 9;

/// The store in the data folder.
pub(crate) struct EmbeddedStore {
    pub(crate) home: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) lexical: LexicalIndex,
    pub(crate) vectors: Arc<RwLock<Vectors>>,
    view: RwLock<Arc<View>>,
    /// Locked while a view is loaded, or an older one could replace a newer one.
    loading: Mutex<()>,
}

impl EmbeddedStore {
    /// Opens the index in `home`. A first opening makes files and a damaged index is made anew:
    /// both only under the lock, and both only when that is what is wrong. Every other failure is
    /// the caller's to see.
    pub fn open(home: &Path, model_id: &str) -> Result<Self, KbError> {
        match Self::open_existing(home, model_id) {
            Ok(None) | Err(KbError::Damaged(_)) => {}
            Ok(Some(store)) => return Ok(store),
            Err(error) => return Err(error),
        }
        let _held = lock(home, Right::Documents)?;
        // Another process may have done it meanwhile.
        match Self::open_existing(home, model_id) {
            Ok(Some(store)) => return Ok(store),
            Ok(None) => {}
            Err(KbError::Damaged(why)) => {
                tracing::warn!(%why, "the index is damaged and is made anew");
            }
            Err(error) => return Err(error),
        }
        // The vectors stay: they are named by what they were made of, so that the chunks find
        // them again.
        let dir = dir_in(home);
        create_private_dir(&dir).map_err(KbError::io(&dir))?;
        let lexical = LexicalIndex::create(&dir.join("lexical"))?;
        Self::over(home, dir, lexical, model_id)
    }

    /// Removes the words and the journal, whatever they are like.
    pub fn discard(home: &Path) -> Result<(), KbError> {
        let _held = lock(home, Right::Documents)?;
        lexical::discard(&dir_in(home))
    }

    /// Opens the index in `home` as it is; `None` when there is none of this format. Makes and mends
    /// nothing.
    pub fn open_existing(home: &Path, model_id: &str) -> Result<Option<Self>, KbError> {
        let dir = dir_in(home);
        match LexicalIndex::open(&dir.join("lexical"))? {
            Some(lexical) => Self::over(home, dir, lexical, model_id).map(Some),
            None => Ok(None),
        }
    }

    fn over(
        home: &Path,
        dir: PathBuf,
        lexical: LexicalIndex,
        model_id: &str,
    ) -> Result<Self, KbError> {
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
    pub fn home_of(roots: &Roots, index_home: &Path) -> Result<PathBuf, KbError> {
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

    /// The commit that is searched now.
    pub(crate) fn view(&self) -> Arc<View> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    /// Moves on to the last commit, of whatever process.
    pub(crate) fn reload(&self) -> Result<Arc<View>, KbError> {
        let loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.view();
        if known.commit == self.lexical.payload()? {
            return Ok(known);
        }
        drop(loading);
        self.look_again()
    }

    /// Moves on to the last commit and its segments as they are now, also where the commit is the same.
    pub(crate) fn look_again(&self) -> Result<Arc<View>, KbError> {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.view();
        let (dir, lexical, vectors) = (&self.dir, &self.lexical, &self.vectors);
        let fresh = Arc::new(load(dir, lexical, vectors, Some(&known))?);
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *view = Arc::clone(&fresh);
        Ok(fresh)
    }

    pub(crate) fn acquire(&self, right: Right<'_>) -> Result<LockGuard, KbError> {
        try_lock(&self.home, right)?.ok_or(KbError::Locked)
    }
}

impl Administration for EmbeddedStore {
    /// Reads each file of the last commit.
    fn damage(&self, model_id: &str, limits: Limits<'_>) -> Result<Damage, KbError> {
        limits.check()?;
        let documents = match self.lexical.is_as_written() {
            Err(KbError::Damaged(why)) => Some(why),
            _ => None,
        };
        Ok(Damage {
            documents,
            vectors: Vectors::damage(&self.home, model_id),
        })
    }
}

fn dir_in(home: &Path) -> PathBuf {
    home.join(EmbeddedStore::format())
}
