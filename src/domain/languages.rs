use serde::{Deserialize, Serialize};

/// What texts are written in, as far as an embedding is chosen by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Languages {
    /// Hardly anything but English.
    English,
    /// Any language.
    #[serde(rename = "multilingual")]
    All,
}
