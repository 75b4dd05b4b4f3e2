//! What ends the program from outside: signals, and a terminal that is gone.
//!
//! The first request cancels the token, and running work has [`IN_ORDER`] to stop. After that, or on
//! a second request, the terminal is restored and the process ends, whatever its tasks are doing:
//! the threads here wait for none of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, process, thread};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::output::CommandFailure;
use crate::tui::{editor_has_terminal, give_back_terminal};

/// How long an end in order may take.
const IN_ORDER: Duration = Duration::from_secs(2);
/// How long a step that is under way has for its end once it was asked to stop.
pub(super) const LAST_STEP: Duration = Duration::from_secs(1);
/// How long a terminal that takes nothing is waited for.
const LAST_WRITE: Duration = Duration::from_millis(200);
/// The exit code of what was interrupted.
const INTERRUPTED: i32 = 130;

/// Runs `work` with a token that is cancelled when the user or the system asks the program to
/// stop. Blocking work that ignores the token is not waited for afterwards.
pub(super) fn interruptible<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    run(|ending| watch_signals(ending, true), work)
}

/// [`interruptible`] for work that owns the terminal: it is also asked to stop when that is gone.
pub(super) fn interruptible_screen<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let watch = |ending: &Arc<Ending>| {
        watch_signals(ending, true)?;
        watch_terminal(ending)
    };
    run(watch, work)
}

/// [`interruptible`] for work that takes Ctrl+C as a message of its own.
pub(super) fn interruptible_lines<T>(
    work: impl AsyncFnOnce(
        CancellationToken,
        tokio::sync::mpsc::Receiver<()>,
    ) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    run(
        |ending| watch_signals(ending, false),
        async |cancel| {
            let (send, interrupts) = tokio::sync::mpsc::channel(1);
            let forwarding = tokio::spawn(async move {
                while tokio::signal::ctrl_c().await.is_ok() && send.send(()).await.is_ok() {}
            });
            let result = work(cancel, interrupts).await;
            forwarding.abort();
            result
        },
    )
}

/// What the work comes to, unless it is cancelled before; then it is dropped where it is.
pub(super) fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, CommandFailure>> {
    let work = Box::pin(work);
    async move {
        let done = cancel.run_until_cancelled(work).await;
        done.ok_or_else(CommandFailure::interrupted)
    }
}

/// What blocking work on a thread of its own comes to, unless it is cancelled before.
pub(super) async fn blocking_work<T: Send + 'static>(
    what: &str,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
    cancel: &CancellationToken,
) -> Result<T, CommandFailure> {
    let token = cancel.clone();
    let mut working = tokio::task::spawn_blocking(move || work(&token));
    let done = cancel.run_until_cancelled(&mut working).await;
    if done.is_none() {
        // What is under way may still be kept; a folder that does not answer is left behind.
        let _ = tokio::time::timeout(LAST_STEP, working).await;
    }
    // Work that sees the token first ends with a part of its result.
    let done = done.filter(|_| !cancel.is_cancelled());
    let done = done.ok_or_else(CommandFailure::interrupted)?;
    done.map_err(|error| CommandFailure::failed(format!("{what} broke off: {error}")))
}

fn run<T>(
    watch: impl FnOnce(&Arc<Ending>) -> io::Result<()>,
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let ending = Arc::new(Ending::default());
    watch(&ending).map_err(CommandFailure::failed)?;
    let runtime = Runtime::new().map_err(CommandFailure::failed)?;
    let result = runtime.block_on(work(ending.cancel.clone()));
    ending.over.store(true, Ordering::SeqCst);
    runtime.shutdown_background();
    result
}

/// Where a request to end comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndRequest {
    /// Ctrl+C or a signal. A second one ends the process at once.
    Signal,
    /// A closed terminal. The system and the shell may both report it, so a second report changes
    /// nothing.
    TerminalClosed,
}

#[derive(Default)]
struct Ending {
    cancel: CancellationToken,
    is_requested: AtomicBool,
    /// Nothing is left that the token could stop.
    over: AtomicBool,
}

