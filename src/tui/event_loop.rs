//! Where keys, updates, time and signals become messages.
//!
//! Waits for any of them, takes all that is pending, then draws at most once and only if a
//! message arrived. The clock ticks only while something moves; an idle screen wakes for nothing.

use std::io;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, EventStream, MouseEventKind};
use crossterm::style::Print;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{execute, queue};
use futures_util::{FutureExt, StreamExt, poll};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::files::Draft;
use crate::protocol::{Command, Timestamp, Update};

use super::announce::Announcer;
use super::background::{BackgroundReply, WAIT};
use super::error::TuiError;
use super::links::LinkWriter;
use super::model::{Effect, FRAME, Msg};
use super::pane_state::Clicks;
use super::screen::Screen;
use super::terminal;
use super::terminal::{
    JobSignal, JobSignals, Opening, Output, TerminalGuard, copy_sequences, end_editor, is_job,
    start_editor, stop_job,
};
use super::unbracketed_paste::UnbracketedPaste;

/// How long a signal takes to be seen on a busy machine.
const SIGNALS_ARRIVE: Duration = Duration::from_millis(50);

/// What arrives at once is read within this time; crossterm reads nothing in no time at all.
const AT_ONCE: Duration = Duration::from_micros(300);

/// Runs until the person leaves, `leave` is cancelled, or the terminal is gone.
pub async fn event_loop(
    screen: Screen,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    leave: CancellationToken,
) -> Result<(), TuiError> {
    let drawing = async move {
        let jobs = JobSignals::listen()?;
        terminal::set_mouse(screen.reports_mouse());
        let guard = TerminalGuard::take()?;
        let mut running = EventLoop {
            drawn: drawn_on(&guard)?,
            announcer: Announcer::new(guard.abilities),
            answers: BackgroundReply::default(),
            clicks: Clicks::default(),
            pastes: UnbracketedPaste::new(terminal::brackets_pastes()),
            links: LinkWriter::default(),
            inputs: None,
            editing: None,
            screen,
            commands,
            guard,
        };
        let ended = running.run(jobs, updates, leave).await;
        let editing = running.editing.take();
        // The terminal is given back before the editor is waited for.
        drop(running);
        if let Some(editor) = editing {
            end_editor(editor.process).await;
        }
        ended
    };
    // It is large, and moved about while it is made ready.
    let drawn = AssertUnwindSafe(Box::pin(drawing)).catch_unwind().await;
    drawn.unwrap_or(Err(TuiError::Panicked))
}

struct EventLoop {
    screen: Screen,
    commands: mpsc::Sender<Command>,
    guard: TerminalGuard,
    drawn: DrawingTerminal,
    announcer: Announcer,
    answers: BackgroundReply,
    clicks: Clicks,
    pastes: UnbracketedPaste,
    links: LinkWriter,
    /// Keys and clicks; none while the person's editor has the terminal.
    inputs: Option<EventStream>,
    editing: Option<OpenEditor>,
}

/// The person's editor, which has the terminal.
struct OpenEditor {
    process: Child,
    /// The question that is written in it; nothing where it has a document.
    draft: Option<Draft>,
}

impl OpenEditor {
    /// What the screen is told of its end.
    fn message(self, ended: Result<(), String>) -> Msg {
        match self.draft {
            None => Msg::Edited(ended.map_err(|reason| format!("{reason}."))),
            Some(draft) => Msg::Written(match ended {
                Ok(()) => draft.read(),
                Err(reason) => Err(draft.keep(&reason)),
            }),
        }
    }
}

type DrawingTerminal = Terminal<CrosstermBackend<Output>>;

enum LoopAction {
    Stay,
    Leave,
    Suspend,
}

