//! Recorded conversations: listed, gone on with, named, left out, exported.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};

use crate::protocol::{
    Command, Event, RecordedSession, RunHistory, SessionCommand, SessionSummary, SessionUpdate,
    Timestamp,
};
use crate::text::{one_line, plural};

use super::answers;
use super::branching::leave_edit;
use super::keyboard::on_us_keyboard;
use super::keymap::Action;
use super::model::{Effect, Model, Overlay, TurnView};
use super::pane_state::{ChatScroll, List};
use super::window::{SessionList, SessionTask, Window, type_into};

/// Opens the list.
pub fn open(model: &mut Model) -> Effect {
    model.open(Overlay::Sessions(SessionList::default()));
    send(SessionCommand::List)
}

/// Writes the conversation that is shown to a file.
pub fn export_shown(model: &mut Model) -> Option<Effect> {
    let Some(run) = model.shown_run() else {
        model.inform("Nothing to export yet.");
        return None;
    };
    Some(send(SessionCommand::Export(run.session.clone())))
}

/// What the engine sends of recorded conversations.
pub fn arrived(model: &mut Model, update: SessionUpdate) {
    match update {
        SessionUpdate::Listed(Ok(sessions)) => listed(model, sessions),
        SessionUpdate::Listed(Err(why)) => {
            // The list was closed before it came.
            if model.windows_mut().any(|window| list_of(window).is_some()) {
                let is_awaited = |shown: &Overlay| matches!(shown, Overlay::Sessions(list) if list.sessions.is_none());
                model.close_windows(is_awaited);
                model.warn(&why);
            }
        }
        SessionUpdate::Resumed(recorded) => {
            model.close_windows(|shown| matches!(shown, Overlay::Sessions(_)));
            show_recorded(model, recorded);
        }
        SessionUpdate::NotResumed(line) => {
            if let Some(list) = model.windows_mut().find_map(list_of) {
                list.doing = SessionTask::Choosing;
            }
            model.warn(&line);
        }
        SessionUpdate::Questions(questions) => model.prompt.remember_earlier(&questions),
        SessionUpdate::Answers(answers) => answers::arrived(model, answers),
    }
}

/// Takes the list; what is typed and selected stays.
fn listed(model: &mut Model, sessions: Vec<SessionSummary>) {
    let mut windows = model.windows_mut();
    let is_list = |window: &&mut Window| matches!(window.shown, Overlay::Sessions(_));
    let Some(window) = windows.find(is_list) else {
        // The list was closed before it came.
        return;
    };
    let selected = selected_in(window).map(|session| session.id.clone());
    let text = |session: &SessionSummary| {
        let name = session.name.as_deref().unwrap_or_default();
        one_line(&format!("{name} {}", session.question), 400)
    };
    let texts = sessions.iter().map(text).collect();
    let is_selected = |session: &SessionSummary| Some(&session.id) == selected.as_ref();
    let place = sessions.iter().position(is_selected);
    if let Some(list) = list_of(window) {
        list.sessions = Some(sessions);
    }
    window.set_texts(texts);
    if let Some(place) = place {
        window.select(place);
    }
}

/// The engine did not take a command.
pub fn refused(model: &mut Model, command: &SessionCommand) {
    let reason = "The engine is busy and did not take that; try again.";
    match command.refusal(reason) {
        Some(update) => arrived(model, update),
        None => model.warn(reason),
    }
}

/// A key while something is being done with the selected one; `None` for one that means the same
/// everywhere.
pub fn task_key(model: &mut Model, event: KeyEvent) -> Option<Vec<Effect>> {
    let session = selected(model).map(|session| session.id.clone());
    let list = list_of(model.overlay.as_mut()?)?;
    match &mut list.doing {
        SessionTask::Choosing => return None,
        SessionTask::Renaming(name) => match event.code {
            KeyCode::Enter => {
                let name = name.trim().to_owned();
                list.doing = SessionTask::Choosing;
                let session = session?;
                return Some(vec![send(SessionCommand::Rename { session, name })]);
            }
            KeyCode::Esc => list.doing = SessionTask::Choosing,
            _ if type_into(name, event) => {}
            _ => return None,
        },
        SessionTask::Deleting => {
            list.doing = SessionTask::Choosing;
            // No text is typed here, so the place of the key counts.
            let event = on_us_keyboard(event).unwrap_or(event);
            if event.code == KeyCode::Char('y') {
                return Some(vec![send(SessionCommand::Hide(session?))]);
            }
        }
        SessionTask::Resuming => match event.code {
            KeyCode::Esc => model.overlay = None,
            _ => return None,
        },
    }
    Some(Vec::new())
}

/// Does something with the selected one.
pub fn act(model: &mut Model, action: Action) -> Option<Effect> {
    let is_busy = model.is_busy();
    let session = selected(model).cloned()?;
    let list = model.overlay.as_mut().and_then(list_of)?;
    match action {
        Action::Rename => list.doing = SessionTask::Renaming(session.name.unwrap_or_default()),
        Action::Export => return Some(send(SessionCommand::Export(session.id))),
        Action::Delete if session.is_current => {
            model.inform("The open conversation cannot be deleted; /clear starts a new one first.");
        }
        Action::Delete => list.doing = SessionTask::Deleting,
        _ if session.is_current => model.overlay = None,
        _ if is_busy => model.inform("Still answering. Esc stops the run."),
        _ => {
            list.doing = SessionTask::Resuming;
            return Some(send(SessionCommand::Resume(session.id)));
        }
    }
    None
}