impl Ending {
    fn request_end(&self, by: EndRequest) {
        if self.over.load(Ordering::SeqCst) {
            end_now();
        }
        if self.is_requested.swap(true, Ordering::SeqCst) {
            if by == EndRequest::Signal {
                end_now();
            }
            return;
        }
        let deadline = thread::Builder::new().name("deadline".to_owned());
        let deadline = deadline.spawn(|| {
            thread::sleep(IN_ORDER);
            end_now();
        });
        if deadline.is_err() {
            end_now();
        }
        self.cancel.cancel();
    }
}

/// Ends the process, its terminal as it was found. What is written of the index and the log is
/// whole at any moment, as it is when the process is killed.
fn end_now() -> ! {
    let (done, is_done) = mpsc::channel();
    let restore = thread::Builder::new().name("restore".to_owned());
    let restore = restore.spawn(move || {
        give_back_terminal();
        let _ = done.send(());
    });
    if restore.is_ok() {
        let _ = is_done.recv_timeout(LAST_WRITE);
    }
    process::exit(INTERRUPTED)
}

/// Watches for what ends the program; without `ctrl_c` that is a message to others.
#[cfg(unix)]
fn watch_signals(ending: &Arc<Ending>, ctrl_c: bool) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    let signals = [(SIGQUIT, true), (SIGTERM, true), (SIGINT, ctrl_c)];
    let hangup = (SIGHUP, !survives_its_terminal());
    let wanted = signals.into_iter().chain([hangup]);
    let wanted = wanted.filter_map(|(signal, is_wanted)| is_wanted.then_some(signal));
    let mut signals = Signals::new(wanted)?;
    let ending = Arc::clone(ending);
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                ending.request_end(match signal {
                    SIGHUP => EndRequest::TerminalClosed,
                    SIGINT | SIGQUIT if editor_has_terminal() => continue,
                    _ => EndRequest::Signal,
                });
            }
        })?;
    Ok(())
}

/// Whether this was started to go on when its terminal goes, as `nohup` does: that signal is
/// ignored then, and a program that catches it would undo that.
#[cfg(unix)]
fn survives_its_terminal() -> bool {
    let ignored = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
    let hangup = 1 << (signal_hook::consts::SIGHUP - 1);
    ignored.is_some_and(|mask| mask & hangup != 0)
}

/// A terminal can go without a signal, where it is not the one that controls this session.
#[cfg(unix)]
fn watch_terminal(ending: &Arc<Ending>) -> io::Result<()> {
    let ending = Arc::clone(ending);
    thread::Builder::new()
        .name("terminal".to_owned())
        .spawn(move || {
            match wait_for_hangup(&[rustix::stdio::stdin(), rustix::stdio::stdout()]) {
                Ok(()) => ending.request_end(EndRequest::TerminalClosed),
                Err(error) => tracing::warn!(%error, "the terminal's end cannot be seen"),
            }
        })?;
    Ok(())
}

/// Blocks until the other end of one of these is gone.
#[cfg(unix)]
fn wait_for_hangup(streams: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    loop {
        // `poll` reports a hangup although no event is asked for.
        let wanted = streams.iter().map(|fd| PollFd::new(fd, PollFlags::empty()));
        match poll(&mut wanted.collect::<Vec<_>>(), None) {
            Err(Errno::INTR) => {}
            ended => return Ok(ended.map(drop)?),
        }
    }
}

/// Ends once nobody reads standard output any more, as far as that can be seen.
pub(super) async fn output_hangup() {
    #[cfg(unix)]
    {
        let gone = || wait_for_hangup(&[rustix::stdio::stdout()]);
        if let Ok(Ok(())) = tokio::task::spawn_blocking(gone).await {
            return;
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(not(unix))]
fn watch_signals(ending: &Arc<Ending>, ctrl_c: bool) -> io::Result<()> {
    if !ctrl_c {
        return Ok(());
    }
    let ending = Arc::clone(ending);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                if !editor_has_terminal() {
                    ending.request_end(EndRequest::Signal);
                }
            }
        })?;
    Ok(())
}

#[cfg(not(unix))]
fn watch_terminal(_: &Arc<Ending>) -> io::Result<()> {
    Ok(())
}
