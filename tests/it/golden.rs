//! Questions over the demo knowledge base with the documents that answer them.
//!
//! A guard, not a benchmark: what is measured for the record runs over judged collections with
//! `eval beir`. The floors lie a little below what was measured when they were set.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::workplace::{Workplace, json_lines, text};

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
    hits: Vec<Value>,
}

fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/golden.jsonl");
    let lines = fs::read_to_string(path).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn ranked() -> Vec<Ranked> {
    let demo = Workplace::with_demo();
    golden()
        .into_iter()
        .map(|golden| {
            let output = demo.run(&["search", "--json", "-k", "20", &golden.query]);
            assert!(output.status.success(), "{}", text(&output.stderr));
            let hits = json_lines(&output.stdout);
            let mut sources: Vec<String> = Vec::new();
            for hit in &hits {
                let source = hit["source"].as_str().unwrap().to_owned();
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
            Ranked {
                golden,
                sources,
                hits,
            }
        })
        .collect()
}

impl Ranked {
    /// Whether one of the documents that answer is among the first five.
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

fn share(all: &[&Ranked], of: impl Fn(&Ranked) -> f64) -> f64 {
    all.iter().map(|ranked| of(ranked)).sum::<f64>() / all.len() as f64
}

#[test]
fn the_golden_questions_find_their_documents() {
    let all = ranked();
    assert!(all.len() >= 40, "{} questions", all.len());
    let mut wrong = Vec::new();
    let mut table = String::new();
    // Kind, Recall@5 (a document that answers is there), nDCG@10.
    for (kind, found, ndcg) in [
        ("question", 0.99, 0.90),
        ("paraphrase", 0.85, 0.60),
        ("identifier", 0.99, 0.75),
        ("typo", 0.80, 0.70),
        ("chinese", 0.99, 0.90),
    ] {
        let of_kind: Vec<&Ranked> = all.iter().filter(|r| r.golden.kind == kind).collect();
        assert!(of_kind.len() >= 6, "{kind}");
        let measured = (
            share(&of_kind, |r| f64::from(u8::from(r.is_found()))),
            share(&of_kind, Ranked::ndcg),
        );
        table.push_str(&format!("{kind}: {measured:.3?}\n"));
        if measured.0 < found || measured.1 < ndcg {
            wrong.push(kind);
        }
    }
    let worst = all.iter().filter(|r| r.ndcg() < 0.7);
    for r in worst {
        table.push_str(&format!(
            "{:?} → {:?}\n",
            r.golden,
            &r.sources[..r.sources.len().min(4)]
        ));
    }
    assert!(wrong.is_empty(), "{wrong:?} fell:\n{table}");
    for r in all.iter().filter(|r| r.golden.kind == "identifier") {
        assert!(
            r.golden.relevant.contains(&r.sources[0]),
            "{:?} → {:?}",
            r.golden,
            r.sources
        );
    }
    for r in &all {
        check_scores(r);
    }
}

/// Best first by score too, each with what it was made of.
fn check_scores(ranked: &Ranked) {
    let mut before = 1.0;
    for hit in &ranked.hits {
        let score = hit["score"].as_f64().unwrap();
        assert!(score <= before, "{}: {hit}", ranked.golden.query);
        before = score;
        let is_lexical = hit["lexical_rank"].is_u64();
        assert_eq!(is_lexical, hit["bm25"].is_f64(), "{hit}");
        assert!(is_lexical || hit["vector_rank"].is_u64(), "{hit}");
        assert!(hit["cosine"].is_f64(), "{hit}");
    }
}

#[test]
fn what_the_base_knows_nothing_of_gets_a_low_score() {
    let demo = Workplace::with_demo();
    for query in [
        "best recipe for sourdough bread with olives",
        "boundary layer transition on a flat plate at hypersonic speed",
        "红烧肉怎么做",
    ] {
        for tool in ["vector", "hybrid"] {
            let output = demo.run(&["search", "--json", "--tool", tool, query]);
            assert!(output.status.success(), "{}", text(&output.stderr));
            for hit in json_lines(&output.stdout) {
                let score = hit["score"].as_f64().unwrap();
                assert!(score < 0.3, "{tool} {query}: {hit}");
            }
        }
    }
}
