//! Which pane has the keys, and which run the panes show.

use crate::text::one_line;

use super::keymap::Action;
use super::linked_rows;
use super::message::Effect;
use super::model::Model;
use super::pane_state::{AnswerFocus, Pane};

/// Gives the keys to a pane.
pub fn focus(model: &mut Model, pane: Pane) {
    model.focus = pane;
    stop_acting(model);
    if pane == Pane::Chat {
        linked_rows::end(model);
    } else {
        model.side = pane;
    }
}

/// Letters are typed from now on.
pub fn stop_acting(model: &mut Model) {
    if model.chat.chosen == AnswerFocus::ActedOn {
        model.chat.chosen = AnswerFocus::Yes;
    }
}

/// The panes show the run of that turn.
pub fn show_turn(model: &mut Model, at: usize) {
    let last = model.turns.len().saturating_sub(1);
    model.turns.open(at);
    model.shown = (at != last || model.pending.is_some()).then_some(at);
    let expanded = model.evidence.expanded;
    model.reset_panes();
    model.evidence.expanded = expanded;
    let asked = one_line(&model.turns[at].exchange().query, 60);
    model.inform(&format!(
        "Panes show run {} of {}: {asked}",
        at + 1,
        last + 1
    ));
}

/// Clears the question; the second time in a row it leaves.
pub fn quit(model: &mut Model) -> Vec<Effect> {
    if std::mem::replace(&mut model.leaving, true) {
        return vec![Effect::Quit];
    }
    let key = model.keymap.name_of(Action::Quit).unwrap_or_default();
    if model.prompt.is_empty() {
        model.inform(&format!("{key} again leaves."));
    } else {
        let typed = model.prompt.text();
        model.prompt.remember(&typed);
        model.prompt.set("");
        model.inform(&format!(
            "Question cleared; ↑ brings it back. {key} again leaves."
        ));
    }
    Vec::new()
}

/// Has the terminal report the mouse, or leaves it to select text by itself.
pub fn report(model: &mut Model, wanted: bool) -> Vec<Effect> {
    model.mouse = wanted;
    let key = model.keymap.name_of(Action::Mouse).unwrap_or_default();
    let words = if wanted {
        "The mouse works here again.".to_owned()
    } else {
        format!("The mouse is the terminal's: select text with it. {key} takes it back.")
    };
    model.inform(&words);
    vec![Effect::ReportMouse(wanted)]
}
