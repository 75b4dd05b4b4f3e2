//! A run that begins again at a node of a recorded one, with its evidence or grades changed.

use std::collections::BTreeSet;

use kb_agent::domain::NodeName;
use serde_json::Value;

use crate::scripted_endpoint::ScriptedEndpoint;
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, json_lines, one_line, text};

const GRADED: &str = "What is the difference between REFINE and RE_RETRIEVE?";

/// The id of the run of these events.
fn id(run: &[Value]) -> &str {
    run[0]["run"].as_str().unwrap()
}

/// The names of the items in force before the answer, by their numbers.
fn sent(run: &[Value]) -> Vec<&str> {
    let numbered = events(run, "evidence_numbered");
    let items = numbered.last().unwrap()["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect()
}

fn answer(run: &[Value]) -> &str {
    events(run, "answer_finished")[0]["text"].as_str().unwrap()
}

/// What is told before the first node, without the start.
fn taken_over(run: &[Value]) -> Vec<&str> {
    let names = run.iter().map(|event| event["event"].as_str().unwrap());
    names
        .skip(1)
        .take_while(|name| *name != "node_entered")
        .collect()
}

fn again(demo: &Demo, run: &str, node: &str, changes: &[&str]) -> Vec<Value> {
    let from = format!("{run}:{node}");
    let args = [&["ask", "--json", "--from", &from][..], changes].concat();
    json_lines(&demo.run_well(&args).stdout)
}

#[test]
fn a_run_begins_at_a_node_with_the_state_that_was_recorded_or_changed() {
    let demo = Workplace::with_demo();
    let first = demo.ask(&[GRADED]);
    let all = sent(&first);
    // Nothing changed: the same passages, read anew, and the same answer.
    let same = again(&demo, id(&first), "synthesize", &[]);
    assert_eq!(taken_over(&same)[..2], ["routing_plan", "evidence_added"]);
    assert_eq!((sent(&same), answer(&same)), (all.clone(), answer(&first)));
    assert!(events(&same, "warning").is_empty(), "{same:?}");
    let path = &events(&same, "run_finished")[0]["path"];
    assert_eq!(path.as_array().unwrap(), &["synthesize"]);
    let rerun = &same[0]["rerun"];
    assert_eq!(
        (&rerun["of"], &rerun["from"]),
        (&first[0]["run"], &"synthesize".into())
    );
    assert_eq!(same[0]["retry_of"], first[0]["run"]);

    // Two passages more that had been dropped, and then once more without one: what was changed before
    // stays changed.
    let dropped = events(&first, "evidence_removed");
    let [one, two] = [0, 1].map(|at| dropped[at]["id"].as_str().unwrap());
    let changes = ["--restore", one, "--restore", two];
    let more = again(&demo, id(&first), "synthesize", &changes);
    assert_eq!(sent(&more).len(), all.len() + 2);
    let less = again(&demo, id(&more), "synthesize", &["--drop", one]);
    let left: BTreeSet<&str> = sent(&more).into_iter().filter(|id| *id != one).collect();
    assert_eq!(sent(&less).into_iter().collect::<BTreeSet<_>>(), left);

    let (runs, stats) = (
        demo.run_well(&["runs", "--json"]),
        demo.run_well(&["stats", "--json"]),
    );
    let runs = json_lines(&runs.stdout);
    assert_eq!(runs[1]["rerun"]["from"], "synthesize");
    let stats = &json_lines(&stats.stdout)[0];
    assert_eq!((&stats["runs"], &stats["reruns"]), (&1.into(), &3.into()));
    assert_eq!(stats["latency"]["count"], 1);
    let session = less[0]["session"].as_str().unwrap();
    for args in [&["graph", id(&less)][..], &["runs", "--session", session]] {
        let told = text(&demo.run_well(args).stdout);
        told.must_hold("again from synthesize · 1 passage dropped");
    }
    let exported = text(&demo.run_well(&["export", id(&less)]).stdout);
    exported.must_hold("again from synthesize · 1 passage dropped of run");
}

#[test]
fn grades_that_are_set_by_hand_decide_by_the_law_of_every_run() {
    let demo = Workplace::with_demo();
    let first = demo.ask(&[GRADED]);
    let graded = &events(&first, "evidence_graded")[0];
    let items = graded["scores"].as_array().unwrap().iter();
    let items: Vec<&str> = items.map(|item| item["id"].as_str().unwrap()).collect();
    for (grade, action, next) in [
        ("1", "GENERATE", "synthesize"),
        ("0.5", "REFINE", "plan"),
        ("0.1", "RE_RETRIEVE", "analyze_and_route"),
    ] {
        let set: Vec<String> = items
            .iter()
            .map(|id| format!("--grade={id}={grade}"))
            .collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let run = again(&demo, id(&first), "grade_evidence", &set);
        let graded = &events(&run, "evidence_graded")[0];
        assert_eq!(
            (&graded["by"], &graded["action"]),
            (&"hand".into(), &action.into())
        );
        let decided = &events(&run, "route_decided")[0];
        assert_eq!(
            (&decided["from"], &decided["to"]),
            (&"grade_evidence".into(), &next.into())
        );
        let end = &events(&run, "run_finished")[0];
        assert_eq!(end["path"][0], "grade_evidence");
        assert_eq!(end["outcome"], "answered", "{end}");
    }
    // Without a grade of a hand it is graded again.
    let run = again(&demo, id(&first), "grade_evidence", &["--drop", items[0]]);
    let graded = &events(&run, "evidence_graded")[0];
    assert_eq!(graded["by"], "grader");
    assert_eq!(graded["scores"].as_array().unwrap().len(), items.len() - 1);
    // The recorded calls are made again.
    let run = again(&demo, id(&first), "tool_exec", &[]);
    let called = |run: &[Value]| {
        let calls = events(run, "tool_called").into_iter();
        calls.map(|call| call["args"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(called(&run)[0], called(&first)[0]);
}

#[test]
fn what_cannot_be_taken_over_is_one_line() {
    let place = Workplace::holding([
        (
            "kb/gate.md",
            "# Gate\n\nThe gate opens at seven and closes at nine.\n",
        ),
        (
            "kb/yard.md",
            "# Yard\n\nThe yard opens when the gate opens, at seven.\n",
        ),
    ]);
    let ask = |args: &[&str]| place.run(&[&["ask", "--json", "--kb", "kb"][..], args].concat());
    let first = json_lines(&ask(&["When does the gate open?"]).stdout);
    let from = |node: &str| format!("{}:{node}", id(&first));
    for (args, said) in [
        (&["--from", "last"][..], "'last' is no RUN:NODE"),
        (&["--drop", "e1", "hello"], "--drop goes with --from"),
        (&["--from", "last:grading"], "'grading' is no node"),
        (
            &["--from", "last:grade_evidence"],
            "did not reach grade_evidence",
        ),
        (
            &["--from", "last:analyze_and_route"],
            "ask the question again",
        ),
        (
            &["--from", "last:synthesize", "--drop", "e77"],
            "'e77' is no such passage",
        ),
        (
            &["--from", "last:synthesize", "--grade", "e1=0.9"],
            "only in grade_evidence",
        ),
    ] {
        let output = ask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        one_line(&output).must_hold(said);
    }
    // What is not there any more is left out, and what reads otherwise is used as it is.
    place.file(
        "kb/gate.md",
        "# Gate\n\nThe gate opens at eight now and closes at nine.\n",
    );
    std::fs::remove_file(place.path().join("kb/yard.md")).unwrap();
    let run = ask(&["--from", &from("synthesize")]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let run = json_lines(&run.stdout);
    let warnings = events(&run, "warning");
    let said = |code: &str| warnings.iter().any(|warning| warning["code"] == code);
    assert!(
        said("evidence_gone") && said("evidence_changed"),
        "{warnings:?}"
    );
    answer(&run).must_hold("eight");
}

#[test]
fn ui_a_node_is_run_again_from_the_path_pane_with_a_passage_less() {
    let demo = Workplace::with_demo();
    for (columns, rows) in [(160, 45), (80, 24), (60, 20)] {
        let mut terminal = Terminal::start(&demo.command(&[]), columns, rows);
        terminal.wait_for_text("38 docs");
        terminal.keys(format!("{GRADED}\r"));
        terminal.keys("\u{1b}2");
        terminal.wait_for_text("4 of 4 steps · saved 0");
        // Every run begins at the first node.
        terminal.press_until("ga", "Every run begins there");
        terminal.press_until("jjja", "Again from grade_evidence");
        let screen = terminal.wait_for_text("as recorded");
        screen.must_hold("[x]");
        terminal.press_until(" ", "1 passage dropped");
        terminal.press_until("0", "as recorded");
        // All grades down: the law says where that leads.
        terminal.press_until("HHHH", " · 1 grade set");
        terminal.press_until("0 ", "1 passage dropped");
        terminal.press_until("\r\u{1b}1", "again from grade_evidence · 1 passage dropped");
        terminal.leave();
    }
    let log = demo.place().audit();
    let started = events(&log, "run_started");
    let reruns = started.iter().filter(|start| !start["rerun"].is_null());
    assert_eq!(reruns.count(), 3);
    // It is the question's own answer, and a resumed conversation shows both.
    let terminal = Terminal::start(&demo.command(&["--continue"]), 160, 45);
    terminal.wait_for_text("again from grade_evidence · 1 passage dropped");
    terminal.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instruction_stands_in_the_prompt_of_the_node_at_which_the_run_begins() {
    let endpoint = ScriptedEndpoint::start().await;
    let plan = r#"{"complexity": "simple", "suggested_tools": ["hybrid_search"]}"#;
    let calls = r#"[{"tool": "hybrid_search", "args": {"semantic_query": "gate"}}]"#;
    endpoint
        .stream(NodeName::AnalyzeAndRoute, plan)
        .stream(NodeName::Plan, calls);
    for answer in ["At seven [1].", "Seven [1].", "Seven sharp [1]."] {
        endpoint.stream(NodeName::Synthesize, answer);
    }
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let with_endpoint = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
        command
    };
    let ask = |args: &[&str]| {
        let all = [&["ask", "--json", "--kb", "kb"][..], args].concat();
        json_lines(&with_endpoint(&all).output().unwrap().stdout)
    };
    ask(&["When does the gate open?"]);
    let run = ask(&["--from", "last:synthesize", "--instruct", "One word."]);
    assert_eq!(answer(&run), "Seven [1].");
    assert_eq!(run[0]["rerun"]["instruction"], "One word.");
    let mut terminal = Terminal::start(&with_endpoint(&["--continue", "kb"]), 80, 24);
    terminal.wait_for_text("Resumed: 1 run");
    terminal.press_until("\u{1b}2gjjjja", "Again from synthesize");
    terminal.press_until("e", "and tell the model: ▏");
    terminal.press_until("Be exact.\r", "instruction added");
    terminal.press_until("\r\u{1b}1", "again from synthesize · instruction added");
    terminal.wait_for_text("Seven sharp");
    terminal.leave();

    let sent = endpoint.requests().await;
    let [.., first, word, exact] = &sent[..] else {
        panic!("{}", sent.len());
    };
    let bodies = [first, word, exact].map(|request| request.body.to_string());
    bodies[0].must_lack("The person adds");
    bodies[1].must_hold("The person adds: One word.");
    bodies[2].must_hold("The person adds: Be exact.");
    bodies[2].must_lack("One word.");

    // Over another knowledge base only where that one is named.
    let refused = place.run(&["ask", "--from", "last:synthesize"]);
    assert_eq!(refused.status.code(), Some(2));
    let kb = place.path().join("kb").canonicalize().unwrap();
    one_line(&refused).must_hold(&format!(
        "searched another knowledge base, kb: give --kb {}",
        kb.display()
    ));

    // The built-in engine follows none, and says so.
    let from = [
        "ask",
        "--json",
        "--kb",
        "kb",
        "--from",
        "last:synthesize",
        "--instruct",
        "x",
    ];
    let run = json_lines(&place.run_well(&from).stdout);
    let warnings = events(&run, "warning");
    assert!(
        warnings.iter().any(|w| w["code"] == "instruction_ignored"),
        "{warnings:?}"
    );
}
