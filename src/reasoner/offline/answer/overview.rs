//! "What is in this knowledge base?": asked of the documents as a whole, answered with a line of each.

use crate::domain::{Evidence, Language, MOST_LISTED, Score, ToolName};

use super::super::evidence::UnitKind;
use super::found::Found;
use super::frames::{Frames, filled};
use super::quoting::quoted;

/// Characters of what a document says first.
const LONGEST_SAID: usize = 200;

/// A line of each document: its name, its title and what it says first. Nothing where the items are not
/// the documents from their beginning.
pub(super) fn overview(found: Found<'_>, language: Language) -> Option<String> {
    let begins = |item: &Evidence| item.tool == ToolName::LocalFileQa && item.score == Score::ZERO;
    let items = found.items;
    if items.is_empty() || !items.iter().all(begins) {
        return None;
    }
    let all = items.len() <= MOST_LISTED;
    let frames = Frames::of(language);
    let mut lines = vec![match items.len() {
        1 => frames.one_document.clone(),
        _ if all => filled(&frames.documents, items.len()),
        _ => frames.first_documents.clone(),
    }];
    for (at, item) in items.iter().take(MOST_LISTED).enumerate() {
        let passage = &found.passages[at];
        let first = passage
            .units
            .iter()
            .find(|unit| unit.kind != UnitKind::Code);
        let first = first.map_or("", |unit| unit.text.as_str());
        let mut said: String = first.chars().take(LONGEST_SAID).collect();
        if said.len() < first.len() {
            said.push('…');
        }
        let title = passage.title.as_str();
        let joint = if title.is_empty() || said.is_empty() {
            ""
        } else {
            " – "
        };
        let line = quoted(&format!("{title}{joint}{said}"), at + 1);
        lines.push(format!("- `{}`: {line}", item.source));
    }
    if !all {
        lines.push(String::new());
        lines.push(filled(&frames.cut, MOST_LISTED));
    }
    Some(lines.join("\n"))
}
