//! The one line for the person, above or in the lower border.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::NoticeLevel;

use super::cells::{clear, put};
use super::ink::{Ink, Row};
use super::layout::Arrangement;
use super::model::Model;
use super::theme::Theme;
use super::wrap::wrap;

/// Draws it; what is longer than the border takes lines above it.
pub fn notice(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    let Some(notice) = &model.notice else {
        return;
    };
    let (sign, ink) = match notice.level {
        NoticeLevel::Info => (" ", Ink::Info),
        NoticeLevel::Warning => (" ⚠ ", Ink::Warning),
    };
    let width = usize::from(places.notice.width).saturating_sub(2);
    let indent = Row::of(ink, " ".repeat(sign.chars().count()));
    let message = Row::of(ink, notice.message.clone());
    // What is longer than the border stands above it: a warning that is cut says nothing, and a
    // border with a hole in it looks broken.
    let rows = wrap(&message, &Row::of(ink, sign), &indent, width);
    let rows = &rows[..rows.len().min(usize::from(places.notice.y / 2).max(1))];
    let bottom = places.notice.y - u16::from(rows.len() > 1);
    for (at, row) in rows.iter().enumerate() {
        let line = Rect {
            y: bottom.saturating_sub((rows.len() - 1 - at) as u16),
            ..places.notice
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
