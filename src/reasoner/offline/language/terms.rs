use frostem::{Algorithm, Stemmer};

use super::table::table;
use super::tokens::{Sign, Token, tokens};
use crate::domain::Language;

/// Stemmed words and pairs of characters in order, stop words left out.
///
/// An identifier counts as a whole and as its parts, so that `MAX_ITERATIONS` is met by "max
/// iterations". Scripts without spaces become pairs of characters: measured as good as a dictionary.
pub(in super::super) fn terms(text: &str, language: Language) -> Vec<String> {
    terms_among(text, &tokens(text), language)
}

/// The same of some tokens of a text.
pub(in super::super) fn terms_among(
    text: &str,
    tokens: &[Token],
    language: Language,
) -> Vec<String> {
    let stemmer = stemmer(language);
    let mut terms = Vec::new();
    let mut run: Vec<&Token> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if run
            .last()
            .is_some_and(|last| last.range.end < token.range.start)
        {
            push_pairs(&mut run, &mut terms);
        }
        let table = table(token.language(language));
        if let Some(length) = table.keep.at(tokens, at) {
            run.extend(&tokens[at..at + length]);
            at += length;
            continue;
        }
        let stop = table.stop.at(tokens, at);
        if stop.is_none() && matches!(token.sign, Sign::Han | Sign::Kana) {
            run.push(token);
        } else {
            push_pairs(&mut run, &mut terms);
        }
        if stop.is_none() && token.sign == Sign::Word {
            push_word(&text[token.range.clone()], language, stemmer, &mut terms);
        }
        at += stop.unwrap_or(1);
    }
    push_pairs(&mut run, &mut terms);
    terms
}

/// Whether a word says nothing by itself.
pub(in super::super) fn is_stop(word: &str, language: Language) -> bool {
    table(language).stop.has(word)
}

impl Token {
    /// Whose table holds it, in a text of this language.
    pub(in super::super) fn language(&self, of_text: Language) -> Language {
        match (self.sign, of_text) {
            (Sign::Han | Sign::Kana, _) => Language::Zh,
            (Sign::Word | Sign::Mark, Language::Zh) => Language::En,
            (Sign::Word | Sign::Mark, language) => language,
        }
    }

    pub(in super::super) fn is_mark(&self) -> bool {
        self.sign == Sign::Mark
    }
}

fn stemmer(language: Language) -> Option<Stemmer> {
    let language = if language == Language::Zh {
        Language::En
    } else {
        language
    };
    let algorithm = Algorithm::from_name(&table(language).stemmer.algorithm).ok()?;
    Some(Stemmer::new(algorithm))
}

fn push_word(word: &str, language: Language, stemmer: Option<Stemmer>, terms: &mut Vec<String>) {
    let parts = parts_of(word);
    if parts.len() > 1 {
        terms.push(word.to_lowercase());
    }
    for part in parts {
        let part = part.to_lowercase();
        let says = part.len() > 1 || part.chars().all(char::is_numeric);
        if says && !is_stop(&part, language) {
            let plain = part.chars().all(char::is_alphabetic);
            let stem = stemmer
                .filter(|_| plain)
                .map(|stemmer| stemmer.stem(&part).into_owned());
            terms.push(stem.unwrap_or(part));
        }
    }
}

/// `max_iterations` and `MaxIterations` are "max" and "iterations".
fn parts_of(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut lower_before = false;
    for (at, c) in word.char_indices() {
        let separator = matches!(c, '_' | '-');
        if separator || c.is_uppercase() && lower_before {
            parts.push(&word[from..at]);
            from = if separator { at + 1 } else { at };
        }
        lower_before = c.is_lowercase();
    }
    parts.push(&word[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn push_pairs(run: &mut Vec<&Token>, terms: &mut Vec<String>) {
    match run.as_slice() {
        [single] => terms.push(single.word.clone()),
        many => terms.extend(
            many.windows(2)
                .map(|pair| format!("{}{}", pair[0].word, pair[1].word)),
        ),
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_passage_meet_in_one_form() {
        for (a, b) in [
            ("thresholds", "threshold"),
            ("graded", "grading"),
            ("planning", "planned"),
            ("queries", "query"),
        ] {
            assert_eq!(terms(a, Language::En), terms(b, Language::En), "{a} {b}");
        }
        for (a, b) in [
            ("Häuser", "Haus"),
            ("Verträge", "Vertrag"),
            ("gekündigten", "gekündigt"),
        ] {
            assert_eq!(terms(a, Language::De), terms(b, Language::De), "{a} {b}");
        }
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(
            terms("MAX_ITERATIONS PROJ-123", Language::En),
            ["max_iterations", "max", "iter", "proj-123", "proj", "123"]
        );
        assert_eq!(
            terms("VectorTool", Language::En),
            ["vectortool", "vector", "tool"]
        );
    }

    #[test]
    fn chinese_becomes_pairs() {
        assert_eq!(
            terms("什么是快速路径？", Language::Zh),
            ["快速", "速路", "路径"]
        );
        assert_eq!(terms("它的默认值是多少", Language::Zh), ["默认", "认值"]);
        assert_eq!(terms("会议的目的", Language::Zh), ["会议", "目的"]);
    }

    #[test]
    fn nothing_remains_of_nothing() {
        for text in ["", " ", "😀😀", "?!…", "what is the", "_-_"] {
            assert!(terms(text, Language::En).is_empty(), "{text:?}");
        }
    }
}
