//! What can be copied, and where from: the pane that has the keys says what is meant.
//!
//! It is sent to the terminal (OSC 52), which works over ssh too and is refused by some: a line says
//! what was sent.

use crate::domain::Citation;
use crate::protocol::RunRecord;

use super::fold::EvidenceRow;
use super::ink::grouped_plural;
use super::message::Effect;
use super::model::{Model, OpenRun, Overlay};
use super::pane_state::Pane;
use super::panes::detail;

/// More than this is not copied: terminals drop what is longer without a word.
const MOST_BYTES: usize = 48 * 1024;
/// Wide enough for the lines of a node's details to stand unbroken.
const UNBROKEN: usize = 1000;

/// Copies what the keys are on: answer, citation, passage, event, details, or the run.
pub fn copy(model: &mut Model) -> Vec<Effect> {
    let found = match (model.shown_overlay(), model.focus) {
        (Some(Overlay::Event { lines, .. }), _) => Some(("the event".to_owned(), lines.join("\n"))),
        (Some(Overlay::Detail { item, unfolded }), _) => {
            let lines = detail::lines(model, *item, unfolded, UNBROKEN);
            let text: Vec<String> = lines.iter().map(|line| line.row.text()).collect();
            Some(("the details".to_owned(), text.join("\n")))
        }
        (Some(_), _) => return Vec::new(),
        (None, Pane::Chat) => citation(model).or_else(|| answer(model)),
        (None, Pane::Evidence) => passage(model),
        (None, Pane::Audit) => events(model),
        (None, Pane::Path) => return copy_run(model),
    };
    match found {
        Some((what, text)) => to_clipboard(model, &what, lines_of(&text), text),
        None => nothing(model),
    }
}

/// Copies the run that the panes show, as Markdown.
pub fn copy_run(model: &mut Model) -> Vec<Effect> {
    let text = model
        .shown_turn()
        .and_then(record)
        .zip(model.markdown)
        .map(|(record, markdown)| markdown(&[record]));
    match text {
        Some(text) => to_clipboard(model, "the run as Markdown", lines_of(&text), text),
        None => nothing(model),
    }
}

fn lines_of(text: &str) -> usize {
    text.trim_end().lines().count().max(1)
}

/// Puts a text on the clipboard and says how many lines it has.
pub fn to_clipboard(model: &mut Model, what: &str, lines: usize, text: String) -> Vec<Effect> {
    if text.len() > MOST_BYTES {
        let words = format!("{what} is too long to copy: {} kB.", text.len() / 1024);
        model.warn(&words);
        return Vec::new();
    }
    let lines = grouped_plural(lines, "line");
    let words = format!("Sent {what} ({lines}) to the terminal to copy (OSC 52).");
    model.inform(&words);
    vec![Effect::Copy(text)]
}

fn nothing(model: &mut Model) -> Vec<Effect> {
    model.inform("There is nothing to copy here.");
    Vec::new()
}

fn record(turn: &OpenRun) -> Option<RunRecord> {
    let mut events = turn.trail.iter().map(super::fold::AuditRow::event);
    let mut record = RunRecord::begin(events.next()?)?;
    events.for_each(|event| record.apply(event));
    Some(record)
}

fn reference(citation: &Citation) -> String {
    let (source, place) = (&citation.source, citation.location());
    format!("[{}] {source}:{place}", citation.n)
}

fn citation(model: &Model) -> Option<(String, String)> {
    let at = model.chat.citation?;
    let citation = model.shown_run()?.citations.get(at)?;
    Some((format!("citation [{}]", citation.n), reference(citation)))
}

fn answer(model: &Model) -> Option<(String, String)> {
    let run = model.shown_run()?;
    if run.answer.trim().is_empty() {
        return None;
    }
    let mut text = format!("{}\n", run.answer.trim_end());
    for (at, citation) in run.citations.iter().enumerate() {
        let space = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{space}{}\n", reference(citation)));
    }
    Some(("the answer".to_owned(), text))
}

fn passage(model: &Model) -> Option<(String, String)> {
    let rows = &model.shown_run()?.evidence;
    let last = rows.len().checked_sub(1)?;
    let selected = model.evidence.list.selected.min(last);
    let item: &EvidenceRow = rows.rows().nth(selected)?;
    let place = item.place();
    Some((place.clone(), format!("{place}\n\n{}\n", item.excerpt)))
}

fn events(model: &Model) -> Option<(String, String)> {
    let last = model.audit_lines().count().checked_sub(1)?;
    let at = if model.audit.left_end {
        model.audit.list.selected.min(last)
    } else {
        last
    };
    let rows = model.audit_lines().nth(at)?.rows();
    let text: Vec<String> = rows.iter().map(super::fold::AuditRow::json).collect();
    let what = match rows {
        [row] => row.name.to_owned(),
        rows => format!("{} events", rows.len()),
    };
    Some((what, text.join("\n")))
}
