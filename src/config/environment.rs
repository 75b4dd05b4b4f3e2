use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use etcetera::AppStrategy;

use super::error::SettingError;
use super::variables::{CONFIG_DIR, WITH_SPACES, variables};
use crate::files::read_text_bounded;

/// Where settings are looked up: the process's environment first, then the files.
///
/// Files are read into maps and never into the process's own environment, so that what they say
/// does not reach child processes. What `.env` of the working folder says of other settings than those
/// of the screen and of routing is found by no look-up.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: HashMap<String, String>,
    /// The user's own in their order, then that of the working folder.
    files: Vec<EnvFile>,
    ignored: Option<IgnoredSettings>,
}

/// What `.env` of the working folder sets without effect, and nothing of the user's sets.
#[derive(Debug, Clone)]
pub(super) struct IgnoredSettings {
    pub(super) names: Vec<&'static str>,
    /// The file that sets them.
    pub(super) path: PathBuf,
    /// The user's own file, whether it is there or not; `None` where no home folder is known.
    pub(super) own: Option<PathBuf>,
}

/// A file and what it sets; what it sets to nothing counts as not set.
#[derive(Debug, Clone)]
struct EnvFile {
    path: PathBuf,
    pairs: HashMap<String, String>,
    /// The line of each name, counted from 1; the last one counts.
    lines: HashMap<String, usize>,
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
    /// The setting is not set.
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
    /// Reads the process's environment, the named file, `.env` in the user's configuration folder,
    /// and what `.env` in `folder` may set.
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
            environment.files.push(EnvFile::read(path, &mut unreadable));
        }
        let named = environment.get(CONFIG_DIR).map(PathBuf::from);
        let own = named
            .or_else(platform_config_dir)
            .map(|dir| absolute(&dir.join(ENV)));
        let config = own.clone().filter(|path| is_there(path));
        if let Some(path) = &config {
            environment.files.push(EnvFile::read(path, &mut unreadable));
        }
        let beside = folder.map(|folder| folder.join(ENV));
        let is_own = |path: &PathBuf| {
            let real = path.canonicalize().ok();
            real.is_some() && real == config.as_ref().and_then(|own| own.canonicalize().ok())
        };
        if let Some(path) = beside.filter(|path| is_there(path) && !is_own(path)) {
            let file = EnvFile::read(&path, &mut unreadable);
            environment.add_folder(file, own);
        }
        (environment, unreadable)
    }

    /// Adds `.env` of the working folder, without what it may not set.
    fn add_folder(&mut self, mut file: EnvFile, own: Option<PathBuf>) {
        let barred = variables().filter(|variable| !variable.folder);
        let set = barred
            .map(|variable| variable.name)
            .filter(|name| file.pairs.remove(*name).is_some());
        self.ignored = Some(IgnoredSettings {
            names: set
                .filter(|name| self.first_value(name).is_none())
                .collect(),
            path: file.path.clone(),
            own,
        });
        self.files.push(file);
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
    pub(super) fn with_folder<const N: usize>(
        mut self,
        path: &str,
        pairs: [(&str, &str); N],
    ) -> Self {
        let own = Some(PathBuf::from("config/.env"));
        self.add_folder(EnvFile::holding(path, pairs), own);
        self
    }

    /// The same, with such a file of the user's own.
    #[cfg(test)]
    pub(super) fn with_own<const N: usize>(mut self, path: &str, pairs: [(&str, &str); N]) -> Self {
        self.files.push(EnvFile::holding(path, pairs));
        self
    }

    /// The `.env` files that were read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// What `.env` of the working folder sets without effect; `None` where there is no such file.
    pub(super) fn ignored(&self) -> Option<&IgnoredSettings> {
        self.ignored.as_ref()
    }

    /// Where the value of a variable is from.
    pub(super) fn origin(&self, name: &str) -> Origin {
        if self.get(name).is_none() {
            return Origin::Default;
        }
        let file = self.files.iter().find(|file| file.pairs.contains_key(name));
        match file.filter(|_| !self.process.contains_key(name)) {
            Some(file) => Origin::File(file.path.clone()),
            None => Origin::Environment,
        }
    }

    /// The first file that says something else than what is in effect.
    pub(super) fn overridden_by(&self, name: &str) -> Option<&Path> {
        let value = self.first_value(name);
        self.files
            .iter()
            .find(|file| {
                let said = file.pairs.get(name);
                said.is_some_and(|said| value.is_some_and(|value| value != said))
            })
            .map(|file| file.path.as_path())
    }

    /// The line of this file that sets a name, counted from 1; `None` where the file was not read or does not
    /// set it.
    pub fn line_of(&self, path: &Path, name: &str) -> Option<usize> {
        let path = absolute(path);
        let file = self.files.iter().find(|file| file.path == path)?;
        file.lines.get(name).copied()
    }

    /// Removes a setting as if it were not set; returns whether it was set.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let mut is_known = self.process.remove(name).is_some();
        for file in &mut self.files {
            is_known |= file.pairs.remove(name).is_some();
        }
        is_known
    }

    /// The names that look like settings of this program, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().flat_map(|file| file.pairs.keys());
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
        self.first_value(name).filter(|value| !value.is_empty())
    }

    /// The value of the first that sets it, be it empty.
    fn first_value(&self, name: &str) -> Option<&str> {
        let of_files = || self.files.iter().find_map(|file| file.pairs.get(name));
        match self.process.get(name) {
            Some(value) => Some(trimmed(name, value)),
            None => of_files().map(String::as_str),
        }
    }

    /// The value that the process's environment gives a variable, whatever files say.
    pub(super) fn of_process(&self, name: &str) -> Option<&str> {
        let said = self.process.get(name).map(|value| value.trim());
        said.filter(|value| !value.is_empty())
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
pub(super) const ENV: &str = ".env";

impl EnvFile {
    /// What can be read of it.
    fn read(path: &Path, unreadable: &mut Vec<SettingError>) -> Self {
        let path = absolute(path);
        let (mut pairs, mut lines) = (HashMap::new(), HashMap::new());
        for pair in read_file(&path) {
            match pair {
                Ok(Pair { name, value, line }) => {
                    let value = trimmed(&name, &value).to_owned();
                    lines.insert(name.clone(), line);
                    pairs.insert(name, value);
                }
                Err(error) => unreadable.push(error),
            }
        }
        pairs.retain(|_, value| !value.is_empty());
        Self { path, pairs, lines }
    }

    #[cfg(test)]
    fn holding<const N: usize>(path: &str, pairs: [(&str, &str); N]) -> Self {
        Self {
            path: PathBuf::from(path),
            pairs: Environment::from_pairs(pairs).process,
            lines: HashMap::new(),
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
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

// What a `.env` file says, taken as it stands there.
//
// The format is dotenvy's, but for `${NAME}`: put in place of the name, the value of any other
// variable would leave with a setting, and a few lines of them would grow to gigabytes. So every
// `$` reaches the parser as a character without a meaning, and is a `$` again in the value.

/// A name with its value.
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) value: String,
    /// The line where it begins, from 1 on.
    line: usize,
}

/// No settings file is nearly as large.
pub(super) const LARGEST: u64 = 256 << 10;
/// Stands for `$`; no variable can hold it, so that a file with one is none.
const DOLLAR: char = '\0';

/// The pairs of the file in their order, and what of it cannot be read.
fn read_file(path: &Path) -> Vec<Result<Pair, SettingError>> {
    if is_null_device(path) {
        return Vec::new();
    }
    match read_text_bounded(path, LARGEST) {
        Ok(text) => parse(path, &text),
        Err(error) => vec![Err(unreadable(path, error.to_string()))],
    }
}

/// What people name for a file in which nothing stands.
fn is_null_device(path: &Path) -> bool {
    cfg!(unix)
        && path
            .canonicalize()
            .is_ok_and(|real| real == Path::new("/dev/null"))
}

/// The pairs of a file's text, or why a line holds none.
pub(super) fn parse(path: &Path, text: &str) -> Vec<Result<Pair, SettingError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains(DOLLAR) {
        return vec![Err(unreadable(path, "it holds a NUL character".to_owned()))];
    }
    let plain_text = without_dollars(text);
    let lines: Vec<&str> = plain_text.split_inclusive('\n').collect();
    let read = Cell::new(0);
    let reader = LineReader {
        lines: &lines,
        read: &read,
        rest: &[],
    };
    let mut before = 0;
    let pairs = dotenvy::from_read_iter(reader).map(|pair| {
        let is_skipped = |line: &&&str| {
            let line = line.trim_start();
            line.is_empty() || line.starts_with('#')
        };
        let since = lines.get(before..read.get()).unwrap_or_default();
        let line = before + 1 + since.iter().take_while(is_skipped).count();
        before = read.get();
        match pair {
            Ok((name, value)) => Ok(Pair {
                name,
                value: value.replace(DOLLAR, "$"),
                line,
            }),
            Err(error) => Err(unreadable(path, without_line(&error))),
        }
    });
    pairs.collect()
}

/// Hands the parser one line at a time, so that it has read no further than it has parsed.
struct LineReader<'t> {
    lines: &'t [&'t str],
    /// How many were handed over, the last one perhaps in part.
    read: &'t Cell<usize>,
    rest: &'t [u8],
}

