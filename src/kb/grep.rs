//! Searching the files themselves, as they are now, with ripgrep's own libraries.
//!
//! Words and patterns are told apart in `pattern`. Lines that match anything are found first; a
//! passage is such a line with [`CONTEXT_LINES`] around it, merged with its neighbours where they
//! overlap. Passages are ranked by which of the query's words they hold, rare words counting
//! more; the score is that share, so it says the same in every base: 1.0 is "all of them".

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use self::pattern::Pattern;
use super::error::KbError;
use super::extract;
use super::search::not_empty;
use super::walk::Found;
use crate::domain::{LineRange, Place, Score};

mod pattern;

/// How many lines are shown before and after a match.
const CONTEXT_LINES: usize = 10;
/// Merging stops here, or a file that matches everywhere would be one passage.
const MAX_PASSAGE_LINES: usize = 80;
/// Longer lines are data; they are not shown whole.
pub(super) const MAX_LINE_BYTES: usize = 4000;
/// More matches in one file say nothing new.
const MAX_MATCHES: usize = 2000;

/// Matching lines with what surrounds them.
#[derive(Debug, Clone, PartialEq)]
pub struct GrepPassage {
    /// The file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The text of these lines.
    pub text: String,
    /// The share of the query's words that it holds, rare words counting more; 1.0 for a pattern.
    pub score: Score,
}

/// The best `k` passages for words or a regular expression.
pub(super) fn grep(files: &[Found], query: &str, k: usize) -> Result<Vec<GrepPassage>, KbError> {
    let query = not_empty(query)?;
    let mut pattern = Pattern::parse(query)?;
    let mut passages = search_all(files, &pattern);
    if passages.is_empty() && query.contains(char::is_whitespace) {
        // "What is (chunking)?" is a pattern by its marks only.
        pattern = Pattern::of_words(query)?;
        passages = search_all(files, &pattern);
    }
    let weights = weights(&passages, pattern.len(), files.len());
    let all: f64 = weights.iter().sum();
    passages.sort_by_cached_key(|passage| {
        let covered = weight_of(passage.mask, &weights);
        let together = weight_of(passage.best_line, &weights);
        // Whole numbers sort; the millionth part of a weight does not matter.
        Reverse((
            (covered * 1e6) as u64,
            (together * 1e6) as u64,
            passage.hits.min(5),
        ))
    });
    let mut found = Vec::new();
    for passage in passages {
        if found.len() == k {
            break;
        }
        let file = &files[passage.file];
        let Ok(text) = extract::read_text(&file.path) else {
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        let end = passage.lines.end.min(lines.len());
        if passage.lines.start > end {
            continue;
        }
        found.push(GrepPassage {
            source: file.source.clone(),
            lines: LineRange {
                start: passage.lines.start,
                end,
            },
            place: None,
            text: shown(&lines[passage.lines.start - 1..end], &pattern),
            score: Score::clamped(weight_of(passage.mask, &weights) / all.max(f64::MIN_POSITIVE)),
        });
    }
    Ok(found)
}

/// The lines as they are; of an endless line only what surrounds its first match.
fn shown(lines: &[&str], pattern: &Pattern) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| {
            if line.len() <= MAX_LINE_BYTES {
                return *line;
            }
            let at = pattern.first_match(line).unwrap_or(0);
            let start = line.floor_char_boundary(at.saturating_sub(MAX_LINE_BYTES / 2));
            let end = line.floor_char_boundary(start + MAX_LINE_BYTES);
            &line[start..end]
        })
        .collect();
    lines.join("\n")
}

/// Where a passage is and which words it holds, one bit each.
struct Candidate {
    file: usize,
    lines: LineRange,
    mask: u64,
    /// The best of its single lines: words that stand together belong together.
    best_line: u64,
    hits: usize,
}

fn search_all(files: &[Found], pattern: &Pattern) -> Vec<Candidate> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let mut found: Vec<Candidate> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(files.len()))
            .map(|_| {
                scope.spawn(|| {
                    let mut searcher = searcher();
                    let mut found = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(file) = files.get(at) else {
                            return found;
                        };
                        search_file(&mut searcher, at, file, pattern, &mut found);
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
            .collect()
    });
    found.sort_by_key(|passage| (passage.file, passage.lines.start));
    found
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .bom_sniffing(false)
        .binary_detection(BinaryDetection::none())
        .build()
}

fn search_file(
    searcher: &mut Searcher,
    at: usize,
    file: &Found,
    pattern: &Pattern,
    found: &mut Vec<Candidate>,
) {
    // What indexing passes over, grep passes over.
    let Ok(text) = extract::read_text(&file.path) else {
        return;
    };
    let mut matches: Vec<(usize, u64)> = Vec::new();
    let sink = Lossy(|number, line| {
        let mask = pattern.mask(line);
        if mask != 0 {
            matches.push((number as usize, mask));
        }
        Ok(matches.len() < MAX_MATCHES)
    });
    if let Err(error) = searcher.search_slice(pattern.matcher(), text.as_bytes(), sink) {
        tracing::debug!(file = %file.source, %error, "grep gave up on a file");
    }
    let last = text.lines().count();
    merge(at, &matches, last, found);
}

/// Lines to passages: the context of one line joins that of the next where they share a line.
fn merge(file: usize, matches: &[(usize, u64)], last: usize, found: &mut Vec<Candidate>) {
    let from = found.len();
    for &(line, mask) in matches {
        let window = LineRange {
            start: line.saturating_sub(CONTEXT_LINES).max(1),
            end: (line + CONTEXT_LINES).min(last),
        };
        let fresh = found.len() > from;
        let mut start = window.start;
        if let Some(open) = found.last_mut().filter(|_| fresh)
            && open.lines.overlaps(window)
        {
            let room = window.end - open.lines.start < MAX_PASSAGE_LINES;
            if room || line <= open.lines.end {
                if room {
                    open.lines.end = window.end;
                }
                open.mask |= mask;
                open.hits += 1;
                if mask.count_ones() > open.best_line.count_ones() {
                    open.best_line = mask;
                }
                continue;
            }
            start = open.lines.end + 1;
        }
        found.push(Candidate {
            file,
            lines: LineRange {
                start,
                end: window.end,
            },
            mask,
            best_line: mask,
            hits: 1,
        });
    }
}

/// What each word of the query is worth: the rarer among the files, the more.
fn weights(passages: &[Candidate], words: usize, files: usize) -> Vec<f64> {
    (0..words)
        .map(|word| {
            let holding: HashSet<usize> = passages
                .iter()
                .filter(|passage| passage.mask & (1 << word) != 0)
                .map(|passage| passage.file)
                .collect();
            let holding = holding.len() as f64;
            ((files as f64 - holding + 0.5) / (holding + 0.5)).ln_1p()
        })
        .collect()
}

fn weight_of(mask: u64, weights: &[f64]) -> f64 {
    weights
        .iter()
        .enumerate()
        .filter(|(word, _)| mask & (1 << word) != 0)
        .map(|(_, weight)| weight)
        .sum()
}
