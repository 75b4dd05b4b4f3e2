//! The words of an update: one walk, what looks changed read side by side, one writer.
//!
//! Threads read, hash and cut; what they find comes to the one that writes, over a short channel
//! and within a budget of bytes: a pile of large files never waits in memory. A long pass commits
//! as it goes: documents can be searched as they come, and a kill costs the last seconds.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::changes::{ChangedFile, Changes, SeenFiles, look_at, looks_same, plan};
use super::{Job, MissingText, Phase, UpdateReport};
use crate::kb::chunk::{Chunk, chunk};
use crate::kb::error::KbError;
use crate::kb::extract::{Extraction, MAX_FILE_BYTES, SkipReason};
use crate::kb::index::{Batch, ChunkKey, Document, Limits, LocalStamp, NewDocument, Reader};
use crate::kb::links;
use crate::kb::metadata::document_metadata;
use crate::kb::source::{Skipped, SourceFile, is_words_only, walk};

/// The first commit is made after this long, and each further one after twice as long: a commit
/// interrupts the work.
const FIRST_COMMIT: Duration = Duration::from_secs(2);
/// Documents read ahead of the writer.
const READ_AHEAD: usize = 16;
/// The bytes that each line of a document takes while it is cut, besides its text: a slice, and
/// perhaps a heading.
const BYTES_A_LINE: u64 = 40;

impl Job<'_> {
    /// Reads every document again.
    pub fn read_everything(&self) -> Result<UpdateReport, KbError> {
        let batch = self.store.begin(true, self.limits())?;
        update_documents(self, batch, &Changes::Everything)
    }

    /// Reads what changed, so that its words can be searched.
    pub fn read_changes(&self, changes: &Changes) -> Result<UpdateReport, KbError> {
        let batch = self.store.begin(false, self.limits())?;
        update_documents(self, batch, changes)
    }
}

/// Brings the documents up to date: those of these files, or all.
fn update_documents(
    job: &Job<'_>,
    batch: Box<dyn Batch + '_>,
    changes: &Changes,
) -> Result<UpdateReport, KbError> {
    let before = batch.previous_reader();
    // Whatever goes wrong before the end, the next time everything is looked at.
    let known = job.skipped_files.take();
    let looked = match (changes, known, &before) {
        // Where nothing is there any more, all is missing and not what changed alone.
        (Changes::Files(paths), Some(known), Some(before)) if before.generation() > 0 => {
            let seen = look_at(job.roots, paths, before.as_ref(), job.limits())?;
            seen.map(|seen| (seen, known))
        }
        _ => None,
    };
    let pass = Pass {
        report: UpdateReport::default(),
        batch,
        added: Vec::new(),
        removed: HashMap::new(),
        committed: Instant::now(),
        patience: FIRST_COMMIT,
        unread: 0,
    };
    let (report, is_certain) = match looked {
        Some((seen, known)) => pass.read_changed_files(job, seen, known)?,
        None => pass.read_all_files(job, before.as_deref())?,
    };
    if is_certain && !job.cancel.is_cancelled() {
        job.skipped_files.keep(&report.skipped);
    }
    Ok(report)
}

/// The result of reading one file.
enum ReadOutcome {
    Skipped(SkipReason),
    Same {
        mtime_is_reliable: bool,
    },
    /// The document, and what is missing from its text.
    Text(Box<NewDocument>, Vec<String>),
}

/// Reads the changed files on all cores, large ones first, and passes each result to `take` in whatever
/// order. Ends early when cancelled, or by the first error.
fn read_in_parallel(
    job: &Job<'_>,
    changed: &[ChangedFile<'_>],
    mut take: impl FnMut(&ChangedFile<'_>, ReadOutcome) -> Result<(), KbError>,
) -> Result<(), KbError> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // A large one that comes last is waited for alone.
    let mut changed: Vec<&ChangedFile<'_>> = changed.iter().collect();
    changed.sort_by_key(|changed_file| Reverse(changed_file.file.stamp.size));
    let changed = &changed;
    let next = AtomicUsize::new(0);
    // An error ends the reading, and not what the caller does with the same token.
    let cancel = &job.cancel.child_token();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(READ_AHEAD);
        for _ in 0..cores.min(changed.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !cancel.is_cancelled()
                    && let Some(&changed_file) = changed.get(next.fetch_add(1, Ordering::Relaxed))
                    && read_file(job, changed_file, cancel)
                        .is_none_or(|outcome| sender.send((changed_file, outcome)).is_ok())
                {
                }
            });
        }
        drop(sender);
        let mut outcomes = receiver.into_iter();
        let written = outcomes.try_for_each(|(changed_file, outcome)| take(changed_file, outcome));
        if written.is_err() {
            cancel.cancel();
        }
        written
    })
}

