//! The screen without a terminal: messages in, cells out.
//!
//! The event loop and the tests drive the same thing, so what a test sees is what is drawn.

use std::collections::VecDeque;

use crossterm::event::{KeyEventKind, MouseEventKind};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::{CompletedFrame, Terminal};
use tokio::sync::watch;
use unicode_width::UnicodeWidthStr;

use crate::domain::NodeName;
use crate::protocol::{Event, EventBody, RecordedRun, Timestamp, Update};

use super::announce::TerminalStatus;
use super::error::TuiError;
use super::focus::focus;
use super::keymap::KeyNames;
use super::layout::{Arrangement, LayoutWidth};
use super::links::{Link, links};
use super::model::{AskedBy, Effect, Model, Msg, Setup, TurnQuestion, WalkStep};
use super::pane_state::{Pane, Split};
use super::replay::{Replay, ReplayOutcome};
use super::theme_choice::{Glyphs, TerminalLooks, ThemeChoice};
use super::update::{is_typing, update};
use super::view::view;
use super::{ask, sessions, view};

/// State and looks.
#[derive(Debug)]
pub struct Screen {
    model: Model,
    looks: ThemeChoice,
    /// Where the borders between panes stand, for the next time.
    split: watch::Sender<Split>,
    /// Lies above the model, and has the keys.
    replay: Option<Box<Replay>>,
    /// Asks by itself, and holds events back.
    walk: Option<Walk>,
}

impl Screen {
    /// The screen at the start, with all colours.
    pub fn new(setup: Setup) -> Result<Self, TuiError> {
        Self::on_terminal(setup, TerminalLooks::of_all())
    }

    /// The screen at the start, on such a terminal.
    pub fn on_terminal(mut setup: Setup, terminal: TerminalLooks) -> Result<Self, TuiError> {
        let (looks, problem) = ThemeChoice::new(&setup, terminal)?;
        let own = std::mem::take(&mut setup.own);
        let split = setup.split.clone();
        let resumed = setup.resumed.take();
        let walk = Walk::new(std::mem::take(&mut setup.walk));
        let mut model = Model::new(setup)?;
        model.themes = looks.names();
        if terminal.glyphs == Glyphs::Ascii {
            model.key_names = KeyNames::Words;
        }
        if walk.is_some() {
            model.asked_by = AskedBy::Demo;
        }
        if let Some(recorded) = resumed {
            sessions::show_recorded(&mut model, recorded);
        }
        let mistake = match own.keymap.as_deref() {
            Some(keys) => model.keymap.put_own(keys).err(),
            None => None,
        };
        let problems = own.unreadable.into_iter().chain(mistake).chain(problem);
        if let Some(first) = problems.into_iter().next() {
            model.warn(&first);
        }
        Ok(Self {
            looks,
            split,
            model,
            replay: None,
            walk,
        })
    }

    /// The screen shows this run, step by step, and nothing else; `false` where its events begin none.
    pub fn replay_recorded(&mut self, run: impl Into<RecordedRun>) -> bool {
        self.replay = Replay::of_recorded(&self.model, run.into()).map(Box::new);
        self.replay.is_some()
    }

