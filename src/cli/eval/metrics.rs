//! Ranking metrics of one query, by the definitions of trec_eval.
//!
//! The gain of a document is its grade, if that is above 0, and the discount is log2(rank + 1)
//! (`ndcg_cut`); the ideal order is over all judged documents, found or not. For recall and the
//! reciprocal rank a document is relevant from grade 1 on. One thing differs: trec_eval sorts a run
//! by score and breaks ties by name, here the order is the one that a person is shown.

use std::collections::{HashMap, HashSet};

/// The grades of one query's judged documents, by the document's name.
pub(super) type RelevanceGrades = HashMap<String, i64>;

/// Normalised discounted cumulative gain of the first `depth`, 0–1 (`ndcg_cut_10`).
pub(super) fn ndcg(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    let gain = |grade: i64| grade.max(0) as f64;
    let found = ranking.iter().take(depth);
    let found = found.map(|document| gain(grades.get(document).copied().unwrap_or(0)));
    let mut ideal: Vec<i64> = grades.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = discounted(ideal.into_iter().take(depth).map(gain));
    if best > 0.0 {
        discounted(found) / best
    } else {
        0.0
    }
}

/// The share of all relevant documents that is among the first `depth`, 0–1 (`recall_100`).
pub(super) fn recall(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    let relevant = grades.values().filter(|&&grade| grade > 0).count();
    let found: HashSet<&String> = ranking
        .iter()
        .take(depth)
        .filter(|document| is_relevant(grades, document))
        .collect();
    found.len() as f64 / relevant.max(1) as f64
}

/// One over the rank of the first relevant document among the first `depth`; 0 if there is none
/// (`recip_rank`, cut).
pub(super) fn reciprocal_rank(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    ranking
        .iter()
        .take(depth)
        .position(|document| is_relevant(grades, document))
        .map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// Whether a query counts at all: trec_eval leaves out those without a relevant document.
pub(super) fn counts(grades: &RelevanceGrades) -> bool {
    grades.values().any(|&grade| grade > 0)
}

fn is_relevant(grades: &RelevanceGrades, document: &str) -> bool {
    grades.get(document).is_some_and(|&grade| grade > 0)
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains
        .enumerate()
        .map(|(at, gain)| gain / ((at + 2) as f64).log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(names: &str) -> Vec<String> {
        names.split(' ').map(str::to_owned).collect()
    }

    fn grades(grades: &[(&str, i64)]) -> RelevanceGrades {
        grades
            .iter()
            .map(|(name, grade)| ((*name).to_owned(), *grade))
            .collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    #[test]
    fn a_graded_ranking_has_the_values_that_trec_eval_prints() {
        // Järvelin and Kekäläinen's gains 3 2 3 0 1 2 with trec_eval's discount:
        // DCG  = 3/1 + 2/1.58496 + 3/2 + 0 + 1/2.58496 + 2/2.80735 = 6.86113
        // IDCG = 3/1 + 3/1.58496 + 2/2 + 2/2.32193 + 1/2.58496     = 7.14100
        let judged = grades(&[("a", 3), ("b", 2), ("c", 3), ("d", 0), ("e", 1), ("f", 2)]);
        let run = ranking("a b c d e f");
        assert!(near(ndcg(&run, &judged, 10), 6.86113 / 7.14100));
        // Cut at 2: (3 + 2/1.58496) / (3 + 3/1.58496) = 4.26186 / 4.89279.
        assert!(near(ndcg(&run, &judged, 2), 0.87105));
        assert!(near(recall(&run, &judged, 3), 3.0 / 5.0));
        assert!(near(reciprocal_rank(&run, &judged, 10), 1.0));
    }

    #[test]
    fn relevant_documents_that_were_not_found_count_against_the_ranking() {
        // Relevant at rank 2 only, of two: (1/1.58496) / (1 + 1/1.58496) = 0.38685.
        let judged = grades(&[("a", 1), ("missing", 1), ("x", -1)]);
        let run = ranking("x a y");
        assert!(near(ndcg(&run, &judged, 10), 0.38685));
        assert!(near(recall(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 1), 0.0));
    }

    #[test]
    fn a_query_without_a_relevant_document_does_not_count() {
        assert!(!counts(&grades(&[("a", 0), ("b", -1)])));
        assert!(counts(&grades(&[("a", 0), ("b", 1)])));
        assert!(near(ndcg(&[], &grades(&[("b", 1)]), 10), 0.0));
    }
}