impl Read for LineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty()
            && let Some(line) = self.lines.get(self.read.get())
        {
            self.read.set(self.read.get() + 1);
            self.rest = line.as_bytes();
        }
        self.rest.read(buffer)
    }
}

/// `\$` stays: that is how the format writes a plain one. Backslashes stand in pairs before
/// another `$`, or within single quotes, where they and `$` mean nothing anyway.
fn without_dollars(text: &str) -> String {
    let mut is_escaped = false;
    let shown = text.chars().map(|c| {
        let plain = if c == '$' && !is_escaped { DOLLAR } else { c };
        is_escaped = c == '\\' && !is_escaped;
        plain
    });
    shown.collect()
}

fn unreadable(path: &Path, why: String) -> SettingError {
    SettingError::File {
        path: path.to_owned(),
        why,
    }
}

/// The parser's message without the line itself, which may hold a key.
fn without_line(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => {
            format!(
                "a line cannot be read as NAME=value (at its character {at}); quote values with spaces"
            )
        }
        other => other.to_string(),
    }
}

// The folders that the platform has for data and configuration.

pub(super) fn platform_data_dir() -> Result<PathBuf, SettingError> {
    let path = platform().map(|strategy| strategy.data_dir());
    path.filter(|path| path != Path::new(""))
        .ok_or(SettingError::NoHome)
}

