//! Tells when files of the base have changed, so that they can be searched right after they were
//! saved.
//!
//! The system reports single writes; what an update needs is that the writing is done. So
//! events are gathered until none came for a moment, and never for longer than a second, or a
//! storm that does not end would hide everything. Who waits here sleeps: a folder in which
//! nothing happens costs no wake-ups. Where the system cannot watch (its limit is reached, a
//! network file system), the folders are looked through every few seconds instead.

mod directories;
mod scope;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::{Config, Event, RecommendedWatcher, Watcher};
use parking_lot::{Condvar, Mutex};
use tokio_util::sync::CancellationToken;

use super::{Changes, KnowledgeBase};
use directories::{WatchOutcome, WatchedDirectories};
use scope::{PathRole, WatchScope};

/// How often folders that cannot be watched are looked through, at most.
const POLL: Duration = Duration::from_secs(3);
/// How often it is looked whether a folder that vanished is back.
const MISSING: Duration = Duration::from_secs(1);
/// Looking through the folders may take this part of the time.
const SHARE: u32 = 10;

/// Watches the folders of one base. One thread waits in [`Watch::next`]; any may close it.
#[derive(Default)]
pub struct Watch {
    debouncer: Arc<Debouncer>,
    watching: Mutex<WatchState>,
}

/// Why [`Watch::next`] came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// Files have changed and it is quiet again, or has not been for a second.
    Changed(Changes),
    /// Nothing has, for as long as the caller wanted to wait.
    Due,
    /// [`Watch::close`].
    Closed,
}

#[derive(Default)]
struct WatchState {
    scope: Arc<WatchScope>,
    watcher: Option<RecommendedWatcher>,
    watched: WatchedDirectories,
    /// The system cannot watch these folders: how often they are looked through, at most.
    polling: Option<Duration>,
    /// A folder of the base is not there.
    missing: bool,
    returned: Option<Instant>,
    /// Notices that were not shown yet.
    notices: VecDeque<String>,
    /// The barred folders that have been reported.
    reported: BTreeSet<PathBuf>,
}

impl Watch {
    /// Makes a watch of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts watching. What lies in `apart` is not part of the base, whatever happens there.
    pub fn begin(&self, knowledge: &KnowledgeBase, apart: &[PathBuf]) {
        let mut watching = self.watching.lock();
        if watching.polling.is_some() {
            return;
        }
        watching.scope = Arc::new(WatchScope::new(knowledge.roots(), knowledge.home(), apart));
        let (scope, debouncer) = (Arc::clone(&watching.scope), Arc::clone(&self.debouncer));
        let watcher = RecommendedWatcher::new(
            move |event| debouncer.receive(event, &scope),
            Config::default().with_follow_symlinks(false),
        );
        match watcher {
            Ok(watcher) => {
                watching.watcher = Some(watcher);
                watching.watched.forget();
                watching.watch_all();
                watching.poll_silent(knowledge.roots().paths());
            }
            Err(error) => watching.poll_instead(&error),
        }
    }

    /// Takes the next notice about the watching that was not shown yet.
    pub fn notice(&self) -> Option<String> {
        self.watching.lock().notices.pop_front()
    }

    /// Ends every wait, now and later, and interrupts what is interruptible.
    pub fn close(&self) {
        self.debouncer.close();
    }

