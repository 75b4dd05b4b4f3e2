//! Stems of words by the language of their document.
//!
//! All words are indexed with English stems, whatever they are written in: what is asked for exactly
//! is found so, and misspelt words are corrected so. A document in another language that has a
//! stemmer is also indexed by that one's stems, each marked with its language. A question is too
//! short to tell its language by; its words are looked for by the stems of every language, which
//! only documents of that language have. A base in English therefore knows nothing of this.
//!
//! Stemmers know letters with their accents, so they see words before these are folded.

use std::ops::RangeInclusive;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use whatlang::Lang;

use super::folding;
use super::split::{Role, Terms, is_unspaced};

const LATIN: RangeInclusive<char> = 'A'..='\u{24f}';
const GREEK: RangeInclusive<char> = '\u{370}'..='\u{3ff}';
const CYRILLIC: RangeInclusive<char> = '\u{400}'..='\u{52f}';
const ARMENIAN: RangeInclusive<char> = '\u{531}'..='\u{587}';
const HEBREW: RangeInclusive<char> = '\u{5d0}'..='\u{5f2}';
const ARABIC: RangeInclusive<char> = '\u{620}'..='\u{6d3}';
const DEVANAGARI: RangeInclusive<char> = '\u{900}'..='\u{97f}';
const TAMIL: RangeInclusive<char> = '\u{b80}'..='\u{bff}';

/// The languages that both the detector and the stemmers know, English aside, with the script of
/// their words.
const LANGUAGES: &[(Lang, Algorithm, RangeInclusive<char>)] = &[
    (Lang::Ara, Algorithm::Arabic, ARABIC),
    (Lang::Cat, Algorithm::Catalan, LATIN),
    (Lang::Ces, Algorithm::Czech, LATIN),
    (Lang::Dan, Algorithm::Danish, LATIN),
    (Lang::Deu, Algorithm::German, LATIN),
    (Lang::Ell, Algorithm::Greek, GREEK),
    (Lang::Epo, Algorithm::Esperanto, LATIN),
    (Lang::Est, Algorithm::Estonian, LATIN),
    (Lang::Fin, Algorithm::Finnish, LATIN),
    (Lang::Fra, Algorithm::French, LATIN),
    (Lang::Hin, Algorithm::Hindi, DEVANAGARI),
    (Lang::Hun, Algorithm::Hungarian, LATIN),
    (Lang::Hye, Algorithm::Armenian, ARMENIAN),
    (Lang::Ind, Algorithm::Indonesian, LATIN),
    (Lang::Ita, Algorithm::Italian, LATIN),
    (Lang::Lit, Algorithm::Lithuanian, LATIN),
    (Lang::Nep, Algorithm::Nepali, DEVANAGARI),
    (Lang::Nld, Algorithm::Dutch, LATIN),
    (Lang::Nob, Algorithm::Norwegian, LATIN),
    (Lang::Pes, Algorithm::Persian, ARABIC),
    (Lang::Pol, Algorithm::Polish, LATIN),
    (Lang::Por, Algorithm::Portuguese, LATIN),
    (Lang::Ron, Algorithm::Romanian, LATIN),
    (Lang::Rus, Algorithm::Russian, CYRILLIC),
    (Lang::Spa, Algorithm::Spanish, LATIN),
    (Lang::Srp, Algorithm::Serbian, CYRILLIC),
    (Lang::Swe, Algorithm::Swedish, LATIN),
    (Lang::Tam, Algorithm::Tamil, TAMIL),
    (Lang::Tur, Algorithm::Turkish, LATIN),
    (Lang::Yid, Algorithm::Yiddish, HEBREW),
];
/// Words of English that no language with a stemmer shares.
const ENGLISH: &[&str] = &[
    "the", "and", "of", "is", "with", "this", "that", "you", "are", "from",
];
/// One word in so many is one of those in plain English; half of that is usual.
const ENGLISH_SHARE: usize = 12;
/// The share of letters, in percent, that a text has and source code, tables and links do not: whatever
/// these are taken for would be wrong.
const PROSE: usize = 80;
/// So many bytes of a document tell its language, so many of a passage at most.
const SAMPLE: usize = 1000;
const SAMPLE_OF_PASSAGE: usize = 250;
/// Shorter words have no endings, longer ones are data.
const SHORTEST: usize = 3;
const LONGEST: usize = 40;

/// The language of a document whose words are stemmed by it. Detecting one takes a third of a
/// millisecond, so that plain English is told by its commonest words.
pub(crate) fn detect<'a>(passages: impl Iterator<Item = &'a str>) -> Option<Lang> {
    let mut sample = String::new();
    for passage in passages {
        sample.push_str(&passage[..passage.floor_char_boundary(SAMPLE_OF_PASSAGE)]);
        sample.push('\n');
        if sample.len() > SAMPLE {
            break;
        }
    }
    let words = sample
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let english = words.clone().filter(|word| ENGLISH.contains(word));
    let signs = sample.chars().filter(|c| !c.is_whitespace());
    let letters = signs.clone().filter(|&c| is_letter(c));
    if english.count() * ENGLISH_SHARE >= words.count()
        || letters.count() * 100 < signs.count() * PROSE
    {
        return None;
    }
    let found = whatlang::detect(&sample)?;
    let is_certain = found.is_reliable() || found.script() != whatlang::Script::Latin;
    let is_stemmed = LANGUAGES
        .iter()
        .any(|(language, ..)| *language == found.lang());
    (is_certain && is_stemmed).then_some(found.lang())
}

