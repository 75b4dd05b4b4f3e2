//! What the command line tells of recorded runs: all of it from the audit log.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, json_lines, one_line, text};

/// Ids as they are made within one second: they begin alike.
const RUN_A: &str = "01a2b3c4-0001-7000-8000-00000000000a";
const RUN_B: &str = "01a2b3c4-0002-7000-8000-00000000000b";
const RUN_C: &str = "01a2b3c4-0003-7000-8000-00000000000c";
const SESSION_1: &str = "01a2b3c3-ffff-7000-8000-000000000001";
const SESSION_2: &str = "01a2b3c4-00ff-7000-8000-000000000002";

fn event(run: &str, second: u32, name: &str, fields: &Value) -> Value {
    let mut event = json!({
        "schema": 1, "ts": format!("2026-01-02T03:04:{second:02}.000Z"), "run": run,
        "seq": second, "event": name,
    });
    let fields = fields.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(fields);
    event
}

fn started(run: &str, session: &str, second: u32, query: &str) -> Value {
    let settings = json!({
        "max_iterations": 3, "vector_score_threshold": 0.8, "auto_approve_max_items": 2,
    });
    let fields = json!({
        "session": session, "query": query, "mode": "llm", "model": "m", "settings": settings,
    });
    event(run, second, "run_started", &fields)
}

fn finished(run: &str, second: u32, outcome: &str, calls: (u32, u32), ms: f64) -> Value {
    let fields = json!({
        "outcome": outcome, "complexity": "simple", "path": ["analyze_and_route"], "iterations": 0,
        "reasoning_calls": calls.0, "calls_saved": calls.1, "prompt_tokens": 0,
        "completion_tokens": 0, "ms": ms,
    });
    event(run, second, "run_finished", &fields)
}

fn lines(events: &[Value]) -> String {
    events
        .iter()
        .flat_map(|event| [event.to_string(), "\n".to_owned()])
        .collect()
}

/// Two sessions; the first run stands in a part that was put aside, the last has no end.
fn recorded() -> Workplace {
    let place = Workplace::empty();
    let mut again = started(RUN_B, SESSION_1, 3, "two");
    again["retry_of"] = json!(RUN_A);
    let older = [
        started(RUN_A, SESSION_1, 1, "one\u{1b}[31m red\nline"),
        finished(RUN_A, 2, "answered", (3, 1), 1000.0),
        again,
    ];
    let newer = [
        finished(RUN_B, 4, "cancelled", (1, 2), 500.0),
        started(RUN_C, SESSION_2, 5, "three"),
    ];
    place.file(
        "data/audit.01a2b3c4-0002-7000-8000-0000000000ff.jsonl",
        lines(&older),
    );
    let broken = "{\"event\":\"run_started\", cut\nno json\n";
    place.file("data/audit.jsonl", lines(&newer) + broken);
    place
}

fn listed(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    json_lines(&output.stdout)
}

fn refused(place: &Workplace, args: &[&str]) -> String {
    let output = place.run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    assert!(output.stdout.is_empty());
    one_line(&output)
}

#[test]
fn runs_are_listed_newest_first_from_all_parts_of_the_log() {
    let place = recorded();
    let runs = listed(&place.run(&["runs", "--json"]));
    let ids: Vec<_> = runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [RUN_C, RUN_B, RUN_A]);
    let first = &runs[2];
    assert_eq!(first["session"], SESSION_1);
    assert_eq!(first["time"], "2026-01-02T03:04:01.000Z");
    assert_eq!(first["route"], "simple");
    assert_eq!(first["outcome"], "answered");
    assert_eq!((&first["calls"], &first["saved"]), (&json!(3), &json!(1)));
    // What a run that was broken off left undone was not saved.
    assert_eq!(runs[1]["outcome"], "cancelled");
    assert_eq!(runs[1]["calls"], json!(1));
    assert_eq!(runs[1]["saved"], Value::Null);
    assert_eq!(runs[1]["retry_of"], json!(RUN_A));
    assert_eq!(first["retry_of"], Value::Null);
    let exported = text(&place.run(&["export", RUN_B]).stdout);
    exported.must_hold(&format!("again, after run {RUN_A}"));
    for unknown in ["route", "outcome", "calls", "saved", "ms", "error"] {
        assert_eq!(runs[0][unknown], Value::Null, "{unknown}");
    }
}