impl EventLoop {
    async fn run(
        &mut self,
        mut jobs: JobSignals,
        mut updates: mpsc::Receiver<Update>,
        leave: CancellationToken,
    ) -> Result<(), TuiError> {
        if !self.has_begun()? {
            return Ok(());
        }
        self.inputs = Some(EventStream::new());
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut engine = true;
        loop {
            if let Some(error) = self.guard.failure() {
                return Err(error.into());
            }
            let mut pending = Vec::new();
            let (mut stop, mut redraw) = (false, false);
            tokio::select! {
                // An end is asked for first: it must not wait behind anything.
                biased;
                () = leave.cancelled() => return Ok(()),
                job = jobs.next() => match job {
                    JobSignal::Stop => stop = true,
                    JobSignal::Continue if self.editing.is_some() => {}
                    JobSignal::Continue => {
                        self.take_again()?;
                        redraw = true;
                    }
                },
                ended = closed(&mut self.editing) => {
                    let editor = self.editing.take();
                    if ended.is_err() {
                        // The key that ended it is a signal on its way to this program too.
                        sleep(SIGNALS_ARRIVE).await;
                    }
                    self.inputs = Some(EventStream::new());
                    self.take_again()?;
                    redraw = true;
                    pending.extend(editor.map(|editor| editor.message(ended)));
                }
                input = next_input(&mut self.inputs) => match input {
                    Some(input) => {
                        pending.extend(self.messages(input?));
                        // The stream hands over one input at a time, whatever there is.
                        while crossterm::event::poll(AT_ONCE)? {
                            pending.extend(self.messages(crossterm::event::read()?));
                        }
                    }
                    None => return Ok(()),
                },
                update = updates.recv(), if engine => {
                    engine = update.is_some();
                    pending.push(update.map_or(Msg::EngineGone, Msg::Update));
                }
                _ = frames.tick(), if self.screen.is_animated() => {
                    pending.push(Msg::Tick(Timestamp::now()));
                }
                () = passed(self.pastes.held_until()) => {}
            }
            // Polled with this task's waker: the stream keeps the first one it is given.
            loop {
                let ready = poll!(pin!(next_input(&mut self.inputs)));
                let Poll::Ready(Some(input)) = ready else {
                    break;
                };
                pending.extend(self.messages(input?));
            }
            pending = if self.screen.takes_typing() {
                self.pastes.join(pending, Instant::now())
            } else {
                self.pastes.leave(pending)
            };
            while let Ok(update) = updates.try_recv() {
                pending.push(Msg::Update(update));
            }
            if pending.is_empty() && !stop && !redraw {
                continue;
            }
            redraw |= pending.iter().any(|msg| matches!(msg, Msg::Resize(..)));
            if redraw && terminal::is_ours() {
                self.begin_anew()?;
            }
            let moved_before = self.screen.is_animated();
            for msg in pending {
                match self.apply(msg)? {
                    LoopAction::Leave => return Ok(()),
                    LoopAction::Suspend => stop = true,
                    LoopAction::Stay => {}
                }
            }
            if stop && self.is_suspended()? {
                continue;
            }
            if self.screen.is_animated() && !moved_before {
                frames.reset();
            }
            if terminal::is_ours() {
                self.draw()?;
                self.announce()?;
                self.screen.lay_out_ahead();
            }
        }
    }

    /// The first picture; `false` where the user has left already.
    fn has_begun(&mut self) -> Result<bool, TuiError> {
        for msg in self.background()? {
            if let LoopAction::Leave = self.apply(msg)? {
                return Ok(false);
            }
        }
        self.draw()?;
        // The first picture before what may take long to be answered.
        terminal::enhance()?;
        self.announce()?;
        self.screen.lay_out_ahead();
        Ok(true)
    }

    /// Draws a frame that the terminal shows as a whole, or not yet.
    fn draw(&mut self) -> io::Result<()> {
        queue!(self.drawn.backend_mut(), BeginSynchronizedUpdate)?;
        if self.guard.abilities.links {
            let links = self.screen.draw_with_links(&mut self.drawn)?;
            self.links.write(links, self.drawn.backend_mut())?;
        } else {
            self.screen.draw(&mut self.drawn)?;
        }
        execute!(self.drawn.backend_mut(), EndSynchronizedUpdate)
    }

    /// A terminal that shrank has lost cells, even when it is back at the size we knew, so nothing of the
    /// last picture is taken for granted. `Terminal::clear` would wait for the terminal to say where its
    /// cursor is.
    fn begin_anew(&mut self) -> io::Result<()> {
        self.links.begin_again();
        self.drawn = drawn_on(&self.guard)?;
        self.drawn.backend_mut().clear_region(ClearType::All)
    }

    fn take_again(&mut self) -> io::Result<()> {
        terminal::take_again()?;
        self.announcer.begin_again();
        Ok(())
    }

    /// Gives the terminal to the shell, where there is one; SIGCONT, which ends that, says when to go on.
    fn is_suspended(&mut self) -> io::Result<bool> {
        if is_job() {
            terminal::give_back_terminal();
            stop_job()?;
            return Ok(true);
        }
        self.screen.handle(Msg::NotSuspended);
        Ok(false)
    }

    /// Title, progress and bell go out the way of the cells: both may wait for a terminal that takes
    /// no more.
    fn announce(&mut self) -> io::Result<()> {
        let sequences = self.announcer.sequences(self.screen.announced());
        if sequences.is_empty() {
            return Ok(());
        }
        let out = self.drawn.backend_mut();
        out.write_all(sequences.as_bytes())?;
        Write::flush(out)
    }