    /// Plays the run that is replayed.
    pub fn play(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.play();
        }
    }

    /// Takes one message.
    pub fn handle(&mut self, msg: Msg) -> Vec<Effect> {
        match self.walk.take() {
            None => self.take(msg),
            Some(walk) => self.walk_on(walk, msg),
        }
    }

    /// Takes one message while questions ask themselves.
    fn walk_on(&mut self, mut walk: Walk, msg: Msg) -> Vec<Effect> {
        let is_a_key = match &msg {
            Msg::Key(event) => event.kind != KeyEventKind::Release,
            Msg::Mouse(event) => matches!(event.kind, MouseEventKind::Down(_)),
            Msg::Paste(_) | Msg::EngineGone => true,
            _ => false,
        };
        if is_a_key {
            walk.leave(&mut self.model);
            return match msg {
                Msg::EngineGone => self.take(msg),
                _ => Vec::new(),
            };
        }
        let effects = match msg {
            Msg::Update(Update::Event(event)) => {
                walk.hold(event);
                Vec::new()
            }
            Msg::Tick(now) => {
                self.take(msg);
                match walk.tick(&mut self.model, now) {
                    Some(effects) => effects,
                    None => return Vec::new(),
                }
            }
            _ => self.take(msg),
        };
        self.walk = Some(walk);
        effects
    }

    fn take(&mut self, msg: Msg) -> Vec<Effect> {
        let msg = match msg {
            Msg::Background(background) => {
                self.looks.on_background(background);
                return Vec::new();
            }
            Msg::Key(event) => Msg::Key(self.model.keymap.shortcut(event)),
            msg => msg,
        };
        let effects = match &mut self.replay {
            Some(replay) if replay.concerns(&msg) => match replay.handle(msg) {
                ReplayOutcome::GoesOn(effects) => effects,
                ReplayOutcome::Left if replay.is_all => vec![Effect::Quit],
                ReplayOutcome::Left => {
                    self.replay = None;
                    Vec::new()
                }
            },
            Some(replay) => {
                replay.handle_background(&msg);
                update(&mut self.model, msg)
            }
            None => update(&mut self.model, msg),
        };
        if let Some(name) = self.model.theme.take() {
            self.change_theme(&name);
        }
        effects
            .into_iter()
            .filter(|effect| match effect {
                Effect::Replay { slow } => {
                    self.begin_replay(*slow);
                    false
                }
                Effect::KeepSplit(split) => {
                    self.split.send_replace(*split);
                    false
                }
                _ => true,
            })
            .collect()
    }

    fn change_theme(&mut self, name: &str) {
        match self.looks.choose(name) {
            Ok(shown) => {
                let words = format!("Theme {shown}. KB_AGENT_THEME={name} keeps it.");
                self.model.inform(&words);
            }
            Err(why) => self.model.warn(&why),
        }
    }

    fn begin_replay(&mut self, slow: bool) {
        match Replay::of_shown(&self.model) {
            Ok(mut replay) => {
                if slow {
                    replay.play_slowly();
                }
                self.replay = Some(Box::new(replay));
            }
            Err(why) => self.model.inform(why),
        }
    }

    /// Whether the theme depends on a background that is not known yet.
    pub fn asks_for_background(&self) -> bool {
        self.looks.asks_for_background()
    }

    /// Whether letters go into the prompt.
    pub fn takes_typing(&self) -> bool {
        self.replay.is_none() && self.walk.is_none() && is_typing(&self.model)
    }

    /// Whether the terminal is to report the mouse.
    pub fn reports_mouse(&self) -> bool {
        self.model.mouse
    }

    /// Whether something moves on the screen.
    pub fn is_animated(&self) -> bool {
        self.model.is_busy()
            || self.walk.is_some()
            || self.replay.as_ref().is_some_and(|one| one.is_playing())
    }

    /// What the terminal is to show beside the cells.
    pub fn announced(&self) -> TerminalStatus {
        TerminalStatus::from_model(&self.model)
    }

    /// Draws on a terminal.
    pub fn draw<B: ratatui::backend::Backend>(
        &mut self,
        terminal: &mut Terminal<B>,
    ) -> Result<(), B::Error> {
        self.draw_shown(terminal).map(|_| ())
    }

    /// Draws on a terminal; the links of what is drawn.
    pub fn draw_with_links<B: ratatui::backend::Backend>(
        &mut self,
        terminal: &mut Terminal<B>,
    ) -> Result<Vec<Link>, B::Error> {
        let (shown, drawn) = self.draw_shown(terminal)?;
        Ok(links(shown, drawn.buffer))
    }

    /// Draws what is shown; the model of that and its cells.
    fn draw_shown<'t, B: ratatui::backend::Backend>(
        &mut self,
        terminal: &'t mut Terminal<B>,
    ) -> Result<(&Model, CompletedFrame<'t>), B::Error> {
        terminal.autoresize()?;
        let size = terminal.size()?;
        self.handle(Msg::Resize(size.width, size.height));
        let shown = if let Some(replay) = &mut self.replay {
            replay.settle(self.model.size);
            &replay.model
        } else {
            view::settle(&mut self.model);
            &self.model
        };
        let drawn = terminal.draw(|frame| {
            view(shown, self.looks.theme(), frame);
            self.looks.finish(frame.buffer_mut());
        })?;
        Ok((shown, drawn))
    }

    /// Lays out what may be seen next. To be done between a frame and the next key.
    pub fn lay_out_ahead(&mut self) {
        if self.replay.is_none() {
            view::lay_out_ahead(&mut self.model);
        }
    }

    /// Draws on a buffer of this size.
    pub fn render(&mut self, width: u16, height: u16) -> Buffer {
        let backend = TestBackend::new(width, height);
        let Ok(mut terminal) = Terminal::new(backend);
        let Ok(()) = self.draw(&mut terminal);
        terminal.backend().buffer().clone()
    }

    /// The cells as text, line by line.
    pub fn text(&mut self, width: u16, height: u16) -> String {
        let buffer = self.render(width, height);
        let rows = buffer.content.chunks(width.max(1).into());
        let lines: Vec<String> = rows
            .map(|cells| {
                let (mut line, mut covered) = (String::new(), 0);
                for cell in cells {
                    // A wide character covers the cells behind it.
                    if covered == 0 {
                        line.push_str(cell.symbol());
                        covered = cell.symbol().width().max(1);
                    }
                    covered -= 1;
                }
                line.trim_end().to_owned()
            })
            .collect();
        lines.join("\n")
    }
}

// A walk through the routes: questions that ask themselves, their events at a person's pace.
//
// Events are held back and let through one by one, so that each can be seen; any key lets all of
// them through and leaves the person in the ordinary screen.

/// How long an answer stands before the next question, milliseconds.
const REST: u64 = 5_000;
/// How long a first index is waited for, where what it holds already can be asked, milliseconds.
const PATIENCE: u64 = 5_000;