#[test]
fn runs_are_a_table_of_short_ids_without_control_characters() {
    let output = recorded().run(&["runs"]);
    let table = text(&output.stdout);
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        cells
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let rows: Vec<String> = table.lines().map(cells).collect();
    assert_eq!(
        rows,
        [
            "id | time | route | outcome | calls | saved | question",
            "0000000c | 2026-01-02 03:04 | – | – | – | – | three",
            "0000000b | 2026-01-02 03:04 | simple | cancelled | 1 | – | two",
            "0000000a | 2026-01-02 03:04 | simple | answered | 3 | 1 | one red line",
        ]
    );
}

#[test]
fn runs_of_one_session_are_named_by_a_beginning_of_its_id() {
    let place = recorded();
    let runs = listed(&place.run(&["runs", "--json", "--session", "01a2b3c3"]));
    let questions = runs.iter().map(|run| run["question"].as_str().unwrap());
    let questions: Vec<_> = questions.collect();
    assert_eq!(questions, ["two", "one\u{1b}[31m red\nline"]);
    for (name, expected) in [
        ("01a2b3c", "fits 2 ids"),
        ("ff\u{1b}ff", "matches 'fff'"),
        ("", "''"),
    ] {
        let line = refused(&place, &["runs", "--session", name]);
        assert!(
            line.contains(expected) && line.contains("audit.jsonl"),
            "{line}"
        );
    }
}

#[test]
fn runs_without_a_log_are_none_and_say_so() {
    let place = Workplace::empty();
    let json = place.run(&["runs", "--json"]);
    assert!(json.status.success() && json.stdout.is_empty() && json.stderr.is_empty());
    let table = place.run(&["runs"]);
    assert!(table.status.success() && table.stdout.is_empty());
    assert!(one_line(&table).contains("no runs yet"));
}

#[test]
fn runs_that_were_asked_are_listed_as_they_went() {
    let demo = Workplace::with_demo();
    let emitted = demo.ask(&["hello"]);
    let runs = listed(&demo.run(&["runs", "--json"]));
    assert_eq!(runs.len(), 1);
    let end = emitted.last().unwrap();
    for (listed, expected) in [
        ("id", "run"),
        ("route", "complexity"),
        ("outcome", "outcome"),
        ("calls", "reasoning_calls"),
        ("saved", "calls_saved"),
        ("ms", "ms"),
    ] {
        assert_eq!(runs[0][listed], end[expected], "{listed}");
    }
    assert_eq!(runs[0]["question"], "hello");
}

#[test]
fn graph_takes_a_run_by_a_beginning_that_no_other_has() {
    let place = recorded();
    for name in [RUN_A, "01a2b3c4-0001", "0000000a"] {
        let drawn = text(&place.run(&["graph", name]).stdout);
        assert!(drawn.contains("one red line"), "{name}: {drawn}");
    }
    assert!(text(&place.run(&["graph", "last"]).stdout).contains("three"));
    let line = refused(&place, &["graph", "01a2"]);
    let expected = "give more of the one you mean: \
                0000000c \"three\", 0000000b \"two\", 0000000a \"one red line\"";
    assert!(line.contains("'01a2' fits 3 ids"), "{line}");
    assert!(line.ends_with(expected), "{line}");
    let line = refused(&place, &["--plain", "-c", "01a2b3c"]);
    let expected = "fits 2 ids";
    assert!(line.contains(expected), "{line}");
    let expected = ": 00000002 \"three\", 00000001 \"one red line\"";
    assert!(line.ends_with(expected), "{line}");
    let line = refused(&place, &["graph", SESSION_1]);
    assert!(line.contains("no run in"), "{line}");
}

fn hit(run: &str, second: u32, path_type: &str, rule: &str) -> Value {
    let fields = json!({"path_type": path_type, "rule_name": rule, "query": "q"});
    event(run, second, "fast_path_hit", &fields)
}

fn node(run: &str, second: u32, node: &str, ms: f64, tokens: Option<u64>) -> Value {
    let mut fields = json!({"node": node, "iteration": 0, "ms": ms, "reasoning_calls": 1});
    if let Some(tokens) = tokens {
        fields["prompt_tokens"] = json!(tokens);
        fields["completion_tokens"] = json!(0);
    }
    event(run, second, "node_finished", &fields)
}

