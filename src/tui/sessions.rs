//! Recorded conversations: listed, gone on with, named, left out, exported.

use crossterm::event::{KeyCode, KeyEvent};

use crate::protocol::{Command, NoticeLevel, SessionCommand, SessionUpdate};

use super::filtered_list::type_into;
use super::keymap::Action;
use super::message::Effect;
use super::model::{Model, Overlay};
use super::resume;
use super::session_list::SessionTask;

/// Opens the list.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.overlay = Some(Overlay::Sessions(Box::default()));
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
    match (update, &mut model.overlay) {
        (SessionUpdate::Listed(sessions), Some(Overlay::Sessions(list))) => list.take(sessions),
        // The list was closed before it came.
        (SessionUpdate::Listed(_), _) => {}
        (SessionUpdate::Resumed(recorded), overlay) => {
            if matches!(overlay, Some(Overlay::Sessions(_))) {
                *overlay = None;
            }
            resume::show(model, recorded);
        }
        (SessionUpdate::NotResumed(line), overlay) => {
            if let Some(Overlay::Sessions(list)) = overlay {
                list.doing = SessionTask::Choosing;
            }
            model.notify(NoticeLevel::Warning, &line);
        }
        (SessionUpdate::Questions(questions), _) => model.prompt.remember_earlier(&questions),
    }
}

/// The engine did not take a command.
pub fn refused(model: &mut Model, _: &SessionCommand) {
    if let Some(Overlay::Sessions(list)) = &mut model.overlay {
        list.doing = SessionTask::Choosing;
    }
    model.notify(
        NoticeLevel::Warning,
        "The engine is busy and did not take that; try again.",
    );
}

/// A key while the list is open; `None` for one that means the same everywhere.
pub fn key(model: &mut Model, event: KeyEvent, action: Option<Action>) -> Option<Vec<Effect>> {
    let Some(Overlay::Sessions(list)) = &mut model.overlay else {
        return None;
    };
    match &mut list.doing {
        SessionTask::Choosing => return choose(model, event, action),
        SessionTask::Renaming(name) => match event.code {
            KeyCode::Enter => {
                let name = name.trim().to_owned();
                list.doing = SessionTask::Choosing;
                let session = list.selected()?.id.clone();
                return Some(send(SessionCommand::Rename { session, name }));
            }
            KeyCode::Esc => list.doing = SessionTask::Choosing,
            _ if type_into(name, event) => {}
            _ => return None,
        },
        SessionTask::Deleting => {
            list.doing = SessionTask::Choosing;
            if event.code == KeyCode::Char('y') {
                let session = list.selected()?.id.clone();
                return Some(send(SessionCommand::Hide(session)));
            }
        }
        SessionTask::Resuming => match event.code {
            KeyCode::Esc => model.overlay = None,
            _ => return None,
        },
    }
    Some(Vec::new())
}

fn choose(model: &mut Model, event: KeyEvent, action: Option<Action>) -> Option<Vec<Effect>> {
    let is_busy = model.is_busy();
    let Some(Overlay::Sessions(list)) = &mut model.overlay else {
        return None;
    };
    let Some(action) = action else {
        let is_changed = list.narrowed.key(event);
        if is_changed {
            list.narrow();
        }
        return is_changed.then(Vec::new);
    };
    let rows = &mut list.narrowed.list;
    match action {
        Action::Up => rows.step(-1),
        Action::Down => rows.step(1),
        Action::PageUp => rows.page(-1),
        Action::PageDown => rows.page(1),
        Action::First => rows.first(),
        Action::Last => rows.last(usize::MAX),
        Action::Cancel if !list.narrowed.typed().is_empty() => {
            list.narrowed.set("");
            list.narrow();
        }
        Action::Cancel => model.overlay = None,
        Action::Open => return Some(resume_selected(model, is_busy)),
        Action::Rename => {
            if let Some(session) = list.selected() {
                list.doing = SessionTask::Renaming(session.name.clone().unwrap_or_default());
            }
        }
        Action::Delete => match list.selected().map(|session| session.is_current) {
            Some(true) => model.notify(
                NoticeLevel::Info,
                "The open conversation cannot be deleted; /clear starts a new one first.",
            ),
            Some(false) => list.doing = SessionTask::Deleting,
            None => {}
        },
        Action::Export => {
            let session = list.selected()?.id.clone();
            return Some(send(SessionCommand::Export(session)));
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn resume_selected(model: &mut Model, is_busy: bool) -> Vec<Effect> {
    let Some(Overlay::Sessions(list)) = &mut model.overlay else {
        return Vec::new();
    };
    let Some(session) = list.selected() else {
        return Vec::new();
    };
    if session.is_current {
        model.overlay = None;
    } else if is_busy {
        model.notify(NoticeLevel::Info, "Still answering. Esc stops the run.");
    } else {
        let session = session.id.clone();
        list.doing = SessionTask::Resuming;
        return send(SessionCommand::Resume(session));
    }
    Vec::new()
}

/// Pasted text, where it is typed into; says whether it was.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Some(Overlay::Sessions(list)) = &mut model.overlay else {
        return false;
    };
    match &mut list.doing {
        SessionTask::Choosing => {
            list.narrowed.paste(text);
            list.narrow();
        }
        SessionTask::Renaming(name) => *name = crate::text::one_line(&format!("{name}{text}"), 80),
        SessionTask::Deleting | SessionTask::Resuming => {}
    }
    true
}

fn send(command: SessionCommand) -> Vec<Effect> {
    vec![Effect::Send(Command::Session(command))]
}
