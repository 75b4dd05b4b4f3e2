//! A recorded conversation on the screen, as it was.
//!
//! The panes are folds over events, and the log holds the events, so nothing else is needed. What
//! the log does not hold is not made up: pieces of an answer that was not finished, prompts, and
//! what was masked.

use std::sync::Arc;

use crate::protocol::{Event, EventPacker, NoticeLevel, RecordedSession, Timestamp};

use super::list::List;
use super::model::{EvidenceState, Model, TurnView};
use super::pane_state::ChatScroll;

/// Shows this conversation instead of the one that is shown.
pub fn show(model: &mut Model, mut recorded: RecordedSession) {
    model.turns = turns(std::mem::take(&mut recorded.events)).into();
    let last = model.turns.len().saturating_sub(1);
    let of_run = |turn: &TurnView| Some(&turn.exchange().id) == recorded.shown.as_ref();
    model.shown = model.turns.iter().position(of_run).filter(|at| *at != last);
    model.pending = None;
    model.current = None;
    model.chat = ChatScroll::default();
    model.begin_find_again();
    model.path.list = List::default();
    model.path.selected = None;
    model.evidence = EvidenceState::default();
    model.audit.list = List::default();
    model.audit.left_end = false;
    for turn in model.turns.iter() {
        model.prompt.remember(&turn.exchange().query);
    }
    model.keep_open();
    let words = words(model, &recorded);
    // What was to be said at the start has no empty conversation to stand in.
    match std::mem::take(&mut model.greetings).as_slice() {
        [] => model.notify(NoticeLevel::Info, &words),
        greetings => {
            let words = format!("{words} · {}", greetings.join(" · "));
            model.notify(NoticeLevel::Warning, &words);
        }
    }
}

/// What is said of it: how much there is, and that it stands here as the log holds it.
fn words(model: &Model, recorded: &RecordedSession) -> String {
    let count = model.turns.len();
    let runs = if count == 1 { "run" } else { "runs" };
    let since = model
        .turns
        .first()
        .map(|turn| turn.exchange().started.minute());
    let of = since.map_or_else(String::new, |time| format!(" since {time}"));
    let name = recorded
        .name
        .as_deref()
        .map_or_else(String::new, |name| format!(" '{name}'"));
    let left_out = match recorded.left_out {
        0 => String::new(),
        more => format!("; {more} earlier ones are only in 'kb-agent runs'"),
    };
    format!("Resumed{name}: {count} {runs}{of}, as the audit log holds them{left_out}.")
}

/// The runs of these events. One that has ended is packed before the next begins.
pub fn turns(events: Vec<Event>) -> Vec<TurnView> {
    let mut turns: Vec<TurnView> = Vec::new();
    let mut packer = EventPacker::default();
    let mut now = Timestamp(0);
    for event in events {
        now = now.max(event.ts);
        let event = Arc::new(event);
        if let Some(mut turn) = TurnView::begin(&event) {
            turn.record();
            turn.place_after(&turns);
            if let Some(last) = turns.last_mut() {
                last.close(&mut packer);
            }
            turns.push(turn);
        } else if let Some(turn) = turns
            .iter_mut()
            .rfind(|turn| turn.exchange().id == event.run)
        {
            turn.take(&event);
        }
    }
    for turn in &mut turns {
        let trail = turn.opened().and_then(|open| open.trail.last());
        let last = trail.map_or(now, |row| row.ts);
        turn.abandon("no end is recorded", last);
    }
    turns
}
