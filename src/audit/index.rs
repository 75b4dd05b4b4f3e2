//! Where the runs of a log stand in it, what came of them and what is counted of them, so that a list
//! or a sum need not read it all.
//!
//! It is kept in a file beside a long log and is made from that log alone: one that is lost, damaged
//! or of another log is made again. Of each part it notes which file that was, up to where it was
//! read, and the hash of the line that ends there. A line carries the hash of the one before it, so
//! a part in which that line still stands at its place begins as it did; only what follows is read.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::files::{self, open_unlinked};
use crate::protocol::{Event, RunFigures, RunHistory, RunId, RunSummary, Timestamp};

use super::chain::{FileEnd, Head, hex, line_before};
use super::lines::Lines;
use super::parts;
use super::read::ReadError;
use super::stretch::Stretch;

/// The version of the index file; a file of another version is rebuilt.
const VERSION: u32 = 2;
/// A shorter log is read as a whole; an index that lags behind by less is not written anew.
const WORTH_IT: u64 = 1 << 20;
/// A larger file is none of ours.
const LARGEST: u64 = 1 << 30;

/// The index of a log, up to date when it was opened.
#[derive(Debug)]
pub(super) struct LogIndex {
    parts: Vec<OpenPart>,
    /// The runs, in the order in which they began.
    pub(super) runs: Vec<RunSummary>,
}

/// A part of the log. It stays open, so that it is the same file whatever is renamed meanwhile.
#[derive(Debug)]
struct OpenPart {
    path: PathBuf,
    file: File,
    known: KnownPart,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexedLog {
    version: u32,
    parts: Vec<KnownPart>,
}

/// What is known of a part.
#[derive(Debug, Serialize, Deserialize)]
struct KnownPart {
    /// Which file it is, where the system says so.
    file: (u64, u64),
    /// Up to where it was read.
    bytes: u64,
    /// The hash of the line that ends there.
    #[serde(with = "hex")]
    last: blake3::Hash,
    runs: Vec<Stretch>,
}

impl LogIndex {
    /// Reads what is kept, and of the log only what is not in it.
    pub(super) fn read(log: &Path) -> Result<Self, ReadError> {
        Self::read_unless(log, &AtomicBool::new(false))
    }

