//! Filters in a question: `"these words"`, `-word`, `file:`, `type:`, `after:`, `before:`, `tag:`.

use std::fs::{File, FileTimes};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use kb_agent::agent::ports::Toolbox;
use kb_agent::domain::ToolCall;
use serde_json::Value;

use crate::kb_toolbox::{calls, sources, toolbox};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines, one_line, text};

/// Four documents about one thing; the last was written long ago.
fn place() -> Workplace {
    let place = Workplace::empty();
    for (name, content) in table![
        "house/lease.md", "---\ndate: 2026-01-12\ntags: [home, money/rent]\n---\n# Lease\n\nThe rent of the house is 900 a month, by the blue\ngreen plan. See PROJ-7.\n";
        "house/draft.md", "# Draft\n\nDate: 2026-03-01\n\nThe rent of the house in the draft is 800, not the green blue plan. See PROJ-7. #home\n";
        "garden/plot.txt", "Plot\n\nThe rent of the garden plot is 40 a month, paid in spring. See PROJ-7.\n";
        "old notes.md", "# Notes\n\nThe rent was 700 in those days. See PROJ-7.\n";
    ] {
        place.file(&format!("kb/{name}"), content);
    }
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 40);
    let old = File::options()
        .write(true)
        .open(place.path().join("kb/old notes.md"))
        .unwrap();
    old.set_times(FileTimes::new().set_modified(long_ago))
        .unwrap();
    place
}

const ALL: [&str; 4] = [
    "garden/plot.txt",
    "house/draft.md",
    "house/lease.md",
    "old notes.md",
];
const DRAFT: &str = ALL[1];
const LEASE: &str = ALL[2];

