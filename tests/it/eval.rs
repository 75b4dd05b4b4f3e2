//! `eval beir`: the figures against some worked out by hand, and what is said of bad input.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::workplace::{Workplace, json_lines, one_line, text};

pub(crate) const CORPUS: &str = r#"{"_id": "d1", "title": "Lighthouse", "text": "A lighthouse warns ships at night."}
{"_id": "d 2", "title": "", "text": "The harbour master keeps the ledger of ships."}
{"_id": 3, "text": "Bread is baked from flour and water."}
{"_id": "d4", "title": null, "text": "The lighthouse keeper bakes bread."}
"#;
pub(crate) const QUERIES: &str = r#"{"_id": "q1", "text": "ledger"}
{"_id": "q2", "text": "flour"}
{"_id": "q3", "text": "lighthouse"}
{"_id": "q4", "text": "nobody judged this"}
{"_id": "q5", "text": "only judged irrelevant"}
"#;
/// `d9` is judged and not in the corpus: it counts among the relevant all the same.
pub(crate) const QRELS: &str = "query-id\tcorpus-id\tscore\nq1\td 2\t1\nq2\td4\t1\nq2\td9\t1\nq3\td1\t2\nq3\td4\t1\nq5\td1\t0\n";

fn collection(place: &Workplace) -> PathBuf {
    place.file("tiny/corpus.jsonl", CORPUS);
    place.file("tiny/queries.jsonl", QUERIES);
    place.file("tiny/qrels/test.tsv", QRELS);
    place.path().join("tiny")
}

fn measure(place: &Workplace, args: &[&str]) -> Value {
    let output = place.run(&[&["eval", "beir", "tiny", "--json"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

fn assert_near(figures: &Value, name: &str, expected: f64) {
    let measured = figures[name].as_f64().unwrap();
    assert!(
        (measured - expected).abs() < 1e-4,
        "{name}: {measured}, not {expected}"
    );
}

#[test]
fn the_lexical_figures_are_those_worked_out_by_hand() {
    let place = Workplace::empty();
    collection(&place);
    let figures = measure(&place, &["--tool", "grep"]);
    // q1 "ledger": d 2 alone holds it. Everything is 1.
    // q2 "flour": only document 3 does, which is not judged. Everything is 0.
    // q3 "lighthouse": d1, whose title says it too, then d4; grades 2 and 1, the ideal order.
    // q4 and q5 have no relevant document and do not count.
    assert_eq!(figures["dataset"], "tiny");
    assert_eq!(figures["tool"], "grep");
    assert_eq!(figures["queries"], 3);
    for name in ["ndcg_at_10", "recall_at_10", "recall_at_100", "mrr_at_10"] {
        assert_near(&figures, name, 2.0 / 3.0);
    }
    assert!(figures["queries_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(figures.as_object().unwrap().len(), 8);
}

#[test]
fn every_tool_measures_and_says_the_same_twice() {
    let place = Workplace::empty();
    collection(&place);
    for tool in ["vector", "hybrid"] {
        let figures = || {
            let mut figures = measure(&place, &["--tool", tool]);
            figures["queries_per_second"].take();
            figures
        };
        let first = figures();
        assert_eq!(first, figures(), "{tool}");
        // Four documents are all found: what is missing is d9, half of what q2 wants.
        assert_near(&first, "recall_at_100", (1.0 + 0.5 + 1.0) / 3.0);
        assert_eq!(first["tool"], tool);
    }
    let output = place.run(&["eval", "beir", "tiny"]);
    let shown = text(&output.stdout);
    for name in [
        "tiny, hybrid, 3 queries",
        "nDCG@10",
        "Recall@100",
        "MRR@10",
        "queries/s",
    ] {
        assert!(shown.contains(name), "{shown}");
    }
}

#[test]
fn a_record_holds_each_ranking_with_what_was_measured() {
    let place = Workplace::empty();
    collection(&place);
    measure(&place, &["--run", "run.tsv"]);
    let record = fs::read_to_string(place.path().join("run.tsv")).unwrap();
    let rows = record.lines().map(|line| line.split('\t').collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    assert!(rows.iter().all(|row| row.len() == 9), "{record}");
    let first = rows.iter().find(|row| row[0] == "q1").unwrap();
    assert_eq!((first[1], first[2], first[7]), ("d 2", "1", "1"));
    // Also of queries that no one judged.
    assert!(rows.iter().any(|row| row[0] == "q4"));
}

#[test]
fn judgements_of_what_is_not_there_are_reported_and_change_no_figure() {
    let place = Workplace::empty();
    let dir = collection(&place);
    let before = measure(&place, &["--tool", "grep"]);
    let lines = format!("{QRELS}q8\td1\t1\nq7\td1\t1\nq3\td8\t0\n");
    fs::write(dir.join("qrels/test.tsv"), lines).unwrap();
    let output = place.run(&["eval", "beir", "tiny", "--json", "--tool", "grep"]);
    assert_eq!(
        one_line(&output),
        "kb-agent: qrels/test.tsv: relevant documents are not in corpus.jsonl and count as missed: \
         1, the first is d9; judged queries are not in queries.jsonl and do not count: 2, the \
         first is q7"
    );
    let figures = &json_lines(&output.stdout)[0];
    for name in ["queries", "ndcg_at_10", "recall_at_100"] {
        assert_eq!(figures[name], before[name]);
    }
}

#[test]
fn bad_input_is_one_line_that_says_where() {
    let place = Workplace::empty();
    let dir = collection(&place);
    let complaint = |path: &str, content: Option<&str>| {
        let file = dir.join(path);
        let good = fs::read(&file).unwrap();
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let output = place.run(&["eval", "beir", "tiny"]);
        fs::write(&file, good).unwrap();
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(output.stdout.is_empty());
        one_line(&output)
    };
    for (path, content, expected) in table![
        "corpus.jsonl", None, &["corpus.jsonl", "not found"][..];
        "queries.jsonl", None, &["queries.jsonl", "not found"];
        "qrels/test.tsv", None, &["test.tsv", "not found"];
        "corpus.jsonl", Some("\n"), &["no document"];
        "corpus.jsonl", Some("{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": \"b\"\n"),
            &["corpus.jsonl: line 2"];
        "corpus.jsonl", Some("{\"_id\": \"a\"}\n"), &["line 1", "text"];
        "corpus.jsonl", Some("{\"_id\": [1], \"text\": \"x\"}\n"), &["line 1", "_id must be"];
        "corpus.jsonl",
            Some("{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": \"a\", \"text\": \"y\"}\n"),
            &["id a occurs twice"];
        "queries.jsonl", Some("{\"_id\": \"q1\", \"text\": \" \"}\n"), &["query q1 is empty"];
        "queries.jsonl", Some("{\"_id\": \"other\", \"text\": \"x\"}\n"),
            &["no query of queries.jsonl"];
        "qrels/test.tsv", Some("query-id\tcorpus-id\tscore\n"), &["no judgement"];
        "qrels/test.tsv", Some("query-id\tcorpus-id\tscore\nq1\td1\tgood\n"),
            &["line 2", "'good' is not a whole number"];
        "qrels/test.tsv", Some("q1\td1\tgood\nq1\td1\t1\n"),
            &["line 1", "'good' is not a whole number"];
        "qrels/test.tsv", Some("q1\td1\t1\nq1 d1 1\n"), &["line 2", "1 columns"];
    ] {
        let line = complaint(path, content);
        for part in expected {
            assert!(line.contains(part), "{path}: {line}");
        }
    }
    let output = place.run(&["eval", "beir", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("nowhere"));
}