    /// [`LogIndex::read`], given up as soon as `stop` says so.
    pub(super) fn read_unless(log: &Path, stop: &AtomicBool) -> Result<Self, ReadError> {
        let paths = parts::existing(log);
        let mut opened = Vec::new();
        let mut length = 0;
        for path in &paths {
            let failed = |source| ReadError::Io {
                path: path.clone(),
                source,
            };
            match open_unlinked(path) {
                Ok(file) => {
                    length += file.metadata().map_err(failed)?.len();
                    opened.push((path.clone(), file));
                }
                // Put aside or removed meanwhile; or the log itself has yet to be begun.
                Err(error) if error.is_missing() && paths.len() > 1 => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        let is_kept = length >= WORTH_IT && is_ours(log);
        let mut kept = if is_kept { read(log) } else { Vec::new() };
        let mut index = Self {
            parts: Vec::new(),
            runs: Vec::new(),
        };
        let mut new_bytes = 0;
        for (path, file) in opened {
            let known = take_known(&mut kept, &file);
            let begun = known.bytes;
            let mut part = OpenPart { path, file, known };
            part.read_on(stop).map_err(|source| ReadError::Io {
                path: part.path.clone(),
                source,
            })?;
            if stop.load(Ordering::Relaxed) {
                return Err(ReadError::Stopped);
            }
            new_bytes += part.known.bytes - begun;
            index.parts.push(part);
        }
        if is_kept && (new_bytes >= WORTH_IT || !kept.is_empty()) {
            index.write(log);
        }
        index.runs = index.folded();
        Ok(index)
    }

    /// Calls `each` with the events of these runs, those of one run in order.
    pub(super) fn for_each_event_of(
        &self,
        wanted: &[RunId],
        mut each: impl FnMut(Event),
    ) -> Result<(), ReadError> {
        let wanted: BTreeSet<&RunId> = wanted.iter().collect();
        let mut begun: BTreeSet<&RunId> = BTreeSet::new();
        for part in &self.parts {
            // What began in a part before, and has no end yet, may stand anywhere here.
            let mut ranges: Vec<Range<u64>> = Vec::new();
            let mut ended = Vec::new();
            for stretch in part.known.runs.iter().filter(|s| wanted.contains(&s.run)) {
                let to = stretch.ends_at().unwrap_or(u64::MAX);
                let from = if begun.contains(&stretch.run) {
                    0
                } else {
                    stretch.from
                };
                ranges.push(from..to);
                if stretch.ends_at().is_some() {
                    ended.push(&stretch.run);
                } else {
                    begun.insert(&stretch.run);
                }
            }
            let is_here = |run: &RunId| part.known.runs.iter().any(|s| s.run == *run);
            if begun.iter().any(|run| !is_here(run)) {
                ranges.push(0..u64::MAX);
            }
            for run in ended {
                begun.remove(run);
            }
            part.for_each_event_in(ranges, &wanted, &mut each)?;
        }
        Ok(())
    }

    /// What the runs of all parts came to.
    pub(super) fn history(&self) -> RunHistory {
        let mut runs: Vec<(Timestamp, RunFigures)> = Vec::new();
        let mut places: HashMap<&RunId, usize> = HashMap::new();
        for stretch in self.parts.iter().flat_map(|part| &part.known.runs) {
            if let Some(at) = places.get(&stretch.run) {
                runs[*at].1.add(&stretch.figures);
            } else if let Some(begun) = stretch.begun_at() {
                places.insert(&stretch.run, runs.len());
                runs.push((begun, stretch.figures.clone()));
            }
        }
        RunHistory::from_runs(&runs)
    }

    /// The runs of all parts, one after the other.
    fn folded(&self) -> Vec<RunSummary> {
        let mut runs: Vec<RunSummary> = Vec::new();
        let mut places: HashMap<&RunId, usize> = HashMap::new();
        for stretch in self.parts.iter().flat_map(|part| &part.known.runs) {
            if let Some(at) = places.get(&stretch.run) {
                stretch.end(&mut runs[*at]);
            } else if let Some(run) = stretch.summary() {
                places.insert(&stretch.run, runs.len());
                runs.push(run);
            }
        }
        runs
    }

    /// One that cannot be written is made again the next time.
    fn write(&self, log: &Path) {
        let kept = KeptRef {
            version: VERSION,
            parts: self.parts.iter().map(|part| &part.known).collect(),
        };
        let written = serde_json::to_vec(&kept).map_err(io::Error::from);
        let written = written.and_then(|body| {
            let hash = blake3::hash(&body);
            files::write_cache_by(&path(log), |file| {
                writeln!(file, "{hash}")?;
                file.write_all(&body)
            })
        });
        if let Err(error) = written {
            tracing::debug!(%error, path = %path(log).display(), "the index of runs is not kept");
        }
    }
}

#[derive(Serialize)]
struct KeptRef<'a> {
    version: u32,
    parts: Vec<&'a KnownPart>,
}

impl KnownPart {
    fn new(file: &File) -> Self {
        Self {
            file: identity(file),
            bytes: 0,
            last: blake3::Hash::from_bytes([0; 32]),
            runs: Vec::new(),
        }
    }

    /// Whether this is still the beginning of that file.
    fn is_of(&self, file: &File) -> bool {
        let mark = FileEnd {
            bytes: self.bytes,
            last: self.last,
            lines: 0,
        };
        self.file == identity(file) && mark.holds(file).unwrap_or(false)
    }
}

impl OpenPart {
    /// Reads what was written since, or a part of it.
    fn read_on(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let known = &mut self.known;
        let begun = known.bytes;
        if self.file.metadata()?.len() == begun {
            return Ok(());
        }
        let places = known.runs.iter().enumerate();
        let mut places: HashMap<RunId, usize> = places
            .map(|(at, stretch)| (stretch.run.clone(), at))
            .collect();
        let words = RunSummary::MADE_FROM.iter().chain(&RunFigures::MADE_FROM);
        let words: BTreeSet<&str> = words.copied().collect();
        let finders: Vec<_> = words.iter().map(memchr::memmem::Finder::new).collect();
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(begun))?;
        let mut lines = Lines::new(file);
        let mut at = begun;
        while !stop.load(Ordering::Relaxed)
            && let Some(line) = lines.next_line()?
        {
            let end = at + line.length + u64::from(line.is_ended);
            if let Some(bytes) = line.bytes
                && finders.iter().any(|finder| finder.find(bytes).is_some())
                && let Ok(event) = serde_json::from_slice::<Event>(bytes)
            {
                let place = *places.entry(event.run.clone()).or_insert_with(|| {
                    known.runs.push(Stretch::new(event.run.clone(), at));
                    known.runs.len() - 1
                });
                known.runs[place].take(&event, at, end);
            }
            at = end;
            // The last one may still be being written.
            if line.is_ended {
                known.bytes = at;
            }
        }
        if known.bytes > begun {
            known.last = line_before(&self.file, known.bytes)?.0;
        }
        Ok(())
    }

