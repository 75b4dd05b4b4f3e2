//! The window that lies above the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};

use super::cells::{clear, draw_row};
use super::ink::{Ink, Row};
use super::layout::Arrangement;
use super::model::{Model, Overlay};
use super::overlays;
use super::theme::Theme;

/// A strip beside a window that is no wider shows only torn lines.
const NARROW_STRIP: u16 = 3;

/// Draws the overlay in the middle of the screen, with a frame of its own.
pub fn window(
    model: &Model,
    shown: &Overlay,
    places: &Arrangement,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let room = match shown {
        Overlay::Compare(_) => places.wide_overlay_room(),
        _ => places.overlay_room(),
    };
    let (title, rows) = overlays::rows(model, shown, room.width.into());
    let inside = inside(shown, rows.len(), room);
    let height = inside.height;
    let around = inside.outer(Margin::new(2, 1)).intersection(places.screen);
    clear(around, buffer);
    clear_side_strips(around, places.screen, buffer);
    let horizontal = "─".repeat(usize::from(around.width.saturating_sub(2)));
    let line = |y: u16| Rect {
        y,
        height: 1,
        ..around
    };
    draw_row(
        buffer,
        theme,
        line(around.y),
        &Row::new(Ink::Focus, format!("┌{horizontal}┐")),
    );
    for y in around.y + 1..around.bottom() - 1 {
        draw_row(buffer, theme, line(y), &Row::new(Ink::Focus, "│"));
        let right = Rect {
            x: around.right() - 1,
            width: 1,
            ..line(y)
        };
        draw_row(buffer, theme, right, &Row::new(Ink::Focus, "│"));
    }
    let bottom = around.bottom() - 1;
    draw_row(
        buffer,
        theme,
        line(bottom),
        &Row::new(Ink::Focus, format!("└{horizontal}┘")),
    );
    let head = Rect {
        x: around.x + 2,
        width: around.width.saturating_sub(4),
        ..line(around.y)
    };
    draw_row(
        buffer,
        theme,
        head,
        &match shown {
            Overlay::Palette(palette) => Row::new(Ink::Focus, format!(" {title} > "))
                .add(Ink::Text, palette.typed.clone())
                .add(Ink::Focus, "▏ "),
            _ => Row::new(Ink::Focus, format!(" {title} ")),
        },
    );
    let (top, seen) = (shown.list().top, usize::from(height));
    if rows.len() > seen {
        let last = (top + seen).min(rows.len());
        let part = format!(" {}–{last} of {} ", top + 1, rows.len());
        let width = (part.chars().count() as u16).min(head.width);
        let foot = Rect {
            x: head.right() - width,
            width,
            ..line(bottom)
        };
        draw_row(buffer, theme, foot, &Row::new(Ink::Dim, part));
    }
    for (at, (line, row)) in inside.rows().zip(rows.iter().skip(top)).enumerate() {
        draw_row(buffer, theme, line, row);
        if shown.is_choice() && shown.list().selected == top + at {
            buffer.set_style(line, theme.style(Ink::Selected));
        }
    }
}

/// The rows of a window within its frame. What is typed into keeps its place as its rows change.
pub fn inside(shown: &Overlay, rows: usize, room: Rect) -> Rect {
    let height = room.height.min(rows.max(1) as u16);
    let above = match shown {
        Overlay::Palette(_) => 0,
        _ => (room.height - height) / 2,
    };
    Rect {
        y: room.y + above,
        height,
        ..room
    }
}

/// Which row of the window is at this cell.
pub fn row_at(model: &Model, shown: &Overlay, position: Position) -> Option<usize> {
    let room = Arrangement::new(model).overlay_room();
    let (_, rows) = overlays::rows(model, shown, room.width.into());
    let inside = inside(shown, rows.len(), room);
    let row = usize::from(position.y.checked_sub(inside.y)?);
    let at = shown.list().top + row;
    (inside.contains(position) && at < rows.len()).then_some(at)
}

/// Empties the strips between a window and the frame where they are too narrow for anything but
/// torn lines; the frame goes on straight there.
pub fn clear_side_strips(window: Rect, screen: Rect, buffer: &mut Buffer) {
    let (first, last) = (screen.x, screen.right() - 1);
    for (frame, from, to) in [(first, first + 1, window.x), (last, window.right(), last)] {
        let strip = Rect {
            x: from,
            width: to.saturating_sub(from),
            ..window
        };
        if strip.is_empty() || strip.width > NARROW_STRIP {
            continue;
        }
        clear(strip, buffer);
        for y in window.top()..window.bottom() {
            if let Some(cell) = buffer.cell_mut((frame, y)) {
                cell.set_symbol("│");
            }
        }
    }
}
