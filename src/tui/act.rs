//! What the actions of the keymap do.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent};

use crate::protocol::Command;

use super::find::Find;
use super::focus::{focus, quit, show_turn};
use super::keymap::{Action, KeyContext};
use super::message::Effect;
use super::model::{Model, Overlay};
use super::pane_state::{AnswerFocus, List, Pane};
use super::panes::path;
use super::slash::COMMANDS;
use super::sliders::Sliders;
use super::window::Page;
use super::{
    ask, audit, compare, copy, focus, linked_rows, models, palette, reading, run_history, sessions,
};

/// An action while nothing lies above the panes.
pub fn on_panes(model: &mut Model, action: Action, event: KeyEvent) -> Vec<Effect> {
    match action {
        Action::Send => return ask::send(model),
        Action::Newline => model.prompt.newline(),
        Action::HistoryPrevious => model.prompt.history_previous(event),
        Action::HistoryNext => model.prompt.history_next(event),
        Action::PageUp if model.focus == Pane::Chat => model.chat.page(-1),
        Action::PageDown if model.focus == Pane::Chat => model.chat.page(1),
        Action::First if model.focus == Pane::Chat => model.chat.first(),
        Action::Last if model.focus == Pane::Chat => model.chat.last(),
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::First
        | Action::Last => scroll(model, action),
        Action::Open if model.focus == Pane::Evidence => return reading::open_selected(model),
        Action::Open if model.focus == Pane::Chat => return reading::open_citation(model),
        Action::NextCitation => select_citation(model, 1),
        Action::PreviousCitation => select_citation(model, -1),
        Action::Open => open(model),
        Action::Unfold if model.focus == Pane::Audit => audit::unfold(model),
        Action::Unfold => model.evidence.expanded = !model.evidence.expanded,
        Action::Unroll => {
            model.path.unrolled = !model.path.unrolled;
            model.path.list = List::default();
        }
        Action::Filter => {
            model.audit.typing = true;
            model.audit.left_end = false;
        }
        Action::NextWarning => audit::next_warning(model, true),
        Action::PreviousWarning => audit::next_warning(model, false),
        Action::Zoom => model.zoomed = !model.zoomed,
        Action::Help => model.open(Overlay::Help),
        Action::NextPane => focus(model, model.focus.step(1)),
        Action::PreviousPane => focus(model, model.focus.step(-1)),
        Action::FocusChat => focus(model, Pane::Chat),
        Action::FocusPath => focus(model, Pane::Path),
        Action::FocusEvidence => focus(model, Pane::Evidence),
        Action::FocusAudit => focus(model, Pane::Audit),
        Action::PreviousRun => show_run(model, -1),
        Action::NextRun => show_run(model, 1),
        Action::Retry => ask::choose_route(model),
        Action::Sessions => return sessions::open(model),
        Action::Recall => ask::open_recall(model),
        Action::Export => return sessions::export_shown(model),
        Action::Compare => compare::open(model),
        Action::Palette => palette::open(model),
        Action::Samples => ask::offer_samples(model),
        Action::Find => {
            focus(model, Pane::Chat);
            model.find = Some(Find::default());
        }
        Action::Stats => return run_history::open(model),
        Action::ShowIndex => model.open(Overlay::Page(Page::Index)),
        Action::ShowSources => model.open(Overlay::Page(Page::Sources)),
        Action::ShowEngine => model.open(Overlay::Page(Page::Engine)),
        Action::ChooseModel => return models::open(model, None),
        Action::Forget => return ask::forget(model),
        Action::Cancel => return cancel(model),
        Action::Quit => return quit(model),
        Action::Leave => return vec![Effect::Quit],
        Action::Suspend => return vec![Effect::Suspend],
        Action::WhatIf => what_if(model),
        Action::Replay => return vec![Effect::Replay { slow: false }],
        Action::Copy => return copy::copy(model),
        Action::CopyRun => return copy::copy_run(model),
        Action::Mouse => return focus::report(model, !model.mouse),
        Action::Race => return compare::race(model, None),
        Action::Route | Action::Theme | Action::Add => begin(model, action),
        Action::ActOnAnswer => model.chat.chosen = AnswerFocus::ActedOn,
        // Only while a document is read, a run is replayed or a window is open.
        _ => {}
    }
    Vec::new()
}

