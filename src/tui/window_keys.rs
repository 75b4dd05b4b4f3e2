//! What keys, the mouse and pasted text do in the windows above the panes.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use crate::protocol::Command;
use crate::text::one_line;

use super::focus::{quit, report};
use super::keymap::{Action, KeyContext};
use super::layout::Arrangement;
use super::model::{Effect, Model, Overlay};
use super::pane_state::Pane;
use super::panes::detail;
use super::slash::ROUTES;
use super::window::{SessionTask, Window};
use super::window_view::WindowView;
use super::{act, answers, ask, audit, copy, focus, models, reading, rerun, sessions};

/// How far a key moves a slider with Shift.
const LEAP: i64 = 10;

/// The digit that is typed, without a modifier.
pub fn plain_digit(event: KeyEvent) -> Option<usize> {
    match event.code {
        KeyCode::Char(c) if event.modifiers.is_empty() => {
            c.to_digit(10).map(|digit| digit as usize)
        }
        _ => None,
    }
}

/// A key while a window lies above all.
pub fn key(model: &mut Model, event: KeyEvent, action: Option<Action>) -> Option<Effect> {
    if let Some(mut effects) = sessions::task_key(model, event) {
        return effects.pop();
    }
    if rerun::type_key(model, event) {
        return None;
    }
    let window = model.overlay.as_mut()?;
    if action.is_none() && window.shown.is_typed() && window.type_key(event) {
        return None;
    }
    let rows = match &window.shown {
        Overlay::Retry => ROUTES.len(),
        Overlay::Samples => model.samples.len(),
        _ => 0,
    };
    let row = plain_digit(event).and_then(|digit| digit.checked_sub(1));
    if let Some(row) = row.filter(|row| *row < rows) {
        window.list.selected = row;
        return choose(model);
    }
    // Leaving and starting over must work from everywhere.
    let action = action.or_else(|| model.keymap.action(event, &[KeyContext::Global]));
    action.and_then(|action| act(model, action))
}

fn act(model: &mut Model, action: Action) -> Option<Effect> {
    if action == Action::KeepSettings {
        return keep_settings(model);
    }
    if move_slider(model, action) || rerun::act(model, action) {
        return None;
    }
    let window = model.overlay.as_mut()?;
    match (action, &mut window.shown) {
        (Action::Copy, _) => return copy::copy(model),
        (Action::Mouse, _) => return Some(report(model, !model.mouse)),
        (Action::NextEvent, _) => audit::step_event(model, 1),
        (Action::PreviousEvent, _) => audit::step_event(model, -1),
        (Action::NextWarning, Overlay::Event { .. }) => audit::next_warning_event(model, true),
        (Action::PreviousWarning, Overlay::Event { .. }) => audit::next_warning_event(model, false),
        (Action::Open, Overlay::Detail { .. }) => unfold(model),
        (Action::RunAgain, Overlay::Detail { .. }) => rerun::open(model),
        (Action::Open, _) => return choose(model),
        (Action::SearchAnswers, _) => return Some(answers::open(model)),
        (Action::Rename | Action::Delete | Action::Export, Overlay::Sessions(_)) => {
            return sessions::act(model, action);
        }
        (Action::KeepModel, _) => return models::choose_selected(model, true),
        (Action::NextJob, _) => models::step_job(model, 1),
        (Action::PreviousJob, _) => models::step_job(model, -1),
        (Action::PreviousRun, _) => ask::step_compared(model, -1),
        (Action::NextRun, _) => ask::step_compared(model, 1),
        (Action::Cancel, Overlay::Sessions(_) | Overlay::Models(_)) if !window.typed.is_empty() => {
            window.set_typed("");
        }
        (Action::Cancel, _) | (Action::Help, Overlay::Help) => {
            model.overlay = model.beneath.take();
        }
        // Help is help everywhere: above another window it shows the keys and gives that back.
        (Action::Help, _) => model.beneath = model.overlay.replace(Window::new(Overlay::Help)),
        (Action::Quit, _) => {
            (model.overlay, model.beneath, model.reading) = (None, None, None);
            return quit(model);
        }
        _ => {
            window.list.act(action);
        }
    }
    None
}

