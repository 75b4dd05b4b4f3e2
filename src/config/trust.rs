//! What a folder's `.env` may set: what only the user can decide, and what the user decided.
//!
//! A folder is trusted by its path, once. That lets its `.env` say what reaches out, for the folder
//! itself: its documents, its addresses and its keys. Nothing of the user's goes where only the
//! folder says: a key and the address that it goes to come from one side, the user's or the
//! folder's, or the user has agreed to just that pair. The same holds for documents and the servers
//! that embed them or read passages of them; documents that lie outside the folder are the user's,
//! also where the folder names them. What widens things holds on its own side only: the
//! folder includes files of roots within it, and names hosts that keys of its own may go to openly.
//!
//! Decisions are kept in the data folder as the user names it, never as the `.env` in question does.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::environment::{Environment, doubt_of_file, platform_data_dir};
use super::error::SettingError;
use super::settings::Overrides;
use super::shown;
use super::variables::{
    DATA_DIR, EMBEDDING_API_KEY, EMBEDDING_BASE_URL, LLM_API_KEY, LLM_BASE_URL, LLM_CA,
    OTLP_ENDPOINT, SOURCE, STORE_CA, STORE_PASSWORD, STORE_URL, variables,
};
use crate::files;

/// Something that only the user can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustRequest {
    /// May this file set what reaches out? With names and values, keys masked.
    Folder {
        /// The file.
        file: PathBuf,
        /// What it sets.
        settings: Vec<(&'static str, String)>,
    },
    /// May this go there, as this file says, though not both are of its folder?
    Transfer {
        /// The file.
        file: PathBuf,
        /// What would be sent.
        what: String,
        /// Host to which it would be sent.
        to: String,
    },
}

/// What the user says to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Yes, now and later.
    Yes,
    /// Go on without what the file says there.
    Without,
    /// Nothing: there was no terminal to ask on.
    Unasked,
}

/// Lets in what the folder's `.env` may set, asking `decide` for what was never decided. What stays
/// out without the user's word is among the errors.
pub fn admit(
    environment: &mut Environment,
    overrides: &Overrides,
    decide: &mut dyn FnMut(&TrustRequest) -> TrustAnswer,
) -> Vec<SettingError> {
    match admitted(environment, overrides, decide) {
        Ok(refused) => refused,
        Err(error) => vec![error],
    }
}

fn admitted(
    environment: &mut Environment,
    overrides: &Overrides,
    decide: &mut dyn FnMut(&TrustRequest) -> TrustAnswer,
) -> Result<Vec<SettingError>, SettingError> {
    let settings = blocked_values(environment, overrides);
    let file = environment.folder_file().map(Path::to_owned);
    let Some(file) = file.filter(|_| !settings.is_empty()) else {
        return Ok(Vec::new());
    };
    let names = listed(settings.iter().map(|(name, _)| *name));
    if let Some(why) = environment.doubt() {
        let why = why.to_owned();
        return Err(SettingError::Doubtful { file, names, why });
    }
    let mut kept = TrustRecord::for_file(environment, overrides, &file)?;
    if kept.path.is_none() {
        let why =
            "the data folder lies in the same folder, which could bring its own trust along; \
                   name another with --data-dir, or give the file with --env-file"
                .to_owned();
        return Err(SettingError::Doubtful { file, names, why });
    }
    if !kept.is_trusted() {
        let request = TrustRequest::Folder {
            file: file.clone(),
            settings,
        };
        match decide(&request) {
            TrustAnswer::Yes => kept.trust(),
            TrustAnswer::Without => return Ok(Vec::new()),
            TrustAnswer::Unasked => {
                let advice = "'kb-agent trust', or name it with --env-file .env".to_owned();
                return Err(SettingError::Untrusted {
                    file,
                    names,
                    advice,
                });
            }
        }
    }
    environment.trust_folder();
    let mut refused = Vec::new();
    for transfer in transfers(environment, overrides) {
        let is_withheld = !environment.is_of_folder(transfer.of_file);
        if is_withheld || kept.may_send(&transfer.what, &transfer.to) {
            continue;
        }
        let Transfer {
            what, to, of_file, ..
        } = transfer;
        let request = TrustRequest::Transfer {
            file: file.clone(),
            what: what.clone(),
            to: to.clone(),
        };
        let word = decide(&request);
        if word == TrustAnswer::Yes {
            kept.let_send(what, to);
            continue;
        }
        environment.withhold(of_file);
        if word == TrustAnswer::Unasked {
            let advice = "'kb-agent trust' with the same options allows it, or let both come from \
                          one place"
                .to_owned();
            let file = file.clone();
            refused.push(SettingError::Sending {
                file,
                what,
                to,
                advice,
            });
        }
    }
    kept.save()?;
    Ok(refused)
}

