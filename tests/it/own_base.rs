//! What the empty chat says of somebody's own documents, and the questions it makes of them.

use std::time::Duration;

use kb_agent::config::{Environment, Overrides, Settings};
use kb_agent::domain::Complexity;
use kb_agent::engine::{Conversation, StepRunner};
use kb_agent::protocol::{KnowledgeContents, Update};

use crate::engine::engine;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines};

const CTRL_C: &str = "\u{3}";
const PATIENCE: Duration = Duration::from_mins(1);

/// What is reported of these documents, once all of them are indexed.
async fn contents_of(files: &[(&str, &str)]) -> KnowledgeContents {
    let place = Workplace::empty();
    for (name, content) in files {
        place.file(&format!("kb/{name}"), content);
    }
    // One document more, which every engine of these tests has.
    let engine = engine(&place, "").await.unwrap();
    let (conversation, commands, mut updates) = Conversation::begin(engine).unwrap();
    let contents = async {
        loop {
            if let Update::Contents(contents) = updates.recv().await.unwrap()
                && contents.kinds.iter().map(|(_, count)| count).sum::<usize>() == files.len() + 1
                && !contents.samples_are_sought
            {
                return contents;
            }
        }
    };
    let contents = tokio::time::timeout(PATIENCE, contents).await.unwrap();
    drop((commands, updates));
    conversation.end().await;
    contents
}

/// How the router that is asked without any setting sends a question.
async fn route(question: &str) -> Complexity {
    let nothing: [(&str, &str); 0] = [];
    let environment = Environment::from_pairs(nothing);
    let settings = Settings::resolve(&environment, Overrides::default()).unwrap();
    let router = StepRunner::open(&settings).unwrap();
    router.route(question).await.unwrap().plan.complexity
}

const LEASE: &str = "# Lease of the flat\n\n## Monthly rent\n\nThe rent is 900.\n\n## Notice period\n\nThree months.\n";
const GARDEN: &str = "# Garden plan\n\n## Watering the rhubarb\n\nAt dawn.\n";

#[tokio::test(flavor = "multi_thread")]
async fn ui_samples_of_ones_own_base_are_clean_and_go_the_way_they_are_labelled() {
    let chinese: &[(&str, &str)] = &[
        (
            "租约.md",
            "# 房屋租约\n\n## 租金\n\n每月九百元。\n\n## 押金\n\n两个月租金。\n",
        ),
        ("花园.md", "# 花园计划\n\n## 浇水时间\n\n清晨浇水。\n"),
    ];
    let odd: &[(&str, &str)] = &table![
        "a.md", "# What does the alarm code do?\n\nIt opens the door.\n";
        "b.md", "# Hello\n\n## Thanks\n\nGreetings are kept here.\n";
        "c.md", "# Compare and contrast\n\n## Red and blue, or green\n\nColours.\n";
        "d.md", "# Introduction\n\n## Overview\n\nNothing much.\n";
    ];
    for files in [
        &[("lease.md", LEASE), ("garden.md", GARDEN)][..],
        chinese,
        odd,
    ] {
        let contents = contents_of(files).await;
        let samples = contents.samples.unwrap();
        for sample in &samples {
            assert_eq!(route(&sample.text).await, sample.route, "{}", sample.text);
        }
    }
    let endless = format!("# {}\n\nText.\n", "endless ".repeat(500));
    let contents = contents_of(&table![
        "evil.md", "# Opening\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7} hours\u{202e}\n\nAt seven.\n";
        "long.md", &endless;
        "code.md", "# `rm -rf /`\n\n## [x](http://example.org)\n\nDo not.\n";
    ])
    .await;
    let samples = contents.samples.unwrap();
    for said in samples
        .iter()
        .map(|sample| &sample.text)
        .chain(contents.newest.iter().map(|(name, _)| name))
    {
        assert!(!said.contains(char::is_control), "{said:?}");
        assert!(said.chars().count() < 200, "{said}");
        for bad in ["endless", "rm -rf", "http", "\u{202e}", "[2J"] {
            assert!(!said.contains(bad), "{said:?}");
        }
    }
}

#[test]
fn ui_the_empty_chat_shows_ones_own_base_and_questions_that_were_answered() {
    let place = Workplace::holding([
        ("kb/lease.md", LEASE),
        ("kb/garden.md", GARDEN),
        ("kb/list.csv", "name,price\nrake,12\n"),
    ]);
    let terminal = Terminal::start(&place.command(&["kb"]), 120, 45);
    let screen = terminal.wait_for("the questions to try", |screen| {
        let shown = screen.contents();
        shown.contains("press its number") || shown.contains("No question to try")
    });
    assert!(screen.contains("2 Markdown · 1 table"), "{screen}");
    assert!(screen.contains("(1 kB)"), "{screen}");
    assert!(screen.contains("Newest: "), "{screen}");
    terminal.leave();
    // What is asked for the samples is in no log.
    let log = std::fs::read_to_string(place.audit_log()).unwrap_or_default();
    assert!(!log.contains("run_started"), "{log}");
}

