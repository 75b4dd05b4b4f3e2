//! The words of an update: one walk, what looks changed read side by side, one writer.
//!
//! Threads read, hash and cut; what they find comes to the one that writes, over a channel short
//! enough that a pile of large files never waits in memory. A long pass commits as it goes:
//! documents can be searched as they come, and a kill costs the last seconds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Job, Phase, UpdateReport};
use crate::kb::chunk::chunk;
use crate::kb::error::KbError;
use crate::kb::extract::{Extraction, SkipReason};
use crate::kb::links;
use crate::kb::manifest::Document;
use crate::kb::store::{Batch, ChunkKey, Incoming};
use crate::kb::walk::{Found, Skipped, Walked, walk};

/// What is done becomes searchable after this long, and then after twice as long each time: a
/// commit interrupts the work.
const FIRST_COMMIT: Duration = Duration::from_secs(2);
/// Documents read ahead of the writer.
const READ_AHEAD: usize = 16;

/// Brings the documents up to date.
pub(super) fn read(job: &Job<'_>, batch: Box<dyn Batch + '_>) -> Result<UpdateReport, KbError> {
    let mut walked = walk(job.roots);
    let before = batch.documents();
    let plan = plan(&walked, &before);
    let skipped = std::mem::take(&mut walked.skipped);
    let files = walked.found;
    let mut pass = Pass {
        report: UpdateReport {
            skipped,
            unchanged: files.len() - plan.suspects.len(),
            ..UpdateReport::default()
        },
        batch,
        added: Vec::new(),
        removed: HashMap::new(),
        committed: Instant::now(),
        patience: FIRST_COMMIT,
    };
    pass.batch.expect(plan.suspects.len());
    for gone in &plan.vanished {
        pass.remove(&before[*gone])?;
    }
    let mut done = pass.report.unchanged;
    job.report(Phase::Reading, done, files.len());
    let suspects = plan.suspects.iter();
    let suspects: Vec<Suspect<'_>> = suspects
        .map(|(file, old)| Suspect {
            file: &files[*file],
            old: old.map(|old| &before[old]),
        })
        .collect();
    side_by_side(job, &suspects, |suspect, outcome| {
        pass.take(suspect, outcome)?;
        done += 1;
        job.report(Phase::Reading, done, files.len());
        pass.commit_now_and_then()
    })?;
    job.shelf.tidy(&files);
    pass.finish()
}

/// Which files to look into.
struct Plan {
    /// A file that looks changed, and the document that it was.
    suspects: Vec<(usize, Option<usize>)>,
    /// Documents that no file is there for.
    vanished: Vec<usize>,
}

/// Files and documents both are in the order of their names.
fn plan(walked: &Walked, before: &Arc<[Document]>) -> Plan {
    let mut plan = Plan {
        suspects: Vec::new(),
        vanished: Vec::new(),
    };
    let mut at = 0;
    let mut pass_over = |until: Option<&str>, at: &mut usize| {
        while *at < before.len() && until.is_none_or(|name| before[*at].source.as_str() < name) {
            let source = &before[*at].source;
            if !walked.may_hold(source) {
                plan.vanished.push(*at);
            }
            *at += 1;
        }
    };
    for (number, file) in walked.found.iter().enumerate() {
        pass_over(Some(&file.source), &mut at);
        let old = before.get(at).filter(|old| old.source == file.source);
        let Some(old) = old else {
            plan.suspects.push((number, None));
            continue;
        };
        let looks_same = old.settled && old.stamp == file.stamp;
        if !looks_same {
            plan.suspects.push((number, Some(at)));
        }
        at += 1;
    }
    pass_over(None, &mut at);
    plan
}

/// A file that looks changed.
#[derive(Clone, Copy)]
struct Suspect<'a> {
    file: &'a Found,
    old: Option<&'a Document>,
}

/// What became of it.
enum Outcome {
    Skipped(SkipReason),
    Same { settled: bool },
    Text(Box<Incoming>),
}