    fn for_each_event_in(
        &self,
        mut ranges: Vec<Range<u64>>,
        wanted: &BTreeSet<&RunId>,
        each: &mut impl FnMut(Event),
    ) -> Result<(), ReadError> {
        let failed = |source| ReadError::Io {
            path: self.path.clone(),
            source,
        };
        let finders: Vec<_> = wanted
            .iter()
            .map(|run| memchr::memmem::Finder::new(run.0.as_bytes()))
            .collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut at = 0;
        for range in ranges {
            at = range.start.max(at);
            if at >= range.end {
                continue;
            }
            let mut file = self.file.try_clone().map_err(failed)?;
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            let mut lines = Lines::new(file);
            while at < range.end
                && let Some(line) = lines.next_line().map_err(failed)?
            {
                at += line.length + 1;
                if let Some(bytes) = line.bytes
                    && finders.iter().any(|finder| finder.find(bytes).is_some())
                    && let Ok(event) = serde_json::from_slice::<Event>(bytes)
                    && wanted.contains(&event.run)
                {
                    each(event);
                }
            }
        }
        Ok(())
    }
}

/// What is kept of the file, if it is still as it was.
fn take_known(kept: &mut Vec<KnownPart>, file: &File) -> KnownPart {
    let at = kept.iter().position(|known| known.is_of(file));
    at.map_or_else(|| KnownPart::new(file), |at| kept.swap_remove(at))
}

/// What is kept; nothing where that is damaged, or of another form.
fn read(log: &Path) -> Vec<KnownPart> {
    let Ok(bytes) = files::read_bounded(&path(log), LARGEST) else {
        return Vec::new();
    };
    let Some(end) = memchr::memchr(b'\n', &bytes) else {
        return Vec::new();
    };
    let body = &bytes[end + 1..];
    if blake3::hash(body).to_hex().as_bytes() != &bytes[..end] {
        return Vec::new();
    }
    let kept = serde_json::from_slice::<IndexedLog>(body).ok();
    let kept = kept.filter(|kept| kept.version == VERSION);
    kept.map(|kept| kept.parts).unwrap_or_default()
}

fn path(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".runs");
    log.with_file_name(name)
}

/// Whether this program writes the log here; beside any other nothing is written.
fn is_ours(log: &Path) -> bool {
    Head::path(log).exists()
}

#[cfg(unix)]
fn identity(file: &File) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    file.metadata()
        .map_or((0, 0), |meta| (meta.dev(), meta.ino()))
}

/// The hash of its last line tells it from others.
#[cfg(not(unix))]
fn identity(_: &File) -> (u64, u64) {
    (0, 0)
}

