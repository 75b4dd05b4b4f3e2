//! An index that is kept up to date for as long as somebody stays.
//!
//! Of several processes that stay on one index, one does the work and the others follow: they take
//! over what it has done, and one of them takes its place when it ends. The words of a change come
//! before everything else, also before the embedding that is going on, which finishes its batch
//! and is then taken up again where it was: also where the files never rest, it gets on.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::config::Settings;
use crate::kb::{Held, KbError, KnowledgeBase, Progress, UpdateReport, Watch, Woken};

use super::knowledge::{embed_some, update_words};

/// How often a follower takes over what was done, and asks whether it is its turn.
const FOLLOW: Duration = Duration::from_secs(1);
/// How long an embedding that failed is left alone when nothing changes.
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
    /// Something went wrong and is tried again later. The same trouble is told once.
    Trouble(KbError),
    /// One line that the person should know.
    Notice(String),
}

/// Where the program itself writes: what happens there is no change of anybody's files.
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
    let keeper = Keeper {
        knowledge,
        watch,
        tell,
        trouble: Mutex::default(),
    };
    if let Some(right) = keeper.claim() {
        keeper.keep(apart);
        drop(right);
    }
}

struct Keeper<'a> {
    knowledge: &'a KnowledgeBase,
    watch: &'a Watch,
    tell: &'a (dyn Fn(Upkeep) + Sync),
    /// What went wrong last, so that it is told once.
    trouble: Mutex<Option<String>>,
}

impl Keeper<'_> {
    /// Follows until it is this process's turn; `None` when it is closed before.
    fn claim(&self) -> Option<Held> {
        loop {
            match self.knowledge.claim_upkeep() {
                Ok(Some(right)) => return Some(right),
                Ok(None) => self.follow(),
                Err(error) => self.complain(error),
            }
            if self.watch.next(Some(FOLLOW)) == Woken::Closed {
                return None;
            }
        }
    }

    fn keep(&self, apart: &[PathBuf]) {
        // Before the first look: what changes meanwhile is then seen by one or the other.
        self.watch.begin(self.knowledge, apart);
        let mut changed = true;
        loop {
            if let Some(notice) = self.watch.notice() {
                (self.tell)(Upkeep::Notice(notice));
            }
            if changed {
                self.words();
            }
            let again = self.meaning();
            if again != Some(Duration::ZERO) {
                (self.tell)(Upkeep::Idle);
            }
            changed = match self.watch.next(again) {
                Woken::Closed => return,
                Woken::Changed(news) => {
                    tracing::debug!(places = news.paths.len(), "files have changed");
                    true
                }
                Woken::Due => false,
            };
        }
    }

    fn words(&self) {
        let step = |progress| (self.tell)(Upkeep::Step(progress));
        loop {
            match update_words(self.knowledge, &step, self.watch.closed()) {
                Ok(report) => {
                    self.all_is_well();
                    return (self.tell)(Upkeep::Words(report));
                }
                Err(_) if self.is_closed() => return,
                // Somebody else is at it for once: what is finished is taken over as it comes.
                Err(locked @ KbError::Locked) => {
                    self.complain(locked);
                    self.follow();
                }
                Err(error) => return self.complain(error),
            }
        }
    }

    /// Embeds what is pending. Returns how long to wait, at most, before doing it again.
    fn meaning(&self) -> Option<Duration> {
        if self.is_closed() || self.knowledge.status().pending == 0 {
            return None;
        }
        let step = |progress| (self.tell)(Upkeep::Step(progress));
        let interrupt = self.watch.interrupt();
        match embed_some(self.knowledge, &step, self.watch.closed(), interrupt) {
            Ok(report) => {
                self.all_is_well();
                (self.tell)(Upkeep::Meaning(report.embedded));
                interrupt.load(Ordering::Relaxed).then_some(Duration::ZERO)
            }
            Err(KbError::Locked) => Some(FOLLOW),
            Err(error) => {
                self.complain(error);
                Some(TRY_AGAIN)
            }
        }
    }

    fn follow(&self) {
        match self.knowledge.refresh() {
            Ok(()) => (self.tell)(Upkeep::Following),
            Err(error) => self.complain(error),
        }
    }

    fn is_closed(&self) -> bool {
        self.watch.closed().load(Ordering::Relaxed)
    }

    fn complain(&self, error: KbError) {
        let line = error.to_string();
        if let Ok(mut trouble) = self.trouble.lock()
            && trouble.as_ref() != Some(&line)
        {
            *trouble = Some(line);
            drop(trouble);
            (self.tell)(Upkeep::Trouble(error));
        }
    }

    fn all_is_well(&self) {
        if let Ok(mut trouble) = self.trouble.lock() {
            *trouble = None;
        }
    }
}
