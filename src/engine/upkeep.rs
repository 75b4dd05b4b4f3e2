//! An index that is kept up to date for as long as the program runs.
//!
//! Of several processes that stay on one index, one does the work and the others follow: they take
//! over what it has done, and one of them takes its place when it ends. The words of a change wait
//! for nothing: the embedding has a thread of its own, so that a server that does not answer, or a
//! long batch, holds up neither them nor the looking for them. It makes room after its batch where
//! files changed and is then taken up where it was: also where the files never rest, it gets on.

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::knowledge::{embed_some, update_changed};
use crate::config::Settings;
use crate::kb::{
    Changes, KbError, KnowledgeBase, LEASE, Lease, Progress, SkipReason, UpdateReport, Watch, Woken,
};

/// How often a follower takes over what was done, and asks whether it is its turn; and how long
/// an embedding makes room, at most.
const FOLLOW: Duration = Duration::from_secs(1);
/// How long work that failed is left alone when nothing changes.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// What happens while an index is kept up to date.
#[derive(Debug)]
pub enum Upkeep {
    /// A step of an update.
    Step(Progress),
    /// The words of all files can be searched; what that took.
    Words(UpdateReport),
    /// So many chunks were embedded.
    Meaning(usize),
    /// Another process does the work, and what it has done has been taken over.
    Following,
    /// All is done that can be done now.
    Idle,
    /// Something went wrong and is tried again later. The same trouble is reported once.
    Trouble(KbError),
    /// One line that the person should know.
    Notice(String),
}

/// Where the program itself writes: what happens there is no change of the user's files.
pub fn own_files(settings: &Settings) -> Vec<PathBuf> {
    vec![
        settings.data_dir.clone(),
        settings.index_dir(),
        settings.log_dir(),
        settings.audit_log.clone(),
    ]
}

/// Keeps the index up to date until `watch` is closed; blocks. `apart` is what [`own_files`] says.
pub fn keep_up_to_date(
    knowledge: &KnowledgeBase,
    watch: &Watch,
    apart: &[PathBuf],
    tell: &(dyn Fn(Upkeep) + Sync),
) {
    Keeper::new(knowledge, watch, tell).run(apart);
}

struct Keeper<'a> {
    knowledge: &'a KnowledgeBase,
    watch: &'a Watch,
    tell: &'a (dyn Fn(Upkeep) + Sync),
    /// How long work that failed is left alone when nothing changes.
    try_again: Duration,
    /// How often the leadership is renewed, and looked at while nothing changes.
    renew_every: Duration,
    /// The words are being brought up to date.
    reading: AtomicBool,
    words: LastTrouble,
    meaning: LastTrouble,
    /// The roots that are not there.
    away: Mutex<BTreeSet<String>>,
}

/// What went wrong last with one half of the work, so that it is reported once.
type LastTrouble = Mutex<Option<String>>;

impl<'a> Keeper<'a> {
    fn new(
        knowledge: &'a KnowledgeBase,
        watch: &'a Watch,
        tell: &'a (dyn Fn(Upkeep) + Sync),
    ) -> Self {
        Self {
            knowledge,
            watch,
            tell,
            try_again: TRY_AGAIN,
            renew_every: LEASE / 3,
            reading: AtomicBool::new(false),
            words: LastTrouble::default(),
            meaning: LastTrouble::default(),
            away: Mutex::default(),
        }
    }

    /// Follows or leads until it is closed.
    fn run(&self, apart: &[PathBuf]) {
        while let Some(lease) = self.claim() {
            self.lead(lease, apart);
        }
    }

    /// Follows until it is this process's turn; `None` when it is closed before.
    fn claim(&self) -> Option<Box<dyn Lease>> {
        loop {
            if self.is_closed() {
                return None;
            }
            match self.knowledge.claim_upkeep() {
                Ok(Some(right)) => return Some(right),
                Ok(None) => self.follow(),
                Err(error) => self.report_error(&self.words, error),
            }
            if self.watch.next(Some(FOLLOW)) == Woken::Closed {
                return None;
            }
        }
    }

    /// Keeps the index up to date until it is closed or the leadership is lost.
    fn lead(&self, lease: Box<dyn Lease>, apart: &[PathBuf]) {
        let is_lost = &AtomicBool::new(false);
        thread::scope(|scope| {
            // Each thread ends when the other end of its channel is gone.
            let (_leading, led) = channel();
            scope.spawn(move || self.renew(lease.as_ref(), &led, is_lost));
            let (wake, woken) = channel();
            scope.spawn(move || self.embed(&woken));
            // Before the first look: what changes meanwhile is then seen by one or the other.
            self.watch.begin(self.knowledge, apart);
            let mut changes = Changes::Everything;
            while !is_lost.load(Ordering::Relaxed) {
                self.reading.store(true, Ordering::Relaxed);
                let done = self.unbroken("indexing", || self.update_words(&changes));
                self.reading.store(false, Ordering::Relaxed);
                // It listens for as long as this goes on.
                let _ = wake.send(());
                while let Some(notice) = self.watch.notice() {
                    (self.tell)(Upkeep::Notice(notice));
                }
                // Where the store was not there, files that were saved meanwhile wait for it.
                let again = (done == Some(false)).then_some(self.try_again);
                changes = loop {
                    match self.watch.next(again.or(Some(self.renew_every))) {
                        Woken::Changed(changes) => break changes,
                        Woken::Due if again.is_none() && !is_lost.load(Ordering::Relaxed) => {}
                        Woken::Due => break Changes::Everything,
                        Woken::Closed => return,
                    }
                };
            }
        });
    }

