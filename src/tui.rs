//! The screen.
//!
//! Elm's shape: one `model` that only `update` changes, a `view` that only reads,
//! and messages between. It is given two channels and nothing else: what it shows is a fold over
//! the events that come in, and what it wants leaves as commands.
//!
//! ```text
//! terminal ─┐                      ┌─► Command
//! events   ─┼─► Msg ─► update ─────┤
//! ticks    ─┘       (Model)        └─► settle ─► view ─► cells
//! ```

mod act;
mod announce;
mod ask;
mod audit;
mod background;
mod borders;
mod cells;
mod code_cache;
mod commands;
mod compare;
mod copy;
mod drag;
mod editor;
mod event_loop;
mod find;
#[cfg(not(fuzzing))]
mod fold;
#[cfg(fuzzing)]
pub mod fold;
mod follow;
mod glyphs;
mod indexing;
mod ink;
mod key_places;
mod keymap;
mod keys;
mod layout;
mod list;
mod looks;
mod markdown;
mod matching;
mod menu;
mod mistake;
mod model;
mod mouse;
mod narrowed;
mod notice;
mod overlay;
mod overlays;
mod pace;
mod pages;
mod palette;
mod pane_state;
mod panes;
mod playhead;
mod pointer;
mod prompt;
mod reading;
mod recall;
mod recalled;
mod replay;
mod resume;
mod screen;
mod selection;
mod session_list;
mod sessions;
mod sheet;
mod slash;
mod sliders;
mod source_view;
mod split;
mod statistics;
mod suspend;
mod syntax;
mod table;
mod terminal;
mod theme;
mod timeline;
mod turn;
mod turns;
mod update;
mod view;
mod walk;
mod what_if;
mod window;
mod wrap;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::RoutingLimits;
use crate::protocol::{Command, Event, Mode, RecordedSession, RunRecord, Update};

pub use background::Background;
pub use glyphs::Glyphs;
pub use layout::LEAST;
pub use looks::{OwnFiles, TerminalLooks};
pub use screen::Screen;
pub use selection::Unit;
pub use split::Split;
pub use terminal::{editor_has_terminal, give_back_terminal};
use theme::Theme;
pub use theme::{ColorDepth, ThemeName};
pub use update::{Effect, Msg};
pub use walk::WalkStep;

/// What the screen needs to know before the first event.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How it looks.
    pub theme: ThemeName,
    /// The user's own themes and keys.
    pub own: OwnFiles,
    /// Whether colour is unwanted, whatever the theme.
    pub no_color: bool,
    /// Which engine thinks.
    pub mode: Mode,
    /// Its model.
    pub model: String,
    /// Where it is asked, without what is secret; nothing where the embedded engine thinks.
    pub endpoint: Option<String>,
    /// The settings that route.
    pub limits: RoutingLimits,
    /// Questions to try, one for each route; where there are none they are made from what the
    /// knowledge base holds.
    pub samples: Vec<Sample>,
    /// What is to be said at the start, one line each.
    pub notices: Vec<String>,
    /// Whether the index is still being opened.
    pub is_opening: bool,
    /// The recorded conversation that goes on.
    pub resumed: Option<RecordedSession>,
    /// Whether the terminal reports the mouse.
    pub mouse: bool,
    /// Where the borders between panes stand, and are kept while the screen is open.
    pub split: watch::Sender<Split>,
    /// How runs are written as Markdown.
    pub markdown: fn(&[RunRecord]) -> String,
    /// Questions that ask themselves first, until a key is pressed.
    pub walk: Vec<WalkStep>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            theme: ThemeName::default(),
            own: OwnFiles::default(),
            no_color: false,
            mode: Mode::Offline,
            model: String::new(),
            endpoint: None,
            limits: RoutingLimits::default(),
            samples: Vec::new(),
            notices: Vec::new(),
            is_opening: false,
            resumed: None,
            mouse: true,
            split: watch::Sender::default(),
            markdown: |_| String::new(),
            walk: Vec::new(),
        }
    }
}

/// What is wrong with a user's theme, in one line.
pub fn check_theme(source: &str) -> Result<(), String> {
    Theme::own(source, ThemeName::Dark, ColorDepth::True).map(|_| ())
}

/// What is wrong with a user's keys, in one line.
pub fn check_keymap(source: &str) -> Result<(), String> {
    let ours = keymap::Keymap::load();
    ours.map_err(|error| error.to_string())?.put_own(source)
}

/// A question to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The route it should go: `chitchat`, `simple` or `complex`.
    pub route: &'static str,
    /// The question.
    pub text: String,
}

/// Why the screen could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal failed.
    #[error("terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// Something panicked; the message has been printed.
    #[error("stopped by a panic; its message stands above")]
    Panicked,
    /// A replay was asked for, and the events hold no `run_started`.
    #[error("what is recorded of this run does not hold its beginning")]
    NoBeginning,
    /// A file that is part of the program is wrong.
    #[error("{name}: {reason}")]
    Asset {
        /// Which file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Shows the screen until the person leaves or `leave` is cancelled.
///
/// The terminal is given back as it was found, whichever way this ends, a panic among them: what
/// goes on behind the screen can still be brought to its end.
pub async fn run(
    setup: Setup,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    show(screen_of(setup)?, commands, updates, leave).await
}

/// Shows the recorded events of one run step by step, as [`run`] shows what happens. Nothing but
/// documents is asked for.
pub async fn replay(
    setup: Setup,
    events: Vec<Event>,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    let mut screen = screen_of(setup)?;
    if !screen.replay_recorded(events) {
        return Err(TuiError::NoBeginning);
    }
    show(screen, commands, updates, leave).await
}

fn screen_of(setup: Setup) -> Result<Screen, TuiError> {
    Screen::on(setup, TerminalLooks::of_environment())
}

async fn show(
    screen: Screen,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    // It is large, and moved about while it is made ready.
    let drawing = Box::pin(event_loop::event_loop(screen, commands, updates, leave));
    let drawn = AssertUnwindSafe(drawing).catch_unwind().await;
    drawn.unwrap_or(Err(TuiError::Panicked))
}