#[tokio::test(flavor = "multi_thread")]
async fn words_that_only_stand_in_what_is_left_out_are_absent() {
    let place = place();
    let all = toolbox(&place);
    for (filters, word, is_absent) in [
        ("", "spring", false),
        ("\"blue green\"", "spring", true),
        ("\"blue green\"", "plan", false),
        ("-plot", "spring", true),
        ("-plot", "plan", false),
    ] {
        let narrowed = all.narrow(&format!("the rent {filters}")).await.unwrap();
        let tools: &dyn Toolbox = match &narrowed {
            Some(narrowed) => &*narrowed.tools,
            None => &all,
        };
        let absent = tools.absent_words(&[word.to_owned()]).await;
        assert_eq!(absent.is_empty(), !is_absent, "{filters} {word}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_filters_hold_for_every_tool() {
    let place = place();
    let all = toolbox(&place);
    for (filters, left) in [
        ("\"Blue green\"", &[LEASE][..]),
        ("-draft", &[ALL[0], LEASE, ALL[3]]),
        ("file:house/", &[DRAFT, LEASE]),
        ("file:*.txt", &[ALL[0]]),
        ("file:\"old n\" file:plot", &[ALL[0], ALL[3]]),
        ("type:markdown", &[DRAFT, LEASE, ALL[3]]),
        ("type:txt", &[ALL[0]]),
        ("before:2012", &[ALL[3]]),
        ("after:2026-01 before:2026-02", &[LEASE]),
        ("after:2026-01-13 file:house", &[DRAFT]),
        ("tag:home", &[DRAFT, LEASE]),
        ("tag:#Money", &[LEASE]),
        ("tag:home -draft @house/", &[LEASE]),
    ] {
        let narrowed = all
            .narrow(&format!("the rent {filters}"))
            .await
            .unwrap()
            .unwrap();
        // What a word leaves out is told.
        let told = filters.split(' ').filter(|word| word.starts_with('-'));
        let told = told.count();
        assert_eq!(narrowed.remarks.len(), told, "{:?}", narrowed.remarks);
        assert!(!narrowed.filters.is_empty());
        for call in calls() {
            let found = narrowed.tools.run(&call, None).await.unwrap();
            let found = sources(&found);
            assert!(
                found.iter().all(|source| left.contains(source)),
                "{filters} {call:?}: {found:?}"
            );
            // What finds files first need not bring them all, and what brings single lines may hold no phrase.
            match call {
                ToolCall::GraphRelated { .. } => {}
                ToolCall::LocalFileQa { .. } => assert!(!found.is_empty(), "{filters} {call:?}"),
                _ => assert_eq!(found, left, "{filters} {call:?}"),
            }
        }
    }
    let narrowed = all.narrow("rent -\"blue green\"").await.unwrap().unwrap();
    for call in calls() {
        let found = narrowed.tools.run(&call, None).await.unwrap();
        let is_list = matches!(call, ToolCall::LocalFileQa { .. });
        assert!(is_list || sources(&found).contains(&DRAFT), "{call:?}");
        let held = found
            .iter()
            .filter(|item| item.text.contains("blue\ngreen"));
        assert_eq!(held.count(), 0, "{call:?}");
    }
    let read = ToolCall::ReadFile {
        path: LEASE.to_owned(),
        start_line: None,
        end_line: None,
    };
    let other = all.narrow("the rent type:txt").await.unwrap().unwrap();
    let error = other.tools.run(&read, None).await.unwrap_err().to_string();
    assert!(error.contains("outside type:txt"), "{error}");
}

#[test]
fn ui_ask_and_search_keep_to_the_filters_of_a_question() {
    let place = place();
    let question = "What is the rent? type:md -draft after:2026";
    let output = place.run_well(&["ask", "--json", "--kb", "kb", question]);
    let emitted = json_lines(&output.stdout);
    let begun = events(&emitted, "run_started")[0];
    assert_eq!(begun["query"], question);
    assert_eq!(
        begun["filters"],
        serde_json::json!(["type:md", "-draft", "after:2026"])
    );
    assert!(begun.get("within").is_none());
    let added = events(&emitted, "evidence_added");
    let items = added
        .iter()
        .flat_map(|event| event["items"].as_array().unwrap());
    let found: Vec<&Value> = items.collect();
    assert!(
        !found.is_empty() && found.iter().all(|item| item["source"] == LEASE),
        "{found:?}"
    );
    let calls = events(&emitted, "tool_called");
    assert!(
        calls
            .iter()
            .all(|call| !call["args"].to_string().contains("type:md")),
        "{calls:?}"
    );

    for tool in ["vector", "grep", "hybrid"] {
        let search = |query: &str| {
            let args = ["search", "--json", "--kb", "kb", "--tool", tool, query];
            let hits = json_lines(&place.run_well(&args).stdout);
            let mut found: Vec<String> = hits
                .iter()
                .map(|hit| hit["source"].as_str().unwrap().to_owned())
                .collect();
            found.sort();
            found.dedup();
            found
        };
        assert_eq!(search("rent tag:home"), [DRAFT, LEASE], "{tool}");
        assert_eq!(search("\"blue green\" plan"), [LEASE], "{tool}");
        assert_eq!(search("rent -draft @house/"), [LEASE], "{tool}");
    }
    // The log has it, and so has everything that is made of the log.
    let run = begun["run"].as_str().unwrap();
    for (format, said) in [
        ("md", "Kept within type:md, -draft, after:2026"),
        ("html", "Kept within type:md, -draft, after:2026"),
        ("json", "\"filters\""),
    ] {
        let output = place.run_well(&["export", run, "--format", format]);
        text(&output.stdout).must_hold(said);
    }
    let mut child = place
        .command(&["--plain", "--kb", "kb"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"the rent tag:home\n")
        .unwrap();
    let said = text(&child.wait_with_output().unwrap().stdout);
    said.must_hold("Kept within tag:home.\n");
}

#[test]
fn ui_filters_that_leave_nothing_are_named_and_odd_ones_are_said() {
    let place = place();
    place.index();
    for (question, said) in [
        ("the rent tag:attic", "No document is left by tag:attic."),
        (
            "the rent type:txt after:2026-01 tag:home",
            "No document is left by type:txt and after:2026-01 and tag:home together.",
        ),
        (
            "the rent \"purple plan\"",
            "No passage holds \"purple plan\".",
        ),
        (
            "the rent file:plot \"blue green\"",
            "No passage of the documents left holds \"blue green\".",
        ),
        (
            "the rent @house/ type:txt tag:attic",
            "No document of house/ is left by tag:attic and type:txt.",
        ),
        ("the rent file:draft.md -draft", "without file:draft.md, "),
    ] {
        let output = place.run_well(&["ask", "--kb", "kb", question]);
        let answer = text(&output.stdout);
        answer.must_hold("Nothing was found");
        answer.must_hold(said);
    }
    let output = place.run_well(&["search", "--kb", "kb", "rent tag:attic"]);
    text(&output.stderr).must_hold("No document is left by tag:attic");
    for (question, said) in [
        (
            "the rent after:lunch",
            "after:lunch is no date and was read as words; write a year",
        ),
        (
            "the rent type:exe",
            "type:exe is no kind of file and was read as words; write an ending",
        ),
        (
            "the rent -zebra",
            "-zebra leaves out nothing: no passage holds it",
        ),
        (
            "what is the rent -draft",
            "-draft leaves out 1 of 5 passages",
        ),
        (
            "what is the rent -\"blue green\"",
            "-\"blue green\" leaves out 1 of 5 passages",
        ),
        ("the rent \"in the\"", "\"in the\" has no effect"),
    ] {
        for args in [&["ask", "--route", "simple"][..], &["search"]] {
            let output = place.run_well(&[args, &["--kb", "kb", question]].concat());
            text(&output.stderr).must_hold(said);
            assert!(!output.stdout.is_empty());
        }
    }
    let output = place.run(&["ask", "--kb", "kb", "type:md tag:home"]);
    assert_eq!(output.status.code(), Some(1));
    one_line(&output).must_hold("type:md tag:home says where to look; say what to look for, too");
}

#[test]
fn ui_a_filter_is_completed_and_shown_below_the_question() {
    let place = place();
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 40);
    terminal.wait_for_text("3 Markdown");
    let menu = terminal.press_until("the rent type:", "▸ type:Markdown");
    menu.must_hold("type:text");
    terminal.press_until("te", "▸ type:text");
    terminal.press_until("\t", "the rent type:text ");
    terminal.press_until("tag:", "▸ tag:home");
    terminal.press_until("\u{7f}\u{7f}\u{7f}\u{7f}after:", "▸ after:20");
    terminal.press_until(
        "\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}file:pl",
        "▸ file:garden/plot.txt",
    );
    let screen = terminal.press_until("\r", "saved 1");
    screen.must_hold("within type:text, file:pl");
    screen.must_hold("40 a month");
    terminal.leave();
    let log = place.audit();
    let begun = events(&log, "run_started");
    assert_eq!(
        begun[0]["filters"],
        serde_json::json!(["type:text", "file:pl"])
    );
}
