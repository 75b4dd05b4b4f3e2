//! What the actions of the keymap do.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::{Command, IndexCommand, SessionCommand};

use super::find::Find;
use super::focus::{focus, quit, show_turn};
use super::keymap::{Action, KeyContext};
use super::model::{Effect, Model, Overlay};
use super::pane_state::{AnswerFocus, List, Pane};
use super::panes::path;
use super::slash::{COMMANDS, SlashCommand};
use super::window::{Page, PaletteItem, PaletteRow, Sliders, Window};
use super::{
    answers, ask, audit, branching, copy, focus, labels, menu, models, reading, rerun, sessions,
    slash,
};

/// An action while nothing lies above the panes.
pub fn on_panes(model: &mut Model, action: Action, event: KeyEvent) -> Option<Effect> {
    match action {
        Action::Send => return ask::send(model),
        Action::Newline => model.prompt.newline(),
        Action::HistoryPrevious => model.prompt.history_previous(event),
        Action::HistoryNext => model.prompt.history_next(event),
        Action::PageUp if model.focus == Pane::Chat => model.chat.page(-1),
        Action::PageDown if model.focus == Pane::Chat => model.chat.page(1),
        Action::First if model.focus == Pane::Chat => model.chat.first(),
        Action::Last if model.focus == Pane::Chat => model.chat.last(),
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::First
        | Action::Last => scroll(model, action),
        Action::Open if model.focus == Pane::Evidence => return reading::open_selected(model),
        Action::Open if model.focus == Pane::Chat => return reading::open_citation(model),
        Action::NextCitation => select_citation(model, 1),
        Action::PreviousCitation => select_citation(model, -1),
        Action::Open => open(model),
        Action::Unfold if model.focus == Pane::Audit => audit::unfold(model),
        Action::Unfold => model.evidence.expanded = !model.evidence.expanded,
        Action::Unroll => {
            model.path.unrolled = !model.path.unrolled;
            model.path.list = List::default();
        }
        Action::Filter => {
            model.audit.typing = true;
            model.audit.left_end = false;
        }
        Action::NextWarning => audit::next_warning(model, true),
        Action::PreviousWarning => audit::next_warning(model, false),
        Action::Zoom => model.zoomed = !model.zoomed,
        Action::Help => model.open(Overlay::Help),
        Action::NextPane => focus(model, model.focus.step(1)),
        Action::PreviousPane => focus(model, model.focus.step(-1)),
        Action::FocusChat => focus(model, Pane::Chat),
        Action::FocusPath => focus(model, Pane::Path),
        Action::FocusEvidence => focus(model, Pane::Evidence),
        Action::FocusAudit => focus(model, Pane::Audit),
        Action::PreviousRun => show_run(model, -1),
        Action::NextRun => show_run(model, 1),
        Action::Retry => ask::choose_route(model),
        Action::RunAgain => rerun::open(model),
        Action::EditQuestion => branching::edit(model, None),
        Action::PreviousBranch => branching::step_branch(model, -1),
        Action::NextBranch => branching::step_branch(model, 1),
        Action::Sessions => return Some(sessions::open(model)),
        Action::Recall => ask::open_recall(model),
        Action::SearchAnswers => return Some(answers::open(model)),
        Action::Write => return Some(Effect::Write(model.prompt.text())),
        Action::Documents => reading::open_list(model),
        Action::Save => return save(model, ""),
        Action::Export => return sessions::export_shown(model),
        Action::Compare => ask::compare_runs(model),
        Action::Palette => open_palette(model),
        Action::Samples => ask::offer_samples(model),
        Action::Find => {
            focus(model, Pane::Chat);
            model.find = Some(Find::default());
        }
        Action::Stats => return Some(sessions::open_statistics(model)),
        Action::ShowIndex => model.open(Overlay::Page(Page::Index)),
        Action::ShowSources => model.open(Overlay::Page(Page::Sources)),
        Action::ShowEngine => model.open(Overlay::Page(Page::Engine)),
        Action::ChooseModel => return Some(models::open(model, None)),
        Action::Forget => return ask::forget(model),
        Action::Cancel => return cancel(model),
        Action::Quit => return quit(model),
        Action::Leave => return Some(Effect::Quit),
        Action::Suspend => return Some(Effect::Suspend),
        Action::WhatIf => what_if(model),
        Action::Replay => return Some(Effect::Replay { slow: false }),
        Action::Copy => return copy::copy(model),
        Action::CopyRun => return copy::copy_run(model),
        Action::Mouse => return Some(focus::report(model, !model.mouse)),
        Action::Race => return ask::race(model, None),
        Action::Route | Action::Theme | Action::Add | Action::OpenDocument => begin(model, action),
        Action::JudgeGood | Action::JudgeBad => return labels::judge(model, action),
        Action::ActOnAnswer => model.chat.chosen = AnswerFocus::ActedOn,
        // Only while a document is read, a run is replayed or a window is open.
        _ => {}
    }
    None
}

