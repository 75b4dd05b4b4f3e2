use std::fmt;

use serde::{Deserialize, Serialize};

/// Who took a decision, or made a call, where both a model and the program itself could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecidedBy {
    /// The built-in engine.
    BuiltIn,
    /// A model behind a chat endpoint.
    Model,
}

impl DecidedBy {
    /// The word of the wire format, and the name by which settings ask for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Model => "model",
        }
    }

    /// How many calls of a model it leaves out.
    pub fn calls_saved(self) -> u32 {
        u32::from(self == Self::BuiltIn)
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
