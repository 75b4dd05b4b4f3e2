//! What each message changes, and what it asks of the outside.
//!
//! Pure: no clock, no terminal, no channel. Time enters as a message, and what must happen
//! outside leaves as an effect.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Position, Size};

use crate::protocol::{Command, Event, EventBody, Update};
use crate::text::{one_line, sanitize};

use super::focus::{focus, stop_acting};
use super::keymap::{Action, KeyContext};
use super::model::{Effect, Model, Msg, TurnView};
use super::mouse::mouse;
use super::pane_state::{AnswerFocus, Pane};
use super::window::type_into;
use super::window_keys::plain_digit;
use super::{act, ask, copy, labels, menu, models, reading, sessions, window_keys};

/// Takes one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let was_awaited = sessions::statistics(model).is_some_and(|known| known.is_none());
    let mut effects: Vec<Effect> = take(model, msg).into_iter().collect();
    effects.extend(menu::follow_text(model));
    if was_awaited && sessions::statistics(model).is_none() {
        effects.push(Effect::Send(Command::LeaveStatistics));
    }
    if !model.prompt.is_empty() {
        stop_acting(model);
    }
    model.keep_open();
    effects
}

fn take(model: &mut Model, msg: Msg) -> Option<Effect> {
    match msg {
        Msg::Key(event) if event.kind != KeyEventKind::Release => return key(model, event),
        // The screen takes the latter.
        Msg::Key(_) | Msg::Background(_) => {}
        Msg::Paste(text) => {
            model.keymap.end_sequence();
            paste(model, &text);
        }
        Msg::Mouse(event) => {
            model.keymap.end_sequence();
            return mouse(model, event);
        }
        Msg::Select(unit, column, row) => {
            return copy::select(model, unit, Position::new(column, row));
        }
        Msg::Resize(width, height) => model.size = Size::new(width, height),
        Msg::Update(Update::Event(event)) => return stream(model, &Arc::new(event)),
        Msg::Update(Update::Starting { wait, at }) => ask::starting(model, wait, at),
        Msg::Update(Update::Knowledge(status)) => {
            model.pace.add(&status);
            model.knowledge = status;
        }
        Msg::Update(Update::Contents(contents)) => ask::know(model, contents),
        Msg::Update(Update::NotAsked { query, reason }) => {
            return ask::not_asked(model, &query, &reason);
        }
        Msg::Update(Update::Document(text)) => reading::arrived(model, text),
        Msg::Update(Update::Explained { source, lines }) => {
            reading::explained(model, &source, &lines);
        }
        Msg::Update(Update::Session(update)) => sessions::arrived(model, update),
        Msg::Update(Update::Model(update)) => return models::arrived(model, update),
        Msg::Update(Update::NotLabelled { change, reason }) => {
            labels::not_kept(model, change, &reason);
        }
        Msg::Update(Update::Paths { typed, paths }) => menu::listed(model, &typed, paths),
        Msg::Update(Update::SourceAdded(outcome)) => act::source_added(model, outcome),
        Msg::Update(Update::Statistics(read)) => sessions::statistics_arrived(model, read),
        Msg::Update(Update::Notice { level, message }) => {
            model.notify_unless_warned(level, &message);
        }
        Msg::Edited(result) => return reading::edited(model, result),
        Msg::Written(written) => ask::take_draft(model, written),
        Msg::Tick(now) => {
            model.now = model.now.max(now);
            model.frame = model.frame.wrapping_add(1);
        }
        Msg::Refused(command) => return refused(model, command),
        Msg::NotSuspended => {
            model.inform("This window has no shell to go back to; Ctrl+C twice leaves.");
        }
        Msg::EngineGone => {
            model.pending = None;
            model.current = None;
            ask::abandon_queue(model);
            reading::abandon(model);
            sessions::abandon_statistics(model);
            models::refused(model, "the engine stopped");
            let now = model.now;
            model.racing = None;
            for turn in model.turns.all_mut() {
                turn.abandon("the engine stopped", now);
            }
            model.warn("The engine stopped; Ctrl+C twice leaves.");
        }
    }
    None
}

fn stream(model: &mut Model, event: &Arc<Event>) -> Option<Effect> {
    model.now = model.now.max(event.ts);
    if let Some(turn) = TurnView::begin(event) {
        if let EventBody::RunStarted { model: asked, .. } = &event.body {
            // Its name may be known only now.
            model.models.set_main(asked);
        }
        (model.pending, model.starting) = (None, None);
        model.current = Some(event.run.clone());
        model.shown = None;
        model.chat.chosen = AnswerFocus::No;
        model.reset_panes();
        if model.turns.push(turn) {
            // What was searched is another text.
            model.begin_find_again();
        }
        ask::note_run_start(model, &event.run);
        return None;
    }
    // Events of a run that has ended here, or that is not shown any more, come too late.
    let turn = model.turns.by_run_mut(&event.run);
    let turn = turn.filter(|turn| turn.exchange().finish.is_none())?;
    turn.take(event);
    if matches!(event.body, EventBody::RunFinished { .. }) {
        model.current = model.turns.going_on().map(|exchange| exchange.id.clone());
        model.clear_notice();
        return ask::next_queued(model);
    }
    None
}

