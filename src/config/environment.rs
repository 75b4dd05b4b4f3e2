use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::{AppStrategy, AppStrategyArgs};

use super::error::SettingError;
use crate::files::read_text_bounded;

/// How the name of every setting begins.
pub(super) const PREFIX: &str = "KB_AGENT_";
pub(super) const SOURCE: &str = "KB_AGENT_SOURCE";
pub(super) const DATA_DIR: &str = "KB_AGENT_DATA_DIR";
pub(super) const CONFIG_DIR: &str = "KB_AGENT_CONFIG_DIR";
pub(super) const LOG: &str = "KB_AGENT_LOG";

/// Where settings are looked up: the first layer that sets one wins.
///
/// Files are read into maps and never into the process's own environment, so that what they say
/// does not reach child processes. What `.env` of the working folder says of other settings than those
/// of the screen and of routing is found by no look-up.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The process's environment, the user's own files in their order, and what counts of the working
    /// folder's.
    layers: Vec<Layer>,
    /// The working folder's file with what does not count of it.
    barred: Option<Layer>,
    /// Why some of it cannot be read.
    pub(super) unreadable: Vec<SettingError>,
}

/// What one place sets. What a file sets to nothing counts as not set.
#[derive(Debug, Clone)]
struct Layer {
    origin: Origin,
    pairs: HashMap<String, String>,
}

/// What the command line says over the environment.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `PATH…` or `--kb`.
    pub sources: Vec<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// What `-v` makes of the diagnostics filter.
    pub log_filter: Option<&'static str>,
}

impl Overrides {
    /// The flag that wins over whatever is set.
    pub(super) fn flag(&self, name: &str) -> Option<&'static str> {
        match name {
            SOURCE if !self.sources.is_empty() => Some("--kb"),
            LOG if self.log_filter.is_some() => Some("-v"),
            DATA_DIR if self.data_dir.is_some() => Some("--data-dir"),
            _ => None,
        }
    }
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
    /// Adds what can be read of a file.
    pub(super) fn add_file(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let pairs = read_file(&path);
        self.add(Origin::File(path), pairs);
    }

    pub(super) fn add(
        &mut self,
        origin: Origin,
        read: impl IntoIterator<Item = Result<Pair, SettingError>>,
    ) {
        let mut pairs = HashMap::new();
        for pair in read {
            match pair {
                Ok((name, value)) => {
                    pairs.insert(name, value);
                }
                Err(error) => self.unreadable.push(error),
            }
        }
        if origin != Origin::Environment {
            pairs.retain(|_, value| !value.trim().is_empty());
        }
        self.layers.push(Layer { origin, pairs });
    }

    /// Takes out of the last layer, which is the working folder's, what does not count there.
    pub(super) fn bar_last(&mut self, is_barred: impl Fn(&str) -> bool) {
        let Some(folder) = self.layers.last_mut() else {
            return;
        };
        let barred = folder.pairs.extract_if(|name, _| is_barred(name));
        self.barred = Some(Layer {
            pairs: barred.collect(),
            origin: folder.origin.clone(),
        });
    }

    /// Exactly these pairs, whatever the process has.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut environment = Self::default();
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, value)| Ok((name.to_owned(), value.to_owned())));
        environment.add(Origin::Environment, pairs);
        environment
    }

    /// The `.env` files that were read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.layers.iter().filter_map(|layer| match &layer.origin {
            Origin::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The working folder's `.env`; `None` where there is no such file.
    pub(super) fn barred_file(&self) -> Option<&Origin> {
        self.barred.as_ref().map(|file| &file.origin)
    }

    /// Whether that file sets a setting that does not count there, and nothing of the user's sets it.
    pub(super) fn is_barred(&self, name: &str) -> bool {
        let is_there = |file: &Layer| file.pairs.contains_key(name);
        self.barred.as_ref().is_some_and(is_there) && self.first(name).is_none()
    }

    /// The user's own folder for settings; `None` where no home folder is known.
    pub(super) fn config_dir(&self) -> Option<PathBuf> {
        let of_platform = || platform_dirs().map(|[_, config]| config);
        self.get(CONFIG_DIR).map(PathBuf::from).or_else(of_platform)
    }

    /// Where the value of a variable is from.
    pub(super) fn origin(&self, name: &str) -> Origin {
        match self.first(name) {
            Some((layer, value)) if !value.trim().is_empty() => layer.origin.clone(),
            _ => Origin::Default,
        }
    }

    /// The first file that says something else than what is in effect.
    pub(super) fn overridden_by(&self, name: &str) -> Option<&Origin> {
        let (_, value) = self.first(name)?;
        let is_other = |said: &String| said.trim() != value.trim();
        let says_other = |layer: &&Layer| layer.pairs.get(name).is_some_and(is_other);
        self.layers
            .iter()
            .find(says_other)
            .map(|layer| &layer.origin)
    }

    /// The names that look like settings of this program, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.layers.iter().flat_map(|layer| layer.pairs.keys());
        let names = names.map(String::as_str);
        let ours: BTreeSet<_> = names.filter(|name| name.starts_with(PREFIX)).collect();
        ours.into_iter()
    }

    /// The value of a variable without spaces around it; one that is set to nothing counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        Some(self.spaced(name)?.trim()).filter(|value| !value.is_empty())
    }

    /// The value of a variable with the spaces around it.
    pub(super) fn spaced(&self, name: &str) -> Option<&str> {
        self.first(name).map(|(_, value)| value)
    }

    /// The first layer that sets a variable, be it to nothing, and the value there.
    fn first(&self, name: &str) -> Option<(&Layer, &str)> {
        let mut layers = self.layers.iter();
        layers.find_map(|layer| Some((layer, layer.pairs.get(name)?.as_str())))
    }
}