#[test]
fn stats_sum_up_what_is_recorded() {
    let place = Workplace::empty();
    let mut end = finished(RUN_B, 8, "answered", (4, 2), 300.0);
    end["prompt_tokens"] = json!(70);
    end["completion_tokens"] = json!(30);
    let logged = [
        started(RUN_A, SESSION_1, 1, "one"),
        hit(RUN_A, 2, "simple_skip_grading", "simple"),
        node(RUN_A, 2, "plan", 10.0, None),
        finished(RUN_A, 2, "answered", (3, 1), 100.0),
        started(RUN_B, SESSION_1, 3, "two"),
        node(RUN_B, 4, "plan", 30.0, Some(70)),
        hit(RUN_B, 5, "rule_auto_approve", "few_context"),
        hit(RUN_B, 6, "rule_auto_approve", "few_context"),
        end,
        started(RUN_C, SESSION_2, 9, "three"),
        hit(RUN_C, 9, "chitchat", "chitchat"),
        finished(RUN_C, 9, "cancelled", (1, 2), 5.0),
        // The beginning of this one went with the oldest part.
        node("gone", 9, "plan", 9999.0, None),
        finished("gone", 9, "answered", (9, 9), 9999.0),
    ];
    let log = place.file("elsewhere.jsonl", lines(&logged));
    let output = place.run(&["stats", log.to_str().unwrap(), "--json"]);
    let stats = listed(&output).pop().unwrap();
    assert_eq!(stats["runs"], 3);
    let outcomes = json!({
        "answered": 2, "not_found": 0, "cancelled": 1, "failed": 0, "unfinished": 0,
    });
    assert_eq!(stats["outcomes"], outcomes);
    assert_eq!(
        stats["fast_path"],
        json!({"runs": 3, "hits": 4, "rate": 1.0})
    );
    let third = 1.0 / 3.0;
    assert_eq!(
        stats["by_rule_name"],
        json!([
            {"path_type": "chitchat", "rule_name": "chitchat", "runs": 1, "hits": 1, "rate": third},
            {"path_type": "simple_skip_grading", "rule_name": "simple", "runs": 1, "hits": 1, "rate": third},
            {"path_type": "rule_auto_approve", "rule_name": "few_context", "runs": 1, "hits": 2, "rate": third},
        ])
    );
    // Eight calls were made; what the cancelled run left undone was not saved.
    assert_eq!((&stats["calls"], &stats["saved"]), (&json!(8), &json!(3)));
    assert_eq!(
        stats["tokens"],
        json!({"runs": 1, "prompt": 70, "completion": 30, "estimated": false})
    );
    assert_eq!(stats["cost_usd"], Value::Null);
    assert_eq!(
        stats["latency"],
        json!({"count": 2, "median_ms": 200.0, "p95_ms": 300.0})
    );
    let plan = &stats["latency_by_node"][1];
    assert_eq!(plan["node"], "plan");
    assert_eq!(plan["median_ms"], json!(20.0));
    assert_eq!(plan["p95_ms"], json!(30.0));
    assert_eq!(stats["latency_by_node"][0]["median_ms"], Value::Null);

    let table = text(&place.run(&["stats", log.to_str().unwrap()]).stdout);
    for expected in [
        "3 runs: 2 answered, 1 cancelled",
        "calls: 8 made, 3 saved",
        "cost: –",
        "few_context",
    ] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    let synthesize = table
        .lines()
        .find(|line| line.starts_with("synthesize"))
        .unwrap();
    assert!(synthesize.ends_with("–       –"), "{table}");
    assert!(!table.contains("0.00"), "{table}");
}

#[test]
fn stats_of_nothing_are_null_and_a_missing_log_is_named() {
    let place = Workplace::empty();
    let stats = listed(&place.run(&["stats", "--json"])).pop().unwrap();
    assert_eq!(stats["runs"], 0);
    for none in ["calls", "saved", "cost_usd"] {
        assert_eq!(stats[none], Value::Null, "{none}");
    }
    assert_eq!(stats["fast_path"]["rate"], Value::Null);
    assert_eq!(stats["latency"]["median_ms"], Value::Null);
    let table = place.run(&["stats"]);
    assert!(table.status.success() && table.stdout.is_empty());
    assert!(one_line(&table).contains("no runs are recorded"));
    let line = refused(&place, &["stats", "none.jsonl"]);
    assert!(line.contains("there is no audit log none.jsonl"), "{line}");
}

