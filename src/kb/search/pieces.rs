//! Pieces of one line as one hit.
//!
//! A line over the chunk limit is cut into pieces that share its number. Each is found for itself,
//! but a citation can only name the line: so what was found of one line is shown together, in the
//! order of the line, at the place of its best piece. What the pieces say is fetched only for the
//! lines that are shown.

use std::collections::HashMap;

use crate::domain::Measured;
use crate::kb::error::KbError;
use crate::kb::grep::MAX_LINE_BYTES;
use crate::kb::index::{ChunkId, Match, Passage, Snapshot};

/// A match with what both sides said about it.
#[derive(Debug)]
pub(in crate::kb) struct Found {
    pub found: Match,
    pub measured: Measured,
}

/// What was found at the same lines of a file: one chunk, or pieces of one line.
#[derive(Debug)]
pub(in crate::kb) struct Line {
    best: Found,
    others: Vec<ChunkId>,
}

/// Stands where something of the line is left out.
const GAP: &str = " … ";

/// Best first in, best first out.
pub(in crate::kb) fn joined(found: Vec<Found>) -> Vec<Line> {
    let mut places: HashMap<(String, usize, usize), usize> = HashMap::new();
    let mut lines: Vec<Line> = Vec::with_capacity(found.len());
    for item in found {
        let Match {
            source, lines: at, ..
        } = &item.found;
        let place = (source.clone(), at.start, at.end);
        if let Some(&at) = places.get(&place) {
            let Line { best, others } = &mut lines[at];
            best.found.score = best.found.score.max(item.found.score);
            let (own, other) = (&mut best.measured, item.measured);
            own.lexical_rank = better(own.lexical_rank, other.lexical_rank);
            own.vector_rank = better(own.vector_rank, other.vector_rank);
            others.push(item.found.chunk);
        } else {
            places.insert(place, lines.len());
            lines.push(Line {
                best: item,
                others: Vec::new(),
            });
        }
    }
    lines
}

impl Line {
    /// Of its best piece.
    pub fn score(&self) -> f64 {
        self.best.found.score
    }

    /// Of its best piece, with the best of all ranks.
    pub fn measured(&self) -> Measured {
        self.best.measured
    }

    /// What it says: of the pieces the best, as much as grep shows, each text once.
    pub fn passage(&self, snapshot: &dyn Snapshot) -> Result<Passage, KbError> {
        let mut chunks = vec![self.best.found.chunk];
        chunks.extend(&self.others);
        let mut passages = snapshot.passages(&chunks)?;
        if self.others.is_empty() {
            let missing = || KbError::Damaged("a passage is missing".to_owned());
            return passages.pop().ok_or_else(missing);
        }
        let mut bytes = 0;
        let mut pieces: Vec<(ChunkId, &str)> = Vec::new();
        for (chunk, passage) in chunks.iter().zip(&passages) {
            if pieces.iter().any(|(_, text)| *text == passage.text) {
                continue;
            }
            bytes += passage.text.len() + GAP.len();
            if bytes > MAX_LINE_BYTES {
                break;
            }
            pieces.push((*chunk, &passage.text));
        }
        pieces.sort_by_key(|(chunk, _)| *chunk);
        let texts: Vec<&str> = pieces.into_iter().map(|(_, text)| text).collect();
        let text = texts.join(GAP);
        Ok(Passage {
            text,
            ..passages.swap_remove(0)
        })
    }
}

fn better(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}
