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

words!(DecidedBy: BuiltIn "built-in", Model "model");

impl DecidedBy {
    /// How many calls of a model it leaves out.
    pub fn calls_saved(self) -> u32 {
        u32::from(self == Self::BuiltIn)
    }
}
