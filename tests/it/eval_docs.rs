//! `eval docs`: right answers, rightful refusals, and what is said of bad input.

use serde_json::json;

use crate::workplace::{Workplace, json_lines, one_line, text};

const PUMP: &str = "# Harbour pump\n\nThe harbour pump is primed by opening the red valve first.\n";
const QUESTIONS: &str = r#"{"id": "q1", "question": "How is the harbour pump primed?", "kind": "how-to", "lang": "en", "gold": [{"source": "pump.md", "start_line": 3, "end_line": 3}], "contains": []}
{"id": "q2", "question": "How is the harbour pump primed?", "kind": "how-to", "gold": [{"source": "other.md", "start_line": 1, "end_line": 1}], "contains": ["green valve"]}

{"id": "q3", "question": "Who won the chess championship of 1972?", "kind": "unanswerable", "gold": [], "contains": []}
"#;

fn place() -> Workplace {
    Workplace::holding([
        ("docs/pump.md", PUMP),
        (
            "docs/other.md",
            "# Baking\n\nBread dough rises for two hours.\n",
        ),
        ("questions.jsonl", QUESTIONS),
    ])
}

#[test]
fn answers_are_counted_by_kind_and_wrong_ones_are_listed() {
    let place = place();
    let run = |args: &[&str]| {
        let output = place.run(&[&["eval", "docs", "docs", "questions.jsonl"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let report = json_lines(&run(&["--json"])).remove(0);
    let counts = json!({"n": 2, "right": 1, "cited": 1, "refused": 0});
    assert_eq!(report["kinds"], json!({"how-to": counts}));
    assert_eq!(report["answerable"], counts);
    assert_eq!(report["unanswerable"], json!({"n": 1, "refused": 1}));
    let wrong = report["wrong"].as_array().unwrap();
    assert_eq!(wrong.len(), 1, "{report}");
    assert_eq!(wrong[0]["id"], "q2");
    assert_eq!(wrong[0]["outcome"], "answered");

    let shown = text(&run(&[]));
    for part in [
        "answers, engine extractive",
        "how-to",
        "all answerable",
        "q2\thow-to\tanswered\tHow is the harbour pump primed?",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The user's own conversations do not hold what was measured.
    assert!(!place.audit_log().exists());
}

#[test]
fn bad_input_is_one_line_that_says_where() {
    let place = place();
    let gold = |source: &str, line: usize| {
        let gold = json!([{"source": source, "start_line": line, "end_line": line}]);
        json!({"id": "q1", "question": "a", "kind": "b", "gold": gold, "contains": []}).to_string()
    };
    for (line, expected) in table![
        r#"{"id": "q1"}"#.to_owned(), "line 1: missing field `question`";
        String::new(), "there is no question in it";
        gold("none.md", 1), "question q1: none.md: ";
        gold("pump.md", 9), "question q1: pump.md has no lines 9 to 9";
    ] {
        place.file("bad.jsonl", line);
        let output = place.run(&["eval", "docs", "docs", "bad.jsonl"]);
        assert_eq!(output.status.code(), Some(1), "{expected}");
        let said = one_line(&output);
        assert!(said.contains(&format!("bad.jsonl: {expected}")), "{said}");
    }
    let output = place.run(&["eval", "docs", "nowhere", "questions.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
}
