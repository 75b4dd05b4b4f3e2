//! Tells when files of the base have changed, so that they can be searched right after they were
//! saved.
//!
//! The system reports single writes; what an update needs is that the writing is done. So
//! events are gathered until none came for a moment, and never for longer than a second, or a
//! storm that does not end would hide everything. Who waits here sleeps: a folder in which
//! nothing happens costs no wake-ups. Where the system cannot watch (its limit is reached, a
//! network file system), the folders are looked through every few seconds instead.

mod debouncer;
mod directories;
mod scope;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::{Config, RecommendedWatcher, Watcher, WatcherKind};

use super::{Changes, KnowledgeBase};
use debouncer::{Debouncer, PendingEvents, WaitResult};
use directories::{WatchOutcome, WatchedDirectories};
use scope::WatchScope;

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
        let mut watching = self.watching();
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
                watching.watched.forget(None);
                watching.watch_all();
                watching.poll_silent(knowledge.roots().paths());
            }
            Err(error) => watching.poll_instead(&error),
        }
    }

    /// Takes the next notice about the watching that was not shown yet.
    pub fn notice(&self) -> Option<String> {
        self.watching().notices.pop_front()
    }

    /// Ends every wait, now and later, and interrupts what is interruptible.
    pub fn close(&self) {
        self.debouncer.close();
    }

    /// Whether [`Watch::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed().load(Ordering::Relaxed)
    }

    /// Raised by [`Watch::close`].
    pub fn closed(&self) -> &AtomicBool {
        &self.debouncer.closed
    }

    /// Raised as long as events wait to be fetched, and for ever by [`Watch::close`]: work that is
    /// less urgent than they are pauses.
    pub fn interrupt(&self) -> &AtomicBool {
        &self.debouncer.interrupt
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
            self.watching().returned = Some(Instant::now());
            return woken;
        }
    }

    fn next_look(&self) -> Option<Instant> {
        let watching = self.watching();
        let now = Instant::now();
        if let Some(every) = watching.polling {
            let work = watching.returned.map_or(Duration::ZERO, |at| now - at);
            return Some(now + every.max(work * SHARE));
        }
        watching.missing.then(|| now + MISSING)
    }

    /// Whether an update is due though there are no events.
    fn look(&self) -> bool {
        let mut watching = self.watching();
        // What happened in a folder before it was watched has not been reported.
        watching.polling.is_some() || watching.watch_all()
    }

    /// Selects the events that may concern the base.
    fn sift(&self, events: PendingEvents) -> Option<Changes> {
        let mut watching = self.watching();
        if let Some(error) = &events.broken {
            watching.poll_instead(error);
        } else if (events.everything || events.rules)
            && RecommendedWatcher::kind() == WatcherKind::Inotify
        {
            // Folders whose creation was not reported, or that were left out before, are not watched.
            watching.watched.forget(None);
            watching.watch_all();
        } else if events.root {
            let known = !events.everything;
            watching.watched.forget(known.then_some(&events.paths));
            watching.watch_all();
        }
        let everything =
            events.everything || events.root || events.rules || events.broken.is_some();
        let (paths, ignored) = watching.scope.sift(events.paths);
        self.debouncer.ignore(ignored);
        watching.follow(&paths);
        if everything {
            return Some(Changes::Everything);
        }
        (!paths.is_empty()).then_some(Changes::Files(paths))
    }

    fn watching(&self) -> MutexGuard<'_, WatchState> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.watched.forget(None);
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
        self.debouncer.closed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Watch {
    /// Makes a watch that polls, as where the system cannot watch.
    pub(crate) fn polling(every: Duration) -> Self {
        let watch = Self::default();
        watch.watching().polling = Some(every);
        watch
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
