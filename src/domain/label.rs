use serde::{Deserialize, Serialize};

use super::{Complexity, EvidenceId};

/// What of a run a person judges.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LabelTarget {
    /// The route that it took.
    Route,
    /// An item of its evidence.
    Passage {
        /// Which.
        id: EvidenceId,
    },
    /// Its answer.
    Answer,
}

/// What a person says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum LabelVerdict {
    /// The route is right, the passage belongs to the answer, the answer is right.
    Good,
    /// It is not.
    Bad {
        /// The route that would have been right.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        should_be: Option<Complexity>,
    },
    /// What was said before holds no longer.
    TakenBack,
}

impl LabelVerdict {
    /// Not good, without saying what would be.
    pub const BAD: Self = Self::Bad { should_be: None };

    /// Whether it speaks for what is judged.
    pub fn is_good(self) -> bool {
        self == Self::Good
    }

    /// The verdict in words: `good`, `bad`, `should be complex`.
    pub fn in_words(self) -> String {
        match self {
            Self::Good => "good".to_owned(),
            Self::Bad { should_be: None } => "bad".to_owned(),
            Self::Bad {
                should_be: Some(route),
            } => format!("should be {}", route.as_str()),
            Self::TakenBack => "taken back".to_owned(),
        }
    }

    /// What the key for good makes of it: the same key again takes it back.
    #[must_use]
    pub fn after_good(self) -> Self {
        match self {
            Self::Good => Self::TakenBack,
            _ => Self::Good,
        }
    }

    /// What the key for bad makes of it: the same key again takes it back.
    #[must_use]
    pub fn after_bad(self) -> Self {
        match self {
            Self::Bad { .. } => Self::TakenBack,
            _ => Self::BAD,
        }
    }

    /// What the key for bad makes of the label of a route: it goes through the routes that were not
    /// taken, and then takes the label back.
    #[must_use]
    pub fn after_bad_route(self, taken: Complexity) -> Self {
        let [first, second] = other_routes(taken);
        let should_be = match self {
            Self::Bad {
                should_be: Some(said),
            } if said == first => second,
            Self::Bad {
                should_be: Some(said),
            } if said == second => return Self::TakenBack,
            _ => first,
        };
        Self::Bad {
            should_be: Some(should_be),
        }
    }
}

/// The two routes beside this one, first the one that it is more often taken for.
pub fn other_routes(taken: Complexity) -> [Complexity; 2] {
    match taken {
        Complexity::Chitchat => [Complexity::Simple, Complexity::Complex],
        Complexity::Simple => [Complexity::Complex, Complexity::Chitchat],
        Complexity::Complex => [Complexity::Simple, Complexity::Chitchat],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_again_takes_a_label_back() {
        let nothing = LabelVerdict::TakenBack;
        assert_eq!(nothing.after_good().after_good(), nothing);
        assert_eq!(nothing.after_bad().after_bad(), nothing);
        assert_eq!(nothing.after_good().after_bad(), LabelVerdict::BAD);
        assert_eq!(nothing.after_bad().after_good(), LabelVerdict::Good);
    }

    #[test]
    fn a_wrong_route_goes_through_the_others_and_is_taken_back() {
        for taken in [
            Complexity::Chitchat,
            Complexity::Simple,
            Complexity::Complex,
        ] {
            let mut said = LabelVerdict::Good;
            let mut routes = Vec::new();
            for _ in 0..3 {
                said = said.after_bad_route(taken);
                if let LabelVerdict::Bad { should_be } = said {
                    routes.extend(should_be);
                }
            }
            assert_eq!(routes, other_routes(taken));
            assert!(!routes.contains(&taken));
            assert_eq!(said, LabelVerdict::TakenBack);
        }
    }
}