fn scroll(model: &mut Model, action: Action) {
    let by = |list: &mut List| {
        list.act(action);
    };
    match model.focus {
        Pane::Chat => {}
        Pane::Path if model.path.unrolled => by(&mut model.path.list),
        Pane::Path => linked_rows::step(model, by),
        Pane::Evidence => by(&mut model.evidence.list),
        Pane::Audit => audit::step(model, by),
    }
}

fn open(model: &mut Model) {
    match model.focus {
        Pane::Chat | Pane::Evidence => {}
        Pane::Path => {
            let item = path::current(model);
            if model.shown_run().is_some() {
                linked_rows::select(model, item);
            }
            let unfolded = BTreeSet::new();
            model.open(Overlay::Detail { item, unfolded });
        }
        Pane::Audit => audit::open(model),
    }
}

/// Begins to type the command that does this: its argument is still to be chosen.
pub fn begin(model: &mut Model, action: Action) {
    if let Some(command) = COMMANDS.iter().find(|known| known.does == action) {
        focus(model, Pane::Chat);
        model.prompt.set(&format!("{} ", command.name));
    }
}

/// Opens the window of limits that can be moved, over the run that the panes show.
fn what_if(model: &mut Model) {
    if model.shown_run().is_some() {
        model.open(Overlay::WhatIf(Sliders::default()));
    } else {
        model.inform("Nothing was asked yet.");
    }
}

/// A key that means something as long as nothing is typed, although it is a letter.
pub fn on_empty_prompt(
    model: &mut Model,
    event: KeyEvent,
    action: Option<Action>,
) -> Option<Vec<Effect>> {
    if event.code == KeyCode::Char('?') {
        return Some(on_panes(model, Action::Help, event));
    }
    let citation = [Action::NextCitation, Action::PreviousCitation];
    let meant = model.keymap.action(event, &[KeyContext::Answer]);
    let is_answered = model.shown_run().is_some_and(|run| run.finish.is_some());
    if action.is_some() || !is_answered || !meant.is_some_and(|meant| citation.contains(&meant)) {
        return None;
    }
    model.inform("This answer cites nothing.");
    Some(Vec::new())
}

/// Goes round: after the last citation comes the first.
fn select_citation(model: &mut Model, by: isize) {
    let count = model.shown_run().map_or(0, |run| run.citations.len());
    if count == 0 {
        return;
    }
    let at = match model.chat.citation {
        Some(at) => (at.min(count - 1).cast_signed() + by).rem_euclid(count.cast_signed()) as usize,
        None if by > 0 => 0,
        None => count - 1,
    };
    model.chat.citation = Some(at);
    model.chat.reveal = true;
    if let Some(citation) = model.shown_run().and_then(|run| run.citations.get(at)) {
        let words = format!(
            "[{}] {}:{}",
            citation.n,
            citation.source,
            citation.location()
        );
        model.inform(&words);
    }
}

fn show_run(model: &mut Model, by: isize) {
    let Some(last) = model.turns.len().checked_sub(1) else {
        return;
    };
    let at = model
        .shown
        .unwrap_or(last)
        .saturating_add_signed(by)
        .min(last);
    show_turn(model, at);
    model.chat.chosen = match model.chat.chosen {
        AnswerFocus::ActedOn => AnswerFocus::ActedOn,
        AnswerFocus::No | AnswerFocus::Yes => AnswerFocus::Yes,
    };
    model.chat.reveal = true;
}

fn cancel(model: &mut Model) -> Vec<Effect> {
    let is_busy = model.is_busy();
    if (is_busy || model.choosing.is_some()) && ask::take_back(model) {
        focus(model, Pane::Chat);
        return Vec::new();
    }
    if is_busy {
        model.inform("Stopping …");
        return vec![Effect::Send(Command::Cancel)];
    }
    if model.focus == Pane::Chat && model.chat.citation.is_some() {
        model.chat.citation = None;
    } else if model.focus == Pane::Chat && model.chat.chosen != AnswerFocus::No {
        model.chat.chosen = AnswerFocus::No;
    } else if model.notice.is_some() {
        model.notice = None;
    } else if !model.audit.filter.is_empty() && model.focus == Pane::Audit {
        model.audit.filter.clear();
    } else if model.zoomed {
        model.zoomed = false;
    } else if model.focus != Pane::Chat {
        focus(model, Pane::Chat);
    } else if model.prompt.slash().is_some() {
        model.prompt.set("");
    } else {
        model.chat.last();
    }
    Vec::new()
}
