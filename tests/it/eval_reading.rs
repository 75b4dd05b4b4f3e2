//! `eval reading`: the figures against some worked out by hand, and what is said of bad input.

use std::path::Path;
use std::process::Output;

use kb_agent::domain::NodeName;
use serde_json::{Value, json};

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::workplace::{Workplace, json_lines, one_line, text};

/// In `pier` the word pump stands in all passages and red in one. p4 begins with an empty
/// sentence, and its third is its question, word for word.
const PASSAGES: &str = r#"{"id": "p1", "set": "pier", "title": "Pumps", "sentences": ["It has a blue pump.", "It has a red hose."]}
{"id": "p2", "set": "pier", "title": "Baking", "sentences": ["Bread dough rises for two hours.", "No pump is needed."]}

{"id": "p3", "set": "pier", "sentences": ["The pump was painted."]}
{"id": "p4", "set": "rope", "title": "Ropes", "sentences": ["", "The rope hangs in the green locker.", "Where is the mooring rope kept?", "Twelve metres are left."]}
"#;

const QUESTIONS: &str = r#"{"query": "What red pump", "set": "pier", "lang": "en", "passage": "p1", "answers": [1], "also": [0], "near": ["p3"], "far": ["p2"]}
{"query": "How long does bread dough rise?", "set": "pier", "lang": "en", "passage": "p2", "answers": [0], "near": [], "far": ["p3"]}
{"query": "Who painted the moon?", "set": "pier", "lang": "en", "passage": "p3", "answers": []}
{"query": "Where is the mooring rope kept?", "set": "rope", "lang": "en", "passage": "p4", "answers": [1, 3]}
"#;

/// The figures of the quoted block.
const QUOTED: [&str; 3] = [
    "block_holds_answer",
    "block_lines_median",
    "block_lines_p90",
];

