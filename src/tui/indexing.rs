//! The index as the person steers it: stopped, and taken up again.

use crate::protocol::{Command, IndexCommand, NoticeLevel};

use super::message::Effect;
use super::model::Model;

/// Takes up another folder or file.
pub fn add(model: &mut Model, path: &str) -> Vec<Effect> {
    if path.is_empty() {
        model.notify(NoticeLevel::Warning, "/add needs a folder or a file.");
        return Vec::new();
    }
    model.notify(NoticeLevel::Info, &format!("Reading {path} …"));
    vec![Effect::Send(Command::AddSource(path.to_owned()))]
}

/// Another folder or file is taken up, or is not.
pub fn added(model: &mut Model, outcome: Result<String, String>) {
    match outcome {
        Ok(line) => model.notify(NoticeLevel::Info, &line),
        Err(line) => model.notify(NoticeLevel::Warning, &line),
    }
}

/// Stops indexing, or goes on with it.
pub fn steer(model: &mut Model, command: IndexCommand) -> Vec<Effect> {
    let is_stopped = model.knowledge.stopped;
    let words = match command {
        IndexCommand::Stop if is_stopped => "Indexing is stopped already; /index go goes on.",
        IndexCommand::Stop => {
            "Indexing stops: what is done is kept, and changed files are not taken up. \
             /index go goes on, as the next start does."
        }
        IndexCommand::Resume if is_stopped => "The index is brought up to date again.",
        IndexCommand::Resume => "The index is kept up to date; /index stop ends that.",
    };
    model.notify(NoticeLevel::Info, words);
    vec![Effect::Send(Command::Index(command))]
}