    /// Renews the leadership until `led` ends, and says when it is lost.
    fn renew(&self, lease: &dyn Lease, led: &Receiver<()>, is_lost: &AtomicBool) {
        while led.recv_timeout(self.renew_every) == Err(RecvTimeoutError::Timeout) {
            match lease.renew() {
                Ok(is_held) => is_lost.store(!is_held, Ordering::Relaxed),
                Err(error) => tracing::warn!(%error, "the leadership is not renewed"),
            }
        }
    }

    /// Brings the words up to date. Whether that need not be done again before files change.
    fn update_words(&self, changes: &Changes) -> bool {
        let step = |progress| (self.tell)(Upkeep::Step(progress));
        loop {
            match update_changed(self.knowledge, changes, &step, self.watch.closed()) {
                Ok(report) => {
                    replace(&self.words, None);
                    self.report_missing_roots(&report);
                    (self.tell)(Upkeep::Words(report));
                    return true;
                }
                Err(_) if self.is_closed() => return true,
                // Another process is at it for once: what is finished is taken over as it comes.
                Err(locked @ KbError::Locked) => {
                    self.report_error(&self.words, locked);
                    self.follow();
                }
                Err(read_only @ KbError::ReadOnly) => {
                    self.report_error(&self.words, read_only);
                    self.follow();
                    return true;
                }
                Err(error) => {
                    self.report_error(&self.words, error);
                    return false;
                }
            }
        }
    }

    /// Reports each root once when it goes away, and once when it is back.
    fn report_missing_roots(&self, report: &UpdateReport) {
        let skipped = report.skipped.iter();
        let now: BTreeSet<String> = skipped
            .filter(|skipped| skipped.reason == SkipReason::Away)
            .map(|skipped| skipped.path.clone())
            .collect();
        let mut known = self.away.lock();
        let before = std::mem::replace(&mut *known, now.clone());
        drop(known);
        for gone in now.difference(&before) {
            (self.tell)(Upkeep::Notice(format!("{gone}: {}", SkipReason::Away)));
        }
        for back in before.difference(&now) {
            (self.tell)(Upkeep::Notice(format!("{back}: it is there again")));
        }
    }

    /// Embeds what is pending whenever it is woken for, and what could not be done again later.
    fn embed(&self, woken: &Receiver<()>) {
        let mut again = None;
        loop {
            let woken = match again {
                Some(due) => woken.recv_timeout(due),
                None => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if woken == Err(RecvTimeoutError::Disconnected) || self.is_closed() {
                return;
            }
            again = self
                .unbroken("embedding", || self.meaning())
                .unwrap_or(Some(self.try_again));
            let is_over = again != Some(FOLLOW) && !self.is_closed();
            // Who reads rings again.
            if is_over && !self.reading.load(Ordering::Relaxed) {
                (self.tell)(Upkeep::Idle);
            }
        }
    }

    /// Embeds what is pending. Returns how long to wait, at most, before doing it again.
    fn meaning(&self) -> Option<Duration> {
        let step = |progress| (self.tell)(Upkeep::Step(progress));
        let interrupt = self.watch.interrupt();
        match embed_some(self.knowledge, &step, &interrupt, self.watch.closed()) {
            Ok(report) => {
                replace(&self.meaning, None);
                (self.tell)(Upkeep::Meaning(report.embedded));
                (self.knowledge.status().pending > 0).then_some(FOLLOW)
            }
            Err(KbError::Locked | KbError::ReadOnly) => Some(FOLLOW),
            Err(error) => {
                self.report_error(&self.meaning, error);
                Some(self.try_again)
            }
        }
    }

    /// What the work comes to; `None` where it panicked, which is reported and ends nothing else.
    fn unbroken<T>(&self, what: &str, work: impl FnOnce() -> T) -> Option<T> {
        let done = panic::catch_unwind(AssertUnwindSafe(work)).ok();
        if done.is_none() {
            let notice =
                format!("{what} broke off by a fault of the program; see logs/ in the data folder");
            (self.tell)(Upkeep::Notice(notice));
        }
        done
    }

    fn follow(&self) {
        match self.knowledge.refresh() {
            Ok(()) => (self.tell)(Upkeep::Following),
            Err(error) => self.report_error(&self.words, error),
        }
    }

    fn is_closed(&self) -> bool {
        self.watch.is_closed()
    }

    fn report_error(&self, last: &LastTrouble, error: KbError) {
        let line = Some(error.to_string());
        if replace(last, line.clone()) != line {
            (self.tell)(Upkeep::Trouble(error));
        }
    }
}

/// Sets the trouble of now, and returns the one before.
fn replace(last: &LastTrouble, line: Option<String>) -> Option<String> {
    let mut last = last.lock();
    std::mem::replace(&mut *last, line)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, SyncSender, sync_channel};
    use std::time::Instant;

