//! Who decides beside a model, and what the screen shows of it: the real binary in a pseudo-terminal before a server
//! that lists a small model or a large one.

use std::io::Write;
use std::process::{Command, Stdio};

use kb_agent::domain::NodeName;
use serde_json::Value;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines, text};

const SMALL: &str = "qwen2.5-1.5b";
const LARGE: &str = "qwen3-32b";
const DOWN: &str = "\u{1b}[B";

/// A base that answers, and a screen before a server that lists this model.
async fn open(model: &str) -> (Workplace, ScriptedEndpoint, Terminal) {
    let place = Workplace::holding([(
        "kb/gate.md",
        "# Gate\n\nThe threshold of the gate is seven.\n",
    )]);
    let server = ScriptedEndpoint::offering(&[model]).await;
    server
        .stream(
            NodeName::AnalyzeAndRoute,
            r#"{"complexity": "complex", "query_type": "conceptual"}"#,
        )
        .stream(
            NodeName::Plan,
            r#"{"calls": [{"tool": "hybrid_search", "args": {"semantic_query": "gate threshold"}}]}"#,
        )
        .stream(NodeName::GradeEvidence, "[0.9]")
        .stream(
            NodeName::Synthesize,
            "The threshold of the gate is seven. Sailors painted their harbour green in winter.",
        );
    let mut command = place.command(&["kb"]);
    command.env("KB_AGENT_LLM_BASE_URL", server.base_url());
    command.env("KB_AGENT_LLM_MODEL", model);
    let terminal = Terminal::start(&command, 160, 45);
    terminal.wait_for_text("1 doc");
    (place, server, terminal)
}

/// What it writes where these lines are its standard input.
fn piped(mut command: Command, lines: &str) -> String {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    text(&child.wait_with_output().unwrap().stdout)
}

