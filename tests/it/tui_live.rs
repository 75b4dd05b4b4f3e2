//! The whole program as a person meets it: the real binary in a pseudo-terminal.

use std::fs::{self, File};
use std::time::Duration;

use kb_agent::domain::NodeName;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, free_address};

const ESC: &str = "\u{1b}";
const CTRL_C: &str = "\u{3}";

fn open(demo: &Demo, columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::start(&demo.command(&[]), columns, rows);
    terminal.wait_for_text("38 docs");
    terminal
}

#[test]
fn a_question_is_answered_and_its_path_shown() {
    let demo = Workplace::with_demo();
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut terminal = open(&demo, columns, rows);
        terminal.keys("What is corrective grading?\r");
        if rows < 30 {
            // An answer that is longer than the pane is shown from its beginning.
            terminal.wait_for_text("goes on below");
            terminal.keys("\u{1b}[1;5F");
        }
        let screen = terminal.wait_for_text("saved 1");
        assert!(screen.contains("[1]"), "{columns}x{rows}:\n{screen}");
        assert!(screen.contains("offline"), "{columns}x{rows}:\n{screen}");
        if columns == 160 {
            for node in NodeName::ALL {
                assert!(screen.contains(node.as_str()), "no {node}:\n{screen}");
            }
            assert!(screen.contains("skipped"), "{screen}");
        }
        terminal.leave();
    }
    assert_eq!(events(&demo.place().audit(), "run_finished").len(), 3);
}