#[test]
fn ui_without_a_usable_heading_there_is_no_sample_and_it_is_said() {
    let place = Workplace::holding([("kb/notes.txt", "The gate opens at seven.\n")]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 40);
    let screen = terminal.wait_for_text("No question to try");
    assert!(screen.contains("1 text"), "{screen}");
    assert!(screen.contains("Newest: notes.txt"), "{screen}");
    terminal.press_until("1 gate", "> 1 gate");
    terminal.leave();
}

#[test]
fn ui_the_sources_and_what_was_left_out_are_listed() {
    let place = Workplace::holding([
        ("kb/lease.md", LEASE),
        ("kb/broken.pdf", "%PDF-1.4\nno more of it"),
        ("letter.md", "# Letter\n\nDear landlord.\n"),
    ]);
    let mut terminal = Terminal::start(&place.command(&["kb", "letter.md"]), 120, 45);
    terminal.wait_for_text("2 Markdown");
    terminal.keys("/kb\r");
    let screen = terminal.wait_for("both sources", |screen| {
        screen.contents().matches("1 document · ").count() == 2
    });
    assert!(screen.contains("/letter.md"), "{screen}");
    terminal.keys("\u{1b}");
    terminal.wait_for("the window closed", |screen| {
        !screen.contents().contains("Sources")
    });
    terminal.press_until("/index\r", "kb/broken.pdf: ");
    terminal.keys("\u{1b}");
    terminal.wait_for("the window closed", |screen| {
        !screen.contents().contains("Left out")
    });
    terminal.leave();
}

#[test]
fn ui_a_source_is_added_for_the_session_watched_and_searched() {
    let place = Workplace::holding([("kb/lease.md", LEASE), ("more/garden.md", GARDEN)]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 45);
    terminal.wait_for_text("1 Markdown");
    for (path, said) in [
        ("nowhere", "there is no file or folder nowhere"),
        (
            "kb/lease.md",
            "kb/lease.md is part of the knowledge base already",
        ),
    ] {
        terminal.press_until(format!("/add {path}\r"), said);
    }
    terminal.keys("When is the rhubarb watered?\r");
    terminal.wait_for_text("◌ not found in the knowledge base");
    terminal.keys("/add mo");
    terminal.wait_for("the folder is offered", |screen| {
        let shown = screen.contents();
        shown
            .lines()
            .any(|line| line.contains("more/") && line.contains("folder"))
    });
    terminal.press_until("\t", "> /add more/");
    terminal.wait_for_text("more/garden.md");
    terminal.press_until("\r", "Added for this session: more/, 1 document");
    terminal.wait_for_text("2 docs");
    terminal.press_until("When is the rhubarb watered?\r", "At dawn");
    place.file("more/shed.md", "# Shed\n\nThe shed holds the rakes.\n");
    terminal.wait_for_text("3 docs");
    let screen = terminal.press_until("/kb\r", "2 documents · 2 chunks · added for this session");
    assert!(screen.contains("KB_AGENT_SOURCE=/"), "{screen}");
    terminal.keys("\u{1b}");
    terminal.wait_for("the window closed", |screen| {
        !screen.contents().contains("KB_AGENT_SOURCE=/")
    });
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    let (code, last) = terminal.end_with_written();
    assert_eq!(code, 0, "{last}");
    let (_, line) = last.split_once("resume: ").unwrap();
    let resumed: Vec<&str> = line.trim().split(" --kb ").skip(1).collect();
    let [kb, more] = resumed[..] else {
        panic!("{line}");
    };
    assert!(kb.ends_with("/kb") && more.ends_with("/more"), "{line}");
    let log = place.audit();
    let added = events(&log, "evidence_added");
    let items = added
        .iter()
        .flat_map(|event| event["items"].as_array().unwrap());
    let sources: Vec<&str> = items.map(|item| item["source"].as_str().unwrap()).collect();
    assert!(sources.contains(&"more/garden.md"), "{sources:?}");
    // The next session knows nothing of it.
    let next = Terminal::start(&place.command(&["kb"]), 120, 45);
    next.wait_for_text("1 Markdown");
    next.signal("TERM");
    next.end();
}

#[test]
fn r11_a_file_that_the_documents_only_speak_of_is_searched_for() {
    let place = Workplace::holding(table![
        "kb/build.md",
            "# Building\n\n## What is written\n\nThe file manifest.json records where each asset lies after a build.\n";
        "kb/other.md", "# Paint\n\nThe gate is painted green every spring.\n";
    ]);
    let question = "What does manifest.json record after a build?";
    let output = place.run(&["ask", "--json", "--kb", "kb", question]);
    let lines = json_lines(&output.stdout);
    let event = |name: &str| lines.iter().find(|line| line["event"] == name).unwrap();
    assert_eq!(event("run_finished")["outcome"], "answered");
    let answer = event("answer_finished")["text"].as_str().unwrap();
    assert!(answer.contains("where each asset lies"), "{answer}");
}
