use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::SettingError;
use super::folders::platform_config_dir;
use super::variable::Class;
use super::variables::{CONFIG_DIR, WITH_SPACES, variables};
use super::{dotenv, doubt};

/// Where settings are looked up: the process's environment first, then the files.
///
/// Files are read into maps and never into the process's own environment, so that what they say
/// does not reach child processes. What a folder's `.env` says of settings that reach out is held
/// back, and found by no look-up, until the user has let it in.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: HashMap<String, String>,
    /// The user's own, in their order.
    own: Vec<EnvFile>,
    folder: Option<FolderFile>,
}

/// A file and what it sets; what it sets to nothing counts as not set.
#[derive(Debug, Clone)]
struct EnvFile {
    path: PathBuf,
    pairs: HashMap<String, String>,
}

/// `.env` of the folder that one works in.
#[derive(Debug, Clone)]
struct FolderFile {
    file: EnvFile,
    /// Settings that reach out and were not let in.
    held: HashMap<String, String>,
    /// Why it cannot be trusted.
    doubt: Option<String>,
    /// Whether the folder is trusted; something may be held back all the same.
    is_folder_trusted: bool,
}

/// Where a setting's value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag(&'static str),
    /// The process's environment.
    Environment,
    /// This `.env` file.
    File(PathBuf),
    /// This `.env` file, which was not let: the value has no effect.
    Untrusted(PathBuf),
    /// The setting is not set.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment => f.write_str("environment"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Untrusted(path) => write!(f, "{}, not trusted", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Environment {
    /// Reads the process's environment, the named file, `.env` in the user's configuration folder,
    /// and `.env` in `folder`, which is not the user's until it is let in.
    ///
    /// A missing `.env` is fine; a named file that cannot be read, and a line that is not
    /// `NAME=value`, are errors.
    pub fn read(env_file: Option<&Path>, folder: Option<&Path>) -> Result<Self, SettingError> {
        let (environment, unreadable) = Self::read_what_can_be(env_file, folder);
        match unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(environment),
        }
    }

    /// [`Environment::read`] for who is going to tell of every mistake: what can be read, and why
    /// the rest cannot.
    pub(super) fn read_what_can_be(
        env_file: Option<&Path>,
        folder: Option<&Path>,
    ) -> (Self, Vec<SettingError>) {
        let mut unreadable = Vec::new();
        let mut environment = Self {
            process: process(&mut unreadable),
            ..Self::default()
        };
        if let Some(path) = env_file {
            environment.own.push(EnvFile::read(path, &mut unreadable).0);
        }
        let named = environment.get(CONFIG_DIR.name).map(PathBuf::from);
        let config = named.or_else(platform_config_dir).map(|dir| dir.join(ENV));
        let config = config.filter(|path| is_there(path));
        if let Some(path) = &config {
            environment.own.push(EnvFile::read(path, &mut unreadable).0);
        }
        let beside = folder.map(|folder| folder.join(ENV));
        let is_own = |path: &PathBuf| {
            let real = path.canonicalize().ok();
            real.is_some() && real == config.as_ref().and_then(|own| own.canonicalize().ok())
        };
        if let Some(path) = beside.filter(|path| is_there(path) && !is_own(path)) {
            let (file, doubt) = EnvFile::read(&path, &mut unreadable);
            environment.folder = Some(FolderFile::holding(file, doubt));
        }
        (environment, unreadable)
    }

    /// Whose `.env` is read beside the user's own: that of the working folder, unless a file is named
    /// instead.
    pub fn folder_beside(env_file: Option<&Path>) -> Option<&'static Path> {
        env_file.is_none().then_some(Path::new("."))
    }

    /// Exactly these pairs, whatever the process has.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            process: pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            ..Self::default()
        }
    }

    /// The same, with such a `.env` in the working folder.
    #[cfg(test)]
    pub(super) fn with_folder<const N: usize>(self, path: &str, pairs: [(&str, &str); N]) -> Self {
        let file = EnvFile {
            path: PathBuf::from(path),
            pairs: Self::from_pairs(pairs).process,
        };
        Self {
            folder: Some(FolderFile::holding(file, None)),
            ..self
        }
    }

    /// The `.env` files that were read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.env_files().map(|file| file.path.as_path())
    }

    /// `.env` of the working folder.
    pub fn folder_file(&self) -> Option<&Path> {
        self.folder
            .as_ref()
            .map(|folder| folder.file.path.as_path())
    }

    /// The folder of that file, by its canonical path where it has one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let folder = self.folder_file()?.parent()?;
        Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
    }

    /// Why that file cannot be trusted.
    pub(super) fn doubt(&self) -> Option<&str> {
        self.folder.as_ref()?.doubt.as_deref()
    }

    fn env_files(&self) -> impl Iterator<Item = &EnvFile> {
        self.own
            .iter()
            .chain(self.folder.iter().map(|folder| &folder.file))
    }

    /// What the folder's `.env` says of it and was not let, where nothing wins over that anyway.
    pub(super) fn blocked_value(&self, name: &str) -> Option<&str> {
        let held = self.folder.as_ref()?.held.get(name)?;
        let is_set = self.process.contains_key(name) || self.own_value(name).is_some();
        (!is_set).then_some(held)
    }

    /// The folder's `.env` may say all that it says.
    pub(super) fn trust_folder(&mut self) {
        if let Some(folder) = &mut self.folder {
            folder.is_folder_trusted = true;
            folder.file.pairs.extend(folder.held.drain());
        }
    }

    /// Whether that has been done.
    pub(super) fn is_folder_trusted(&self) -> bool {
        self.folder
            .as_ref()
            .is_some_and(|folder| folder.is_folder_trusted)
    }

    /// What the folder's `.env` says of it has no effect from now on.
    pub(super) fn withhold(&mut self, name: &str) {
        if let Some(folder) = &mut self.folder
            && let Some(pair) = folder.file.pairs.remove_entry(name)
        {
            folder.held.extend([pair]);
        }
    }

    /// Whether the value in effect is from the folder's `.env`.
    pub(super) fn is_of_folder(&self, name: &str) -> bool {
        let path = self.folder_file();
        matches!((self.origin(name), path), (Origin::File(of), Some(path)) if of == path)
    }

    /// Where the value of a variable is from.
    pub(super) fn origin(&self, name: &str) -> Origin {
        if self.get(name).is_none() {
            let held = self.blocked_value(name).and(self.folder_file());
            return held.map_or(Origin::Default, |path| Origin::Untrusted(path.to_owned()));
        }
        let file = self.env_files().find(|file| file.pairs.contains_key(name));
        match file.filter(|_| !self.process.contains_key(name)) {
            Some(file) => Origin::File(file.path.clone()),
            None => Origin::Environment,
        }
    }

    /// The first file that says something else than what is in effect.
    pub(super) fn overridden_by(&self, name: &str) -> Option<&Path> {
        let value = self.process.get(name).map(|value| trimmed(name, value));
        let value = value.or_else(|| self.get(name));
        self.env_files()
            .find(|file| {
                let said = file.pairs.get(name);
                said.is_some_and(|said| value.is_some_and(|value| value != said))
            })
            .map(|file| file.path.as_path())
    }

    /// Removes a setting as if it were not set; returns whether it was set.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let mut is_known = self.process.remove(name).is_some();
        let folder = self.folder.iter_mut().map(|folder| &mut folder.file);
        for file in self.own.iter_mut().chain(folder) {
            is_known |= file.pairs.remove(name).is_some();
        }
        is_known
    }

    /// The names that look like settings of this program, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let files = self.env_files().flat_map(|file| file.pairs.keys());
        let ours: BTreeSet<_> = self
            .process
            .keys()
            .chain(files)
            .map(String::as_str)
            .filter(|name| name.starts_with("KB_AGENT_"))
            .collect();
        ours.into_iter()
    }

    /// The value of a variable; one that is set to nothing counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        let of_folder = || Some(self.folder.as_ref()?.file.pairs.get(name)?.as_str());
        match self.process.get(name) {
            Some(value) => Some(trimmed(name, value)),
            None => self.own_value(name).or_else(of_folder),
        }
        .filter(|value| !value.is_empty())
    }

    /// The value that the process's environment gives a variable, whatever files say.
    pub(super) fn of_process(&self, name: &str) -> Option<&str> {
        let said = self.process.get(name).map(|value| value.trim());
        said.filter(|value| !value.is_empty())
    }

    /// The value of a variable on the side that `other` is from, the user's or the folder's, whatever
    /// wins over it.
    pub(super) fn get_beside(&self, other: &str, name: &str) -> Option<&str> {
        if self.is_of_folder(other) {
            let file = &self.folder.as_ref()?.file;
            return file.pairs.get(name).map(String::as_str);
        }
        let said = self.process.get(name).map(|value| value.trim());
        said.or_else(|| self.own_value(name))
    }

    fn own_value(&self, name: &str) -> Option<&str> {
        let said = self.own.iter().find_map(|file| file.pairs.get(name));
        said.map(String::as_str)
    }
}

