//! What is chosen by its name: commands at the prompt and in the palette.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::{Command, IndexCommand};

use super::focus::focus;
use super::keymap::{Action, KeyContext};
use super::lists::{PaletteItem, PaletteRow};
use super::message::Effect;
use super::model::Model;
use super::pane_state::Pane;
use super::slash::SlashCommand;
use super::{act, ask, compare, menu, models, reading, slash};

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
            model.warn(&message);
            Vec::new()
        }
    }
}

/// Runs a command with its argument.
fn run(model: &mut Model, command: &SlashCommand, argument: &str) -> Vec<Effect> {
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
        (Action::Add, path) => return add_source(model, path),
        (Action::ChooseModel, wish) => return models::typed(model, wish),
        (Action::ShowIndex, "stop") => return steer(model, IndexCommand::Stop),
        (Action::ShowIndex, "go") => return steer(model, IndexCommand::Resume),
        (Action::Retry, name) if !name.is_empty() => {
            let route = slash::route_called(name).and_then(|(_, route)| route);
            return ask::ask_again(model, route);
        }
        (action, _) => return by_name(model, action),
    }
    Vec::new()
}

/// An action without its key.
fn by_name(model: &mut Model, action: Action) -> Vec<Effect> {
    let no_key = KeyEvent::new(KeyCode::Null, KeyModifiers::NONE);
    act::on_panes(model, action, no_key)
}

/// Does what was chosen in the palette.
pub fn choose(model: &mut Model, chosen: PaletteRow) -> Vec<Effect> {
    if let PaletteItem::Key(KeyContext::Source, action) = chosen.item {
        return reading::act(model, action);
    }
    model.reading = None;
    match chosen.item {
        PaletteItem::Command(command, argument)
            if argument.is_empty() && !command.is_complete() =>
        {
            act::begin(model, command.does);
            Vec::new()
        }
        PaletteItem::Command(command, argument) => run(model, command, &argument),
        PaletteItem::Key(place, action) => {
            match place {
                KeyContext::Path => focus(model, Pane::Path),
                KeyContext::Evidence => focus(model, Pane::Evidence),
                KeyContext::Audit => focus(model, Pane::Audit),
                KeyContext::List | KeyContext::Global => {}
                _ => focus(model, Pane::Chat),
            }
            by_name(model, action)
        }
    }
}

/// Takes up another folder or file.
pub fn add_source(model: &mut Model, path: &str) -> Vec<Effect> {
    if path.is_empty() {
        model.warn("/add needs a folder or a file.");
        return Vec::new();
    }
    model.inform(&format!("Reading {path} …"));
    vec![Effect::Send(Command::AddSource(path.to_owned()))]
}

/// Another folder or file is taken up, or is not.
pub fn source_added(model: &mut Model, outcome: Result<String, String>) {
    match outcome {
        Ok(line) => model.inform(&line),
        Err(line) => model.warn(&line),
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
    model.inform(words);
    vec![Effect::Send(Command::Index(command))]
}
