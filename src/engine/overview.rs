//! What all documents of a base come to, gathered one by one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::domain::{FileFormat, FileKind, mention_of};
use crate::kb::Document;
use crate::protocol::{KnowledgeContents, Timestamp};
use crate::text::{one_line, sanitize};

/// So many documents and folders can be completed; others can be typed.
const MOST_NAMES: usize = 5_000;
/// So many of the newest files are named.
const NEWEST: usize = 3;
/// A file's name up to this length, in characters.
const LONGEST_NAME: usize = 120;

/// Kinds, names, the newest and the size.
#[derive(Default)]
pub(super) struct Overview {
    documents: usize,
    bytes: u64,
    kinds: HashMap<String, usize>,
    /// Names in the order of their depth, folders before documents.
    names: BTreeSet<(usize, bool, String)>,
    newest: Vec<Arc<Document>>,
}

impl Overview {
    /// Takes up a document.
    pub(super) fn add(&mut self, document: &Arc<Document>) {
        self.documents += 1;
        self.bytes += document.bytes;
        *self.kinds.entry(kind(&document.source)).or_default() += 1;
        self.add_names(&document.source);
        let moment = document.modified();
        let place = self
            .newest
            .partition_point(|known| known.modified() >= moment);
        if place < NEWEST {
            self.newest.insert(place, Arc::clone(document));
            self.newest.truncate(NEWEST);
        }
    }

    /// Its own and those of the folders that it lies in.
    fn add_names(&mut self, source: &str) {
        let folders = source.match_indices('/').enumerate();
        let folders = folders.map(|(depth, (at, _))| (depth, false, &source[..=at]));
        let depth = source.matches('/').count();
        for (depth, is_document, name) in folders.chain([(depth, true, source)]) {
            let is_fit = mention_of(name).is_some() && sanitize(name) == name;
            let is_before = self.names.len() < MOST_NAMES
                || self
                    .names
                    .last()
                    .is_some_and(|(last_depth, last_kind, last)| {
                        (depth, is_document, name) < (*last_depth, *last_kind, last.as_str())
                    });
            if is_fit && is_before {
                self.names.insert((depth, is_document, name.to_owned()));
                if self.names.len() > MOST_NAMES {
                    self.names.pop_last();
                }
            }
        }
    }

    /// Whether there was no document.
    pub(super) fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Converts the overview into what the screen shows.
    pub(super) fn contents(self) -> KnowledgeContents {
        let mut kinds: Vec<(String, usize)> = self.kinds.into_iter().collect();
        kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let newest = self.newest.iter().map(|document| {
            let name = one_line(&document.source, LONGEST_NAME);
            (name, Timestamp::from_system_time(document.modified()))
        });
        KnowledgeContents {
            kinds,
            newest: newest.collect(),
            names: self.names.into_iter().map(|(_, _, name)| name).collect(),
            bytes: self.bytes,
            ..KnowledgeContents::default()
        }
    }
}

/// An ending longer than this is no kind of file.
const LONGEST_ENDING: usize = 8;

/// What a file is by its ending.
pub(super) fn kind(source: &str) -> String {
    let file = source.rsplit('/').next().unwrap_or(source);
    let ending = match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_lowercase(),
        _ => String::new(),
    };
    let known = FileFormat::by_ending(&ending)
        .filter(|format| format.is_read() && format.kind != FileKind::Code);
    let is_word = |ending: &str| {
        (1..=LONGEST_ENDING).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    match known {
        Some(format) => format.short_name.to_owned(),
        None if is_word(&ending) => ending,
        None => "other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn files_are_of_a_kind_by_their_ending() {
        for (source, is) in [
            ("notes/plan.MD", "Markdown"),
            ("a.b/report.pdf", "PDF"),
            ("src/main.rs", "rs"),
            ("Makefile", "other"),
            (".profile", "other"),
            ("v1.0/README", "other"),
            ("a.\u{1b}[2J", "other"),
            ("a.averylongending", "other"),
        ] {
            assert_eq!(kind(source), is, "{source}");
        }
    }
}
