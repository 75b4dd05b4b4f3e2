//! The mouse: the wheel scrolls what is under it, a click gives a pane the keys and selects.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::focus::{focus, show_turn};
use super::keymap::Action;
use super::layout::Arrangement;
use super::model::{Effect, Model, TurnView};
use super::pane_state::{AnswerFocus, Pane, PathItem, Pointer};
use super::panes::chat;
use super::{act, audit, copy, focus, menu, reading, window_keys};

/// Rows that one turn of the wheel moves.
const WHEEL: isize = 3;

/// What the wheel and the left button do.
pub fn mouse(model: &mut Model, event: MouseEvent) -> Option<Effect> {
    let position = Position::new(event.column, event.row);
    let by = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            press(model, position);
            0
        }
        MouseEventKind::Drag(MouseButton::Left) => {
            drag(model, position);
            return None;
        }
        MouseEventKind::Up(MouseButton::Left) => return release(model),
        kind => {
            model.pointer.selection = None;
            match kind {
                MouseEventKind::ScrollUp => -WHEEL,
                MouseEventKind::ScrollDown => WHEEL,
                _ => return None,
            }
        }
    };
    if let Some(window) = &mut model.overlay {
        if by == 0 {
            return window_keys::click(model, position);
        }
        window.list.step(by);
        return None;
    }
    if menu::contains(model, position) {
        if by != 0 {
            model.menu.list.step(by);
        } else if let Some(row) = menu::row_at(model, position) {
            model.menu.list.selected = row;
            return act::on_menu(model, Action::Open);
        }
        return None;
    }
    if let Some(view) = &mut model.reading {
        view.step(by);
        return reading::more(model);
    }
    let places = Arrangement::new(model);
    let pane = places.pane_at(position)?;
    if by == 0 {
        focus(model, pane);
        let area = places.pane(pane).filter(|area| area.contains(position))?;
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
                    focus::select_item(model, PathItem::ALL[clicked]);
                }
            }
        }
        return None;
    }
    match pane {
        Pane::Chat => model.chat.step(by),
        Pane::Path if model.path.unrolled => model.path.list.step(by),
        Pane::Path => focus::step_item(model, |list| list.step(by.signum())),
        Pane::Evidence => model.evidence.list.step(by),
        Pane::Audit => audit::step(model, |list| list.step(by)),
    }
    None
}

/// A click on an answer chooses it: the panes go to its run. On the mark of a citation it shows the
/// source.
fn answer(model: &mut Model, row: usize, column: usize) -> Option<Effect> {
    let (shown, turn) = model.chat.visible.get(row).zip(model.chat.turns.get(row))?;
    let n = chat::citation_at_column(shown, column);
    let (turn, exchange) = (
        *turn,
        model.turns.current().get(*turn).map(TurnView::exchange),
    );
    let mut cited = exchange
        .into_iter()
        .flat_map(|exchange| &exchange.citations);
    let at = n.and_then(|n| cited.position(|citation| citation.n == n));
    if turn >= model.turns.current().len() {
        return None;
    }
    if model.shown_at() != Some(turn) {
        show_turn(model, turn);
    }
    model.chat.chosen = AnswerFocus::Yes;
    let at = at?;
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
        None => copy::extend(model, pressed, to),
    }
}

/// The button is up again: what was selected is copied, where borders stand is remembered.
pub fn release(model: &mut Model) -> Option<Effect> {
    model.pointer.pressed.take()?;
    if model.pointer.divider.take().is_some() {
        return Some(Effect::KeepSplit(model.split));
    }
    copy::copy_selected(model)
}
