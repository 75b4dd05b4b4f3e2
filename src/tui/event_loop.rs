//! Where keys, updates, time and signals become messages.
//!
//! Waits for any of them, takes all that is pending, then draws at most once and only if a
//! message arrived. The clock ticks only while something moves; an idle screen wakes for nothing.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{Event as Input, EventStream};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{execute, queue};
use futures_util::{StreamExt, poll};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::protocol::{Command, Timestamp, Update};

use super::announce::Announcer;
use super::background::{BackgroundReply, WAIT};
use super::error::TuiError;
use super::message::{Effect, Msg};
use super::model::FRAME;
use super::pane_state::Clicks;
use super::screen::Screen;
use super::terminal;
use super::terminal::{JobSignal, JobSignals, Output, TerminalGuard, is_job, stop_job};

/// How long a signal takes to be seen on a busy machine.
const SIGNALS_ARRIVE: Duration = Duration::from_millis(50);

/// Runs until the person leaves, `leave` is cancelled, or the terminal is gone.
pub async fn event_loop(
    screen: Screen,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    let mut editing = None;
    let ended = until_the_end(screen, commands, updates, leave, &mut editing).await;
    if let Some(editor) = editing {
        terminal::end_editor(editor).await;
    }
    ended
}

async fn until_the_end(
    mut screen: Screen,
    commands: mpsc::Sender<Command>,
    mut updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
    editing: &mut Option<Child>,
) -> Result<(), TuiError> {
    let mut jobs = JobSignals::listen()?;
    terminal::set_mouse(screen.reports_mouse());
    let guard = TerminalGuard::take()?;
    let mut drawn = drawn_on(&guard)?;
    let mut typed = InputTranslator {
        answers: BackgroundReply::default(),
        clicks: Clicks::default(),
        announcer: Announcer::new(guard.abilities()),
    };
    if !has_begun(&mut screen, &mut typed, &mut drawn, &commands)? {
        return Ok(());
    }
    // While the person's editor has the terminal, its keys are not ours.
    let mut inputs = Some(EventStream::new());
    let mut frames = frames();
    let mut engine = true;
    loop {
        if let Some(error) = guard.failure() {
            return Err(error.into());
        }
        let mut pending = Vec::new();
        let (mut stop, mut redraw) = (false, false);
        tokio::select! {
            // An end is asked for first: it must not wait behind anything.
            biased;
            () = leave.cancelled() => break,
            job = jobs.next() => match job {
                JobSignal::Stop => stop = true,
                JobSignal::Continue if editing.is_some() => {}
                JobSignal::Continue => {
                    terminal::take_again()?;
                    typed.announcer.begin_again();
                    redraw = true;
                }
            },
            ended = closed(editing) => {
                *editing = None;
                if ended.is_err() {
                    // The key that ended it is a signal on its way to this program too.
                    sleep(SIGNALS_ARRIVE).await;
                }
                inputs = Some(EventStream::new());
                terminal::take_again()?;
                typed.announcer.begin_again();
                redraw = true;
                pending.push(Msg::Edited(ended));
            }
            input = next_input(&mut inputs) => match input {
                Some(input) => pending.extend(typed.messages(input?)),
                None => break,
            },
            update = updates.recv(), if engine => {
                engine = update.is_some();
                pending.push(update.map_or(Msg::EngineGone, Msg::Update));
            }
            _ = frames.tick(), if screen.is_animated() => {
                pending.push(Msg::Tick(Timestamp::now()));
            }
        }
        // Polled with this task's waker: the stream keeps the first one it is given.
        while let Poll::Ready(Some(input)) = poll!(pin!(next_input(&mut inputs))) {
            pending.extend(typed.messages(input?));
        }
        while let Ok(update) = updates.try_recv() {
            pending.push(Msg::Update(update));
        }
        if pending.is_empty() && !stop && !redraw {
            continue;
        }
        redraw |= pending.iter().any(|msg| matches!(msg, Msg::Resize(..)));
        if redraw && terminal::is_ours() {
            drawn = cleared(&guard)?;
        }
        let moved_before = screen.is_animated();
        for msg in pending {
            match apply(&mut screen, msg, &commands) {
                LoopAction::Leave => return Ok(()),
                LoopAction::Suspend => stop = true,
                LoopAction::Edit(path, line) if editing.is_none() => {
                    if let Err(reason) = edit(&path, line, &mut inputs, editing)? {
                        drawn = drawn_on(&guard)?;
                        typed.announcer.begin_again();
                        screen.handle(Msg::Edited(Err(reason)));
                    }
                }
                LoopAction::Stay | LoopAction::Edit(..) => {}
            }
        }
        if stop && is_suspended(&mut screen)? {
            continue;
        }
        if screen.is_animated() && !moved_before {
            frames.reset();
        }
        if terminal::is_ours() {
            draw(&mut screen, &mut drawn)?;
            announce(&mut typed.announcer, &screen, &mut drawn)?;
            screen.lay_out_ahead();
        }
    }
    Ok(())
}

