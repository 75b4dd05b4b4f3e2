//! Values of settings as they are shown: on one line, without what is secret.

use std::path::Path;

use super::variables::{
    DATA_DIR, EMBEDDING_API_KEY, EMBEDDING_BASE_URL, LOG, SOURCE, STORE_PASSWORD, STORE_URL,
};
use super::{Overrides, address, llm_variables};
use crate::text::one_line;

/// A value is shown up to this length.
const VALUE_CHARS: usize = 300;

/// The flag that wins over whatever is set.
pub(super) fn flag(name: &str, overrides: &Overrides) -> Option<&'static str> {
    if name == SOURCE.name && !overrides.sources.is_empty() {
        return Some("--kb");
    }
    if name == LOG.name && overrides.log_filter.is_some() {
        return Some("-v");
    }
    (name == DATA_DIR.name && overrides.data_dir.is_some()).then_some("--data-dir")
}

pub(super) const KEYS: [&str; 3] = [
    llm_variables::API_KEY.name,
    EMBEDDING_API_KEY.name,
    STORE_PASSWORD.name,
];
pub(super) const ADDRESSES: [&str; 3] = [
    llm_variables::BASE_URL.name,
    EMBEDDING_BASE_URL.name,
    STORE_URL.name,
];

/// What a variable is set to, on one line and without what is secret.
pub(super) fn masked(name: &str, value: &str) -> String {
    match name {
        name if KEYS.contains(&name) => format!("[masked, {} characters]", value.chars().count()),
        name if name == STORE_URL.name && !value.contains("://") => "[masked]".to_owned(),
        name if ADDRESSES.contains(&name) => address::without_secrets(value),
        _ => text(value),
    }
}

/// Where something would go, as a person decides on it: all that tells one place from another.
pub(super) fn target(name: &str, value: &str) -> String {
    if name != STORE_URL.name {
        return address::without_secrets(value);
    }
    let (base, query) = value.split_once('?').unwrap_or((value, ""));
    let behind = base.rsplit_once('@').map_or("", |(_, behind)| behind);
    let plain = if query.contains("sslmode=disable") {
        ", not encrypted"
    } else {
        ""
    };
    text(&format!("postgres://[masked]@{behind}{plain}"))
}

/// A path on one line.
pub(super) fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// A text on one line.
pub(super) fn text(text: &str) -> String {
    one_line(text, VALUE_CHARS)
}
