//! Plain mode: the real binary in a pipe, and in a terminal.

use std::time::Duration;

use kb_agent::domain::NodeName;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, text};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn assert_plain(said: &str) {
    for c in said.chars() {
        let is_drawn = ('\u{2500}'..='\u{25ff}').contains(&c);
        assert!(!is_drawn && (!c.is_control() || c == '\n'), "{c:?}: {said}");
    }
}

#[test]
fn questions_from_a_pipe_are_answered_with_their_paths_in_lines() {
    let demo = Workplace::with_demo();
    let lines =
        "hello\n\nWhat is the difference between REFINE and RE_RETRIEVE?\n/sources\n/sources 1\n";
    for args in [&["--plain"][..], &[]] {
        let output = demo.piped(args, lines);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
        let said = text(&output.stdout);
        assert_plain(&said);
        for wanted in [
            "Question: hello\n",
            "  fast path: chitchat by chitchat\n",
            "Answered · offline, extractive · chitchat · 1 step, 3 saved",
            "Question: What is the difference between REFINE and RE_RETRIEVE?\n",
            "Node analyze_and_route.\n",
            "complex → plan\n",
            "  hybrid_search “",
            " by grader: GENERATE\n",
            "GENERATE → synthesize\n",
            "Answer: ",
            "\n[1] ",
            ": cited · grade ",
            ", lines ",
        ] {
            assert!(said.contains(wanted), "no {wanted:?} in\n{said}");
        }
    }
    assert_eq!(events(&demo.place().audit(), "run_finished").len(), 4);
}