    use tokio::runtime::Builder;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::agent::ports::{BulkPriority, EmbedError, Embedder};
    use crate::kb::SearchMode;

    /// Takes texts and never gives anything back: a server that hangs.
    struct Hanging(SyncSender<()>);

    impl Embedder for Hanging {
        fn model_id(&self) -> &'static str {
            "hanging"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("hangs".into()))
        }

        fn embed_unless(
            &self,
            _: &[&str],
            _: BulkPriority,
            cancel: &CancellationToken,
        ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
            let _ = self.0.try_send(());
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(cancel.cancelled());
            Ok(None)
        }
    }

    /// A change is searched while the embedding that was begun before it hangs.
    fn words_do_not_wait(watch: &Watch) {
        const PATIENCE: Duration = Duration::from_mins(1);
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(docs.path().join("gate.md"), "The gate opens at seven.\n").unwrap();
        let (asks, asked) = sync_channel(1);
        let roots = [docs.path().to_owned()];
        let base = KnowledgeBase::open(&roots, home.path(), Arc::new(Hanging(asks))).unwrap();
        let (count, counts): (Sender<usize>, _) = channel();
        thread::scope(|scope| {
            let (base, count) = (&base, Mutex::new(count));
            scope.spawn(move || {
                keep_up_to_date(base, watch, &[], &|upkeep| {
                    if let Upkeep::Words(report) = upkeep {
                        let _ = count.lock().send(report.documents);
                    }
                });
            });
            // Whatever fails below, nothing is waited for.
            let closing = Closing(watch);
            asked.recv_timeout(PATIENCE).unwrap();
            fs::write(docs.path().join("door.md"), "The door has a rusty hinge.\n").unwrap();
            let deadline = Instant::now() + PATIENCE;
            while counts.recv_timeout(deadline - Instant::now()).unwrap() < 2 {}
            let hits = base.search(SearchMode::Lexical, "rusty hinge", 1).unwrap();
            assert_eq!(hits[0].source, "door.md");
            assert_eq!(base.status().pending, 2);
            drop(closing);
        });
    }

    struct Closing<'a>(&'a Watch);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    #[test]
    fn the_words_of_a_change_do_not_wait_for_an_embedding_that_hangs() {
        words_do_not_wait(&Watch::new());
    }

    #[test]
    fn an_update_that_failed_is_tried_again_also_where_no_file_changes() {
        const PATIENCE: Duration = Duration::from_mins(1);
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(docs.path().join("gate.md"), "The gate opens at seven.\n").unwrap();
        let (asks, _asked) = sync_channel(1);
        let roots = [docs.path().to_owned()];
        let base = KnowledgeBase::open(&roots, home.path(), Arc::new(Hanging(asks))).unwrap();
        // Nothing is written without this lock, which no folder can be.
        let index = fs::read_dir(home.path()).unwrap().next().unwrap().unwrap();
        let lock = index.path().join("writer.lock");
        let _ = fs::remove_file(&lock);
        fs::create_dir(&lock).unwrap();
        let watch = Watch::new();
        let (said, says): (Sender<Upkeep>, _) = channel();
        thread::scope(|scope| {
            let (base, watch, said) = (&base, &watch, Mutex::new(said));
            scope.spawn(move || {
                let tell = |upkeep| {
                    let _ = said.lock().send(upkeep);
                };
                let mut keeper = Keeper::new(base, watch, &tell);
                keeper.try_again = Duration::from_millis(20);
                keeper.run(&[]);
            });
            let closing = Closing(watch);
            let wait_for = |is_it: fn(&Upkeep) -> bool| {
                let deadline = Instant::now() + PATIENCE;
                while !is_it(&says.recv_timeout(deadline - Instant::now()).unwrap()) {}
            };
            wait_for(|upkeep| matches!(upkeep, Upkeep::Trouble(_)));
            fs::remove_dir(&lock).unwrap();
            wait_for(|upkeep| matches!(upkeep, Upkeep::Words(report) if report.documents == 1));
            drop(closing);
        });
    }

    /// A leadership that another process has taken over.
    struct Lost;

    impl Lease for Lost {
        fn renew(&self) -> Result<bool, KbError> {
            Ok(false)
        }
    }

    #[test]
    fn a_leadership_that_is_lost_ends_though_no_file_changes() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (asks, _asked) = sync_channel(1);
        let roots = [docs.path().to_owned()];
        let base = KnowledgeBase::open(&roots, home.path(), Arc::new(Hanging(asks))).unwrap();
        let watch = Watch::new();
        let tell = |_| ();
        let mut keeper = Keeper::new(&base, &watch, &tell);
        keeper.renew_every = Duration::from_millis(5);
        keeper.lead(Box::new(Lost), &[]);
        assert!(!watch.is_closed());
    }

    #[test]
    fn nor_where_the_folders_are_looked_through_because_they_cannot_be_watched() {
        words_do_not_wait(&Watch::polling(Duration::from_millis(20)));
    }
}
