//! The audit log on disk: what it holds, and what a kill leaves.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use kb_agent::domain::NodeName;
use kb_agent::protocol::Event;
use serde_json::Value;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::workplace::{Demo, Workplace, events, one_line, text};

#[test]
fn the_log_is_the_stream_without_the_deltas_and_reads_back_as_events() {
    let demo = Workplace::with_demo();
    let mut emitted = Vec::new();
    for question in [
        "hello",
        "What is corrective grading?",
        "Compare vector_search with grep_search",
    ] {
        emitted.extend(demo.ask(&[question]));
    }
    let all = emitted.len();
    emitted.retain(|event| event["event"] != "answer_delta");
    assert!(emitted.len() < all, "there were deltas");
    let log = demo.place().audit();
    assert_eq!(log, emitted);
    for value in log {
        let event: Event = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
    }
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
    use std::fs;
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
