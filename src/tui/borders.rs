//! Lines between the panes.
//!
//! Every line merges its signs with those of the cells it passes: any arrangement gets the right
//! corners and crossings without knowing of them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position};
use ratatui::style::Modifier;
use ratatui::symbols::merge::MergeStrategy;

use super::ink::Ink;
use super::layout::Arrangement;
use super::model::Model;
use super::pane::Pane;
use super::theme::Theme;

/// Draws all borders; those around the pane that has the keys stand out.
pub fn borders(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
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
    let mut draw = |x: u16, y: u16, sign: &str| {
        let at = Position::new(x, y);
        let lit = focused.is_some_and(|area| area.contains(at));
        let ink = if lit { Ink::Focus } else { Ink::Border };
        let style = theme.style(ink).remove_modifier(Modifier::BOLD);
        if let Some(cell) = buffer.cell_mut(at) {
            cell.merge_symbol(sign, MergeStrategy::Exact)
                .set_style(style);
        }
    };
    for &(y, first, last) in &places.across {
        line(first, last, ["╶", "─", "╴"], |x, sign| {
            draw(x, y, sign);
        });
    }
    for &(x, first, last) in &places.down {
        line(first, last, ["╷", "│", "╵"], |y, sign| {
            draw(x, y, sign);
        });
    }
}

/// Half a sign at each end of a line and whole ones between.
fn line(first: u16, last: u16, signs: [&str; 3], mut draw: impl FnMut(u16, &str)) {
    for at in (first..=last).filter(|_| first < last) {
        let sign = usize::from(at > first) + usize::from(at == last);
        draw(at, signs[sign]);
    }
}
