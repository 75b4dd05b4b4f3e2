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
    variable: &'static Variable,
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
        Kind::Address => return check_address(variable, value),
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
    let (name, allowed) = (&*variable.name, &*variable.allowed);
    // Whatever form it has, it may hold a password.
    Err(match variable.takes {
        Kind::Secret | Kind::Store => SettingError::Secret { name, allowed },
        _ => SettingError::Value {
            name,
            value: one_line(value, VALUE_CHARS),
            allowed,
        },
    })
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

fn check_address(variable: &'static Variable, text: &str) -> Result<(), SettingError> {
    let (name, allowed) = (&*variable.name, &*variable.allowed);
    match reqwest::Url::parse(text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Err(SettingError::Secret {
                name,
                allowed: "an address without a user or password in it",
            })
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(()),
        // What cannot be taken apart may still hold a password.
        _ if text.contains('@') => Err(SettingError::Secret { name, allowed }),
        _ => Err(match with_scheme(text) {
            Some(meant) => SettingError::Bare {
                name,
                value: text.to_owned(),
                allowed,
                meant,
            },
            None => SettingError::Value {
                name,
                value: one_line(text, VALUE_CHARS),
                allowed,
            },
        }),
    }
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
fn check_way(key: &'static Variable, environment: &Environment) -> Result<(), SettingError> {
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
    Err(SettingError::Unencrypted {
        name: &key.name,
        host: one_line(host, VALUE_CHARS),
        allow: PLAIN_HTTP_HOSTS,
    })
}
