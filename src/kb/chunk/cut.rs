//! Parts one block that is too large.
//!
//! The parts of one text overlap a little, so that what stands across the cut is found; whole
//! lines do, so that each part is still exactly its lines. Nothing else overlaps: what the author
//! parted is about different things.

use std::collections::HashSet;

/// The size, in bytes, that a chunk grows to.
pub(super) const TARGET_BYTES: usize = 1100;
/// The most bytes of a chunk.
pub(crate) const MAX_BYTES: usize = 1500;
/// The most bytes of a part that the next one repeats.
const OVERLAP_BYTES: usize = 150;

/// The last line of a chunk that begins at `start`: all of the block if it fits, else up to the
/// last blank line within the second half of the target, else as many lines as fit.
pub(super) fn end(lines: &[&str], start: usize, last: usize) -> usize {
    let mut bytes = 0;
    let mut end = start;
    let mut blank = None;
    let mut full = false;
    for (at, line) in lines.iter().enumerate().take(last + 1).skip(start) {
        bytes += line.len() + 1;
        if bytes > MAX_BYTES && at > start {
            return blank.unwrap_or(end);
        }
        full |= bytes > TARGET_BYTES && at > start;
        if full {
            continue;
        }
        if line.trim().is_empty() && bytes > TARGET_BYTES / 2 {
            blank = Some(at);
        }
        end = at;
    }
    last
}

/// Where the next part begins after one of the lines `start..=end`: at the last of its lines that
/// are short enough to be said twice.
pub(super) fn next(lines: &[&str], start: usize, end: usize) -> usize {
    if lines[end].trim().is_empty() {
        return end + 1;
    }
    let mut bytes = 0;
    let repeated = lines[start..=end]
        .iter()
        .rev()
        .take_while(|line| {
            bytes += line.len() + 1;
            !line.trim().is_empty() && bytes <= OVERLAP_BYTES
        })
        .count();
    // Each part brings more that is new than old.
    end + 1 - repeated.min((end - start).div_ceil(2))
}

/// Cuts a text that is over the limit after a sentence or between words. Such a text is always one long line.
pub(super) fn pieces(text: String) -> Vec<String> {
    if text.len() <= MAX_BYTES {
        return vec![text];
    }
    let mut pieces = Vec::new();
    // What a line repeats is found once.
    let mut seen = HashSet::new();
    let mut keep = |piece: &str| {
        let piece = piece.trim();
        if !piece.is_empty() && seen.insert(blake3::hash(piece.as_bytes())) {
            pieces.push(piece.to_owned());
        }
    };
    let mut rest = text.as_str();
    while rest.len() > MAX_BYTES {
        let limit = rest.floor_char_boundary(TARGET_BYTES);
        let head = &rest[..limit];
        let at = [". ", "。", "! ", "? ", "！", "？", "; ", " "]
            .iter()
            .filter_map(|mark| head.rfind(mark).map(|at| at + mark.len()))
            .find(|&at| at > limit / 2)
            .unwrap_or(limit);
        keep(&rest[..at]);
        rest = &rest[at..];
    }
    keep(rest);
    pieces
}
