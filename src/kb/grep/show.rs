//! The text of the passages that are shown: each file is read once more, and of a large one only
//! what is around them.

use std::collections::BTreeMap;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use encoding_rs::{Encoding, UTF_8};
use encoding_rs_io::DecodeReaderBytes;
use tokio_util::sync::CancellationToken;

use super::pattern::Pattern;
use super::tally::{Candidate, GrepPassage, MAX_LINE_BYTES, MAX_PASSAGE_BYTES, MAX_PASSAGE_LINES};
use crate::domain::{LineRange, Score};
use crate::kb::error::KbError;
use crate::kb::extract;
use crate::kb::extract::MAX_FILE_BYTES;
use crate::kb::index::Within;
use crate::kb::opened::Opened;
use crate::kb::source::{Roots, TextCache};

/// What is read of a large file before its best match, and as much behind it.
const AROUND_BYTES: u64 = (MAX_PASSAGE_LINES * MAX_LINE_BYTES) as u64;

/// The best `k` of these, best first, without those whose file cannot be read any more, and without those
/// that do not say what they must.
pub(super) fn show(
    roots: &Roots,
    cache: &TextCache,
    ranked: Vec<(Candidate, f64)>,
    pattern: &Pattern,
    k: usize,
    within: Within<'_>,
) -> Result<Vec<GrepPassage>, KbError> {
    let cancel = within.cancel;
    let mut shown = Vec::new();
    let mut ranked = ranked.into_iter();
    while shown.len() < k {
        let batch: Vec<_> = ranked.by_ref().take(k - shown.len()).collect();
        if batch.is_empty() {
            break;
        }
        let mut by_file: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
        for (at, (candidate, _)) in batch.iter().enumerate() {
            by_file.entry(&candidate.path).or_default().push(at);
        }
        let mut passages: Vec<Option<GrepPassage>> = batch.iter().map(|_| None).collect();
        for (path, wanted) in by_file {
            if cancel.is_cancelled() {
                return Err(KbError::Stopped);
            }
            let candidates: Vec<&Candidate> = wanted.iter().map(|&at| &batch[at].0).collect();
            let read = read_passages(roots, cache, path, &candidates, pattern, cancel);
            for (at, passage) in wanted.into_iter().zip(read) {
                passages[at] = passage;
            }
        }
        for ((_, score), passage) in batch.iter().zip(passages) {
            let passage = passage.filter(|passage| {
                let phrase_filter = within.phrase_filter;
                phrase_filter.is_none_or(|phrase_filter| phrase_filter.lets_through(&passage.text))
            });
            shown.extend(passage.map(|passage| GrepPassage {
                score: Score::clamped(*score),
                ..passage
            }));
        }
    }
    Ok(shown)
}

/// Reads some passages of one file, without their scores; `None` where the lines are gone, and none at all
/// where the file is.
fn read_passages(
    roots: &Roots,
    cache: &TextCache,
    path: &Path,
    candidates: &[&Candidate],
    pattern: &Pattern,
    cancel: &CancellationToken,
) -> Vec<Option<GrepPassage>> {
    let (Ok(file), Some(source)) = (roots.open_file(path), roots.source_of(path)) else {
        return Vec::new();
    };
    if file.size() > MAX_FILE_BYTES && extract::is_lines(&file) {
        return candidates
            .iter()
            .map(|candidate| {
                read_around(&file, &source, candidate, pattern)
                    .ok()
                    .flatten()
            })
            .collect();
    }
    let Ok(document) = cache.document_unless(&file, "", cancel) else {
        return Vec::new();
    };
    let lines: Vec<&str> = document.text.lines().collect();
    candidates
        .iter()
        .map(|candidate| {
            let last = candidate.lines.end.min(lines.len());
            let within = lines.get(candidate.lines.start - 1..last)?;
            let words = |line: &str| pattern.mask(line.as_bytes()).count_ones();
            let mut matching = (0..within.len()).filter(|&at| words(within[at]) > 0);
            // A comment that matched is no part of the text.
            let first = matching.next()?;
            let last = matching.next_back().unwrap_or(first);
            // Looked up is what was found, not what stands around it.
            let best = (first..=last).rev().max_by_key(|&at| words(within[at]));
            let line = candidate.lines.start + best.unwrap_or(first);
            Some(GrepPassage {
                place: document.place(LineRange {
                    start: line,
                    end: line,
                }),
                matching: LineRange {
                    start: candidate.lines.start + first,
                    end: candidate.lines.start + last,
                },
                ..cut_passage(within, &source, candidate, pattern)?
            })
        })
        .collect()
}