/// What all runs of the log came to, given up with [`ReadError::Stopped`] as soon as `stop` says so.
pub fn history(log: &Path, stop: &AtomicBool) -> Result<RunHistory, ReadError> {
    Ok(LogIndex::read_unless(log, stop)?.history())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::read::for_each_event;
    use crate::protocol::EventBody;
    use std::fs::{self, OpenOptions};

    /// Of a run: its lines, of which the answer makes it long.
    fn lines(run: usize, question: &str) -> Vec<String> {
        let event = |seq: usize, name: &str, fields: &str| {
            format!(
                r#"{{"event":"{name}","run":"run-{run:05}","schema":1,"seq":{seq},"ts":"2026-01-02T03:04:05.000Z",{fields}}}"#
            )
        };
        let settings = r#""settings":{"max_iterations":3,"vector_score_threshold":0.8,"auto_approve_max_items":2}"#;
        let answer = "word ".repeat(800);
        vec![
            event(
                0,
                "run_started",
                &format!(
                    r#""session":"s-{}","query":"{question} {run}?","mode":"offline","model":"m",{settings}"#,
                    run / 3
                ),
            ),
            event(
                1,
                "fast_path_hit",
                r#""path_type":"simple_skip_grading","rule_name":"simple","query":"q""#,
            ),
            event(
                2,
                "node_finished",
                &format!(
                    r#""node":"tool_exec","iteration":0,"ms":{}.25,"reasoning_calls":0"#,
                    run % 9
                ),
            ),
            event(
                3,
                "answer_finished",
                &format!(r#""text":"{answer}","citations":[]"#),
            ),
            event(
                4,
                "run_finished",
                &format!(
                    r#""outcome":"answered","complexity":"simple","path":[],"iterations":0,"reasoning_calls":{},"calls_saved":1,"prompt_tokens":0,"completion_tokens":0,"ms":1.5"#,
                    run % 7
                ),
            ),
        ]
    }

    fn append(log: &Path, lines: &[String]) {
        let file = OpenOptions::new().append(true).create(true).open(log);
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn whole(runs: Range<usize>, question: &str) -> Vec<String> {
        runs.flat_map(|run| lines(run, question)).collect()
    }

    /// What a reading of all lines finds.
    fn read_whole(log: &Path) -> Vec<RunSummary> {
        let mut runs: Vec<RunSummary> = Vec::new();
        for_each_event(&parts::existing(log), &["\"run\""], |event| {
            match runs.iter_mut().find(|run| run.id == event.run) {
                Some(run) => run.apply(&event),
                None => runs.extend(RunSummary::begin(&event)),
            }
        })
        .unwrap();
        runs
    }

    fn check(log: &Path, count: usize) -> LogIndex {
        let index = LogIndex::read(log).unwrap();
        assert_eq!(index.runs.len(), count);
        assert_eq!(index.runs, read_whole(log));
        assert_eq!(index.history(), count_whole(log));
        index
    }

    /// What a counting of all lines finds.
    fn count_whole(log: &Path) -> RunHistory {
        let mut runs: Vec<(RunId, Timestamp, RunFigures)> = Vec::new();
        for_each_event(&parts::existing(log), &["\"run\""], |event| {
            match runs.iter_mut().find(|run| run.0 == event.run) {
                Some((.., figures)) => figures.take(&event.body),
                None if matches!(event.body, EventBody::RunStarted { .. }) => {
                    runs.push((event.run, event.ts, RunFigures::default()));
                }
                None => {}
            }
        })
        .unwrap();
        let runs: Vec<_> = runs.into_iter().map(|(_, begun, of)| (begun, of)).collect();
        RunHistory::from_runs(&runs)
    }

    /// A long log of ours, and how much of it was read to list it.
    fn long_log(dir: &Path) -> PathBuf {
        let log = dir.join("audit.jsonl");
        fs::write(Head::path(&log), "").unwrap();
        append(&log, &whole(0..400, "what is"));
        log
    }

    fn lag(log: &Path) -> u64 {
        let covered: u64 = read(log).iter().map(|part| part.bytes).sum();
        let parts = parts::existing(log);
        let lengths = parts.iter().map(|part| fs::metadata(part).unwrap().len());
        lengths.sum::<u64>() - covered
    }

    #[test]
    fn an_index_follows_its_log_and_lists_what_stands_there() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        assert!(read(&log).is_empty());
        check(&log, 400);
        assert_eq!(lag(&log), 0);
        // A line that is still being written is read again, when it is whole.
        let mut next = whole(400..401, "and");
        let last = next.pop().unwrap();
        append(&log, &next);
        let half = OpenOptions::new().append(true).open(&log);
        half.unwrap().write_all(&last.as_bytes()[..40]).unwrap();
        assert_eq!(check(&log, 401).runs[400].outcome, None);
        append(&log, &[last[40..].to_owned()]);
        assert!(check(&log, 401).runs[400].outcome.is_some());
        // It lags behind a little, and not by much.
        assert!(lag(&log) > 0);
        append(&log, &whole(401..700, "and"));
        check(&log, 700);
        assert_eq!(lag(&log), 0);
    }

    #[test]
    fn an_index_of_another_log_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        check(&log, 400);
        // Another log of the same length in its place.
        let other = whole(0..400, "why not");
        let other: Vec<String> = other
            .iter()
            .map(|line| line.replace("why not", "what's ?"))
            .collect();
        fs::remove_file(&log).unwrap();
        append(&log, &other);
        assert!(check(&log, 400).runs[7].question.starts_with("what's"));
        // The same file, written anew from its beginning.
        fs::write(&log, "").unwrap();
        append(&log, &whole(0..500, "how"));
        assert!(check(&log, 500).runs[7].question.starts_with("how"));
        // Cut off.
        let file = OpenOptions::new().write(true).open(&log).unwrap();
        file.set_len(2 << 20).unwrap();
        let count = read_whole(&log).len();
        check(&log, count);
        // Damaged, and lost.
        check(&log, count);
        let mut bytes = fs::read(path(&log)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path(&log), bytes).unwrap();
        check(&log, count);
        fs::write(path(&log), "no index").unwrap();
        check(&log, count);
        fs::remove_file(path(&log)).unwrap();
        check(&log, count);
    }

    #[test]
    fn parts_that_were_put_aside_are_known_by_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        // A run goes on over three parts.
        let mut over = lines(900, "a long one");
        append(&log, &[over.remove(0)]);
        check(&log, 401);
        let before = fs::metadata(path(&log)).unwrap().modified().unwrap();
        for (runs, line) in [(500..520, Some(over.remove(0))), (520..530, None)] {
            fs::rename(&log, parts::next_name(&log)).unwrap();
            append(&log, &whole(runs, "later"));
            append(&log, line.as_slice());
        }
        // Nor is the end of a run that began in no part one of a run.
        append(&log, &[lines(950, "gone").pop().unwrap()]);
        append(&log, &over);
        let index = check(&log, 431);
        assert_eq!(
            fs::metadata(path(&log)).unwrap().modified().unwrap(),
            before
        );
        assert!(index.runs[400].outcome.is_some());
        for run in [0, 7, 399, 400, 401, 425, 430] {
            let wanted = [index.runs[run].id.clone()];
            let mut events = Vec::new();
            index
                .for_each_event_of(&wanted, |event| events.push(event))
                .unwrap();
            let names: Vec<_> = events.iter().map(|event| event.body.name()).collect();
            assert_eq!(
                names,
                [
                    "run_started",
                    "fast_path_hit",
                    "node_finished",
                    "answer_finished",
                    "run_finished"
                ],
                "{run}"
            );
            assert!(events.iter().all(|event| event.run == wanted[0]));
        }
    }

    #[test]
    fn an_index_of_another_form_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        check(&log, 400);
        let kept = fs::read_to_string(path(&log)).unwrap();
        let (_, body) = kept.split_once('\n').unwrap();
        let older = body.replace(&format!("\"version\":{VERSION}"), "\"version\":1");
        assert_ne!(older, body);
        let hash = blake3::hash(older.as_bytes());
        fs::write(path(&log), format!("{hash}\n{older}")).unwrap();
        assert!(read(&log).is_empty());
        check(&log, 400);
        assert_eq!(lag(&log), 0);
    }

    #[test]
    fn ui_stats_stop_where_no_one_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        let stopped = LogIndex::read_unless(&log, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(ReadError::Stopped)));
        assert!(!path(&log).exists());
        check(&log, 400);
    }

    #[test]
    fn beside_a_short_log_and_one_of_others_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let log = long_log(dir.path());
        fs::remove_file(Head::path(&log)).unwrap();
        check(&log, 400);
        assert!(!path(&log).exists());
        let short = dir.path().join("short.jsonl");
        fs::write(Head::path(&short), "").unwrap();
        append(&short, &whole(0..3, "what is"));
        check(&short, 3);
        assert!(!path(&short).exists());
    }
}