/// Reads one file; `None` when the reading was interrupted.
fn read_file(
    job: &Job<'_>,
    changed_file: &ChangedFile<'_>,
    cancel: &CancellationToken,
) -> Option<ReadOutcome> {
    let SourceFile {
        path,
        source,
        stamp,
    } = changed_file.file;
    // Before the reading: a change that comes later must show.
    let mtime_is_reliable = stamp.mtime_is_reliable();
    // A document that is taken apart elsewhere takes nothing here until its text comes.
    let reservation = job.budget.reserve(stamp.size.min(MAX_FILE_BYTES), cancel)?;
    let file = job.roots.open_file(path).map_err(SkipReason::from);
    let document = file.and_then(|file| job.texts.document_unless(&file, source, cancel));
    let document = match document {
        Ok(document) => document,
        Err(SkipReason::Stopped) => return None,
        // It went with all the others, which says nothing about itself.
        Err(_) if job.roots.is_away(path) => return None,
        Err(reason) => return Some(ReadOutcome::Skipped(reason)),
    };
    let hash = hash(&document);
    if changed_file
        .old
        .as_ref()
        .is_some_and(|old| old.hash == hash)
    {
        return Some(ReadOutcome::Same { mtime_is_reliable });
    }
    let reservation = reservation.resized(weight(&document), cancel)?;
    let links = links::links(source, &document.text, cancel)?;
    let is_words_only = is_words_only(source, &document.text);
    let key_of = |chunk: &Chunk| {
        if is_words_only {
            return ChunkKey::WORDS_ONLY;
        }
        ChunkKey::from_text(&chunk.heading, &chunk.text)
    };
    let (title, chunks) = chunk(source, &document);
    let chunks = chunks.into_iter();
    let incoming = NewDocument {
        source: source.clone(),
        title,
        hash,
        stamp: LocalStamp {
            stamp: *stamp,
            mtime_is_reliable,
        },
        metadata: document_metadata(&document),
        links,
        chunks: chunks.map(|chunk| (key_of(&chunk), chunk)).collect(),
        reservation,
    };
    Some(ReadOutcome::Text(Box::new(incoming), document.missing))
}

/// About what a document takes while it is cut, in bytes: its text, the same in chunks, its lines.
fn weight(document: &Extraction) -> u64 {
    let text = document.text.as_bytes();
    let lines = memchr::memchr_iter(b'\n', text).count();
    2 * text.len() as u64 + BYTES_A_LINE * lines as u64
}

