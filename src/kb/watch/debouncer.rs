//! Where the system's reports are gathered until the updating thread takes them.
//!
//! Not `notify-debouncer-full`: its thread wakes every few milliseconds while nothing happens, it
//! remembers any number of places, and the first report could not interrupt an update under way.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::Event;

use super::scope::{self, PathRole, WatchScope};

/// How long there must be no report before the events are handed over.
const QUIET: Duration = Duration::from_millis(150);
/// How long reports wait at most.
const LONGEST: Duration = Duration::from_secs(1);
/// The most paths that are remembered one by one.
const PLACES: usize = 4096;

/// Reports that were not fetched yet.
#[derive(Default)]
pub(super) struct Debouncer {
    state: Mutex<DebouncerState>,
    more: Condvar,
    pub(super) interrupt: AtomicBool,
    pub(super) closed: AtomicBool,
}

#[derive(Default)]
struct DebouncerState {
    events: PendingEvents,
    /// When the first and the last of it came.
    since: Option<(Instant, Instant)>,
    /// Folders found to be ignored: what happens in them does not matter.
    ignored: HashSet<PathBuf>,
}

/// The events since the last wait.
#[derive(Default, Debug)]
pub(super) struct PendingEvents {
    pub paths: BTreeSet<PathBuf>,
    /// Reports were lost, or there were too many.
    pub everything: bool,
    /// Something happened to a root itself.
    pub root: bool,
    /// The rules for what belongs to the base have changed.
    pub rules: bool,
    /// Watching has come to an end.
    pub broken: Option<notify::Error>,
}

/// How a wait ended.
pub(super) enum WaitResult {
    Events(PendingEvents),
    TimedOut,
    Closed,
}

impl Debouncer {
    /// Takes a report; called by the watching thread.
    pub fn receive(&self, report: notify::Result<Event>, scope: &WatchScope) {
        let mut state = self.state();
        let matters = match report {
            Ok(event) => state.add(&event, scope),
            // A folder that was gone again before it could be watched.
            Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => false,
            Err(error) => {
                state.events.broken = Some(error);
                true
            }
        };
        if matters {
            let now = Instant::now();
            let first = state.since.map_or(now, |(first, _)| first);
            state.since = Some((first, now));
            self.interrupt.store(true, Ordering::Relaxed);
            drop(state);
            self.more.notify_all();
        }
    }

    pub fn close(&self) {
        let state = self.state();
        self.closed.store(true, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
        drop(state);
        self.more.notify_all();
    }

    /// Events in these folders are dropped from now on.
    pub fn ignore(&self, folders: Vec<PathBuf>) {
        self.state().ignored.extend(folders);
    }

    /// Waits for events and until no more come for a moment; without events until `until`.
    pub fn wait(&self, until: Option<Instant>) -> WaitResult {
        let mut state = self.state();
        loop {
            if self.closed.load(Ordering::Relaxed) {
                return WaitResult::Closed;
            }
            let now = Instant::now();
            let ready = match state.since {
                Some((first, last)) => Some((last + QUIET).min(first + LONGEST)),
                None => until,
            };
            match ready {
                Some(ready) if ready > now => {
                    let waited = self.more.wait_timeout(state, ready - now);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) if state.since.take().is_some() => {
                    self.interrupt.store(false, Ordering::Relaxed);
                    return WaitResult::Events(std::mem::take(&mut state.events));
                }
                Some(_) => return WaitResult::TimedOut,
                None => {
                    let waited = self.more.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, DebouncerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DebouncerState {
    /// Whether it is worth waking the updating thread for.
    fn add(&mut self, event: &Event, scope: &WatchScope) -> bool {
        if event.need_rescan() {
            self.events.everything = true;
            return true;
        }
        if !scope::changes_something(event.kind) {
            return false;
        }
        let mut matters = false;
        for path in &event.paths {
            match scope.role_of(path) {
                PathRole::None => continue,
                PathRole::Root => self.events.root |= scope::ends_a_watch(event.kind),
                PathRole::Rules => {
                    self.events.rules = true;
                    self.ignored.clear();
                }
                PathRole::File if self.is_ignored(path) => continue,
                PathRole::File => {}
            }
            matters = true;
            if self.events.paths.len() < PLACES {
                self.events.paths.insert(path.clone());
            } else {
                self.events.everything = true;
            }
        }
        matters
    }

    fn is_ignored(&self, path: &Path) -> bool {
        !self.ignored.is_empty() && path.ancestors().any(|above| self.ignored.contains(above))
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};

    use super::*;

    fn report(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Any);

    #[test]
    fn a_storm_is_one_batch_of_events_and_reading_is_none() {
        let scope = WatchScope::of_folder("/kb", &["/kb/data"]);
        let debouncer = Debouncer::default();
        for event in [
            report(
                EventKind::Access(AccessKind::Open(AccessMode::Any)),
                "/kb/a.md",
            ),
            report(WRITTEN, "/kb/.git/index"),
            report(WRITTEN, "/kb/data/index/v2/meta.json"),
            report(WRITTEN, "/elsewhere/a.md"),
            report(WRITTEN, "/kb/.notes.md.swp"),
        ] {
            debouncer.receive(Ok(event), &scope);
        }
        assert!(!debouncer.interrupt.load(Ordering::Relaxed));
        assert!(matches!(
            debouncer.wait(Some(Instant::now())),
            WaitResult::TimedOut
        ));
        for n in 0..500 {
            debouncer.receive(
                Ok(report(WRITTEN, &format!("/kb/sub/{}.md", n % 250))),
                &scope,
            );
        }
        assert!(debouncer.interrupt.load(Ordering::Relaxed));
        let WaitResult::Events(events) = debouncer.wait(Some(Instant::now())) else {
            panic!("500 reports are events");
        };
        assert_eq!((events.paths.len(), events.everything), (250, false));
        assert!(!debouncer.interrupt.load(Ordering::Relaxed));
        assert!(matches!(
            debouncer.wait(Some(Instant::now())),
            WaitResult::TimedOut
        ));
    }

    #[test]
    fn an_ignored_folder_stays_quiet_until_the_rules_change() {
        let scope = WatchScope::of_folder("/kb", &[]);
        let debouncer = Debouncer::default();
        debouncer.ignore(vec![PathBuf::from("/kb/target")]);
        debouncer.receive(Ok(report(WRITTEN, "/kb/target/debug/notes.md")), &scope);
        assert!(matches!(
            debouncer.wait(Some(Instant::now())),
            WaitResult::TimedOut
        ));
        debouncer.receive(Ok(report(WRITTEN, "/kb/.gitignore")), &scope);
        debouncer.receive(Ok(report(WRITTEN, "/kb/target/debug/notes.md")), &scope);
        let WaitResult::Events(events) = debouncer.wait(None) else {
            panic!("new rules are an event");
        };
        assert_eq!(events.paths.len(), 2);
    }

    #[test]
    fn closing_ends_every_wait() {
        let debouncer = Debouncer::default();
        debouncer.close();
        assert!(matches!(debouncer.wait(None), WaitResult::Closed));
        assert!(debouncer.interrupt.load(Ordering::Relaxed));
    }

    #[test]
    fn lost_reports_mean_everything() {
        let scope = WatchScope::of_folder("/kb", &[]);
        let debouncer = Debouncer::default();
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        debouncer.receive(Ok(overflow), &scope);
        assert!(matches!(
            debouncer.wait(None),
            WaitResult::Events(PendingEvents {
                everything: true,
                ..
            })
        ));
    }
}
