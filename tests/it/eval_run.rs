//! `eval run`: whole runs with what is expected of them, under one or several settings, as a gate.

use std::fs;
use std::process::{Command, Output, Stdio};

use kb_agent::domain::NodeName;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use crate::ends::until;
use crate::fault_server::{Act, FaultServer, stream_head};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::workplace::{Demo, Workplace, json_lines, one_line, refusing_url, signal, text};

/// The second has a route that it does not take; the third finds little at first.
const QUESTIONS: &str = r#"{"query": "hello", "id": "greeting", "route": "chitchat"}
{"query": "What are the four rules?", "id": "rules", "route": "complex", "sources": ["rules.md"], "answer_contains": "tried in order", "outcome": "answered"}

{"query": "How do the settings and the thresholds differ?", "complexity": ["complex", "simple"], "sources": ["thresholds.md"]}
"#;

fn place() -> Demo {
    let demo = Workplace::with_demo();
    let place = demo.place();
    place.file("questions.jsonl", QUESTIONS);
    place.file("one.env", "KB_AGENT_MAX_ITERATIONS=1\n");
    place.file("three.env", "# As it is.\nKB_AGENT_MAX_ITERATIONS=3\n");
    demo
}

fn run(demo: &Demo, args: &[&str]) -> Output {
    demo.run(&[&["eval", "run", "questions.jsonl"], args].concat())
}

fn report(output: &Output) -> Value {
    json_lines(&output.stdout).remove(0)
}

