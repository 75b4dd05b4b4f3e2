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
    /// How many of the tokens sent the server read from its cache.
    pub cached_tokens: Option<u64>,
    /// How many of the tokens received were reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Whether some of the tokens were estimated, because they were not counted.
    pub estimated: bool,
    /// What the calls with a known price cost, in billionths of a US dollar.
    pub nano_usd: u64,
    /// Calls with a known price.
    pub priced_calls: u32,
}

impl Usage {
    /// One call whose tokens were not counted.
    pub const ONE_CALL: Self = Self {
        calls: 1,
        prompt_tokens: None,
        completion_tokens: None,
        cached_tokens: None,
        reasoning_tokens: None,
        estimated: false,
        nano_usd: 0,
        priced_calls: 0,
    };

    /// Adds `other`; a count stays unknown only while none was counted.
    pub fn add(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.calls = self.calls.saturating_add(other.calls);
        self.prompt_tokens = sum(self.prompt_tokens, other.prompt_tokens);
        self.completion_tokens = sum(self.completion_tokens, other.completion_tokens);
        self.cached_tokens = sum(self.cached_tokens, other.cached_tokens);
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
        self.estimated |= other.estimated;
        self.nano_usd = self.nano_usd.saturating_add(other.nano_usd);
        self.priced_calls = self.priced_calls.saturating_add(other.priced_calls);
    }

    /// US dollars; unknown as soon as one call has no known price, because a part of a sum is not
    /// the sum.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.calls > 0 && self.priced_calls == self.calls).then(|| self.nano_usd as f64 / 1e9)
    }
}

/// US dollars as a person reads them, with two digits that count: most answers cost less than a
/// cent.
pub fn dollars(cost: f64) -> String {
    if cost <= 0.0 || cost >= 0.995 {
        return format!("${cost:.2}");
    }
    let digits = (1.0 - cost.log10().floor()).clamp(2.0, 8.0) as usize;
    format!("${cost:.digits$}")
}

/// The three short cuts that are counted as `fast_path_hit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathType {
    /// Small talk went straight to the answer.
    Chitchat,
    /// A simple question was not graded.
    SimpleSkipGrading,
    /// A rule approved the evidence.
    RuleAutoApprove,
}

words!(
    PathType: Chitchat "chitchat",
    SimpleSkipGrading "simple_skip_grading",
    RuleAutoApprove "rule_auto_approve",
);

impl PathType {
    /// How many calls of the full pipeline it leaves out: of small talk both plan and grading.
    pub fn calls_saved(self) -> u32 {
        match self {
            Self::Chitchat => 2,
            Self::SimpleSkipGrading | Self::RuleAutoApprove => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_known_only_when_every_call_has_one() {
        let priced = Usage {
            prompt_tokens: Some(10),
            nano_usd: 1_500_000,
            priced_calls: 1,
            ..Usage::ONE_CALL
        };
        let mut usage = Usage::default();
        assert_eq!(usage.cost_usd(), None);
        usage.add(priced);
        usage.add(Usage {
            estimated: true,
            ..priced
        });
        assert_eq!(usage.cost_usd(), Some(0.003));
        assert!(usage.estimated);
        usage.add(Usage::ONE_CALL);
        assert_eq!((usage.cost_usd(), usage.prompt_tokens), (None, Some(20)));
    }

    #[test]
    fn dollars_show_two_digits_that_count() {
        for (cost, shown) in [
            (0.0, "$0.00"),
            (0.000_012_3, "$0.000012"),
            (0.001_25, "$0.0013"),
            (0.034, "$0.034"),
            (0.5, "$0.50"),
            (12.345, "$12.35"),
        ] {
            assert_eq!(dollars(cost), shown);
        }
    }
}