/// Takes back what was decided for a folder; says whether there was anything, and where that is kept.
pub fn distrust(
    environment: &Environment,
    overrides: &Overrides,
    folder: &Path,
) -> Result<bool, SettingError> {
    let mut kept = TrustRecord::for_file(environment, overrides, &folder.join(".env"))?;
    let was_trusted = kept.is_trusted();
    kept.record
        .folders
        .retain(|known| known.path != kept.folder);
    kept.is_changed |= was_trusted;
    kept.save()?;
    Ok(was_trusted)
}

/// What the file sets of what reaches out, as far as nothing wins over it, keys masked.
fn blocked_values(environment: &Environment, overrides: &Overrides) -> Vec<(&'static str, String)> {
    variables()
        .map(|variable| variable.name)
        .filter(|name| shown::flag(name, overrides).is_none())
        .filter_map(|name| {
            let value = environment.blocked_value(name)?;
            Some((name, shown::masked(name, value)))
        })
        .collect()
}

/// Something that would go from one side to the other.
struct Transfer {
    what: String,
    to: String,
    /// The setting of the two that the file makes.
    of_file: &'static str,
}

fn transfers(environment: &Environment, overrides: &Overrides) -> Vec<Transfer> {
    let mut found = Vec::new();
    for (url, key) in [
        (LLM_BASE_URL, LLM_API_KEY),
        (EMBEDDING_BASE_URL, EMBEDDING_API_KEY),
        (STORE_URL, STORE_PASSWORD),
        (STORE_CA, STORE_PASSWORD),
    ] {
        let sides = [url, key].map(|name| environment.is_of_folder(name));
        if let (Some(to), Some(_)) = (environment.get(url), environment.get(key))
            && sides[0] != sides[1]
        {
            found.push(Transfer {
                what: key.to_owned(),
                to: shown::target(url, to),
                of_file: if sides[0] { url } else { key },
            });
        }
    }
    // Who names an authority can read what is sent to the servers that it vouches for.
    let ca = LLM_CA;
    let folders_ca = environment.get(ca).filter(|_| environment.is_of_folder(ca));
    for key in [LLM_API_KEY, EMBEDDING_API_KEY] {
        if let Some(to) = folders_ca
            && environment.get(key).is_some()
            && !environment.is_of_folder(key)
        {
            found.push(Transfer {
                what: key.to_owned(),
                to: shown::target(ca, to),
                of_file: ca,
            });
        }
    }
    let named = environment.get(SOURCE).map(std::env::split_paths);
    let sources: Vec<PathBuf> = match named {
        _ if !overrides.sources.is_empty() => overrides.sources.clone(),
        Some(paths) => paths.collect(),
        None => Vec::new(),
    };
    let is_from_file = overrides.sources.is_empty() && environment.is_of_folder(SOURCE);
    // The folder's own documents go where the folder says; all others are the user's.
    let folder = environment.folder();
    let lies_within = |path: &PathBuf| {
        let real = path.canonicalize().ok();
        real.zip(folder.as_ref())
            .is_some_and(|(real, folder)| real.starts_with(folder))
    };
    if sources.iter().all(lies_within) {
        return found;
    }
    // By their real paths: what was agreed to holds for no folder that a link leads to later.
    let paths = sources.iter().map(|path| {
        let whole = || std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let real = path.canonicalize().unwrap_or_else(|_| whole());
        real.to_string_lossy().into_owned()
    });
    let paths = paths.collect::<Vec<_>>().join(", ");
    for (url, what) in [
        (LLM_BASE_URL, "passages of"),
        (EMBEDDING_BASE_URL, "all text in"),
        (STORE_URL, "all text in"),
        (OTLP_ENDPOINT, "traces of questions about"),
        (ca, "passages of"),
    ] {
        if let Some(to) = environment.get(url)
            && (is_from_file && url != ca || environment.is_of_folder(url))
        {
            found.push(Transfer {
                what: format!("{what} {paths}"),
                to: shown::target(url, to),
                of_file: if is_from_file { SOURCE } else { url },
            });
        }
    }
    found
}

