//! Takes secrets out of text on its way to disk.
//!
//! A log outlives the moment and is sent around in bug reports. The rules, which are data, cover
//! what is recognisable by its form or by what stands before it; what only its owner knows to be
//! secret cannot be found. What was found in one event is also masked in those that follow: a
//! question says "the password is …", and the search that follows only names the word. That holds
//! for the events that pass through one [`Mask`], those of one run, and within bounds: see [`MOST`].

mod check;
mod rules;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use rules::RULES;

/// Words in the name of a field that holds a secret.
const NAMING_WORDS: [&str; 6] = ["pass", "pwd", "secret", "token", "key", "credential"];
/// What stands where a secret stood.
const MASKED: &str = "[masked]";
/// The shortest secret of the settings that is masked, in bytes: a shorter one stands in many words.
const SHORTEST_KNOWN: usize = 4;
/// The shortest that is remembered. A shorter one would also match ordinary words.
const SHORTEST: usize = 5;
/// The shortest part of a secret that is remembered by itself: searches take words apart at signs.
const SHORTEST_PART: usize = 8;
/// How many are remembered; later ones are masked by their form only.
const MOST: usize = 256;
/// The longest that is remembered.
const LONGEST: usize = 400;

/// Masks secrets by their form, and the secrets it was given.
#[derive(Clone, Default)]
pub struct Mask {
    known: Vec<String>,
    /// What was found in earlier texts.
    found: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Mask {
    /// Also masks these, wherever they stand.
    pub fn knowing(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: secrets
                .into_iter()
                .filter(|s| s.len() >= SHORTEST_KNOWN)
                .collect(),
            ..Self::default()
        }
    }

    /// Masks every string inside an event, and the names of fields; numbers stay. Strings of one
    /// array are looked at together, as a key may be spread over them. What is found is remembered
    /// for the events that follow.
    pub fn mask_event(&mut self, event: &mut Value) {
        let text = event.get("text").and_then(Value::as_str);
        let unmasked = text.map(str::to_owned);
        let mut found = Vec::new();
        self.mask_within(event, &mut found);
        if self.remember(found) {
            // The question is not the first field by the alphabet.
            self.mask_within(event, &mut Vec::new());
        }
        if let Some(unmasked) = unmasked.filter(|text| event["text"] != text.as_str()) {
            self.move_places(event, &unmasked);
        }
    }

    /// Moves the places within the text of an answer to where they are in the masked text.
    fn move_places(&self, event: &mut Value, unmasked: &str) {
        let move_place = |place: &mut Value| {
            let before = place.as_u64().and_then(|at| unmasked.get(..at as usize));
            if let Some(before) = before {
                *place = self.mask_text(before).len().into();
            }
        };
        let sentences = event.get_mut("supported").and_then(Value::as_array_mut);
        for sentence in sentences.into_iter().flatten() {
            for name in ["start", "end"] {
                sentence.get_mut(name).map(move_place);
            }
        }
        event.get_mut("quotation_from").map(move_place);
    }

    /// The text with its secrets masked; borrowed when it holds none.
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.find_secrets(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replace_spans(text, 0..text.len(), &spans))
    }

    fn mask_within(&self, value: &mut Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let spans = self.find_secrets(text);
                if !spans.is_empty() {
                    found.extend(spans.iter().map(|span| text[span.clone()].to_owned()));
                    *text = replace_spans(text, 0..text.len(), &spans);
                }
            }
            Value::Array(items) => {
                self.mask_joined(items, found);
                for item in items {
                    self.mask_within(item, found);
                }
            }
            Value::Object(fields) => {
                self.mask_names(fields, found);
                for (name, field) in fields {
                    if !is_of_the_format(name, field) {
                        self.mask_named_field(name, field, found);
                        self.mask_within(field, found);
                    }
                }
            }
            _ => {}
        }
    }

    /// Masks names of fields; those that are the same then are told apart by a number.
    fn mask_names(&self, fields: &mut Map<String, Value>, found: &mut Vec<String>) {
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            if let Cow::Owned(masked) = self.mask_text(&name)
                && let Some(field) = fields.remove(&name)
            {
                let mut unique = masked.clone();
                let mut number = 2;
                while fields.contains_key(&unique) {
                    unique = format!("{masked} {number}");
                    number += 1;
                }
                fields.insert(unique, field);
                found.push(name);
            }
        }
    }

    /// A field's name can be what makes its value a secret: `{"password": …}`.
    fn mask_named_field(&self, name: &str, field: &mut Value, found: &mut Vec<String>) {
        let Value::String(text) = field else { return };
        // Of a name in other letters the rules decide, which know more of them as the same.
        let lower = name.to_ascii_lowercase();
        if name.is_ascii() && !NAMING_WORDS.iter().any(|word| lower.contains(word)) {
            return;
        }
        let begin = name.len() + 1;
        let both = format!("{name}={text}");
        if self.find_secrets(&both).iter().any(|span| span.end > begin) {
            found.push(std::mem::replace(text, MASKED.to_owned()));
        }
    }

    fn mask_joined(&self, items: &mut [Value], found: &mut Vec<String>) {
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if texts.len() < 2 {
            return;
        }
        let joined = texts.join("\n");
        let spans = self.find_secrets(&joined);
        if spans.is_empty() {
            return;
        }
        found.extend(spans.iter().map(|span| joined[span.clone()].to_owned()));
        let mut begin = 0;
        for item in items {
            if let Value::String(text) = item {
                let part = begin..begin + text.len();
                begin = part.end + 1;
                *text = replace_spans(&joined, part, &spans);
            }
        }
    }

    /// Where the secrets are, in order and apart from each other.
    fn find_secrets(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        for secret in &self.known {
            let hits = text.match_indices(secret.as_str());
            spans.extend(hits.map(|(at, _)| at..at + secret.len()));
        }
        if let Some(finder) = &self.finder {
            spans.extend(finder.find_iter(text).map(|hit| hit.range()));
        }
        for rule in RULES.for_text(text) {
            spans.extend(rule.find(text));
        }
        spans.extend(check::cards(text));
        merge_spans(text, spans)
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
fn replace_spans(text: &str, part: Range<usize>, spans: &[Range<usize>]) -> String {
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
fn merge_spans(text: &str, mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
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
