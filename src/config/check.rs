//! Checks what is set against the table.

use std::path::Path;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;

use super::environment::Environment;
use super::error::SettingError;
use super::variables::{Kind, PLAIN_HTTP_HOSTS, Variable, variables};
use crate::domain::DecidedBy;
use crate::globs::Inclusion;
use crate::http::is_this_machine;
use crate::text::one_line;
use crate::themes::theme_names;

/// A value is quoted up to this length.
const VALUE_CHARS: usize = 80;

/// Checks every setting, whether it is in use or not; the first that cannot be used is the error.
pub(super) fn check(environment: &Environment) -> Result<(), SettingError> {
    if let Some(error) = environment.unreadable.first() {
        return Err(error.clone());
    }
    let mut set = variables().filter_map(|one| Some((one, environment.get(&one.name)?)));
    set.try_for_each(|(one, value)| check_value(one, value, environment))
}

fn check_value(
    variable: &Variable,
    value: &str,
    environment: &Environment,
) -> Result<(), SettingError> {
    let is_taken = match &variable.takes {
        Kind::Text | Kind::SpacedText => true,
        Kind::Whole([least, most]) => {
            let number = value.parse::<u64>();
            number.is_ok_and(|number| (*least..=*most).contains(&number))
        }
        Kind::Number([least, most]) => {
            let number = value.parse::<f64>();
            number.is_ok_and(|number| (*least..=*most).contains(&number))
        }
        Kind::OneOf(words) => words.iter().any(|word| word == value),
        Kind::Address => is_address(value),
        Kind::Store => ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| value.starts_with(scheme)),
        Kind::Secret if value.bytes().all(|b| b.is_ascii_graphic()) => {
            return check_way(variable, environment);
        }
        Kind::Secret => false,
        Kind::Theme => is_theme(value, environment.config_dir().as_deref()),
        Kind::Filter => EnvFilter::from_str(value).is_ok(),
        Kind::Patterns => inclusion(value).is_some(),
        Kind::OcrLanguages => {
            let is_language = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '/');
            value.chars().all(is_language)
        }
        Kind::AnsweringModel => value != DecidedBy::BuiltIn.as_str(),
    };
    if is_taken {
        return Ok(());
    }
    Err(refusal(variable, value))
}

fn refusal(variable: &Variable, value: &str) -> SettingError {
    let is_address = matches!(variable.takes, Kind::Address);
    // Whatever form an address has, it may hold a password.
    let holds_secret = is_address && value.contains('@');
    let name = &variable.name;
    let allowed = if holds_secret {
        "an http or https address without a user or password in it"
    } else {
        variable.allowed.as_str()
    };
    let next = format!("set {name} to {allowed}");
    if holds_secret || matches!(variable.takes, Kind::Secret | Kind::Store) {
        let line = format!("{name} cannot be used: it must be {allowed}");
        return SettingError::new(name, line, next);
    }
    let shown = one_line(value, VALUE_CHARS);
    let line = format!("{name} is '{shown}': it must be {allowed}");
    match with_scheme(value).filter(|_| is_address) {
        Some(meant) => SettingError::new(
            name,
            format!("{line}; did you mean {meant}?"),
            format!("set {name} to {meant}"),
        ),
        None => SettingError::new(name, line, next),
    }
}

/// Whether a theme may have this name: it is that of a file, and no path.
pub fn is_theme_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 60 && name.chars().all(is_fit)
}

/// Whether there is such a theme, built in or in a file of the user's own.
fn is_theme(name: &str, config_dir: Option<&Path>) -> bool {
    if name == "auto" || theme_names().any(|theme| theme == name) {
        return true;
    }
    let file = |folder: &Path| folder.join("themes").join(format!("{name}.toml"));
    is_theme_name(name) && config_dir.is_some_and(|folder| file(folder).is_file())
}

/// The files that such patterns name; `None` where one of them cannot be used.
pub(super) fn inclusion(patterns: &str) -> Option<Inclusion> {
    let patterns: Vec<String> = std::env::split_paths(patterns)
        .map(|pattern| pattern.to_string_lossy().into_owned())
        .filter(|pattern| !pattern.is_empty())
        .collect();
    Inclusion::new(patterns.iter().map(String::as_str)).ok()
}

fn is_address(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| {
        let is_open = url.username().is_empty() && url.password().is_none();
        is_open && matches!(url.scheme(), "http" | "https") && url.has_host()
    })
}

/// The address that is meant where the scheme is left away: names of the wide network are asked
/// by https, what has a port of its own or is near by http.
fn with_scheme(text: &str) -> Option<String> {
    if text.contains("//") || one_line(text, VALUE_CHARS) != text {
        return None;
    }
    let url = reqwest::Url::parse(&format!("http://{text}")).ok()?;
    let is_far = url.port().is_none() && url.domain().is_some_and(|name| name.contains('.'));
    let scheme = if is_far { "https" } else { "http" };
    url.has_host().then(|| format!("{scheme}://{text}"))
}

/// Refuses to send a key over a network where it can be read on the way: by http to another machine,
/// unless the user names that.
fn check_way(key: &Variable, environment: &Environment) -> Result<(), SettingError> {
    let address = key.needs.iter().find_map(|name| environment.get(name));
    let url = address.and_then(|address| reqwest::Url::parse(address).ok());
    let Some(url) = url.filter(|url| url.scheme() == "http" && !is_this_machine(url)) else {
        return Ok(());
    };
    let host = url.host_str().unwrap_or_default();
    let mut allowed = environment
        .get(PLAIN_HTTP_HOSTS)
        .unwrap_or_default()
        .split(',');
    if allowed.any(|name| name.trim().eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    let (name, host) = (&key.name, one_line(host, VALUE_CHARS));
    let next =
        format!("use an https address, or set {PLAIN_HTTP_HOSTS}={host} if that network is yours");
    let line = format!("{name} would go unencrypted to {host}: {next}");
    Err(SettingError::new(name, line, next))
}
