use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use etcetera::AppStrategy;

use super::error::SettingError;
use super::variables::{CONFIG_DIR, Class, WITH_SPACES, variables};
use crate::files::{self, Unreadable};
#[cfg(unix)]
use crate::text::one_line;

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
    /// The line of each name, counted from 1; the last one counts.
    lines: HashMap<String, usize>,
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
        let named = environment.get(CONFIG_DIR).map(PathBuf::from);
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
            lines: HashMap::new(),
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

    /// The line of this file that sets a name, counted from 1; `None` where the file was not read or does not
    /// set it.
    pub fn line_of(&self, path: &Path, name: &str) -> Option<usize> {
        let path = absolute(path);
        let file = self.env_files().find(|file| file.path == path)?;
        file.lines.get(name).copied()
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
pub(super) const ENV: &str = ".env";

impl EnvFile {
    /// What can be read of it, and why it could not be trusted.
    fn read(path: &Path, unreadable: &mut Vec<SettingError>) -> (Self, Option<String>) {
        let path = absolute(path);
        let (mut pairs, mut lines) = (HashMap::new(), HashMap::new());
        let (said, meta) = read_file(&path);
        for pair in said {
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
        let doubt = meta.and_then(|meta| doubt_in_folder(&path, &meta));
        (Self { path, pairs, lines }, doubt)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
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

/// The pairs of the file in their order, and what of it cannot be read; and of what is open, who
/// owns it and who may write it.
fn read_file(path: &Path) -> (Vec<Result<Pair, SettingError>>, Option<Metadata>) {
    match read_text(path) {
        Ok((text, meta)) => (parse(path, &text), Some(meta)),
        Err(error) => (vec![Err(unreadable(path, error.to_string()))], None),
    }
}

fn read_text(path: &Path) -> Result<(String, Metadata), Unreadable> {
    if is_null_device(path) {
        return Ok((String::new(), path.metadata()?));
    }
    let file = files::open_regular(path)?;
    let meta = file.metadata()?;
    let bytes = files::read_all(&file, LARGEST)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotText)?;
    Ok((text, meta))
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

/// Why a file with such metadata is not only the user's, what stands around it looked at too: who
/// may write a folder can put another file in its place. One line that says what to do.
fn doubt_in_folder(path: &Path, meta: &Metadata) -> Option<String> {
    let Ok(real) = path.canonicalize() else {
        return Some("it is gone".to_owned());
    };
    if real.to_str().is_none() || path.to_str().is_none() {
        return Some("its path is not UTF-8".to_owned());
    }
    let folders = [path.parent(), real.parent()].into_iter().flatten();
    doubt_of_file(path, meta).or_else(|| folders.into_iter().find_map(doubt_of_folder))
}

#[cfg(unix)]
pub(super) fn doubt_of_file(path: &Path, meta: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    if is_of_another(meta) {
        return Some(format!(
            "{} belongs to another user; give it with --env-file, or make it yours",
            display_path(path)
        ));
    }
    (meta.mode() & 0o022 != 0).then(|| writable(path, meta.mode()))
}

#[cfg(unix)]
fn doubt_of_folder(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    /// Where only the owner of a file may rename it, as in `/tmp`.
    const STICKY: u32 = 0o1000;
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) => return Some(format!("{}: {error}", display_path(path))),
    };
    if is_of_another(&meta) {
        return Some(format!(
            "its folder {} belongs to another user; give it with --env-file",
            display_path(path)
        ));
    }
    let is_open = meta.mode() & 0o022 != 0 && meta.mode() & STICKY == 0;
    is_open.then(|| writable(path, meta.mode()))
}

/// The system's own user can do anything anyway.
#[cfg(unix)]
fn is_of_another(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.uid() != 0 && meta.uid() != rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn writable(path: &Path, mode: u32) -> String {
    let path = display_path(path);
    format!(
        "others may write {path} (mode {:o}); chmod go-w '{path}', or give it with --env-file",
        mode & 0o7777
    )
}

#[cfg(unix)]
fn display_path(path: &Path) -> String {
    const PATH_CHARS: usize = 300;
    one_line(&path.to_string_lossy(), PATH_CHARS)
}

#[cfg(not(unix))]
pub(super) fn doubt_of_file(_: &Path, _: &Metadata) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn doubt_of_folder(_: &Path) -> Option<String> {
    None
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
