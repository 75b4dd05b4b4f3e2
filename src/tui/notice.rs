//! The one line for the person, above or in the lower border.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::NoticeLevel;

use super::cells::{clear, put};
use super::ink::{Ink, Row};
use super::model::{Model, Notice};
use super::theme::Theme;
use super::wrap::wrap;

/// Draws it on a line of a border; what is longer takes lines above that.
pub fn notice(model: &Model, border: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(notice) = &model.notice else {
        return;
    };
    let (_, ink) = looks(notice);
    let rows = rows(notice, border);
    let bottom = border.y - u16::from(rows.len() > 1);
    for (at, row) in rows.iter().enumerate() {
        let line = Rect {
            y: bottom.saturating_sub((rows.len() - 1 - at) as u16),
            ..border
        };
        let row = row.clone().with(ink, " ");
        // The look of what lies below must not shine through.
        let width = if rows.len() > 1 {
            line.width
        } else {
            line.width.min(row.width() as u16)
        };
        clear(Rect { width, ..line }, buffer);
        put(buffer, theme, line, &row);
    }
}

/// The lines above the border that it takes.
pub fn lines_above(notice: &Notice, border: Rect) -> u16 {
    match rows(notice, border).len() {
        1 => 0,
        lines => lines as u16,
    }
}

fn looks(notice: &Notice) -> (&'static str, Ink) {
    match notice.level {
        NoticeLevel::Info => (" ", Ink::Info),
        NoticeLevel::Warning => (" ⚠ ", Ink::Warning),
    }
}

/// What is longer than the border stands above it: a warning that is cut says nothing, and a border
/// with a hole in it looks broken.
fn rows(notice: &Notice, border: Rect) -> Vec<Row> {
    let (sign, ink) = looks(notice);
    let width = usize::from(border.width).saturating_sub(2);
    let indent = Row::of(ink, " ".repeat(sign.chars().count()));
    let message = Row::of(ink, notice.message.clone());
    let mut rows = wrap(&message, &Row::of(ink, sign), &indent, width);
    rows.truncate(usize::from(border.y / 2).max(1));
    rows
}
