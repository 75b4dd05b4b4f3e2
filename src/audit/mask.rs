//! Takes secrets out of text on its way to disk.
//!
//! A log outlives the moment and is sent around in bug reports. The rules, which are data, cover
//! what is recognisable by its form or by what stands before it; what only its owner knows to be
//! secret cannot be found. What was found once is masked wherever it stands from then on: a
//! question says "the password is …", and the search that follows only names the word.

mod cards;
mod check;
mod rules;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use rules::RULES;

/// Words in the name of a field that holds a secret.
static NAMING_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = ["pass", "pwd", "secret", "token", "key", "credential"];
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words);
    search.ok()
});

/// What stands where a secret stood.
const MASKED: &str = "[masked]";
/// A shorter one is remembered by chance.
const SHORTEST: usize = 5;
/// A part of a secret that is remembered by itself: searches take words apart at signs.
const SHORTEST_PART: usize = 8;
/// How many are remembered.
const MOST: usize = 256;
const LONGEST: usize = 400;

/// Masks secrets by their form, and the secrets it was given.
#[derive(Clone, Default)]
pub struct Mask {
    known: Vec<String>,
    /// What was found in earlier texts.
    found: Vec<String>,
    finder: Option<AhoCorasick>,
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
            ..Self::default()
        }
    }

    /// Masks what [`Mask::value`] masks, and remembers it for what follows.
    pub fn event(&mut self, value: &mut Value) {
        let mut found = Vec::new();
        self.masked(value, &mut found);
        if self.remember(found) {
            // The question is not the first field by the alphabet.
            self.masked(value, &mut Vec::new());
        }
    }

    /// Masks every string inside `value`, and the names of fields; numbers stay. Strings of one
    /// array are looked at together, as a key may be spread over them.
    pub fn value(&self, value: &mut Value) {
        self.masked(value, &mut Vec::new());
    }

    /// The text with its secrets masked; borrowed when it holds none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(without(text, 0..text.len(), &spans))
    }

    fn masked(&self, value: &mut Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let spans = self.spans(text);
                if !spans.is_empty() {
                    found.extend(spans.iter().map(|span| text[span.clone()].to_owned()));
                    *text = without(text, 0..text.len(), &spans);
                }
            }
            Value::Array(items) => {
                self.together(items, found);
                for item in items {
                    self.masked(item, found);
                }
            }
            Value::Object(fields) => {
                let odd = fields.keys().filter_map(|name| match self.text(name) {
                    Cow::Owned(masked) => Some((name.clone(), masked)),
                    Cow::Borrowed(_) => None,
                });
                for (name, masked) in odd.collect::<Vec<_>>() {
                    if let Some(field) = fields.remove(&name) {
                        found.push(name);
                        fields.insert(masked, field);
                    }
                }
                for (name, field) in fields {
                    if is_of_the_format(name, field) {
                        continue;
                    }
                    self.mask_named_field(name, field, found);
                    self.masked(field, found);
                }
            }
            _ => {}
        }
    }

    /// A field's name can be what makes its value a secret: `{"password": …}`.
    fn mask_named_field(&self, name: &str, field: &mut Value, found: &mut Vec<String>) {
        let Value::String(text) = field else { return };
        // Of a name in other letters the rules decide, which know more of them as the same.
        let has_none = |words: &AhoCorasick| name.is_ascii() && !words.is_match(name);
        if NAMING_WORDS.as_ref().is_some_and(has_none) {
            return;
        }
        let begin = name.len() + 1;
        let both = format!("{name}={text}");
        if self.spans(&both).iter().any(|span| span.end > begin) {
            found.push(std::mem::replace(text, MASKED.to_owned()));
        }
    }

    fn together(&self, items: &mut [Value], found: &mut Vec<String>) {
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if texts.len() < 2 {
            return;
        }
        let joined = texts.join("\n");
        let spans = self.spans(&joined);
        if spans.is_empty() {
            return;
        }
        found.extend(spans.iter().map(|span| joined[span.clone()].to_owned()));
        let mut begin = 0;
        for item in items {
            if let Value::String(text) = item {
                let part = begin..begin + text.len();
                begin = part.end + 1;
                if spans
                    .iter()
                    .any(|span| span.start < part.end && span.end > part.start)
                {
                    *text = without(&joined, part, &spans);
                }
            }
        }
    }

    /// Where the secrets are, in order and apart from each other.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        for secret in &self.known {
            let hits = memchr::memmem::find_iter(text.as_bytes(), secret.as_bytes());
            spans.extend(hits.map(|at| at..at + secret.len()));
        }
        if let Some(finder) = &self.finder {
            spans.extend(finder.find_iter(text).map(|hit| hit.range()));
        }
        for rule in RULES.for_text(text) {
            let Some(pattern) = rule.pattern() else {
                continue;
            };
            for found in pattern.captures_iter(text) {
                let groups = if found.len() == 1 {
                    0..1
                } else {
                    1..found.len()
                };
                let parts = groups.filter_map(|group| found.get(group));
                spans.extend(parts.filter_map(|part| rule.check.part(text, part.range())));
            }
        }
        spans.extend(cards::cards(text));
        merged(text, spans)
    }

    /// Says whether there is anything new to look for.
    fn remember(&mut self, found: Vec<String>) -> bool {
        let before = self.found.len();
        for secret in found {
            let is_sign = |c: char| !c.is_alphanumeric();
            let parts = secret.split(is_sign).filter(|part| {
                let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
                part.len() >= SHORTEST_PART
                    && has(u8::is_ascii_digit)
                    && has(u8::is_ascii_alphabetic)
            });
            let whole = [secret.as_str(), secret.trim_matches(is_sign)].into_iter();
            for text in whole.chain(parts) {
                let fits = (SHORTEST..=LONGEST).contains(&text.len());
                if fits && self.found.len() < MOST && !self.found.iter().any(|one| one == text) {
                    self.found.push(text.to_owned());
                }
            }
        }
        if self.found.len() == before {
            return false;
        }
        self.finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(&self.found)
            .ok();
        true
    }
}

/// A word of the event format, whatever was said elsewhere, or a list of them.
fn is_of_the_format(name: &str, field: &Value) -> bool {
    let is_word = |value: &Value| {
        let word = value.as_str();
        word.is_some_and(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    };
    match name {
        "path" | "suggested_tools" => {
            let items = field.as_array();
            items.is_some_and(|items| items.iter().all(is_word))
        }
        "action" | "by" | "code" | "complexity" | "from" | "mode" | "node" | "outcome"
        | "path_type" | "query_type" | "reason" | "rule_name" | "to" | "tool" => is_word(field),
        _ => false,
    }
}

/// The part of the text with the spans masked.
fn without(text: &str, part: Range<usize>, spans: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(part.len());
    let mut at = part.start;
    for span in spans {
        let (start, end) = (span.start.max(part.start), span.end.min(part.end));
        if start < end {
            masked.push_str(&text[at..start]);
            masked.push_str(MASKED);
            at = end;
        }
    }
    masked.push_str(&text[at..part.end]);
    masked
}

/// What is masked already is no secret.
fn merged(text: &str, mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty() && !text[span.clone()].contains(MASKED));
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
