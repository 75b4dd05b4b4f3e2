//! The one line for the person, above or in the lower border.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::NoticeLevel;

use super::ink::{Ink, Row, wrap};
use super::model::{Model, Notice};
use super::theme::{Theme, clear, draw_row};

/// The line of a border that a notice may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoticeLine {
    /// All cells of the border line.
    pub border: Rect,
    /// Cells at its end that a counter takes.
    pub counter: u16,
}

/// Draws it on a line of a border; what is longer takes lines above that.
pub fn notice(model: &Model, place: NoticeLine, theme: &Theme, buffer: &mut Buffer) {
    let Some(notice) = &model.notice else {
        return;
    };
    let (_, ink) = looks(notice);
    let border = place.border;
    let (rows, is_above) = rows(notice, place);
    let bottom = border.y - u16::from(is_above);
    for (at, row) in rows.iter().enumerate() {
        let line = Rect {
            y: bottom.saturating_sub((rows.len() - 1 - at) as u16),
            ..border
        };
        let row = row.clone().add(ink, " ");
        // The look of what lies below must not shine through, nor its letters between the notice and
        // the frame.
        let cleared = if is_above {
            let (x, width) = (line.x.saturating_sub(1), line.width + 2);
            Rect { x, width, ..line }
        } else {
            let width = line.width.min(row.width() as u16);
            Rect { width, ..line }
        };
        clear(cleared, buffer);
        draw_row(buffer, theme, line, &row);
    }
}

/// The lines above the border that it takes.
pub fn lines_above(notice: &Notice, place: NoticeLine) -> u16 {
    match rows(notice, place) {
        (_, false) => 0,
        (rows, true) => rows.len() as u16,
    }
}

fn looks(notice: &Notice) -> (&'static str, Ink) {
    match notice.level {
        NoticeLevel::Info => (" ", Ink::Info),
        NoticeLevel::Warning => (" ⚠ ", Ink::Warning),
    }
}

/// Its rows, and whether they stand above the border: so does what is longer than the border has
/// room for, since a warning that is cut says nothing, and a border with a hole in it looks broken.
fn rows(notice: &Notice, place: NoticeLine) -> (Vec<Row>, bool) {
    let (sign, ink) = looks(notice);
    let indent = Row::new(ink, " ".repeat(sign.chars().count()));
    let message = Row::new(ink, notice.message.clone());
    let within = |width: u16| {
        let width = usize::from(width).saturating_sub(2);
        wrap(&message, &Row::new(ink, sign), &indent, width)
    };
    let NoticeLine { border, counter } = place;
    let rows = within(border.width.saturating_sub(counter));
    if rows.len() == 1 {
        return (rows, false);
    }
    let mut rows = within(border.width);
    rows.truncate(usize::from(border.y / 2).max(1));
    (rows, true)
}