/// Takes what is selected in the window, and closes it.
fn choose(model: &mut Model) -> Option<Effect> {
    match model.overlay.as_ref().map(|window| &window.shown) {
        Some(Overlay::Sessions(_)) => return sessions::act(model, Action::Open),
        Some(Overlay::Models(_)) => return models::choose_selected(model, false),
        _ => {}
    }
    let window = model.overlay.take()?;
    if !window.shown.is_choice() {
        model.overlay = model.beneath.take();
        return None;
    }
    let at = window.selected()?;
    match window.shown {
        Overlay::Retry if at < ROUTES.len() => ask::ask_again(model, ROUTES[at].1),
        Overlay::Samples => ask::sample(model, at),
        Overlay::Rerun(plan) => rerun::begin(model, &plan),
        Overlay::Palette(mut rows) => act::choose_from_palette(model, rows.swap_remove(at)),
        Overlay::Recall(questions) => {
            model.prompt.set(&questions[at]);
            model.focus = Pane::Chat;
            focus::unlink(model);
            None
        }
        Overlay::Answers(Some(known)) => answers::show(model, &known[at]),
        Overlay::Documents(mut names) => Some(reading::open_document(model, names.swap_remove(at))),
        _ => None,
    }
}

/// A click on a row of a window that is a choice.
pub fn click(model: &mut Model, position: Position) -> Option<Effect> {
    let row = model.overlay.as_ref().and_then(|window| {
        let places = Arrangement::new(model);
        WindowView::new(model, window, &places).row_at(window, position)
    });
    let row = row?;
    if rerun::click(model, row) {
        return None;
    }
    let window = model.overlay.as_mut()?;
    if !window.shown.is_choice() || sessions::name_typed(window).is_some() {
        return None;
    }
    window.list.selected = row;
    act(model, Action::Open)
}

/// Pasted text, where it is typed into; says whether it was.
pub fn paste(model: &mut Model, text: &str) -> bool {
    if rerun::paste(model, text) {
        return true;
    }
    let window = model.overlay.as_mut();
    let Some(window) = window.filter(|window| window.shown.is_typed()) else {
        return false;
    };
    match sessions::name_typed(window) {
        None => window.set_typed(&format!("{}{text}", window.typed)),
        Some(SessionTask::Renaming(name)) => *name = one_line(&format!("{name}{text}"), 80),
        Some(_) => {}
    }
    true
}

/// Unfolds the part that is selected, or folds it again.
fn unfold(model: &mut Model) {
    let width = Arrangement::new(model).overlay_room(false).width.into();
    let Some(Overlay::Detail { item, unfolded }) = model.shown_overlay() else {
        return;
    };
    let lines = detail::lines(model, *item, unfolded, width);
    let Some(window) = &mut model.overlay else {
        return;
    };
    let part = lines.get(window.list.selected).and_then(|line| line.part);
    let head = lines.iter().position(|line| line.part == part);
    if let (Some(part), Some(head), Overlay::Detail { unfolded, .. }) =
        (part, head, &mut window.shown)
    {
        if !unfolded.remove(&part) {
            unfolded.insert(part);
        }
        window.list.selected = head;
    }
}

/// The limits that were moved become settings.
fn keep_settings(model: &mut Model) -> Option<Effect> {
    let Some(Overlay::WhatIf(sliders)) = model.shown_overlay() else {
        return None;
    };
    let settings = sliders.settings();
    if settings.is_empty() {
        model.inform("Nothing to keep: no limit was moved.");
        return None;
    }
    Some(Effect::Send(Command::KeepSettings(settings)))
}

/// An action in the window of limits; `false` where it is none.
fn move_slider(model: &mut Model, action: Action) -> bool {
    let recorded = model.shown_run().map(|run| run.limits);
    let shown = model.overlay.as_mut().map(|window| &mut window.shown);
    let (Some(Overlay::WhatIf(sliders)), Some(recorded)) = (shown, recorded) else {
        return false;
    };
    match action {
        Action::Up => sliders.select(-1),
        Action::Down => sliders.select(1),
        Action::Less => sliders.step(-1, &recorded),
        Action::More => sliders.step(1, &recorded),
        Action::MuchLess => sliders.step(-LEAP, &recorded),
        Action::MuchMore => sliders.step(LEAP, &recorded),
        Action::Reset => sliders.reset(),
        _ => return false,
    }
    true
}
