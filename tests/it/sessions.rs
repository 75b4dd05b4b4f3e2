//! Conversations that are gone on with: the real binary, and what it recorded.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, exports, json_lines, one_line};

const CTRL_C: &str = "\u{3}";

fn open(demo: &Demo, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(&demo.command(args), 160, 45);
    terminal.wait_for_text("38 docs");
    terminal
}

/// Leaves, and says what the last line names.
fn leave(mut terminal: Terminal) -> Option<String> {
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    let left = terminal.wait_for("the shell's screen", |screen| !screen.alternate_screen());
    let (code, last) = terminal.end_with_text();
    assert_eq!(code, 0, "{left}");
    let name = last
        .lines()
        .find_map(|line| line.strip_prefix("resume: ")?.split_once("kb-agent -c "));
    name.and_then(|(_, rest)| rest.split_whitespace().next().map(str::to_owned))
}

fn sessions(demo: &Demo) -> Vec<Value> {
    let log = demo.place().audit();
    let started = events(&log, "run_started");
    started
        .iter()
        .map(|start| start["session"].clone())
        .collect()
}

#[test]
fn a_conversation_is_resumed_by_the_line_that_is_printed_at_the_end() {
    let demo = Workplace::with_demo();
    assert_eq!(leave(open(&demo, &[])), None, "nothing was asked");
    let mut terminal = open(&demo, &[]);
    terminal.press_until("What are the four rules?\r", "saved 1");
    let name = leave(terminal).unwrap();
    assert!(name.len() >= 8, "{name}");

    let mut terminal = open(&demo, &["-c", &name]);
    let screen = terminal.wait_for_text("saved 1");
    for shown in [
        "What are the four rules?",
        "[1]",
        "skipped: simple",
        "run_finished",
        "Resumed: 1 run",
    ] {
        assert!(screen.contains(shown), "{shown}:\n{screen}");
    }
    // The next question is one of the same conversation, and about what was said before.
    terminal.press_until("and the second one?\r", "look yourself");
    assert_eq!(leave(terminal).as_ref(), Some(&name));
    let named = sessions(&demo);
    assert_eq!(named.len(), 2);
    assert_eq!(named[0], named[1]);
    let runs = json_lines(&demo.run(&["runs", "--json", "--session", &name]).stdout);
    assert_eq!(runs.len(), 2);

    // By one of its runs, and as the last.
    let run = runs[1]["id"].as_str().unwrap();
    for args in [&["-c", run][..], &["--continue"]] {
        let terminal = open(&demo, args);
        let screen = terminal.wait_for_text("Resumed: 2 runs");
        assert!(screen.contains("and the second one?"), "{screen}");
        assert_eq!(leave(terminal).as_ref(), Some(&name));
    }
}

/// A knowledge base in a folder whose name a shell would take apart, and nothing set.
fn heron() -> Workplace {
    Workplace::holding([("my docs/heron.md", "# Heron\n\nThe heron sleeps at noon.\n")])
}

/// The program over that base, started from `folder` within the place.
fn over_heron(place: &Workplace, args: &[&str], folder: &str) -> Terminal {
    let mut command = place.command(args);
    command
        .env_remove("KB_AGENT_DATA_DIR")
        .current_dir(place.path().join(folder));
    Terminal::start(&command, 160, 45)
}

/// Leaves, and says what is to be typed into a shell to come back.
fn left(mut terminal: Terminal) -> String {
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    terminal.wait_for("the shell's screen", |screen| !screen.alternate_screen());
    let (_, last) = terminal.end_with_text();
    let line = last.lines().find_map(|line| line.strip_prefix("resume: "));
    line.unwrap_or_else(|| panic!("{last}")).trim().to_owned()
}

/// What a shell makes of a line, in the same folder.
fn typed_into_a_shell(place: &Workplace, line: &str) -> Terminal {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_kb-agent"));
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .args(["-c", line])
        .current_dir(place.path())
        .env_clear()
        .env("HOME", place.path())
        .env("PATH", program.parent().unwrap());
    Terminal::start(&shell, 160, 45)
}

#[test]
fn ui_the_line_at_the_end_comes_back_to_the_same_session_and_the_same_base() {
    let place = heron();
    for args in [
        &["--data-dir", "my data", "--kb", "my docs"][..],
        &["--data-dir=my data", "my docs"],
    ] {
        let mut terminal = over_heron(&place, args, "");
        terminal.wait_for_text("1 doc ");
        terminal.press_until("When does the heron sleep?\r", "saved 1");
        let line = left(terminal);
        line.must_end_with(" --data-dir 'my data' --kb 'my docs'");
        // Another conversation begins within the same second or so.
        let ask = place
            .command(&["--data-dir", "my data", "--kb", "my docs", "ask", "hello"])
            .output()
            .unwrap();
        assert!(ask.status.success());

        let mut terminal = typed_into_a_shell(&place, &line);
        let screen = terminal.wait_for_text("Resumed: 1 run");
        screen.must_hold("The heron sleeps at noon");
        screen.must_lack("another knowledge base");
        terminal.press_until("]\r", "lines 1–3 of 3");
        assert_eq!(left(terminal), line);
    }
}

