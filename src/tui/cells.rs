//! Rows into cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::ink::Row;
use super::theme::Theme;

/// Writes a row into the first line of an area, cut at its edge.
pub fn draw_row(buffer: &mut Buffer, theme: &Theme, area: Rect, row: &Row) {
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
        x = if piece.text.chars().all(is_a_cell) {
            put_chars(buffer, (x, area.y), &piece.text, room, style)
        } else {
            let end = buffer.set_stringn(x, area.y, &piece.text, room, style);
            end.0
        };
    }
}

/// Whether the character stands by itself and takes one cell: ASCII, and the signs that lines and
/// bars are drawn with.
fn is_a_cell(c: char) -> bool {
    matches!(c, ' '..='~' | '·' | '…') || matches!(c, '←'..='↓' | '─'..='◌') && c.width() == Some(1)
}

/// Writes characters that take a cell each, which most do: no cluster has to be looked for. Returns
/// the column behind them.
fn put_chars(buffer: &mut Buffer, at: (u16, u16), text: &str, room: usize, style: Style) -> u16 {
    let start = buffer.index_of(at.0, at.1);
    let cells = buffer.content.iter_mut().skip(start).take(room);
    let mut x = at.0;
    for (cell, c) in cells.zip(text.chars()) {
        cell.set_char(c).set_style(style);
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

#[cfg(test)]
mod tests {
    use ratatui::text::{Line, Span};

    use super::*;
    use crate::tui::ink::Ink;
    use crate::tui::theme::ColorDepth;
    use crate::tui::theme::ThemeName;

    #[test]
    fn ui_a_row_is_written_as_ratatui_writes_it() {
        let theme = Theme::load(ThemeName::DARK, ColorDepth::True).unwrap();
        let rows = [
            vec!["plain text"],
            vec!["│▌ · …", "文字", "x"],
            vec!["e", "\u{301}x"],
            vec!["▶\u{fe0f} play", "◼ stop ◌"],
            vec!["1234567", "文", "after"],
            vec!["12345678", "…·─"],
        ];
        for texts in rows {
            let inks = [Ink::Text, Ink::Citation, Ink::Dim];
            let row = texts
                .iter()
                .zip(inks)
                .fold(Row::default(), |row, (text, ink)| row.add(ink, *text));
            let area = Rect::new(1, 0, 8, 1);
            let mut ours = Buffer::filled(Rect::new(0, 0, 12, 2), ratatui::buffer::Cell::new("~"));
            let mut theirs = ours.clone();
            draw_row(&mut ours, &theme, area, &row);
            let spans = row.pieces.iter();
            let spans = spans.map(|piece| Span::styled(piece.text.as_str(), theme.style_of(piece)));
            theirs.set_line(area.x, area.y, &spans.collect::<Line<'_>>(), area.width);
            assert_eq!(ours, theirs, "{texts:?}");
        }
    }
}
