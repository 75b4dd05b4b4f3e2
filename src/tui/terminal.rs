//! The terminal, borrowed: raw mode and all that, and given back as it was found.
//!
//! Given back on return, on error, on panic (before the message is printed) and on signals, which
//! end the event loop like any other way out.

use std::io::{self, Stdout, Write, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    supports_keyboard_enhancement,
};
use crossterm::{execute, queue};
use tokio::sync::Notify;

use crate::text::CONFINED_THREAD;

/// While this lives, the terminal is ours.
#[derive(Debug)]
pub struct TerminalGuard {
    state: Arc<Borrowed>,
}

#[derive(Debug)]
struct Borrowed {
    taken: AtomicBool,
    enhanced: AtomicBool,
    lost: Notify,
}

impl TerminalGuard {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        let state = Arc::new(Borrowed {
            taken: AtomicBool::new(true),
            enhanced: AtomicBool::new(false),
            lost: Notify::new(),
        });
        let guard = Self {
            state: Arc::clone(&state),
        };
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() == Some(CONFINED_THREAD) {
                return;
            }
            state.give_back();
            before(info);
            state.lost.notify_one();
        }));
        enable_raw_mode()?;
        execute!(
            stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableMouseCapture
        )?;
        Ok(guard)
    }

    /// Asks for keys that tell Shift+Enter from Enter, where that is worth asking: a terminal that
    /// does not answer would cost two seconds.
    pub fn enhance(&self) -> io::Result<()> {
        if answers_queries() && supports_keyboard_enhancement()? {
            execute!(
                stdout(),
                PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
            )?;
            self.state.enhanced.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl TerminalGuard {
    /// Whether the terminal has not been given back yet.
    pub fn is_ours(&self) -> bool {
        self.state.taken.load(Ordering::SeqCst)
    }

    /// Waits until a panic anywhere in the program has given the terminal back.
    pub async fn lost(&self) {
        self.state.lost.notified().await;
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.state.give_back();
    }
}

impl Borrowed {
    /// Once; whoever comes second finds it done. There is nobody left to tell of a failure.
    fn give_back(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        let mut out = stdout();
        if self.enhanced.load(Ordering::SeqCst) {
            let _ = queue!(out, PopKeyboardEnhancementFlags);
        }
        let _ = leave(&mut out);
        let _ = disable_raw_mode();
    }
}

fn leave(out: &mut Stdout) -> io::Result<()> {
    queue!(
        out,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    )?;
    out.flush()
}

fn answers_queries() -> bool {
    let says = |name: &str, words: &[&str]| {
        std::env::var(name).is_ok_and(|value| {
            let value = value.to_lowercase();
            words.iter().any(|word| value.contains(word))
        })
    };
    std::env::var_os("KITTY_WINDOW_ID").is_some()
        || says(
            "TERM",
            &[
                "kitty",
                "ghostty",
                "foot",
                "alacritty",
                "wezterm",
                "rio",
                "contour",
            ],
        )
        || says("TERM_PROGRAM", &["wezterm", "ghostty", "iterm", "rio"])
}