/// A text with the language of its document before it, as the index keeps it and takes it apart.
pub(crate) fn mark(language: Option<Lang>, text: &str) -> String {
    format!(
        "{}\n{text}",
        language.map_or("", |language| language.code())
    )
}

/// The text behind the mark.
pub(crate) fn unmark(marked: &str) -> &str {
    marked.split_once('\n').map_or(marked, |(_, text)| text)
}

/// Adds the stems of a marked text.
pub(super) fn stem_marked(marked: &str, stems: &mut Terms) {
    let Some((code, text)) = marked.split_once('\n') else {
        return;
    };
    let coded = |(language, ..): &&(Lang, _, _)| language.code() == code;
    let Some((language, algorithm, script)) = LANGUAGES.iter().find(coded) else {
        return;
    };
    let stemmer = Stemmer::new(*algorithm);
    for word in words(text).filter(|word| is_of(word, script)) {
        stem(*language, stemmer, &lower(word), &mut stems.text);
        stems.end(Role::Word);
    }
}

/// The stems of a word in all languages of its script.
pub(super) fn stems(word: &str) -> Vec<String> {
    let word = lower(word);
    let of_script = LANGUAGES.iter().filter(|(.., script)| is_of(&word, script));
    let stems = of_script.map(|(language, algorithm, _)| {
        let mut stems = String::new();
        stem(*language, Stemmer::new(*algorithm), &word, &mut stems);
        stems
    });
    stems.collect()
}

/// The words that could have stems; a vowel sign belongs to its word.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !is_letter(c));
    words.filter(|word| (SHORTEST..=LONGEST).contains(&word.chars().count()))
}

/// Whether a character is a letter or mark of a script with spaces.
fn is_letter(c: char) -> bool {
    (c.is_alphabetic() || is_combining_mark(c)) && !is_unspaced(c)
}

fn is_of(word: &str, script: &RangeInclusive<char>) -> bool {
    word.chars().next().is_some_and(|c| script.contains(&c))
}

fn lower(word: &str) -> String {
    word.nfc().flat_map(char::to_lowercase).collect()
}

fn stem(language: Lang, stemmer: Stemmer, word: &str, stems: &mut String) {
    stems.push_str(language.code());
    // No term of a text has a colon.
    stems.push(':');
    folding::fold(&stemmer.stem(word), stems);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language_of(text: &str) -> Option<&'static str> {
        detect([text].into_iter()).map(|language| language.code())
    }

    #[test]
    fn a_language_with_a_stemmer_is_told() {
        for (text, language) in [
            (
                "Die Häuser in der Altstadt wurden nach dem Krieg wieder aufgebaut.",
                Some("deu"),
            ),
            (
                "Les maisons de la vieille ville ont été reconstruites après la guerre.",
                Some("fra"),
            ),
            (
                "Дома в старом городе были восстановлены после войны.",
                Some("rus"),
            ),
            (
                "The houses of the old town were built anew after the war.",
                None,
            ),
            ("老城的房屋在战后重建。", None),
            (
                "fn main() { let x = items.iter().map(|i| i + 1).sum(); }",
                None,
            ),
            ("| id | 17 |\n| -- | -- |\n", None),
            ("", None),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }

    #[test]
    fn a_document_and_a_question_have_a_stem_in_common() {
        for (language, text, asked) in [
            (Lang::Deu, "die Häuser", "Haus"),
            (Lang::Deu, "Herr Müller", "Mueller"),
            (Lang::Fra, "les chevaux", "cheval"),
            (Lang::Spa, "las canciones", "canción"),
            (Lang::Ita, "le città e le case", "casa"),
            (Lang::Por, "as informações", "informação"),
            (Lang::Nld, "de katten", "kat"),
            (Lang::Swe, "flickorna", "flicka"),
            (Lang::Fin, "taloissa", "talo"),
            (Lang::Rus, "в книгах", "книга"),
            (Lang::Ell, "οι γάτες", "γάτα"),
            (Lang::Ara, "الكتاب", "كتاب"),
            (Lang::Hin, "किताबें", "किताब"),
            (Lang::Tur, "evlerde kitaplar", "kitap"),
            (Lang::Ron, "caselor", "case"),
            (Lang::Hun, "házakban", "házak"),
        ] {
            let mut found = Terms::default();
            stem_marked(&mark(Some(language), text), &mut found);
            let asked = stems(asked);
            assert!(
                found
                    .iter()
                    .any(|(stem, _)| asked.iter().any(|own| own == stem)),
                "{text}: {asked:?}"
            );
        }
    }
}
