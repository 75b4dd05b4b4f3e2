//! All that can be done, found by a few of its letters.

use super::keymap::{Action, KeyContext};
use super::lists::{PaletteItem, PaletteRow};
use super::model::{Model, Overlay};
use super::slash::{COMMANDS, SlashCommand};
use super::window::Window;

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

/// The places whose keys are listed, those of the source view only while a document is read.
const PLACES: [KeyContext; 11] = [
    KeyContext::Source,
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

/// Opens the palette: the commands, what the keys do, and the commands with each of the words that may
/// follow them.
pub fn open(model: &mut Model) {
    let command = |command: &'static SlashCommand| PaletteRow {
        item: PaletteItem::Command(command, String::new()),
        label: format!("{}  {}", command.name, command.help),
        keys: model.keymap.name_of(command.does).unwrap_or_default(),
    };
    let mut rows: Vec<PaletteRow> = COMMANDS.iter().map(command).collect();
    let is_command = |action| COMMANDS.iter().any(|known| known.does == action);
    let is_reading = model.reading.is_some();
    let places = PLACES.into_iter().skip(usize::from(!is_reading));
    for (place, binding) in places.flat_map(|place| {
        let bindings = model.keymap.bindings_of(place);
        bindings.map(move |binding| (place, binding))
    }) {
        let action = binding.action;
        let is_known = rows.iter().any(|known| {
            known.label == binding.help()
                && matches!(known.item, PaletteItem::Key(_, other) if other == action)
        });
        if !is_known && !NOT_LISTED.contains(&action) && !is_command(action) {
            rows.push(PaletteRow {
                item: PaletteItem::Key(place, action),
                label: binding.help().to_owned(),
                keys: binding.keys.first().map_or_else(String::new, |k| k.name()),
            });
        }
    }
    for command in COMMANDS.iter() {
        let words = command.choices(&model.themes).into_iter();
        rows.extend(words.map(|word| PaletteRow {
            item: PaletteItem::Command(command, word.to_owned()),
            label: format!("{} {word}  {}", command.name, command.help),
            keys: String::new(),
        }));
    }
    let texts = rows.iter().map(|row| row.label.clone()).collect();
    let mut window = Window::new(Overlay::Palette(rows));
    window.set_texts(texts);
    model.overlay = Some(window);
}