/// A passage of a file that is too large to be read as a whole.
fn read_around(
    file: &Opened,
    source: &str,
    candidate: &Candidate,
    pattern: &Pattern,
) -> io::Result<Option<GrepPassage>> {
    let from = candidate.offset.saturating_sub(AROUND_BYTES);
    let bytes = read_from(file, from)?;
    let at = (candidate.offset - from) as usize;
    let Some(before) = bytes.get(..at) else {
        return Ok(None);
    };
    let best = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let (above, below) = bytes.split_at(best);
    let is_newline = |byte: &u8| *byte == b'\n';
    let mut above: Vec<&[u8]> = above.split_inclusive(is_newline).collect();
    if from > 0 && !above.is_empty() {
        // Of the first there may be only the end.
        above.remove(0);
    }
    let most = candidate.best_line - candidate.lines.start;
    let above = &above[above.len().saturating_sub(most)..];
    let below = below
        .split_inclusive(is_newline)
        .take(candidate.lines.end - candidate.best_line + 1);
    let text = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_start_matches('\u{feff}');
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    let lines: Vec<String> = above.iter().copied().chain(below).map(text).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut candidate = candidate.clone();
    candidate.lines.start = candidate.best_line - above.len();
    Ok(cut_passage(&lines, source, &candidate, pattern))
}

/// Reads the file from a byte on. UTF-16 is converted first, so positions are those of the UTF-8 text, as in the search.
fn read_from(opened: &Opened, from: u64) -> io::Result<Vec<u8>> {
    let mut file = opened.file();
    let mut bytes = Vec::new();
    let mark = opened.head(3)?;
    if Encoding::for_bom(&mark).is_some_and(|(encoding, _)| encoding != UTF_8) {
        let mut text = DecodeReaderBytes::new(opened.rewound()?);
        io::copy(&mut text.by_ref().take(from), &mut io::sink())?;
        text.take(2 * AROUND_BYTES).read_to_end(&mut bytes)?;
    } else {
        file.seek(SeekFrom::Start(from))?;
        file.take(2 * AROUND_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Cuts a passage around the best line, within [`MAX_PASSAGE_BYTES`].
fn cut_passage(
    lines: &[&str],
    source: &str,
    candidate: &Candidate,
    pattern: &Pattern,
) -> Option<GrepPassage> {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| around_match(line, pattern))
        .collect();
    let first = candidate.lines.start;
    let best = candidate.best_line.checked_sub(first)?;
    let mut bytes = lines.get(best)?.len();
    let (mut start, mut end) = (best, best + 1);
    loop {
        let before = start.checked_sub(1).map(|at| lines[at].len() + 1);
        let after = lines.get(end).map(|line| line.len() + 1);
        let fits = |bytes: usize, more: Option<usize>| {
            more.filter(|more| bytes + more <= MAX_PASSAGE_BYTES)
        };
        let (up, down) = (fits(bytes, before), fits(bytes, after));
        if let Some(more) = up {
            start -= 1;
            bytes += more;
        }
        if let Some(more) = down.filter(|more| bytes + more <= MAX_PASSAGE_BYTES) {
            end += 1;
            bytes += more;
        } else if up.is_none() {
            break;
        }
    }
    Some(GrepPassage {
        source: source.to_owned(),
        lines: LineRange {
            start: first + start,
            end: first + end - 1,
        },
        matching: LineRange {
            start: candidate.best_line,
            end: candidate.best_line,
        },
        place: None,
        text: lines[start..end].join("\n"),
        score: Score::ZERO,
    })
}

/// The line, or the part around its first match where it is longer than [`MAX_LINE_BYTES`].
fn around_match<'l>(line: &'l str, pattern: &Pattern) -> &'l str {
    if line.len() <= MAX_LINE_BYTES {
        return line;
    }
    let at = pattern.first_match(line.as_bytes()).unwrap_or(0);
    let start = line.floor_char_boundary(at.saturating_sub(MAX_LINE_BYTES / 2));
    let end = line.floor_char_boundary(start + MAX_LINE_BYTES);
    &line[start..end]
}
