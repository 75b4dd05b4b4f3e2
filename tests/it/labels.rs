//! What a person says of runs: keys in a terminal, a file beside the log, test sets that are read again.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, json_lines, one_line, text};

const CTRL_C: &str = "\u{3}";
const ALT_PLUS: &str = "\u{1b}+";
const QUESTION: &str = "What are the four rules?";

fn labels_file(demo: &Demo) -> PathBuf {
    demo.place().data().join("audit.jsonl.labels")
}

fn screen(demo: &Demo, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(&demo.command(args), 160, 45);
    terminal.wait_for_text("38 docs");
    terminal
}

fn leave(mut terminal: Terminal) {
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 0);
}

/// One question whose answer, route and first passage are judged.
fn judged() -> Demo {
    let demo = Workplace::with_demo();
    demo.ask(&[QUESTION]);
    demo.run_well(&["label", "last", "answer=good", "route=complex", "1=good"]);
    demo
}

/// The same by keys.
fn judged_by_keys() -> Demo {
    let demo = Workplace::with_demo();
    let mut terminal = screen(&demo, &[]);
    terminal.press_until(format!("{QUESTION}\r"), "saved 1");
    terminal.press_until(ALT_PLUS, "✓ judged good");
    terminal.keys("\u{1b}2");
    terminal.press_until("-", "simple ✗ should be complex");
    terminal.keys("\u{1b}3");
    terminal.press_until("+", "✓ 1 ");
    leave(terminal);
    demo
}

#[test]
fn what_is_judged_by_keys_is_kept_shown_again_and_exported() {
    let demo = judged_by_keys();
    let path = labels_file(&demo);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let lines = json_lines(&fs::read(&path).unwrap());
    let said: Vec<_> = lines
        .iter()
        .map(|line| (&line["what"], &line["verdict"]))
        .collect();
    assert_eq!(
        said,
        [
            (&json!("answer"), &json!("good")),
            (&json!("route"), &json!("bad")),
            (&json!("passage"), &json!("good")),
        ]
    );
    // The log ends with the run's end as ever.
    let log = demo.place().audit();
    assert_eq!(log.last().unwrap()["event"], "run_finished");

    let mut terminal = screen(&demo, &["-c", "last"]);
    for mark in ["✓ judged good", "simple ✗ should be complex", "✓ 1 "] {
        terminal.wait_for_text(mark);
    }
    terminal.keys("\u{1b}2");
    terminal.press_until("-", "should be chitchat");
    terminal.press_until("-", "the label is taken back");
    leave(terminal);
    let mut replay = Terminal::start(&demo.command(&["replay"]), 160, 45);
    replay.press_until("\u{1b}[F", "✓ judged good");
    leave(replay);

    let page = text(&demo.run_well(&["export", "last"]).stdout);
    page.must_hold("judged: ");
    page.must_hold("answer good");
    let cast = demo.run_well(&["export", "last", "--format", "cast", "--size", "160x45"]);
    let mut player = vt100::Parser::new(45.try_into().unwrap(), 160.try_into().unwrap(), 0);
    for output in &json_lines(&cast.stdout)[1..] {
        player.process(output[2].as_str().unwrap().as_bytes());
    }
    player.screen().contents().must_hold("✓ judged good");
    let exported = text(
        &demo
            .run_well(&["export", "last", "--format", "json"])
            .stdout,
    );
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let labels = exported["runs"][0]["labels"].as_array().unwrap();
    assert_eq!(labels.len(), 2, "the route was taken back: {labels:?}");
}

#[test]
fn labels_are_listed_with_what_the_limits_and_the_router_make_of_them() {
    let demo = judged();
    let listed = text(&demo.run_well(&["labels"]).stdout);
    for part in [
        "simple should be complex",
        QUESTION,
        "\nroutes_taken\nn  1\naccuracy  0.000\n",
        "\nroutes_today\nn  1\naccuracy  0.000\n",
        "\nanswers\ngood  bad\n   1    0\n",
    ] {
        listed.must_hold(part);
    }
    let report = text(&demo.run_well(&["labels", "--json"]).stdout);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        report["routes_taken"]["confusion"],
        json!({"complex": {"simple": 1}})
    );
    // A simple question is not graded.
    assert_eq!(
        report["passages"]["good"],
        json!({"dropped": 0, "kept": 0, "sufficient": 0, "not_graded": 1})
    );
    assert_eq!(report["labels"].as_array().unwrap().len(), 3);
    // Where a model would be asked, nobody is.
    let mut command = demo.command(&["labels", "--json"]);
    command.env("KB_AGENT_LLM_BASE_URL", crate::workplace::refusing_url());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(report["routes_today"], Value::Null);
}

