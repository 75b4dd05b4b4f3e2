//! The probability that a passage is relevant, from what was measured.
//!
//! A cosine of 0.5 means nothing to a reader, and a rule that approves evidence from 0.8 on needs
//! that number to mean the same for every tool. So each measure has a logistic curve (Platt,
//! Probabilistic outputs for support vector machines, 1999), fitted on what people judged. A curve
//! rises, so it moves no passage before another.
//!
//! The coefficients are fitted by `assets/calibration/fit.py` over the ten best passages of each
//! query on Cranfield, MED, 100 questions of HotpotQA and the descriptions of 316 crates against
//! their manuals, each collection weighing the same; and, at half that weight, queries of the other
//! collections, of NQ and of CLINC150 put to the same bases, which hold nothing of the kind. Each
//! collection was also predicted by a fit on the other three: what is 0.8 and more turned out
//! relevant in .56 to .92 of the cases, and not one query put to a foreign base reached 0.7. What
//! transfers least is how much there is to find: MED has 23 relevant documents for a query, so there
//! the middle of the curves says less than is true, which is the side to err on.
//!
//! Those of the multilingual embedding are fitted in the same way on questions in French (PIAF), German and
//! Russian (XQuAD) and Korean (KorQuAD) over 600 passages each. What is 0.8 and more by both is relevant there in
//! .98 to 1.0 of the cases, in Korean in .74, where single syllables are shared by much.

use crate::embed::BuiltInModel;
use crate::kb::index::Match;
use crate::text::is_cjk;

/// What both sides measured of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sides {
    /// BM25 as a share of a full match; `None` when the words did not bring it.
    pub share: Option<f64>,
    /// The scaled cosine, 0 for unrelated texts and 1 at most; `None` while the passage has no vector.
    pub meaning: Option<f64>,
}

/// How well a passage matches by words and meaning, 0–1. Without a vector the words count for both.
///
/// The mean of two absolute measures: the BM25 as a share of a full match, and the cosine. Both
/// say the same in every list and every base, so the order does not depend on how many candidates
/// were looked at, and the best of a list of misses does not look like a hit, as it does once a
/// list is normalised by its own best and worst. A long question seldom has all its words in one
/// passage; then the meaning weighs more. A short one with an id in it is the other way round.
///
/// Measured against reciprocal ranks (k = 60), min–max, z-scores, CombMNZ and BM25 by the list's
/// maximum on four collections, nDCG@10: this .566 .811 .837 .867, reciprocal ranks .558 .803 .820
/// .842, min–max .564 .796 .842 .860. No weight but one half is better on all of them.
fn fuse(sides: Sides) -> f64 {
    let words = sides.share.unwrap_or(0.0);
    match sides.meaning {
        Some(meaning) => 0.5 * words + 0.5 * meaning,
        None => words,
    }
}

/// BM25 as a share of a full match, 0–1.
pub(crate) fn share(bm25: f64, full: f64) -> f64 {
    (bm25 / full.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// What the results of a search are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankBasis {
    /// The cosine.
    Meaning,
    /// The BM25's share of a full match.
    Words,
    /// The mean of both.
    Both,
}

impl RankBasis {
    /// The number that the results are ordered by, 0–1.
    pub fn measure(self, sides: Sides) -> f64 {
        match self {
            Self::Meaning => sides.meaning.unwrap_or(0.0),
            Self::Words => sides.share.unwrap_or(0.0),
            Self::Both => fuse(sides),
        }
    }

    /// The probability, 0–1, that a passage of this measure is relevant, by the curves of an embedding.
    pub fn probability(self, measure: f64, curves: Curves) -> f64 {
        let (bias, slope) = match (self, curves) {
            (Self::Words, _) => (-3.282, 5.592),
            (Self::Meaning, Curves::English) => (-6.520, 10.560),
            (Self::Both, Curves::English) => (-4.665, 8.791),
            (Self::Meaning, Curves::Multilingual) => (-8.193, 16.381),
            (Self::Both, Curves::Multilingual) => (-7.706, 16.581),
        };
        1.0 / (1.0 + f64::exp(-bias - slope * measure))
    }
}

/// The embedding that the curves are fitted for. The English ones serve for unknown embeddings too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Curves {
    #[default]
    English,
    Multilingual,
}

/// The cosine of unrelated texts by the multilingual embedding: between the best of a question that a base knows
/// nothing of and the fiftieth of one that it answers.
const UNRELATED: f64 = 0.76;

/// Whether a model can read a query: the English one has no Chinese, Japanese and Korean words.
pub(crate) fn can_read(model_id: &str, query: &str) -> bool {
    model_id != BuiltInModel::English.id() || !query.chars().any(is_cjk)
}

/// How to read the cosines of one search.
///
/// The curves are of the model in the binary and of texts that it can read. To other models
/// unrelated texts lie at other cosines, 0.7 and more with some, and so do all texts in Japanese or
/// Korean to this one. Then the background of the search itself stands for "unrelated":
/// the worst of the nearest passages.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Cosines {
    floor: f64,
    /// The curves that turn the scaled cosines into probabilities.
    pub curves: Curves,
}

/// The fewest passages that the background can be estimated from.
const BACKGROUND: usize = 10;
/// The rank at which the background is read: below the best, and above the rest of the base.
const DEPTH: usize = 50;

impl Cosines {
    /// Chooses how to read the cosines of a query; `nearest` are the passages nearest to it, best first.
    pub fn new(model_id: &str, query: &str, nearest: &[Match]) -> Self {
        if model_id == BuiltInModel::Multilingual.id() {
            return Self {
                floor: UNRELATED,
                curves: Curves::Multilingual,
            };
        }
        let is_known = model_id == BuiltInModel::English.id() && can_read(model_id, query);
        let floor = nearest
            .iter()
            .take(DEPTH)
            .next_back()
            .filter(|_| !is_known && nearest.len() >= BACKGROUND)
            .map_or(0.0, |last| last.score.clamp(0.0, 0.99));
        Self {
            floor,
            curves: Curves::English,
        }
    }

    /// Scales a cosine: 0 for unrelated texts, 1 at most.
    pub fn read(self, cosine: f64) -> f64 {
        ((cosine - self.floor) / (1.0 - self.floor)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_measure_is_never_less_likely() {
        let all = [RankBasis::Meaning, RankBasis::Words, RankBasis::Both].into_iter();
        let all = all.flat_map(|by| [(by, Curves::English), (by, Curves::Multilingual)]);
        for (by, curves) in all {
            let curve: Vec<f64> = (0..=100)
                .map(|at| by.probability(f64::from(at) / 100.0, curves))
                .collect();
            assert!(curve.is_sorted(), "{by:?}");
            assert!(curve[0] < 0.05 && curve[20] < 0.3, "{by:?}: {curve:?}");
            assert!(curve[100] > 0.85, "{by:?}: {curve:?}");
        }
    }

    #[test]
    fn without_a_vector_the_words_speak_for_both_sides() {
        let words = Sides {
            share: Some(0.4),
            meaning: None,
        };
        assert!((RankBasis::Both.measure(words) - 0.4).abs() < 1e-12);
        let both = Sides {
            meaning: Some(0.6),
            ..words
        };
        assert!((RankBasis::Both.measure(both) - 0.5).abs() < 1e-12);
        let meaning = Sides {
            share: None,
            ..both
        };
        assert!((RankBasis::Both.measure(meaning) - 0.3).abs() < 1e-12);
        assert!((RankBasis::Meaning.measure(meaning) - 0.6).abs() < 1e-12);
    }
}
