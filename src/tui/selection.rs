//! Text selected with the mouse: a word, a line, or a range, within what it began in.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::copy;
use super::ink::Row;
use super::layout::Arrangement;
use super::message::Effect;
use super::model::{Model, Overlay};
use super::pointer::{ClickUnit, Selection};
use super::settle::pane_rows;
use super::window_view::WindowView;

/// The drag goes on to here.
pub fn extend(model: &mut Model, pressed: Position, to: Position) {
    let Some((area, _)) = text_at(model, pressed) else {
        return;
    };
    let within = |value: u16, first: u16, size: u16| {
        value.clamp(first, (first + size).saturating_sub(1).max(first))
    };
    let head = Position::new(
        within(to.x, area.x, area.width),
        within(to.y, area.y, area.height),
    );
    model.pointer.selection = (head != pressed).then_some(Selection {
        area,
        anchor: pressed,
        head,
    });
}

/// Selects what is under a cell, and copies it.
pub fn select(model: &mut Model, unit: ClickUnit, at: Position) -> Vec<Effect> {
    let Some((area, rows)) = text_at(model, at) else {
        return Vec::new();
    };
    let text = rows
        .get(usize::from(at.y - area.y))
        .map(Row::text)
        .unwrap_or_default();
    let found = match unit {
        ClickUnit::Line => stretch(&text, 0, |_| true),
        ClickUnit::Word => stretch(&text, usize::from(at.x - area.x), is_of_word),
    };
    let Some((from, to)) = found else {
        return Vec::new();
    };
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
pub fn copy_selected(model: &mut Model) -> Vec<Effect> {
    let Some(selection) = model.pointer.selection else {
        return Vec::new();
    };
    let Some((area, rows)) = text_at(model, selection.anchor) else {
        return Vec::new();
    };
    let (first, last) = selection.ends();
    let lines: Vec<String> = (first.y..=last.y)
        .filter_map(|y| {
            let (from, to) = selection.columns(y)?;
            let text = rows.get(usize::from(y.checked_sub(area.y)?))?.text();
            let from = usize::from(from.saturating_sub(area.x));
            let to = usize::from(to.saturating_sub(area.x));
            Some(cells(&text, from, to).trim_end().to_owned())
        })
        .collect();
    let text = lines.join("\n");
    if text.trim().is_empty() {
        return Vec::new();
    }
    copy::to_clipboard(model, "the selection", lines.len(), text)
}

/// Marks what is selected.
pub fn mark(model: &Model, buffer: &mut Buffer) {
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
    Some((*area, pane_rows(model, *pane).to_vec()))
}

fn is_of_word(grapheme: &str) -> bool {
    grapheme
        .chars()
        .all(|c| c.is_alphanumeric() || "_-./".contains(c))
}

/// The text in these cells, the last one in it.
fn cells(text: &str, from: usize, to: usize) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn words_and_cells_are_counted_in_cells() {
        let text = " kb    docs/比较.md:10 ";
        assert_eq!(stretch(text, 9, is_of_word), Some((7, 18)));
        assert_eq!(cells(text, 7, 18), "docs/比较.md");
        assert_eq!(stretch(text, 3, is_of_word), None);
        assert_eq!(stretch(text, 40, is_of_word), None);
        assert_eq!(stretch("ab", 0, |_| true), Some((0, 1)));
    }
}