#[test]
fn ui_the_first_picture_waits_for_no_index_and_one_that_cannot_be_opened_is_one_line() {
    let place = Workplace::holding([(
        "kb/gate.md",
        "# Gates\n\nThe gates stay open for seven hours.\n",
    )]);
    place.run_well(&["index"]);
    // To be made anew at the start, which another process holds up for longer than it is waited for.
    let home = fs::read_dir(place.data().join("index")).unwrap();
    let home = home.map(|entry| entry.unwrap().path()).next().unwrap();
    let formats = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap());
    for format in formats.filter(|entry| entry.file_type().unwrap().is_dir()) {
        fs::remove_dir_all(format.path()).unwrap();
    }
    let held = File::options()
        .write(true)
        .open(home.join("writer.lock"))
        .unwrap();
    held.lock().unwrap();
    let terminal = Terminal::start(&place.command(&[]), 100, 30);
    let (code, written) = terminal.end_with_written();
    assert!(written.contains("Reading the documents"), "{written}");
    let (_, last) = written.rsplit_once("\u{1b}[?1049l").unwrap();
    assert_eq!((code, last.trim().lines().count()), (1, 1), "{last}");
    assert!(last.contains("another kb-agent"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_cancels_a_run_half_way_and_the_next_one_works() {
    let endpoint = ScriptedEndpoint::start().await;
    let plan = r#"{"complexity": "complex", "sub_questions": ["a?", "b?"]}"#;
    endpoint
        .stream(NodeName::AnalyzeAndRoute, plan)
        .stream(
            NodeName::AnalyzeAndRoute,
            r#"{"complexity": "chitchat", "reply": "Still here."}"#,
        )
        .say(
            NodeName::Plan,
            Reply::streamed("[]").after(Duration::from_mins(10)),
        );
    let demo = Workplace::with_demo();
    let mut command = demo.command(&[]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal.keys("what hangs?\r");
    terminal.wait_for("the plan running", |screen| {
        let contents = screen.contents();
        contents
            .lines()
            .any(|line| line.contains("analyze_and_route") && line.contains("1 call"))
    });
    terminal.press_until(ESC, "cancelled");
    terminal.press_until("thanks!\r", "Still here.");
    terminal.leave();
    let log = demo.place().audit();
    let outcomes: Vec<_> = events(&log, "run_finished")
        .into_iter()
        .map(|end| end["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["cancelled", "answered"]);
}

#[test]
fn a_resize_to_almost_nothing_and_back_is_survived() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, 160, 45);
    for (columns, rows) in [(10, 3), (1, 1), (300, 100), (39, 9), (160, 45)] {
        terminal.resize(columns, rows);
    }
    terminal.press_until("hello\r", "saved 3");
    terminal.resize(10, 3);
    terminal.resize(120, 40);
    terminal.wait_for_text("saved 3");
    terminal.leave();
}

#[test]
fn a_pasted_novel_is_kept_and_never_sent_by_its_newlines() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, 120, 40);
    let line = "It was a dark and stormy night; the rain fell in torrents.\n";
    let novel = line.repeat(100_000 / line.len()) + "The End of the Novel";
    terminal.paste(&novel);
    terminal.wait_for_text("The End of the Novel");
    leave_with_text(terminal);
    assert!(!demo.place().audit_log().exists() || demo.place().audit().is_empty());
}

/// The first Ctrl+C clears the text, the second leaves; a third would be a signal to what has left the terminal.
fn leave_with_text(mut terminal: Terminal) {
    for _ in 0..2 {
        terminal.keys(CTRL_C);
    }
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_document_full_of_escape_sequences_repaints_nothing() {
    let place = Workplace::empty();
    let evil = "# Gate\n\nThe gate\u{1b}[2J\u{1b}[31m threshold \u{1b}]0;owned\u{7}is \u{9b}5;1Hseven\u{1b}[?1049l and \u{1b}]52;c;ZXZpbA==\u{7}no more.\n";
    place.file("kb/evil.md", evil);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 140, 40);
    terminal.wait_for_text("1 doc");
    terminal.keys("What is the gate threshold?\r");
    let screen = terminal.wait_for("the answer", |screen| {
        assert!(screen.alternate_screen());
        screen.contents().contains("saved 1")
    });
    assert!(screen.contains("seven and no more."), "{screen}");
    terminal.leave();
}

#[cfg(unix)]
#[test]
fn the_terminal_is_given_back_on_a_signal() {
    let demo = Workplace::with_demo();
    for signal in ["TERM", "INT", "HUP"] {
        let terminal = open(&demo, 100, 30);
        terminal.signal(signal);
        terminal.end();
    }
}

#[cfg(unix)]
#[test]
fn a_kill_is_reported_at_the_next_start() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let endpoint = runtime.block_on(async {
        let endpoint = ScriptedEndpoint::start().await;
        endpoint.say(
            NodeName::AnalyzeAndRoute,
            Reply::streamed("{}").after(Duration::from_mins(10)),
        );
        endpoint
    });
    let demo = Workplace::with_demo();
    let mut command = demo.command(&[]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal.keys("what hangs?\r");
    terminal.wait_for("the audit pane", |screen| {
        screen.contents().contains("node_entered")
    });
    terminal.kill();
    let log = demo.place().audit();
    assert_eq!(
        events(&log, "node_entered").len(),
        1,
        "what was shown is on disk"
    );
    let next = open(&demo, 140, 40);
    next.wait_for_text("interrupted");
    next.leave();
    assert_eq!(
        events(&demo.place().audit(), "run_finished")[0]["error"],
        "interrupted"
    );
}

#[test]
fn an_endpoint_that_is_not_there_is_reported_at_the_first_question_and_not_before() {
    let address = free_address();
    let demo = Workplace::with_demo();
    let mut command = demo.command(&[]);
    command.env("KB_AGENT_LLM_BASE_URL", format!("http://{address}/v1"));
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal.wait_for_text("model not known yet");
    terminal.keys("hello\r");
    terminal.wait_for_text(&format!(
        "failed: cannot reach {address}: connection refused"
    ));
    terminal.wait_for_text("failed before the first node");
    let screen = terminal.wait_for_text("/retry asks again · kb-agent doctor says why");
    assert!(screen.contains("no model reached"), "{screen}");
    assert!(!screen.contains("not known yet"), "{screen}");
    terminal.leave();
    let log = demo.place().audit();
    assert_eq!(events(&log, "run_finished")[0]["outcome"], "failed");
}