/// What is said when all is shown.
const OVER: &str = "That was the demo. Now you: type a question, / lists the commands, ? the keys, \
                    Ctrl+C twice leaves.";
/// What is said when a key ended it.
const LEFT: &str = "The demo is left. Type a question, / lists the commands, ? the keys.";

/// A walk that goes on.
#[derive(Debug)]
pub struct Walk {
    steps: VecDeque<WalkStep>,
    about: Option<String>,
    held: VecDeque<Event>,
    begun: Option<Timestamp>,
    /// Nothing happens before this moment.
    due: Timestamp,
    /// Whether the answer that is shown has been given its time.
    rested: bool,
}

impl Walk {
    /// A walk over these steps; `None` where there are none.
    pub fn new(steps: Vec<WalkStep>) -> Option<Self> {
        (!steps.is_empty()).then(|| Self {
            steps: steps.into(),
            about: None,
            held: VecDeque::new(),
            begun: None,
            due: Timestamp(0),
            rested: true,
        })
    }

    /// Keeps an event until its time comes.
    pub fn hold(&mut self, event: Event) {
        self.held.push_back(event);
    }

    /// A key was pressed: everything that was held back is shown at once.
    pub fn leave(self, model: &mut Model) {
        for event in self.held {
            update(model, Msg::Update(Update::Event(event)));
        }
        end_walk(model);
        model.inform(LEFT);
    }

    /// Time has passed. `None` once all is shown.
    pub fn tick(&mut self, model: &mut Model, now: Timestamp) -> Option<Vec<Effect>> {
        let begun = *self.begun.get_or_insert(now);
        while self.due <= now
            && let Some(event) = self.held.pop_front()
        {
            self.due = Timestamp(now.0 + pause_after(&event.body));
            if let Some(pane) = pane_of(&event.body) {
                show_pane(model, pane);
            }
            update(model, Msg::Update(Update::Event(event)));
        }
        let is_idle = self.held.is_empty() && !model.is_busy() && self.due <= now;
        let knowledge = &model.knowledge;
        let has_waited = now.0.saturating_sub(begun.0) >= PATIENCE;
        // The words of the base can be searched.
        let is_ready = knowledge.documents > 0 && (!knowledge.indexing || has_waited);
        let mut effects = Vec::new();
        if is_idle && !std::mem::replace(&mut self.rested, true) {
            self.due = Timestamp(now.0 + REST);
        } else if is_idle && is_ready {
            let Some(step) = self.steps.pop_front() else {
                end_walk(model);
                model.inform(OVER);
                return None;
            };
            self.rested = false;
            self.about = Some(step.about);
            let question = TurnQuestion::new(step.question, None);
            effects = ask::ask(model, question).1.into_iter().collect();
        }
        // A warning stays, and so does what this step is about.
        if let (Some(about), None) = (&self.about, &model.notice) {
            model.inform(about);
        }
        Some(effects)
    }
}

/// The person takes over.
fn end_walk(model: &mut Model) {
    model.asked_by = AskedBy::Person;
    show_pane(model, Pane::Chat);
}

/// Where not all panes have room, the one in which something happens is shown.
fn show_pane(model: &mut Model, pane: Pane) {
    match Arrangement::new(model).breadth {
        LayoutWidth::Narrow => focus(model, pane),
        LayoutWidth::Medium if pane != Pane::Chat => model.side = pane,
        LayoutWidth::Medium | LayoutWidth::Wide | LayoutWidth::Tiny => {}
    }
}

/// Where an event is seen best.
fn pane_of(body: &EventBody) -> Option<Pane> {
    match body {
        // The answer that is written there is what is seen of it.
        EventBody::NodeEntered { node, .. } | EventBody::NodeFinished { node, .. }
            if *node == NodeName::Synthesize =>
        {
            None
        }
        EventBody::RunStarted { .. }
        | EventBody::NodeEntered { .. }
        | EventBody::NodeFinished { .. }
        | EventBody::RoutingPlan { .. }
        | EventBody::RouteDecided { .. } => Some(Pane::Path),
        EventBody::EvidenceAdded { .. } | EventBody::EvidenceGraded { .. } => Some(Pane::Evidence),
        EventBody::AnswerDelta { .. }
        | EventBody::AnswerFinished { .. }
        | EventBody::RunFinished { .. } => Some(Pane::Chat),
        _ => None,
    }
}

/// How long a person looks at what an event changes, milliseconds.
fn pause_after(body: &EventBody) -> u64 {
    match body {
        EventBody::AnswerDelta { .. } | EventBody::RunStarted { .. } => 40,
        EventBody::NodeEntered { .. } | EventBody::NodeFinished { .. } => 400,
        EventBody::ToolFinished { .. } | EventBody::EvidenceAdded { .. } => 500,
        EventBody::RoutingPlan { .. } | EventBody::RouteDecided { .. } => 800,
        EventBody::EvidenceGraded { .. } => 1_000,
        _ => 120,
    }
}
