//! What an engine is.

use super::knowledge::is_demo;
use crate::config::Settings;

/// What an engine is, whether its index is open or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Whether the bundled demo is searched.
    pub is_demo: bool,
    /// Where the thinking engine is asked; `None` where the embedded one thinks.
    pub endpoint: Option<String>,
}

impl Profile {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            is_demo: is_demo(settings),
            endpoint: settings.llm.as_ref().map(|llm| address(&llm.base_url)),
        }
    }
}

/// The address without its query, which may hold a key.
fn address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    url[..end].to_owned()
}