/// A value without the spaces around it, where these mean nothing.
fn trimmed<'a>(name: &str, value: &'a str) -> &'a str {
    if WITH_SPACES.contains(&name) {
        return value;
    }
    value.trim()
}

/// Name of a file with settings.
const ENV: &str = ".env";

impl EnvFile {
    /// What can be read of it, and why it could not be trusted.
    fn read(path: &Path, unreadable: &mut Vec<SettingError>) -> (Self, Option<String>) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut pairs = HashMap::new();
        let (said, meta) = dotenv::read(&path);
        for pair in said {
            match pair {
                Ok((name, value)) => {
                    let value = trimmed(&name, &value).to_owned();
                    pairs.insert(name, value);
                }
                Err(error) => unreadable.push(error),
            }
        }
        pairs.retain(|_, value| !value.is_empty());
        let doubt = meta.and_then(|meta| doubt::of_file_in_folder(&path, &meta));
        (Self { path, pairs }, doubt)
    }
}

impl FolderFile {
    fn holding(mut file: EnvFile, doubt: Option<String>) -> Self {
        let mut held = HashMap::new();
        for variable in variables().filter(|variable| variable.class == Class::Reach) {
            held.extend(file.pairs.remove_entry(variable.name));
        }
        Self {
            file,
            held,
            doubt,
            is_folder_trusted: false,
        }
    }
}

fn process(unreadable: &mut Vec<SettingError>) -> HashMap<String, String> {
    let mut process = HashMap::new();
    for (name, value) in std::env::vars_os() {
        let Ok(name) = name.into_string() else {
            continue;
        };
        match value.into_string() {
            Ok(value) => {
                process.insert(name, value);
            }
            // Taken for unset it would be silently something else than was meant.
            Err(_) if name.starts_with("KB_AGENT_") => {
                unreadable.push(SettingError::NotText { name });
            }
            Err(_) => {}
        }
    }
    process
}

/// A folder of that name is a Python environment, and no settings.
fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_dir())
}
