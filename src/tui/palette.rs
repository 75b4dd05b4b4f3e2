//! All that can be done, found by a few of its letters.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::ink::{Ink, Row};
use super::keymap::{Action, KeyContext};
use super::model::Model;
use super::slash::{COMMANDS, SlashAction, SlashCommand};

/// What moves or types has no use in a list that is itself moved in and typed into.
const NOT_LISTED: [Action; 19] = [
    Action::ActOnAnswer,
    Action::Send,
    Action::Newline,
    Action::HistoryPrevious,
    Action::HistoryNext,
    Action::Up,
    Action::Down,
    Action::PageUp,
    Action::PageDown,
    Action::First,
    Action::Last,
    Action::Complete,
    Action::Palette,
    Action::Cancel,
    Action::Quit,
    Action::NextEvidence,
    Action::PreviousEvidence,
    Action::NextWarning,
    Action::PreviousWarning,
];

/// One thing that can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaletteItem {
    /// A command.
    Command(&'static SlashCommand),
    /// A command with one of the words that may follow it.
    Choice(&'static SlashCommand, String),
    /// What a key does in a place.
    Key(KeyContext, Action),
}

struct PaletteRow {
    item: PaletteItem,
    label: String,
    keys: String,
}

/// All that matches what is typed, the best first.
fn listed(model: &Model, typed: &str) -> Vec<PaletteRow> {
    let mut all = all(model);
    if !typed.trim().is_empty() {
        // Who looks for one of these knows its name.
        all.extend(choices(model));
    }
    let pattern = Pattern::parse(typed.trim(), CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, PaletteRow)> = all
        .into_iter()
        .filter_map(|listed| {
            let text = Utf32Str::new(&listed.label, &mut buffer);
            let score = pattern.score(text, &mut matcher)?;
            Some((score, listed))
        })
        .collect();
    // Among equals the order of the tables stands.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, listed)| listed).collect()
}

fn choices(model: &Model) -> impl Iterator<Item = PaletteRow> {
    COMMANDS.iter().flat_map(|command| {
        let words = command.choices(&model.themes).into_iter();
        words.map(|word| PaletteRow {
            item: PaletteItem::Choice(command, word.to_owned()),
            label: format!("{} {word}  {}", command.name, command.help),
            keys: String::new(),
        })
    })
}

fn all(model: &Model) -> Vec<PaletteRow> {
    let mut all: Vec<PaletteRow> = COMMANDS
        .iter()
        .map(|command| PaletteRow {
            item: PaletteItem::Command(command),
            label: format!("{}  {}", command.name, command.help),
            keys: match command.does {
                SlashAction::Act(action) => model.keymap.name_of(action).unwrap_or_default(),
                SlashAction::Retry => model.keymap.name_of(Action::Retry).unwrap_or_default(),
                SlashAction::Index => model.keymap.name_of(Action::ShowIndex).unwrap_or_default(),
                SlashAction::Replay => model.keymap.name_of(Action::Replay).unwrap_or_default(),
                SlashAction::Model => model
                    .keymap
                    .name_of(Action::ChooseModel)
                    .unwrap_or_default(),
                SlashAction::Route | SlashAction::Theme | SlashAction::Race | SlashAction::Add => {
                    String::new()
                }
            },
        })
        .collect();
    let is_command = |action| {
        matches!(
            action,
            Action::Replay | Action::Retry | Action::ShowIndex | Action::ChooseModel
        ) || COMMANDS
            .iter()
            .any(|known| known.does == SlashAction::Act(action))
    };
    let mut places = vec![
        KeyContext::Prompt,
        KeyContext::Answer,
        KeyContext::Citation,
        KeyContext::Chosen,
        KeyContext::Acting,
        KeyContext::List,
        KeyContext::Path,
        KeyContext::Evidence,
        KeyContext::Audit,
        KeyContext::Global,
    ];
    if model.reading.is_some() {
        places.insert(0, KeyContext::Source);
    }
    for place in places {
        for binding in model.keymap.bindings_of(place) {
            let action = binding.action;
            let is_known = all.iter().any(|known| {
                known.label == binding.help
                    && matches!(known.item, PaletteItem::Key(_, other) if other == action)
            });
            if is_known || NOT_LISTED.contains(&action) || is_command(action) {
                continue;
            }
            all.push(PaletteRow {
                item: PaletteItem::Key(place, action),
                label: binding.help.clone(),
                keys: binding
                    .keys
                    .first()
                    .map(|key| key.name())
                    .unwrap_or_default(),
            });
        }
    }
    all
}

/// What is selected.
pub fn selected(model: &Model, typed: &str, at: usize) -> Option<PaletteItem> {
    let listed = listed(model, typed);
    let last = listed.len().checked_sub(1)?;
    listed
        .into_iter()
        .nth(at.min(last))
        .map(|listed| listed.item)
}

/// One row each, the key at the right edge.
pub fn rows(model: &Model, typed: &str, width: usize) -> Vec<Row> {
    let rows: Vec<Row> = listed(model, typed)
        .into_iter()
        .map(|listed| {
            let ink = match listed.item {
                PaletteItem::Command(_) | PaletteItem::Choice(..) => Ink::Key,
                PaletteItem::Key(..) => Ink::Text,
            };
            let label = match listed.label.split_once("  ") {
                Some((name, help)) => Row::new(ink, name).add(Ink::Text, format!("  {help}")),
                None => Row::new(ink, listed.label),
            };
            Row::new(Ink::Text, " ")
                .join(label)
                .and_right(Row::new(Ink::Dim, format!("{} ", listed.keys)), width)
        })
        .collect();
    if rows.is_empty() {
        return vec![Row::new(Ink::Dim, " nothing like that")];
    }
    rows
}