    fn apply(&mut self, msg: Msg) -> io::Result<LoopAction> {
        for effect in self.screen.handle(msg) {
            match effect {
                Effect::Quit => return Ok(LoopAction::Leave),
                Effect::Suspend => return Ok(LoopAction::Suspend),
                Effect::Edit { path, line } if self.editing.is_none() => {
                    self.edit(&path, line, None)?;
                }
                Effect::Write(text) if self.editing.is_none() => self.write(&text)?,
                // The screen does that itself.
                Effect::Replay { .. }
                | Effect::KeepSplit(_)
                | Effect::Edit { .. }
                | Effect::Write(_) => {}
                // Where the terminal is gone, the next drawing tells.
                Effect::ReportMouse(wanted) => {
                    let _ = terminal::report_mouse(wanted);
                }
                Effect::Copy(text) => {
                    let _ = execute!(io::stdout(), Print(copy_sequences(&text)));
                }
                Effect::Send(command) => {
                    if let Err(refused) = self.commands.try_send(command) {
                        self.screen.handle(Msg::Refused(refused.into_inner()));
                    }
                }
            }
        }
        Ok(LoopAction::Stay)
    }

    /// Asks the terminal for its background, where the theme depends on that, and waits a moment: what
    /// else comes meanwhile is not lost. An answer that comes later is taken then.
    fn background(&mut self) -> io::Result<Vec<Msg>> {
        let mut arrived = Vec::new();
        if !self.screen.asks_for_background() {
            return Ok(arrived);
        }
        terminal::ask_background()?;
        let begun = Instant::now();
        self.answers.expect(begun);
        while self.answers.are_expected() {
            let left = WAIT.saturating_sub(begun.elapsed());
            if left.is_zero() || !crossterm::event::poll(left)? {
                break;
            }
            arrived.extend(self.messages(crossterm::event::read()?));
        }
        Ok(arrived)
    }

    /// Turns the terminal's input into messages.
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
        let rest = rest.into_iter().filter_map(|input| match input {
            Input::Key(key) => Some(Msg::Key(key)),
            Input::Paste(text) => Some(Msg::Paste(text)),
            // Movements without a button change nothing.
            Input::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => None,
            Input::Mouse(mouse) => Some(Msg::Mouse(mouse)),
            Input::Resize(width, height) => Some(Msg::Resize(width, height)),
            Input::FocusGained | Input::FocusLost => {
                self.announcer.focus(input == Input::FocusGained);
                None
            }
        });
        let background = background.map(Msg::Background);
        rest.chain(selected).chain(background).collect()
    }

    /// Has the person write the question in their editor.
    fn write(&mut self, text: &str) -> io::Result<()> {
        match Draft::create(text) {
            Ok(draft) => {
                let path = draft.path().to_owned();
                self.edit(&path, 1, Some(draft))
            }
            Err(error) => {
                let reason = format!("no file for the question could be made: {error}");
                self.screen.handle(Msg::Edited(Err(reason)));
                Ok(())
            }
        }
    }

    /// Gives the terminal to the person's editor; takes it again when that cannot be started, and says
    /// why in one line.
    fn edit(&mut self, path: &Path, line: usize, draft: Option<Draft>) -> io::Result<()> {
        let inputs = &mut self.inputs;
        let give_away = || {
            *inputs = None;
            terminal::lend();
        };
        let opening = match &draft {
            Some(_) => Opening::Awaited,
            None => Opening::Alone,
        };
        match start_editor(path, line, opening, give_away) {
            Ok(process) => self.editing = Some(OpenEditor { process, draft }),
            Err(reason) => {
                if self.inputs.is_none() {
                    self.inputs = Some(EventStream::new());
                    terminal::take_again()?;
                }
                self.begin_anew()?;
                self.announcer.begin_again();
                self.screen.handle(Msg::Edited(Err(reason)));
            }
        }
        Ok(())
    }
}

fn drawn_on(guard: &TerminalGuard) -> io::Result<DrawingTerminal> {
    Terminal::new(CrosstermBackend::new(guard.output()))
}

/// The next key or click; none come while there is no stream of them.
async fn next_input(inputs: &mut Option<EventStream>) -> Option<io::Result<Input>> {
    match inputs {
        Some(inputs) => inputs.next().await,
        None => std::future::pending().await,
    }
}

/// The end of a time, if one is set.
async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

/// The end of the editor, if one is open: why it did not end well, in one line.
async fn closed(editing: &mut Option<OpenEditor>) -> Result<(), String> {
    let Some(editor) = editing else {
        return std::future::pending().await;
    };
    match editor.process.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor ended with {status}")),
        Err(error) => Err(format!("The editor's end is not known: {error}")),
    }
}
