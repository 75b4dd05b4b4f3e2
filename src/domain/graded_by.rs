use serde::{Deserialize, Serialize};

use super::AutoApproveRule;

/// Where the scores of a grading came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GradedBy {
    /// The grading call measured them.
    Grader,
    /// A rule approved the items; its 1.0 is not a measurement.
    Rule(AutoApproveRule),
    /// The reply could not be read: 0.5 each, not a measurement.
    Fallback,
    /// There was nothing to grade.
    NoEvidence,
    /// A person set some of them, in a run that began at a node; the others are those of the run before.
    Hand,
}

impl GradedBy {
    /// The word of the wire format: a rule's own name stands for the rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grader => "grader",
            Self::Rule(rule) => rule.as_str(),
            Self::Fallback => "fallback",
            Self::NoEvidence => "no_evidence",
            Self::Hand => "hand",
        }
    }

    /// How many calls it leaves out besides those of a short cut: nothing cannot be graded.
    pub fn calls_saved(self) -> u32 {
        u32::from(self == Self::NoEvidence)
    }

    /// Whether the text was looked at before giving the number.
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Grader | Self::Hand)
    }
}

impl Serialize for GradedBy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for GradedBy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.as_str() {
            "grader" => Ok(Self::Grader),
            "fallback" => Ok(Self::Fallback),
            "no_evidence" => Ok(Self::NoEvidence),
            "hand" => Ok(Self::Hand),
            rule => AutoApproveRule::parse(rule).map(Self::Rule).ok_or_else(|| {
                serde::de::Error::custom(format!("'{rule}' is neither a grader nor a rule"))
            }),
        }
    }
}
