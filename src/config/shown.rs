//! Values of settings as they are shown: on one line, without what is secret.

use std::path::Path;

use super::variables::{
    EMBEDDING_API_KEY, EMBEDDING_BASE_URL, LLM_API_KEY, LLM_BASE_URL, MCP_TOKEN, OTLP_ENDPOINT,
    STORE_PASSWORD, STORE_URL,
};
use crate::text::one_line;

/// A value is shown up to this length.
const SHOWN_CHARS: usize = 300;

/// Settings whose values nobody may see.
pub(super) const SECRETS: [&str; 4] = [LLM_API_KEY, EMBEDDING_API_KEY, STORE_PASSWORD, MCP_TOKEN];
pub(super) const ADDRESSES: [&str; 4] =
    [LLM_BASE_URL, EMBEDDING_BASE_URL, STORE_URL, OTLP_ENDPOINT];

/// What a variable is set to, on one line and without what is secret.
pub(super) fn masked(name: &str, value: &str) -> String {
    match name {
        name if SECRETS.contains(&name) => {
            format!("[masked, {} characters]", value.chars().count())
        }
        name if name == STORE_URL && !value.contains("://") => "[masked]".to_owned(),
        name if ADDRESSES.contains(&name) => without_secrets(value),
        _ => text(value),
    }
}

/// A path on one line.
pub(super) fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// A text on one line.
pub(super) fn text(text: &str) -> String {
    one_line(text, SHOWN_CHARS)
}

/// An address without what may be secret in it: who asks, and what a query says.
fn without_secrets(text: &str) -> String {
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
