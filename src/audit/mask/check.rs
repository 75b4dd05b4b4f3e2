//! What a match must be beyond its form: words and names look like secrets to a pattern.

use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

/// A further condition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RuleCheck {
    /// The form says enough.
    #[default]
    None,
    /// Holds a digit and a letter, so that it is no word or several.
    Mixed,
    /// Looks like encoded bytes: small and large letters and digits, and no path.
    Base64,
    /// Is a value, not what stands for one, as `<PASSWORD>` or `getpass()` do.
    Value,
    /// A value that is no ordinary word: it holds a digit, or is long.
    Credential,
    /// No word that could stand there by chance: digits, signs or capitals within.
    Strong,
    /// Words of a password up to where the sentence goes on.
    Phrase,
    /// What a Chinese sentence gives as a password, not what it says of one.
    #[serde(rename = "told")]
    StatedValue,
    /// What stands before the host is no port.
    Userinfo,
}

/// What stands for a value begins so.
const PLACEHOLDERS: [&str; 8] = [
    "your",
    "my_",
    "the_",
    "xxx",
    "...",
    "os.environ",
    "process.env",
    "env.",
];

/// Words of sentences about passwords. Without them more would be masked; tests read them.
static WORDS: LazyLock<SentenceWords> = LazyLock::new(|| {
    let table = include_str!("../../../assets/mask/words.toml");
    toml::from_str(table).unwrap_or_default()
});

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentenceWords {
    goes_on: Vec<String>,
    said_of: Vec<String>,
    said_in_chinese: Vec<String>,
}

impl RuleCheck {
    /// The part of the match that is secret; `None` where it is not one.
    pub(super) fn part(self, text: &str, at: Range<usize>) -> Option<Range<usize>> {
        let found = &text[at.clone()];
        let bare = trimmed(found);
        let bare_at = at.start..at.start + bare.len();
        let is_bare_value = || is_value(bare, &text[bare_at.end..]);
        let is_secret = match self {
            Self::None => true,
            Self::Mixed => is_mixed(found),
            Self::Base64 => is_base64(found),
            Self::Value => is_value(found, &text[at.end..]),
            Self::Credential => {
                let is_given = is_mixed(bare) || bare.len() >= 20 || is_quoted(text, &bare_at);
                is_given && !is_name(bare) && is_bare_value()
            }
            Self::Strong => is_strong(bare) && is_bare_value(),
            Self::Phrase => return phrase(text, at),
            Self::StatedValue => is_stated_value(found),
            Self::Userinfo => !is_port(found) && is_value(found, ""),
        };
        let part = match self {
            Self::Credential | Self::Strong => bare_at,
            _ => at,
        };
        is_secret.then_some(part)
    }
}

