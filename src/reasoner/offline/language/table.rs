use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};
use serde::Deserialize;

use super::phrases::Phrases;
use super::tokens::Token;
use crate::domain::{Language, QuestionKind};

/// The words of a language by what they do; the files say more of each list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub stop: Phrases,
    pub keep: Phrases,
    pub generic: Phrases,
    pub starts: Phrases,
    pub comparing: Phrases,
    pub comparatives: Phrases,
    pub pronouns: Phrases,
    pub leads: Phrases,
    pub links: Phrases,
    pub states: Phrases,
    pub relations: Phrases,
    pub whole: Phrases,
    pub holding: Phrases,
    pub plural: Vec<String>,
    pub before_files: Vec<String>,
    pub numbered_parts: Vec<String>,
    pub polite_front: Phrases,
    pub polite_back: Phrases,
    pub side_joints: Phrases,
    pub between_sides: Phrases,
    pub between_choices: Phrases,
    pub part_joints: Phrases,
    pub about: String,
    pub letters: String,
    pub answer_in: String,
    pub long_code: String,
    pub stemmer: String,
    pub writes_nouns_large: bool,
    pub small_talk_from: f64,
    pub complex_from: f64,
    pub asks: HashMap<QuestionKind, Phrases>,
    pub small_talk: Vec<SmallTalk>,
    pub frames: Frames,
}

/// What is said in small talk, and the reply to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallTalk {
    pub said: Phrases,
    pub reply: String,
}

/// What an answer says around what it quotes. In those with `{}` a name or a number takes its place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    pub nothing: String,
    pub never_said: String,
    pub nearest: String,
    pub see_also: String,
    pub about: String,
    pub missing: String,
    pub more_lines: String,
    pub untranslated: String,
    pub one_document: String,
    pub documents: String,
    pub first_documents: String,
}

/// A sentence with what takes the place of its `{}`.
pub fn filled(frame: &str, with: impl Display) -> String {
    frame.replacen("{}", &with.to_string(), 1)
}

impl Table {
    /// The longest phrase that asks and begins at a token: its number of tokens, and what it asks for.
    pub fn asks_at(&self, tokens: &[Token], at: usize) -> Option<(usize, QuestionKind)> {
        let kinds = self.asks.iter();
        let found = kinds.filter_map(|(kind, list)| Some((list.longest(tokens, at)?, *kind)));
        found.max_by_key(|(length, _)| *length)
    }

    /// The places of the tokens that are neither marks nor in a phrase of the lists.
    pub fn uncovered(&self, lists: &[&Phrases], tokens: &[Token]) -> Vec<usize> {
        let mut places = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let kept = self.keep.longest(tokens, at);
            let phrase = lists
                .iter()
                .filter_map(|list| list.longest(tokens, at))
                .max();
            let length = kept.or(phrase).unwrap_or(1);
            if kept.is_some() || phrase.is_none() && !tokens[at].is_mark() {
                places.extend(at..at + length);
            }
            at += length;
        }
        places
    }

    pub fn social(&self) -> Vec<&Phrases> {
        self.small_talk.iter().map(|talk| &talk.said).collect()
    }
}

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/language");

/// The table of each language that has a file.
pub static TABLES: LazyLock<BTreeMap<&str, Table>> = LazyLock::new(|| {
    let tables = FILES.files().map(|file| {
        let code = file.path().file_stem()?.to_str()?;
        Some((code, read(file)))
    });
    tables.flatten().collect()
});

#[expect(
    clippy::expect_used,
    reason = "the files are part of the program, and a test reads them"
)]
fn read(file: &File<'_>) -> Table {
    let text = file.contents_utf8().expect("a table of words is text");
    toml::from_str(text).expect("a table of words can be read")
}

/// The table of a language; without one, that of English.
pub fn table(language: Language) -> &'static Table {
    TABLES.get(language.0).unwrap_or(&TABLES[Language::EN.0])
}

/// Every language that has a table.
pub fn languages() -> impl Iterator<Item = Language> {
    TABLES.keys().map(|code| Language(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_kind_and_no_phrase_asks_for_two() {
        for (language, table) in &*TABLES {
            assert_eq!(table.asks.len(), 14, "{language}");
            assert_eq!(table.small_talk.len(), 5, "{language}");
            let frames = &table.frames;
            for frame in [
                &table.about,
                &frames.never_said,
                &frames.about,
                &frames.more_lines,
                &frames.documents,
                &frames.first_documents,
            ] {
                assert_eq!(frame.matches("{}").count(), 1, "{language}: {frame}");
            }
        }
        for file in FILES.files() {
            let table: toml::Table = toml::from_str(file.contents_utf8().unwrap()).unwrap();
            let lists = table["asks"].as_table().unwrap().values();
            let phrases: Vec<&str> = lists
                .flat_map(|list| list.as_array().unwrap())
                .map(|phrase| phrase.as_str().unwrap())
                .collect();
            let distinct: std::collections::HashSet<&&str> = phrases.iter().collect();
            assert_eq!(distinct.len(), phrases.len());
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let file = FILES.get_file("de.toml").unwrap().contents_utf8();
        let more = file
            .unwrap()
            .replacen("stop = [", "stops = []\nstop = [", 1);
        let error = toml::from_str::<Table>(&more).unwrap_err();
        assert!(error.to_string().contains("stops"), "{error}");
    }
}
