use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::SettingError;

/// Where settings are looked up: the process's environment first, then a `.env` file.
///
/// The file is read into a map and never into the process's own environment, so that what a
/// folder's `.env` says does not reach child processes.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: HashMap<String, String>,
    file: HashMap<String, String>,
}

impl Environment {
    /// Reads the process's environment, and `.env` in the current folder or the named file.
    ///
    /// A missing `.env` is fine; a named file that cannot be read, and a line that is not
    /// `NAME=value`, are errors.
    pub fn read(env_file: Option<&Path>) -> Result<Self, SettingError> {
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
                    return Err(SettingError::NotText { name });
                }
                Err(_) => {}
            }
        }
        let beside = Path::new(".env");
        let file = env_file.or_else(|| beside.is_file().then_some(beside));
        let file = file.map(read_file).transpose()?.unwrap_or_default();
        Ok(Self { process, file })
    }

    /// For tests: exactly these pairs.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            process: pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            file: HashMap::new(),
        }
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

fn read_file(path: &Path) -> Result<HashMap<String, String>, SettingError> {
    let unreadable = |why: String| SettingError::File {
        path: path.to_owned(),
        why,
    };
    let pairs = dotenvy::from_path_iter(path).map_err(|error| unreadable(error.to_string()))?;
    pairs
        .map(|pair| pair.map_err(|error| unreadable(plain(&error))))
        .collect()
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
