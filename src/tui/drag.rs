//! What happens between the press of a button and its release.

use ratatui::layout::Position;

use super::layout::Arrangement;
use super::message::Effect;
use super::model::Model;
use super::pointer::Pointer;
use super::selection;

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
