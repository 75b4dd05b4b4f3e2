//! Two runs beside each other: which two, and how a race of two routes comes to be shown.

use crate::protocol::{Command, RunId};

use super::fold::Exchange;
use super::message::Effect;
use super::model::{Model, Overlay, TurnQuestion};
use super::prompt::MAX_QUESTION;

/// Compares the run that the panes show with another of its question, else with the one before.
pub fn open(model: &mut Model) {
    let Some(at) = model.shown_at() else {
        model.inform("Nothing to compare yet: ask a question.");
        return;
    };
    let Some(other) = partner(model, at) else {
        model.inform("Nothing to compare yet. Retry by another route (r), or use /race.");
        return;
    };
    // The earlier one stands on the left.
    let (left, right) = (at.min(other), at.max(other));
    model.turns.open(left);
    model.turns.open(right);
    let id = |at: usize| model.turns[at].exchange().id.clone();
    let (left, right) = (id(left), id(right));
    model.open(Overlay::Compare { left, right });
}

/// The last other run of the same question, else the nearest run.
fn partner(model: &Model, at: usize) -> Option<usize> {
    let shown = model.turns[at].exchange();
    let others = || (0..model.turns.len()).filter(|other| *other != at);
    let same = others().rfind(|other| is_same_question(shown, model.turns[*other].exchange()));
    same.or_else(|| others().min_by_key(|other| (other.abs_diff(at), *other)))
}

fn is_same_question(a: &Exchange, b: &Exchange) -> bool {
    fn first(exchange: &Exchange) -> &RunId {
        exchange.retry_of.as_ref().unwrap_or(&exchange.id)
    }
    first(a) == first(b) || a.query.trim() == b.query.trim()
}

/// Puts another run on the right.
pub fn step(model: &mut Model, by: isize) {
    let at = |id: &RunId| model.turns.place_of_open(id);
    let Some(Overlay::Compare { left: id, right }) = model.shown_overlay() else {
        return;
    };
    let (id, left, right) = (id.clone(), at(id), at(right));
    let (Some(left), Some(right)) = (left, right) else {
        return;
    };
    let count = model.turns.len().cast_signed();
    let step = by.signum();
    let mut next = right;
    for _ in 0..count {
        next = (next.cast_signed() + step)
            .rem_euclid(count)
            .cast_unsigned();
        if next != left {
            break;
        }
    }
    model.turns.open(next);
    let right = model.turns[next].exchange().id.clone();
    model.open(Overlay::Compare { left: id, right });
}

/// Asks one question by the short way and by the full pipeline at the same time.
pub fn race(model: &mut Model, question: Option<&str>) -> Vec<Effect> {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return Vec::new();
    }
    if model.choosing.is_some() {
        model.inform("A model is still being checked; try again.");
        return Vec::new();
    }
    let shown = model.shown_run().map(|run| run.query.clone());
    let Some(query) = question.map(str::to_owned).or(shown) else {
        model.inform("/race needs a question.");
        return Vec::new();
    };
    if query.len() > MAX_QUESTION {
        model.warn("The question is too long to be sent.");
        return Vec::new();
    }
    model.prompt.remember(&query);
    model.notice = None;
    model.shown = None;
    model.chat.follow();
    model.racing = Some(Vec::new());
    model.pending = Some(TurnQuestion::new(query.clone(), None));
    vec![Effect::Send(Command::Race { query })]
}

/// A run has begun: once both of a race have, they are shown beside each other.
pub fn note_run_start(model: &mut Model, run: &RunId) {
    let Some(racing) = &mut model.racing else {
        return;
    };
    racing.push(run.clone());
    let [first, second] = &racing[..] else {
        return;
    };
    let (left, right) = (first.clone(), second.clone());
    model.racing = None;
    model.open(Overlay::Compare { left, right });
}
