//! Questions over the frozen demo pages with the documents that answer them.
//!
//! A guard, not a benchmark: what is measured for the record runs over judged collections with
//! `eval beir`. The floors lie a little below what was measured when they were set. One test, so
//! that the base is indexed once wherever each test is a process of its own.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use kb_agent::kb::{Hit, KnowledgeBase, SearchMode};
use serde::Deserialize;

use crate::frozen_demo;
use crate::support::saturates;

/// Kind; Recall@5, that is, the share of questions with a document that answers among the first
/// five; nDCG@10.
const FLOORS: [(&str, f64, f64); 5] = [
    // Measured: 1.000 and 0.966.
    ("question", 0.99, 0.93),
    // Measured: 0.889 and 0.680 (0.715 before two pages of the base named all formats that are read);
    // 0.632 on processors whose sums saturate.
    ("paraphrase", 0.85, 0.65),
    // Measured: 1.000 and 0.969.
    ("identifier", 0.99, 0.93),
    // Measured: 1.000 and 0.866; 0.927 before a corrected query was embedded as it was meant, which
    // over the queries of three collections with two slips each won .004 to .008.
    ("typo", 0.99, 0.84),
    // Measured: 1.000 and 0.980.
    ("chinese", 0.99, 0.94),
];

/// What nDCG@10 may be lower by on a processor whose sums saturate.
const SATURATION_LOSS: f64 = 0.05;

#[derive(Debug, Deserialize)]
struct Golden {
    kind: String,
    query: String,
    relevant: HashSet<String>,
}

struct Ranked {
    golden: Golden,
    /// The documents found, each once, best first.
    sources: Vec<String>,
    hits: Vec<Hit>,
}

fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/golden.jsonl");
    let lines = fs::read_to_string(path).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn ranked(base: &KnowledgeBase, golden: Golden) -> Ranked {
    let hits = base.search(SearchMode::Hybrid, &golden.query, 20).unwrap();
    let mut sources: Vec<String> = Vec::new();
    for hit in &hits {
        if !sources.contains(&hit.source) {
            sources.push(hit.source.clone());
        }
    }
    Ranked {
        golden,
        sources,
        hits,
    }
}

impl Ranked {
    fn is_found(&self) -> bool {
        let mut first = self.sources.iter().take(5);
        first.any(|source| self.golden.relevant.contains(source))
    }

    fn ndcg(&self) -> f64 {
        let discount = |at: usize| 1.0 / ((at + 2) as f64).log2();
        let found = self.sources.iter().take(10).enumerate();
        let found = found.filter(|(_, source)| self.golden.relevant.contains(*source));
        let ideal: f64 = (0..self.golden.relevant.len().min(10)).map(discount).sum();
        found.map(|(at, _)| discount(at)).sum::<f64>() / ideal
    }
}

fn mean(all: &[&Ranked], of: impl Fn(&Ranked) -> f64) -> f64 {
    all.iter().map(|ranked| of(ranked)).sum::<f64>() / all.len() as f64
}

#[test]
fn the_golden_questions_find_their_documents() {
    let home = tempfile::tempdir().unwrap();
    let base = frozen_demo::indexed(home.path());
    let all: Vec<Ranked> = golden().into_iter().map(|one| ranked(&base, one)).collect();
    let mut fallen = Vec::new();
    let mut table = String::new();
    for (kind, recall, ndcg) in FLOORS {
        let of_kind: Vec<&Ranked> = all.iter().filter(|r| r.golden.kind == kind).collect();
        assert!(of_kind.len() >= 6, "{kind}");
        let measured = (
            mean(&of_kind, |r| f64::from(u8::from(r.is_found()))),
            mean(&of_kind, Ranked::ndcg),
        );
        table.push_str(&format!("{kind}: {measured:.3?}\n"));
        let tolerance = if saturates() { SATURATION_LOSS } else { 0.0 };
        if measured.0 < recall || measured.1 < ndcg - tolerance {
            fallen.push(kind);
        }
    }
    for r in all.iter().filter(|r| r.ndcg() < 0.7) {
        let first = &r.sources[..r.sources.len().min(4)];
        table.push_str(&format!("{:?} → {first:?}\n", r.golden));
    }
    assert!(fallen.is_empty(), "{fallen:?} fell:\n{table}");
    for r in all.iter().filter(|r| r.golden.kind == "identifier") {
        let first = &r.sources[0];
        assert!(r.golden.relevant.contains(first), "{:?}: {first}", r.golden);
    }
    for r in &all {
        check_measures(r);
    }
    nothing_of_the_kind_gets_a_low_score(&base);
}

/// Best first by score too, each with what it was made of.
fn check_measures(ranked: &Ranked) {
    let scores: Vec<f64> = ranked.hits.iter().map(|hit| hit.score.value()).collect();
    assert!(scores.iter().rev().is_sorted(), "{:?}", ranked.golden);
    for hit in &ranked.hits {
        let measured = &hit.measured;
        let is_lexical = measured.lexical_rank.is_some();
        assert_eq!(is_lexical, measured.bm25.is_some(), "{hit:?}");
        assert_eq!(is_lexical, measured.share.is_some(), "{hit:?}");
        assert!(is_lexical || measured.vector_rank.is_some(), "{hit:?}");
        // The embedding for English does not read Chinese.
        let is_read = ranked.golden.query.is_ascii();
        assert_eq!(is_read, measured.cosine.is_some(), "{hit:?}");
    }
}

fn nothing_of_the_kind_gets_a_low_score(base: &KnowledgeBase) {
    for query in [
        "best recipe for sourdough bread with olives",
        "boundary layer transition on a flat plate at hypersonic speed",
        "红烧肉怎么做",
    ] {
        for mode in [SearchMode::Vector, SearchMode::Lexical, SearchMode::Hybrid] {
            for hit in base.search(mode, query, 10).unwrap() {
                assert!(hit.score.value() < 0.3, "{mode:?} {query}: {hit:?}");
            }
        }
    }
}
