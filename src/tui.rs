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
mod answers;
mod ask;
mod audit;
mod background;
mod branching;
mod caret;
mod cast;
mod copy;
mod error;
mod event_loop;
mod find;
mod focus;
#[cfg(not(fuzzing))]
mod fold;
#[cfg(fuzzing)]
pub mod fold;
mod ink;
mod keyboard;
mod keymap;
mod labels;
mod layout;
mod links;
mod markdown;
mod menu;
mod model;
mod models;
mod mouse;
mod pace;
mod pane_state;
mod panes;
mod prompt;
mod reading;
mod replay;
mod rerun;
mod rerun_plan;
mod screen;
mod sessions;
pub mod slash;
mod source_view;
mod terminal;
mod theme;
mod theme_choice;
mod timeline;
mod turns;
mod unbracketed_paste;
mod update;
mod view;
mod window;
mod window_keys;
mod window_view;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Command, RecordedRun, Update};

use event_loop::event_loop;
use theme::Theme;

pub use background::Background;
pub use cast::record_replay;
pub use error::TuiError;
pub use layout::LEAST;
pub use markdown::printed_markdown;
pub use model::{Effect, Msg};
pub use model::{OwnFiles, Sample, Setup, WalkStep};
pub use pane_state::{ClickUnit, Split};
pub use screen::Screen;
pub use terminal::{editor_has_terminal, give_back_terminal};
pub use theme::{ColorDepth, ThemeName};
pub use theme_choice::Glyphs;
pub use theme_choice::TerminalLooks;

/// What is wrong with a user's theme, in one line.
pub fn check_theme(source: &str) -> Result<(), String> {
    Theme::own(source, ThemeName::DARK, ColorDepth::True).map(|_| ())
}

/// What is wrong with a user's keys, in one line.
pub fn check_keymap(source: &str) -> Result<(), String> {
    let ours = keymap::Keymap::load();
    ours.map_err(|error| error.to_string())?.put_own(source)
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
    event_loop(screen_of(setup)?, commands, updates, leave).await
}

/// Shows the recorded events of one run step by step, as [`run`] shows what happens. Nothing but
/// documents is asked for.
pub async fn replay(
    setup: Setup,
    run: RecordedRun,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    let mut screen = screen_of(setup)?;
    if !screen.replay_recorded(run) {
        return Err(TuiError::NoBeginning);
    }
    event_loop(screen, commands, updates, leave).await
}

fn screen_of(setup: Setup) -> Result<Screen, TuiError> {
    Screen::on_terminal(setup, TerminalLooks::of_environment())
}