    /// Whether [`Watch::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed().is_cancelled()
    }

    /// Cancelled by [`Watch::close`].
    pub fn closed(&self) -> &CancellationToken {
        &self.debouncer.closed
    }

    /// Cancelled by the next event, or already while some wait to be fetched, and by [`Watch::close`]:
    /// work that is less urgent than they are pauses. Each piece of work takes it anew.
    pub fn interrupt(&self) -> CancellationToken {
        self.debouncer.state.lock().interrupt.clone()
    }

    /// Waits for changes; not longer than `due`, if it is given and nothing has happened by then.
    pub fn next(&self, due: Option<Duration>) -> Woken {
        let due = due.map(|due| Instant::now() + due);
        loop {
            let poll = self.next_look();
            let until = [due, poll].into_iter().flatten().min();
            let woken = match self.debouncer.wait(until) {
                WaitResult::Closed => Woken::Closed,
                WaitResult::TimedOut if poll.is_some_and(|poll| poll <= Instant::now()) => {
                    if !self.look() {
                        continue;
                    }
                    Woken::Changed(Changes::Everything)
                }
                WaitResult::TimedOut => Woken::Due,
                WaitResult::Events(events) => {
                    let Some(changes) = self.sift(events) else {
                        continue;
                    };
                    Woken::Changed(changes)
                }
            };
            self.watching.lock().returned = Some(Instant::now());
            return woken;
        }
    }

    fn next_look(&self) -> Option<Instant> {
        let watching = self.watching.lock();
        let now = Instant::now();
        if let Some(every) = watching.polling {
            let work = watching.returned.map_or(Duration::ZERO, |at| now - at);
            return Some(now + every.max(work * SHARE));
        }
        watching.missing.then(|| now + MISSING)
    }

    /// Whether an update is due though there are no events.
    fn look(&self) -> bool {
        let mut watching = self.watching.lock();
        // What happened in a folder before it was watched has not been reported.
        watching.polling.is_some() || watching.watch_all()
    }

    /// Selects the events that may concern the base.
    fn sift(&self, events: PendingEvents) -> Option<Changes> {
        let mut watching = self.watching.lock();
        if let Some(error) = &events.broken {
            watching.poll_instead(error);
        } else if events.everything {
            // Folders whose creation was not reported, that were left out before, or that have taken the
            // place of another one, are not watched.
            watching.watched.forget();
            watching.watch_all();
        }
        let everything = events.everything || events.broken.is_some();
        let (paths, ignored) = watching.scope.sift(events.paths);
        self.debouncer.ignore(ignored);
        watching.follow(&paths);
        if everything {
            return Some(Changes::Everything);
        }
        (!paths.is_empty()).then_some(Changes::Files(paths))
    }
}

impl WatchState {
    /// Watches every root that is there and is not watched yet. Returns whether there was one.
    fn watch_all(&mut self) -> bool {
        self.missing = false;
        let Some(watcher) = self.watcher.as_mut() else {
            return false;
        };
        let mut is_new = false;
        let folders = |from: &Path| self.scope.folders(from);
        for place in self.scope.places() {
            match self.watched.watch(watcher, &place, &folders) {
                Ok(WatchOutcome::New) => is_new = true,
                Ok(WatchOutcome::Known) => {}
                Ok(WatchOutcome::Missing) => self.missing = true,
                Err(error) => {
                    self.poll_instead(&error);
                    return true;
                }
            }
        }
        self.report_barred();
        is_new
    }

    /// Watches the folders among these that the system does not watch by itself.
    fn follow(&mut self, paths: &[PathBuf]) {
        let Some(watcher) = self.watcher.as_mut() else {
            return;
        };
        let folders = |from: &Path| self.scope.folders(from);
        match self.watched.appeared(watcher, paths, &folders) {
            Ok(()) => self.report_barred(),
            Err(error) => self.poll_instead(&error),
        }
    }

    /// Reports each barred folder of the base once.
    fn report_barred(&mut self) {
        for (path, why) in self.watched.barred() {
            if self.scope.may_hold(path) && self.reported.insert(path.to_owned()) {
                self.notices.push_back(format!(
                    "the folder {} cannot be watched ({}); the others are",
                    crate::text::one_line(&path.to_string_lossy(), 200),
                    crate::text::one_line(why, 200)
                ));
            }
        }
    }

    /// Looks through the folders besides, where their file system tells of no change that another
    /// machine makes.
    fn poll_silent<'r>(&mut self, mut roots: impl Iterator<Item = &'r Path>) {
        let Some((root, kind)) = roots.find_map(|root| Some((root, silent_file_system(root)?)))
        else {
            return;
        };
        self.polling = Some(POLL);
        self.notices.push_back(format!(
            "{} lies on {kind}, where changes by other machines are not reported: it is looked \
             through every few seconds",
            crate::text::one_line(&root.to_string_lossy(), 200)
        ));
    }

    fn poll_instead(&mut self, error: &notify::Error) {
        self.polling = Some(POLL);
        self.watcher = None;
        self.watched.forget();
        self.notices.push_back(format!(
            "the folders cannot be watched ({}); they are looked through every few seconds instead",
            crate::text::one_line(&directories::reason(error), 200)
        ));
    }
}

/// The kind of the file system below this folder, if it tells of no changes by others.
fn silent_file_system(folder: &Path) -> Option<&'static str> {
    /// Marks of Linux's `statfs`, from `linux/magic.h` and the sources of each.
    #[cfg(target_os = "linux")]
    const SILENT: [(u32, &str); 9] = [
        (0x0000_6969, "NFS"),
        (0x0000_517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x6573_5546, "FUSE"),
        (0x0102_1997, "9p"),
        (0x786f_4256, "VirtualBox's shared folders"),
        (0x5346_414f, "AFS"),
        (0x00c3_6400, "Ceph"),
    ];
    #[cfg(target_os = "linux")]
    {
        let mark = rustix::fs::statfs(folder).ok()?.f_type as u32;
        SILENT
            .iter()
            .find(|(own, _)| *own == mark)
            .map(|(_, kind)| *kind)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.debouncer.closed.cancel();
    }
}