#[test]
fn every_command_on_runs_reads_the_log_that_it_is_given() {
    let place = Workplace::empty();
    let run = [
        started(RUN_C, SESSION_2, 5, "three"),
        finished(RUN_C, 6, "answered", (3, 1), 1000.0),
    ];
    place.file("elsewhere.jsonl", lines(&run));
    place.file("note.md", "# A note\n");
    for (command, said) in [
        (&["runs"][..], "three"),
        (&["stats"], "1 run: 1 answered"),
        (&["graph", "last"], "three"),
        (&["export", "last"], "# three"),
        (&["replay", "--list"], "three"),
        (&["replay", "--json", "last"], "\"query\":\"three\""),
    ] {
        let output = place.run_well(&[command, &["--log", "elsewhere.jsonl"]].concat());
        text(&output.stdout).must_hold(said);
        let foreign = refused(&place, &[command, &["--log", "note.md"]].concat());
        assert!(foreign.contains("none of our events"), "{foreign}");
        let line = refused(&place, &[command, &["--log", "none.jsonl"]].concat());
        line.as_str().must_hold("there is no audit log none.jsonl");
    }
}

/// A run whose document and answer would like to be more than text.
fn hostile() -> Workplace {
    let place = Workplace::empty();
    let bad = "</p><img src=http://e/x> ![i](http://e/i) \u{1b}]0;t\u{7}# `x`";
    let item = |id: &str, source: &str, start: u32| {
        json!({
            "id": id, "source": source, "start_line": start, "end_line": start + 8, "tool": "hybrid_search",
            "score": 0.84, "bm25": 8.41, "lexical_rank": 2, "cosine": 0.62, "vector_rank": 1, "excerpt": bad,
        })
    };
    let of = |second, name: &str, fields: Value| event(RUN_A, second, name, &fields);
    let graded = json!({
        "scores": [{"id": "e1", "score": 0.9}, {"id": "e2", "score": 0.1}],
        "average": 0.9, "action": "GENERATE", "by": "grader",
    });
    let added = json!({"items": [item("e1", "a_b_*.md", 10), item("e2", "low.md", 1)]});
    let route = json!({"from": "grade_evidence", "to": "synthesize", "reason": "GENERATE"});
    let cited = json!({"n": 1, "id": "e1", "source": "a_b_*.md", "start_line": 10, "end_line": 18});
    let answer = json!({"text": format!("- So [1].\n- `<kept>` {bad}"), "citations": [cited]});
    let logged = [
        started(RUN_A, SESSION_1, 1, "what <b>is</b> it?"),
        of(
            2,
            "node_entered",
            json!({"node": "grade_evidence", "iteration": 0}),
        ),
        of(3, "evidence_added", added),
        of(4, "evidence_graded", graded),
        of(4, "evidence_removed", json!({"id": "e2", "score": 0.1})),
        node(RUN_A, 5, "grade_evidence", 12.5, None),
        of(5, "route_decided", route),
        of(
            6,
            "evidence_numbered",
            json!({"items": [{"n": 1, "id": "e1"}]}),
        ),
        of(
            7,
            "warning",
            json!({"code": "odd", "message": "<i>odd</i>"}),
        ),
        of(8, "answer_finished", answer),
        finished(RUN_A, 9, "answered", (4, 0), 1000.0),
        started(RUN_B, SESSION_1, 10, "and then?"),
    ];
    place.file("data/audit.jsonl", lines(&logged));
    place
}