/// Reads all suspects on all cores and hands over what comes of them, in whatever order. Ends
/// early when told to stop, or by the first error.
fn side_by_side(
    job: &Job<'_>,
    suspects: &[Suspect<'_>],
    mut take: impl FnMut(Suspect<'_>, Outcome) -> Result<(), KbError>,
) -> Result<(), KbError> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (tell, told) = mpsc::sync_channel(READ_AHEAD);
        for _ in 0..cores.min(suspects.len()) {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                while !job.stop.load(Ordering::Relaxed)
                    && let Some(suspect) = suspects.get(next.fetch_add(1, Ordering::Relaxed))
                    && look(job, *suspect)
                        .is_none_or(|outcome| tell.send((*suspect, outcome)).is_ok())
                {
                }
            });
        }
        drop(tell);
        told.into_iter()
            .try_for_each(|(suspect, outcome)| take(suspect, outcome))
    })
}

/// `None` when it was not looked at to its end: then nothing is known of it.
fn look(job: &Job<'_>, suspect: Suspect<'_>) -> Option<Outcome> {
    let Found {
        path,
        source,
        stamp,
    } = suspect.file;
    // Before the reading: a change that comes later must show.
    let settled = stamp.is_settled();
    let document = match job.shelf.document_unless(path, source, job.stop) {
        Ok(document) => document,
        Err(SkipReason::Stopped) => return None,
        // It went with all the others, which says nothing about itself.
        Err(_) if job.roots.is_away(path) => return None,
        Err(reason) => return Some(Outcome::Skipped(reason)),
    };
    let hash = hash(&document);
    if suspect.old.is_some_and(|old| old.hash == hash) {
        return Some(Outcome::Same { settled });
    }
    let (title, chunks) = chunk(source, &document);
    let chunks = chunks.into_iter();
    Some(Outcome::Text(Box::new(Incoming {
        source: source.clone(),
        title,
        hash,
        stamp: *stamp,
        settled,
        links: serde_json::to_vec(&links::links(source, &document.text)).unwrap_or_default(),
        chunks: chunks
            .map(|chunk| (ChunkKey::of(&chunk.heading, &chunk.text), chunk))
            .collect(),
    })))
}

/// Of everything that the index takes from a document.
fn hash(document: &Extraction) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(document.text.as_bytes());
    if document.title.is_some() || !document.places.is_empty() {
        let rest = format!("{:?}{:?}", document.title, document.places);
        hasher.update(rest.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// One pass over the files.
struct Pass<'a> {
    report: UpdateReport,
    batch: Box<dyn Batch + 'a>,
    /// What the new documents say, and what those that vanished said how often: where both are
    /// the same, a document has moved.
    added: Vec<[u8; 32]>,
    removed: HashMap<[u8; 32], usize>,
    committed: Instant,
    patience: Duration,
}

impl Pass<'_> {
    fn take(&mut self, suspect: Suspect<'_>, outcome: Outcome) -> Result<(), KbError> {
        match outcome {
            Outcome::Skipped(reason) => {
                let was_busy = matches!(reason, SkipReason::Congested);
                self.report.skipped.push(Skipped {
                    path: suspect.file.source.clone(),
                    reason,
                });
                // A document that can no longer be read leaves the index; one that nobody had time
                // for stays as it was.
                match suspect.old {
                    Some(old) if !was_busy => self.remove(old),
                    _ => Ok(()),
                }
            }
            Outcome::Same { settled } => {
                self.report.unchanged += 1;
                let file = suspect.file;
                if suspect
                    .old
                    .is_some_and(|old| old.stamp != file.stamp || old.settled != settled)
                {
                    self.batch.keep(&file.source, file.stamp, settled);
                }
                Ok(())
            }
            Outcome::Text(document) => {
                match suspect.old {
                    Some(_) => self.report.changed += 1,
                    None => self.added.push(document.hash),
                }
                self.batch.put(*document)
            }
        }
    }

    fn remove(&mut self, gone: &Document) -> Result<(), KbError> {
        *self.removed.entry(gone.hash).or_default() += 1;
        self.batch.remove(&gone.source)
    }

    fn commit_now_and_then(&mut self) -> Result<(), KbError> {
        if self.committed.elapsed() > self.patience {
            self.batch.commit()?;
            self.patience *= 2;
            self.committed = Instant::now();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<UpdateReport, KbError> {
        self.batch.finish()?;
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
        Ok(self.report)
    }
}