fn refused(model: &mut Model, command: Command) -> Option<Effect> {
    match command {
        Command::Model(_) => return models::refused(model, "The engine is busy; try again."),
        Command::Ask { query, .. } | Command::Race { query, .. } => {
            model.racing = None;
            ask::refused(model, &query);
        }
        Command::Rerun(request) => ask::refused(model, &request.query),
        Command::ReadDocument { .. } => reading::refused(model),
        Command::Explain { source, .. } => {
            let lines = ["The engine is busy; try again.".to_owned()];
            reading::explained(model, &source, &lines);
        }
        Command::Session(command) => sessions::refused(model, &command),
        Command::Label(change) => labels::not_kept(model, change, "the engine is busy; try again"),
        Command::ReadStatistics => sessions::statistics_refused(model),
        // It is read to its end then, without a notice.
        Command::LeaveStatistics | Command::ListPaths(_) => {}
        Command::Cancel
        | Command::Forget
        | Command::Index(_)
        | Command::AddSource(_)
        | Command::KeepSettings(_) => {
            model.warn("The engine is busy; try again.");
        }
    }
    None
}

fn paste(model: &mut Model, text: &str) {
    model.leaving = false;
    if let Some(find) = model.find.as_mut().filter(|_| model.overlay.is_none()) {
        find.typed.push_str(&one_line(text, 80));
        return;
    }
    if is_filtering(model) {
        model.audit.filter.push_str(&one_line(text, 80));
        return;
    }
    if window_keys::paste(model, text) {
        return;
    }
    // Whatever has the keys, it takes no text, and what was pasted must not be lost.
    (model.overlay, model.beneath, model.reading) = (None, None, None);
    focus(model, Pane::Chat);
    model.prompt.paste(&sanitize(text));
}

/// Whether keys go into the filter of the audit pane.
fn is_filtering(model: &Model) -> bool {
    model.audit.typing && model.overlay.is_none() && model.focus == Pane::Audit
}

/// Whether keys go into the search in the conversation.
fn is_finding(model: &Model) -> bool {
    let is_covered = model.overlay.is_some() || model.reading.is_some();
    model.find.is_some() && !is_covered && model.focus == Pane::Chat
}

/// Whether letters go into the prompt.
pub fn is_typing(model: &Model) -> bool {
    let is_covered = model.overlay.is_some() || model.reading.is_some();
    model.focus == Pane::Chat && !is_covered && model.find.is_none() && !model.is_acting()
}

fn find_key(model: &mut Model, event: KeyEvent) -> Option<Effect> {
    let action = model
        .keymap
        .action(event, &[KeyContext::Find, KeyContext::Global]);
    match action {
        // What leaves, or moves to another pane, does so from here too.
        Some(Action::Quit) => {
            model.find = None;
            return act::on_panes(model, Action::Quit, event);
        }
        Some(Action::NextPane | Action::PreviousPane | Action::Palette | Action::Help) => {
            return action.and_then(|action| act::on_panes(model, action, event));
        }
        _ => {}
    }
    if let Some(find) = &mut model.find
        && !find.key(action, event)
    {
        model.find = None;
    }
    None
}

fn key(model: &mut Model, event: KeyEvent) -> Option<Effect> {
    model.pointer.selection = None;
    model.clear_notice();
    let places = model.places();
    if model.keymap.leaves_sequence(event, &places) {
        model.keymap.end_sequence();
        if event.code == KeyCode::Esc {
            return None;
        }
    }
    if !is_filtering(model) && model.keymap.begin_sequence(event, &places) {
        return None;
    }
    let effect = key_alone(model, event);
    model.keymap.end_sequence();
    effect
}