#[test]
fn export_as_markdown_tells_the_run_and_escapes_what_documents_say() {
    let place = hostile();
    let output = place.run_well(&["export", RUN_A]);
    let markdown = text(&output.stdout);
    for expected in [
        "# what \\<b\\>is\\</b\\> it?\n",
        "2026-01-02 03:04 UTC · simple · answered · 4 calls · 0 saved · 1000 ms · m",
        "> - So [1].\n> - `<kept>` \\</p>\\<img src=http://e/x> !\\[i]\\(http://e/i) # `x`\n",
        "\n- \\[1\\] a\\_b\\_\\*.md:10-18\n",
        "1. grade\\_evidence · 12.5 ms · 1 call · GENERATE → synthesize\n",
        "graded: 2 items, average 0.90 by grader: GENERATE\n",
        "cited · grade 0.90 by grader · match 0.84 by hybrid\\_search (words \\#2 8.41, meaning \\#1 0.62)",
        "e2 low.md:1-9",
        "dropped · grade 0.10 by grader",
        "  > \\</p\\>\\<img src=http://e/x\\> \\!\\[i\\](http://e/i) \\# \\`x\\`\n",
        "- odd: \\<i\\>odd\\</i\\>\n",
    ] {
        assert!(markdown.contains(expected), "{expected}\n{markdown}");
    }
    assert!(
        !markdown.contains('\u{1b}') && !markdown.contains("and then"),
        "{markdown}"
    );
}

#[test]
fn export_tells_what_the_grader_did_not_look_at() {
    let place = Workplace::empty();
    let of = |second, name: &str, fields: Value| event(RUN_A, second, name, &fields);
    let item = json!({
        "id": "e1", "source": "a.md", "start_line": 1, "end_line": 9, "tool": "hybrid_search", "score": 0.8,
        "excerpt": "a",
    });
    let logged = [
        started(RUN_A, SESSION_1, 1, "why?"),
        of(
            2,
            "node_entered",
            json!({"node": "grade_evidence", "iteration": 0}),
        ),
        of(3, "evidence_added", json!({"items": [item]})),
        of(
            4,
            "evidence_graded",
            json!({
                "scores": [{"id": "e1", "score": 0.0, "not_looked_at": true}],
                "average": 0.0, "action": "RE_RETRIEVE", "by": "grader",
            }),
        ),
        of(
            4,
            "evidence_removed",
            json!({"id": "e1", "score": 0.0, "not_looked_at": true}),
        ),
        finished(RUN_A, 9, "not_found", (4, 0), 1000.0),
    ];
    place.file("data/audit.jsonl", lines(&logged));
    let markdown = text(&place.run(&["export", RUN_A]).stdout);
    assert!(
        markdown.contains("graded: 1 item, 1 not looked at, average")
            && markdown.contains("dropped · not looked at by grader")
            && !markdown.contains("0.00"),
        "{markdown}"
    );
    let run = listed(&place.run(&["export", RUN_A, "--format", "json"]));
    assert_eq!(run[0]["evidence"][0]["grade"], Value::Null);
}

#[test]
fn export_as_html_is_one_page_with_everything_escaped() {
    let place = hostile();
    let html = text(&place.run(&["export", RUN_A, "--format", "html"]).stdout);
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    let tags = [
        "<img", "<b>", "<i>", "<kept>", "<script", "<link", "src=\"", "href=",
    ];
    for tag in tags {
        assert!(!html.contains(tag), "{tag}: {html}");
    }
    for expected in [
        "<h1>what &lt;b&gt;is&lt;/b&gt; it?</h1>",
        "&lt;img src=http://e/x&gt;",
        "grade 0.90 by grader",
        "default-src &apos;none&apos;",
    ] {
        let expected = expected.replace("&apos;none&apos;", "'none'");
        assert!(html.contains(&expected), "{expected}: {html}");
    }
    assert!(!html.contains('\u{1b}'));
}

