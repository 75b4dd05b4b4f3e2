//! Rows into cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::ink::Row;
use super::theme::Theme;

/// Writes a row into the first line of an area, cut at its edge.
pub fn put(buffer: &mut Buffer, theme: &Theme, area: Rect, row: &Row) {
    if area.is_empty() {
        return;
    }
    buffer.set_line(area.x, area.y, &theme.line(row), area.width);
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
