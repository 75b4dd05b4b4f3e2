//! Which embedding a base is worth, by what it is written in.
//!
//! The embedding for English does not read other languages, and the one that reads them is the worse one for
//! English, so a base has one of the two. It is chosen from a sample of the text before the first vector is
//! made and looked at again where the base has grown or shrunk by much; the choice is kept beside the index.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::KbError;
use super::index::{EmbeddedStore, Limits, Reader};
use super::source::{Roots, Sources};
use crate::domain::Languages;
use crate::files::{read_text_bounded, write_atomic};
use crate::text::LetterCounts;

const FILE: &str = "languages.json";
/// The largest file that is read, in bytes.
const LARGEST: u64 = 10_000;
/// A base without vectors gets the embedding for all languages from this share of other languages on. A
/// judgement, not a measured bound.
const FIRST_CHOICE: f64 = 0.3;
/// A base with vectors turns only well beyond: embedding it anew takes long.
const TURN_TO_ALL: f64 = 0.5;
/// A base that has turned goes back below this.
const STAY_WITH_ALL: f64 = 0.1;
/// How many documents of a base are looked into.
const DOCUMENTS: usize = 200;
/// How many passages of each.
const PASSAGES: usize = 3;
/// How many documents the index is asked for at once.
const PAGE: usize = 4096;

/// The embedding that was chosen for a base, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LanguageChoice {
    /// Which embedding has made the vectors.
    pub languages: Languages,
    /// The share of the sampled letters that are of other languages than English, 0–1; `None` where a setting
    /// chose and nothing was sampled.
    #[serde(alias = "others")]
    pub foreign_share: Option<f64>,
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
        match self.foreign_share {
            Some(share) => format!(
                "{:.0} % of the text is in other languages than English",
                100.0 * share
            ),
            None => "KB_AGENT_EMBEDDING says so".to_owned(),
        }
    }

    /// What was chosen for the base with its index in `home`.
    pub(super) fn read(home: &Path) -> Option<Self> {
        let text = read_text_bounded(&home.join(FILE), LARGEST).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The choice for a base whose text was never sampled.
    pub(super) fn unsampled(languages: Languages) -> Self {
        Self {
            languages,
            foreign_share: None,
            documents: 0,
        }
    }

    /// Writes the choice into `home`. Where that fails, the base is sampled once more next time.
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

    /// Makes the choice for a base. `before` is the choice that its vectors were made by, if there are any;
    /// `fixed` is the user's.
    pub(super) fn make(
        before: Option<Self>,
        fixed: Option<Languages>,
        reader: &dyn Reader,
        limits: Limits<'_>,
    ) -> Result<Self, KbError> {
        let documents = reader.counts(limits)?.documents;
        if let Some(languages) = fixed {
            return Ok(Self {
                languages,
                foreign_share: None,
                documents,
            });
        }
        if let Some(before) = before.filter(|before| before.foreign_share.is_some()) {
            let (less, more) = (before.documents / 2, before.documents.saturating_mul(2));
            if (less..=more).contains(&documents) {
                return Ok(before);
            }
        }
        let foreign = sample_letters(reader, documents, limits)?.foreign_share();
        let languages = match before.map(|before| before.languages) {
            None if foreign >= FIRST_CHOICE => Languages::All,
            Some(Languages::English) if foreign >= TURN_TO_ALL => Languages::All,
            Some(Languages::All) if foreign >= STAY_WITH_ALL => Languages::All,
            _ => Languages::English,
        };
        Ok(Self {
            languages,
            foreign_share: Some(foreign),
            documents,
        })
    }
}

/// The letters of a sample of the base.
fn sample_letters(
    reader: &dyn Reader,
    documents: usize,
    limits: Limits<'_>,
) -> Result<LetterCounts, KbError> {
    let stride = documents.div_ceil(DOCUMENTS).max(1);
    let (mut counts, mut at) = (Vec::new(), 0);
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
        let openings = reader.openings(&sampled, PASSAGES, limits)?;
        counts.extend(openings.iter().map(|it| LetterCounts::of_passage(&it.text)));
    }
    Ok(counts.into_iter().sum())
}