#[test]
fn export_takes_sessions_and_says_what_it_does_not_know() {
    let place = hostile();
    let output = place.run(&["export", SESSION_1, "--format", "json"]);
    let session = listed(&output).pop().unwrap();
    assert_eq!(session["schema"], 1);
    let runs = session["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    let (first, open) = (&runs[0], &runs[1]);
    assert_eq!(
        first["path"][0]["route"],
        json!({"to": "synthesize", "reason": "GENERATE"})
    );
    let items = first["evidence"].as_array().unwrap();
    assert_eq!(items[0]["n"], json!(1));
    assert_eq!(items[0]["cited"], json!(true));
    assert_eq!(items[1]["n"], Value::Null);
    assert_eq!(items[1]["standing"], json!("dropped"));
    assert_eq!(items[1]["grade"], json!(0.1));
    assert_eq!(items[1]["graded_by"], json!("grader"));
    assert_eq!(open["answer"], Value::Null);
    assert_eq!(open["outcome"], Value::Null);
    let markdown = text(&place.run(&["export", SESSION_1]).stdout);
    assert!(markdown.contains("# and then?") && markdown.contains("no end recorded"));
    assert!(refused(&place, &["export", "01a2b3c4"]).contains("fits 2 ids"));
    assert!(refused(&place, &["export", "ffff"]).contains("no run or session in"));
}

#[test]
fn export_of_a_real_run_is_masked_as_the_log_is() {
    let demo = Workplace::with_demo();
    demo.ask(&["What are the four rules? password=hunter2hunter2"]);
    for format in ["md", "html", "json"] {
        let output = demo.run(&["export", "last", "--format", format]);
        let written = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!written.contains("hunter2"), "{written}");
        for expected in ["four rules", "synthesize", "hybrid_search", "few_context"] {
            let expected = if format == "md" {
                expected.replace('_', "\\_")
            } else {
                expected.to_owned()
            };
            assert!(written.contains(&expected), "{expected}: {written}");
        }
    }
}

#[test]
fn help_and_completions_know_the_commands_of_recorded_runs() {
    let place = Workplace::empty();
    let help = text(&place.run(&["--help"]).stdout);
    let script = text(&place.run(&["completions", "bash"]).stdout);
    for command in ["runs", "stats", "export"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        assert!(
            script.contains(&format!("kb__agent__{command}"))
                || script.contains(&format!("kb__agent__subcmd__{command}"))
        );
        assert!(text(&place.run(&[command, "--help"]).stdout).contains("Usage: kb-agent "));
    }
}

#[test]
fn runs_take_the_width_of_the_terminal_and_one_line_each() {
    let place = recorded();
    let terminal = Terminal::start(&place.command(&["runs"]), 40, 12);
    let screen = terminal.wait_for_text("0000000a");
    let rows = screen.lines().filter(|row| !row.trim().is_empty());
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), 4, "{screen}");
    assert!(
        rows[0].starts_with("id        outcome    question"),
        "{screen}"
    );
    assert!(
        rows[3].starts_with("0000000a  answered   one red line"),
        "{screen}"
    );
    assert_eq!(terminal.end(), 0);
}

#[test]
fn replay_lists_runs_and_prints_the_events_of_one() {
    let place = recorded();
    let listed = text(&place.run(&["replay", "--list"]).stdout);
    assert_eq!(listed, text(&place.run(&["runs"]).stdout));
    let events = json_lines(&place.run(&["replay", "--json", "01a2b3c4-0001"]).stdout);
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["run_started", "run_finished"]);
    assert_eq!(events[0]["run"], RUN_A);
    let other = [
        started(RUN_C, SESSION_2, 5, "elsewhere"),
        finished(RUN_C, 6, "answered", (1, 0), 1.0),
    ];
    let log = place.file("other.jsonl", lines(&other));
    let log = log.to_str().unwrap();
    let events = json_lines(&place.run(&["replay", log, "--json", "last"]).stdout);
    assert_eq!(events[0]["query"], "elsewhere");
    assert!(text(&place.run(&["replay", log, "--list"]).stdout).contains("elsewhere"));
}

#[test]
fn replay_of_what_is_not_there_is_one_line() {
    let place = recorded();
    for (args, expected) in [
        (
            &["replay", "nothing.jsonl"][..],
            "no audit log nothing.jsonl",
        ),
        (&["replay", "--json", "ffff"], "no run in"),
        (&["replay", "--json", "01a2"], "fits 3 ids"),
    ] {
        let line = refused(&place, args);
        assert!(line.contains(expected), "{line}");
    }
    let line = refused(&Workplace::empty(), &["replay"]);
    assert!(line.contains("no runs are recorded"), "{line}");
    for args in [&["replay"][..], &["replay", RUN_A, "--json", RUN_B]] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        one_line(&output);
    }
}

