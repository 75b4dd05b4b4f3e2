//! A passage as the offline engine sees it: its words, what can be quoted from it, and its name.
//!
//! Grading and answering ask the same things of a passage for many questions, so it is read once.

use std::collections::HashSet;

use crate::domain::Evidence;

use super::super::evidence;
use super::titles::Title;
use super::units::{Unit, units};
use super::words::{spelt_out, terms};

/// How many sentences of a passage are compared by meaning; chosen by word overlap.
const SENTENCES: usize = 4;
/// Longer passages are embedded up to here: the model reads no further.
const EMBED_CHARS: usize = 1_600;

/// A passage, read once for all questions.
pub(super) struct Passage {
    /// What can be quoted from it.
    pub(super) units: Vec<Unit>,
    /// The words of each of them.
    pub(super) unit_terms: Vec<HashSet<String>>,
    /// The words of the text in order.
    pub(super) ordered: Vec<String>,
    /// All words, those of path and headings too.
    pub(super) held: HashSet<String>,
    /// The words of path and headings.
    pub(super) heading: HashSet<String>,
    /// As much of the text as an embedding reads.
    pub(super) excerpt: String,
    pub(super) text: String,
    pub(super) title: Title,
    source: String,
    /// The file's name without folder and ending.
    name: String,
    /// The first line, for the order in its file.
    pub(super) start: usize,
}

impl Passage {
    /// Reads an item.
    pub(super) fn read(item: &Evidence) -> Self {
        let read = evidence::Passage::read(item);
        let units = units(&read);
        let name = item.source.replace(['/', '.'], " ");
        let mut heading: HashSet<String> = terms(&name).into_iter().collect();
        for unit in &units {
            heading.extend(terms(&unit.heading));
        }
        let ordered = terms(&item.text);
        let held = ordered.iter().chain(&heading).cloned().collect();
        Self {
            unit_terms: units
                .iter()
                .map(|unit| terms(&unit.words()).into_iter().collect())
                .collect(),
            excerpt: item.text.chars().take(EMBED_CHARS).collect(),
            name: stem(&item.source).to_owned(),
            title: Title::of(title(&item.text, &units)),
            text: item.text.clone(),
            source: item.source.clone(),
            units,
            ordered,
            held,
            heading,
            start: item.lines.start,
        }
    }

    /// The file it is from.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The file's name without folder and ending.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the file is called so, by its words.
    pub(super) fn is_called(&self, words: &[String]) -> bool {
        terms(&spelt_out(&self.name)) == words || terms(&self.name) == words
    }

    /// Whether the file is about one of these tickets: its fields then speak of that ticket.
    pub(super) fn is_home_of(&self, tickets: &[String]) -> bool {
        tickets.contains(&self.name)
    }

    /// How much of the question the file's name says, by count of words.
    pub(super) fn named_share(&self, question: &[String]) -> f64 {
        let name = terms(&self.name);
        let found = question.iter().filter(|term| name.contains(term)).count();
        found as f64 / question.len().max(1) as f64
    }

    /// Whether another document speaks of this passage by its title.
    pub(super) fn is_named_by(&self, other: &Self) -> bool {
        let apart = self.source != other.source || self.source.is_empty();
        apart && self.title.is_named_in(&other.text)
    }

    /// The units that share most with any of the questions, best first.
    pub(super) fn best_units(&self, questions: &[Vec<String>]) -> Vec<usize> {
        let shared = |at: &usize| {
            questions
                .iter()
                .map(|question| {
                    question
                        .iter()
                        .filter(|term| self.unit_terms[*at].contains(*term))
                        .count()
                })
                .max()
                .unwrap_or(0)
        };
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(shared(at)), *at));
        order.truncate(SENTENCES);
        order
    }
}

/// A file's name without folder and ending, of ".env" all: "release-1.2.md" is "release-1.2".
fn stem(source: &str) -> &str {
    let name = source.rsplit('/').next().unwrap_or(source);
    let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    parts.map_or(name, |(stem, _)| stem)
}

/// The heading of a document's beginning; those of its parts, such as "Usage", name nothing.
fn title<'a>(text: &str, units: &'a [Unit]) -> &'a str {
    let heading = units.first().map_or("", |unit| &unit.heading);
    let first = text.trim_start().lines().next().unwrap_or_default().trim();
    if first.strip_prefix("# ").unwrap_or(first).trim() == heading {
        heading
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn r10_a_file_is_called_by_all_but_its_ending() {
        for (source, name) in [
            ("docs/release-1.2.md", "release-1.2"),
            ("a.b/notes", "notes"),
            (".env", ".env"),
            ("guide.md", "guide"),
        ] {
            assert_eq!(stem(source), name, "{source}");
        }
    }
}