/// What the process's environment sets, and what of it cannot be read.
pub(super) fn process() -> impl Iterator<Item = Result<Pair, SettingError>> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        match value.into_string() {
            Ok(value) => Some(Ok((name, value))),
            // Taken for unset it would be silently something else than was meant.
            Err(_) if name.starts_with(PREFIX) => Some(Err(not_text(&name))),
            Err(_) => None,
        }
    })
}

/// Name of a file with settings.
pub(super) const ENV: &str = ".env";

/// A folder of that name is a Python environment, and no settings.
pub(super) fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_dir())
}

// What a `.env` file says, taken as it stands there.
//
// The format is dotenvy's, but for `${NAME}`: put in place of the name, the value of any other
// variable would leave with a setting, and a few lines of them would grow to gigabytes. So every
// `$` reaches the parser as a character without a meaning, and is a `$` again in the value.

/// A name with its value.
pub(super) type Pair = (String, String);

/// No settings file is nearly as large.
pub(super) const LARGEST: u64 = 256 << 10;
/// Stands for `$`; no variable can hold it, so that a file with one is none.
const DOLLAR: char = '\0';

/// The pairs of the file in their order, and what of it cannot be read.
fn read_file(path: &Path) -> Vec<Result<Pair, SettingError>> {
    // People name this for a file in which nothing stands.
    let null_device = Path::new("/dev/null");
    if path.canonicalize().is_ok_and(|real| real == null_device) {
        return Vec::new();
    }
    match read_text_bounded(path, LARGEST) {
        Ok(text) => parse(path, &text),
        Err(error) => vec![Err(unreadable(path, &error.to_string()))],
    }
}

/// The pairs of a file's text, or why a line holds none.
pub(super) fn parse(path: &Path, text: &str) -> Vec<Result<Pair, SettingError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains(DOLLAR) {
        return vec![Err(unreadable(path, "it holds a NUL character"))];
    }
    let plain = without_dollars(text);
    let pairs = dotenvy::from_read_iter(plain.as_bytes()).map(|pair| match pair {
        Ok((name, value)) => Ok((name, value.replace(DOLLAR, "$"))),
        Err(error) => Err(unreadable(path, &without_line(&error))),
    });
    pairs.collect()
}

/// The line of a file that sets a name, counted from 1, the last one where there are several; `None` where
/// no line does.
pub fn line_of(file: &Path, name: &str) -> Option<usize> {
    let text = read_text_bounded(file, LARGEST).ok()?;
    let lines = text.lines().zip(1..).filter(|(line, _)| sets(line, name));
    lines.last().map(|(_, at)| at)
}

/// Whether a line sets that name.
pub(super) fn sets(line: &str, name: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    let exported = line.strip_prefix("export");
    let exported = exported.filter(|rest| rest.starts_with(char::is_whitespace));
    let line = exported.map_or(line, str::trim_start);
    let rest = line.strip_prefix(name);
    rest.is_some_and(|rest| rest.trim_start().starts_with('='))
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

fn unreadable(path: &Path, why: &str) -> SettingError {
    let line = format!("{} cannot be read: {why}", path.display());
    let next = "correct that file, or name another with --env-file";
    SettingError::new("", line, next.to_owned())
}

fn not_text(name: &str) -> SettingError {
    let line = format!("{name} is not UTF-8 text: give it in UTF-8");
    SettingError::new(name, line, format!("give {name} in UTF-8"))
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

/// The folders that the platform has for this program's data and for its settings; `None` without a home
/// folder.
pub(super) fn platform_dirs() -> Option<[PathBuf; 2]> {
    let platform = etcetera::choose_app_strategy(AppStrategyArgs {
        app_name: "kb-agent".to_owned(),
        ..AppStrategyArgs::default()
    });
    let platform = platform.ok()?;
    Some([platform.data_dir(), platform.config_dir()])
}

#[cfg(test)]
mod tests {
    use super::super::table::is_for_user_alone;
    use super::*;

    impl Environment {
        /// The same, with such a `.env` in the working folder.
        pub(crate) fn with_folder<const N: usize>(
            self,
            path: &str,
            pairs: [(&str, &str); N],
        ) -> Self {
            let mut environment = self.with_own(path, pairs);
            environment.bar_last(is_for_user_alone);
            environment
        }

        /// The same, with such a file of the user's own.
        pub(crate) fn with_own<const N: usize>(
            mut self,
            path: &str,
            pairs: [(&str, &str); N],
        ) -> Self {
            let origin = Origin::File(PathBuf::from(path));
            for Layer { pairs, .. } in Self::from_pairs(pairs).layers {
                let origin = origin.clone();
                self.layers.push(Layer { origin, pairs });
            }
            self
        }
    }

    fn values(text: &str) -> Vec<Option<String>> {
        let pairs = parse(Path::new(".env"), text);
        let values = pairs.into_iter().map(|pair| Some(pair.ok()?.1));
        values.collect()
    }

    #[test]
    fn each_name_has_the_line_where_it_is_set() {
        let text = "\u{feff}A=1\n\n# B=0\nexport\tB=2\r\nC=\"two\n# lines\"\n \nAB=3\n E = 5\nA=6";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        for (name, line) in [
            ("A", Some(10)),
            ("B", Some(4)),
            ("C", Some(5)),
            ("AB", Some(8)),
            ("E", Some(9)),
            ("D", None),
        ] {
            assert_eq!(line_of(file.path(), name), line, "{name}");
        }
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