#[test]
fn labels_become_test_sets_that_the_measuring_commands_read() {
    let demo = judged();
    let nothing = Workplace::with_demo();
    one_line(&nothing.run(&["labels", "export"])).must_hold("nothing is judged yet");

    let written = text(&demo.run_well(&["labels", "export", "sets"]).stdout);
    for name in ["routing.jsonl", "grading.jsonl", "questions.jsonl"] {
        written.must_hold(&format!("{name}: 1 question, for kb-agent eval "));
    }
    let sets = demo.place().path().join("sets");
    let set = |name: &str| json_lines(&fs::read(sets.join(name)).unwrap());
    assert_eq!(
        set("routing.jsonl"),
        [json!({"query": QUESTION, "complexity": "complex"})]
    );
    let passage = &set("grading.jsonl")[0]["passages"][0];
    assert_eq!(passage["relevant"], true);
    // The whole passage, of which the log has the beginning.
    assert!(passage["text"].as_str().unwrap().len() > 240, "{passage}");
    let question = &set("questions.jsonl")[0];
    assert_eq!(question["route"], json!(["complex"]));
    assert_eq!(question["outcome"], "answered");
    assert!(!question["sources"].as_array().unwrap().is_empty());

    let routing = demo.run_well(&["eval", "routing", "sets/routing.jsonl", "--json"]);
    assert_eq!(json_lines(&routing.stdout)[0]["n"], 1);
    demo.run_well(&["eval", "grading", "sets/grading.jsonl", "--json"]);
    let run = demo.run_well(&["eval", "run", "sets/questions.jsonl", "--json"]);
    let summary = &json_lines(&run.stdout)[0]["summary"][0];
    assert_eq!(summary["route"], json!({"right": 0, "of": 1}));
    assert_eq!(summary["sources"], json!({"right": 1, "of": 1}));

    let refused = demo.run(&["labels", "export", "sets"]);
    assert_eq!(refused.status.code(), Some(1));
    one_line(&refused).must_hold("routing.jsonl is there already");
    demo.run_well(&["labels", "export", "sets", "--force"]);

    // A label that is taken back leaves no test set of an earlier export.
    let mut lines = fs::read_to_string(labels_file(&demo)).unwrap();
    let route = lines
        .lines()
        .find(|line| line.contains("\"route\""))
        .unwrap();
    let mut route: Value = serde_json::from_str(route).unwrap();
    route["verdict"] = json!("taken_back");
    route.as_object_mut().unwrap().remove("should_be");
    // A document whose passage does not belong to the answer is not asked for, though the answer cites it.
    let passage = lines
        .lines()
        .find(|line| line.contains("\"passage\""))
        .unwrap();
    let mut passage: Value = serde_json::from_str(passage).unwrap();
    passage["verdict"] = json!("bad");
    lines.push_str(&format!("{route}\n{passage}\n"));
    fs::write(labels_file(&demo), lines).unwrap();
    let again = demo.run_well(&["labels", "export", "sets", "--force"]);
    one_line(&again).must_hold("routing.jsonl is removed");
    assert!(!sets.join("routing.jsonl").exists() && sets.join("grading.jsonl").exists());
    assert_ne!(set("questions.jsonl")[0]["sources"], question["sources"]);
}

#[test]
fn a_run_is_judged_from_the_shell() {
    let demo = judged();
    let labels = || {
        let report = json_lines(&demo.run_well(&["labels", "--json"]).stdout).remove(0);
        let labels = report["labels"].as_array().unwrap().iter();
        let told = labels.map(|label| (label["what"].clone(), label["verdict"].clone()));
        told.collect::<Vec<_>>()
    };
    assert_eq!(labels().len(), 3);
    // The route that was taken is the right one; what is taken back holds no longer.
    demo.run_well(&["label", "last", "route=simple", "1=none"]);
    let expected = [("answer", "good"), ("route", "good")];
    assert_eq!(
        labels(),
        expected.map(|(what, verdict)| (json!(what), json!(verdict)))
    );
    for (label, said) in [
        ("route", "a label looks like route=simple"),
        ("99=good", "'99' is neither route, answer nor the number"),
        ("route=smple", "a route is chitchat, simple, complex"),
        ("answer=complex", "a verdict is good, bad or none"),
    ] {
        let output = demo.run(&["label", "last", "answer=bad", label]);
        assert_eq!(output.status.code(), Some(2), "{label}");
        one_line(&output).must_hold(said);
        assert_eq!(labels().len(), 2, "{label}");
    }
    let output = demo.run(&["label", "nothing", "answer=good"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn labels_that_cannot_be_read_are_not_taken_for_none() {
    let demo = judged();
    let path = labels_file(&demo);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for args in [&["labels", "--json"][..], &["labels", "export", "sets"]] {
        let output = demo.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        one_line(&output).must_hold("audit.jsonl.labels cannot be read: ");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    // An export holds the run all the same.
    let page = demo.run_well(&["export", "last"]);
    one_line(&page).must_hold("audit.jsonl.labels cannot be read: ");
    text(&page.stdout).must_hold(QUESTION);
}

#[test]
fn a_passage_whose_document_is_gone_is_exported_as_it_begins() {
    let demo = judged();
    let place = demo.place();
    place.file("kb/other.md", "# Other\n");
    let mut command = demo.command(&["labels", "export", "sets", "--kb", "kb"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    one_line(&output).must_hold("1 passage in grading.jsonl only as they begin");
}

#[test]
fn trust_a_line_that_is_no_label_is_named_and_labels_of_lost_runs_are_counted() {
    let demo = judged();
    let path = labels_file(&demo);
    let mut lines = fs::read_to_string(&path).unwrap();
    lines.push_str("not a label\u{1b}[2J\n");
    lines.push_str(
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"run\":\"gone\",\"what\":\"answer\",\"verdict\":\"bad\"}\n",
    );
    fs::write(&path, lines).unwrap();
    let output = demo.run(&["labels"]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    said.must_hold("line 4 cannot be read as a label and is left out");
    said.must_hold("1 judged run not in ");
    assert!(!said.contains('\u{1b}'), "{said}");
}
