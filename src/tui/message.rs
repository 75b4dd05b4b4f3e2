//! What reaches the screen, and what must happen outside of it.

use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::protocol::{Command, Timestamp, Update};

use super::background::Background;
use super::pane_state::{ClickUnit, Split};

/// What can reach the screen.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key.
    Key(KeyEvent),
    /// Pasted text, whole.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// Clicks in quick succession select what is under that column and row.
    Select(ClickUnit, u16, u16),
    /// The terminal's background is known now.
    Background(Background),
    /// The terminal has this size now.
    Resize(u16, u16),
    /// What the engine tells.
    Update(Update),
    /// The next frame of the animation, at this moment.
    Tick(Timestamp),
    /// A command could not be delivered.
    Refused(Command),
    /// The engine is gone.
    EngineGone,
    /// The editor is closed, or could not be opened: one line says why.
    Edited(Result<(), String>),
    /// There is no shell to go back to.
    NotSuspended,
}

/// What must happen outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Tell the engine.
    Send(Command),
    /// Leave the program.
    Quit,
    /// Put this on the clipboard, if the terminal lets us.
    Copy(String),
    /// Open the person's editor.
    Edit {
        /// The file.
        path: PathBuf,
        /// The line to open, counted from 1.
        line: usize,
    },
    /// Remember where the borders between panes stand.
    KeepSplit(Split),
    /// Have the terminal report the mouse, or not.
    ReportMouse(bool),
    /// Stop, until the shell says to go on.
    Suspend,
    /// Replay the run that the panes show.
    Replay {
        /// Whether it plays at once, and slowly enough to be followed.
        slow: bool,
    },
}