fn scroll(model: &mut Model, action: Action) {
    let by = |list: &mut List| {
        list.act(action);
    };
    match model.focus {
        Pane::Chat => {}
        Pane::Path if model.path.unrolled => by(&mut model.path.list),
        Pane::Path => focus::step_item(model, by),
        Pane::Evidence => by(&mut model.evidence.list),
        Pane::Audit => audit::step(model, by),
    }
}

fn open(model: &mut Model) {
    match model.focus {
        Pane::Chat | Pane::Evidence => {}
        Pane::Path => {
            let item = path::current(model);
            if model.shown_run().is_some() {
                focus::select_item(model, item);
            }
            let unfolded = BTreeSet::new();
            model.open(Overlay::Detail { item, unfolded });
        }
        Pane::Audit => audit::open(model),
    }
}

/// Begins to type the command that does this: its argument is still to be chosen.
pub fn begin(model: &mut Model, action: Action) {
    if let Some(command) = COMMANDS.iter().find(|known| known.does == action) {
        focus(model, Pane::Chat);
        model.prompt.set(&format!("{} ", command.name));
    }
}

/// Opens the window of limits that can be moved, over the run that the panes show.
fn what_if(model: &mut Model) {
    if model.shown_run().is_some() {
        model.open(Overlay::WhatIf(Sliders::default()));
    } else {
        model.inform("Nothing was asked yet.");
    }
}

/// A key that means something as long as nothing is typed, although it is a letter; false where it is
/// none.
pub fn on_empty_prompt(model: &mut Model, event: KeyEvent, action: Option<Action>) -> bool {
    if event.code == KeyCode::Char('?') {
        model.open(Overlay::Help);
        return true;
    }
    let citation = [Action::NextCitation, Action::PreviousCitation];
    let meant = model.keymap.action(event, &[KeyContext::Answer]);
    let is_answered = model.shown_run().is_some_and(|run| run.finish.is_some());
    if action.is_some() || !is_answered || !meant.is_some_and(|meant| citation.contains(&meant)) {
        return false;
    }
    model.inform("This answer cites nothing.");
    true
}

/// Goes round: after the last citation comes the first.
fn select_citation(model: &mut Model, by: isize) {
    let count = model.shown_run().map_or(0, |run| run.citations.len());
    if count == 0 {
        return;
    }
    let at = match model.chat.citation {
        Some(at) => (at.min(count - 1).cast_signed() + by).rem_euclid(count.cast_signed()) as usize,
        None if by > 0 => 0,
        None => count - 1,
    };
    model.chat.citation = Some(at);
    model.chat.reveal = true;
    if let Some(citation) = model.shown_run().and_then(|run| run.citations.get(at)) {
        let (n, source, place) = (citation.n, &citation.source, citation.location());
        let words = format!("[{n}] {source}:{place}");
        model.inform(&words);
    }
}

fn show_run(model: &mut Model, by: isize) {
    let Some(last) = model.turns.current().len().checked_sub(1) else {
        return;
    };
    let at = model.shown.unwrap_or(last);
    let at = at.saturating_add_signed(by).min(last);
    show_turn(model, at);
    model.chat.chosen = match model.chat.chosen {
        AnswerFocus::ActedOn => AnswerFocus::ActedOn,
        AnswerFocus::No | AnswerFocus::Yes => AnswerFocus::Yes,
    };
    model.chat.reveal = true;
}

fn cancel(model: &mut Model) -> Option<Effect> {
    if model.focus == Pane::Chat && model.editing.is_some() {
        branching::leave_edit(model);
        return None;
    }
    let is_busy = model.is_busy();
    if (is_busy || model.choosing.is_some()) && ask::take_back(model) {
        focus(model, Pane::Chat);
        return None;
    }
    if is_busy {
        model.inform("Stopping …");
        return Some(Effect::Send(Command::Cancel));
    }
    if model.focus == Pane::Chat && model.chat.citation.is_some() {
        model.chat.citation = None;
    } else if model.focus == Pane::Chat && model.chat.chosen != AnswerFocus::No {
        model.chat.chosen = AnswerFocus::No;
    } else if model.notice.is_some() {
        model.notice = None;
    } else if !model.audit.filter.is_empty() && model.focus == Pane::Audit {
        model.audit.filter.clear();
    } else if model.zoomed {
        model.zoomed = false;
    } else if model.focus != Pane::Chat {
        focus(model, Pane::Chat);
    } else if model.prompt.slash().is_some() {
        model.prompt.set("");
    } else {
        model.chat.last();
    }
    None
}

