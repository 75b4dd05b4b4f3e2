use frostem::{Algorithm, Stemmer};

use super::table::table;
use super::tokens::{Sign, Token, tokens};
use crate::domain::Language;

/// Stemmed words and pairs of characters in order, stop words left out.
///
/// An identifier counts as a whole and as its parts, so that `MAX_ITERATIONS` is met by "max
/// iterations". Scripts without spaces become pairs of characters: measured as good as a dictionary.
pub fn terms(text: &str, language: Language) -> Vec<String> {
    let algorithm = Algorithm::from_name(&table(language).stemmer).ok();
    let stemmer = algorithm.map(Stemmer::new);
    let tokens = tokens(text);
    let mut terms = Vec::new();
    // Neighbouring characters of a script without spaces.
    let mut run: Vec<&Token> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let table = table(token.language(language));
        let kept = table.keep.longest(&tokens, at);
        let stop = table.stop.longest(&tokens, at).filter(|_| kept.is_none());
        let length = kept.or(stop).unwrap_or(1);
        let is_unspaced = matches!(token.sign, Sign::Han | Sign::Kana);
        let joins = is_unspaced && stop.is_none();
        let is_apart = |last: &&Token| last.range.end < token.range.start;
        if !joins || run.last().is_some_and(is_apart) {
            push_pairs(&mut run, &mut terms);
        }
        if joins {
            run.extend(&tokens[at..at + length]);
        } else if token.sign == Sign::Word && stop.is_none() {
            push_word(&text[token.range.clone()], language, stemmer, &mut terms);
        }
        at += length;
    }
    push_pairs(&mut run, &mut terms);
    terms
}

fn push_word(word: &str, language: Language, stemmer: Option<Stemmer>, terms: &mut Vec<String>) {
    let parts = identifier_parts(word);
    if parts.len() > 1 {
        terms.push(word.to_lowercase());
    }
    for part in parts {
        let says = part.len() > 1 || part.chars().all(char::is_numeric);
        if !says || table(language).stop.has(&part) {
            continue;
        }
        let is_plain = part.chars().all(char::is_alphabetic);
        terms.push(match stemmer.filter(|_| is_plain) {
            Some(stemmer) => stemmer.stem(&part).into_owned(),
            None => part,
        });
    }
}

/// The words of an identifier: `max_iterations` and `MaxIterations` are "max" and "iterations".
fn identifier_parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in word.split(['_', '-']) {
        let letters: Vec<char> = piece.chars().collect();
        let runs = letters.chunk_by(|a, b| !(a.is_lowercase() && b.is_uppercase()));
        parts.extend(runs.map(|run| run.iter().flat_map(|c| c.to_lowercase()).collect()));
    }
    parts
}

fn push_pairs(run: &mut Vec<&Token>, terms: &mut Vec<String>) {
    if let [single] = run.as_slice() {
        terms.push(single.word.clone());
    }
    let pairs = run.windows(2);
    terms.extend(pairs.map(|pair| format!("{}{}", pair[0].word, pair[1].word)));
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
            assert_eq!(terms(a, Language::EN), terms(b, Language::EN), "{a} {b}");
        }
        for (a, b) in [
            ("Häuser", "Haus"),
            ("Verträge", "Vertrag"),
            ("gekündigten", "gekündigt"),
        ] {
            assert_eq!(
                terms(a, Language("de")),
                terms(b, Language("de")),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(
            terms("MAX_ITERATIONS PROJ-123", Language::EN),
            ["max_iterations", "max", "iter", "proj-123", "proj", "123"]
        );
        assert_eq!(
            terms("VectorTool", Language::EN),
            ["vectortool", "vector", "tool"]
        );
    }

    #[test]
    fn chinese_becomes_pairs() {
        assert_eq!(
            terms("什么是快速路径？", Language::ZH),
            ["快速", "速路", "路径"]
        );
        assert_eq!(terms("它的默认值是多少", Language::ZH), ["默认", "认值"]);
        assert_eq!(terms("会议的目的", Language::ZH), ["会议", "目的"]);
    }

    #[test]
    fn nothing_remains_of_nothing() {
        for text in ["", " ", "😀😀", "?!…", "what is the", "_-_"] {
            assert!(terms(text, Language::EN).is_empty(), "{text:?}");
        }
    }
}