/// A key that begins no sequence, alone or as the end of one.
fn key_alone(model: &mut Model, event: KeyEvent) -> Option<Effect> {
    // What has the keys does not matter: it is all still there afterwards.
    if model.keymap.action(event, &[KeyContext::Global]) == Some(Action::Suspend) {
        return Some(Effect::Suspend);
    }
    if is_filtering(model) {
        return filter_key(model, event);
    }
    if is_finding(model) {
        return find_key(model, event);
    }
    let places = model.places();
    let action = model.keymap.action(event, &places);
    if action != Some(Action::Quit) {
        model.leaving = false;
    }
    if model.overlay.is_some() {
        return window_keys::key(model, event, action);
    }
    if model.reading.is_some() {
        let action = action.or_else(|| model.keymap.action(event, &[KeyContext::Global]));
        return action.and_then(|action| reading::act(model, action));
    }
    if model.focus == Pane::Chat {
        if model.prompt.is_empty() {
            // Once something was asked, a digit begins a question; /try brings the samples back.
            if let Some(at) = plain_digit(event).and_then(|digit| digit.checked_sub(1))
                && at < model.samples.len()
                && model.is_empty()
            {
                return ask::sample(model, at);
            }
            if act::on_empty_prompt(model, event, action) {
                return None;
            }
        }
        if let Some(action) = model.keymap.action(event, &[KeyContext::Menu])
            && menu::is_open(model)
        {
            return act::on_menu(model, action);
        }
    }
    match action {
        Some(Action::Send) if model.prompt.slash().is_some() => act::run_typed(model),
        Some(action) => act::on_panes(model, action, event),
        None if model.focus == Pane::Chat => {
            model.chat.citation = None;
            model.chat.chosen = AnswerFocus::No;
            model.prompt.key(event);
            None
        }
        // A letter without a use in a pane types nothing, but says how to type.
        None if is_text(event) => {
            let key = model.keymap.name_of(Action::FocusChat).unwrap_or_default();
            model.inform(&format!(
                "That key does nothing here; {key} goes to the question."
            ));
            None
        }
        None => None,
    }
}

/// A character that begins a text. Spaces do not.
fn is_text(event: KeyEvent) -> bool {
    matches!(event.code, KeyCode::Char(c) if !c.is_whitespace() && !c.is_control())
        && (event.modifiers - KeyModifiers::SHIFT).is_empty()
}

fn filter_key(model: &mut Model, event: KeyEvent) -> Option<Effect> {
    let audit = &mut model.audit;
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Enter | KeyCode::Down | KeyCode::Tab => audit.typing = false,
        // One more at the beginning closes the filter.
        KeyCode::Backspace if audit.filter.is_empty() => audit.typing = false,
        code if code == KeyCode::Esc || code == KeyCode::Char('c') && ctrl => {
            audit.typing = false;
            audit.filter.clear();
        }
        _ => {
            type_into(&mut audit.filter, event);
        }
    }
    None
}

// Where the next key is looked up: what lies uppermost, which pane has the keys, what is chosen there.

impl Model {
    /// Where the next key is looked up.
    pub fn places(&self) -> Vec<KeyContext> {
        if let Some(window) = &self.overlay {
            return window.places().collect();
        }
        if self.reading.is_some() {
            return vec![KeyContext::Source, KeyContext::Overlay];
        }
        // Nothing is typed while a run is replayed.
        let is_replay = self.replay.is_some();
        let mut places = Vec::new();
        places.extend(is_replay.then_some(KeyContext::Replay));
        match self.focus {
            Pane::Chat if self.find.is_some() && !is_replay => return vec![KeyContext::Find],
            Pane::Chat => {
                if is_replay || self.prompt.is_empty() {
                    self.add_places_of_answer(&mut places);
                } else if menu::is_open(self) {
                    places.push(KeyContext::Menu);
                }
                places.extend((!is_replay).then_some(KeyContext::Prompt));
            }
            Pane::Path => places.extend([KeyContext::Path, KeyContext::List]),
            Pane::Evidence => places.extend([KeyContext::Evidence, KeyContext::List]),
            Pane::Audit => places.extend([KeyContext::Audit, KeyContext::List]),
        }
        places.push(KeyContext::Global);
        places
    }

    /// What keys mean while nothing is typed.
    fn add_places_of_answer(&self, places: &mut Vec<KeyContext>) {
        let run = self.shown_run();
        let cites = run.is_some_and(|run| !run.citations.is_empty());
        let is_on_citation = cites && self.chat.citation.is_some();
        let is_chosen = self.chat.chosen == AnswerFocus::Yes && self.replay.is_none();
        places.extend(self.is_acting().then_some(KeyContext::Acting));
        places.extend(is_on_citation.then_some(KeyContext::Citation));
        places.extend((is_chosen && !is_on_citation).then_some(KeyContext::Chosen));
        places.extend(cites.then_some(KeyContext::Answer));
    }

    /// Whether letters act on the answer that is chosen.
    pub fn is_acting(&self) -> bool {
        self.focus == Pane::Chat
            && self.chat.chosen == AnswerFocus::ActedOn
            && self.replay.is_none()
    }
}
