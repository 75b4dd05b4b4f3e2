//! An earlier question is edited: it begins another branch of the conversation, and both are kept.

use crate::protocol::RunId;
use crate::text::one_line;

use super::focus::{focus, show_turn};
use super::keymap::{Action, KeyContext};
use super::model::Model;
use super::pane_state::{AnswerFocus, Pane};
use super::turns::QuestionEdit;

/// Takes a question into the prompt to be edited: the one of that number in the branch that is shown, or
/// that of the run which the panes show.
pub fn edit(model: &mut Model, number: Option<usize>) {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return;
    }
    let at = match number {
        Some(number) => model.turns.place_of_question(number),
        None => model.shown_at(),
    };
    let Some(turn) = at.and_then(|at| model.turns.current().get(at)) else {
        match number {
            Some(number) => model.warn(&format!("There is no question {number} to edit.")),
            None => model.inform("Nothing to edit yet: ask a question."),
        }
        return;
    };
    let (first, query) = (
        turn.exchange().first_run().clone(),
        turn.exchange().query.clone(),
    );
    let number = at.and_then(|at| model.turns.number_of_question(at));
    leave_edit(model);
    model.editing = Some(QuestionEdit {
        first,
        number: number.unwrap_or(1),
        typed: model.prompt.text(),
    });
    focus(model, Pane::Chat);
    model.chat.chosen = AnswerFocus::No;
    model.chat.citation = None;
    model.prompt.set(&query);
}

/// Puts an edited question back into the prompt, in the place of the question of this first run; what
/// is typed there stays until the edit is left.
pub fn edit_again(model: &mut Model, first: &RunId, text: &str) {
    let shown = model.turns.current().iter();
    let mut firsts = shown.map(|turn| turn.exchange().first_run());
    let at = firsts.position(|known| known == first);
    let number = at.and_then(|at| model.turns.number_of_question(at));
    leave_edit(model);
    model.editing = Some(QuestionEdit {
        first: first.clone(),
        number: number.unwrap_or(1),
        typed: model.prompt.text(),
    });
    model.prompt.set(text);
}

/// The next question is a new one again; what was typed before the edit is back, and what was edited
/// can be recalled.
pub fn leave_edit(model: &mut Model) {
    if let Some(edit) = model.editing.take() {
        let edited = model.prompt.text();
        if !edited.trim().is_empty() {
            model.prompt.remember(&edited);
        }
        model.prompt.set(&edit.typed);
    }
}

/// Shows another branch of the conversation, of those that part nearest above what the panes show.
pub fn step_branch(model: &mut Model, by: isize) {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return;
    }
    let shown = model.shown_at();
    let Some(at) = shown.and_then(|at| model.turns.step_branch(at, by)) else {
        let key = model
            .keymap
            .name_in(Action::EditQuestion, KeyContext::Acting);
        let key = key.unwrap_or_else(|| "/edit".to_owned());
        model.inform(&format!(
            "There is one branch. {key} on an answer edits its question."
        ));
        return;
    };
    show_other_branch(model, at);
    let turn = &model.turns.current()[at];
    if let Some(fork) = turn.fork {
        let asked = one_line(&turn.exchange().query, 60);
        model.inform(&format!("Branch {} of {}: {asked}", fork.at, fork.of));
    }
}

/// The branch that is shown is another one now: the panes show this turn of it.
pub fn show_other_branch(model: &mut Model, at: usize) {
    leave_edit(model);
    model.begin_find_again();
    model.chat.follow();
    show_turn(model, at);
    model.chat.chosen = AnswerFocus::Yes;
    model.chat.reveal = true;
}