/// `A`, `A and B`, `A, B and C`.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// What is decided for one folder, within what is decided for all.
struct TrustRecord {
    /// Where; `None` where it must not be: in a folder that could bring its own decisions along.
    path: Option<PathBuf>,
    folder: String,
    record: TrustFile,
    is_changed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    folders: Vec<TrustedFolder>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TrustedFolder {
    path: String,
    #[serde(default)]
    sends: Vec<AllowedTransfer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct AllowedTransfer {
    what: String,
    to: String,
}

/// The file of decisions, in the data folder.
const NAME: &str = "trusted.json";
/// Thousands of folders are not as much.
const LARGEST: u64 = 1 << 20;

impl TrustRecord {
    fn for_file(
        environment: &Environment,
        overrides: &Overrides,
        file: &Path,
    ) -> Result<Self, SettingError> {
        let folder = file.parent().unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let set = environment.get(DATA_DIR).map(PathBuf::from);
        let named = overrides.data_dir.clone().or(set);
        let is_within = named.as_ref().is_some_and(|named| {
            let whole = std::path::absolute(named).unwrap_or_else(|_| named.clone());
            let real = named.canonicalize().unwrap_or(whole);
            real.starts_with(&folder)
        });
        let path = match named {
            Some(_) if is_within => None,
            Some(dir) => Some(dir.join(NAME)),
            None => Some(platform_data_dir()?.join(NAME)),
        };
        Ok(Self {
            record: path
                .as_deref()
                .map_or_else(|| Ok(TrustFile::default()), TrustFile::read)?,
            path,
            folder: folder.to_string_lossy().into_owned(),
            is_changed: false,
        })
    }

    fn own(&self) -> Option<&TrustedFolder> {
        let mut folders = self.record.folders.iter();
        folders.find(|known| known.path == self.folder)
    }

    fn is_trusted(&self) -> bool {
        self.own().is_some()
    }

    fn may_send(&self, what: &str, to: &str) -> bool {
        let sends = self.own().map(|folder| &folder.sends);
        sends.is_some_and(|sends| sends.iter().any(|one| one.what == what && one.to == to))
    }

    fn trust(&mut self) {
        self.is_changed = true;
        self.record.folders.push(TrustedFolder {
            path: self.folder.clone(),
            sends: Vec::new(),
        });
    }

    fn let_send(&mut self, what: String, to: String) {
        self.is_changed = true;
        let folder = &self.folder;
        let own = self.record.folders.iter_mut();
        if let Some(own) = own.into_iter().find(|known| &known.path == folder) {
            own.sends.push(AllowedTransfer { what, to });
        }
    }

    fn save(&self) -> Result<(), SettingError> {
        let Some(path) = self.path.as_deref().filter(|_| self.is_changed) else {
            return Ok(());
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        serde_json::to_vec_pretty(&self.record)
            .map_err(std::io::Error::from)
            .and_then(|bytes| {
                files::create_private_dir(folder)?;
                files::write_atomic(path, &bytes)
            })
            .map_err(|error| SettingError::Unwritten {
                path: path.to_owned(),
                why: error.to_string(),
            })
    }
}

impl TrustFile {
    fn read(path: &Path) -> Result<Self, SettingError> {
        let Ok(meta) = fs::metadata(path) else {
            return Ok(Self::default());
        };
        if let Some(why) = doubt_of_file(path, &meta) {
            return Err(unusable(path, why));
        }
        let text = files::read_text_bounded(path, LARGEST).map_err(|why| unusable(path, why))?;
        serde_json::from_str(&text)
            .map_err(|_| unusable(path, "it is no list of trusted folders; remove it"))
    }
}

fn unusable(path: &Path, why: impl std::fmt::Display) -> SettingError {
    SettingError::File {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Class, Origin};
    use super::*;

    /// A data folder, and a folder whose `.env` sets this beside what the user sets.
    fn place<const N: usize, const M: usize>(
        dir: &Path,
        own: [(&str, &str); N],
        of_folder: [(&str, &str); M],
    ) -> Environment {
        let (data, folder) = (dir.join("data"), dir.join("clone"));
        fs::create_dir_all(&folder).unwrap();
        let data = data.to_str().unwrap();
        let own = own.into_iter().chain([(DATA_DIR, data)]);
        Environment::from_pairs(own).with_folder(folder.join(".env").to_str().unwrap(), of_folder)
    }

    fn asked(
        environment: &mut Environment,
        word: TrustAnswer,
    ) -> (Vec<TrustRequest>, Vec<SettingError>) {
        let mut requests = Vec::new();
        let refused = admit(environment, &Overrides::default(), &mut |request| {
            requests.push(request.clone());
            word
        });
        (requests, refused)
    }

    #[test]
    fn trust_what_reaches_out_is_found_by_no_look_up_before_it_is_let_in() {
        let dir = tempfile::tempdir().unwrap();
        for variable in variables() {
            let file = [(variable.name, "7")];
            let (mut held, mut trusted) =
                (place(dir.path(), [], file), place(dir.path(), [], file));
            let is_taste = variable.class == Class::Taste;
            let own = Environment::from_pairs([(DATA_DIR, dir.path().to_str().unwrap())]);
            let before = own.get(variable.name).is_some();
            assert_eq!(held.get(variable.name).is_some(), is_taste || before);
            if before {
                // What the user sets is not asked for.
                continue;
            }
            let (requests, refused) = asked(&mut held, TrustAnswer::Unasked);
            assert_eq!(
                (requests.is_empty(), refused.is_empty()),
                (is_taste, is_taste)
            );
            assert_eq!(
                held.get(variable.name).is_some(),
                is_taste,
                "{}",
                variable.name
            );
            asked(&mut trusted, TrustAnswer::Yes);
            assert_eq!(trusted.get(variable.name), Some("7"), "{}", variable.name);
            assert!(matches!(trusted.origin(variable.name), Origin::File(_)));
            fs::remove_dir_all(dir.path().join("data")).ok();
        }
    }

    #[test]
    fn trust_a_key_goes_only_where_its_own_side_says() {
        const URL: (&str, &str) = ("KB_AGENT_LLM_BASE_URL", "https://there/v1");
        const KEY: (&str, &str) = ("KB_AGENT_LLM_API_KEY", "sk-1");
        let dir = tempfile::tempdir().unwrap();
        for (own, of_folder, asked_for) in [
            ([URL, KEY], [("KB_AGENT_LLM_MODEL", "m"); 2], false),
            ([("A", "1"); 2], [URL, KEY], false),
            ([KEY; 2], [URL; 2], true),
            ([URL; 2], [KEY; 2], true),
        ] {
            fs::remove_dir_all(dir.path().join("data")).ok();
            let mut environment = place(dir.path(), own, of_folder);
            let (requests, refused) = asked(&mut environment, TrustAnswer::Yes);
            assert_eq!(requests.len(), 1 + usize::from(asked_for));
            assert!(refused.is_empty());
            // What was said once is not asked again, and holds for this pair only.
            let (requests, _) = asked(&mut place(dir.path(), own, of_folder), TrustAnswer::Unasked);
            assert!(requests.is_empty(), "{requests:?}");
            if asked_for {
                let elsewhere = of_folder.map(|(name, _)| (name, "https://elsewhere/v1"));
                let mut environment = place(dir.path(), own, elsewhere);
                let (requests, refused) = asked(&mut environment, TrustAnswer::Unasked);
                let is_url = of_folder[0] == URL;
                assert_eq!(
                    (requests.len(), refused.len()),
                    if is_url { (1, 1) } else { (0, 0) }
                );
                let both = [URL, KEY].map(|(name, _)| environment.get(name).is_some());
                assert_eq!(both, [!is_url, true]);
            }
        }
    }

    #[test]
    fn trust_documents_go_only_where_their_own_side_says() {
        const AT: &str = "http://127.0.0.1:9/v1";
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("mine");
        let its = dir.path().join("clone/docs");
        fs::create_dir_all(&mine).unwrap();
        fs::create_dir_all(&its).unwrap();
        let of = |path: &Path| Overrides {
            sources: vec![path.to_owned()],
            ..Overrides::default()
        };
        for url in ["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_LLM_BASE_URL"] {
            for (overrides, requests) in [(Overrides::default(), 1), (of(&its), 1), (of(&mine), 2)]
            {
                fs::remove_dir_all(dir.path().join("data")).ok();
                let mut environment = place(dir.path(), [], [(url, AT)]);
                let mut asked = 0;
                let refused = admit(&mut environment, &overrides, &mut |request| {
                    asked += 1;
                    match request {
                        TrustRequest::Folder { .. } => TrustAnswer::Yes,
                        TrustRequest::Transfer { .. } => TrustAnswer::Without,
                    }
                });
                assert!(refused.is_empty());
                assert_eq!(asked, requests);
                assert_eq!(environment.get(url).is_some(), requests == 1);
            }
        }
        // The other way round, and once for both servers where it stays out with the first.
        fs::remove_dir_all(dir.path().join("data")).ok();
        let own = ["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_LLM_BASE_URL"].map(|url| (url, AT));
        let named = [(SOURCE, mine.to_str().unwrap())];
        let mut environment = place(dir.path(), own, named);
        let mut sendings = 0;
        admit(&mut environment, &Overrides::default(), &mut |request| {
            let is_sending = matches!(request, TrustRequest::Transfer { .. });
            sendings += usize::from(is_sending);
            if is_sending {
                TrustAnswer::Without
            } else {
                TrustAnswer::Yes
            }
        });
        assert_eq!((sendings, environment.get(SOURCE)), (1, None));
    }

    #[test]
    fn trust_hosts_are_named_for_keys_of_the_same_side() {
        const URL: (&str, &str) = ("KB_AGENT_LLM_BASE_URL", "http://gpu.invalid/v1");
        const KEY: (&str, &str) = ("KB_AGENT_LLM_API_KEY", "sk-1");
        const HOSTS: (&str, &str) = ("KB_AGENT_PLAIN_HTTP_HOSTS", "gpu.invalid");
        let dir = tempfile::tempdir().unwrap();
        let resolved = |mut environment: Environment| {
            asked(&mut environment, TrustAnswer::Yes);
            super::super::Settings::resolve(&environment, Overrides::default())
        };
        let other = (HOSTS.0, "other.invalid");
        assert!(resolved(place(dir.path(), [], [URL, KEY, HOSTS])).is_ok());
        assert!(resolved(place(dir.path(), [URL, KEY, HOSTS], [])).is_ok());
        assert!(resolved(place(dir.path(), [URL, KEY, HOSTS], [other])).is_ok());
        assert!(resolved(place(dir.path(), [other], [URL, KEY, HOSTS])).is_ok());
        for crossed in [
            place(dir.path(), [URL, KEY], [HOSTS]),
            place(dir.path(), [HOSTS], [URL, KEY]),
        ] {
            let error = resolved(crossed).unwrap_err();
            assert!(matches!(error, SettingError::Unencrypted { .. }), "{error}");
        }
    }

    #[test]
    fn trust_a_folder_does_not_bring_its_own_trust_along() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("clone");
        let trusted = format!("{{\"folders\": [{{\"path\": {folder:?}}}]}}");
        for (data, is_trusted) in [("clone/data", false), ("data", true)] {
            let data = dir.path().join(data);
            fs::create_dir_all(&folder).unwrap();
            files::create_private_dir(&data).unwrap();
            files::write_atomic(&data.join(NAME), trusted.as_bytes()).unwrap();
            let own = [(DATA_DIR, data.to_str().unwrap())];
            let file = [("KB_AGENT_LLM_MODEL", "m")];
            let mut environment = Environment::from_pairs(own)
                .with_folder(folder.join(".env").to_str().unwrap(), file);
            let (requests, refused) = asked(&mut environment, TrustAnswer::Yes);
            assert!(requests.is_empty());
            assert_eq!(refused.is_empty(), is_trusted, "{refused:?}");
        }
    }
}
