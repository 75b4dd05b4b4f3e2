//! The languages: where words and sentences end, and one table of words for each language.
//!
//! A table is a file in `assets/language/`; code asks for what a word does, never for the word.

mod phrases;
mod table;
mod terms;
mod tokens;

pub use phrases::Phrases;
pub use table::{Frames, TABLES, Table, filled, languages, table};
pub use terms::terms;
pub use tokens::{Sign, Token, tokens};

use std::ops::Range;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;
use whatlang::{Detector, Lang};

use crate::domain::Language;

/// Fewer words than these are too few for a single form word to tell a language.
const FEWEST_WORDS: usize = 3;

/// The language of a text: the script that most of it is in, then the form words it holds.
///
/// A Han character counts as a word does, and each form word counts twice: names in other letters change
/// nothing.
pub fn language_of(text: &str) -> Language {
    let tokens = tokens(text);
    let [han, kana, words] = [Sign::Han, Sign::Kana, Sign::Word]
        .map(|sign| tokens.iter().filter(|token| token.sign == sign).count());
    let form_words = |language| count_form_words(&tokens, language);
    let others = languages().filter(|it| ![Language::ZH, Language::EN].contains(it));
    let counts: Vec<(Language, usize)> = others.map(|it| (it, form_words(it))).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let english = form_words(Language::EN);
    if han > kana && han + 2 * form_words(Language::ZH) > words + 2 * english.max(most) {
        return Language::ZH;
    }
    let best: Vec<Language> = counts
        .into_iter()
        .filter_map(|(language, count)| (count == most).then_some(language))
        .collect();
    let written_with =
        |language: &Language| text.contains(|c| table(*language).letters.contains(c));
    let with_letters: Vec<Language> = best.iter().copied().filter(written_with).collect();
    if most >= english && most > 0 && !with_letters.is_empty() {
        return detect_among(text, &with_letters);
    }
    if most == 0 && english == 0 && !with_letters.is_empty() {
        // A borrowed word or a name has such letters in English too.
        let detected = detect_among(text, &languages().collect::<Vec<_>>());
        let is_sure = with_letters.contains(&detected);
        return if is_sure { detected } else { Language::EN };
    }
    let has_no_other_word = |language: &Language| {
        let table = table(*language);
        table.uncovered(&form_lists(table), &tokens).is_empty()
    };
    match most {
        _ if most <= english => Language::EN,
        _ if best.iter().any(has_no_other_word) => {
            let all: Vec<Language> = best.into_iter().filter(has_no_other_word).collect();
            detect_among(text, &all)
        }
        // One word may as well be a word of English that its table lacks.
        1 if words < FEWEST_WORDS => Language::EN,
        1 => {
            let all: Vec<Language> = languages().collect();
            let detected = detect_among(text, &all);
            let is_sure = best.contains(&detected);
            if is_sure { detected } else { Language::EN }
        }
        _ => detect_among(text, &best),
    }
}

/// How many stop words and other words that every text needs a language has among the tokens.
fn count_form_words(tokens: &[Token], language: Language) -> usize {
    let lists = form_lists(table(language));
    let is_form = |at: &usize| {
        tokens[*at].language(language) == language
            && lists.iter().any(|list| list.longest(tokens, *at).is_some())
    };
    (0..tokens.len()).filter(is_form).count()
}

/// The lists of words that tell a language, whatever a text is about.
fn form_lists(table: &Table) -> Vec<&Phrases> {
    let mut lists = vec![&table.stop, &table.generic];
    lists.extend(table.social());
    lists
}

/// The one of these languages whose sequences of letters a text is most like.
fn detect_among(text: &str, candidates: &[Language]) -> Language {
    let first = candidates.first().copied().unwrap_or_default();
    if candidates.len() < 2 {
        return first;
    }
    let code = |language: &Language| Lang::from_code(&table(*language).long_code);
    let allowed = candidates.iter().filter_map(code).collect();
    let found = Detector::with_allowlist(allowed).detect_lang(text);
    let mut named = candidates.iter().copied();
    named.find(|it| code(it) == found).unwrap_or(first)
}

