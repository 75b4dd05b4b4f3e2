use serde::{Deserialize, Serialize};

/// What thinking cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Reasoning calls made.
    pub calls: u32,
    /// Tokens sent, when the engine counts them.
    pub prompt_tokens: Option<u64>,
    /// Tokens received, when the engine counts them.
    pub completion_tokens: Option<u64>,
}

impl Usage {
    /// One call whose tokens nobody counted.
    pub const ONE_CALL: Self = Self {
        calls: 1,
        prompt_tokens: None,
        completion_tokens: None,
    };

    /// Adds `other`; a count stays unknown only while nobody has counted.
    pub fn add(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        self.calls += other.calls;
        self.prompt_tokens = sum(self.prompt_tokens, other.prompt_tokens);
        self.completion_tokens = sum(self.completion_tokens, other.completion_tokens);
    }
}

/// The three short cuts that are counted as `fast_path_hit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathType {
    /// Small talk went straight to the answer.
    Chitchat,
    /// A simple question was not graded.
    SimpleSkipGrading,
    /// A rule approved the evidence.
    RuleAutoApprove,
}

impl PathType {
    /// The word of the wire format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chitchat => "chitchat",
            Self::SimpleSkipGrading => "simple_skip_grading",
            Self::RuleAutoApprove => "rule_auto_approve",
        }
    }
}
