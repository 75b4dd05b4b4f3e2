//! What can be copied, and where from: the pane that has the keys says what is meant.
//!
//! It is sent to the terminal (OSC 52), which works over ssh too and is refused by some: a line says
//! what was sent.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::Citation;
use crate::protocol::RunRecord;

use super::fold::EvidenceRow;
use super::ink::{Row, grouped_plural};
use super::layout::Arrangement;
use super::model::{Effect, Model, OpenRun, Overlay};
use super::pane_state::{ClickUnit, Pane, Selection};
use super::panes::detail;
use super::window_view::WindowView;

/// More than this is not copied: terminals drop what is longer without a word.
const MOST_BYTES: usize = 48 * 1024;
/// Wide enough for the lines of a node's details to stand unbroken.
const UNBROKEN: usize = 1000;

/// Copies what the keys are on: answer, citation, passage, event, details, or the run.
pub fn copy(model: &mut Model) -> Option<Effect> {
    let found = match (model.shown_overlay(), model.focus) {
        (Some(Overlay::Event { lines, .. }), _) => Some(("the event".to_owned(), lines.join("\n"))),
        (Some(Overlay::Detail { item, unfolded }), _) => {
            let lines = detail::lines(model, *item, unfolded, UNBROKEN);
            let text: Vec<String> = lines.iter().map(|line| line.row.text()).collect();
            Some(("the details".to_owned(), text.join("\n")))
        }
        (Some(_), _) => return None,
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
pub fn copy_run(model: &mut Model) -> Option<Effect> {
    let record = model.shown_turn().and_then(record).zip(model.markdown);
    let text = record.map(|(mut record, markdown)| {
        record.labels = model.shown_labels().cloned().unwrap_or_default();
        markdown(&[record])
    });
    match text {
        Some(text) => to_clipboard(model, "the run as Markdown", lines_of(&text), text),
        None => nothing(model),
    }
}

fn lines_of(text: &str) -> usize {
    text.trim_end().lines().count().max(1)
}

/// Puts a text on the clipboard and says how many lines it has.
pub fn to_clipboard(model: &mut Model, what: &str, lines: usize, text: String) -> Option<Effect> {
    if text.len() > MOST_BYTES {
        let words = format!("{what} is too long to copy: {} kB.", text.len() / 1024);
        model.warn(&words);
        return None;
    }
    let lines = grouped_plural(lines, "line");
    let words = format!("Sent {what} ({lines}) to the terminal to copy (OSC 52).");
    model.inform(&words);
    Some(Effect::Copy(text))
}

fn nothing(model: &mut Model) -> Option<Effect> {
    model.inform("There is nothing to copy here.");
    None
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
    let selected = model.audit.left_end.then_some(model.audit.list.selected);
    let at = selected.map_or(last, |at| at.min(last));
    let rows = model.audit_lines().nth(at)?.rows();
    let text: Vec<String> = rows.iter().map(super::fold::AuditRow::json).collect();
    let what = match rows {
        [row] => row.name.to_owned(),
        rows => format!("{} events", rows.len()),
    };
    Some((what, text.join("\n")))
}

// Text selected with the mouse: a word, a line, or a range, within what it began in.

/// The drag goes on to here.
pub fn extend(model: &mut Model, pressed: Position, to: Position) {
    let Some((area, _)) = text_at(model, pressed) else {
        return;
    };
    let within = |value: u16, first: u16, size: u16| {
        value.clamp(first, (first + size).saturating_sub(1).max(first))
    };
    let (x, y) = (
        within(to.x, area.x, area.width),
        within(to.y, area.y, area.height),
    );
    let head = Position::new(x, y);
    model.pointer.selection = (head != pressed).then_some(Selection {
        area,
        anchor: pressed,
        head,
    });
}

/// Selects what is under a cell, and copies it.
pub fn select(model: &mut Model, unit: ClickUnit, at: Position) -> Option<Effect> {
    let (area, rows) = text_at(model, at)?;
    let row = rows.get(usize::from(at.y - area.y));
    let text = row.map(Row::text).unwrap_or_default();
    let found = match unit {
        ClickUnit::Line => stretch(&text, 0, |_| true),
        ClickUnit::Word => stretch(&text, usize::from(at.x - area.x), is_of_word),
    };
    let (from, to) = found?;
    let cell = |x: usize| Position::new(area.x + x as u16, at.y);
    model.pointer.selection = Some(Selection {
        area,
        anchor: cell(from),
        head: cell(to),
    });
    // The release that follows has nothing more to copy.
    model.pointer.pressed = None;
    copy_selected(model)
}

/// Copies what is selected.
pub fn copy_selected(model: &mut Model) -> Option<Effect> {
    let selection = model.pointer.selection?;
    let (area, rows) = text_at(model, selection.anchor)?;
    let (first, last) = selection.ends();
    let lines: Vec<String> = (first.y..=last.y)
        .filter_map(|y| {
            let (from, to) = selection.columns(y)?;
            let text = rows.get(usize::from(y.checked_sub(area.y)?))?.text();
            let from = usize::from(from.saturating_sub(area.x));
            let to = usize::from(to.saturating_sub(area.x));
            Some(text_in_cells(&text, from, to).trim_end().to_owned())
        })
        .collect();
    let text = lines.join("\n");
    if text.trim().is_empty() {
        return None;
    }
    to_clipboard(model, "the selection", lines.len(), text)
}

/// Marks what is selected.
pub fn mark_selection(model: &Model, buffer: &mut Buffer) {
    let Some(selection) = model.pointer.selection else {
        return;
    };
    let (first, last) = selection.ends();
    for y in first.y..=last.y {
        if let Some((from, to)) = selection.columns(y) {
            let cells = Rect::new(from, y, (to + 1).saturating_sub(from), 1);
            let style = Style::new().add_modifier(Modifier::REVERSED);
            buffer.set_style(cells.intersection(buffer.area), style);
        }
    }
}

/// The area in which that cell is text, and its rows as drawn.
fn text_at(model: &Model, at: Position) -> Option<(Rect, Vec<Row>)> {
    let places = Arrangement::new(model);
    if let Some(window) = &model.overlay {
        if !matches!(
            window.shown,
            Overlay::Help | Overlay::Event { .. } | Overlay::Detail { .. }
        ) {
            return None;
        }
        let view = WindowView::new(model, window, &places);
        let area = view.area;
        return area
            .contains(at)
            .then(|| (area, view.seen_rows(window).to_vec()));
    }
    if let (Some(area), Some(view)) = (places.reading, &model.reading) {
        return area.contains(at).then(|| (area, view.visible.clone()));
    }
    let (pane, area) = places.panes.iter().find(|(_, area)| area.contains(at))?;
    Some((*area, model.pane_rows(*pane).to_vec()))
}

fn is_of_word(grapheme: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    grapheme.chars().all(is_of_word)
}

/// The text in these cells, the last one in it.
fn text_in_cells(text: &str, from: usize, to: usize) -> String {
    let mut at = 0;
    let mut found = String::new();
    for grapheme in text.graphemes(true) {
        let end = at + grapheme.width();
        if end > from && at <= to {
            found.push_str(grapheme);
        }
        at = end;
    }
    found
}

/// The first and the last cell of what holds together around a cell.
fn stretch(text: &str, cell: usize, holds: impl Fn(&str) -> bool) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut first = None;
    let mut found = None;
    for grapheme in text.trim_end().graphemes(true) {
        let end = at + grapheme.width();
        if holds(grapheme) {
            let begin = *first.get_or_insert(at);
            if begin <= cell && cell < end || found.is_some_and(|(known, _)| known == begin) {
                found = Some((begin, end.saturating_sub(1)));
            }
        } else {
            first = None;
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod selection_tests {
    use super::*;

    #[test]
    fn words_and_cells_are_counted_in_cells() {
        let text = " kb    docs/比较.md:10 ";
        assert_eq!(stretch(text, 9, is_of_word), Some((7, 18)));
        assert_eq!(text_in_cells(text, 7, 18), "docs/比较.md");
        assert_eq!(stretch(text, 3, is_of_word), None);
        assert_eq!(stretch(text, 40, is_of_word), None);
        assert_eq!(stretch("ab", 0, |_| true), Some((0, 1)));
    }
}
