//! Pieces of one line as one hit.
//!
//! A line over the chunk limit is cut into pieces that share its number. Each is found for itself,
//! but a citation can only name the line: so what was found of one line is shown together, in the
//! order of the line, at the place of its best piece.

use std::collections::HashMap;

use super::grep::MAX_LINE_BYTES;
use super::manifest::Document;
use super::store::Passage;
use crate::domain::Measured;

/// A passage with what both sides said about it.
#[derive(Debug)]
pub(super) struct Found {
    pub passage: Passage,
    pub score: f64,
    pub measured: Measured,
}

/// Stands where something of the line is left out.
const GAP: &str = " … ";

/// Best first in, best first out. Of each line the best pieces are kept, as much as grep shows.
pub(super) fn joined(documents: &[Document], found: Vec<Found>) -> Vec<Found> {
    let mut places: HashMap<(String, usize, usize), usize> = HashMap::new();
    let mut lines: Vec<(Found, Vec<Passage>)> = Vec::with_capacity(found.len());
    for item in found {
        let passage = &item.passage;
        let place = (
            passage.source.clone(),
            passage.lines.start,
            passage.lines.end,
        );
        if let Some(&at) = places.get(&place) {
            let (best, others) = &mut lines[at];
            best.score = best.score.max(item.score);
            let (own, other) = (&mut best.measured, item.measured);
            own.lexical_rank = better(own.lexical_rank, other.lexical_rank);
            own.vector_rank = better(own.vector_rank, other.vector_rank);
            others.push(item.passage);
        } else {
            places.insert(place, lines.len());
            lines.push((item, Vec::new()));
        }
    }
    lines
        .into_iter()
        .map(|(mut best, others)| {
            if !others.is_empty() {
                best.passage.text = in_order(documents, &best.passage, &others);
            }
            best
        })
        .collect()
}

fn better(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

fn in_order(documents: &[Document], best: &Passage, others: &[Passage]) -> String {
    let chunks = documents
        .binary_search_by(|document| document.source.cmp(&best.source))
        .map(|at| documents[at].chunks.as_slice())
        .unwrap_or_default();
    let order = |passage: &Passage| chunks.iter().position(|key| *key == passage.key);
    let mut bytes = 0;
    let mut pieces: Vec<(Option<usize>, &str)> = std::iter::once(best)
        .chain(others)
        .take_while(|passage| {
            bytes += passage.text.len() + GAP.len();
            bytes <= MAX_LINE_BYTES
        })
        .map(|passage| (order(passage), passage.text.as_str()))
        .collect();
    pieces.sort_by_key(|(place, _)| *place);
    let texts: Vec<&str> = pieces.into_iter().map(|(_, text)| text).collect();
    texts.join(GAP)
}