#[test]
fn quiet_lines_are_the_answers_alone() {
    let demo = Workplace::with_demo();
    let output = demo.piped(&["--quiet"], "hello\n/route simple\nWhat is REFINE?\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = demo.place().audit();
    let answers = events(&log, "answer_finished");
    let answers = answers
        .iter()
        .map(|answer| answer["text"].as_str().unwrap());
    let answers: Vec<&str> = answers.collect();
    let said = text(&output.stdout);
    let expected = format!(
        "{}\nRoute for new questions: simple\n{}\n",
        answers[0], answers[1]
    );
    assert_eq!(said, expected);
}

#[test]
fn ui_rounds_are_counted_by_searches_and_the_answer_is_in_none() {
    let demo = Workplace::with_demo();
    let question = "How do I bake bread, and how long does it rise?\n";
    let said = text(&demo.piped(&["--plain"], question).stdout);
    let graded = said.matches("Node grade_evidence").count();
    assert!(graded > 1, "{said}");
    said.must_hold(&format!("Node grade_evidence, round {graded}.\n"));
    assert!(said.contains("Node synthesize.\n"), "{said}");
    let report = text(&demo.run(&["export", "last"]).stdout).replace('\\', "");
    report.must_hold(&format!("grade_evidence, round {graded}"));
    report.must_hold("synthesize");
    report.must_lack("synthesize, round");
}

#[test]
fn the_first_question_of_an_empty_data_folder_is_answered_from_the_files() {
    let place = Workplace::holding([("kb/gate.md", "# The gate\n\nThe gate opens at seven.\n")]);
    let mut command = place.command(&["--plain", "kb"]);
    let questions = place.file("questions", "When does the gate open?\n");
    command.stdin(std::fs::File::open(questions).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    said.must_hold("opens at seven");
    said.must_hold("\n[1] gate.md:");
}

#[test]
fn what_cannot_be_done_is_one_line_and_the_next_question_is_answered() {
    let demo = Workplace::with_demo();
    let long = "x".repeat(70_000);
    let lines = format!(
        "/stats\n/edit 1 hello\n/sources 3\n/route fast\n{long}\n/help\n/route simple\nWhat is \
         REFINE?\n/quit\nhello\n"
    );
    let output = demo.piped(&["--plain"], &lines);
    assert_eq!(output.status.code(), Some(0));
    let complaints = text(&output.stderr);
    let wanted = [
        "there is no /stats in lines: /help lists what there is; a shell has kb-agent stats, runs,",
        "there is no /edit in lines",
        "there is no evidence 3",
        "/route takes auto, simple, complex or chitchat",
        "longer than 64 kB",
    ];
    assert_eq!(complaints.lines().count(), wanted.len(), "{complaints}");
    for (complaint, wanted) in complaints.lines().zip(wanted) {
        complaint.must_hold(wanted);
    }
    let said = text(&output.stdout);
    said.must_hold("/sources [NUMBER]: the evidence of the last answer");
    said.must_hold("extractive · simple · ");
    said.must_lack("Question: hello");
}

fn typing(demo: &Demo) -> Terminal {
    let mut command = demo.command(&[]);
    command.env("TERM", "dumb");
    let terminal = Terminal::start(&command, 100, 40);
    terminal.wait_for_text("ask>");
    terminal
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_lines_and_no_escape_sequence() {
    let demo = Workplace::with_demo();
    let mut terminal = typing(&demo);
    terminal.press_until("hello\n", "3 saved");
    terminal.press_until("/help\n", "/route auto|simple|complex|chitchat:");
    terminal.keys(CTRL_D);
    let (code, written) = terminal.end_with_written();
    assert_eq!(code, 0);
    assert!(!written.contains('\u{1b}'), "{written:?}");
    assert!(
        written.contains("kb-agent: resume: ") && written.contains("kb-agent --plain -c "),
        "{written:?}"
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_answer_and_twice_leaves() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let hangs = Reply::streamed("{}").after(Duration::from_mins(10));
    let endpoint = runtime.block_on(async {
        let endpoint = ScriptedEndpoint::start().await;
        endpoint.say(NodeName::AnalyzeAndRoute, hangs);
        endpoint
    });
    let demo = Workplace::with_demo();
    let mut command = demo.command(&["--plain"]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let mut terminal = Terminal::start(&command, 100, 40);
    terminal.wait_for_text("ask>");
    terminal.press_until("what hangs?\n", "Node analyze_and_route.");
    terminal.press_until(CTRL_C, "Stopped · ");
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 0);
    let log = demo.place().audit();
    assert_eq!(events(&log, "run_finished")[0]["outcome"], "cancelled");
}

#[test]
fn the_demo_walks_every_route_in_lines() {
    let place = Workplace::empty();
    let output = place.run(&["demo", "--plain"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert_plain(&said);
    for wanted in [
        "Small talk goes straight to the answer",
        "REFINE → plan",
        "fast path: rule_auto_approve by read_file",
        "Nothing was found",
    ] {
        assert!(said.contains(wanted), "no {wanted:?} in\n{said}");
    }
    assert_eq!(events(&place.audit(), "run_finished").len(), 7);
    let session = events(&place.audit(), "run_started")[0]["session"].clone();
    let names = std::fs::read(place.data().join("audit.jsonl.sessions")).unwrap();
    let names: serde_json::Value = serde_json::from_slice(&names).unwrap();
    let name = &names["sessions"][session.as_str().unwrap()]["name"];
    assert_eq!(name, "demo");
}

#[test]
fn the_demo_walks_by_itself_until_a_key_is_pressed() {
    let place = Workplace::empty();
    let mut terminal = Terminal::start(
        place.command(&["demo"]).env("KB_AGENT_SOURCE", "/nowhere"),
        140,
        40,
    );
    terminal.wait_for_text("Small talk goes straight to the answer");
    terminal.wait_for_text("saved 3");
    terminal.wait_for_text("What are the four rules?");
    terminal.press_until("x", "The demo is left.");
    terminal.press_until("hello again\r", "hello again");
    terminal.keys([CTRL_C, CTRL_C, CTRL_C].concat());
    let (code, last) = terminal.end_with_text();
    assert_eq!(code, 0);
    let line = last.lines().find_map(|line| line.strip_prefix("resume: "));
    let line = line.unwrap_or_else(|| panic!("{last}"));
    assert!(line.starts_with("kb-agent -c "), "{line}");
    assert!(!line.contains("--kb"), "{line}");
}
