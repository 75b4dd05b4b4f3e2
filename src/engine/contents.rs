//! What the documents of the base are: kinds, newest, size, and questions to try.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Span;
use jiff::civil::Date;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::adding::{Adding, CurrentBase};
use super::samples::{MakeSamples, Samples, kind};
use crate::agent::ports::blocking;
use crate::domain::mention_of;
use crate::kb::{Document, KbError, KnowledgeBase, Skipped, SourceStatus};
use crate::protocol::{
    FilterValues, KnowledgeContents, LeftOut, SampleQuestion, SourceContents, Timestamp, Update,
};
use crate::text::{one_line, sanitize};

/// So many files that were left out are named.
const MOST_LEFT_OUT: usize = 500;
/// A path up to this length, in characters.
const LONGEST_PATH: usize = 400;
/// A look goes through all documents, so where they keep changing there are not more of them.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Looks into the base and tells the screen, beside the task that keeps the index up to date: also where
/// that is stopped, or broke off.
pub(super) struct Contents {
    pub(super) base: CurrentBase,
    pub(super) adding: Arc<Adding>,
    pub(super) updates: mpsc::Sender<Update>,
    /// Makes the questions to try; without it there are none.
    pub(super) samples: Option<Arc<MakeSamples>>,
    /// Once a question was asked none is needed to try.
    pub(super) is_asked: CancellationToken,
    /// What is not in the index. Whoever waits for its change looks again.
    pub(super) left_out: watch::Sender<LeftOut>,
}

impl Contents {
    /// Files are not in the index now, which is to be reported with what is.
    pub(super) fn leave_out(&self, skipped: &[Skipped]) {
        let as_text = |skipped: &Skipped| {
            let reason = skipped.reason.to_string();
            let path = one_line(&skipped.path, LONGEST_PATH);
            (path, one_line(&reason, LONGEST_PATH))
        };
        self.left_out.send_replace(LeftOut {
            count: skipped.len(),
            files: skipped.iter().take(MOST_LEFT_OUT).map(as_text).collect(),
        });
    }

    /// The documents may have changed, or another base has taken the place of the one before.
    pub(super) fn may_have_changed(&self) {
        self.left_out.send_modify(|_| {});
    }

    /// Looks at once, and again after each change, until `end` or the end of the screen.
    pub(super) async fn follow(&self, end: &CancellationToken) {
        end.run_until_cancelled(self.send_each()).await;
    }

    async fn send_each(&self) -> Option<()> {
        let mut changes = self.left_out.subscribe();
        let (mut known, mut samples) = (None, None);
        loop {
            let base = self.base.get();
            let left_out = changes.borrow_and_update().clone();
            let state = (ByAddress(Arc::clone(&base)), base.revision(), left_out);
            if known.as_ref() != Some(&state) {
                let mut next = Instant::now();
                if let Some(mut contents) = self.look(&base, &state.2, &mut samples).await {
                    known = Some(state);
                    if !contents.kinds.is_empty() {
                        next += LOOK_EVERY;
                    }
                    self.send(&base, contents.clone()).await?;
                    if contents.samples_are_sought {
                        samples = self.make(&base).await;
                        contents.samples_are_sought = false;
                        contents.samples = Some(questions(samples.as_ref()));
                        self.send(&base, contents).await?;
                    }
                } else if known.is_none() {
                    // Who waits for it waits no longer.
                    self.send(&base, KnowledgeContents::default()).await?;
                }
                sleep_until(next).await;
            }
            changes.changed().await.ok()?;
        }
    }

    /// Sends what a base holds, unless another took its place meanwhile; `None` where the screen is gone.
    async fn send(&self, base: &Arc<KnowledgeBase>, contents: KnowledgeContents) -> Option<()> {
        if !Arc::ptr_eq(base, &self.base.get()) {
            self.may_have_changed();
            return Some(());
        }
        self.updates.send(Update::Contents(contents)).await.ok()
    }

    /// Makes questions to try; `None` where that failed, or is not wanted any more.
    async fn make(&self, base: &Arc<KnowledgeBase>) -> Option<Samples> {
        let (make_samples, base) = (self.samples.clone()?, Arc::clone(base));
        let make = blocking(move |cancel: &CancellationToken| make_samples(&base, cancel));
        // A panic has been reported by the hook; the documents are read all the same.
        self.is_asked.run_until_cancelled(make).await?.ok()?.ok()
    }

