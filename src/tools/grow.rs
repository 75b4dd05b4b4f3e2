//! Passages as they are shown: with what their document says they are about.
//!
//! The index and the search of the files bring lines; the headings above them, the title and other
//! names stand elsewhere in the document, which is read once for all its passages.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use crate::domain::{Evidence, Topic};
use crate::kb::{Extraction, KnowledgeBase, Outline};

/// Fills in what each passage is about, from the documents as they are now. A passage whose document
/// cannot be read keeps what it has.
pub(super) fn with_topics(
    base: &KnowledgeBase,
    mut found: Vec<Evidence>,
    stop: &AtomicBool,
) -> Vec<Evidence> {
    for (source, document) in &documents(base, &found, stop) {
        let outline = Outline::of(source, document);
        for item in found.iter_mut().filter(|item| item.source == *source) {
            item.topic = outline.topic(item.lines.start);
        }
    }
    found
}

/// The documents of these passages that can be read.
fn documents(
    base: &KnowledgeBase,
    found: &[Evidence],
    stop: &AtomicBool,
) -> HashMap<String, Extraction> {
    let mut documents = HashMap::new();
    for item in found {
        if !documents.contains_key(&item.source)
            && let Ok(file) = base.resolve(&item.source)
            && let Ok(document) = base.read_unless(&file, stop)
        {
            documents.insert(item.source.clone(), document);
        }
    }
    documents
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
