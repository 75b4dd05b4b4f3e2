//! Opening a base: with the index in the data folder, or with one that is shared with others. Also the store
//! that is shared, as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::base::{KnowledgeBase, SharedStore};
use super::error::KbError;
use super::index::{
    self, EmbeddedStore, Limits, StoreAccess, StoreAddress, StoreServer, StoreState, setup_script,
};
use super::languages::LanguageChoice;
use super::source::{Roots, Sources};
use crate::agent::ports::Embedder;
use crate::files::{self, create_private_dir};

impl KnowledgeBase {
    /// Opens the base over these folders and files. Its index lives in a subfolder of
    /// `index_home` that belongs to this set of roots.
    pub fn open(
        sources: impl Into<Sources>,
        index_home: &Path,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, KbError> {
        let roots = Roots::open(sources)?;
        let home = own_folder(&roots, index_home)?;
        if let (Some(choice), Some(made)) = (embedder.choice(), LanguageChoice::read(&home)) {
            choice.choose(made.languages);
        }
        let store = Box::new(EmbeddedStore::open(&home, embedder.model_id())?);
        Ok(Self::with_store(roots, store, home, None, embedder))
    }

    /// Opens the base that a store shares. What it keeps up to date there are these folders and files,
    /// as far as there are any; documents that were extracted are cached in a subfolder of `index_home`.
    pub fn open_shared(
        sources: impl Into<Sources>,
        index_home: &Path,
        embedder: Arc<dyn Embedder>,
        access: &StoreAccess,
    ) -> Result<Self, KbError> {
        let roots = Roots::open_shared(sources)?;
        let home = own_folder(&roots, index_home)?;
        let labels = roots.labelled().map(|(_, label)| label.to_owned());
        let writer = (machine_id(index_home)?, labels.collect());
        let opened = index::open_shared(access, &roots.name(), writer, embedder.model_id())?;
        let shared = SharedStore {
            address: opened.address,
            space: opened.space,
        };
        Ok(Self::with_store(
            roots,
            opened.store,
            home,
            Some(shared),
            embedder,
        ))
    }

    /// [`KnowledgeBase::open`] for a caller that is going to [`KnowledgeBase::rebuild`]: an index
    /// that cannot be opened, for whatever reason, is thrown away instead of standing in the way.
    pub fn open_for_rebuild(
        sources: impl Into<Sources>,
        index_home: &Path,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, KbError> {
        let sources = sources.into();
        let error = match Self::open(&sources, index_home, Arc::clone(&embedder)) {
            Err(error @ (KbError::Io { .. } | KbError::Damaged(_) | KbError::Lexical(_))) => error,
            other => return other,
        };
        let home = EmbeddedStore::home_of(&Roots::open(&sources)?, index_home)?;
        tracing::warn!(%error, "the index cannot be opened and is thrown away");
        EmbeddedStore::discard(&home)?;
        Self::open(sources, index_home, embedder)
    }
}

/// The subfolder of `index_home` that belongs to these roots.
fn own_folder(roots: &Roots, index_home: &Path) -> Result<PathBuf, KbError> {
    let home = EmbeddedStore::home_of(roots, index_home)?;
    create_private_dir(&home).map_err(KbError::io(&home))?;
    keep_to_the_owner(&home)?;
    Ok(home)
}

/// What tells this machine, and this user of it, from others whose files look different.
fn machine_id(index_home: &Path) -> Result<String, KbError> {
    const LONGEST: u64 = 100;
    let path = index_home.join("machine-id");
    let read = || files::read_text_bounded(&path, LONGEST).ok();
    let known = |text: String| uuid::Uuid::parse_str(text.trim()).ok();
    if let Some(id) = read().and_then(known) {
        return Ok(id.to_string());
    }
    let id = uuid::Uuid::now_v7().to_string();
    files::write_atomic(&path, id.as_bytes()).map_err(KbError::io(&path))?;
    // Another process may have been the last.
    Ok(read().and_then(known).map_or(id, |id| id.to_string()))
}

/// The index repeats what the documents say, whatever their permissions.
fn keep_to_the_owner(home: &Path) -> Result<(), KbError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(home, fs::Permissions::from_mode(0o700)).map_err(KbError::io(home))?;
    }
    Ok(())
}

/// The SQL that sets a store up: what this version keeps there, and roles that read it, or read and write
/// it.
pub fn store_setup_script(readers: &[String], writers: &[String]) -> String {
    setup_script(readers, writers)
}

/// A store, to be set up and looked after. All verbs block.
pub struct StoreAdministration {
    server: Arc<StoreServer>,
}

impl StoreAdministration {
    /// Prepares for the store at an address; connects with the first call.
    pub fn new(access: &StoreAccess) -> Result<Self, KbError> {
        let server = StoreServer::new(StoreAddress::parse(access)?)?;
        Ok(Self { server })
    }

    /// Makes the tables of this version that are missing.
    pub fn prepare(&self, cancel: &CancellationToken) -> Result<(), KbError> {
        self.server.prepare(Limits::of_a_call(cancel))
    }

    /// Reads the state of the store; makes nothing.
    pub fn state(&self, cancel: &CancellationToken) -> Result<StoreState, KbError> {
        self.server.state(Limits::of_a_call(cancel))
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(&self, name: &str, cancel: &CancellationToken) -> Result<bool, KbError> {
        self.server.drop_space(name, Limits::of_a_call(cancel))
    }
}
