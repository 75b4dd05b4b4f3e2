//! `eval docs`: right answers and rightful refusals.

use serde_json::json;

use crate::workplace::{Workplace, json_lines, text};

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
        "engine  extractive",
        "        n  right  cited  refused\nhow-to  2      1      1        0\n",
        "\nanswerable\n",
        "q2  how-to  false  answered  How is the harbour pump primed?",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The user's own conversations do not hold what was measured.
    assert!(!place.audit_log().exists());
}
