//! `eval grading`: the figures against some worked out by hand, the passages drawn from other
//! questions.

use kb_agent::domain::NodeName;
use serde_json::{Value, json};

use crate::scripted_endpoint::ScriptedEndpoint;
use crate::workplace::{Workplace, json_lines, one_line, text};

const JUDGED: &str = r#"{"query": "How long does bread dough rise?", "passages": [{"text": "Bread dough rises for about two hours at room temperature.", "relevant": true}, {"text": "The moon has no air.", "relevant": false, "far_off": true}, {"text": "Bread is sold by weight.", "relevant": 0}]}

{"query": "Who wrote the survey of glaciers?", "passages": [{"text": "The survey of glaciers was written by Ada Stone.", "relevant": 2}, {"text": "Glaciers move slowly.", "relevant": false}]}
"#;

/// What the endpoint is made to say of the two questions above, and what it never says of.
async fn figures(replies: &[&str], args: &[&str]) -> (Value, ScriptedEndpoint) {
    let endpoint = ScriptedEndpoint::start().await;
    let plan = r#"{"complexity": "complex", "sub_questions": ["Which dough?", "Which survey?"]}"#;
    endpoint.stream(NodeName::AnalyzeAndRoute, plan);
    for reply in replies {
        endpoint.stream(NodeName::GradeEvidence, reply);
    }
    let place = Workplace::holding([("judged.jsonl", JUDGED)]);
    let url = endpoint.base_url();
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let output = tokio::task::spawn_blocking(move || {
        let mut all = vec!["eval", "grading", "judged.jsonl", "--json"];
        all.extend(args.iter().map(String::as_str));
        let mut command = place.command(&all);
        command.env("KB_AGENT_LLM_BASE_URL", &url);
        command.output().unwrap()
    });
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), 1);
    (lines.remove(0), endpoint)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_worked_out_by_hand() {
    let replies = [r#"{"scores": [0.9, 0.1, 0.8]}"#, "[0.4, 0.2]"];
    let (report, endpoint) = figures(&replies, &[]).await;
    // Judged: 0.9 and 0.4 relevant, 0.8 and 0.2 not; the far-off one stands by itself.
    for (field, expected) in [
        ("n", json!(4)),
        ("questions", json!(2)),
        ("relevant", json!(2)),
        ("auc", json!(0.75)),
        ("precision_at_0_7", json!(0.5)),
        ("recall_at_0_7", json!(0.5)),
        ("irrelevant_below_0_3", json!(0.5)),
        ("unmeasured", json!(0)),
        (
            "confusion",
            json!({
                "relevant": {"below_0_3": 0, "from_0_3": 1, "from_0_7": 1},
                "irrelevant": {"below_0_3": 1, "from_0_3": 0, "from_0_7": 1},
            }),
        ),
        // The first averages .85 over what stays, the second .4.
        (
            "actions",
            json!({"GENERATE": 1, "REFINE": 1, "RE_RETRIEVE": 0}),
        ),
    ] {
        assert_eq!(report[field], expected, "{field}");
    }
    let brier = (0.01 + 0.36 + 0.64 + 0.04) / 4.0;
    assert!((report["brier"].as_f64().unwrap() - brier).abs() < 1e-9);
    assert_eq!(report["far_off"]["n"], 1);
    assert_eq!(report["far_off"]["highest"], 0.1);
    let at = &report["sweep"][3];
    assert_eq!(at["threshold"], 0.4);
    assert_eq!((&at["recall"], &at["kept"]), (&json!(1.0), &json!(0.75)));
    // One batch a question, nothing else.
    assert_eq!(endpoint.requests().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn r18_what_no_one_measured_is_in_no_figure() {
    let replies = ["good, bad and so on", "[0.6, 0.2]"];
    let (report, _endpoint) = figures(&replies, &[]).await;
    assert_eq!(report["n"], json!(2));
    assert_eq!(report["unmeasured"], json!(3));
    assert_eq!(report["auc"], 1.0);
    assert_eq!(report["far_off"], Value::Null);
    assert_eq!(
        report["actions"],
        json!({"GENERATE": 0, "REFINE": 1, "RE_RETRIEVE": 0})
    );
    // Nothing reaches 0.7, so there is no precision there.
    assert_eq!(report["precision_at_0_7"], Value::Null);
    assert_eq!(report["recall_at_0_7"], 0.0);
}

#[test]
fn the_built_in_grader_keeps_far_off_passages_low_and_repeats_itself() {
    let place = Workplace::holding([("judged.jsonl", JUDGED)]);
    let run = |args: &[&str]| {
        let args = [&["eval", "grading", "judged.jsonl"], args].concat();
        let output = place.run_well(&args);
        output.stdout
    };
    let drawn = ["--json", "--far-off", "4"];
    let first = run(&drawn);
    assert_eq!(first, run(&drawn));
    let report = json_lines(&first).remove(0);
    assert_eq!(report["auc"], 1.0, "{report}");
    // The marked one, two of the second question for the first and three of the first for it.
    assert_eq!(report["far_off"]["n"], 6);
    assert!(
        report["far_off"]["highest"].as_f64().unwrap() < 0.3,
        "{report}"
    );
    assert_eq!(
        report["far_off"]["actions"],
        json!({"GENERATE": 0, "REFINE": 0, "RE_RETRIEVE": 2})
    );
    let shown = text(&run(&["--wrong", "--far-off", "1"]));
    for part in [
        "engine  extractive\nn  4\nrelevant  2\nquestions  2\n",
        "            below_0_3  from_0_3  from_0_7\nrelevant ",
        "\nfar_off\nn  3\nmean  0.",
        "GENERATE  REFINE  RE_RETRIEVE\n       0       0            2\n",
        "threshold  precision",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_base_that_holds_nothing_has_no_auc() {
    let place = Workplace::empty();
    place.file(
        "none.jsonl",
        r#"{"query": "How long does bread dough rise?", "passages": [{"text": "The moon has no air.", "relevant": false}]}"#,
    );
    let output = place.run(&["eval", "grading", "none.jsonl", "--json"]);
    assert!(output.status.success());
    assert!(one_line(&output).contains("none.jsonl: no graded passage is relevant"));
    let report = json_lines(&output.stdout).remove(0);
    assert_eq!(report["auc"], Value::Null);
    assert_eq!(report["irrelevant_below_0_3"], 1.0);
    let output = place.run(&["eval", "grading", "none.jsonl", "--far-off", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("there is no other in it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_a_question_are_graded_too_when_asked_for() {
    let replies = [r#"{"scores": [0.9, 0.1, 0.8]}"#, "[0.4, 0.2]"];
    let (_, endpoint) = figures(&replies, &["--split"]).await;
    let grade = NodeName::GradeEvidence.as_str();
    let requests = endpoint.requests().await;
    assert_eq!(requests.len(), 4);
    let grading = requests.iter().filter(|request| request.node == grade);
    let asked: Vec<&str> = grading.map(|request| request.message("user")).collect();
    assert!(asked.len() == 2 && asked.iter().all(|asked| asked.contains("Which survey?")));
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_without_any_grade_are_a_failure() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(NodeName::GradeEvidence, "no");
    let place = Workplace::holding([("judged.jsonl", JUDGED)]);
    let url = endpoint.base_url();
    let grades = tokio::task::spawn_blocking(move || {
        let mut command = place.command(&["eval", "grading", "judged.jsonl"]);
        command.env("KB_AGENT_LLM_BASE_URL", &url);
        command.output().unwrap()
    })
    .await
    .unwrap();
    assert_eq!(grades.status.code(), Some(1));
    assert!(grades.stdout.is_empty());
    assert!(one_line(&grades).contains("nothing was measured"));
}