/// Digits among letters, or letters whose case changes as in no word.
fn is_mixed(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    let turns = |pair: &&[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || text.len() >= 16 && text.as_bytes().windows(2).filter(turns).count() >= 4
}

fn is_base64(text: &str) -> bool {
    let count = |is: fn(&u8) -> bool| text.as_bytes().iter().filter(|byte| is(byte)).count();
    let slashes = count(|byte| *byte == b'/');
    count(u8::is_ascii_digit) > 2
        && count(u8::is_ascii_uppercase) > 8
        && count(u8::is_ascii_lowercase) > 8
        && slashes * 10 < text.len()
}

/// Not a variable, a call, a placeholder or a word of programs.
fn is_value(text: &str, behind: &str) -> bool {
    let bare = text.trim_matches(|c: char| "\"'`.,;:!?)".contains(c));
    let first = bare.chars().next();
    let lower = bare.to_lowercase();
    let stands_for = first.is_none_or(|c| "$<{%[(*@#".contains(c))
        || bare.chars().all(|c| Some(c) == first)
        || bare.contains('(')
            && (bare.ends_with('(') || bare.contains("()") || behind.starts_with(')'))
        || behind.starts_with('(')
        || PLACEHOLDERS.iter().any(|begin| lower.starts_with(begin));
    !stands_for && !WORDS.said_of.contains(&lower)
}

/// A name of code or of a file: words tied together, where digits come only at an end.
fn is_name(text: &str) -> bool {
    let words: Vec<&str> = text.split(['-', '_', '.', '/', ':']).collect();
    let is_word = |word: &&str| {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.len() - stem.len() <= 2 && stem.bytes().all(|b| b.is_ascii_lowercase())
    };
    let is_title = |word: &&str| {
        let mut chars = word.chars();
        chars.next().is_some_and(char::is_uppercase) && chars.all(|c| c.is_ascii_lowercase())
    };
    words.iter().all(|word| is_word(word) || is_title(word)) && (words.len() > 1 || text.len() < 20)
}

fn is_quoted(text: &str, at: &Range<usize>) -> bool {
    let before = text[..at.start].chars().next_back();
    let behind = text[at.end..].chars().next();
    matches!(
        (before, behind),
        (Some('"' | '\'' | '`' | '“'), Some('"' | '\'' | '`' | '”'))
    )
}

/// A digit, a sign or a capital where words have none.
fn is_strong(text: &str) -> bool {
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let is_tied = text.contains(['-', '_', '.', '/']);
    if text.len() < 4 || (is_tied || !has_digit) && is_name(text) {
        return false;
    }
    let is_sign = |c: char| !c.is_alphanumeric() && !"-_.'’,/:()".contains(c);
    let has_inner_capital = text.chars().skip(1).any(|c| c.is_ascii_uppercase())
        && text.contains(|c: char| c.is_ascii_lowercase());
    is_mixed(text)
        || text.contains(is_sign)
        || has_inner_capital
        || text.bytes().all(|b| b.is_ascii_digit())
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches(|c: char| ".,;:!?)\"'`”’".contains(c))
}

/// A sentence that tells what the password must be, in Chinese.
fn is_stated_value(text: &str) -> bool {
    !(WORDS.said_in_chinese.iter()).any(|says| text.contains(says.as_str())) && is_value(text, "")
}

fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    (1..=5).contains(&digits) && (rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

/// A quoted value, one token that is no word, or words up to where the sentence goes on.
fn phrase(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let found = &text[at.clone()];
    if let Some(quote) = found.chars().next().filter(|c| "\"'`“".contains(*c)) {
        let inner = &found[quote.len_utf8()..];
        let end = inner.find(['"', '\'', '`', '”'])?;
        let start = at.start + quote.len_utf8();
        return is_value(&inner[..end], "").then_some(start..start + end);
    }
    // What the label ends with tells whether a value must follow: "password: x", "password is x".
    let is_stated = text[..at.start].trim_end().ends_with([':', '：', '=']);
    let goes_on = |word: &str| WORDS.goes_on.contains(&word.to_lowercase());
    let clause = words(found)
        .map(|(_, word)| word)
        .position(|word| trimmed(word).len() < word.len())
        .map_or(usize::MAX, |last| last + 1);
    let clause: Vec<&str> = words(found)
        .take(clause)
        .map(|(_, word)| trimmed(word))
        .collect();
    // Three words that make no sentence are a passphrase, whatever the words are.
    let makes_sentence = clause.iter().any(|word| goes_on(word));
    let is_free = clause.len() > if is_stated { 1 } else { 2 } && !makes_sentence;
    let is_said = |word: &str| {
        let lower = word.to_lowercase();
        let ending = ["ed", "ing", "able", "ible", "ly"];
        let is_form = lower.len() > 4 && ending.iter().any(|end| lower.ends_with(end));
        goes_on(word) || is_form && !is_stated || WORDS.said_of.contains(&lower) && !is_free
    };
    let mut end = None;
    for (count, (from, word)) in words(found).enumerate() {
        let bare = trimmed(word);
        let ends = bare.len() < word.len() && !word.ends_with(['!', ')', '\'', '"', '`']);
        let strong = is_strong(bare) && is_value(bare, &word[bare.len()..]);
        let is_none = bare.is_empty() || !is_free && !is_value(bare, "");
        if !strong && (is_none || is_said(bare)) {
            break;
        }
        // A sign may belong to the password; to mask it too tells nothing.
        let whole = if strong && !ends { word } else { bare };
        end = Some((from + whole.len(), count + 1, strong));
        if ends || count == 7 {
            break;
        }
    }
    let (end, count, strong) = end?;
    let first = words(found).next()?.0;
    let is_rest = found[end..].trim().is_empty();
    let is_secret =
        strong || is_stated || is_rest || count > 2 || found[end..].starts_with(['.', ',', ';']);
    is_secret.then_some(at.start + first..at.start + end)
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace()
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The card numbers in a text: digits that stand together or in the groups that cards have, with a
/// valid check digit (Luhn, ISO/IEC 7812) and the first digits of a network.
pub(super) fn cards(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for run in bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        if run[0].is_ascii_digit() {
            groups.push(at..at + run.len());
        }
        at += run.len();
    }
    let joined = |pair: &[Range<usize>]| {
        pair[1].start - pair[0].end == 1 && b" -.".contains(&bytes[pair[0].end])
    };
    let mut found = Vec::new();
    for first in 0..groups.len() {
        for window in (1..=5).filter_map(|count| groups.get(first..first + count)) {
            let sizes: Vec<usize> = window.iter().map(Range::len).collect();
            let is_grouped = matches!(
                sizes.as_slice(),
                [13..=19] | [4, 4, 4, 4] | [4, 4, 4, 4, 3] | [4, 6, 4 | 5]
            );
            let range = window[0].start..window[window.len() - 1].end;
            if is_grouped && window.windows(2).all(joined) && is_card(&bytes[range.clone()]) {
                found.push(range);
            }
        }
    }
    found
}

fn is_card(number: &[u8]) -> bool {
    let digits = number.iter().filter(|byte| byte.is_ascii_digit());
    let digits: Vec<u32> = digits.map(|digit| u32::from(digit - b'0')).collect();
    let of_network = matches!(
        (digits.len(), digits.as_slice()),
        (13, [4, ..]) | (14, [3, 0 | 6 | 8, ..]) | (15, [3, 4 | 7, ..]) | (16..=19, [2..=6, ..])
    );
    let weighted = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        });
    let sum: u32 = weighted.sum();
    of_network && digits.iter().any(|digit| *digit != digits[0]) && sum.is_multiple_of(10)
}