#[test]
fn a_question_tells_which_of_its_expectations_hold() {
    let demo = place();
    let output = run(&demo, &["--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = report(&output);
    let summary = &report["summary"][0];
    assert_eq!(summary["settings"], "current");
    assert_eq!(summary["route"], json!({"right": 2, "of": 3}));
    assert_eq!(summary["sources"], json!({"right": 2, "of": 2}));
    assert_eq!(summary["answers"], json!({"right": 1, "of": 1}));
    assert_eq!(
        (&summary["questions"], &summary["failed"]),
        (&json!(3), &json!(0))
    );
    let rules = &report["questions"][1];
    assert_eq!(rules["id"], "rules");
    assert_eq!(
        rules["results"][0]["failures"],
        json!(["route simple, should be complex"])
    );
    assert_eq!(report["questions"][2]["id"], "q3");
    // The person's own conversations do not hold what was measured, and it can be looked at.
    assert!(!demo.place().audit_log().exists());
    let log = summary["log"].as_str().unwrap();
    let id = rules["results"][0]["run"].as_str().unwrap();
    let replayed = demo.run_well(&["replay", log, "--json", id]);
    assert_eq!(
        json_lines(&replayed.stdout)[0]["query"],
        "What are the four rules?"
    );
}

#[test]
fn settings_are_measured_side_by_side_and_what_differs_is_shown() {
    let demo = place();
    let both = ["--settings", "one.env", "--settings", "three.env"];
    let output = run(&demo, &both);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in [
        "rules  What are the four rules?\n  one.env    simple, answered, 3 steps, ",
        "route simple, should be complex",
        "settings   route  sources  answers",
        "one.env      2/3      2/2      1/1",
    ] {
        shown.must_hold(part);
    }
    let report = report(&run(&demo, &[&both[..], &["--json"]].concat()));
    let log = report["summary"][1]["log"].as_str().unwrap();
    shown.must_hold(&format!("\nkb-agent replay {log} RUN shows a run\n"));
    let calls = |at: usize| report["summary"][at]["calls"].as_u64().unwrap();
    // The third question searches once more where it may.
    assert!(calls(0) < calls(1), "{report}");
}

#[cfg(unix)]
#[test]
fn each_of_the_settings_names_the_log_of_its_own_runs() {
    let place = Workplace::empty();
    place.file("kb/gate.md", "# Gates\n\nThe gate threshold is seven.\n");
    place.file("questions.jsonl", "{\"query\": \"hello\"}\n");
    for name in ["a", "b c's"] {
        let folder = place.path().join(name);
        let line = format!("KB_AGENT_DATA_DIR=\"{}\"\n", folder.display());
        place.file(&format!("{name}.env"), line);
    }
    let args = ["--settings", "a.env", "--settings", "b c's.env"];
    let args = [&["eval", "run", "questions.jsonl", "--kb", "kb"], &args[..]].concat();
    let mut command = place.command(&args);
    command.env_remove("KB_AGENT_DATA_DIR");
    let shown = text(&command.output().unwrap().stdout);
    for (folder, settings) in [("a", "a.env"), ("b c's", "b c's.env")] {
        let log = place.path().join(folder).join("eval").join("audit.jsonl");
        let log = log.to_str().unwrap();
        assert!(fs::exists(log).unwrap());
        let end = format!(" RUN shows a run of {settings}");
        let mut commands = shown.lines().filter_map(|line| line.strip_suffix(&end));
        let words = shlex::split(commands.next().unwrap()).unwrap();
        assert_eq!(words, ["kb-agent", "replay", log], "{shown}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_said_once() {
    // The data folder of the demo is that of other tests too.
    let place = Workplace::with_gate();
    place.file("questions.jsonl", "{\"query\": \"hello\"}\n".repeat(2));
    let args = ["eval", "run", "questions.jsonl", "--kb", "kb"];
    place.run_well(&args);
    let log = place.data().join("eval").join("audit.jsonl");
    let held = fs::OpenOptions::new().append(true).open(log).unwrap();
    held.lock().unwrap();
    let output = place.run_well(&args);
    one_line(&output).must_hold("audit.jsonl cannot be written: another process holds it");
}

#[test]
fn a_broken_limit_is_one_line_and_exit_code_1_and_a_report_is_written() {
    let demo = place();
    let limits = [
        "--min-route",
        "0.6",
        "--min-sources",
        "1",
        "--min-answers",
        "1",
    ];
    let more = [
        "--max-p95-ms",
        "600000",
        "--max-calls",
        "9",
        "--max-cost",
        "0",
    ];
    let held = run(&demo, &[&limits[..], &more[..]].concat());
    assert!(held.status.success(), "{}", text(&held.stderr));

    // XML holds no such characters.
    let marked = QUESTIONS.replace("\"greeting\"", "\"greeting\u{fffe}\u{ffff}\"");
    demo.place().file("questions.jsonl", marked);
    let limits = ["--min-route", "0.9", "--max-calls", "1"];
    let output = run(&demo, &[&["--junit", "junit.xml"], &limits[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "kb-agent: current: 2 of 3 are right, --min-route asks for 0.9"
    );
    lines[1].must_hold(", --max-calls allows 1");
    assert_eq!(lines.len(), 2, "{said}");
    text(&output.stdout).must_hold("settings  route");

    let junit = fs::read_to_string(demo.place().path().join("junit.xml")).unwrap();
    let mut reader = Reader::from_str(&junit);
    let mut names = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => names.push(tag.name().as_ref().to_owned()),
            Event::Eof => break,
            _ => {}
        }
    }
    let count = |name: &str| names.iter().filter(|known| *known == name).count();
    assert_eq!(
        (count("testsuite"), count("testcase"), count("failure")),
        (1, 5, 3)
    );
    junit.must_hold("<testsuite name=\"current\" tests=\"5\" failures=\"3\" errors=\"0\"");
    junit.must_hold("name=\"greeting: hello\"");
    junit.must_hold("message=\"route simple, should be complex\"");
    junit.must_hold("name=\"--min-route 0.9\"");
    junit.must_hold("message=\"2 of 3 are right, --min-route asks for 0.9\"");
}

#[test]
fn the_path_of_a_run_is_expected_too() {
    let demo = place();
    let first = report(&run(&demo, &["--json"]))["questions"][1]["results"][0].clone();
    let mut question = json!({"query": "What are the four rules?", "rule": "none"});
    for field in ["query_type", "tools", "calls", "rounds"] {
        question[field] = first[field].clone();
    }
    let gate = |question: &Value| {
        demo.place().file("questions.jsonl", question.to_string());
        run(&demo, &["--min-path", "1", "--json"])
    };
    let held = gate(&question);
    assert!(held.status.success(), "{}", text(&held.stderr));
    let path = &report(&held)["summary"][0]["path"];
    assert_eq!(*path, json!({"right": 1, "of": 1}));

    question["rounds"] = json!([7, 8]);
    let broken = gate(&question);
    assert_eq!(broken.status.code(), Some(1));
    one_line(&broken).must_hold("current: 0 of 1 are right, --min-path asks for 1");
    let failures = &report(&broken)["questions"][0]["results"][0]["failures"];
    assert_eq!(failures[0], "rounds 1, should be 7 or 8");
}

#[test]
fn a_question_asked_several_times_holds_if_every_run_does() {
    let demo = place();
    let report = report(&run(&demo, &["--repeat", "2", "--json"]));
    let summary = &report["summary"][0];
    assert_eq!(summary["agreed"], json!({"right": 6, "of": 6}));
    assert_eq!(
        (&summary["questions"], &summary["runs"]),
        (&json!(3), &json!(6))
    );
    assert_eq!(summary["route"], json!({"right": 2, "of": 3}));
    let rules = &report["questions"][1]["results"][0];
    assert_eq!((&rules["runs"], &rules["agreed"]), (&json!(2), &json!(2)));
    assert_eq!(
        rules["failures"],
        json!(["route simple, should be complex (2 of 2 runs)"])
    );
}

#[test]
fn a_question_that_is_worse_than_in_the_baseline_breaks_the_gate() {
    let demo = place();
    let mut baseline = report(&run(&demo, &["--json"]));
    let save = |baseline: &Value| demo.place().file("<base>.json", baseline.to_string());
    save(&baseline);
    let args = ["--baseline", "<base>.json", "--junit", "j.xml"];
    let unchanged = run(&demo, &args);
    assert!(unchanged.status.success(), "{}", text(&unchanged.stderr));

    baseline["questions"][1]["results"][0]["route_right"] = json!(true);
    baseline["questions"][2]["results"][0]["sources_found"] = json!(false);
    baseline["questions"][0]["query"] = json!("hello there");
    save(&baseline);
    let worse = run(&demo, &args);
    assert_eq!(worse.status.code(), Some(1));
    let said = text(&worse.stderr);
    said.must_hold("<base>.json: 1 of 3 questions not in it and not compared\n");
    said.must_hold("current: 1 question worse than in <base>.json: rules\n");
    let shown = text(&worse.stdout);
    shown.must_hold("worse\nsettings  id     changed\ncurrent   rules  route_right\n");
    shown.must_hold("better\nsettings  id  changed\ncurrent   q3  sources_found\n");
    let junit = fs::read_to_string(demo.place().path().join("j.xml")).unwrap();
    junit.must_hold("name=\"--baseline &lt;base&gt;.json\"");
    junit.must_hold("tests=\"4\" failures=\"2\" errors=\"0\"");
}

#[test]
fn what_cannot_be_measured_is_one_line_that_says_where() {
    let demo = place();
    let place = demo.place();
    place.file(
        "bad.jsonl",
        format!("{QUESTIONS}{{\"query\": \"x\", \"rout\": \"simple\"}}\n"),
    );
    place.file(
        "twice.jsonl",
        "{\"query\": \"a\", \"id\": \"x\"}\n{\"query\": \"b\", \"id\": \"x\"}\n",
    );
    place.file("plain.jsonl", "{\"query\": \"hello\"}\n");
    place.file("other.json", "{\"questions\": []}");
    place.file("typo.env", "\nKB_AGENT_MAX_ITERATION=1\n");
    // Neither of them hides a name.
    place.file("mark.env", "\u{feff}KB_AGENT_MAX_ITERATION=1\n");
    place.file("tab.env", "# a\nexport\tKB_AGENT_MAX_ITERATION=1\n");
    place.file("value.env", "# a\n\nexport KB_AGENT_MAX_ITERATIONS=99\n");
    for (args, said) in [
        (&["bad.jsonl"][..], "bad.jsonl:5: unknown field `rout`"),
        (&["twice.jsonl"], "twice.jsonl:2: the id 'x' occurs twice"),
        (&["none.jsonl"], "none.jsonl: not found"),
        (
            &["plain.jsonl", "--min-route", "0.5"],
            "--min-route: no question of plain.jsonl has route",
        ),
        (
            &["plain.jsonl", "--min-answers", "0.5"],
            "has answer_contains or answer_lacks or outcome",
        ),
        (
            &["plain.jsonl", "--settings", "typo.env"],
            "typo.env:2: KB_AGENT_MAX_ITERATION is no setting of kb-agent: did you mean",
        ),
        (
            &["plain.jsonl", "--settings", "mark.env"],
            "mark.env:1: KB_AGENT_MAX_ITERATION is no setting of kb-agent: did you mean",
        ),
        (
            &["plain.jsonl", "--settings", "tab.env"],
            "tab.env:2: KB_AGENT_MAX_ITERATION is no setting of kb-agent: did you mean",
        ),
        (
            &["plain.jsonl", "--settings", "value.env"],
            "value.env:3: KB_AGENT_MAX_ITERATIONS is '99': it must be",
        ),
        (
            &[
                "plain.jsonl",
                "--settings",
                "one.env",
                "--env-file",
                "three.env",
            ],
            "give one of them",
        ),
        (
            &["plain.jsonl", "--settings", "none.env"],
            "none.env cannot be read",
        ),
        (
            &["plain.jsonl", "--junit", "none/junit.xml"],
            "there is no folder none",
        ),
        (
            &["plain.jsonl", "--baseline", "plain.jsonl"],
            "plain.jsonl: this is no report of eval run --json: ",
        ),
        (
            &["plain.jsonl", "--baseline", "other.json"],
            "other.json: it has none of these questions",
        ),
    ] {
        let output = demo.run(&[&["eval", "run"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        one_line(&output).must_hold(said);
    }
    let output = run(&demo, &["--min-route", "90"]);
    assert_eq!(output.status.code(), Some(2));
    text(&output.stderr).must_hold("a share is a number from 0 to 1");
}

#[test]
fn the_environment_wins_over_a_settings_file_and_that_is_said() {
    let demo = place();
    let args = [
        "eval",
        "run",
        "questions.jsonl",
        "--settings",
        "one.env",
        "--json",
    ];
    let mut command = demo.command(&args);
    command.env("KB_AGENT_MAX_ITERATIONS", "2");
    let output = command.output().unwrap();
    assert!(output.status.success());
    one_line(&output).must_hold("one.env: KB_AGENT_MAX_ITERATIONS is set in the environment");
}

#[test]
fn runs_that_fail_break_the_gate_and_cost_no_other() {
    let demo = place();
    let place = demo.place();
    let there = format!(
        "KB_AGENT_LLM_BASE_URL={}\nKB_AGENT_LLM_RETRIES=0\n",
        refusing_url()
    );
    place.file("away.env", there);
    let both = [
        "--settings",
        "away.env",
        "--settings",
        "one.env",
        "--json",
        "--junit",
        "j.xml",
    ];
    let output = run(&demo, &both);
    assert_eq!(output.status.code(), Some(1));
    one_line(&output).must_hold("away.env: 3 of 3 runs failed, the first greeting: ");
    let report = report(&output);
    assert_eq!(report["summary"][0]["failed"], 3);
    assert_eq!(report["summary"][1]["failed"], 0);
    let junit = fs::read_to_string(place.path().join("j.xml")).unwrap();
    junit.must_hold("tests=\"3\" failures=\"0\" errors=\"3\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_costs_tokens_and_a_cost_without_a_price_holds_no_limit() {
    let endpoint = ScriptedEndpoint::start().await;
    let plan = json!({"complexity": "chitchat", "query_type": "chitchat", "reply": "Hello."});
    endpoint.stream(NodeName::AnalyzeAndRoute, &plan.to_string());
    endpoint.say(NodeName::Synthesize, Reply::streamed("Hello."));
    let demo = place();
    let place = demo.place();
    place.file(
        "questions.jsonl",
        "{\"query\": \"hello\", \"route\": \"chitchat\"}\n",
    );
    place.file(
        "model.env",
        format!("KB_AGENT_LLM_BASE_URL={}\n", endpoint.base_url()),
    );
    let args = ["--settings", "model.env", "--max-cost", "1", "--json"];
    let output = tokio::task::spawn_blocking(move || run(&demo, &args))
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    one_line(&output).must_hold("model.env: the cost is not known");
    let summary = &report(&output)["summary"][0];
    assert!(summary["prompt_tokens"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(summary["cost_usd"], Value::Null);
}

#[cfg(unix)]
#[tokio::test]
async fn ends_at_ctrl_c_without_a_report_and_sends_the_trace_of_what_was_asked() {
    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, ResponseTemplate};
    let demo = place();
    let collector = MockServer::start().await;
    let takes_all = Mock::given(any()).respond_with(ResponseTemplate::new(200));
    takes_all.mount(&collector).await;
    let server = FaultServer::start(&[("analyze_and_route", vec![Act::Hang(stream_head())])]);
    let lines = server
        .settings()
        .map(|(name, value)| format!("{name}={value}\n"));
    demo.place().file("silent.env", lines.concat());
    let args = [
        "eval",
        "run",
        "questions.jsonl",
        "--settings",
        "silent.env",
        "--junit",
        "j.xml",
    ];
    let mut command: Command = demo.command(&args);
    let mut child = command
        .env("KB_AGENT_OTLP_ENDPOINT", collector.uri())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the first question is asked", || server.hanging() == 1);
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!demo.place().path().join("j.xml").exists());
    let sent = collector.received_requests().await.unwrap();
    assert_eq!(sent.len(), 1);
    String::from_utf8_lossy(&sent[0].body).must_hold("eval.settings");
    // Its run has an end, and the next gate has nothing to say of it.
    let next = run(&demo, &[]);
    assert_eq!(text(&next.stderr), "");
}
