//! Where the system's reports are pinned up until somebody fetches them.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::Event;

use super::scope::{self, Scope, Weight};

/// How long it must have been quiet.
const QUIET: Duration = Duration::from_millis(150);
/// How long news wait at most.
const LONGEST: Duration = Duration::from_secs(1);
/// So many places are remembered one by one.
const PLACES: usize = 4096;

/// What has been reported and not been fetched.
#[derive(Default)]
pub(super) struct Board {
    pinned: Mutex<Pinned>,
    more: Condvar,
    pub(super) interrupt: AtomicBool,
    pub(super) closed: AtomicBool,
}

#[derive(Default)]
struct Pinned {
    news: News,
    /// When the first and the last of it came.
    since: Option<(Instant, Instant)>,
    /// Folders found to be ignored: what happens in them is no news.
    ignored: HashSet<PathBuf>,
}

/// What was heard.
#[derive(Default, Debug)]
pub(super) struct News {
    pub paths: BTreeSet<PathBuf>,
    /// Reports were lost, or there were too many.
    pub everything: bool,
    /// Something happened to a root itself.
    pub root: bool,
    /// What belongs to the base is told by other rules now.
    pub rules: bool,
    /// Watching has come to an end.
    pub broken: Option<notify::Error>,
}

/// How a wait ended.
pub(super) enum Heard {
    News(News),
    Nothing,
    Closed,
}

impl Board {
    /// Takes a report; called by the watching thread.
    pub fn hear(&self, report: notify::Result<Event>, scope: &Scope) {
        let mut pinned = self.pinned();
        let matters = match report {
            Ok(event) => pinned.add(&event, scope),
            // A folder that was gone again before it could be watched.
            Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => false,
            Err(error) => {
                pinned.news.broken = Some(error);
                true
            }
        };
        if matters {
            let now = Instant::now();
            let first = pinned.since.map_or(now, |(first, _)| first);
            pinned.since = Some((first, now));
            self.interrupt.store(true, Ordering::Relaxed);
            drop(pinned);
            self.more.notify_all();
        }
    }

    pub fn close(&self) {
        let pinned = self.pinned();
        self.closed.store(true, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
        drop(pinned);
        self.more.notify_all();
    }

    /// Nothing is heard of these folders from now on.
    pub fn ignore(&self, folders: Vec<PathBuf>) {
        self.pinned().ignored.extend(folders);
    }

    /// Waits for news and until they have settled; without news until `until`.
    pub fn wait(&self, until: Option<Instant>) -> Heard {
        let mut pinned = self.pinned();
        loop {
            if self.closed.load(Ordering::Relaxed) {
                return Heard::Closed;
            }
            let now = Instant::now();
            let ready = match pinned.since {
                Some((first, last)) => Some((last + QUIET).min(first + LONGEST)),
                None => until,
            };
            match ready {
                Some(ready) if ready > now => {
                    let waited = self.more.wait_timeout(pinned, ready - now);
                    pinned = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) if pinned.since.take().is_some() => {
                    self.interrupt.store(false, Ordering::Relaxed);
                    return Heard::News(std::mem::take(&mut pinned.news));
                }
                Some(_) => return Heard::Nothing,
                None => {
                    let waited = self.more.wait(pinned);
                    pinned = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pinned {
    /// Whether it is worth waking anybody for.
    fn add(&mut self, event: &Event, scope: &Scope) -> bool {
        if event.need_rescan() {
            self.news.everything = true;
            return true;
        }
        if !scope::changes_something(event.kind) {
            return false;
        }
        let mut matters = false;
        for path in &event.paths {
            match scope.weigh(path) {
                Weight::None => continue,
                Weight::Root => self.news.root |= scope::ends_a_watch(event.kind),
                Weight::Rules => {
                    self.news.rules = true;
                    self.ignored.clear();
                }
                Weight::File if self.is_ignored(path) => continue,
                Weight::File => {}
            }
            matters = true;
            if self.news.paths.len() < PLACES {
                self.news.paths.insert(path.clone());
            } else {
                self.news.everything = true;
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
    fn a_storm_is_one_piece_of_news_and_reading_is_none() {
        let scope = Scope::of_folder("/kb", &["/kb/data"]);
        let board = Board::default();
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
            board.hear(Ok(event), &scope);
        }
        assert!(!board.interrupt.load(Ordering::Relaxed));
        assert!(matches!(board.wait(Some(Instant::now())), Heard::Nothing));
        for n in 0..500 {
            board.hear(
                Ok(report(WRITTEN, &format!("/kb/sub/{}.md", n % 250))),
                &scope,
            );
        }
        assert!(board.interrupt.load(Ordering::Relaxed));
        let Heard::News(news) = board.wait(Some(Instant::now())) else {
            panic!("500 reports are news");
        };
        assert_eq!((news.paths.len(), news.everything), (250, false));
        assert!(!board.interrupt.load(Ordering::Relaxed));
        assert!(matches!(board.wait(Some(Instant::now())), Heard::Nothing));
    }

    #[test]
    fn an_ignored_folder_stays_quiet_until_the_rules_change() {
        let scope = Scope::of_folder("/kb", &[]);
        let board = Board::default();
        board.ignore(vec![PathBuf::from("/kb/target")]);
        board.hear(Ok(report(WRITTEN, "/kb/target/debug/notes.md")), &scope);
        assert!(matches!(board.wait(Some(Instant::now())), Heard::Nothing));
        board.hear(Ok(report(WRITTEN, "/kb/.gitignore")), &scope);
        board.hear(Ok(report(WRITTEN, "/kb/target/debug/notes.md")), &scope);
        let Heard::News(news) = board.wait(None) else {
            panic!("new rules are news");
        };
        assert_eq!(news.paths.len(), 2);
    }

    #[test]
    fn closing_ends_every_wait() {
        let board = Board::default();
        board.close();
        assert!(matches!(board.wait(None), Heard::Closed));
        assert!(board.interrupt.load(Ordering::Relaxed));
    }

    #[test]
    fn lost_reports_mean_everything() {
        let scope = Scope::of_folder("/kb", &[]);
        let board = Board::default();
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        board.hear(Ok(overflow), &scope);
        assert!(matches!(
            board.wait(None),
            Heard::News(News {
                everything: true,
                ..
            })
        ));
    }
}
