//! Answers that list documents rather than quote them: what the whole base holds, what is in some state, and what
//! hangs together.

use crate::domain::{Evidence, MOST_LISTED, QuestionKind, Score, ToolName};

use super::super::passage::readable;
use super::super::question::state_values;
use super::frames::{Frames, filled};
use super::material::Material;
use super::places::place;

/// Characters of a line.
const LONGEST_LINE: usize = 200;

/// The list that a question for all documents, for a state or for a relation asks for; `None` for any other question.
pub(super) fn listing(material: &Material<'_>) -> Option<String> {
    match material.question.kind {
        QuestionKind::Overview => documents(material),
        QuestionKind::State => in_state(material),
        QuestionKind::Relation => linked(material),
        _ => None,
    }
}

/// The documents, a line each.
fn documents(material: &Material<'_>) -> Option<String> {
    let items = material.items;
    let begins = |item: &Evidence| item.tool == ToolName::LocalFileQa && item.score == Score::ZERO;
    if items.is_empty() || !items.iter().all(begins) {
        return None;
    }
    let frames = Frames::for_language(material.question.language);
    let heading = match items.len() {
        1 => frames.one_document.clone(),
        count if count <= MOST_LISTED => filled(&frames.documents, count),
        _ => filled(&frames.first_documents, MOST_LISTED),
    };
    let listed = items
        .iter()
        .zip(&material.verdict.passages)
        .take(MOST_LISTED)
        .enumerate();
    let lines = listed.map(|(at, (item, passage))| place(item, passage, None, at + 1));
    Some(format!(
        "{heading}\n{}",
        lines.collect::<Vec<_>>().join("\n")
    ))
}

/// The fields, rows and tasks with the value that is asked for, a line each.
fn in_state(material: &Material<'_>) -> Option<String> {
    let values = state_values(material.question);
    let mut lines: Vec<String> = Vec::new();
    for (at, (item, passage)) in material
        .items
        .iter()
        .zip(&material.verdict.passages)
        .enumerate()
    {
        if item.tool != ToolName::LocalFileQa {
            continue;
        }
        for line in item.text.lines().filter(|line| has_value(line, &values)) {
            let said: String = readable(line.trim_start_matches(['-', '*', '+', '#', ' ']));
            let said: String = said.chars().take(LONGEST_LINE).collect();
            lines.push(format!(
                "- {} – {} [{}]",
                passage.title,
                said.trim(),
                at + 1
            ));
        }
    }
    lines.dedup();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The fields that name the ticket in question or, in its own document, any other one, a line each.
fn linked(material: &Material<'_>) -> Option<String> {
    let [id] = &material.question.literals.ids[..] else {
        return None;
    };
    let mut lines: Vec<String> = Vec::new();
    for (at, (item, passage)) in material
        .items
        .iter()
        .zip(&material.verdict.passages)
        .enumerate()
    {
        let is_own = item.source.to_uppercase().contains(id.as_str());
        let names_one = |line: &&str| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '-');
            let mut ids = words.filter(|word| is_ticket(word));
            let is_field = line.contains([':', '：']) && !line.starts_with('#');
            is_field && ids.any(|other| is_own != other.eq_ignore_ascii_case(id))
        };
        for line in item.text.lines().filter(names_one) {
            lines.push(format!(
                "- {} – {} [{}]",
                passage.title,
                readable(line.trim()),
                at + 1
            ));
        }
    }
    lines.dedup();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `PROJ-123`: capitals, a hyphen, figures.
fn is_ticket(word: &str) -> bool {
    word.split_once('-').is_some_and(|(project, number)| {
        project.len() > 1
            && project
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

/// Whether a line is a task with such a box, or has a field or cell with such a value.
fn has_value(line: &str, values: &[String]) -> bool {
    let line = line.to_lowercase();
    let is_box = |value: &&String| value.starts_with('[');
    let boxes = values.iter().filter(is_box);
    let task = line.trim_start_matches(['-', '*', '+', ' ']);
    let is_value = |text: &str| {
        let bare = text
            .trim_matches(|c: char| !c.is_alphanumeric())
            .replace(['_', '-'], " ");
        values.contains(&bare)
    };
    let mut cells = line.split(['|', ';', '；']).filter_map(|cell| {
        cell.split_once([':', '：'])
            .map(|(_, value)| value)
            .or(Some(cell))
    });
    boxes.clone().any(|mark| task.starts_with(mark.as_str()))
        || (line.contains([':', '：', '|']) && cells.any(is_value))
}
