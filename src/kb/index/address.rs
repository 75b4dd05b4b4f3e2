//! Where an index is, as a URL: the scheme names the engine, the query the corpus.
//!
//! `file:///home/me/index?corpus=notes` is the index of the corpus `notes` in the folder
//! `/home/me/index`, kept by the embedded engine.

use std::path::{Path, PathBuf};

use reqwest::Url;

use super::embedded::EmbeddedStore;
use super::port::Store;
use super::remote::{RemoteStore, StoreAccess, StoreAddress, StoreServer};
use crate::kb::error::KbError;
use crate::text::Trouble;

const FOLDER: &str = "file";
const CORPUS: &str = "corpus";

/// The address of the embedded engine's index of a corpus in `index_home`.
pub(crate) fn address(index_home: &Path, corpus: &str) -> Result<Url, KbError> {
    let home = std::path::absolute(index_home).map_err(KbError::io(index_home))?;
    let url = Url::from_directory_path(&home);
    let mut url = url.map_err(|()| no_address(&home.display().to_string()))?;
    url.query_pairs_mut().append_pair(CORPUS, corpus);
    Ok(url)
}

/// Opens the index at that address with the engine that it names.
pub(crate) fn open(url: &Url, model_id: &str) -> Result<Box<dyn Store>, KbError> {
    if url.scheme() != FOLDER {
        return Err(KbError::Store(Trouble::new(
            format!("unknown index engine {:?}", url.scheme()),
            "this version keeps its index in a folder",
        )));
    }
    Ok(Box::new(EmbeddedStore::open(&home_of(url)?, model_id)?))
}

/// A shared index, opened.
pub(crate) struct OpenedStore {
    pub store: Box<dyn Store>,
    /// The address without the password.
    pub address: String,
    /// The name of the space there.
    pub space: String,
}

/// Opens the index at an address that others share; asks nothing there yet. Where the address names
/// no space, it is called `name`. `writer` are the machine and what the names of the documents begin
/// with that this process keeps up to date.
pub(crate) fn open_shared(
    access: &StoreAccess,
    name: &str,
    writer: (String, Vec<String>),
    model_id: &str,
) -> Result<OpenedStore, KbError> {
    let address = StoreAddress::parse(access)?;
    let space = address.space.clone().unwrap_or_else(|| name.to_owned());
    if space.is_empty() {
        return Err(KbError::Setting(Trouble::new(
            "KB_AGENT_STORE_URL names no space, and no folder is named",
            "add ?space=NAME to it",
        )));
    }
    let server = StoreServer::new(address)?;
    Ok(OpenedStore {
        address: server.display_address().to_owned(),
        store: Box::new(RemoteStore::new(server, space.clone(), writer, model_id)),
        space,
    })
}

/// The folder of the corpus that a `file:` address names.
fn home_of(url: &Url) -> Result<PathBuf, KbError> {
    let bad = || no_address(url.as_str());
    let folder = url.to_file_path().map_err(|()| bad())?;
    let mut named = url.query_pairs().filter(|(key, _)| key == CORPUS);
    let (_, corpus) = named.next().ok_or_else(bad)?;
    let is_name = !corpus.is_empty() && !corpus.starts_with('.') && !corpus.contains(['/', '\\']);
    if is_name {
        Ok(folder.join(&*corpus))
    } else {
        Err(bad())
    }
}

fn no_address(what: &str) -> KbError {
    let line = format!("{what} is no address of an index");
    KbError::Store(Trouble::new(line, "give a folder and a corpus"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_corpus_become_an_address_and_again_a_folder() {
        for folder in ["/a b/ü#?%", "/index"] {
            let url = address(Path::new(folder), "notes & more").unwrap();
            assert_eq!(
                home_of(&url).unwrap(),
                Path::new(folder).join("notes & more")
            );
        }
        for corpus in ["", "..", "a/b", "a\\b"] {
            let url = address(Path::new("/index"), corpus).unwrap();
            assert!(home_of(&url).is_err(), "{corpus:?}");
        }
    }

    #[test]
    fn ends_an_address_of_an_unknown_engine_with_one_line() {
        let url = Url::parse("milvus://host/notes").unwrap();
        let error = open(&url, "model").map(drop).unwrap_err();
        let line = error.to_string();
        assert!(line.contains("unknown index engine \"milvus\""), "{line}");
        assert!(!line.contains('\n'));
    }
}
