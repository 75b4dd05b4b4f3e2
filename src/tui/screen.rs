//! The screen without a terminal: messages in, cells out.
//!
//! The event loop and the tests drive the same thing, so what a test sees is what is drawn.

use crossterm::event::{KeyEventKind, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tokio::sync::watch;

use crate::protocol::{Event, NoticeLevel, Update};

use super::announce::TerminalStatus;
use super::error::TuiError;
use super::message::{Effect, Msg};
use super::model::{AskedBy, Model};
use super::pointer::Split;
use super::replay::{Replay, ReplayOutcome};
use super::setup::Setup;
use super::theme_choice::{TerminalLooks, ThemeChoice};
use super::update::update;
use super::view::view;
use super::walk::Walk;
use super::{sessions, settle};

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

    /// The screen shows these events of a run, step by step, and nothing else; `false` where they
    /// begin no run.
    pub fn replay_recorded(&mut self, events: Vec<Event>) -> bool {
        self.replay = Replay::of_recorded(&self.model, events).map(Box::new);
        self.replay.is_some()
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
        if let Msg::Background(background) = msg {
            self.looks.on_background(background);
            return Vec::new();
        }
        let effects = match &mut self.replay {
            Some(replay) if replay.concerns(&msg) => match replay.handle(msg) {
                ReplayOutcome::GoesOn(effects) => effects,
                ReplayOutcome::Left if replay.is_all() => vec![Effect::Quit],
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
        let (level, words) = match self.looks.choose(name) {
            Ok(shown) => (
                NoticeLevel::Info,
                format!("Theme {shown}. KB_AGENT_THEME={name} keeps it."),
            ),
            Err(why) => (NoticeLevel::Warning, why),
        };
        self.model.notify(level, &words);
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

    /// Whether the terminal is to report the mouse.
    pub fn reports_mouse(&self) -> bool {
        self.model.mouse
    }

    /// Whether something moves on the screen.
    pub fn is_animated(&self) -> bool {
        self.model.is_busy()
            || self.walk.is_some()
            || self
                .replay
                .as_ref()
                .is_some_and(|replay| replay.is_playing())
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
        terminal.autoresize()?;
        let size = terminal.size()?;
        self.handle(Msg::Resize(size.width, size.height));
        let shown = if let Some(replay) = &mut self.replay {
            replay.settle(self.model.size);
            replay.model()
        } else {
            settle::settle(&mut self.model);
            &self.model
        };
        terminal.draw(|frame| {
            view(shown, self.looks.theme(), frame);
            self.looks.finish(frame.buffer_mut());
        })?;
        Ok(())
    }

    /// Lays out what may be seen next. To be done between a frame and the next key.
    pub fn lay_out_ahead(&mut self) {
        if self.replay.is_none() {
            settle::lay_out_ahead(&mut self.model);
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
        let mut lines = Vec::new();
        for y in 0..height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..width {
                let Some(cell) = buffer.cell((x, y)) else {
                    continue;
                };
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                line.push_str(cell.symbol());
                skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}