// What is chosen by its name: commands at the prompt and in the palette.

/// An action in the list above the prompt.
pub fn on_menu(model: &mut Model, action: Action) -> Option<Effect> {
    match menu::act(model, action) {
        Some(menu::Submission::Command) => run_typed(model),
        Some(menu::Submission::Question) => ask::send(model),
        None => None,
    }
}

/// Runs the command that is typed.
pub fn run_typed(model: &mut Model) -> Option<Effect> {
    let line = model.prompt.text();
    match slash::parse(&line, &model.themes) {
        Ok((command, argument)) => {
            model.prompt.set("");
            run_command(model, command, argument)
        }
        Err(message) => {
            model.warn(&message);
            None
        }
    }
}

/// Runs a command with its argument.
fn run_command(model: &mut Model, command: &SlashCommand, argument: &str) -> Option<Effect> {
    model.notice = None;
    match (command.does, argument) {
        (Action::Route, name) => ask::set_route(model, name),
        (Action::Theme, name) => model.theme = Some(name.to_owned()),
        (Action::Replay, speed) => {
            let slow = speed == "slow";
            return Some(Effect::Replay { slow });
        }
        (Action::Race, question) => {
            let question = Some(question).filter(|question| !question.is_empty());
            return ask::race(model, question);
        }
        (Action::Add, path) => return add_source(model, path),
        (Action::OpenDocument, name) => return reading::open_named(model, name),
        (Action::Save, path) => return save(model, path),
        (Action::EditQuestion, number) if !number.is_empty() => match number.parse() {
            Ok(number) => branching::edit(model, Some(number)),
            Err(_) => model.warn("/edit takes nothing, or the number of a question."),
        },
        (Action::ChooseModel, wish) => return models::typed(model, wish),
        (Action::ShowIndex, "stop") => return Some(steer_index(model, IndexCommand::Stop)),
        (Action::ShowIndex, "go") => return Some(steer_index(model, IndexCommand::Resume)),
        (Action::Retry, name) if !name.is_empty() => {
            let route = slash::route_called(name).and_then(|(_, route)| route);
            return ask::ask_again(model, route);
        }
        (action, _) => return by_name(model, action),
    }
    None
}

/// An action without its key.
fn by_name(model: &mut Model, action: Action) -> Option<Effect> {
    let no_key = KeyEvent::new(KeyCode::Null, KeyModifiers::NONE);
    on_panes(model, action, no_key)
}

/// Does what was chosen in the palette.
pub fn choose_from_palette(model: &mut Model, chosen: PaletteRow) -> Option<Effect> {
    if let PaletteItem::Key(KeyContext::Source, action) = chosen.item {
        return reading::act(model, action);
    }
    model.reading = None;
    match chosen.item {
        PaletteItem::Command(command, argument)
            if argument.is_empty() && !command.is_complete() =>
        {
            begin(model, command.does);
            None
        }
        PaletteItem::Command(command, argument) => run_command(model, command, &argument),
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
pub fn add_source(model: &mut Model, path: &str) -> Option<Effect> {
    if path.is_empty() {
        model.warn("/add needs a folder or a file.");
        return None;
    }
    model.inform(&format!("Reading {path} …"));
    Some(Effect::Send(Command::AddSource(path.to_owned())))
}

/// Keeps the answer that is shown in a file; without a path in the folder of what is exported.
fn save(model: &mut Model, path: &str) -> Option<Effect> {
    let answered = model.shown_run().filter(|run| run.finish.is_some());
    let Some(run) = answered.map(|run| run.id.clone()) else {
        model.inform("There is no answer to keep yet.");
        return None;
    };
    let path = path.to_owned();
    let command = SessionCommand::SaveAnswer { run, path };
    Some(Effect::Send(Command::Session(command)))
}

/// Another folder or file is taken up, or is not.
pub fn source_added(model: &mut Model, outcome: Result<String, String>) {
    match outcome {
        Ok(line) => model.inform(&line),
        Err(line) => model.warn(&line),
    }
}

/// Stops indexing, or goes on with it.
fn steer_index(model: &mut Model, command: IndexCommand) -> Effect {
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
    Effect::Send(Command::Index(command))
}

// All that can be done, found by a few of its letters.

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
pub fn open_palette(model: &mut Model) {
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
