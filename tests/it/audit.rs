//! The audit log on disk: order, rights, masking, and what a kill leaves.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use kb_agent::domain::NodeName;
use kb_agent::protocol::Event;
use serde_json::Value;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::workplace::{Demo, Workplace, events, json_lines, one_line, text};

#[test]
fn the_log_is_the_stream_without_the_deltas() {
    let demo = Workplace::with_demo();
    let emitted = demo.ask(&["What is corrective grading?"]);
    let log = demo.place().audit();
    let without_deltas: Vec<_> = emitted
        .iter()
        .filter(|event| event["event"] != "answer_delta")
        .cloned()
        .collect();
    assert!(without_deltas.len() < emitted.len(), "there were deltas");
    assert_eq!(log, without_deltas);
}

#[cfg(unix)]
#[test]
fn the_log_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let demo = Workplace::with_demo();
    let log = demo.place().file("data/audit.jsonl", "");
    fs::set_permissions(log, fs::Permissions::from_mode(0o644)).unwrap();
    demo.ask(&["hello"]);
    let mode = fs::metadata(demo.place().audit_log())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn secrets_and_card_numbers_do_not_reach_the_disk() {
    let demo = Workplace::with_demo();
    let question = "is sk-abcdefghijklmnop1234 or 4111 1111 1111 1111 in the base?";
    let emitted = demo.ask(&[question]);
    assert_eq!(
        emitted[0]["query"], question,
        "the screen shows what was typed"
    );
    let bytes = text(&fs::read(demo.place().audit_log()).unwrap());
    bytes.must_lack("abcdefghijklmnop");
    bytes.must_lack("4111 1111");
    assert!(bytes.contains("is [masked] or [masked] in the base?"));
}