/// The first picture; `false` where the user has left already.
fn has_begun(
    screen: &mut Screen,
    typed: &mut InputTranslator,
    drawn: &mut DrawingTerminal,
    commands: &mpsc::Sender<Command>,
) -> Result<bool, TuiError> {
    for msg in background(screen, typed)? {
        if let LoopAction::Leave = apply(screen, msg, commands) {
            return Ok(false);
        }
    }
    draw(screen, drawn)?;
    // The first picture before what may take long to be answered.
    terminal::enhance()?;
    announce(&mut typed.announcer, screen, drawn)?;
    screen.lay_out_ahead();
    Ok(true)
}

type DrawingTerminal = Terminal<CrosstermBackend<Output>>;

/// Draws a frame that the terminal shows as a whole, or not yet.
fn draw(screen: &mut Screen, drawn: &mut DrawingTerminal) -> io::Result<()> {
    queue!(drawn.backend_mut(), BeginSynchronizedUpdate)?;
    screen.draw(drawn)?;
    execute!(drawn.backend_mut(), EndSynchronizedUpdate)
}

fn drawn_on(guard: &TerminalGuard) -> io::Result<DrawingTerminal> {
    Terminal::new(CrosstermBackend::new(guard.output()))
}

/// A terminal that shrank has lost cells, even when it is back at the size we knew, so nothing of the
/// last picture is taken for granted. `Terminal::clear` would wait for the terminal to say where its
/// cursor is.
fn cleared(guard: &TerminalGuard) -> io::Result<DrawingTerminal> {
    let mut drawn = drawn_on(guard)?;
    drawn.backend_mut().clear_region(ClearType::All)?;
    Ok(drawn)
}

/// Gives the terminal to the shell, where there is one; SIGCONT, which ends that, says when to go on.
fn is_suspended(screen: &mut Screen) -> io::Result<bool> {
    if is_job() {
        terminal::give_back_terminal();
        stop_job()?;
        return Ok(true);
    }
    screen.handle(Msg::NotSuspended);
    Ok(false)
}

/// Title, progress and bell go out the way of the cells: both may wait for a terminal that takes
/// no more.
fn announce(
    announcer: &mut Announcer,
    screen: &Screen,
    drawn: &mut DrawingTerminal,
) -> io::Result<()> {
    let sequences = announcer.sequences(screen.announced());
    if sequences.is_empty() {
        return Ok(());
    }
    let out = drawn.backend_mut();
    out.write_all(sequences.as_bytes())?;
    Write::flush(out)
}

enum LoopAction {
    Stay,
    Leave,
    Suspend,
    Edit(PathBuf, usize),
}

