use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use super::SettingError;

/// Where settings are looked up: the process's environment first, then a `.env` file.
///
/// The file is read into a map and never into the process's own environment, so that what a
/// folder's `.env` says does not reach child processes.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: HashMap<String, String>,
    file: HashMap<String, String>,
    /// Where the file is, if there is one.
    path: Option<PathBuf>,
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
    /// Nobody set it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment => f.write_str("environment"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Environment {
    /// Reads the process's environment, and `.env` in the current folder or the named file.
    ///
    /// A missing `.env` is fine; a named file that cannot be read, and a line that is not
    /// `NAME=value`, are errors.
    pub fn read(env_file: Option<&Path>) -> Result<Self, SettingError> {
        let (environment, unreadable) = Self::read_what_can_be(env_file);
        match unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(environment),
        }
    }

    /// [`Environment::read`] for who is going to tell of every mistake: what can be read, and why
    /// the rest cannot.
    pub(super) fn read_what_can_be(env_file: Option<&Path>) -> (Self, Vec<SettingError>) {
        let mut process = HashMap::new();
        let mut unreadable = Vec::new();
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
        let beside = Path::new(".env");
        let path = env_file.or_else(|| beside.is_file().then_some(beside));
        let mut file = HashMap::new();
        for pair in path.into_iter().flat_map(read_file) {
            match pair {
                Ok((name, value)) => {
                    file.insert(name, value);
                }
                Err(error) => unreadable.push(error),
            }
        }
        let path = path.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        let environment = Self {
            process,
            file,
            path,
        };
        (environment, unreadable)
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

    /// The `.env` file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Where the value of a variable is from.
    pub(super) fn origin(&self, name: &str) -> Origin {
        match (self.get(name), self.process.contains_key(name), &self.path) {
            (Some(_), false, Some(path)) => Origin::File(path.clone()),
            (Some(_), _, _) => Origin::Environment,
            (None, _, _) => Origin::Default,
        }
    }

    /// Whether the file says something else than the process's environment, which wins.
    pub(super) fn is_outvoted(&self, name: &str) -> bool {
        let both = self.process.get(name).zip(self.file.get(name));
        both.is_some_and(|(process, file)| process.trim() != file.trim())
    }

    /// As if nobody had set it; says whether somebody had.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let process = self.process.remove(name);
        let file = self.file.remove(name);
        process.or(file).is_some()
    }

    /// The names that look like settings of this program, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.process.keys().chain(self.file.keys());
        let ours: BTreeSet<_> = names
            .map(String::as_str)
            .filter(|name| name.starts_with("KB_AGENT_"))
            .collect();
        ours.into_iter()
    }

    /// The value of a variable; one that is set to nothing counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.process
            .get(name)
            .or_else(|| self.file.get(name))
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }
}

fn read_file(path: &Path) -> Vec<Result<(String, String), SettingError>> {
    let unreadable = |why: String| SettingError::File {
        path: path.to_owned(),
        why,
    };
    match dotenvy::from_path_iter(path) {
        Ok(pairs) => pairs
            .map(|pair| pair.map_err(|error| unreadable(plain(&error))))
            .collect(),
        Err(error) => vec![Err(unreadable(error.to_string()))],
    }
}

/// The parser's message without the line itself, which may hold a key.
fn plain(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => {
            format!(
                "a line cannot be read as NAME=value (at its character {at}); quote values with spaces"
            )
        }
        other => other.to_string(),
    }
}
