//! Recorded conversations, as the engine sends them.

use crate::protocol::{NoticeLevel, SessionCommand, SessionUpdate};

use super::model::Model;
use super::resume;

/// What the engine sends of recorded conversations.
pub fn arrived(model: &mut Model, update: SessionUpdate) {
    match update {
        SessionUpdate::Resumed(recorded) => resume::show(model, &recorded),
        SessionUpdate::NotResumed(line) => model.say(NoticeLevel::Warning, &line),
        SessionUpdate::Questions(questions) => model.prompt.remember_earlier(questions),
        SessionUpdate::Listed(_) => {}
    }
}

/// The engine did not take a command.
pub fn refused(model: &mut Model, _: &SessionCommand) {
    model.say(
        NoticeLevel::Warning,
        "The engine is busy and did not take that; try again.",
    );
}