/// The underlined text of the screen.
fn underlined(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let cells = cells.filter_map(|(row, column)| screen.cell(row, column));
    let found = cells.filter(|cell| cell.underline());
    found.map(|cell| cell.contents().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_beside_a_small_model_the_program_decides_and_says_so() {
    let (place, server, mut terminal) = open(SMALL).await;
    let screen = terminal.press_until("What is the threshold of the gate?\r", "no source says it");
    assert_eq!(server.nodes().await, ["synthesize"]);
    let header = screen.lines().next().unwrap();
    for wanted in [SMALL, "built-in", "decided in"] {
        assert!(header.contains(wanted), "no {wanted}:\n{screen}");
    }
    for node in ["analyze_and_route", "plan"] {
        let is_row = |line: &&str| line.contains(&format!("● {node}"));
        let row = screen.lines().find(is_row).unwrap();
        assert!(row.contains("built-in"), "{screen}");
    }
    assert!(screen.contains("is seven. [1]"), "{screen}");
    terminal.look(|screen| {
        let marked = underlined(screen);
        assert!(marked.contains("Sailors painted"), "{marked}");
        assert!(!marked.contains("threshold"), "{marked}");
    });
    terminal.leave();
    let log = place.audit();
    let end = events(&log, "run_finished")[0];
    assert_eq!(end["reasoning_calls"], 1, "{end}");
    assert!(end["calls_saved"].as_u64().unwrap() >= 1, "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_where_a_large_model_decides_otherwise_than_the_built_in_router() {
    let (_place, server, mut terminal) = open(LARGE).await;
    let screen = terminal.press_until(
        "What is the threshold of the gate?\r",
        "≠ the built-in router: simple",
    );
    assert!(
        !screen.lines().next().unwrap().contains("built-in"),
        "{screen}"
    );
    terminal.wait_for_text("saved ");
    let asked = server.nodes().await;
    assert_eq!(asked[..2], ["analyze_and_route", "plan"], "{asked:?}");
    terminal.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_the_list_of_models_leaves_decisions_to_the_built_in_engine() {
    let (_place, server, mut terminal) = open(LARGE).await;
    let screen = terminal.press_until("/model\r", "decides without a model");
    assert!(screen.contains("built-in"), "{screen}");
    terminal.keys(DOWN);
    terminal.press_until("\r", "analyze, plan, grade built-in");
    terminal.press_until("What is the threshold of the gate?\r", "no source says it");
    assert_eq!(server.nodes().await, ["synthesize"]);
    // The model that answers rewrites a question, whoever decides.
    terminal.press_until("And what does it open?\r", "did not rewrite");
    let requests = server.requests().await;
    assert_eq!(requests[1].node, "analyze_and_route");
    assert_eq!(requests[1].body["model"], LARGE);
    terminal.leave();
}

#[test]
fn r05_a_question_that_lacks_its_topic_is_written_anew_once_and_looked_up_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workplace::holding([
        (
            "kb/gate.md",
            "# Gate\n\nThe gate is green. Its threshold is seven.\n",
        ),
        ("kb/wall.md", "# Wall\n\nThe wall is red.\n"),
    ]);
    let server = runtime.block_on(ScriptedEndpoint::offering(&[SMALL]));
    server
        .stream(NodeName::AnalyzeAndRoute, "\"Which colour has the gate?\"")
        .stream(NodeName::Synthesize, "Its threshold is seven.")
        .stream(NodeName::Synthesize, "The gate is green.");
    let mut command = place.command(&["--plain", "kb"]);
    command.env("KB_AGENT_LLM_BASE_URL", server.base_url());
    command.env("KB_AGENT_LLM_MODEL", SMALL);
    let asked = "What is the threshold of the gate?\nAnd which colour has it?\n";
    let out = piped(command, asked);
    let quotation = "> The gate is green. Its threshold is seven.";
    assert!(
        out.contains(&format!("The gate is green. [1]\n\n{quotation}")),
        "{out}"
    );
    let nodes = runtime.block_on(server.nodes());
    assert_eq!(nodes, ["synthesize", "analyze_and_route", "synthesize"]);
    let log = place.audit();
    let plans = events(&log, "routing_plan");
    assert_eq!(plans[0]["rewritten"], Value::Null);
    assert_eq!(plans[1]["rewritten"], "Which colour has the gate?");
    let searched = &events(&log, "tool_called")[1]["args"]["semantic_query"];
    assert!(searched.as_str().unwrap().contains("gate"), "{searched}");
    // What was sent for the first answer begins what is sent for the second.
    let requests = runtime.block_on(server.requests());
    let messages = |at: usize| requests[at].body["messages"].as_array().unwrap().clone();
    assert_eq!(messages(0)[..2], messages(1)[..2]);
    assert_eq!(messages(0)[..2], messages(2)[..2]);
    // What is quoted below an answer is no part of the conversation.
    let sent = messages(2);
    let said = sent[2]["content"].as_str().unwrap();
    assert!(said.contains("seven") && !said.contains('>'), "{said}");
    let ends = events(&log, "run_finished");
    assert_eq!(ends[1]["reasoning_calls"], 2);
}

#[test]
fn r23_an_answer_reads_the_same_however_it_is_cut_into_pieces() {
    const ANSWER: &str =
        "The threshold is seven. `GATE_MAX` sets it (see there). \"Sailors painted it.\" So.";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workplace::with_gate();
    let server = runtime.block_on(ScriptedEndpoint::offering(&[SMALL]));
    let whole = [ANSWER].to_vec();
    let by_letter: Vec<&str> = ANSWER.split_inclusive(|_| true).collect();
    let by_word: Vec<&str> = ANSWER.split_inclusive(' ').collect();
    let behind_stop: Vec<&str> = ANSWER.split_inclusive(['.', '`', '"']).collect();
    let mut texts = Vec::new();
    for pieces in [whole, by_letter, by_word, behind_stop] {
        server.say(NodeName::Synthesize, Reply::streamed_in(&pieces));
        let mut command = place.command(&["ask", "--json", "--kb", "kb", "What is the threshold?"]);
        command.env("KB_AGENT_LLM_BASE_URL", server.base_url());
        command.env("KB_AGENT_LLM_MODEL", SMALL);
        let output = command.output().unwrap();
        let log = json_lines(&output.stdout);
        let end = events(&log, "answer_finished")[0];
        let deltas = events(&log, "answer_delta").into_iter();
        let streamed: String = deltas.map(|it| it["text"].as_str().unwrap()).collect();
        assert_eq!(end["text"], streamed.as_str());
        texts.push((streamed, end["supported"].clone()));
    }
    assert!(
        texts[0]
            .0
            .starts_with("The threshold is seven. [1] `GATE_MAX`"),
        "{texts:?}"
    );
    assert!(texts.iter().all(|it| *it == texts[0]), "{texts:#?}");
}