#[test]
fn replay_opens_a_recorded_run_step_by_step_and_leaves_the_log_as_it_is() {
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    demo.ask(&["What are the four rules?"]);
    let before = demo.place().audit();
    let mut terminal = Terminal::start(&demo.command(&["replay"]), 120, 40);
    terminal.wait_for_text("replay 1 of ");
    terminal.press_until("\u{1b}[C", "replay 2 of ");
    let text = terminal.press_until("\u{1b}[F", "answered ·");
    assert!(text.contains("What are the four rules?"), "{text}");
    terminal.keys("q");
    assert_eq!(terminal.end(), 0);
    let first = before[0]["run"].as_str().unwrap();
    let mut terminal = Terminal::start(&demo.command(&["replay", first]), 100, 30);
    terminal.wait_for_text("hello");
    terminal.press_until("\u{3}", "Ctrl+C again leaves");
    terminal.keys("\u{3}");
    assert_eq!(terminal.end(), 0);
    assert_eq!(demo.place().audit(), before);
}

#[test]
fn ui_a_replay_shows_the_documents_that_are_still_there() {
    let place = Workplace::empty();
    let file = place.file(
        "kb/gate.md",
        "# Gates\n\nThe gates stay open for seven hours.\n",
    );
    place.file("kb/wall.md", "# Walls\n\nThe walls are of stone.\n");
    place.run_well(&["ask", "--kb", "kb", "How long do the gates stay open?"]);
    for is_there in [true, false] {
        if !is_there {
            std::fs::remove_file(&file).unwrap();
        }
        let command = place.command(&["replay", "--kb", "kb", "last"]);
        let mut terminal = Terminal::start(&command, 100, 30);
        terminal.wait_for_text("replay 1 of");
        terminal.press_until("\u{1b}[F", "■ replay");
        terminal.press_until("\u{1b}3", "▸Evidence");
        terminal.keys("\r");
        let said = if is_there {
            "# Gates"
        } else {
            "gate.md is not in this knowledge base"
        };
        terminal.wait_for("the document", |screen| {
            let contents = screen.contents();
            contents.contains("▸ Source gate.md") && contents.contains(said)
        });
        terminal.press_until("q", "▸Evidence");
        terminal.keys("q");
        assert_eq!(terminal.end(), 0);
    }
}

#[test]
fn r23_the_confidence_of_an_answer_is_listed_and_exported_where_it_was_measured() {
    let place = Workplace::empty();
    let answer = json!({
        "text": "One.", "citations": [], "confidence": 0.42, "confidence_level": "unsure",
    });
    let events = [
        started(RUN_A, SESSION_1, 1, "one"),
        event(RUN_A, 2, "answer_finished", &answer),
        finished(RUN_A, 3, "answered", (3, 1), 1000.0),
        started(RUN_B, SESSION_1, 4, "two"),
        finished(RUN_B, 5, "answered", (3, 1), 1000.0),
    ];
    place.file("data/audit.jsonl", lines(&events));
    let table = text(&place.run(&["runs"]).stdout);
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[1].contains("  answered  "), "{table}");
    assert!(rows[2].contains("  answered, look yourself  "), "{table}");
    let runs = listed(&place.run(&["runs", "--json"]));
    assert_eq!(runs[1]["confidence_level"], "unsure");
    assert!(runs[0].get("confidence_level").is_none());
    for format in ["md", "html"] {
        let exported = text(&place.run(&["export", RUN_A, "--format", format]).stdout);
        exported.must_hold("answered · look yourself · 3 ");
    }
    let exported = place.run(&["export", RUN_A, "--format", "json"]);
    let exported: Value = serde_json::from_slice(&exported.stdout).unwrap();
    assert_eq!(exported["runs"][0]["confidence"], 0.42);
}

#[test]
fn ui_times_are_those_of_the_clock_of_this_machine() {
    let place = recorded();
    let told = |args: &[&str]| {
        let output = place.command(args).env("TZ", "<+0530>-5:30").output();
        text(&output.unwrap().stdout)
    };
    let table = told(&["runs"]);
    assert!(table.contains("2026-01-02 08:34"), "{table}");
    let exported = told(&["export", RUN_A]);
    assert!(exported.contains("2026-01-02 08:34 +05:30"), "{exported}");
    // Programs are told UTC.
    let runs = told(&["runs", "--json"]);
    assert!(runs.contains("2026-01-02T03:04:01.000Z"), "{runs}");
}
