//! Why a passage is or is not in what a run found: `kb-agent why`, and the key of the source view.

use std::fs;

use serde_json::Value;

use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines, one_line, text};

const NOTES: usize = 40;

/// Many notes of which a search returns some.
fn place() -> Workplace {
    let place = Workplace::empty();
    for n in 0..NOTES {
        let more = "A word about the garden and its fence. ".repeat(n / 4);
        let note = format!("# Flat {n}\n\nThe rent of flat {n} is {n}00 a month. {more}\n");
        place.file(&format!("kb/note-{n:02}.md"), note);
    }
    place.file("kb/one.txt", "The rent of the garage is 50.\n");
    place.file("kb/.ignore", "left-out.md\n");
    place.file("kb/left-out.md", "# Left out\n\nThe rent of nothing.\n");
    place.file("elsewhere/other.md", "# Other\n");
    place.index();
    place
}

/// Asks, and returns the documents that were found.
fn ask(place: &Workplace, route: &str, question: &str) -> (Vec<Value>, Vec<String>) {
    let args = ["ask", "--json", "--route", route, "--kb", "kb", question];
    let emitted = json_lines(&place.run_well(&args).stdout);
    let added = events(&emitted, "evidence_added");
    let items = added
        .iter()
        .flat_map(|event| event["items"].as_array().unwrap());
    let mut found: Vec<String> = items
        .map(|item| item["source"].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    found.dedup();
    (emitted, found)
}

fn why(place: &Workplace, file: &str) -> Value {
    let args = ["why", "--json", "--kb", "kb", "last", file];
    json_lines(&place.run_well(&args).stdout).remove(0)
}

fn summary(report: &Value) -> &str {
    report["summary"].as_str().unwrap()
}

#[test]
fn a_passage_that_was_not_returned_says_where_it_stands_and_what_cut_it_off() {
    let place = place();
    let (emitted, found) = ask(&place, "simple", "What is the rent of flat 3?");
    let missing: Vec<String> = (0..NOTES)
        .map(|n| format!("note-{n:02}.md"))
        .filter(|name| !found.contains(name))
        .collect();
    assert!(missing.len() > 20, "{found:?}");
    for name in [&missing[0], &missing[missing.len() - 1]] {
        let report = why(&place, name);
        let said = summary(&report);
        let is_said = said.starts_with("Not among the ")
            && said.contains("passages that hybrid_search returned: rank ");
        assert!(
            is_said && said.contains("by words") && said.contains("by meaning"),
            "{said}"
        );
        let call = &report["calls"][0];
        assert_eq!(call["tool"], "hybrid_search");
        assert!(
            ["k", "candidates"].contains(&report["cut"].as_str().unwrap()),
            "{report}"
        );
        let rank = call["words"]["rank"].as_u64().unwrap();
        assert!(rank > 1 && rank <= NOTES as u64 + 1, "{report}");
        assert!(call["last_score"].as_f64().is_some());
        assert_eq!(report["changed"], serde_json::json!([]));
    }
    let answer = events(&emitted, "answer_finished")[0];
    let cited = answer["citations"][0]["source"].as_str().unwrap();
    let report = why(&place, cited);
    summary(&report).must_hold("Found by hybrid_search and cited as [1].");
    assert_eq!(
        report["calls"][0]["position"]
            .as_u64()
            .map(|place| place > 0),
        Some(true)
    );
    assert!(report.get("cut").is_none(), "{report}");
    // In words, the sentence comes first.
    let output = place.run_well(&["why", "--kb", "kb", "last", &format!("{cited}:3")]);
    let said = text(&output.stdout);
    assert!(
        said.starts_with("Found by hybrid_search and cited"),
        "{said}"
    );
    said.must_hold("hybrid_search “");
    said.must_hold("words #");

    place.file(
        &format!("kb/{}", missing[0]),
        "# Flat 3\n\nWhat is the rent of flat 3? The rent of flat 3 is 1.\n",
    );
    place.index();
    let report = why(&place, &missing[0]);
    let changed = report["changed"].to_string();
    changed.must_hold("was written after the run began");
    changed.must_hold("The index has changed since the run");
    summary(&report).must_hold("in the run; now it is.");
}

#[test]
fn what_no_search_looked_at_is_said_too() {
    let place = place();
    ask(&place, "simple", "What is the rent of flat 3? type:txt");
    let report = why(&place, "note-03.md");
    summary(&report).must_hold("the filters of the question leave it out");
    assert_eq!(report["cut"], "filter");
    let report = why(&place, "left-out.md");
    assert_eq!(
        (summary(&report), report["cut"].as_str()),
        ("Never indexed.", Some("not_indexed"))
    );
    report["note"]
        .as_str()
        .unwrap()
        .must_hold("A rule leaves it out");
    // Where several folders are searched, a document is named with its folder.
    place.file("more/.ignore", "left-out.md\n");
    place.file("more/left-out.md", "# Left out\n");
    for file in ["more/left-out.md", "kb/left-out.md"] {
        let args = ["why", "--json", "--kb", "kb", "--kb", "more", "last", file];
        let report = json_lines(&place.run_well(&args).stdout).remove(0);
        assert_eq!(report["source"], file, "{report}");
    }
    ask(&place, "auto", "hello");
    let report = why(&place, "note-03.md");
    assert_eq!(summary(&report), "Not looked for: the run called no tool.");
}

#[test]
fn what_was_graded_too_low_says_its_grade() {
    let place = place();
    let (emitted, _) = ask(
        &place,
        "complex",
        "What is the difference between the rent of flat 3 and the fence?",
    );
    let removed = events(&emitted, "evidence_removed");
    let Some(removed) = removed
        .iter()
        .find(|event| event.get("not_looked_at").is_none())
    else {
        panic!("nothing was removed: {emitted:?}");
    };
    let added = events(&emitted, "evidence_added");
    let mut items = added
        .iter()
        .flat_map(|event| event["items"].as_array().unwrap());
    let item = items.find(|item| item["id"] == removed["id"]).unwrap();
    let report = why(&place, item["source"].as_str().unwrap());
    let said = summary(&report);
    let is_back = report["evidence"]["n"].is_u64();
    assert!(
        is_back || said.contains("and removed: its grade 0."),
        "{said}"
    );
    assert!(is_back || said.contains("is below 0.30"), "{said}");
}

#[test]
fn what_cannot_be_explained_is_one_line() {
    let place = place();
    ask(&place, "simple", "What is the rent of flat 3?");
    let other = place.path().join("elsewhere/other.md");
    for (run, file, said) in [
        ("nosuchrun", "note-03.md", "nosuchrun"),
        (
            "last",
            other.to_str().unwrap(),
            "outside the knowledge base",
        ),
        (
            "last",
            "nothing.md",
            "nothing.md is not in the knowledge base",
        ),
        (
            "last",
            "note-03.md:99",
            "note-03.md has 3 lines; there is no line 99",
        ),
        ("last", "note-03.md:0", "there is no line 0"),
    ] {
        let output = place.run(&["why", "--kb", "kb", run, file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        one_line(&output).must_hold(said);
        assert!(output.stdout.is_empty());
    }
    assert!(fs::exists(other).unwrap());
}

#[test]
fn ui_a_key_of_the_source_view_says_why() {
    let place = place();
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 40);
    terminal.wait_for_text("Markdown");
    terminal.press_until("/route simple\r", "Route for new questions: simple");
    terminal.press_until("What is the rent of flat 3?\r", "1 cited");
    terminal.press_until("\t\t", "▸ Evidence");
    let screen = terminal.press_until("\r", "▸ Source");
    screen.must_hold("w why");
    let screen = terminal.press_until("w", "Found by hybrid_search and");
    screen.must_hold("hybrid_search “");
    screen.must_hold("words #");
    let screen = terminal.press_until("w", "▸ Source");
    screen.must_hold("w why");
    terminal.leave();
}
