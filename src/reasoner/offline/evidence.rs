//! A passage as units that can be quoted, each with its heading and place.

mod code;
mod markdown;
mod outlines;
mod records;
mod sheet;
mod units;

use std::borrow::Cow;

use crate::domain::{Evidence, Language};
use crate::text;

use super::language::language_of;
pub(super) use units::{Unit, UnitKind};

/// A passage, read once for all questions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    /// The file's path.
    pub(super) source: String,
    /// The document's title: its first heading where the passage begins with that, else its name.
    pub(super) title: String,
    /// The whole text.
    pub(super) text: String,
    /// The first line in its file, from 1.
    pub(super) start: usize,
    /// What can be quoted, in order.
    pub(super) units: Vec<Unit>,
}

impl Passage {
    /// Reads an item.
    pub(super) fn read(item: &Evidence) -> Self {
        let name = item.source.rsplit('/').next().unwrap_or_default();
        let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let (stem, ending) = parts.unwrap_or((name, ""));
        let ending = ending.to_ascii_lowercase();
        let lists = code::units(&ending, &item.text)
            .or_else(|| sheet::units(&ending, &item.text))
            .or_else(|| records::units(&ending, &item.text));
        let (title, units) =
            lists.map_or_else(|| prose(item, &ending), |units| (String::new(), units));
        Self {
            source: item.source.clone(),
            title: if title.is_empty() {
                stem.to_owned()
            } else {
                title
            },
            text: item.text.clone(),
            start: item.lines.start,
            units,
        }
    }

    /// Sentences of one paragraph that was split before.
    pub(super) fn of_sentences(title: &str, sentences: &[&str]) -> Self {
        let unit = |text: &&str| Unit::new((*text).to_owned(), UnitKind::Sentence, title, 0);
        let apart = if language_of(&sentences.concat()) == Language::Zh {
            ""
        } else {
            " "
        };
        let text = sentences.join(apart);
        Self {
            source: String::new(),
            title: title.to_owned(),
            text: if title.is_empty() {
                text
            } else {
                format!("# {title}\n\n{text}")
            },
            start: 1,
            units: sentences.iter().map(unit).collect(),
        }
    }
}

/// The title that a text begins with, empty where it does not, and its units.
fn prose(item: &Evidence, ending: &str) -> (String, Vec<Unit>) {
    let text = match ending {
        "org" => Cow::Owned(outlines::org(&item.text)),
        "rst" => Cow::Owned(outlines::rst(&item.text)),
        _ => Cow::Borrowed(item.text.as_str()),
    };
    let (fields, text) = front_matter(&text)
        .filter(|_| item.lines.start == 1)
        .unwrap_or(("", &text));
    let named = fields.lines().find_map(|line| line.strip_prefix("title:"));
    let named = named.unwrap_or_default().trim().trim_matches(['"', '\'']);
    let (heading, body) = markdown::bare_title(text).unwrap_or(("", text));
    let mut units: Vec<Unit> = fields
        .lines()
        .filter(|line| {
            line.split_once(':')
                .is_some_and(|(_, value)| !value.trim().is_empty())
        })
        .map(|line| Unit::new(line.trim().to_owned(), UnitKind::Item, named, 0))
        .collect();
    let below = if heading.is_empty() { named } else { heading };
    let (first, read) = markdown::read(body, below);
    let block = usize::from(!fields.is_empty());
    units.extend(read.into_iter().map(|mut unit| {
        unit.block += block;
        unit
    }));
    let title = [named, heading, first.as_str()]
        .into_iter()
        .find(|title| !title.is_empty());
    (title.unwrap_or_default().to_owned(), units)
}

/// The metadata at the top with the rules around it, and the rest.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let lines = text::front_matter(text.lines());
    let (before, body) = text.split_at(text.split_inclusive('\n').take(lines).map(str::len).sum());
    // The last line may be cut.
    (lines > 0 && before.ends_with('\n')).then_some((before, body))
}

#[cfg(test)]
mod tests;
