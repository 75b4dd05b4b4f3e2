//! `eval routing`: the figures against some worked out by hand.

use kb_agent::domain::NodeName;
use serde_json::{Value, json};

use crate::scripted_endpoint::ScriptedEndpoint;
use crate::support::Said;
use crate::workplace::{Workplace, json_lines, one_line, text};

const JUDGED: &str = r#"{"query": "hello", "complexity": "chitchat", "query_type": "chitchat"}
{"query": "What is the fast path?", "complexity": ["simple", "complex"], "query_type": "conceptual"}

{"query": "Compare vector_search with grep_search", "complexity": "complex", "source": "ignored"}
{"query": "thank you so much", "complexity": "simple"}
{"query": "PROJ-123 details", "query_type": ["exact", "relational"]}
"#;

#[test]
fn the_figures_are_those_worked_out_by_hand() {
    let place = Workplace::holding([("judged.jsonl", JUDGED)]);
    let output = place.run_well(&["eval", "routing", "judged.jsonl", "--json"]);
    let lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), 1);
    let report = &lines[0];
    assert_eq!(report["n"], 4);
    assert_eq!(report["accuracy"], 0.75);
    // Thanks are small talk, so the label of the fourth line is wrong on purpose.
    assert_eq!(
        report["confusion"],
        json!({
            "chitchat": {"chitchat": 1},
            "complex": {"complex": 1},
            "simple": {"chitchat": 1, "simple": 1},
        })
    );
    assert_eq!(
        report["classes"]["chitchat"],
        json!({"n": 1, "precision": 0.5, "recall": 1.0})
    );
    assert_eq!(
        report["classes"]["simple"],
        json!({"n": 2, "precision": 1.0, "recall": 0.5})
    );
    assert_eq!(report["query_type"]["n"], 3);
    assert_eq!(report["query_type"]["accuracy"], 1.0);
    let counted: u64 = report["small_talk"]["calibration"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interval| interval["n"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, 4);
    let sweep = report["small_talk"]["sweep"].as_array().unwrap();
    assert!(sweep.iter().all(|at| at["recall"] == 1.0), "{sweep:?}");

    let output = place.run(&["eval", "routing", "judged.jsonl", "--wrong"]);
    let shown = text(&output.stdout);
    for part in [
        "wrong\njudged_by   expected  got       question\n",
        "complexity  simple    chitchat  thank you so much\n",
        "engine  extractive\nn  4\naccuracy  0.750\n",
        "\nquery_type\n",
        "threshold  precision",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn help_lists_every_label_that_is_accepted() {
    let place = Workplace::empty();
    let help = text(&place.run(&["eval", "routing", "--help"]).stdout);
    // The parser's own list of what it knows, for each of the two fields.
    for field in ["complexity", "query_type"] {
        place.file(
            "labels.jsonl",
            format!(r#"{{"query": "x", "{field}": "?"}}"#),
        );
        let said = one_line(&place.run(&["eval", "routing", "labels.jsonl"]));
        let (_, known) = said.split_once("expected one of ").unwrap();
        let known = known.split(['`', ',', ' ']).filter(|w| !w.is_empty());
        let known: Vec<&str> = known.collect();
        assert!(known.len() >= 3, "{said}");
        for label in known {
            assert!(help.contains(label), "{label}: {help}");
        }
    }
}

#[test]
fn query_types_alone_are_the_figures() {
    let place = Workplace::empty();
    place.file(
        "types.jsonl",
        r#"{"query": "which file holds the rules?", "query_type": "file_discovery"}"#,
    );
    let output = place.run(&["eval", "routing", "types.jsonl", "--json"]);
    let report = json_lines(&output.stdout).remove(0);
    assert_eq!(report["classes"]["file_discovery"]["n"], 1);
    assert_eq!(report["query_type"], Value::Null);
    assert_eq!(report["small_talk"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_of_the_settings_is_measured() {
    let endpoint = ScriptedEndpoint::start().await;
    let plan =
        r#"{"complexity": "simple", "query_type": "exact", "suggested_tools": ["grep_search"]}"#;
    endpoint
        .stream(NodeName::AnalyzeAndRoute, plan)
        .stream(NodeName::AnalyzeAndRoute, "no plan at all");
    let place = Workplace::holding([("judged.jsonl", JUDGED)]);
    let url = endpoint.base_url();
    let output = tokio::task::spawn_blocking(move || {
        let run = |args: &[&str]| {
            let mut command = place.command(args);
            command.env("KB_AGENT_LLM_BASE_URL", &url);
            command.output().unwrap()
        };
        run(&["eval", "routing", "judged.jsonl"])
    });
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    // One simple, then what a run falls back to: complex. Of the five, four have a complexity.
    shown.must_hold("n  4\naccuracy  0.500\n");
    shown.must_hold("unreadable_replies  4");
    assert!(!shown.contains("threshold"), "{shown}");
}
