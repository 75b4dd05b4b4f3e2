//! Passages as they are shown: whole blocks, with what their document says they are about.
//!
//! The index and the search of the files bring lines. Where the list, the table or the section ends in
//! which they stand, the headings above them and the names of their document stand elsewhere in it: it
//! is read once for all its passages.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use crate::domain::{Evidence, LineRange, Topic, is_same_passage};
use crate::kb::{Extraction, KnowledgeBase, Outline, Scope};

/// Largest text, in bytes, that is grown: finding the blocks of a larger one would take longer than
/// the search.
const LARGEST_TEXT: usize = 2_000_000;

/// A passage as it was found, and the lines of it that were looked for.
pub(super) struct FoundPassage {
    pub item: Evidence,
    pub core: LineRange,
}

/// Fills in what each passage is about, from the documents as they are now. A passage whose document
/// cannot be read keeps what it has.
pub(super) fn with_topics(
    base: &KnowledgeBase,
    mut found: Vec<Evidence>,
    cancel: &CancellationToken,
) -> Vec<Evidence> {
    let documents = Documents::load(base, found.iter(), cancel);
    let outlines = documents.outlines();
    for item in &mut found {
        if let Some(outline) = outlines.get(item.source.as_str()) {
            item.topic = outline.topic(item.lines);
        }
    }
    found
}

/// Lets each passage grow to what belongs together, as far as the question is about all of that. Those that
/// grow into one are one, in the place of the better. A passage whose document cannot be read, or says
/// something else by now, stays as it was found.
pub(super) fn grown(
    base: &KnowledgeBase,
    found: Vec<FoundPassage>,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Vec<Evidence> {
    let is_wanted = |outline: &Outline<'_>, lines| {
        let text = outline.text(lines);
        text.is_none_or(|text| scope.lets_through(&text))
    };
    let documents = Documents::load(base, found.iter().map(|found| &found.item), cancel);
    let outlines = documents.outlines();
    let mut grown: Vec<Evidence> = Vec::with_capacity(found.len());
    for FoundPassage { mut item, core } in found {
        if let Some(outline) = outlines.get(item.source.as_str()) {
            item.topic = outline.topic(item.lines);
            if outline.text(item.lines).as_ref() == Some(&item.text) {
                let lines = outline.grown(item.lines, core);
                if is_wanted(outline, lines) {
                    show(&mut item, lines, outline, &documents);
                }
            }
            let known = grown.iter_mut().find(|known| {
                is_same_passage((&known.source, known.lines), (&item.source, item.lines))
            });
            // Pieces of one long line share its number and are no part of each other.
            if let Some(known) = known
                && outline.text(known.lines).as_ref() == Some(&known.text)
                && outline.text(item.lines).as_ref() == Some(&item.text)
            {
                let both = known.lines.hull(item.lines);
                if is_wanted(outline, both) {
                    show(known, both, outline, &documents);
                    continue;
                }
            }
        }
        grown.push(item);
    }
    grown
}

fn show(item: &mut Evidence, lines: LineRange, outline: &Outline<'_>, documents: &Documents) {
    let Some(text) = outline.text(lines) else {
        return;
    };
    if lines != item.lines
        && let Some(document) = documents.0.get(&item.source)
    {
        item.place = document.place(lines);
    }
    (item.lines, item.text) = (lines, text);
    item.topic = outline.topic(lines);
}

/// The documents of some passages, as far as they can be read: from their files, else from a shared index.
struct Documents(HashMap<String, Extraction>);

impl Documents {
    fn load<'e>(
        base: &KnowledgeBase,
        found: impl Iterator<Item = &'e Evidence>,
        cancel: &CancellationToken,
    ) -> Self {
        let mut documents: HashMap<String, Extraction> = HashMap::new();
        let mut elsewhere = Vec::new();
        for item in found {
            let source = item.source.as_str();
            if cancel.is_cancelled()
                || documents.contains_key(source)
                || elsewhere.contains(&source)
            {
                continue;
            }
            if let Ok(file) = base.resolve(source)
                && let Ok(document) = base.read_unless(&file, cancel)
            {
                if document.text.len() <= LARGEST_TEXT {
                    documents.insert(item.source.clone(), document);
                }
            } else if item.place.is_none() {
                // A store keeps the text and no places of it.
                elsewhere.push(source);
            }
        }
        let stored = base.stored_beginnings(&elsewhere, cancel);
        documents.extend(stored.unwrap_or_default());
        Self(documents)
    }

    fn outlines(&self) -> HashMap<&str, Outline<'_>> {
        let documents = self.0.iter();
        documents
            .map(|(source, document)| (source.as_str(), Outline::new(source, document)))
            .collect()
    }
}

/// What a passage is about by its chunk alone: the headings above it, without those in its text.
pub(super) fn topic_of_chunk(heading: &str, text: &str) -> Topic {
    let is_within = |heading: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.trim_start_matches('#').trim() == heading)
    };
    let headings = heading.split(" > ").filter(|heading| !heading.is_empty());
    Topic {
        headings: headings
            .take_while(|heading| !is_within(heading))
            .map(str::to_owned)
            .collect(),
        ..Topic::default()
    }
}
