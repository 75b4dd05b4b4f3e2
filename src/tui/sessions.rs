//! Recorded conversations: listed, gone on with, named, left out, exported.

use crossterm::event::{KeyCode, KeyEvent};

use crate::protocol::{Command, NoticeLevel, SessionCommand, SessionSummary, SessionUpdate};
use crate::text::one_line;

use super::keymap::Action;
use super::lists::{SessionList, SessionTask};
use super::message::Effect;
use super::model::{Model, Overlay};
use super::resume;
use super::window::{Window, type_into};

/// Opens the list.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.open(Overlay::Sessions(SessionList::default()));
    send(SessionCommand::List)
}

/// Writes the conversation that is shown to a file.
pub fn export_shown(model: &mut Model) -> Vec<Effect> {
    let Some(run) = model.shown_run() else {
        model.notify(NoticeLevel::Info, "Nothing to export yet.");
        return Vec::new();
    };
    send(SessionCommand::Export(run.session.clone()))
}

/// What the engine sends of recorded conversations.
pub fn arrived(model: &mut Model, update: SessionUpdate) {
    let list = model.overlay.as_mut().and_then(list_of);
    match (update, list) {
        (SessionUpdate::Listed(sessions), Some(_)) => listed(model, sessions),
        // The list was closed before it came.
        (SessionUpdate::Listed(_), None) => {}
        (SessionUpdate::Resumed(recorded), list) => {
            if list.is_some() {
                model.overlay = None;
            }
            resume::show(model, recorded);
        }
        (SessionUpdate::NotResumed(line), list) => {
            if let Some(list) = list {
                list.doing = SessionTask::Choosing;
            }
            model.notify(NoticeLevel::Warning, &line);
        }
        (SessionUpdate::Questions(questions), _) => model.prompt.remember_earlier(&questions),
    }
}

/// Takes the list; what is typed and selected stays.
fn listed(model: &mut Model, sessions: Vec<SessionSummary>) {
    let selected = selected(model).map(|session| session.id.clone());
    let text = |session: &SessionSummary| {
        let name = session.name.as_deref().unwrap_or_default();
        one_line(&format!("{name} {}", session.question), 400)
    };
    let texts = sessions.iter().map(text).collect();
    let is_selected = |session: &SessionSummary| Some(&session.id) == selected.as_ref();
    let place = sessions.iter().position(is_selected);
    if let Some(window) = &mut model.overlay {
        if let Some(list) = list_of(window) {
            list.sessions = Some(sessions);
        }
        window.set_texts(texts);
        if let Some(place) = place {
            window.select(place);
        }
    }
}

/// The engine did not take a command.
pub fn refused(model: &mut Model) {
    if let Some(list) = model.overlay.as_mut().and_then(list_of) {
        list.doing = SessionTask::Choosing;
    }
    model.notify(
        NoticeLevel::Warning,
        "The engine is busy and did not take that; try again.",
    );
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
                return Some(send(SessionCommand::Rename { session, name }));
            }
            KeyCode::Esc => list.doing = SessionTask::Choosing,
            _ if type_into(name, event) => {}
            _ => return None,
        },
        SessionTask::Deleting => {
            list.doing = SessionTask::Choosing;
            if event.code == KeyCode::Char('y') {
                return Some(send(SessionCommand::Hide(session?)));
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
pub fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    let is_busy = model.is_busy();
    let Some(session) = selected(model).cloned() else {
        return Vec::new();
    };
    let Some(list) = model.overlay.as_mut().and_then(list_of) else {
        return Vec::new();
    };
    match action {
        Action::Rename => list.doing = SessionTask::Renaming(session.name.unwrap_or_default()),
        Action::Export => return send(SessionCommand::Export(session.id)),
        Action::Delete if session.is_current => model.notify(
            NoticeLevel::Info,
            "That is the conversation on the screen; /clear begins another one.",
        ),
        Action::Delete => list.doing = SessionTask::Deleting,
        _ if session.is_current => model.overlay = None,
        _ if is_busy => model.notify(NoticeLevel::Info, "Still answering. Esc stops the run."),
        _ => {
            list.doing = SessionTask::Resuming;
            return send(SessionCommand::Resume(session.id));
        }
    }
    Vec::new()
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
    let window = model.overlay.as_ref()?;
    match &window.shown {
        Overlay::Sessions(list) => list.sessions.as_ref()?.get(window.selected()?),
        _ => None,
    }
}

fn send(command: SessionCommand) -> Vec<Effect> {
    vec![Effect::Send(Command::Session(command))]
}