fn apply(screen: &mut Screen, msg: Msg, commands: &mpsc::Sender<Command>) -> LoopAction {
    for effect in screen.handle(msg) {
        match effect {
            Effect::Quit => return LoopAction::Leave,
            Effect::Suspend => return LoopAction::Suspend,
            Effect::Edit { path, line } => return LoopAction::Edit(path, line),
            // The screen does that itself.
            Effect::Replay { .. } | Effect::KeepSplit(_) => {}
            // Where the terminal is gone, the next drawing tells.
            Effect::ReportMouse(wanted) => {
                let _ = terminal::report_mouse(wanted);
            }
            Effect::Copy(text) => {
                let _ = execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text));
            }
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
    LoopAction::Stay
}

/// Asks the terminal for its background, where the theme depends on that, and waits a moment: what
/// else comes meanwhile is not lost. An answer that comes later is taken then.
fn background(screen: &Screen, typed: &mut InputTranslator) -> io::Result<Vec<Msg>> {
    let mut arrived = Vec::new();
    if !screen.asks_for_background() {
        return Ok(arrived);
    }
    terminal::ask_background()?;
    let begun = Instant::now();
    typed.answers.expect(begun);
    while typed.answers.are_expected() {
        let left = WAIT.saturating_sub(begun.elapsed());
        if left.is_zero() || !crossterm::event::poll(left)? {
            break;
        }
        arrived.extend(typed.messages(crossterm::event::read()?));
    }
    Ok(arrived)
}

/// What turns the terminal's input into messages.
struct InputTranslator {
    answers: BackgroundReply,
    clicks: Clicks,
    announcer: Announcer,
}

impl InputTranslator {
    fn messages(&mut self, input: Input) -> Vec<Msg> {
        let now = Instant::now();
        let selected = match &input {
            Input::Mouse(event) => {
                let unit = self.clicks.unit(*event, now);
                unit.map(|unit| Msg::Select(unit, event.column, event.row))
            }
            _ => None,
        };
        let (rest, background) = self.answers.take(input, now);
        let rest = rest.into_iter();
        let rest = rest.filter_map(|input| message(input, &mut self.announcer));
        rest.chain(selected)
            .chain(background.map(Msg::Background))
            .collect()
    }
}

/// The next key or click; none come while there is no stream of them.
async fn next_input(inputs: &mut Option<EventStream>) -> Option<io::Result<Input>> {
    match inputs {
        Some(inputs) => inputs.next().await,
        None => std::future::pending().await,
    }
}

/// Gives the terminal to the person's editor; takes it again when that cannot be started, and says
/// why in one line.
fn edit(
    path: &Path,
    line: usize,
    inputs: &mut Option<EventStream>,
    editing: &mut Option<Child>,
) -> io::Result<Result<(), String>> {
    let give_away = || {
        *inputs = None;
        terminal::lend();
    };
    match terminal::start_editor(path, line, give_away) {
        Ok(child) => *editing = Some(child),
        Err(reason) => {
            if inputs.is_none() {
                *inputs = Some(EventStream::new());
                terminal::take_again()?;
            }
            return Ok(Err(reason));
        }
    }
    Ok(Ok(()))
}

/// The end of the editor, if one is open: why it did not end well, in one line.
async fn closed(editing: &mut Option<Child>) -> Result<(), String> {
    let Some(child) = editing else {
        return std::future::pending().await;
    };
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor ended with {status}.")),
        Err(error) => Err(format!("The editor's end is not known: {error}.")),
    }
}

fn message(input: Input, announcer: &mut Announcer) -> Option<Msg> {
    match input {
        Input::Key(key) => Some(Msg::Key(key)),
        Input::Paste(text) => Some(Msg::Paste(text)),
        Input::Mouse(mouse) => {
            use crossterm::event::MouseEventKind as Kind;
            // Movements without a button change nothing.
            (!matches!(mouse.kind, Kind::Moved)).then_some(Msg::Mouse(mouse))
        }
        Input::Resize(width, height) => Some(Msg::Resize(width, height)),
        Input::FocusGained => {
            announcer.focus(true);
            None
        }
        Input::FocusLost => {
            announcer.focus(false);
            None
        }
    }
}

fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}
