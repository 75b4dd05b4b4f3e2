//! One engine for all clients: opened in the background, its index kept up to date.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::progress::ProgressReporter;
use crate::cli::catch_up::warn_of_gaps;
use crate::cli::output::{CommandFailure, print_notice};
use crate::config::Settings;
use crate::engine::{Engine, Upkeep, keep_up_to_date, own_files};
use crate::kb::{Phase, Progress, Watch};
use crate::text::plural;

/// How long a call waits for the first look at the files. Clients give up after a minute or so: what
/// is indexed by then is worth more than no answer.
const FIRST_LOOK: Duration = Duration::from_secs(20);
/// How long a call waits for the meaning of what is new, once its words can be found.
const MEANING: Duration = Duration::from_secs(2);

/// How far the engine is.
#[derive(Default)]
struct BaseState {
    engine: Option<Arc<Engine>>,
    /// The step of the first look at the files that is going on.
    reading: Option<Progress>,
    /// Since when the words of all files can be found.
    words_since: Option<Instant>,
    /// Whether nothing is left to do.
    is_idle: bool,
}

/// The engine as calls find it.
#[derive(Clone)]
pub(super) struct SharedEngine {
    states: watch::Receiver<BaseState>,
}

/// Opens the engine and keeps its index up to date.
pub(super) struct IndexUpkeep {
    states: watch::Sender<BaseState>,
}

impl SharedEngine {
    /// An engine that nothing is opened of yet, and who opens it.
    pub(super) fn new() -> (Self, IndexUpkeep) {
        let (sender, states) = watch::channel(BaseState::default());
        (Self { states }, IndexUpkeep { states: sender })
    }

    /// The engine, once it is open and the files were looked at, or for as long as that is worth
    /// waiting for. `None` where the call is cancelled before.
    pub(super) async fn ready(
        &self,
        progress: &ProgressReporter,
        cancel: &CancellationToken,
    ) -> Option<Arc<Engine>> {
        let mut states = self.states.clone();
        let patience = Instant::now() + FIRST_LOOK;
        let mut told = None;
        loop {
            let (engine, until, line) = {
                let state = states.borrow_and_update();
                (
                    state.engine.clone(),
                    state.ready_deadline(patience),
                    state.line(),
                )
            };
            let is_due = until <= Instant::now();
            if let Some(engine) = engine.filter(|_| is_due) {
                return Some(engine);
            }
            if let Some(line) = line.filter(|line| told.as_ref() != Some(line)) {
                progress.tell(&line).await;
                told = Some(line);
            }
            tokio::select! {
                changed = states.changed() => changed.ok()?,
                () = sleep_until(until), if !is_due => {}
                () = cancel.cancelled() => return None,
            }
        }
    }

    /// The engine, if it is open.
    pub(super) fn engine(&self) -> Option<Arc<Engine>> {
        self.states.borrow().engine.clone()
    }

    /// What the index lacks, in one line; `None` where it lacks nothing.
    pub(super) fn shortfall(&self) -> Option<String> {
        let state = self.states.borrow();
        if state.words_since.is_none() {
            let read = state
                .line()
                .unwrap_or_else(|| "not looked at yet".to_owned());
            return Some(format!(
                "the files are not all read ({read}): what was not read yet is not found"
            ));
        }
        state.engine.as_ref()?.knowledge().status().incomplete()
    }
}

impl BaseState {
    /// When the next call stops waiting for the index.
    fn ready_deadline(&self, patience: Instant) -> Instant {
        match self.words_since {
            _ if self.is_idle => Instant::now(),
            Some(since) => since + MEANING,
            None => patience,
        }
    }

    fn line(&self) -> Option<String> {
        let reading = self.reading?;
        Some(format!(
            "read {} of {}",
            reading.done,
            plural(reading.total, "file")
        ))
    }

    fn apply(&mut self, upkeep: &Upkeep) {
        match upkeep {
            Upkeep::Step(step) if step.phase == Phase::Reading => self.reading = Some(*step),
            Upkeep::Step(_) | Upkeep::Meaning(_) | Upkeep::Notice(_) => {}
            Upkeep::Words(_) | Upkeep::Trouble(_) => {
                self.words_since.get_or_insert_with(Instant::now);
            }
            Upkeep::Following | Upkeep::Idle => {
                self.words_since.get_or_insert_with(Instant::now);
                self.is_idle = true;
            }
        }
    }
}

impl IndexUpkeep {
    /// Opens the engine and keeps its index up to date for as long as this is waited for. It ends by
    /// itself only where it fails.
    pub(super) async fn keep(self, settings: &Settings) -> Result<(), CommandFailure> {
        let engine = Arc::new(Engine::open(settings).await?);
        // The settings' own are said already.
        let notices = engine.notices().iter();
        let notices = notices.filter(|line| !settings.without_effect.contains(line));
        notices.for_each(|line| print_notice(line));
        let knowledge = engine.knowledge();
        self.states.send_modify(|state| state.engine = Some(engine));
        let watch = Arc::new(Watch::new());
        let closing = Closing(Arc::clone(&watch));
        let (apart, states) = (own_files(settings), self.states);
        let kept = tokio::task::spawn_blocking(move || {
            let tell = |upkeep: Upkeep| {
                match &upkeep {
                    Upkeep::Words(report) => warn_of_gaps(&knowledge.new_among(&report.skipped)),
                    Upkeep::Trouble(error) => print_notice(&error.notice()),
                    Upkeep::Notice(line) => print_notice(line),
                    _ => {}
                }
                states.send_modify(|state| state.apply(&upkeep));
            };
            let keep = || keep_up_to_date(&knowledge, &watch, &apart, &tell);
            if catch_unwind(AssertUnwindSafe(keep)).is_err() {
                print_notice("the index is no longer kept up to date: that broke off");
                states.send_modify(|state| state.apply(&Upkeep::Idle));
            }
            // Who waits for the state must not be told that there is none any more.
            states
        });
        let _states = kept.await;
        drop(closing);
        std::future::pending().await
    }
}

/// Ends the upkeep when it is not waited for any more.
struct Closing(Arc<Watch>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}
