//! Words and meaning as one order and one score.
//!
//! Hybrid search orders by 0.5·minmax(BM25) + 0.5·minmax(cosine), which measured best; what it
//! shows is another number, because a min–max makes the best of any list look like 1.0, also when
//! the base holds nothing of the kind. The score shown is absolute: the mean of the cosine and of
//! the BM25 as a share of a full match.

/// What both sides measured of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sides {
    /// `None` when the words did not bring it.
    pub bm25: Option<f64>,
    /// `None` while it has no vector.
    pub cosine: Option<f64>,
}

/// What becomes of one passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fused {
    /// Comparable within this list only.
    pub order: f64,
    /// Comparable between queries: 0–1.
    pub score: f64,
}

/// One for each, in their order. `full` is the BM25 of a full match.
pub(super) fn fuse(candidates: &[Sides], full: f64) -> Vec<Fused> {
    let words = Scale::over(candidates.iter().map(|c| c.bm25));
    let meaning = Scale::over(candidates.iter().map(|c| c.cosine));
    candidates
        .iter()
        .map(|c| {
            let by_words = words.place(c.bm25);
            // No cosine means no vector yet: then the words speak for both sides.
            let by_meaning = c.cosine.map_or(by_words, |_| meaning.place(c.cosine));
            Fused {
                order: 0.5 * by_words + 0.5 * by_meaning,
                score: absolute(*c, full),
            }
        })
        .collect()
}

/// Min–max over one side; what that side did not find stands at its minimum.
struct Scale {
    min: f64,
    max: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = Option<f64>>) -> Self {
        let empty = Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        };
        values.flatten().fold(empty, |scale, value| Self {
            min: scale.min.min(value),
            max: scale.max.max(value),
        })
    }

    fn place(&self, value: Option<f64>) -> f64 {
        match value {
            None => 0.0,
            Some(_) if self.max <= self.min => 1.0,
            Some(value) => (value - self.min) / (self.max - self.min),
        }
    }
}

/// The mean of both measures; of the lexical one alone while a chunk has no vector.
fn absolute(sides: Sides, full: f64) -> f64 {
    let words = sides
        .bm25
        .map_or(0.0, |score| (score / full.max(f64::MIN_POSITIVE)).min(1.0));
    match sides.cosine {
        Some(cosine) => 0.5 * words + 0.5 * cosine.clamp(0.0, 1.0),
        None => words,
    }
}
