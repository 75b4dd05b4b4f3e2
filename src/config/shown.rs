//! Values of settings as they are shown: on one line, without what is secret.

use std::path::Path;

use super::variables::{Kind, Variable};
use crate::text::one_line;

/// A value is shown up to this length.
const SHOWN_CHARS: usize = 300;

/// What a setting is set to, on one line and without what is secret.
pub(super) fn masked(variable: &Variable, value: &str) -> String {
    match variable.takes {
        Kind::Secret => format!("[masked, {} characters]", value.chars().count()),
        Kind::Store if !value.contains("://") => "[masked]".to_owned(),
        Kind::Address | Kind::Store => without_secrets(value),
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
