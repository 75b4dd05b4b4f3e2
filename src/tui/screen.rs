//! The screen without a terminal: messages in, cells out.
//!
//! The event loop and the tests drive the same thing, so what a test sees is what is drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::protocol::{Event, NoticeLevel};

use super::announce::Announced;
use super::model::Model;
use super::replay::{Outcome, Replay};
use super::resume;
use super::theme::{ColorDepth, Theme, ThemeName};
use super::update::{Effect, Msg, update};
use super::view::view;
use super::{Setup, TuiError};

/// State and looks.
#[derive(Debug)]
pub struct Screen {
    model: Model,
    theme: Theme,
    /// Lies above the model, and has the keys.
    replay: Option<Box<Replay>>,
    /// The theme at the start, which is what `auto` goes back to.
    first: ThemeName,
    depth: ColorDepth,
    no_color: bool,
}

impl Screen {
    /// The screen at the start, with all colours.
    pub fn new(setup: Setup) -> Result<Self, TuiError> {
        Self::with_depth(setup, ColorDepth::True)
    }

    /// The screen at the start.
    pub fn with_depth(mut setup: Setup, depth: ColorDepth) -> Result<Self, TuiError> {
        let name = if setup.no_color {
            ThemeName::Mono
        } else {
            setup.theme
        };
        let no_color = setup.no_color;
        let resumed = setup.resumed.take();
        let mut model = Model::new(setup)?;
        if let Some(recorded) = resumed {
            resume::show(&mut model, &recorded);
        }
        Ok(Self {
            theme: Theme::load(name, depth)?,
            first: name,
            depth,
            no_color,
            model,
            replay: None,
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
        let effects = match &mut self.replay {
            Some(replay) if replay.concerns(&msg) => match replay.handle(msg) {
                Outcome::GoesOn(effects) => effects,
                Outcome::Left if replay.is_all() => vec![Effect::Quit],
                Outcome::Left => {
                    self.replay = None;
                    Vec::new()
                }
            },
            Some(replay) => {
                replay.overhear(&msg);
                update(&mut self.model, msg)
            }
            None => update(&mut self.model, msg),
        };
        if let Some(name) = self.model.theme.take() {
            self.change_theme(name);
        }
        effects
            .into_iter()
            .filter(|effect| match effect {
                Effect::Replay { slow } => {
                    self.begin_replay(*slow);
                    false
                }
                _ => true,
            })
            .collect()
    }

    fn begin_replay(&mut self, slow: bool) {
        match Replay::of_shown(&self.model) {
            Ok(mut replay) => {
                if slow {
                    replay.play_slowly();
                }
                self.replay = Some(Box::new(replay));
            }
            Err(why) => self.model.say(NoticeLevel::Info, why),
        }
    }

    fn change_theme(&mut self, name: ThemeName) {
        let model = &mut self.model;
        if self.no_color {
            model.say(NoticeLevel::Info, "NO_COLOR is set: no theme has colours.");
            return;
        }
        let wanted = if name == ThemeName::Auto {
            self.first
        } else {
            name
        };
        match Theme::load(wanted, self.depth) {
            Ok(theme) => {
                self.theme = theme;
                let words = format!("Theme {wanted}. KB_AGENT_THEME={name} keeps it.");
                model.say(NoticeLevel::Info, &words);
            }
            Err(error) => model.say(NoticeLevel::Warning, &error.to_string()),
        }
    }

    /// Whether the terminal is to report the mouse.
    pub fn reports_mouse(&self) -> bool {
        self.model.mouse
    }

    /// Whether something moves on the screen.
    pub fn is_animated(&self) -> bool {
        self.model.is_busy()
            || self
                .replay
                .as_ref()
                .is_some_and(|replay| replay.is_playing())
    }

    /// What the terminal is to show beside the cells.
    pub fn announced(&self) -> Announced {
        Announced::of(&self.model)
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
            self.model.settle();
            &self.model
        };
        terminal.draw(|frame| view(shown, &self.theme, frame))?;
        Ok(())
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