    /// What the base holds, with the samples as long as they are true: so no digit means another question.
    /// `None` where it failed, which is in the diagnostics.
    async fn look(
        &self,
        base: &Arc<KnowledgeBase>,
        left_out: &LeftOut,
        samples: &mut Option<Samples>,
    ) -> Option<KnowledgeContents> {
        let (base, adding) = (Arc::clone(base), Arc::clone(&self.adding));
        let (left_out, before) = (left_out.clone(), samples.take());
        let are_made = self.samples.is_some();
        let look = move |cancel: &CancellationToken| {
            let mut overview = Overview::default();
            base.for_each_document(cancel, |document| overview.add(document))?;
            let samples = match before {
                Some(samples) if samples.are_current(&base)? => Some(samples),
                _ => None,
            };
            let contents = KnowledgeContents {
                sources: sources(&base, &adding, cancel)?,
                setting: adding.setting(&base),
                left_out,
                samples_are_sought: are_made && samples.is_none(),
                samples: are_made.then(|| questions(samples.as_ref())),
                ..overview.contents()
            };
            Ok::<_, KbError>((contents, samples))
        };
        let looked = blocking(look).await.map_err(|error| error.to_string());
        let looked = looked.and_then(|looked| looked.map_err(|error| error.to_string()));
        let log = |error: &String| tracing::debug!(%error, "what the base holds is not known");
        let (contents, kept) = looked.inspect_err(log).ok()?;
        *samples = kept;
        Some(contents)
    }
}

/// A base that is the same as itself alone.
struct ByAddress(Arc<KnowledgeBase>);

impl PartialEq for ByAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn questions(samples: Option<&Samples>) -> Vec<SampleQuestion> {
    samples.map_or_else(Vec::new, |samples| samples.questions.clone())
}

fn sources(
    base: &KnowledgeBase,
    adding: &Adding,
    cancel: &CancellationToken,
) -> Result<Vec<SourceContents>, KbError> {
    let added = adding.added();
    let contents_of = |source: SourceStatus| SourceContents {
        path: one_line(&source.path.to_string_lossy(), LONGEST_PATH),
        documents: source.documents,
        chunks: source.chunks,
        is_added: added.contains(&source.path),
        label: source.label,
        location: source.path,
    };
    Ok(base.sources(cancel)?.into_iter().map(contents_of).collect())
}

// What all documents of a base come to, gathered one by one.

/// So many documents and folders can be completed; others can be typed.
const MOST_NAMES: usize = 5_000;
/// So many tags can be completed.
const MOST_TAGS: usize = 1_000;
/// So many of the newest files are named.
const NEWEST: usize = 3;
/// A file's name up to this length, in characters.
const LONGEST_NAME: usize = 120;

/// Kinds, names, the newest and the size.
#[derive(Default)]
struct Overview {
    bytes: u64,
    kinds: HashMap<String, usize>,
    tags: HashMap<String, usize>,
    /// Names in the order of their depth, folders before documents.
    names: BTreeSet<(usize, bool, String)>,
    newest: Vec<Arc<Document>>,
}

impl Overview {
    /// Takes up a document.
    fn add(&mut self, document: &Arc<Document>) {
        self.bytes += document.bytes;
        *self.kinds.entry(kind(&document.source)).or_default() += 1;
        for tag in &document.metadata.tags {
            if sanitize(tag) == *tag {
                *self.tags.entry(tag.clone()).or_default() += 1;
            }
        }
        self.add_names(&document.source);
        let moment = document.modified();
        let place = self
            .newest
            .partition_point(|known| known.modified() >= moment);
        if place < NEWEST {
            self.newest.insert(place, Arc::clone(document));
            self.newest.truncate(NEWEST);
        }
    }

    /// Its own and those of the folders that it lies in.
    fn add_names(&mut self, source: &str) {
        let folders = source.match_indices('/').map(|(at, _)| &source[..=at]);
        for name in folders.chain([source]) {
            if mention_of(name).is_some() && sanitize(name) == name {
                let path = name.trim_end_matches('/');
                let (depth, is_document) = (path.matches('/').count(), path == name);
                self.names.insert((depth, is_document, name.to_owned()));
            }
        }
        while self.names.len() > MOST_NAMES {
            self.names.pop_last();
        }
    }

    /// Converts the overview into what the screen shows.
    fn contents(self) -> KnowledgeContents {
        let mut tags = most_first(self.tags);
        tags.truncate(MOST_TAGS);
        let newest = self.newest.iter().map(|document| {
            let name = one_line(&document.source, LONGEST_NAME);
            (name, Timestamp::from_system_time(document.modified()))
        });
        KnowledgeContents {
            kinds: most_first(self.kinds),
            filter_values: Arc::new(FilterValues {
                tags,
                days: recent_days(jiff::Zoned::now().date()),
            }),
            newest: newest.collect(),
            names: self.names.into_iter().map(|(_, _, name)| name).collect(),
            bytes: self.bytes,
            ..KnowledgeContents::default()
        }
    }
}