#[test]
fn every_case_the_design_asks_for_is_in_the_log() {
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    demo.ask(&["What is corrective grading?"]);
    let log = demo.place().audit();
    let hits: Vec<_> = events(&log, "fast_path_hit")
        .into_iter()
        .map(|hit| {
            (
                hit["path_type"].as_str().unwrap(),
                hit["rule_name"].as_str().unwrap(),
                hit["query"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        hits,
        [
            ("chitchat", "chitchat", "hello"),
            (
                "simple_skip_grading",
                "simple",
                "What is corrective grading?"
            ),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parse_failures_and_removals_are_in_the_log() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint
        .stream(NodeName::AnalyzeAndRoute, "I would rather not.")
        .stream(
            NodeName::Plan,
            r#"[{"tool": "hybrid_search", "args": {"semantic_query": "threshold"}}]"#,
        )
        .stream(NodeName::GradeEvidence, "They all look fine to me.")
        .stream(NodeName::Synthesize, "So it is [1].");
    let demo = Workplace::with_demo();
    let output = demo
        .command(&["ask", "--json", "which threshold, and why?"])
        .env("KB_AGENT_LLM_BASE_URL", endpoint.base_url())
        .env("KB_AGENT_MAX_ITERATIONS", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let log = demo.place().audit();
    let warnings: Vec<_> = events(&log, "warning")
        .into_iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert!(warnings.contains(&"analysis_unreadable"), "{warnings:?}");
    assert!(warnings.contains(&"grade_unreadable"), "{warnings:?}");
    assert_eq!(events(&log, "evidence_graded")[0]["by"], "fallback");
}

#[test]
fn the_log_reads_back_as_events() {
    let demo = Workplace::with_demo();
    demo.ask(&["Compare vector_search with grep_search"]);
    for value in demo.place().audit() {
        let event: Event = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
    }
}

/// A run of the binary that its endpoint leaves hanging in the plan.
struct Hanging {
    child: Child,
    /// Kept open, so that the run sees a reader until it ends.
    lines: Lines<BufReader<ChildStdout>>,
    /// The events printed so far.
    seen: Vec<Value>,
}

impl Hanging {
    fn start(demo: &Demo, endpoint: &ScriptedEndpoint) -> Self {
        let mut child = demo
            .command(&["ask", "--json", "what hangs?"])
            .env("KB_AGENT_LLM_BASE_URL", endpoint.base_url())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut run = Self {
            child,
            lines,
            seen: Vec::new(),
        };
        while run.seen.last().is_none_or(|event| event["node"] != "plan") {
            run.read().expect("the run goes on");
        }
        run
    }

    fn read(&mut self) -> Option<()> {
        let line = self.lines.next()?.unwrap();
        self.seen.push(serde_json::from_str(&line).unwrap());
        Some(())
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        crate::workplace::signal(name, self.child.id());
    }
}

async fn hanging_endpoint() -> ScriptedEndpoint {
    let endpoint = ScriptedEndpoint::start().await;
    let plan =
        r#"{"complexity": "complex", "query_type": "conceptual", "sub_questions": ["a?", "b?"]}"#;
    endpoint.stream(NodeName::AnalyzeAndRoute, plan).say(
        NodeName::Plan,
        Reply::streamed("[]").after(Duration::from_mins(10)),
    );
    endpoint
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_closes_the_run_and_exits_130() {
    let endpoint = hanging_endpoint().await;
    for signal in ["INT", "TERM"] {
        let demo = Workplace::with_demo();
        let mut run = Hanging::start(&demo, &endpoint);
        run.signal(signal);
        while run.read().is_some() {}
        assert_eq!(run.child.wait().unwrap().code(), Some(130), "{signal}");
        let last = run.seen.last().unwrap();
        assert_eq!(last["outcome"], "cancelled");
        assert_eq!(demo.place().audit().last(), Some(last));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_no_line_that_was_shown_and_the_next_start_says_so() {
    let endpoint = hanging_endpoint().await;
    let demo = Workplace::with_demo();
    let mut run = Hanging::start(&demo, &endpoint);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert_eq!(
        demo.place().audit(),
        run.seen,
        "all that was shown is on disk"
    );

    let next = demo.run(&["ask", "--json", "hello"]);
    let line = one_line(&next);
    line.must_hold("interrupted");
    line.must_hold("what hangs?");
    let log = demo.place().audit();
    let closed = events(&log, "run_finished")[0];
    assert_eq!(closed["run"], run.seen[0]["run"]);
    assert_eq!(closed["outcome"], "failed");
    assert_eq!(closed["error"], "interrupted");
    assert_eq!(closed["seq"], run.seen.len());
    assert_eq!(
        closed["path"],
        serde_json::json!(["analyze_and_route", "plan"])
    );
    assert_eq!(closed["reasoning_calls"], 1);

    let third = demo.run(&["ask", "hello"]);
    assert!(
        third.stderr.is_empty(),
        "said once: {}",
        text(&third.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_elsewhere_is_not_closed() {
    let endpoint = hanging_endpoint().await;
    let demo = Workplace::with_demo();
    let mut run = Hanging::start(&demo, &endpoint);
    let other = demo.run(&["ask", "hello"]);
    assert!(other.stderr.is_empty(), "{}", text(&other.stderr));
    assert_eq!(events(&demo.place().audit(), "run_finished").len(), 1);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
}

/// Deletes the log under a run, and lets the run go to its end.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn trust_a_log_that_is_deleted_during_a_run_is_made_anew_and_reported() {
    let endpoint = hanging_endpoint().await;
    for replace in [false, true] {
        let demo = Workplace::with_demo();
        let mut run = Hanging::start(&demo, &endpoint);
        let log = demo.place().audit_log();
        if replace {
            fs::rename(&log, log.with_extension("mine")).unwrap();
            fs::write(&log, "").unwrap();
        } else {
            fs::remove_file(&log).unwrap();
        }
        run.signal("INT");
        while run.read().is_some() {}
        let ended = run.child.wait_with_output().unwrap();
        let said = text(&ended.stderr);
        assert_eq!(said.matches("was removed or replaced").count(), 1, "{said}");
        let last = run.seen.last().unwrap();
        assert_eq!(demo.place().audit().last(), Some(last));
    }
}

#[test]
fn a_log_with_a_torn_last_line_is_continued() {
    let demo = Workplace::with_demo();
    demo.place()
        .file("data/audit.jsonl", "{\"schema\": 1, \"ts\": \"20");
    demo.ask(&["hello"]);
    let log = fs::read(demo.place().audit_log()).unwrap();
    let (torn, rest) = log.split_at(log.iter().position(|b| *b == b'\n').unwrap() + 1);
    assert_eq!(torn, b"{\"schema\": 1, \"ts\": \"20\n");
    assert_eq!(json_lines(rest)[0]["event"], "run_started");
    demo.ask(&["hello"]);
    // A torn line that was ended by somebody else begins no log of ours.
    fs::write(demo.place().audit_log(), torn).unwrap();
    assert!(one_line(&demo.run(&["ask", "hello"])).contains("no audit log"));
}
