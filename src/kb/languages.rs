//! Which embedding a base is worth, by what it is written in.
//!
//! The embedding for English does not read other languages, and the one that reads them is the worse one for
//! English, so a base has one of the two. It is chosen from a sample of the text before the first vector is
//! made and looked at again where the base has grown or shrunk by much; the choice is kept beside the index.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use whatlang::Lang;

use super::error::KbError;
use super::index::{EmbeddedStore, Limits, Reader};
use super::source::{Roots, Sources};
use crate::domain::Languages;
use crate::files::{read_text_bounded, write_atomic};
use crate::text::is_cjk;

const FILE: &str = "languages.json";
const LARGEST: u64 = 10_000;
/// From this share of other languages on, a base without vectors gets the embedding for all. A judgement, not a
/// measured bound.
const MANY: f64 = 0.3;
/// A base with vectors turns only well beyond: embedding it anew takes long.
const MOST: f64 = 0.5;
/// A base that has turned goes back below this.
const HARDLY_ANY: f64 = 0.1;
/// How many documents of a base are looked into.
const DOCUMENTS: usize = 200;
/// How many passages of each.
const PASSAGES: usize = 3;
/// How many documents the index is asked for at once.
const PAGE: usize = 4096;
/// Fewer letters than this tell no language from another.
const FEWEST_LETTERS: usize = 60;

/// What was chosen for a base, and on which grounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LanguageChoice {
    /// Which embedding has made the vectors.
    pub languages: Languages,
    /// The share of the sampled letters that are of other languages than English, 0–1; `None` where a setting
    /// chose and nothing was sampled.
    pub others: Option<f64>,
    /// How many documents there were then.
    documents: usize,
}

impl LanguageChoice {
    /// What was chosen for the base over these folders and files, if anything was. Opens no index.
    pub fn of_base(sources: impl Into<Sources>, index_home: &Path) -> Option<Self> {
        let roots = Roots::open(sources).ok()?;
        Self::read(&EmbeddedStore::home_of(&roots, index_home).ok()?)
    }

    /// Why it was chosen, as the end of a sentence about the embedding.
    pub fn reason(&self) -> String {
        match self.others {
            Some(others) => format!(
                "{:.0} % of the text is in other languages than English",
                100.0 * others
            ),
            None => "KB_AGENT_EMBEDDING says so".to_owned(),
        }
    }

    /// What was chosen for the base with its index in `home`.
    pub(super) fn read(home: &Path) -> Option<Self> {
        let text = read_text_bounded(&home.join(FILE), LARGEST).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// That of a base whose text was never sampled.
    pub(super) fn unsampled(languages: Languages) -> Self {
        Self {
            languages,
            others: None,
            documents: 0,
        }
    }

    /// Keeps it. Where that fails, the base is sampled once more next time.
    pub(super) fn write(&self, home: &Path) {
        let written = serde_json::to_vec(self).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|json| write_atomic(&home.join(FILE), &json)) {
            tracing::debug!(%error, "the choice of the embedding is not kept");
        }
    }

    /// Lets the next update choose as if for the first time.
    pub(super) fn forget(home: &Path) {
        let _ = fs::remove_file(home.join(FILE));
    }

    /// What a base is worth now. `before` is what its vectors were made by, if there are any; `set` is what the
    /// user chose.
    pub(super) fn make(
        before: Option<Self>,
        set: Option<Languages>,
        reader: &dyn Reader,
        limits: Limits<'_>,
    ) -> Result<Self, KbError> {
        let documents = reader.counts(limits)?.documents;
        if let Some(languages) = set {
            return Ok(Self {
                languages,
                others: None,
                documents,
            });
        }
        if let Some(before) = before.filter(|before| before.others.is_some()) {
            let (less, more) = (before.documents / 2, before.documents.saturating_mul(2));
            if (less..=more).contains(&documents) {
                return Ok(before);
            }
        }
        let others = share_of_others(reader, documents, limits)?;
        let languages = match before.map(|before| before.languages) {
            None if others >= MANY => Languages::All,
            Some(Languages::English) if others >= MOST => Languages::All,
            Some(Languages::All) if others >= HARDLY_ANY => Languages::All,
            _ => Languages::English,
        };
        Ok(Self {
            languages,
            others: Some(others),
            documents,
        })
    }
}

/// The share of letters in a sample of the base that are of other languages than English, 0–1.
fn share_of_others(
    reader: &dyn Reader,
    documents: usize,
    limits: Limits<'_>,
) -> Result<f64, KbError> {
    let stride = documents.div_ceil(DOCUMENTS).max(1);
    let (mut letters, mut others, mut at) = (0, 0, 0);
    let mut after: Option<String> = None;
    loop {
        let page = reader.page(after.as_deref(), PAGE, limits)?;
        let Some(last) = page.last() else {
            break;
        };
        after = Some(last.source.clone());
        let sampled = page.iter().enumerate();
        let sampled = sampled.filter(|(place, _)| (at + place).is_multiple_of(stride));
        let sampled: Vec<&str> = sampled
            .map(|(_, document)| document.source.as_str())
            .collect();
        at += page.len();
        for passage in reader.openings(&sampled, PASSAGES, limits)? {
            let count = passage.text.chars().filter(|c| c.is_alphabetic()).count();
            letters += count;
            others += letters_of_others(&passage.text, count);
        }
    }
    Ok(if letters == 0 {
        0.0
    } else {
        f64::from(u32::try_from(others).unwrap_or(u32::MAX))
            / f64::from(u32::try_from(letters).unwrap_or(u32::MAX))
    })
}

/// How many of the letters of a passage, which has so many, are of other languages than English: those of other
/// scripts, and all where the passage is surely in another language.
fn letters_of_others(text: &str, letters: usize) -> usize {
    let is_foreign = |c: &char| c.is_alphabetic() && (is_cjk(*c) || !is_latin(*c));
    let foreign = text.chars().filter(is_foreign).count();
    if letters < FEWEST_LETTERS || foreign * 2 > letters {
        return foreign;
    }
    match whatlang::detect(text) {
        Some(found) if found.is_reliable() && found.lang() != Lang::Eng => letters,
        _ => foreign,
    }
}

/// Latin with its extensions, and what words of it are written with now and then.
fn is_latin(c: char) -> bool {
    matches!(c, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{fb00}'..='\u{fb06}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_other_languages_are_counted_by_script_or_by_passage() {
        let share = |text: &str| {
            let letters = text.chars().filter(|c| c.is_alphabetic()).count();
            (letters_of_others(text, letters), letters)
        };
        let english = "The gate opens at seven in the morning and closes when the last guest has left the house.";
        assert_eq!(share(english).0, 0);
        for text in [
            "大门早上七点开，最后一位客人离开后关闭。",
            "Das Tor öffnet morgens um sieben und schließt, wenn der letzte Gast das Haus verlassen hat.",
            "La porte ouvre à sept heures du matin et ferme quand le dernier invité a quitté la maison.",
            "Ворота открываются в семь утра и закрываются, когда уходит последний гость.",
        ] {
            let (others, letters) = share(text);
            assert_eq!(others, letters, "{text}");
        }
        let code = "pub fn reader(&self) -> Arc<dyn Reader> { self.store.reader() } // the index as it is now";
        assert_eq!(share(code).0, 0);
        assert_eq!(share("α and β").0, 2);
    }
}
