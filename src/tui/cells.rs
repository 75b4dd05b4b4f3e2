//! Rows into cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::ink::Row;
use super::theme::Theme;

/// Writes a row into the first line of an area, cut at its edge.
pub fn put(buffer: &mut Buffer, theme: &Theme, area: Rect, row: &Row) {
    if area.is_empty() {
        return;
    }
    let end = area.right().min(buffer.area.right());
    let mut x = area.x;
    for piece in &row.pieces {
        if x >= end {
            return;
        }
        let style = theme.style_of(piece);
        let room = usize::from(end - x);
        x = if piece.text.is_ascii() {
            put_ascii(buffer, (x, area.y), &piece.text, room, style)
        } else {
            let end = buffer.set_stringn(x, area.y, &piece.text, room, style);
            end.0
        };
    }
}

/// One character a cell, which is most of what is drawn: nothing has to be looked up for it. Returns
/// the column behind it.
fn put_ascii(buffer: &mut Buffer, at: (u16, u16), text: &str, room: usize, style: Style) -> u16 {
    let shown = text.bytes().filter(|byte| !byte.is_ascii_control());
    let start = buffer.index_of(at.0, at.1);
    let cells = buffer.content.iter_mut().skip(start).take(room);
    let mut x = at.0;
    for (cell, byte) in cells.zip(shown) {
        cell.set_char(byte.into()).set_style(style);
        x += 1;
    }
    x
}

/// Empties an area; a wide character that reaches into it goes as a whole.
pub fn clear(area: Rect, buffer: &mut Buffer) {
    Clear.render(area, buffer);
    if let Some(x) = area.x.checked_sub(1) {
        for y in area.top()..area.bottom() {
            if let Some(cell) = buffer.cell_mut((x, y))
                && cell.symbol().width() > 1
            {
                cell.set_symbol(" ");
            }
        }
    }
}