/// What is typed into besides the text that is looked for.
pub fn name_typed(window: &mut Window) -> Option<&mut SessionTask> {
    list_of(window)
        .map(|list| &mut list.doing)
        .filter(|doing| **doing != SessionTask::Choosing)
}

fn list_of(window: &mut Window) -> Option<&mut SessionList> {
    match &mut window.shown {
        Overlay::Sessions(list) => Some(list),
        _ => None,
    }
}

fn selected(model: &Model) -> Option<&SessionSummary> {
    selected_in(model.overlay.as_ref()?)
}

fn selected_in(window: &Window) -> Option<&SessionSummary> {
    match &window.shown {
        Overlay::Sessions(list) => list.sessions.as_ref()?.get(window.selected()?),
        _ => None,
    }
}

fn send(command: SessionCommand) -> Effect {
    Effect::Send(Command::Session(command))
}

/// Shows this conversation instead of the one that is shown. The panes are folds over events, and the log
/// holds the events; what it does not hold (pieces of an answer that was not finished, prompts, what was
/// masked) is not made up.
pub fn show_recorded(model: &mut Model, mut recorded: RecordedSession) {
    let mut turns = turns(std::mem::take(&mut recorded.events));
    for turn in &mut turns {
        if let Some(labels) = recorded.labels.remove(&turn.exchange().id) {
            turn.put_labels(labels);
        }
    }
    model.turns = turns.into();
    let shown = recorded.shown.as_ref();
    let shown = shown.and_then(|run| model.turns.show_run(run));
    let last = model.turns.current().len().saturating_sub(1);
    model.shown = shown.filter(|at| *at != last);
    model.pending = None;
    model.current = None;
    leave_edit(model);
    model.chat = ChatScroll::default();
    model.begin_find_again();
    model.reset_panes();
    model.audit.list = List::default();
    for turn in model.turns.current() {
        model.prompt.remember(&turn.exchange().query);
    }
    model.keep_open();
    let resumed_words = resumed_words(model, &recorded);
    // What was to be said at the start has no empty conversation to stand in.
    match std::mem::take(&mut model.greetings).as_slice() {
        [] => model.inform(&resumed_words),
        greetings => {
            let resumed_words = format!("{resumed_words} · {}", greetings.join(" · "));
            model.warn(&resumed_words);
        }
    }
}

/// What is said of it: how much there is, and that it stands here as the log holds it.
fn resumed_words(model: &Model, recorded: &RecordedSession) -> String {
    let runs = plural(model.turns.all().count(), "run");
    let began = model.turns.all().map(|turn| turn.exchange().started).min();
    let since = began.map(|began| format!(" since {}", began.minute()));
    let since = since.unwrap_or_default();
    let name = recorded.name.as_ref().map(|name| format!(" '{name}'"));
    let name = name.unwrap_or_default();
    let left_out = match recorded.left_out {
        0 => String::new(),
        more => format!("; {more} earlier ones are only in 'kb-agent runs'"),
    };
    format!("Resumed{name}: {runs}{since}, as the audit log holds them{left_out}.")
}

/// The runs of these events. One that has ended is packed before the next begins.
pub fn turns(events: Vec<Event>) -> Vec<TurnView> {
    let mut turns: Vec<TurnView> = Vec::new();
    let mut now = Timestamp(0);
    for event in events {
        now = now.max(event.ts);
        let event = Arc::new(event);
        if let Some(mut turn) = TurnView::begin(&event) {
            turn.record();
            if let Some(last) = turns.last_mut() {
                last.close();
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

// The window over the statistics of all recorded runs: opened, filled, closed.

/// Opens the window, and asks for what it shows.
pub fn open_statistics(model: &mut Model) -> Effect {
    model.open(Overlay::Statistics(None));
    Effect::Send(Command::ReadStatistics)
}

/// Takes what was read, where it is still waited for.
pub fn statistics_arrived(model: &mut Model, read: Result<Box<RunHistory>, String>) {
    if let Some(known) = statistics(model) {
        *known = Some(read.map_err(|why| one_line(&why, 400)));
    }
}

/// The engine did not take the request.
pub fn statistics_refused(model: &mut Model) {
    model.close_windows(|shown| matches!(shown, Overlay::Statistics(None)));
    model.warn("The engine is busy and did not read the log; try again.");
}

/// The engine is gone, and with it what is awaited.
pub fn abandon_statistics(model: &mut Model) {
    if statistics(model).is_some_and(|known| known.is_none()) {
        statistics_arrived(model, Err("the engine stopped".to_owned()));
    }
}

/// What the window of statistics shows, itself or under help, where it is open; nothing while it is
/// awaited.
pub fn statistics(model: &mut Model) -> Option<&mut Option<Result<Box<RunHistory>, String>>> {
    model
        .windows_mut()
        .find_map(|window| match &mut window.shown {
            Overlay::Statistics(read) => Some(read),
            _ => None,
        })
}
