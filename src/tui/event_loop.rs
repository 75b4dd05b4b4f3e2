//! Where keys, updates, time and signals become messages.
//!
//! Waits for any of them, takes all that is pending, then draws at most once and only if a
//! message arrived. The clock ticks only while something moves; an idle screen wakes for nothing.

use std::io;
use std::task::Poll;

use crossterm::event::{Event as Input, EventStream};
use futures_util::{StreamExt, poll};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::protocol::{Command, Timestamp, Update};

use super::TuiError;
use super::model::FRAME;
use super::screen::Screen;
use super::terminal::TerminalGuard;
use super::update::{Effect, Msg};

/// Runs until the person leaves, a signal asks to, or the terminal is gone.
pub async fn event_loop(
    mut screen: Screen,
    commands: mpsc::Sender<Command>,
    mut updates: mpsc::Receiver<Update>,
) -> Result<(), TuiError> {
    let mut signals = Signals::listen()?;
    let guard = TerminalGuard::take()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    // The first picture before the first question to the terminal.
    screen.draw(&mut terminal)?;
    guard.enhance()?;
    let mut inputs = EventStream::new();
    let mut frames = frames();
    let mut engine = true;
    loop {
        let first = tokio::select! {
            // After a panic nothing may be drawn any more, so that is asked first.
            biased;
            () = guard.lost() => return Err(TuiError::Panicked),
            () = signals.next() => break,
            input = inputs.next() => match input {
                Some(input) => message(input?),
                None => break,
            },
            update = updates.recv(), if engine => {
                engine = update.is_some();
                Some(update.map_or(Msg::EngineGone, Msg::Update))
            }
            _ = frames.tick(), if screen.is_animated() => Some(Msg::Tick(Timestamp::now())),
        };
        let mut pending: Vec<Msg> = first.into_iter().collect();
        // Polled with this task's waker: the stream keeps the first one it is given.
        while let Poll::Ready(Some(input)) = poll!(inputs.next()) {
            pending.extend(message(input?));
        }
        while let Ok(update) = updates.try_recv() {
            pending.push(Msg::Update(update));
        }
        if pending.is_empty() {
            continue;
        }
        if pending.iter().any(|msg| matches!(msg, Msg::Resize(..))) {
            // A terminal that shrank has lost cells, even when it is back at the size we knew, so
            // nothing of the last picture is taken for granted. `Terminal::clear` would wait for
            // the terminal to say where its cursor is.
            terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
            terminal.backend_mut().clear_region(ClearType::All)?;
        }
        let moved_before = screen.is_animated();
        for msg in pending {
            if apply(&mut screen, msg, &commands) == Flow::Leave {
                return Ok(());
            }
        }
        if screen.is_animated() && !moved_before {
            frames.reset();
        }
        if guard.is_ours() {
            screen.draw(&mut terminal)?;
        }
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Flow {
    Stay,
    Leave,
}

fn apply(screen: &mut Screen, msg: Msg, commands: &mpsc::Sender<Command>) -> Flow {
    for effect in screen.handle(msg) {
        match effect {
            Effect::Quit => return Flow::Leave,
            Effect::Send(command) => {
                if let Err(refused) = commands.try_send(command) {
                    let command = match refused {
                        mpsc::error::TrySendError::Full(command)
                        | mpsc::error::TrySendError::Closed(command) => command,
                    };
                    screen.handle(Msg::Refused(command));
                }
            }
        }
    }
    Flow::Stay
}

fn message(input: Input) -> Option<Msg> {
    match input {
        Input::Key(key) => Some(Msg::Key(key)),
        Input::Paste(text) => Some(Msg::Paste(text)),
        Input::Mouse(mouse) => {
            use crossterm::event::MouseEventKind as Kind;
            // Capture reports every movement; those change nothing.
            (!matches!(mouse.kind, Kind::Moved | Kind::Drag(_) | Kind::Up(_)))
                .then_some(Msg::Mouse(mouse))
        }
        Input::Resize(width, height) => Some(Msg::Resize(width, height)),
        Input::FocusGained | Input::FocusLost => None,
    }
}

fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
