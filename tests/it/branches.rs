//! An earlier question that is edited: the conversation forks, and every branch is kept.

use kb_agent::domain::NodeName;
use serde_json::Value;

use crate::scripted_endpoint::{Recorded, ScriptedEndpoint};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, text};

const ALT_UP: &str = "\u{1b}[1;3A";
const ALT_LEFT: &str = "\u{1b}[1;3D";
const ALT_RIGHT: &str = "\u{1b}[1;3C";
const CTRL_U: &str = "\u{15}";

fn open(demo: &Demo, args: &[&str], columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::start(&demo.command(args), columns, rows);
    terminal.wait_for_text("38 docs");
    terminal
}

/// The first events of all runs.
fn started(demo: &Demo) -> Vec<Value> {
    let log = demo.place().audit();
    events(&log, "run_started").into_iter().cloned().collect()
}

#[test]
fn ui_an_edited_question_begins_a_branch_and_both_are_shown_and_resumed() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, &[], 160, 45);
    terminal.press_until("What are the four rules?\r", "saved 1");
    terminal.press_until("hello\r", "run 2 of 2");
    terminal.wait_for_text("saved 3");
    // Escape leaves, and what was typed before is back.
    terminal.press_until(ALT_UP, "Panes show run 1 of 2");
    terminal.press_until("\r", "letters act on the answer");
    terminal.press_until("e", "editing question 1 · Esc leaves");
    let screen = terminal.press_until("\u{1b}", "ask, / for commands");
    screen.must_lack("edit 1");
    // A later question goes with the branch that it was asked in.
    terminal.press_until("/edit 1\r", "edit 1 > What are the four rules?");
    terminal.press_until(" Name them.\r", "branch 2 of 2");
    let screen = terminal.wait_for_text("run 1 of 1");
    screen.must_hold("What are the four rules? Name them.");
    screen.must_lack("you   hello");
    terminal.press_until("thanks!\r", "run 2 of 2");
    terminal.wait_for_text("saved 3");
    let screen = terminal.press_until(ALT_LEFT, "Branch 1 of 2: What are the four rules?");
    screen.must_hold("you   hello");
    screen.must_lack("thanks!");
    terminal.press_until("good morning\r", "run 3 of 3");
    terminal.wait_for_text("saved 3 · ");
    let screen = terminal.press_until("/export\r", "Exported to ");
    screen.must_hold("session-");
    terminal.leave();

    let started = started(&demo);
    let [rules, hello, edited, thanks, morning] = &started[..] else {
        panic!("{started:?}");
    };
    assert_eq!(edited["edit_of"], rules["run"]);
    assert_eq!(morning["after"], hello["run"]);
    for plain in [rules, hello, thanks] {
        assert_eq!(
            (&plain["edit_of"], &plain["after"]),
            (&Value::Null, &Value::Null)
        );
    }
    let session = rules["session"].as_str().unwrap();
    let exported = text(&demo.run_well(&["export", session]).stdout);
    exported.must_hold("branch 1 of 2");
    exported.must_hold("branch 2 of 2");
    exported.must_hold("edited, in the place of run");

    for (columns, rows) in [(160, 45), (80, 24), (60, 20)] {
        let mut terminal = open(&demo, &["--continue"], columns, rows);
        let screen = terminal.wait_for_text("good morning");
        screen.must_lack("thanks!");
        terminal.press_until(ALT_RIGHT, "Branch 2 of 2");
        terminal.wait_for_text("branch 2 of 2 · Alt+← Alt+→ show another");
        terminal.press_until("\u{1b}[1;5F", "thanks!");
        terminal.leave();
    }
    // By a run of a branch that is not the last one.
    let run = edited["run"].as_str().unwrap();
    let terminal = open(&demo, &["-c", run], 160, 45);
    terminal
        .wait_for_text("branch 2 of 2")
        .must_lack("good morning");
    terminal.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_sent_with_what_was_said_in_its_branch_alone() {
    let endpoint = ScriptedEndpoint::start().await;
    let reply = r#"{"complexity": "chitchat", "reply": "Fine."}"#;
    for _ in 0..6 {
        endpoint.stream(NodeName::AnalyzeAndRoute, reply);
    }
    let demo = Workplace::with_demo();
    let open = |args: &[&str]| {
        let mut command = demo.command(args);
        command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
        let mut terminal = Terminal::start(&command, 160, 45);
        terminal.wait_for_text("38 docs");
        terminal.press_until("/route chitchat\r", "> chitchat");
        terminal
    };
    // The panes show the run once it has begun; its last event is its end.
    let ask = |terminal: &mut Terminal, question: &str, begun: &str| {
        terminal.keys(format!("{question}\r"));
        terminal.wait_for(question, |screen| {
            let shown = screen.contents();
            shown.contains(begun) && shown.contains("run_finished")
        });
    };
    let mut terminal = open(&[]);
    ask(&mut terminal, "alpha here", "run 1 of 1");
    ask(&mut terminal, "beta here", "run 2 of 2");
    terminal.press_until("/edit 2\r", "edit 2 > ");
    terminal.keys(CTRL_U);
    ask(&mut terminal, "gamma here", "branch 2 of 2");
    terminal.press_until("/branch\r", "Branch 1 of 2: beta here");
    ask(&mut terminal, "delta here", "run 3 of 3");
    terminal.leave();
    // The same conversation later.
    let mut terminal = open(&["--continue"]);
    terminal.press_until("/branch\r", "Branch 2 of 2: gamma here");
    ask(&mut terminal, "epsilon here", "run 3 of 3");
    terminal.leave();
    let started = started(&demo);
    let sent = endpoint.requests().await;
    let holds = |at: usize| -> Vec<&str> {
        let of_run = |request: &&Recorded| started[at]["run"] == *request.run;
        let body = sent.iter().find(of_run).unwrap().body.to_string();
        let words = ["alpha", "beta", "gamma", "delta", "epsilon"];
        words
            .into_iter()
            .filter(|word| body.contains(word))
            .collect()
    };
    assert_eq!(holds(1), ["alpha", "beta"]);
    assert_eq!(holds(2), ["alpha", "gamma"]);
    assert_eq!(holds(3), ["alpha", "beta", "delta"]);
    assert_eq!(holds(4), ["alpha", "gamma", "epsilon"]);
    assert_eq!(started[4]["after"], started[2]["run"]);
}
