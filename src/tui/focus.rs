//! Which pane has the keys, and which run the panes show.

use crate::protocol::NoticeLevel;
use crate::text::one_line;

use super::linked_rows;
use super::list::List;
use super::model::Model;
use super::pane::Pane;
use super::pane_state::AnswerFocus;

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
    model.chat.citation = None;
    model.evidence.list = List::default();
    model.evidence.widths = None;
    model.path.list = List::default();
    model.path.selected = None;
    model.audit.left_end = false;
    let asked = one_line(&model.turns[at].exchange().query, 60);
    model.notify(
        NoticeLevel::Info,
        &format!("Panes show run {} of {}: {asked}", at + 1, last + 1),
    );
}