/// Hashes everything that the index takes from a document.
fn hash(document: &Extraction) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(document.text.as_bytes());
    if document.title.is_some() || !document.places.is_empty() || !document.missing.is_empty() {
        let rest = format!(
            "{:?}{:?}{:?}",
            document.title, document.places, document.missing
        );
        hasher.update(rest.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// One pass over the files.
struct Pass<'a> {
    report: UpdateReport,
    batch: Box<dyn Batch + 'a>,
    /// The hashes of new documents, and how often each hash of a vanished one occurs: a document whose
    /// hash is in both has moved.
    added: Vec<[u8; 32]>,
    removed: HashMap<[u8; 32], usize>,
    committed: Instant,
    patience: Duration,
    /// Documents that stay as they were because there was no time to read them.
    unread: usize,
}

impl Pass<'_> {
    /// Reads all files of the base that look changed; also returns whether all skipped files are certain to
    /// stay skipped.
    fn read_all_files(
        mut self,
        job: &Job<'_>,
        before: Option<&dyn Reader>,
    ) -> Result<(UpdateReport, bool), KbError> {
        let mut walked = walk(job.roots, job.cancel);
        if job.cancel.is_cancelled() {
            // What was not come by is not gone.
            return Err(KbError::Stopped);
        }
        self.report.skipped = std::mem::take(&mut walked.skipped);
        let plan = plan(&walked, before, job.cancel)?;
        let files = walked.found.len();
        self.report.looked_at = files;
        self.report.unchanged = files - plan.changed.len();
        for gone in &plan.vanished {
            self.remove(gone, job.limits())?;
        }
        self.read_and_write(job, &plan.changed, files)?;
        // What could not be looked at keeps its texts too.
        if walked.unseen.is_empty() {
            job.texts.tidy(&walked.found);
        }
        let (mut report, is_certain) = self.finish(job)?;
        job.count(&mut report)?;
        Ok((report, is_certain))
    }

    /// Reads the files that are known to have changed. Files that were skipped elsewhere stay skipped.
    fn read_changed_files(
        mut self,
        job: &Job<'_>,
        seen: SeenFiles,
        known: Vec<Skipped>,
    ) -> Result<(UpdateReport, bool), KbError> {
        self.report.looked_at = seen.names.len();
        self.report.skipped = known;
        self.report
            .skipped
            .retain(|skipped| !seen.names.contains(&skipped.path));
        self.report.skipped.extend(seen.skipped);
        let changed = seen.found.iter().map(|(file, old)| ChangedFile {
            file,
            old: old.clone(),
        });
        let changed: Vec<ChangedFile<'_>> = changed
            .filter(|changed_file| {
                let old = changed_file.old.as_ref();
                !old.is_some_and(|old| looks_same(old, changed_file.file))
            })
            .collect();
        for gone in &seen.vanished {
            self.remove(gone, job.limits())?;
        }
        let files = changed.len();
        self.read_and_write(job, &changed, files)?;
        let unread = self.unread;
        let (mut report, is_certain) = self.finish(job)?;
        job.count(&mut report)?;
        let put = report.added + report.moved + report.changed;
        report.unchanged = report.documents.saturating_sub(put + unread);
        Ok((report, is_certain))
    }

    /// Reads the changed files and writes what comes of each; `files` is how many there are in all.
    fn read_and_write(
        &mut self,
        job: &Job<'_>,
        changed: &[ChangedFile<'_>],
        files: usize,
    ) -> Result<(), KbError> {
        let longest = self.batch.longest_source();
        let is_too_long = |one: &&ChangedFile<'_>| one.file.source.len() > longest;
        let too_long = changed.iter().filter(is_too_long).map(|one| Skipped {
            path: one.file.source.clone(),
            reason: SkipReason::LongPath(longest),
        });
        self.report.skipped.extend(too_long);
        let changed = changed.iter().filter(|one| !is_too_long(one));
        let changed: &Vec<ChangedFile<'_>> = &changed.cloned().collect();
        self.batch.expect(changed.len());
        let mut done = files - changed.len();
        job.report(Phase::Reading, done, files);
        let _session = job.texts.extractor.session();
        read_in_parallel(job, changed, |changed_file, outcome| {
            self.take(changed_file, outcome, job.limits())?;
            done += 1;
            job.report(Phase::Reading, done, files);
            self.commit_now_and_then(job.limits())
        })
    }

    fn take(
        &mut self,
        changed_file: &ChangedFile<'_>,
        outcome: ReadOutcome,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        match outcome {
            ReadOutcome::Skipped(reason) => {
                let is_passing = reason.is_passing();
                self.report.skipped.push(Skipped {
                    path: changed_file.file.source.clone(),
                    reason,
                });
                // A document that can no longer be read leaves the index; one that there was no time
                // for stays as it was.
                match &changed_file.old {
                    Some(old) if !is_passing => return self.remove(old, limits),
                    Some(_) => self.unread += 1,
                    None => {}
                }
                Ok(())
            }
            ReadOutcome::Same { mtime_is_reliable } => {
                self.report.unchanged += 1;
                let file = changed_file.file;
                let local = LocalStamp {
                    stamp: file.stamp,
                    mtime_is_reliable,
                };
                let old = changed_file.old.as_ref();
                if old.is_some_and(|old| old.stamp != Some(local)) {
                    return self.batch.restamp(&file.source, local, limits);
                }
                Ok(())
            }
            ReadOutcome::Text(document, missing) => {
                self.report.missing_texts.push(MissingText {
                    path: changed_file.file.source.clone(),
                    missing,
                });
                match &changed_file.old {
                    Some(_) => self.report.changed += 1,
                    None => self.added.push(document.hash),
                }
                self.batch.put_document(*document, limits)
            }
        }
    }

    /// Removes a vanished document. One that only another machine has read is left to that machine.
    fn remove(&mut self, gone: &Document, limits: Limits<'_>) -> Result<(), KbError> {
        if gone.stamp.is_none() {
            self.report.of_other_machines += 1;
            return Ok(());
        }
        *self.removed.entry(gone.hash).or_default() += 1;
        self.report.missing_texts.push(MissingText {
            path: gone.source.clone(),
            missing: Vec::new(),
        });
        self.batch.remove(&gone.source, limits)
    }

    fn commit_now_and_then(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        if self.committed.elapsed() > self.patience {
            self.batch.commit(limits)?;
            self.patience *= 2;
            self.committed = Instant::now();
        }
        Ok(())
    }

    fn finish(mut self, job: &Job<'_>) -> Result<(UpdateReport, bool), KbError> {
        self.batch.finish(job.limits())?;
        for hash in &self.added {
            match self.removed.get_mut(hash).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    self.report.moved += 1;
                }
                None => self.report.added += 1,
            }
        }
        self.report.removed = self.removed.values().sum();
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let mut skipped = self.report.skipped.iter();
        let is_certain = skipped.all(|skipped| !skipped.reason.is_passing());
        Ok((self.report, is_certain))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agent::ports::{BulkPriority, EmbedError, Embedder};
    use crate::kb::budget::ByteBudget;
    use crate::kb::index::EmbeddedStore;
    use crate::kb::source::Roots;
    use crate::kb::source::TextCache;
    use crate::kb::update::SkippedFiles;

    const LIMIT: u64 = 100_000;

    /// Nothing is embedded here.
    struct Absent;

    impl Embedder for Absent {
        fn model_id(&self) -> &'static str {
            "absent"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            unreachable!("only words are read")
        }
    }

    /// What an update needs, over a folder with many documents that fill the budget by two.
    struct Bench {
        docs: tempfile::TempDir,
        _home: tempfile::TempDir,
        roots: Roots,
        store: EmbeddedStore,
        texts: TextCache,
        skipped_files: SkippedFiles,
        refused: parking_lot::Mutex<super::super::RefusedChunks>,
        budget: ByteBudget,
        cancel: CancellationToken,
    }

    impl Bench {
        fn new() -> Self {
            let docs = tempfile::tempdir().unwrap();
            for n in 0..60 {
                let text = format!("# Note {n}\n\n{}", "A line of words.\n".repeat(600));
                fs::write(docs.path().join(format!("{n}.md")), text).unwrap();
            }
            let home = tempfile::tempdir().unwrap();
            Self {
                roots: Roots::open(&[docs.path().to_owned()]).unwrap(),
                store: EmbeddedStore::open(home.path(), "absent").unwrap(),
                texts: TextCache::open(home.path()),
                skipped_files: SkippedFiles::default(),
                refused: parking_lot::Mutex::default(),
                budget: ByteBudget::new(LIMIT),
                cancel: CancellationToken::new(),
                docs,
                _home: home,
            }
        }

        fn job(&self) -> Job<'_> {
            Job {
                roots: &self.roots,
                store: &self.store,
                texts: &self.texts,
                embedder: &Absent,
                skipped_files: &self.skipped_files,
                refused: &self.refused,
                budget: &self.budget,
                progress: &|_| {},
                cancel: &self.cancel,
                priority: BulkPriority::Idle,
                pause: None,
            }
        }
    }

    #[test]
    fn r26_documents_on_their_way_into_the_index_keep_to_their_bytes() {
        let bench = Bench::new();
        let report = bench.job().read_changes(&Changes::Everything).unwrap();
        assert_eq!(report.added, 60);
        let most = bench.budget.most_reserved();
        assert!(most > LIMIT / 3 && most <= LIMIT, "{most}");
        // What is larger than all of it is read all the same, and alone.
        let text = "A line of words.\n".repeat(9000);
        let large = weight(&Extraction::of_text("large.md", text.clone()));
        fs::write(bench.docs.path().join("large.md"), text).unwrap();
        fs::write(bench.docs.path().join("more.md"), "# More\n").unwrap();
        let report = bench.job().read_everything().unwrap();
        assert_eq!(report.added, 62);
        assert_eq!(bench.budget.most_reserved(), large);
        assert_eq!(bench.budget.reserved(), 0);
    }

    #[test]
    fn ends_waiting_for_memory_with_an_update_that_fails() {
        let bench = Bench::new();
        let walked = walk(&bench.roots, &bench.cancel);
        let changed = walked
            .found
            .iter()
            .map(|file| ChangedFile { file, old: None });
        let changed: Vec<ChangedFile<'_>> = changed.collect();
        let mut kept = Vec::new();
        let read = read_in_parallel(&bench.job(), &changed, |_, outcome| {
            kept.push(outcome);
            if bench.budget.reserved() > LIMIT / 2 {
                return Err(KbError::Locked);
            }
            Ok(())
        });
        assert!(matches!(read, Err(KbError::Locked)));
        assert!(kept.len() < changed.len());
        drop(kept);
        assert_eq!(bench.budget.reserved(), 0);
    }
}