/// Whether the tables hold all letters of a text.
pub fn is_known_script(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| c.is_alphabetic());
    letters.all(|c| {
        let is_basic = matches!(c, 'a'..='z' | 'A'..='Z' | '\u{4e00}'..='\u{9fff}');
        is_basic || TABLES.values().any(|table| table.letters.contains(c))
    })
}

/// What a language model is told so that it answers in a language.
pub fn answer_instruction(language: Language) -> &'static str {
    &table(language).answer_in
}

/// The sentences of a text, as byte ranges in order (Unicode UAX 29); only a blank line ends one without a mark.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for paragraph in text.split_inclusive("\n\n") {
        // A single line break would end a sentence.
        let line = paragraph.replace(['\n', '\r'], " ");
        let mut goes_on = false;
        for (at, piece) in line.split_sentence_bound_indices() {
            let at = start + at;
            let sentence = trimmed(text, at..at + piece.len());
            match found.last_mut().filter(|_| goes_on) {
                Some(last) => last.end = sentence.end,
                None if sentence.is_empty() => {}
                None => found.push(sentence),
            }
            goes_on = ends_short(piece.trim());
        }
        start += paragraph.len();
    }
    found
}

/// Whether the full stop behind a text belongs to its last word, an ordinal or an initial: "3. Mai", "J. Doe".
fn ends_short(text: &str) -> bool {
    let last = text.strip_suffix('.').unwrap_or_default();
    let word = last.rsplit(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default();
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    !word.is_empty() && word.chars().count() <= 1 + usize::from(is_number)
}

/// Some bytes of a text without white space at their ends.
pub fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let written = &text[range.clone()];
    let start = range.end - written.trim_start().len();
    start..start + written.trim().len()
}

/// Compiles a pattern that is part of the program.
#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and tests use each"
)]
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of the program")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_the_language_is_that_of_the_most_of_a_text() {
        for (text, language) in [
            ("What is the fast path?", Language::EN),
            ("什么是快速路径？", Language::ZH),
            ("Was ist der schnelle Weg?", Language("de")),
            ("Kündigungsfrist", Language("de")),
            ("Что такое быстрый путь?", Language("ru")),
            ("Qu'est-ce que le chemin rapide ?", Language("fr")),
            ("¿Qué es la ruta rápida?", Language("es")),
            ("O que é o caminho rápido?", Language("pt")),
            ("Che cos'è il percorso rapido?", Language("it")),
            // One foreign character changes nothing.
            ("What does 快 mean in the log?", Language::EN),
            ("快速路径会跳过の哪些节点", Language::ZH),
            ("ルーティングとは何ですか", Language::EN),
            ("VectorTool是什么", Language::ZH),
            ("什么是 fast path", Language::ZH),
            ("What is 快速路径?", Language::EN),
            ("Was bedeutet RE_RETRIEVE?", Language("de")),
            ("What was the war about?", Language::EN),
            ("", Language::EN),
            ("12 + 3", Language::EN),
            // Borrowed words, names and single words that other languages have too.
            ("José invoices of last year", Language::EN),
            ("OS upgrade", Language::EN),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }

    #[test]
    fn r02_the_offline_engine_has_no_say_in_languages_that_it_cannot_read() {
        for text in ["Hello there 👋!", "Grüße", "你好！", "¿?"] {
            assert!(is_known_script(text), "{text}");
        }
        for text in ["Γειά σου", "こんにちは", "안녕하세요", "Dziękuję bardzo"] {
            assert!(!is_known_script(text), "{text}");
        }
    }

    #[test]
    fn r23_sentences_end_where_a_reader_ends_them() {
        for (text, count) in [
            ("Die Miete ist am 3. Mai fällig. Danach wird gemahnt.", 2),
            ("See vol. 3, e.g. by J. Doe. The rest is lost.", 2),
            ("Is it so? The answer is no. Nothing else is.", 3),
            ("It began in 1999. The next came later.", 2),
            ("3. Mai 2024", 1),
            ("他说：“好。”然后走了。第二句。", 3),
            ("One line\nof two\n\nAnother", 2),
            (" \n\n ", 0),
        ] {
            let found = sentences(text);
            let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found.len(), count, "{found:?}");
        }
    }
}
