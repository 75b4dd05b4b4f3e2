//! Pieces of one line as one hit.
//!
//! A line over the chunk limit is cut into pieces that share its number. Each is found for itself,
//! but a citation can only name the line: so what was found of one line is shown together, in the
//! order of the line, at the place of its best piece. What the pieces say is fetched only for the
//! lines that are shown.

use std::collections::HashMap;

use crate::domain::Measured;
use crate::kb::grep::MAX_LINE_BYTES;
use crate::kb::index::{ChunkId, Match, Passage};

/// A match with what both sides said about it.
#[derive(Debug)]
pub(crate) struct RankedMatch {
    pub found: Match,
    pub measured: Measured,
}

/// The matches at the same lines of a file: one chunk, or pieces of one line.
#[derive(Debug)]
pub(crate) struct LineMatch {
    best: RankedMatch,
    others: Vec<ChunkId>,
}

/// Stands where something of the line is left out.
const GAP: &str = " … ";

/// Joins matches at the same lines; takes and returns them best first.
pub(crate) fn join_lines(found: Vec<RankedMatch>) -> Vec<LineMatch> {
    let mut places: HashMap<(String, usize, usize), usize> = HashMap::new();
    let mut lines: Vec<LineMatch> = Vec::with_capacity(found.len());
    for item in found {
        let Match {
            source, lines: at, ..
        } = &item.found;
        let place = (source.clone(), at.start, at.end);
        if let Some(&at) = places.get(&place) {
            let LineMatch { best, others } = &mut lines[at];
            best.found.score = best.found.score.max(item.found.score);
            let (own, other) = (&mut best.measured, item.measured);
            own.lexical_rank = better(own.lexical_rank, other.lexical_rank);
            own.vector_rank = better(own.vector_rank, other.vector_rank);
            others.push(item.found.chunk);
        } else {
            places.insert(place, lines.len());
            lines.push(LineMatch {
                best: item,
                others: Vec::new(),
            });
        }
    }
    lines
}

impl LineMatch {
    /// The score of its best piece.
    pub fn score(&self) -> f64 {
        self.best.found.score
    }

    /// The measures of its best piece, with the best ranks of all pieces.
    pub fn measured(&self) -> Measured {
        self.best.measured
    }

    /// Its pieces, the best first.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkId> {
        let others = self.others.iter().copied();
        std::iter::once(self.best.found.chunk).chain(others)
    }

    /// The text of its best pieces, as much as grep shows, each text once. `None` where no piece is in
    /// `known`.
    pub fn passage(&self, known: &HashMap<ChunkId, Passage>) -> Option<Passage> {
        let passages = self.chunks();
        let passages = passages.filter_map(|chunk| Some((chunk, known.get(&chunk)?)));
        let passages: Vec<(ChunkId, &Passage)> = passages.collect();
        let (_, best) = *passages.first()?;
        if self.others.is_empty() {
            return Some(best.clone());
        }
        let mut bytes = 0;
        let mut pieces: Vec<(ChunkId, &str)> = Vec::new();
        for (chunk, passage) in &passages {
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
        Some(Passage {
            text: texts.join(GAP),
            ..best.clone()
        })
    }
}

fn better(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}