/// The platform's folder for settings. `None` without a home folder, which is no error: the
/// built-in values hold.
pub(super) fn platform_config_dir() -> Option<PathBuf> {
    let path = platform().map(|strategy| strategy.config_dir());
    path.filter(|path| path != Path::new(""))
}

fn platform() -> Option<impl AppStrategy> {
    etcetera::choose_app_strategy(etcetera::AppStrategyArgs {
        top_level_domain: String::new(),
        author: String::new(),
        app_name: "kb-agent".to_owned(),
    })
    .ok()
}

#[cfg(test)]
mod dotenv_tests {
    use super::*;

    fn values(text: &str) -> Vec<Option<String>> {
        let pairs = parse(Path::new(".env"), text);
        let values = pairs.into_iter().map(|pair| Some(pair.ok()?.value));
        values.collect()
    }

    #[test]
    fn each_name_has_the_line_where_it_begins() {
        let long = "x".repeat(20_000);
        let text =
            format!("\u{feff}A=1\n\n# B=0\nexport\tB=2\r\nC=\"two\n# lines\"\n \nD={long}\n E = 5");
        let pairs = parse(Path::new(".env"), &text);
        let lines: Vec<_> = pairs.into_iter().map(Result::unwrap).collect();
        let lines: Vec<_> = lines.iter().map(|pair| (&*pair.name, pair.line)).collect();
        assert_eq!(lines, [("A", 1), ("B", 4), ("C", 5), ("D", 8), ("E", 9)]);
    }

    #[test]
    fn trust_nothing_is_put_in_place_of_a_name() {
        for (written, value) in [
            ("${HOME}", "${HOME}"),
            ("$HOME", "$HOME"),
            ("a${HOME}b$", "a${HOME}b$"),
            ("\"${HOME} $\"", "${HOME} $"),
            ("'${HOME}'", "${HOME}"),
            (r"\${HOME}", "${HOME}"),
            (r#""\$HOME""#, "$HOME"),
            (r"'\$HOME'", r"\$HOME"),
            (r#""\\$HOME""#, r"\$HOME"),
            (r"\\\$HOME", r"\$HOME"),
            ("$A # a comment with $B", "$A"),
        ] {
            let text = format!("A=1\nNAME={written}\nB=2\n");
            let values_read = values(&text);
            assert_eq!(values_read.len(), 3, "{written}");
            assert_eq!(values_read[1].as_deref(), Some(value), "{written}");
            assert_eq!(values_read[2].as_deref(), Some("2"), "{written}");
        }
    }

    #[test]
    fn trust_a_file_that_would_double_stays_as_it_is() {
        let mut text = "A0=laugh\n".to_owned();
        for at in 1..200 {
            text.push_str(&format!("A{at}=${{A{}}}${{A{}}}\n", at - 1, at - 1));
        }
        let values_read = values(&text);
        assert_eq!(values_read.len(), 200);
        assert_eq!(values_read[199].as_deref(), Some("${A198}${A198}"));
    }

    #[test]
    fn trust_what_is_no_text_file_is_reported() {
        assert_eq!(values("A=1\0\n"), [None]);
    }
}
