//! The mouse: the wheel scrolls what is under it, a click gives a pane the keys and selects.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::focus::{focus, show_turn};
use super::keymap::Action;
use super::layout::Arrangement;
use super::message::Effect;
use super::model::{Model, TurnView};
use super::pane_state::{AnswerFocus, Pane, PathItem};
use super::panes::citations;
use super::pointer::Pointer;
use super::{audit, commands, linked_rows, menu, reading, selection, window_keys};

/// Rows that one turn of the wheel moves.
const WHEEL: isize = 3;

/// What the wheel and the left button do.
pub fn mouse(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    let position = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => press(model, position),
        MouseEventKind::Drag(MouseButton::Left) => {
            drag(model, position);
            return Vec::new();
        }
        MouseEventKind::Up(MouseButton::Left) => return release(model),
        _ => model.pointer.selection = None,
    }
    let by = match event.kind {
        MouseEventKind::ScrollUp => -WHEEL,
        MouseEventKind::ScrollDown => WHEEL,
        MouseEventKind::Down(MouseButton::Left) => 0,
        _ => return Vec::new(),
    };
    let position = Position::new(event.column, event.row);
    if let Some(window) = &mut model.overlay {
        if by == 0 {
            return window_keys::click(model, position);
        }
        window.list.step(by);
        return Vec::new();
    }
    if menu::contains(model, position) {
        if by != 0 {
            model.menu.list.step(by);
        } else if let Some(row) = menu::row_at(model, position) {
            model.menu.list.selected = row;
            return commands::on_menu(model, Action::Open);
        }
        return Vec::new();
    }
    if let Some(view) = &mut model.reading {
        view.step(by);
        return reading::more(model);
    }
    let places = Arrangement::new(model);
    let Some(pane) = places.pane_at(position) else {
        return Vec::new();
    };
    if by == 0 {
        focus(model, pane);
        let Some(area) = places.pane(pane).filter(|area| area.contains(position)) else {
            return Vec::new();
        };
        let row = usize::from(position.y - area.y);
        match pane {
            Pane::Evidence => {
                if let Some(clicked) = model.evidence.drawn.item(row) {
                    model.evidence.list.selected = clicked;
                }
            }
            Pane::Audit => {
                if let Some(clicked) = model.audit.drawn.item(row) {
                    audit::select(model, clicked);
                }
            }
            Pane::Chat => {
                let column = usize::from(position.x - area.x);
                return answer(model, row, column);
            }
            Pane::Path => {
                if let Some(clicked) = model.path.drawn.item(row) {
                    linked_rows::select(model, PathItem::ALL[clicked]);
                }
            }
        }
        return Vec::new();
    }
    match pane {
        Pane::Chat => model.chat.step(by),
        Pane::Path if model.path.unrolled => model.path.list.step(by),
        Pane::Path => linked_rows::step(model, |list| list.step(by.signum())),
        Pane::Evidence => model.evidence.list.step(by),
        Pane::Audit => audit::step(model, |list| list.step(by)),
    }
    Vec::new()
}

/// A click on an answer chooses it: the panes go to its run. On the mark of a citation it shows the
/// source.
fn answer(model: &mut Model, row: usize, column: usize) -> Vec<Effect> {
    let Some((shown, turn)) = model.chat.visible.get(row).zip(model.chat.turns.get(row)) else {
        return Vec::new();
    };
    let n = citations::at_column(shown, column);
    let (turn, exchange) = (*turn, model.turns.get(*turn).map(TurnView::exchange));
    let at = n.and_then(|n| {
        exchange?
            .citations
            .iter()
            .position(|citation| citation.n == n)
    });
    if turn >= model.turns.len() {
        return Vec::new();
    }
    if model.shown_at() != Some(turn) {
        show_turn(model, turn);
    }
    model.chat.chosen = AnswerFocus::Yes;
    let Some(at) = at else {
        return Vec::new();
    };
    model.chat.citation = Some(at);
    reading::open_citation(model)
}

/// The button went down.
pub fn press(model: &mut Model, at: Position) {
    let is_free = model.overlay.is_none() && model.reading.is_none();
    let borders = Arrangement::new(model).borders;
    let border = borders
        .iter()
        .find(|border| is_free && border.line.contains(at));
    model.pointer = Pointer {
        pressed: Some(at),
        divider: border.map(|border| border.divider),
        selection: None,
    };
}

/// The mouse moved while the button was down: a border moves with it, or text is selected.
pub fn drag(model: &mut Model, to: Position) {
    let Some(pressed) = model.pointer.pressed else {
        return;
    };
    match model.pointer.divider {
        Some(divider) => {
            let borders = Arrangement::new(model).borders;
            if let Some(border) = borders.iter().find(|border| border.divider == divider) {
                model.split.drag(border, to);
            }
        }
        None => selection::extend(model, pressed, to),
    }
}

/// The button is up again: what was selected is copied, where borders stand is remembered.
pub fn release(model: &mut Model) -> Vec<Effect> {
    if model.pointer.pressed.take().is_none() {
        return Vec::new();
    }
    if model.pointer.divider.take().is_some() {
        return vec![Effect::KeepSplit(model.split)];
    }
    selection::copy_selected(model)
}
