//! Takes secrets out of text on its way to disk.
//!
//! A log outlives the moment and is sent around in bug reports. The patterns cover what is
//! recognisable by its form; what only its owner knows to be secret cannot be found.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What stands where a secret stood.
const MASKED: &str = "[masked]";

/// Forms that are secret as a whole.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}",        // OpenAI, Anthropic, Stripe
    r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_[A-Za-z0-9_]{20,}\b",  // GitHub
    r"\bglpat-[A-Za-z0-9_-]{16,}",                                       // GitLab
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",                                 // Slack
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",                                    // AWS
    r"\bAIza[A-Za-z0-9_-]{30,}",                                         // Google
    r"\bhf_[A-Za-z0-9]{20,}\b",                                          // Hugging Face
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",        // JSON web tokens
];

/// Forms of which only the second group is secret.
#[rustfmt::skip]
const LABELLED: &[&str] = &[
    r"(?i)(\bbearer\s+)([A-Za-z0-9._~+/=-]{8,})",
    r#"(?i)(\b[A-Za-z0-9_-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)["']?\s*[:=]\s*["']?)([^\s"',;]{4,})"#,
    r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)([^\s/@]+)(?:@)",            // user:password@host
];

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    tokens: compile(TOKENS),
    labelled: compile(LABELLED),
    cards: compile(&[r"\b\d(?:[ -]?\d){12,18}\b"]),
});

struct Patterns {
    tokens: Vec<Regex>,
    labelled: Vec<Regex>,
    cards: Vec<Regex>,
}

/// A pattern that does not compile would mask nothing; a test compiles them all.
fn compile(patterns: &[&str]) -> Vec<Regex> {
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
}

/// Masks secrets by their form, and the secrets it was told.
#[derive(Clone, Default)]
pub struct Mask {
    known: Vec<String>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask(knowing {})", self.known.len())
    }
}

impl Mask {
    /// Also masks these, wherever they stand.
    pub fn knowing(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: secrets.into_iter().filter(|s| s.len() >= 4).collect(),
        }
    }

    /// Masks every string inside `value`; keys and numbers stay.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|item| self.value(item)),
            _ => {}
        }
    }

    /// The text with its secrets masked; borrowed when it holds none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.known {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASKED));
            }
        }
        for pattern in &PATTERNS.tokens {
            replace(&mut masked, pattern, |_| Some(MASKED.to_owned()));
        }
        for pattern in &PATTERNS.labelled {
            replace(&mut masked, pattern, |found| {
                let whole = found.get(0)?;
                let secret = found.get(2)?;
                let tail = &whole.as_str()[secret.end() - whole.start()..];
                Some(format!("{}{MASKED}{tail}", &found[1]))
            });
        }
        for pattern in &PATTERNS.cards {
            replace(&mut masked, pattern, |found| {
                is_card(&found[0]).then(|| MASKED.to_owned())
            });
        }
        masked
    }
}

fn replace(
    text: &mut Cow<'_, str>,
    pattern: &Regex,
    with: impl Fn(&Captures<'_>) -> Option<String>,
) {
    if !pattern.is_match(text) {
        return;
    }
    let replaced = pattern.replace_all(text, |found: &Captures<'_>| {
        with(found).unwrap_or_else(|| found[0].to_owned())
    });
    if replaced != *text {
        *text = Cow::Owned(replaced.into_owned());
    }
}

/// Thirteen to nineteen digits with a valid check digit (Luhn, ISO/IEC 7812).
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if digits.iter().all(|digit| *digit == digits[0]) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let patterns = &*PATTERNS;
        assert_eq!(patterns.tokens.len(), TOKENS.len());
        assert_eq!(patterns.labelled.len(), LABELLED.len());
        assert_eq!(patterns.cards.len(), 1);
    }

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        let mask = Mask::knowing(["tiny-local-key".to_owned()]);
        for (text, masked) in [
            ("use tiny-local-key here", "use [masked] here"),
            ("key sk-abcdefghijklmnop1234 end", "key [masked] end"),
            ("sk-ant-api03-AAAAAAAAAAAAAAAAAAAA_-x", "[masked]"),
            ("ghp_0123456789abcdefghijABCDEFGHIJ", "[masked]"),
            ("AKIAIOSFODNN7EXAMPLE", "[masked]"),
            (
                "Authorization: Bearer abc.def-ghi123",
                "Authorization: Bearer [masked]",
            ),
            ("password = hunter22;", "password = [masked];"),
            ("\"api_key\": \"abcd1234\"", "\"api_key\": \"[masked]\""),
            (
                "postgres://user:pa55word@host/db",
                "postgres://user:[masked]@host/db",
            ),
            ("card 4111 1111 1111 1111.", "card [masked]."),
            ("card 5500-0000-0000-0004", "card [masked]"),
        ] {
            assert_eq!(mask.text(text), masked);
        }
        for plain in [
            "how does the password rule work?",
            "order 4111 1111 1111 1112",
            "0000000000000000",
            "1763683267412",
            "sk-short",
            "run 0193a5c7-7b1a-7000-8000-000000000001",
        ] {
            assert!(
                matches!(mask.text(plain), Cow::Borrowed(_)),
                "{plain} became {}",
                mask.text(plain)
            );
        }
    }
}
