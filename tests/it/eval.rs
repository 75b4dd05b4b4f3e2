//! `eval beir`: the figures against some worked out by hand; and what the measuring commands say of bad input.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Said;
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
    for line in [
        "dataset  tiny\ntool  hybrid\n",
        "queries  3\n",
        "ndcg_at_10  0.",
        "recall_at_100  0.833\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn a_record_holds_each_ranking() {
    let place = Workplace::empty();
    collection(&place);
    measure(&place, &["--run", "run.tsv"]);
    let record = fs::read_to_string(place.path().join("run.tsv")).unwrap();
    let rows = record.lines().map(|line| line.split('\t').collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    assert!(rows.iter().all(|row| row.len() == 4), "{record}");
    let first = rows.iter().find(|row| row[0] == "q1").unwrap();
    assert_eq!((first[1], first[2]), ("d 2", "1"));
    assert!(first[3].parse::<f64>().unwrap() > 0.0, "{record}");
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

const ROUTING: &[&str] = &["eval", "routing", "bad.jsonl"];
const GRADING: &[&str] = &["eval", "grading", "bad.jsonl"];
const DOCS: &[&str] = &["eval", "docs", "docs", "bad.jsonl"];
const BEIR: &[&str] = &["eval", "beir", "tiny"];

/// Every command reads its lines alike; a good line, an empty one and a bad one.
#[test]
fn bad_input_is_one_line_that_says_where() {
    const GOOD: &str = r#"{"query": "hello", "complexity": "chitchat"}"#;
    const PASSAGES: &str = r#"{"query": "a", "passages": [{"text": "b", "relevant": true}]}"#;
    let place = Workplace::holding([("docs/pump.md", "# Pump\n")]);
    let gold = |source: &str, line: usize| {
        let gold = json!([{"source": source, "start_line": line, "end_line": line}]);
        json!({"id": "q1", "question": "a", "kind": "b", "gold": gold, "contains": []}).to_string()
    };
    let passages =
        |passages: &str| format!("{PASSAGES}\n{{\"query\": \"a\", \"passages\": [{passages}]}}");
    for (command, file, content, expected) in table![
        ROUTING, "bad.jsonl", String::new(), "bad.jsonl: there is no line in it";
        ROUTING, "bad.jsonl", "\n \n".to_owned(), "bad.jsonl: there is no line in it";
        ROUTING, "bad.jsonl", format!("\u{feff}{GOOD}\n\n{{\"query\": \"x\"}}"),
            "bad.jsonl:3: neither complexity nor query_type is given";
        ROUTING, "bad.jsonl", r#"{"query": " ", "complexity": "simple"}"#.to_owned(),
            "bad.jsonl:1: the query is empty";
        ROUTING, "bad.jsonl", r#"{"complexity": "simple"}"#.to_owned(),
            "bad.jsonl:1: missing field `query`; a line looks like {\"query\"";
        ROUTING, "bad.jsonl", r#"{"query": "x", "complexity": []}"#.to_owned(),
            "bad.jsonl:1: complexity is an empty list";
        ROUTING, "bad.jsonl", r#"{"query": "x", "complexity": "easy"}"#.to_owned(),
            "complexity: unknown variant `easy`, expected one of `chitchat`";
        ROUTING, "bad.jsonl", r#"{"query": "x", "query_type": ["exact", 3]}"#.to_owned(),
            "bad.jsonl:1: query_type: ";
        ROUTING, "bad.jsonl", "{\"query\": \"x\"".to_owned(),
            "bad.jsonl:1: the JSON object is cut off (column 13); a line looks like {\"query\"";
        ROUTING, "bad.jsonl", format!("{GOOD}\nhello there"),
            "bad.jsonl:2: this is no JSON (column 1); a line looks like {\"query\"";
        ROUTING, "bad.jsonl", "[1]".to_owned(), "bad.jsonl:1: this is no JSON object";
        GRADING, "bad.jsonl", passages(""), "bad.jsonl:2: there is no passage";
        GRADING, "bad.jsonl", format!("{PASSAGES}\n\n{{\"query\": \"a\"}}"),
            "bad.jsonl:3: missing field `passages`";
        GRADING, "bad.jsonl",
            passages(r#"{"text": "b", "relevant": true}, {"text": "", "relevant": false}"#),
            "bad.jsonl:2: passage 2: the text is empty";
        GRADING, "bad.jsonl", passages(r#"{"text": "b"}"#), "bad.jsonl:2: missing field `relevant`";
        GRADING, "bad.jsonl", passages(r#"{"text": "b", "relevant": "yes"}"#),
            "passage 1: relevant is neither true or false nor a whole number";
        GRADING, "bad.jsonl", passages(r#"{"text": "b", "relevant": 1, "far_off": true}"#),
            "passage 1: it is both relevant and far_off";
        DOCS, "bad.jsonl", r#"{"id": "q1"}"#.to_owned(), "bad.jsonl:1: missing field `question`";
        DOCS, "bad.jsonl", gold("none.md", 1), "bad.jsonl:1: question q1: none.md: ";
        DOCS, "bad.jsonl", gold("pump.md", 9), "question q1: pump.md has no lines 9 to 9";
        BEIR, "tiny/corpus.jsonl", "\n".to_owned(), "corpus.jsonl: there is no document in it";
        BEIR, "tiny/corpus.jsonl", "{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": \"b\"\n".to_owned(),
            "corpus.jsonl:2: the JSON object is cut off";
        BEIR, "tiny/corpus.jsonl", "{\"_id\": [1], \"text\": \"x\"}\n".to_owned(),
            "corpus.jsonl:1: _id must be a string or a whole number";
        BEIR, "tiny/corpus.jsonl", "{\"_id\": \"a\", \"text\": \"x\"}\n".repeat(2),
            "corpus.jsonl:2: the id 'a' occurs twice";
        BEIR, "tiny/queries.jsonl", "{\"_id\": \"q1\", \"text\": \" \"}\n".to_owned(),
            "queries.jsonl:1: the query is empty";
        BEIR, "tiny/queries.jsonl", "{\"_id\": \"other\", \"text\": \"x\"}\n".to_owned(),
            "no query of queries.jsonl has a relevant document";
        BEIR, "tiny/qrels/test.tsv", "query-id\tcorpus-id\tscore\n".to_owned(),
            "test.tsv: there is no judgement in it";
        BEIR, "tiny/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tgood\n".to_owned(),
            "test.tsv:2: the score 'good' is not a whole number";
        BEIR, "tiny/qrels/test.tsv", "q1\td1\tgood\nq1\td1\t1\n".to_owned(),
            "test.tsv:1: the score 'good' is not a whole number";
        BEIR, "tiny/qrels/test.tsv", "q1\td1\t1\nq1 d1 1\n".to_owned(), "found 1 column";
    ] {
        collection(&place);
        place.file(file, content);
        let output = place.run(command);
        assert_eq!(output.status.code(), Some(1), "{expected}");
        assert!(output.stdout.is_empty());
        one_line(&output).must_hold(expected);
    }
    place.file("bad.jsonl", [GOOD.as_bytes(), b"\n\xff\xfe\n"].concat());
    one_line(&place.run(ROUTING)).must_hold("bad.jsonl:2: the line is not UTF-8");
    for name in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"] {
        let dir = collection(&place);
        fs::remove_file(dir.join(name)).unwrap();
        let output = place.run(BEIR);
        assert_eq!(output.status.code(), Some(1), "{name}");
        one_line(&output).must_hold(&format!(
            "{name}: not found; a BEIR folder holds corpus.jsonl, "
        ));
    }
    for (args, said) in [
        (
            &["eval", "routing", "nowhere.jsonl"][..],
            "nowhere.jsonl: not found",
        ),
        (&["eval", "docs", "nowhere", "questions.jsonl"], "not found"),
        (&["eval", "beir", "nowhere"], "nowhere"),
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        one_line(&output).must_hold(said);
    }
}
