//! Lines between the panes.
//!
//! Every line adds the arms it needs to the cells it passes, and a cell's arms choose its sign:
//! any arrangement gets the right corners and crossings without knowing of them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position};
use ratatui::style::Modifier;

use super::ink::Ink;
use super::layout::Arrangement;
use super::model::Model;
use super::pane::Pane;
use super::theme::Theme;

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// Draws all borders; those around the pane that has the keys stand out.
pub fn borders(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    let (width, height) = (places.screen.width, places.screen.height);
    let at = |x: u16, y: u16| usize::from(y) * usize::from(width) + usize::from(x);
    let mut arms = vec![0_u8; usize::from(width) * usize::from(height)];
    for &(y, first, last) in &places.across {
        for x in first..=last {
            arms[at(x, y)] |= if x > first { LEFT } else { 0 } | if x < last { RIGHT } else { 0 };
        }
    }
    for &(x, first, last) in &places.down {
        for y in first..=last {
            arms[at(x, y)] |= if y > first { UP } else { 0 } | if y < last { DOWN } else { 0 };
        }
    }
    let focused = places.pane(model.focus).map(|area| {
        // The border runs around the title row and, for the chat, around the prompt.
        let mut around = area;
        for &(pane, title) in &places.titles {
            if pane == model.focus && title.width == area.width {
                around = around.union(title);
            }
        }
        if let Some(prompt) = places.prompt.filter(|_| model.focus == Pane::Chat) {
            around = around.union(prompt);
        }
        around.outer(Margin::new(1, 1))
    });
    for (y, line) in (0..height).zip(arms.chunks(width.into())) {
        for (x, arms) in (0..width).zip(line).filter(|(_, arms)| **arms != 0) {
            let sign = match *arms {
                arms if arms == LEFT | RIGHT => "─",
                arms if arms == UP | DOWN => "│",
                arms if arms == RIGHT | DOWN => "┌",
                arms if arms == LEFT | DOWN => "┐",
                arms if arms == RIGHT | UP => "└",
                arms if arms == LEFT | UP => "┘",
                arms if arms == UP | DOWN | RIGHT => "├",
                arms if arms == UP | DOWN | LEFT => "┤",
                arms if arms == LEFT | RIGHT | DOWN => "┬",
                arms if arms == LEFT | RIGHT | UP => "┴",
                _ => "┼",
            };
            let lit = focused.is_some_and(|area| area.contains(Position::new(x, y)));
            let ink = if lit { Ink::Focus } else { Ink::Border };
            let style = theme.style(ink).remove_modifier(Modifier::BOLD);
            if let Some(cell) = buffer.cell_mut(Position::new(x, y)) {
                cell.set_symbol(sign).set_style(style);
            }
        }
    }
}
