//! How much of a text and how much evidence a prompt has room for, in estimated tokens.

pub use crate::openai::estimate;
use crate::openai::token_weight;

/// The beginning of the text that is about so many tokens; `None` when that is all of it.
pub fn beginning(text: &str, tokens: usize) -> Option<&str> {
    // Also the longest text of so few characters would fit.
    if text.len() <= tokens {
        return None;
    }
    let mut left = tokens * 4;
    for (at, c) in text.char_indices() {
        match left.checked_sub(token_weight(c)) {
            Some(rest) => left = rest,
            None => return Some(&text[..at]),
        }
    }
    None
}

/// Evidence that any prompt may hold, where the size of the context is unknown.
const EVIDENCE: usize = 15_000;
const HISTORY: usize = 2_000;
/// Less than this is not worth asking with.
const LEAST: usize = 100;
/// Estimates are off by some; sizes that a server reported are for its own tokens.
const MARGIN: f64 = 0.85;

/// Estimated tokens for what varies in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// For all items together.
    pub evidence: usize,
    /// For the conversation so far.
    pub history: usize,
}

impl Room {
    /// For what is there in any case.
    pub const NONE: Self = Self {
        evidence: 0,
        history: 0,
    };

    /// The room in a context of that many tokens, of which a reply may take `reply` and the instructions,
    /// the tools and the question take `fixed`.
    pub fn in_context(tokens: Option<usize>, reply: u32, fixed: usize) -> Self {
        let whole = Self {
            evidence: EVIDENCE,
            history: HISTORY,
        };
        let Some(tokens) = tokens else {
            return whole;
        };
        // A reply seldom takes all that it may; where the context is small it gets a half.
        let reply = (reply as usize).min(tokens / 2);
        // The estimate of what is fixed is off by some, too.
        let left = tokens.saturating_sub(reply + (fixed as f64 / MARGIN) as usize);
        let history = (left / 5).min(HISTORY);
        Self {
            evidence: (left - history).min(EVIDENCE),
            history,
        }
    }

    /// What is left when a prompt of `sent` tokens, `fixed` of them in any case, was too long and
    /// `share` of it would have fitted; half of it where that is unknown. `None` when there is nothing left to drop.
    pub fn smaller(self, sent: usize, fixed: usize, share: Option<f64>) -> Option<Self> {
        let wanted = sent as f64 * share.map_or(0.5, |share| share * MARGIN);
        let left = (wanted as usize).saturating_sub(fixed).max(LEAST);
        if left >= sent.saturating_sub(fixed) {
            return None;
        }
        let history = self.history.min(left / 5);
        Some(Self {
            evidence: self.evidence.min(left - history),
            history,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_measured_and_cut_by_the_same_rule() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("word"), 1);
        assert_eq!(estimate("words"), 2);
        assert_eq!(estimate("路由"), 2);
        assert_eq!(estimate("äöüß"), 2);
        assert_eq!(beginning("words and", 1), Some("word"));
        assert_eq!(beginning("路由规则", 3), Some("路由规"));
        assert_eq!(beginning("路由", 2), None);
        assert_eq!(beginning("", 0), None);
        assert_eq!(beginning("a", 0), Some(""));
    }
}

#[cfg(test)]
mod room_tests {
    use super::*;

    #[test]
    fn a_small_context_leaves_room_for_the_reply() {
        assert_eq!(
            Room::in_context(None, 8_192, 900),
            Room {
                evidence: 15_000,
                history: 2_000
            }
        );
        assert_eq!(
            Room::in_context(Some(1_000_000), 8_192, 900),
            Room {
                evidence: 15_000,
                history: 2_000
            }
        );
        let small = Room::in_context(Some(4_096), 8_192, 900);
        assert!(
            small.evidence + small.history < 4_096 / 2 - 900,
            "{small:?}"
        );
        assert!(
            small.evidence > small.history && small.history > 0,
            "{small:?}"
        );
    }

    #[test]
    fn what_did_not_fit_is_cut_to_what_does() {
        let room = Room {
            evidence: 15_000,
            history: 2_000,
        };
        let smaller = room.smaller(9_000, 1_000, Some(4_096.0 / 9_000.0)).unwrap();
        let sent = 1_000 + smaller.evidence + smaller.history;
        assert!((3_000..4_096).contains(&sent), "{smaller:?}");
        let halved = room.smaller(9_000, 1_000, None).unwrap();
        assert_eq!(halved.evidence + halved.history, 3_500);
        assert_eq!(room.smaller(2_000, 1_900, Some(0.5)), None);
        let least = room.smaller(2_000, 1_000, Some(0.1)).unwrap();
        assert_eq!(least.evidence + least.history, 100);
    }
}
