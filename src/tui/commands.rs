//! What is chosen by its name: commands at the prompt and in the palette.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::{IndexCommand, NoticeLevel};

use super::focus::focus;
use super::keymap::Action;
use super::message::Effect;
use super::model::Model;
use super::pane::Pane;
use super::slash::{self, SlashCommand};
use super::{act, ask, compare, indexing, menu, models};

/// An action in the list above the prompt.
pub fn on_menu(model: &mut Model, action: Action) -> Vec<Effect> {
    match menu::act(model, action) {
        Some(menu::Submission::Command) => typed(model),
        Some(menu::Submission::Question) => ask::send(model),
        None => Vec::new(),
    }
}

/// Runs the command that is typed.
pub fn typed(model: &mut Model) -> Vec<Effect> {
    let line = model.prompt.text();
    match slash::parse(&line, &model.themes) {
        Ok((command, argument)) => {
            model.prompt.set("");
            run(model, command, argument)
        }
        Err(message) => {
            model.notify(NoticeLevel::Warning, &message);
            Vec::new()
        }
    }
}

/// Begins to type the command that does this: its argument is still to be chosen.
pub fn begin(model: &mut Model, action: Action) {
    if let Some(command) = slash::COMMANDS.iter().find(|known| known.does == action) {
        focus(model, Pane::Chat);
        model.prompt.set(&format!("{} ", command.name));
    }
}

/// Runs a command with its argument.
pub fn run(model: &mut Model, command: &SlashCommand, argument: &str) -> Vec<Effect> {
    model.notice = None;
    match (command.does, argument) {
        (Action::Route, name) => ask::set_route(model, name),
        (Action::Theme, name) => model.theme = Some(name.to_owned()),
        (Action::Replay, speed) => {
            let slow = speed == "slow";
            return vec![Effect::Replay { slow }];
        }
        (Action::Race, question) => {
            let question = Some(question).filter(|question| !question.is_empty());
            return compare::race(model, question);
        }
        (Action::Add, path) => return indexing::add(model, path),
        (Action::ChooseModel, wish) => return models::typed(model, wish),
        (Action::ShowIndex, "stop") => return indexing::steer(model, IndexCommand::Stop),
        (Action::ShowIndex, "go") => return indexing::steer(model, IndexCommand::Resume),
        (Action::Retry, name) if !name.is_empty() => {
            let route = slash::route_called(name).and_then(|(_, route)| route);
            return ask::ask_again(model, route);
        }
        (action, _) => return by_name(model, action),
    }
    Vec::new()
}

/// An action without its key.
pub fn by_name(model: &mut Model, action: Action) -> Vec<Effect> {
    let no_key = KeyEvent::new(KeyCode::Null, KeyModifiers::NONE);
    act::on_panes(model, action, no_key)
}