fn most_first(counts: HashMap<String, usize>) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// Days that a question may be about, as seen from `today`.
fn recent_days(today: Date) -> Vec<(String, &'static str)> {
    let back = |span: Span| today.checked_sub(span).unwrap_or(today);
    let month = |date: Date| format!("{:04}-{:02}", date.year(), date.month());
    vec![
        (today.to_string(), "today"),
        (back(Span::new().days(7)).to_string(), "a week ago"),
        (month(today), "this month"),
        (month(back(Span::new().months(1))), "last month"),
        (format!("{:04}", today.year()), "this year"),
        (
            format!("{:04}", today.year().saturating_sub(1)),
            "last year",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use parking_lot::Mutex;
    use tokio::runtime::Handle;

    use super::super::knowledge::BuiltInModels;
    use super::*;
    use crate::agent::ports::{EmbedError, Embedder};
    use crate::config::{Environment, Overrides, Settings};
    use crate::engine::indexing::{IndexTask, Indexing};
    use crate::engine::update_words;
    use crate::protocol::IndexCommand;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// Words only.
    struct NoMeaning;

    impl Embedder for NoMeaning {
        fn model_id(&self) -> &'static str {
            "none"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("none".into()))
        }
    }

    fn base(docs: &Path, home: &Path) -> Arc<KnowledgeBase> {
        let roots = [docs.to_owned()];
        Arc::new(KnowledgeBase::open(&roots, home, Arc::new(NoMeaning)).unwrap())
    }

    fn contents(
        base: &Arc<KnowledgeBase>,
        updates: mpsc::Sender<Update>,
        samples: Option<Arc<MakeSamples>>,
    ) -> Contents {
        let nothing: [(&str, &str); 0] = [];
        let environment = Environment::from_pairs(nothing);
        let settings = Settings::resolve(&environment, Overrides::default()).unwrap();
        Contents {
            base: CurrentBase::new(Arc::clone(base)),
            adding: Arc::new(Adding::new(&settings, BuiltInModels::new())),
            updates,
            samples,
            is_asked: CancellationToken::new(),
            left_out: watch::Sender::default(),
        }
    }

    fn write(base: &KnowledgeBase, docs: &Path, name: &str, text: &str) {
        fs::write(docs.join(name), text).unwrap();
        update_words(base, &|_| (), &CancellationToken::new()).unwrap();
    }

    async fn next(updates: &mut mpsc::Receiver<Update>) -> KnowledgeContents {
        loop {
            let update = tokio::time::timeout(PATIENCE, updates.recv()).await;
            if let Update::Contents(contents) = update.unwrap().unwrap()
                && !contents.samples_are_sought
            {
                return contents;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changes_that_follow_each_other_cost_one_look() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = base(docs.path(), home.path());
        write(&base, docs.path(), "a.md", "# A\n");
        let (updates, mut received) = mpsc::channel(8);
        let contents = contents(&base, updates, None);
        let end = CancellationToken::new();
        let test = async {
            let first = next(&mut received).await;
            assert_eq!(
                (&*first.names, first.samples),
                (&["a.md".to_owned()][..], None)
            );
            let begun = Instant::now();
            for name in ["b.md", "c.md"] {
                write(&base, docs.path(), name, "# More\n");
                contents.may_have_changed();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(next(&mut received).await.names.len(), 3);
            assert!(begun.elapsed() >= LOOK_EVERY.saturating_sub(Duration::from_millis(1)));
            // Nothing has changed.
            contents.may_have_changed();
            tokio::time::sleep(2 * LOOK_EVERY).await;
            assert!(received.try_recv().is_err());
            end.cancel();
        };
        tokio::join!(contents.follow(&end), test);
    }

    #[tokio::test(start_paused = true)]
    async fn an_odd_document_costs_the_samples_alone_until_something_changes() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = base(docs.path(), home.path());
        write(&base, docs.path(), "odd.md", "# Odd\n");
        let (updates, mut received) = mpsc::channel(8);
        let tried = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&tried);
        let make: Arc<MakeSamples> = Arc::new(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            panic!("an odd document");
        });
        let contents = contents(&base, updates, Some(make));
        let end = CancellationToken::new();
        let test = async {
            for (name, names) in [("odd.md", 1), ("list.csv", 2)] {
                write(&base, docs.path(), name, "# Odd\n");
                contents.may_have_changed();
                let held = next(&mut received).await;
                assert_eq!(held.names.len(), names, "{name}");
                assert_eq!(held.samples, Some(Vec::new()));
            }
            assert!(tried.load(Ordering::SeqCst) > 1);
            end.cancel();
        };
        tokio::join!(contents.follow(&end), test);
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_earlier_base_held_is_not_sent_once_another_took_its_place() {
        let (docs, more, home) = (
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        let before = base(docs.path(), &home.path().join("a"));
        write(&before, docs.path(), "a.md", "# A\n");
        let after = base(more.path(), &home.path().join("b"));
        write(&after, more.path(), "b.md", "# B\n");
        let (updates, mut received) = mpsc::channel(8);
        let current: Arc<Mutex<Option<CurrentBase>>> = Arc::default();
        let replaced = Arc::clone(&current);
        // The base is another one while it is looked into.
        let make: Arc<MakeSamples> = Arc::new(move |_, _| {
            if let Some(current) = replaced.lock().take() {
                current.replace(Arc::clone(&after));
            }
            Ok(Samples::default())
        });
        let contents = contents(&before, updates, Some(make));
        *current.lock() = Some(contents.base.clone());
        let end = CancellationToken::new();
        let test = async {
            assert_eq!(&*next(&mut received).await.names, &["b.md".to_owned()][..]);
            end.cancel();
        };
        tokio::join!(contents.follow(&end), test);
    }

    #[tokio::test]
    async fn ui_no_sample_is_looked_for_once_a_question_was_asked() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = base(docs.path(), home.path());
        write(&base, docs.path(), "a.md", "# A\n");
        let (updates, mut received) = mpsc::channel(8);
        let (begun, begins) = channel();
        let begun = Mutex::new(begun);
        let make: Arc<MakeSamples> = Arc::new(move |_, cancel| {
            begun.lock().send(()).unwrap();
            Handle::current().block_on(cancel.cancelled());
            Err(KbError::Stopped)
        });
        let contents = contents(&base, updates, Some(make));
        let (end, is_asked) = (CancellationToken::new(), contents.is_asked.clone());
        let test = async {
            let begins = tokio::task::spawn_blocking(move || begins.recv_timeout(PATIENCE));
            begins.await.unwrap().unwrap();
            is_asked.cancel();
            assert_eq!(next(&mut received).await.samples, Some(Vec::new()));
            end.cancel();
        };
        tokio::join!(contents.follow(&end), test);
    }

    #[tokio::test]
    async fn what_the_base_holds_is_sent_though_the_index_is_stopped_meanwhile() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = base(docs.path(), home.path());
        write(&base, docs.path(), "a.md", "# A\n");
        let (updates, mut received) = mpsc::channel(64);
        let (go_on, stopped) = channel();
        let stopped = Mutex::new(stopped);
        let make: Arc<MakeSamples> = Arc::new(move |_, _| {
            // Until the index is stopped.
            let _ = stopped.lock().recv_timeout(PATIENCE);
            Ok(Samples::default())
        });
        let contents = contents(&base, updates.clone(), Some(make));
        let indexing = Indexing {
            base: contents.base.clone(),
            adding: Arc::clone(&contents.adding),
            updates,
            own_files: Vec::new(),
            contents: Arc::new(contents),
        };
        let (commands, asked) = mpsc::channel(1);
        let end = CancellationToken::new();
        let working = tokio::spawn(indexing.run(asked, end.clone()));
        commands
            .send(IndexTask::Steer(IndexCommand::Stop))
            .await
            .unwrap();
        loop {
            match received.recv().await.unwrap() {
                Update::Knowledge(status) if status.stopped => break,
                Update::Contents(contents) if !contents.samples_are_sought => {
                    panic!("before it was stopped")
                }
                _ => {}
            }
        }
        go_on.send(()).unwrap();
        assert_eq!(next(&mut received).await.names.len(), 1);
        end.cancel();
        working.await.unwrap();
    }
}

#[cfg(test)]
mod overview_tests {
    use super::super::samples::kind;

    #[test]
    fn files_are_of_a_kind_by_their_ending() {
        for (source, is) in [
            ("notes/plan.MD", "Markdown"),
            ("a.b/report.pdf", "PDF"),
            ("src/main.rs", "rs"),
            ("Makefile", "other"),
            (".profile", "other"),
            ("v1.0/README", "other"),
            ("a.\u{1b}[2J", "other"),
            ("a.averylongending", "other"),
        ] {
            assert_eq!(kind(source), is, "{source}");
        }
    }
}
