//! Addresses, which may hold what must not be repeated.

use super::settings::{VALUE_CHARS, Variable, refused};
use super::{Environment, SettingError};
use crate::text::one_line;

/// The http or https address that a variable is set to.
pub(super) fn address(
    environment: &Environment,
    variable: Variable,
) -> Result<Option<String>, SettingError> {
    let Some(text) = environment.get(variable.name) else {
        return Ok(None);
    };
    match reqwest::Url::parse(text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Err(SettingError::Secret {
                name: variable.name,
                allowed: "an address without a user or password in it",
            })
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            Ok(Some(text.to_owned()))
        }
        // What cannot be taken apart may still hold a password.
        _ if text.contains('@') => Err(SettingError::Secret {
            name: variable.name,
            allowed: variable.allowed,
        }),
        _ => Err(match with_scheme(text) {
            Some(meant) => SettingError::Bare {
                name: variable.name,
                value: text.to_owned(),
                allowed: variable.allowed,
                meant,
            },
            None => refused(variable, text),
        }),
    }
}

/// The address that somebody meant who left the scheme away: names of the wide network are asked
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
