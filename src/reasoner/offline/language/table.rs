use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::phrases::{Kinds, Phrases};
use crate::domain::{Language, QuestionKind};

/// The words of a language by what they do; the files say more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Table {
    pub(in super::super) stop: Phrases,
    pub(in super::super) keep: Phrases,
    pub(in super::super) generic: Phrases,
    pub(in super::super) starts: Phrases,
    pub(in super::super) asks_in_front: bool,
    pub(in super::super) head_first: bool,
    pub(in super::super) drops_subjects: bool,
    pub(in super::super) comparing: Phrases,
    pub(in super::super) comparatives: Phrases,
    pub(in super::super) pronouns: Phrases,
    pub(in super::super) leads: Phrases,
    pub(in super::super) relatives: Phrases,
    pub(in super::super) links: Phrases,
    pub(in super::super) states: Phrases,
    pub(in super::super) relations: Phrases,
    pub(in super::super) whole: Phrases,
    pub(in super::super) holding: Phrases,
    pub(in super::super) plural: Vec<String>,
    pub(in super::super) before_files: Vec<String>,
    pub(in super::super) months: Vec<Vec<String>>,
    pub(in super::super) numbers: HashMap<String, u64>,
    pub(in super::super) asks: Kinds<QuestionKind>,
    pub(in super::super) stemmer: Stemming,
    pub(in super::super) frames: Frames,
    pub(in super::super) joints: Joints,
    pub(in super::super) abbreviations: Abbreviations,
    pub(in super::super) forms: Forms,
    pub(in super::super) said: Social<Phrases>,
    pub(in super::super) replies: Social<String>,
}

/// How inflection is taken off.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Stemming {
    pub(in super::super) algorithm: String,
}

/// Polite frames around a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Frames {
    pub(in super::super) front: Phrases,
    pub(in super::super) leading: Phrases,
    pub(in super::super) whether: Phrases,
    pub(in super::super) defining: Phrases,
    pub(in super::super) back: Phrases,
}

/// What stands between sides and parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Joints {
    pub(in super::super) sides: Phrases,
    pub(in super::super) between: Phrases,
    pub(in super::super) choice: Phrases,
    pub(in super::super) beyond: Phrases,
    pub(in super::super) parts: Phrases,
}

/// Words that end with a full stop which ends no sentence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Abbreviations {
    pub(in super::super) always: Vec<String>,
    pub(in super::super) before_numbers: Vec<String>,
    pub(in super::super) in_midst: Vec<String>,
    pub(in super::super) ordinals_after: Vec<String>,
}

/// Questions with a gap.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Forms {
    pub(in super::super) about: String,
    pub(in super::super) with_topic: String,
}

impl Forms {
    /// A question with its topic, which is cut where it is long; a gap within either stays as it is.
    pub(in super::super) fn with_topic(&self, question: &str, topic: &str) -> String {
        let end = (0..=LONGEST_TOPIC.min(topic.len())).rfind(|end| topic.is_char_boundary(*end));
        let topic = &topic[..end.unwrap_or(0)];
        let (before, rest) = self.with_topic.split_once("{question}").unwrap_or_default();
        let (between, after) = rest.split_once("{topic}").unwrap_or((rest, ""));
        format!("{before}{question}{between}{topic}{after}")
    }
}

/// Bytes of a topic.
const LONGEST_TOPIC: usize = 400;

/// One of each kind of small talk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Social<T> {
    pub(in super::super) greeting: T,
    pub(in super::super) thanks: T,
    pub(in super::super) goodbye: T,
    pub(in super::super) identity: T,
    pub(in super::super) other: T,
}

/// The table of a language.
#[expect(
    clippy::expect_used,
    reason = "the files are part of the program, and a test reads them"
)]
pub(in super::super) fn table(language: Language) -> &'static Table {
    static TABLES: LazyLock<[Table; 3]> = LazyLock::new(|| {
        FILES.map(|file| toml::from_str(file).expect("a table of words can be read"))
    });
    &TABLES[match language {
        Language::En => 0,
        Language::Zh => 1,
        Language::De => 2,
    }]
}

/// All languages that have a table.
pub(in super::super) const LANGUAGES: [Language; 3] = [Language::En, Language::Zh, Language::De];

const FILES: [&str; 3] = [
    include_str!("../../../../assets/language/en.toml"),
    include_str!("../../../../assets/language/zh.toml"),
    include_str!("../../../../assets/language/de.toml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a table and of the tables in it.
    fn keys(file: &str) -> Vec<String> {
        let table: toml::Table = toml::from_str(file).unwrap();
        let mut keys = Vec::new();
        for (key, value) in &table {
            keys.push(key.clone());
            let inner = value
                .as_table()
                .filter(|_| key != "numbers" && key != "ordinals");
            keys.extend(
                inner
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| format!("{key}.{name}")),
            );
        }
        keys.sort();
        keys
    }

    #[test]
    fn every_language_has_every_key() {
        for (file, language) in FILES.iter().zip(LANGUAGES) {
            assert_eq!(keys(file), keys(FILES[0]), "{language:?}");
            assert_eq!(table(language).months.len(), 12, "{language:?}");
            assert!(table(language).forms.about.contains("{}"), "{language:?}");
        }
        assert_eq!(
            keys(FILES[0])
                .iter()
                .filter(|key| key.starts_with("asks."))
                .count(),
            14
        );
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let more = FILES[2].replacen("stop = [", "stops = []\nstop = [", 1);
        let error = toml::from_str::<Table>(&more).unwrap_err();
        assert!(error.to_string().contains("stops"), "{error}");
    }
}
