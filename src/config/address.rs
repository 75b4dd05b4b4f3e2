//! Addresses, which may hold what must not be repeated.

use super::Environment;
use super::error::SettingError;
use super::values::{VALUE_CHARS, refused};
use super::variable::Variable;
use super::variables::PLAIN_HTTP_HOSTS;
use crate::http::is_this_machine;
use crate::text::one_line;

/// An address is shown up to this length.
const SHOWN_CHARS: usize = 300;

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
/// unless who set the key names that: a folder cannot name it for the user's key.
pub(super) fn protected(
    environment: &Environment,
    key: Variable,
    base_url: Option<&str>,
) -> Result<(), SettingError> {
    let url = base_url.and_then(|text| reqwest::Url::parse(text).ok());
    let Some(url) = url.filter(|url| url.scheme() == "http" && !is_this_machine(url)) else {
        return Ok(());
    };
    let host = url.host_str().unwrap_or_default();
    let allowed = environment.get_beside(key.name, PLAIN_HTTP_HOSTS.name);
    let is_allowed = allowed
        .unwrap_or_default()
        .split(',')
        .any(|name| name.trim().eq_ignore_ascii_case(host));
    if environment.get(key.name).is_none() || is_allowed {
        return Ok(());
    }
    Err(SettingError::Unencrypted {
        name: key.name,
        host: one_line(host, VALUE_CHARS),
        allow: PLAIN_HTTP_HOSTS.name,
    })
}

/// An address without what may be secret in it: who asks, and what a query says.
pub(super) fn without_secrets(text: &str) -> String {
    const MASKED: &str = "[masked]";
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    // A password may hold any character, so that only the host behind the last '@' is sure.
    if let Some((_, behind)) = rest.rsplit_once('@') {
        let end = behind
            .find(|c: char| !c.is_ascii_alphanumeric() && !".-:[]".contains(c))
            .unwrap_or(behind.len());
        return one_line(&format!("{scheme}{MASKED}@{}", &behind[..end]), SHOWN_CHARS);
    }
    match rest.find(['?', '#']) {
        Some(end) => one_line(&format!("{scheme}{}{MASKED}", &rest[..=end]), SHOWN_CHARS),
        None => one_line(text, SHOWN_CHARS),
    }
}
