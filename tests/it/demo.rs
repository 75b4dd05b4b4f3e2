//! The sample questions of the demo take the routes that they stand for.

use std::sync::OnceLock;

use kb_agent::engine::SAMPLES;
use serde_json::Value;

use crate::frozen_demo;
use crate::support::Said;
use crate::workplace::{Workplace, events, json_lines, text};

/// Asks the demo that the program carries.
///
/// An index of its own: the shared one would be held while other tests look at standard error.
fn ask(question: &str) -> Vec<Value> {
    static PLACE: OnceLock<Workplace> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = Workplace::empty();
        place.run_well(&["index"]);
        place
    });
    let output = place.run_well(&["ask", "--json", question]);
    json_lines(&output.stdout)
}

/// Asks the frozen pages, which no edit of the demo changes.
fn ask_frozen(question: &str) -> Vec<Value> {
    static PLACE: OnceLock<Workplace> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = Workplace::empty();
        drop(frozen_demo::indexed(&place.data().join("index")));
        place
    });
    let mut command = place.command(&["ask", "--json", question]);
    let output = command
        .env("KB_AGENT_SOURCE", frozen_demo::pages())
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    json_lines(&output.stdout)
}

/// Path by the nodes' first letters, outcome, reasoning calls, rule and words of the answer.
type Expected = (
    &'static str,
    &'static str,
    u64,
    Option<&'static str>,
    &'static [&'static str],
);

const EXPECTED: &[(&str, Expected)] = &table![
    "chitchat", ("as", "answered", 1, Some("chitchat"), &[]);
    "simple",
        ("apts", "answered", 3, Some("simple"), &["`few_context` and `high_vector_score`"]);
    "complex · rule", ("aptgs", "answered", 3, Some("read_file"), &["thresholds", "rule"]);
    "complex · graded", ("aptgs", "answered", 4, None, &["RE_RETRIEVE starts the search afresh"]);
    "refine", ("aptgptgs", "answered", 6, None, &["Words of the trade: glossary.md"]);
    "re-retrieve",
        ("aptgaptgs", "not_found", 6, Some("few_context"), &["does not mention “France”"]);
    "not found",
        ("aptgaptgaptgs", "not_found", 9, Some("few_context"), &["Nothing in the knowledge base"]);
    "few_context", ("aptgs", "answered", 3, Some("few_context"), &["the first match wins"]);
];

fn path_of(finished: &Value) -> String {
    finished["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node.as_str().unwrap().chars().next().unwrap())
        .collect()
}

fn check(question: &str, stream: &[Value], expected: &Expected) {
    let (path, outcome, calls, rule, words) = expected;
    let finished = stream.last().unwrap();
    assert_eq!(path_of(finished), *path, "{question}");
    assert_eq!(finished["outcome"], *outcome, "{question}");
    assert_eq!(finished["reasoning_calls"], *calls, "{question}");
    let hits = events(stream, "fast_path_hit");
    let names = hits.iter().map(|hit| hit["rule_name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert_eq!(
        names,
        rule.iter().copied().collect::<Vec<_>>(),
        "{question}"
    );
    let answer = events(stream, "answer_finished")[0];
    let said = answer["text"].as_str().unwrap();
    for word in *words {
        assert!(said.contains(word), "{question}: {word} in {said}");
    }
    let cited = !answer["citations"].as_array().unwrap().is_empty();
    assert!(
        cited || *outcome != "answered" || *path == "as",
        "{question}"
    );
}

fn check_frozen(question: &str, expected: &Expected) {
    check(question, &ask_frozen(question), expected);
}

#[test]
fn the_pages_explain_every_event_and_speak_of_no_one() {
    let protocol = include_str!("../../src/protocol.rs");
    let names = protocol
        .lines()
        .filter_map(|line| line.split_once(" { .. } => \""));
    let names = names.map(|(_, name)| name.trim_end_matches("\","));
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"run_finished"), "{names:?}");
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo-kb");
    let events = std::fs::read_to_string(pages.join("events.md")).unwrap();
    for name in names {
        assert!(events.contains(&format!("`{name}`")), "{name}");
    }
    for folder in ["", "nodes", "tickets"] {
        for page in std::fs::read_dir(pages.join(folder)).unwrap() {
            let page = page.unwrap().path();
            let text = std::fs::read_to_string(&page).unwrap_or_default();
            let says = text.to_lowercase().contains("nobody");
            assert!(!says, "{}", page.display());
        }
    }
}

#[test]
fn r10_each_sample_takes_its_route() {
    assert_eq!(SAMPLES.len(), EXPECTED.len());
    for ((route, question), (expected_route, expected)) in SAMPLES.iter().zip(EXPECTED) {
        assert_eq!(route, expected_route);
        assert!(question.chars().count() <= 70, "{question}");
        check(question, &ask(question), expected);
    }
}

#[test]
fn r10_chinese_questions_take_the_same_routes() {
    check_frozen(
        "四条自动通过规则是什么？",
        &(
            "apts",
            "answered",
            3,
            Some("simple"),
            &["最后一次工具调用", "证据条数不超过"],
        ),
    );
    check_frozen(
        "简单路径和复杂路径有什么区别？",
        &("aptgs", "answered", 4, None, &["简单路径", "复杂路径"]),
    );
    check_frozen(
        "如何烤面包？",
        &("apts", "not_found", 3, Some("simple"), &["知识库中没有"]),
    );
}