fn collection() -> Workplace {
    let place = Workplace::empty();
    place.file("reading/passages.jsonl", PASSAGES);
    place.file("reading/questions.jsonl", QUESTIONS);
    place
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_worked_out_by_hand() {
    let endpoint = ScriptedEndpoint::start().await;
    for reply in ["[0.6, 0.9, 0.2]", "[0.5, 0.5]", "[0.5]", "no grades"] {
        endpoint.say(NodeName::GradeEvidence, Reply::streamed(reply));
    }
    let place = collection();
    let url = endpoint.base_url();
    let output = tokio::task::spawn_blocking(move || {
        let mut command = place.command(&["eval", "reading", "reading", "--json"]);
        command.env("KB_AGENT_LLM_BASE_URL", &url);
        command.output().unwrap()
    });
    let found = report(&output.await.unwrap());
    let pier = &found["sets"]["pier"];
    assert_eq!((&pier["n"], &pier["answerable"]), (&json!(3), &json!(2)));
    // An endpoint does not tell which sentence it goes by.
    assert_eq!(pier["sentence_at_1"], Value::Null);
    for figure in QUOTED {
        assert_eq!(pier[figure], Value::Null, "{figure}");
    }
    // By the counts of the whole set red weighs more than pump.
    assert_eq!(pier["idf_at_1"], 1.0);
    // 0.6 and 0.5 answer, 0.5 does not: one pair won and one even.
    assert_eq!(pier["answerable_auc"], 0.75);
    // 0.6 and 0.5 against 0.9, 0.2 and 0.5: 0.6 wins two, 0.5 one and a half.
    let auc = pier["passage_auc"].as_f64().unwrap();
    assert!((auc - 3.5 / 6.0).abs() < 1e-9, "{auc}");
    let rope = &found["sets"]["rope"];
    // What is nearest to a question in every way is the question.
    for figure in ["idf_at_1", "cosine_at_1", "idf_cosine_at_1"] {
        assert_eq!(rope[figure], 0.0, "{figure}");
    }
    assert_eq!(rope["answerable_auc"], Value::Null);
    assert_eq!(rope["passage_auc"], Value::Null);
    assert_eq!(found["unmeasured"], 1);
    let requests = endpoint.requests().await;
    assert_eq!(requests.len(), 4);
    let graded = requests[0].message("user");
    for part in [
        "# Pumps",
        "It has a blue pump. It has a red hose.",
        "The pump was painted.",
    ] {
        assert!(graded.contains(part), "{part}: {graded}");
    }
}

#[test]
fn the_built_in_engine_is_measured_and_repeats_itself() {
    let place = collection();
    let run = |args: &[&str]| place.run(&[&["eval", "reading", "reading"], args].concat());
    let first = run(&["--json"]);
    assert_eq!(first.stdout, run(&["--json"]).stdout);
    let found = report(&first);
    let chosen = found["sets"]["pier"]["sentence_at_1"].as_f64().unwrap();
    assert!([0.5, 1.0].contains(&chosen), "{chosen}");
    assert_eq!(found["unmeasured"], 0);

    // The first and the last but one of three; the count of a set's words stays that of all.
    let limited = report(&run(&["--json", "--limit", "2"]));
    assert_eq!(limited["sets"]["pier"]["n"], 2);
    assert_eq!(limited["sets"]["pier"]["idf_at_1"], 1.0);
    let one = report(&run(&["--json", "--limit", "1"]));
    assert_eq!(one["sets"]["pier"]["n"], 1);
    assert_eq!(one["sets"]["pier"]["idf_at_1"], 1.0);
    assert_eq!(run(&["--limit", "0"]).status.code(), Some(2));

    let shown = text(&run(&[]).stdout);
    for part in [
        "reading, engine extractive",
        "set ",
        "pier",
        "in block",
        "sentence@1",
        "passage AUC",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// Both sets hold one paragraph: fourteen lines of which twelve are quoted, and one line of 240 columns.
#[test]
fn r23_the_quoted_block_holds_what_it_shows_and_is_as_long_as_it_is_shown() {
    let mut wall = vec!["The crane stands at gate one.\n".to_owned()];
    wall.extend((1..=12).map(|n| format!("Berth {n} lies *further* on.\n")));
    wall.push("The harbour is **very** old.".to_owned());
    let line = [
        "The lamp is lit at dusk.".to_owned(),
        "Oil ".repeat(53) + "it is.",
    ];
    let place = Workplace::empty();
    let passages = [
        json!({"id": "p1", "set": "wall", "title": "Harbour", "sentences": wall}),
        json!({"id": "p2", "set": "line", "sentences": line}),
    ];
    let crane = "Which crane stands at gate one?";
    let question = |query: &str, set: &str, passage: &str, answers: &[usize]| json!({"query": query, "set": set, "passage": passage, "answers": answers});
    let questions = [
        question(crane, "wall", "p1", &[0]),
        question(crane, "wall", "p1", &[4, 13]),
        question(crane, "wall", "p1", &[13]),
        question("When is the harbour called very old?", "wall", "p1", &[13]),
        question("When is the lamp lit?", "line", "p2", &[1]),
    ];
    let lines = |records: &[Value]| {
        let lines = records.iter().map(|record| format!("{record}\n"));
        lines.collect::<String>()
    };
    place.file("reading/passages.jsonl", lines(&passages));
    place.file("reading/questions.jsonl", lines(&questions));
    let found = report(&place.run(&["eval", "reading", "reading", "--json"]));
    // Only the third question has its answer in lines that are cut off. The last lines are shown where the best
    // sentence is among them.
    let expected = [
        ("wall", json!([0.75, 12, 12])),
        ("line", json!([1.0, 3, 3])),
    ];
    for (set, expected) in expected {
        let figures = QUOTED.map(|figure| found["sets"][set][figure].clone());
        assert_eq!(json!(figures), expected, "{set}");
    }
}

#[test]
fn passages_that_answer_nothing_leave_no_sentence_to_be_right() {
    let place = Workplace::empty();
    place.file(
        "reading/passages.jsonl",
        r#"{"id": "p1", "set": "s", "sentences": ["The moon has no air."]}"#,
    );
    place.file(
        "reading/questions.jsonl",
        r#"{"query": "How long does bread dough rise?", "set": "s", "passage": "p1", "answers": []}"#,
    );
    let output = place.run(&["eval", "reading", "reading", "--json"]);
    assert!(one_line(&output).contains("s: no passage answers its question"));
    let found = report(&output);
    let others = ["sentence_at_1", "idf_at_1", "answerable_auc", "passage_auc"];
    for figure in QUOTED.into_iter().chain(others) {
        assert_eq!(found["sets"]["s"][figure], Value::Null, "{figure}");
    }
}

#[test]
fn bad_input_is_one_line_that_says_where() {
    let place = Workplace::empty();
    let passage = r#"{"id": "p1", "set": "s", "sentences": ["a", "b"]}"#;
    let question = r#"{"query": "a", "set": "s", "passage": "p1", "answers": [1]}"#;
    let said = |passages: &str, questions: &str| {
        place.file("bad/passages.jsonl", passages);
        place.file("bad/questions.jsonl", questions);
        let output = place.run(&["eval", "reading", "bad"]);
        assert_eq!(output.status.code(), Some(1), "{passages} {questions}");
        assert!(output.stdout.is_empty());
        one_line(&output)
    };
    for (bad, expected) in [
        (
            r#"{"id": "p2", "set": "s", "sentences": []}"#,
            "line 2: there is no sentence",
        ),
        (
            r#"{"id": "p2", "set": "s", "sentences": ["", " "]}"#,
            "line 2: all sentences are empty",
        ),
        (
            r#"{"id": "p2", "sentences": ["a"]}"#,
            "line 2: missing field `set`",
        ),
        (r#"{"id": "p2", "#, "line 2: the JSON object is cut off"),
        (passage, "the id p1 occurs twice"),
    ] {
        let said = said(&format!("{passage}\n{bad}\n"), question);
        let file = Path::new("bad").join("passages.jsonl");
        assert!(
            said.contains(&format!("{}: {expected}", file.display())),
            "{said}"
        );
    }
    for (bad, expected) in [
        (
            r#"{"query": " ", "set": "s", "passage": "p1", "answers": [1]}"#,
            "the query is empty",
        ),
        (
            r#"{"query": "a", "set": "s", "passage": "p1"}"#,
            "missing field `answers`",
        ),
        (
            r#"{"query": "a", "set": "s", "passage": "p9", "answers": []}"#,
            "there is no passage p9",
        ),
        (
            r#"{"query": "a", "set": "s", "passage": "p1", "answers": [], "near": ["p8"]}"#,
            "there is no passage p8",
        ),
        (
            r#"{"query": "a", "set": "s", "passage": "p1", "answers": [], "far": ["p1"]}"#,
            "its own passage p1 is near or far",
        ),
        (
            r#"{"query": "a", "set": "s", "passage": "p1", "answers": [0, 2]}"#,
            "sentence 2, counted from 0, should answer, and p1 has none there",
        ),
        ("nothing", "this is no JSON (column "),
    ] {
        let said = said(passage, &format!("{question}\n\n{bad}\n"));
        let file = Path::new("bad").join("questions.jsonl");
        assert!(
            said.contains(&format!("{}: line 3: {expected}", file.display())),
            "{said}"
        );
    }
    assert!(said("\n", question).contains("passages.jsonl: there is no passage in it"));
    assert!(said(passage, "\n").contains("questions.jsonl: there is no question in it"));
    let output = place.run(&["eval", "reading", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    let said = one_line(&output);
    assert!(
        said.contains("passages.jsonl: not found; a reading folder holds"),
        "{said}"
    );
}
