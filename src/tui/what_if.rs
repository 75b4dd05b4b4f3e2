//! What the keys do while limits are moved.

use crate::protocol::NoticeLevel;

use super::keymap::Action;
use super::model::{Model, Overlay};
use super::sliders::Sliders;

/// How far a key moves a slider.
const STEP: i64 = 1;
/// How far it does with Shift.
const LEAP: i64 = 10;

/// Opens the window over the run that the panes show.
pub fn open(model: &mut Model) {
    if model.shown_run().is_none() {
        model.notify(NoticeLevel::Info, "Nothing was asked yet.");
        return;
    }
    model.open(Overlay::WhatIf(Sliders::default()));
}

/// An action of the window; `false` where it is none.
pub fn act(model: &mut Model, action: Action) -> bool {
    let recorded = model.shown_run().map(|run| run.limits);
    let shown = model.overlay.as_mut().map(|window| &mut window.shown);
    let (Some(Overlay::WhatIf(sliders)), Some(recorded)) = (shown, recorded) else {
        return false;
    };
    match action {
        Action::Up => sliders.select(-1),
        Action::Down => sliders.select(1),
        Action::Less => sliders.step(-STEP, &recorded),
        Action::More => sliders.step(STEP, &recorded),
        Action::MuchLess => sliders.step(-LEAP, &recorded),
        Action::MuchMore => sliders.step(LEAP, &recorded),
        Action::Reset => sliders.reset(),
        _ => return false,
    }
    true
}