#[test]
fn r11_what_the_knowledge_base_holds_is_reported_by_document() {
    for question in ["What is in this knowledge base?", "这个知识库里有什么？"] {
        let events = ask_frozen(question);
        let calls: Vec<&Value> = events
            .iter()
            .filter(|event| event["event"] == "tool_called")
            .collect();
        assert_eq!(calls.len(), 1, "{question}");
        assert_eq!(calls[0]["tool"], "local_file_qa");
        let finished = events
            .iter()
            .find(|event| event["event"] == "answer_finished");
        let finished = finished.unwrap();
        let answer = finished["text"].as_str().unwrap();
        for document in ["README.md", "tickets/PROJ-105.md", "zh/路由.md"] {
            assert!(answer.contains(&format!("] {document}")), "{answer}");
        }
        assert_eq!(
            finished["citations"].as_array().unwrap().len(),
            38,
            "{question}"
        );
    }
}

fn answer_in(events: &[Value]) -> String {
    let finished = events
        .iter()
        .find(|event| event["event"] == "answer_finished");
    finished.unwrap()["text"].as_str().unwrap().to_owned()
}

fn assert_tells(answer: &str, tickets: &[&str]) {
    for ticket in tickets {
        assert!(answer.contains(ticket), "{answer}");
    }
}

#[test]
fn r12_relations_are_answered_from_their_end() {
    for (question, expected) in [
        (
            "Which ticket depends on PROJ-103?",
            ["PROJ-104", "PROJ-105"],
        ),
        ("PROJ-105 被哪几个工单阻塞了？", ["PROJ-101", "PROJ-102"]),
    ] {
        assert_tells(&answer_in(&ask_frozen(question)), &expected);
    }
    for (question, listed) in table![
        "Which ticket depends on PROJ-103?",
            "- PROJ-104: Vector score threshold too strict – Depends on: PROJ-103 [1]\n- PROJ-105: Audit of fast-path hits – Depends on: PROJ-101, PROJ-102, PROJ-103 [2]";
        "What blocks PROJ-104?",
            "- PROJ-103: Rule pre-filter before grading – Blocks: PROJ-104, PROJ-105 [1]";
        "What does PROJ-103 depend on?",
            "- PROJ-103: Rule pre-filter before grading – Depends on: PROJ-102 [1]";
    ] {
        assert_eq!(answer_in(&ask_frozen(question)), listed, "{question}");
    }
}

#[test]
fn r23_a_slip_of_the_keyboard_is_mended_before_passages_are_judged() {
    for (question, said) in [
        ("what is the autdit log", "The audit log records every run"),
        ("which grdaes are dropped", "dropped"),
        (
            "what is an evidnce item",
            "Every evidence item carries its id",
        ),
    ] {
        let answer = answer_in(&ask_frozen(question));
        assert!(answer.contains(said), "{question}: {answer}");
    }
}

#[test]
fn r23_a_block_that_names_both_sides_of_a_comparison_comes_first() {
    let answer = answer_in(&ask_frozen("Compare the simple path with the complex path"));
    let first = answer.split("[1]").next().unwrap();
    assert!(
        first.contains("simple run") && first.contains("complex run"),
        "{answer}"
    );
}

#[test]
fn r11_tickets_are_reported_by_their_state() {
    for (question, expected, kept_back) in table![
        "Which tickets are open?", vec!["PROJ-104"], "PROJ-103";
        "Which bugs are done?", vec!["PROJ-107"], "PROJ-101";
        "哪些工单还没完成？", vec!["PROJ-100", "PROJ-104", "PROJ-105"], "PROJ-101";
    ] {
        let answer = answer_in(&ask_frozen(question));
        assert_tells(&answer, &expected);
        assert!(!answer.contains(kept_back), "{answer}");
        // Eight tickets have a state, fewer than one search brings.
        assert!(!answer.contains("there may be more"), "{answer}");
    }
}

#[test]
fn r11_tasks_are_reported_by_their_boxes_rows_and_fields() {
    let place = Workplace::holding(table![
        "docs/plan.md", "# Plan\n\n- [ ] Water the roses\n- [x] Mow the lawn\n";
        "docs/tasks.csv", "id,task,status\nT-1,Paint the fence,open\nT-2,Buy seeds,done\n";
        "docs/leak.md", "---\ntitle: The tap leaks\nstatus: Open\n---\nSince May.\n";
    ]);
    // Nothing but a heading holds nothing to quote.
    place.file("docs/bare.md", "# Status: open\n");
    let ask = |question: &str| {
        let docs = place.path().join("docs");
        let output = place.run_well(&["ask", "--json", "--kb", docs.to_str().unwrap(), question]);
        answer_in(&json_lines(&output.stdout))
    };
    let open = ask("Which tasks are open?");
    for expected in [
        "Water the roses",
        "Paint the fence",
        "The tap leaks – status: Open",
    ] {
        assert!(open.contains(expected), "{expected}: {open}");
    }
    assert!(!open.contains("Mow") && !open.contains("seeds"), "{open}");
    let done = ask("Which tasks are done?");
    done.must_hold("[x] Mow the lawn");
    done.must_hold("Buy seeds");
    assert!(!done.contains("fence") && !done.contains("leak"), "{done}");
}