#[cfg(test)]
impl Watch {
    /// Makes a watch that polls, as where the system cannot watch.
    pub(crate) fn polling(every: Duration) -> Self {
        let watch = Self::default();
        watch.watching.lock().polling = Some(every);
        watch
    }
}

// Where the system's reports are gathered until the updating thread takes them.
//
// Not `notify-debouncer-full`: its thread wakes every few milliseconds while nothing happens, it
// remembers any number of places, and the first report could not interrupt an update under way.

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
    pub(super) closed: CancellationToken,
}

#[derive(Default)]
struct DebouncerState {
    events: PendingEvents,
    /// Cancelled by the first of them.
    interrupt: CancellationToken,
    /// When the first and the last of it came.
    since: Option<(Instant, Instant)>,
    /// Folders found to be ignored: what happens in them does not matter.
    ignored: HashSet<PathBuf>,
}

/// The events since the last wait.
#[derive(Default, Debug)]
pub(super) struct PendingEvents {
    pub paths: BTreeSet<PathBuf>,
    /// Reports were lost or there were too many, something happened to a root itself, or the rules have
    /// changed for what belongs to the base.
    pub everything: bool,
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
    fn receive(&self, report: notify::Result<Event>, scope: &WatchScope) {
        let mut state = self.state.lock();
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
            state.interrupt.cancel();
            drop(state);
            self.more.notify_all();
        }
    }

    pub fn close(&self) {
        let state = self.state.lock();
        self.closed.cancel();
        state.interrupt.cancel();
        drop(state);
        self.more.notify_all();
    }

    /// Events in these folders are dropped from now on.
    pub fn ignore(&self, folders: Vec<PathBuf>) {
        self.state.lock().ignored.extend(folders);
    }

    /// Waits for events and until no more come for a moment; without events until `until`.
    pub fn wait(&self, until: Option<Instant>) -> WaitResult {
        let mut state = self.state.lock();
        loop {
            if self.closed.is_cancelled() {
                return WaitResult::Closed;
            }
            let now = Instant::now();
            let ready = match state.since {
                Some((first, last)) => Some((last + QUIET).min(first + LONGEST)),
                None => until,
            };
            match ready {
                Some(ready) if ready > now => {
                    self.more.wait_for(&mut state, ready - now);
                }
                Some(_) if state.since.take().is_some() => {
                    state.interrupt = CancellationToken::new();
                    return WaitResult::Events(std::mem::take(&mut state.events));
                }
                Some(_) => return WaitResult::TimedOut,
                None => self.more.wait(&mut state),
            }
        }
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
                PathRole::Root => self.events.everything |= scope::ends_a_watch(event.kind),
                PathRole::Rules => {
                    self.events.everything = true;
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
    use super::*;

    #[test]
    fn where_the_system_cannot_watch_that_is_said_once_and_everything_is_looked_through() {
        let watch = Watch::new();
        let limit = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        watch
            .debouncer
            .receive(Err(limit), &WatchScope::of_folder("/kb", &[]));
        let woken = watch.next(None);
        assert_eq!(
            woken,
            Woken::Changed(Changes::Everything),
            "what was missed must be looked for"
        );
        let line = watch.notice().unwrap();
        assert!(
            line.contains("limit of watched folders is reached")
                && line.contains("every few seconds"),
            "{line}"
        );
        assert_eq!(watch.notice(), None);
        assert!(
            watch.next_look().is_some(),
            "it looks by itself from now on"
        );
        watch.close();
        assert_eq!(watch.next(None), Woken::Closed);
    }
}

#[cfg(test)]
mod tests_of_debouncer {
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
        assert!(!debouncer.state.lock().interrupt.is_cancelled());
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
        assert!(debouncer.state.lock().interrupt.is_cancelled());
        let WaitResult::Events(events) = debouncer.wait(Some(Instant::now())) else {
            panic!("500 reports are events");
        };
        assert_eq!((events.paths.len(), events.everything), (250, false));
        assert!(!debouncer.state.lock().interrupt.is_cancelled());
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
        assert!(debouncer.state.lock().interrupt.is_cancelled());
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