#[test]
fn ui_a_session_over_another_base_says_so_and_calls_nothing_removed() {
    let place = heron();
    let data = place.data();
    let data = data.to_str().unwrap();
    place.file("other/gate.md", "# The gate\n\nThe gate opens at seven.\n");
    let mut terminal = over_heron(&place, &["--data-dir", data, "my docs"], "");
    terminal.wait_for_text("1 doc ");
    terminal.press_until("When does the heron sleep?\r", "saved 1");
    left(terminal);
    let again = ["--continue", "--data-dir", data, "other"];
    let mut terminal = over_heron(&place, &again, "");
    terminal.wait_for_text("holds none of the");
    let screen = terminal.press_until("]\r", "is not in this knowledge base");
    assert!(screen.contains("or of another one"), "{screen}");
    left(terminal);
}

#[test]
fn a_conversation_that_is_not_there_is_one_line() {
    let demo = Workplace::with_demo();
    let refused = |args: &[&str]| {
        let mut terminal = Terminal::start(&demo.command(args), 160, 45);
        let text = terminal.wait_for("its end", |screen| screen.contents().contains("kb-agent: "));
        terminal.keys("");
        let (code, _) = terminal.end_with_text();
        (code, text.replace('\n', ""))
    };
    let (code, line) = refused(&["--continue"]);
    assert_eq!(code, 1);
    assert!(line.contains("no conversation is recorded"), "{line}");
    demo.ask(&["hello"]);
    let (code, line) = refused(&["-c", "zz\u{1b}[2J"]);
    assert_eq!(code, 1);
    assert!(line.contains("matches 'zz'"), "{line}");
    let output = demo.run(&["-c", "x", "runs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("without a command"));
    let output = demo.run(&["-c", "x", "--continue"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_conversation_is_open_in_one_window_at_a_time() {
    let demo = Workplace::with_demo();
    let mut first = open(&demo, &[]);
    first.press_until("hello\r", "saved 3");
    let second = Terminal::start(&demo.command(&["--continue"]), 160, 45);
    second.wait_for_text("it is open in another kb-agent");
    assert_eq!(second.end_with_text().0, 1);
    leave(first);
}

/// What the list of sessions shows in its first rows.
fn listed(terminal: &mut Terminal) -> String {
    terminal.keys("\u{13}");
    terminal.wait_for("the list", |screen| {
        let contents = screen.contents();
        contents.contains("Sessions · local times") && !contents.contains("reading the audit log")
    })
}

/// What follows an Escape at once would be a key with Alt.
fn closed(terminal: &Terminal) {
    terminal.wait_for("no window", |screen| {
        let contents = screen.contents();
        !contents.contains("Sessions ·") && !contents.contains("Earlier questions")
    });
}

#[test]
fn conversations_are_named_exported_deleted_and_resumed_in_place() {
    let demo = Workplace::with_demo();
    for question in ["What are the four rules?\n", "hello\n"] {
        assert!(demo.piped(&["--plain"], question).status.success());
    }
    let mut terminal = open(&demo, &[]);
    terminal.press_until("What is corrective grading?\r", "saved 1");
    let list = listed(&mut terminal);
    assert!(list.contains("● What is corrective grading?"), "{list}");
    // A name, and a file.
    terminal.press_until("\u{1b}[B\u{12}small talk\r", "small talk  hello");
    let screen = terminal.press_until("\u{5}", "Exported to ");
    let files = std::fs::read_dir(exports()).unwrap();
    let names = files.map(|entry| entry.unwrap().path());
    let exported = names
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .find(|text| text.starts_with("# hello"));
    let exported = exported.unwrap_or_else(|| panic!("{screen}"));
    assert!(exported.contains("## Path"), "{exported}");
    // Resumed in place: the panes show it, and the next question belongs to it.
    let screen = terminal.press_until("fourrules\r", "Resumed: 1 run");
    assert!(screen.contains("auto-approve rules are tried"), "{screen}");
    assert!(!screen.contains("corrective"), "{screen}");
    terminal.press_until("and the second one?\r", "look yourself");
    let log = demo.place().audit();
    let started = events(&log, "run_started");
    assert_eq!(started[3]["session"], started[0]["session"]);
    // Deleted from the list, and nowhere else.
    listed(&mut terminal);
    terminal.press_until("smalltalk\u{18}", "The audit log keeps it. y/n");
    terminal.keys("y\u{1b}");
    terminal.wait_for("the list without it", |screen| {
        let contents = screen.contents();
        contents.contains("> ▏") && !contents.contains("small talk")
    });
    terminal.keys("\u{1b}");
    closed(&terminal);
    // Nor is it recalled.
    terminal.keys("\u{12}");
    terminal.wait_for("earlier questions", |screen| {
        let contents = screen.contents();
        contents.contains("Earlier questions") && contents.contains("What is corrective grading?")
    });
    terminal.keys("\u{1b}");
    closed(&terminal);
    leave(terminal);
    let runs = json_lines(&demo.run(&["runs", "--json"]).stdout);
    assert_eq!(runs.len(), 4);
    let mut terminal = open(&demo, &[]);
    let list = listed(&mut terminal);
    // Beside the window stand questions to try.
    let rows = list.lines().filter(|line| line.contains(" answered "));
    let is_there = |row: &str| row.contains("hello") || row.contains("small talk");
    assert!(
        rows.clone().count() > 0 && !rows.clone().any(is_there),
        "{list}"
    );
    terminal.keys("\u{1b}");
    closed(&terminal);
    terminal.press_until("\u{12}second\r", "> and the second one?");
    leave(terminal);
}
