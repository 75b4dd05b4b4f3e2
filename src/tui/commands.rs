//! What is chosen by its name: commands at the prompt and all that the palette lists.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::{IndexCommand, NoticeLevel};

use super::focus::focus;
use super::keymap::{Action, KeyContext};
use super::message::Effect;
use super::model::{Model, Overlay};
use super::overlay::Palette;
use super::palette::PaletteItem;
use super::pane::Pane;
use super::slash::{SlashAction, SlashCommand};
use super::{act, ask, compare, indexing, menu, models, palette, reading, slash};

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
    let (command, argument) = match slash::parse(&line, &model.themes) {
        Ok(parsed) => parsed,
        Err(message) => {
            model.notify(NoticeLevel::Warning, &message);
            return Vec::new();
        }
    };
    model.prompt.set("");
    run(model, command, argument)
}

/// Runs a command with its argument.
fn run(model: &mut Model, command: &SlashCommand, argument: &str) -> Vec<Effect> {
    model.notice = None;
    match command.does {
        SlashAction::Act(action) => return by_name(model, action),
        SlashAction::Route => ask::set_route(model, argument),
        SlashAction::Retry => {
            return match slash::route_called(argument) {
                Some((_, route)) => ask::ask_again(model, route),
                None => by_name(model, Action::Retry),
            };
        }
        SlashAction::Theme => model.theme = Some(argument.to_owned()),
        SlashAction::Index => {
            return match argument {
                "stop" => indexing::steer(model, IndexCommand::Stop),
                "go" => indexing::steer(model, IndexCommand::Resume),
                _ => by_name(model, Action::ShowIndex),
            };
        }
        SlashAction::Replay => {
            let slow = argument == "slow";
            return vec![Effect::Replay { slow }];
        }
        SlashAction::Race => {
            let question = Some(argument).filter(|question| !question.is_empty());
            return compare::race(model, question);
        }
        SlashAction::Add => return indexing::add(model, argument),
        SlashAction::Model => return models::typed(model, argument),
    }
    Vec::new()
}

/// An action without its key.
fn by_name(model: &mut Model, action: Action) -> Vec<Effect> {
    act::on_panes(
        model,
        action,
        KeyEvent::new(KeyCode::Null, KeyModifiers::NONE),
    )
}

/// An action while something lies above the panes.
pub fn on_overlay(model: &mut Model, action: Action) -> Vec<Effect> {
    if action == Action::Open
        && let Some(Overlay::Palette(palette)) = &model.overlay
    {
        let palette = palette.clone();
        model.overlay = None;
        return chosen_in(model, &palette);
    }
    act::on_overlay(model, action)
}

/// A click on a row of a window that is a choice.
pub fn choose_row(model: &mut Model, row: usize) -> Vec<Effect> {
    let Some(overlay) = model.overlay.as_mut().filter(|shown| shown.is_choice()) else {
        return Vec::new();
    };
    overlay.list_mut().selected = row;
    on_overlay(model, Action::Open)
}

/// Does what is chosen in the palette, and closes it.
fn chosen_in(model: &mut Model, palette: &Palette) -> Vec<Effect> {
    let Some(item) = palette::selected(model, &palette.typed, palette.list.selected) else {
        return Vec::new();
    };
    if let PaletteItem::Key(KeyContext::Source, action) = item {
        return reading::act(model, action);
    }
    model.reading = None;
    let pane = match item {
        PaletteItem::Choice(command, argument) => return run(model, command, &argument),
        PaletteItem::Command(command) if command.is_complete() => match command.does {
            SlashAction::Act(action) => return by_name(model, action),
            SlashAction::Index => return by_name(model, Action::ShowIndex),
            SlashAction::Retry => return by_name(model, Action::Retry),
            SlashAction::Replay => return by_name(model, Action::Replay),
            SlashAction::Race => return compare::race(model, None),
            SlashAction::Model => return by_name(model, Action::ChooseModel),
            SlashAction::Route | SlashAction::Theme | SlashAction::Add => None,
        },
        PaletteItem::Command(command) => {
            // Its argument is still to be chosen.
            focus(model, Pane::Chat);
            model.prompt.set(&format!("{} ", command.name));
            None
        }
        PaletteItem::Key(place, action) => Some((place, action)),
    };
    let Some((place, action)) = pane else {
        return Vec::new();
    };
    match place {
        KeyContext::Path => focus(model, Pane::Path),
        KeyContext::Evidence => focus(model, Pane::Evidence),
        KeyContext::Audit => focus(model, Pane::Audit),
        KeyContext::Prompt
        | KeyContext::Answer
        | KeyContext::Citation
        | KeyContext::Chosen
        | KeyContext::Acting => {
            focus(model, Pane::Chat);
        }
        _ => {}
    }
    by_name(model, action)
}
