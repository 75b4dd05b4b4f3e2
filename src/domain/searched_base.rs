use serde::{Deserialize, Serialize};

/// The knowledge base that a run searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedBase {
    /// What people call it.
    pub name: String,
    /// Its folders and files, with their whole paths; none where it lies in a store alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}
