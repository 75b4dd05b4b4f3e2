//! Replies as servers and models really send them, against the real binary: what is shown, kept and
//! said about it.

use kb_agent::agent::ports::Reasoner;
use kb_agent::domain::{Complexity, Evidence};
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};
use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, ending, piece, reply, says, stream, stream_head};
use crate::llm_faults::{ANALYZE, SYNTHESIZE, answered, judged, place, run, well};
use crate::llm_jobs::{answer, given, item, settings};
use crate::support::Said;
use crate::workplace::{events, text};

/// A stream of these pieces of text.
fn pieces(texts: &[&str]) -> Act {
    let all: String = texts.iter().map(|text| piece(text)).collect();
    stream(all + &ending())
}

/// More than is held back of a model that is not known.
fn long_thought() -> String {
    let notes = (1..20).map(|n| format!("Note {n} says seven, and the next says nine. "));
    notes.collect()
}

/// A stream that says this and ends for that reason.
fn ended(text: &str, reason: &str) -> Act {
    let last = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    stream(format!("{}data: {last}\n\ndata: [DONE]\n\n", piece(text)))
}

#[test]
fn r23_thoughts_and_marks_of_templates_are_not_shown() {
    let well_answered = |name, texts: &[&str]| answered(name, [pieces(texts)]).shows("Hello!");
    run(&[
        well_answered(
            "a thought that nothing opened",
            &[
                "Let me look at",
                " the notes.",
                "</thi",
                "nk>",
                "\n\nHel",
                "lo!",
            ],
        ),
        well_answered(
            "harmony",
            &[
                "<|channel|>ana",
                "lysis<|message|>Hm.<|end|><|start|>assistant<|chan",
                "nel|>final<|message|>Hel",
                "lo!<|return|>",
            ],
        ),
        well_answered("Magistral", &["[THI", "NK]Hm.[/TH", "INK]Hello!"]),
        well_answered("Seed", &["<seed:think>Hm.</seed:", "think>Hello!"]),
        well_answered("Kimi", &["◁thi", "nk▷Hm.◁/think", "▷Hello!"]),
        well_answered("thought", &["<thought>Hm.</thought>\nHello!"]),
        well_answered("reasoning", &["<reasoning>Hm.</reasoning>\nHello!"]),
        well_answered(
            "the end of a turn, and another turn",
            &["Hello!", "<|im_", "end|>\n<|im_start|>user\nAnd now?"],
        ),
        well_answered("the end of a turn, at the end", &["Hello!</s>"]),
        well_answered(
            "the prompt's own tag",
            &["<evidence-3f9c21ab n=\"1\">Hello!</evid", "ence-3f9c21ab>"],
        ),
        answered(
            "a mark in backticks",
            [pieces(&["The `</thi", "nk>` tag, and `<|im_end|>`."])],
        )
        .shows("The `</think>` tag, and `<|im_end|>`."),
    ]);
}

#[test]
fn r23_a_thought_that_was_shown_is_taken_back() {
    let thought = long_thought();
    let server = FaultServer::start(&[
        (ANALYZE, vec![well()]),
        (
            SYNTHESIZE,
            vec![pieces(&[&thought, "So.</think>", "\n\nHello!"])],
        ),
    ]);
    let place = place();
    let output = place.ask(&server.base_url(), &[], "hello");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer = text(&output.stdout);
    assert!(answer.starts_with("Hello!"), "{answer}");
    text(&output.stderr).must_hold("thought aloud");
    let log = place.0.audit();
    assert_eq!(events(&log, "answer_finished")[0]["text"], "Hello!");
}

/// What the judgements of a run have shown of the model holds for its answer.
#[test]
fn r23_a_model_that_began_within_a_thought_is_held_back() {
    let thought = long_thought();
    let judgement = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;
    let server = FaultServer::start(&[
        (ANALYZE, vec![pieces(&[&thought, "</think>", judgement])]),
        (
            SYNTHESIZE,
            vec![pieces(&[&thought, "So.</think>", "\n\nHello!"])],
        ),
    ]);
    let place = place();
    let output = place.ask(&server.base_url(), &[], "hello");
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout).must_begin_with("Hello!");
}

#[test]
fn r1_a_judgement_in_the_thoughts_is_read_and_prose_is_not() {
    let thought = |text: &str| {
        let chunk = json!({"choices": [{"delta": {"content": null, "reasoning_content": text}}]});
        stream(format!("data: {chunk}\n\n{}", ending()))
    };
    let judgement = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": "Hello!"}"#;
    run(&[judged("a judgement", [thought(judgement)]).shows("Hello!")]);
    let server = FaultServer::start(&[
        (ANALYZE, vec![thought("They greet me, so it is chitchat.")]),
        ("plan", vec![says("[]")]),
        ("grade_evidence", vec![says("[1.0]")]),
        (SYNTHESIZE, vec![says("Seven [1].")]),
    ]);
    let place = place();
    place.ask(&server.base_url(), &[], "What is the gate?");
    let log = place.0.audit();
    let (warned, end) = (events(&log, "warning"), events(&log, "run_finished"));
    assert!(!warned.is_empty());
    assert_eq!(end[0]["outcome"], "answered", "{warned:?}");
}

#[test]
fn r23_why_a_reply_ended_is_said_however_it_is_spelled() {
    let limit = "HOST stopped at its token limit; the answer may be incomplete";
    let withheld = "HOST withheld part of the answer (content filter)";
    let broke = "HOST broke the reply off; the answer may be incomplete";
    let mut cases = Vec::new();
    for (line, reasons) in table![
        "", &["stop", "STOP", "end_turn", "eos", "something else"][..];
        limit, &["length", "MAX_TOKENS", "max_tokens", "model_length"];
        withheld, &["content_filter", "SAFETY", "RECITATION"];
        broke, &["error", "abort", "insufficient_system_resource"];
    ] {
        for reason in reasons {
            let act = vec![ended("Hello, ", reason)];
            cases.push(answered(reason, act).warns(line).shows("Hello, "));
        }
    }
    let empty = |name, reason, line| answered(name, [ended("", reason)]).fails(line);
    cases.push(empty(
        "hidden thoughts up to the limit",
        "length",
        "HOST spent all of its 300 tokens on thinking; raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE",
    ));
    cases.push(empty(
        "withheld",
        "SAFETY",
        "HOST withheld the answer (content filter); put the question in other words",
    ));
    cases.push(
        judged(
            "a judgement that broke off",
            [ended("{\"a", "error"), well()],
        )
        .asked(3)
        .shows("Hello!"),
    );
    run(&cases);
}

#[test]
fn r23_signs_of_life_and_other_forms_of_streams_are_read() {
    let (first, last) = (piece("Hel"), piece("lo!") + &ending());
    let between = |name, sign: &str| {
        answered(name, [stream(format!("{sign}{first}{sign}{last}"))]).shows("Hello!")
    };
    let whole = format!("{first}{last}");
    let lines = whole.replace("\n\n", "\n");
    let objects = lines.replace("data: ", "");
    let json = "Content-Type: application/json\r\n";
    let sent = |headers: &str, body: &str| vec![Act::Keep(reply("200 OK", headers, body))];
    run(&[
        between("an empty event", "data:\n\n"),
        between("an event of a blank", "data: \n\n"),
        between("null", "data: null\n\n"),
        between("an empty object", "data: {}\n\n"),
        between("a comment as data", "data: : OPENROUTER PROCESSING\n\n"),
        between("a ping", "event: ping\ndata: \n\n"),
        between("a ping with words", "event: ping\ndata: alive\n\n"),
        between(
            "a ping with an object",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        ),
        answered("single newlines", [stream(&lines)]).shows("Hello!"),
        answered("an object a line", sent("", &objects)).shows("Hello!"),
        answered("an object a line, as JSON", sent(json, &objects)).shows("Hello!"),
        answered("events as JSON", sent(json, &whole)).shows("Hello!"),
    ]);
}

#[test]
fn r23_an_answer_that_is_sent_twice_is_shown_once() {
    let whole = "The gate opens at seven.";
    let last = json!({"choices": [{"index": 0, "delta": {"content": ""}, "message": {"content": whole}, "finish_reason": "stop"}]});
    let again =
        json!({"choices": [{"index": 0, "delta": {"content": whole}, "finish_reason": "stop"}]});
    let second = json!({"choices": [{"index": 1, "delta": {"content": "Never."}}]});
    let start = piece("The gate opens ") + &piece("at seven.");
    let with = |name, events: String| answered(name, [stream(events)]).shows(whole);
    run(&[
        with(
            "a message beside the end",
            format!("{start}data: {last}\n\ndata: [DONE]\n\n"),
        ),
        with(
            "a last piece of all",
            format!("{start}data: {again}\n\ndata: [DONE]\n\n"),
        ),
        with(
            "a second answer",
            format!("{start}data: {second}\n\n{}", ending()),
        ),
    ]);
}

#[test]
fn ends_an_answer_that_repeats_itself() {
    let sentence = "The gate opens at seven in the morning. ";
    let server = FaultServer::start(&[
        (ANALYZE, vec![well()]),
        (
            SYNTHESIZE,
            vec![Act::Flood(stream_head(), piece(sentence).into_bytes())],
        ),
    ]);
    let place = place();
    let output = place.ask(&server.base_url(), &[], "hello");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout).matches(sentence.trim()).count(), 3);
    assert_eq!(
        text(&output.stderr).replace(server.address(), "HOST"),
        "kb-agent: HOST said the same again and again; the answer was ended there\n"
    );
}

/// Evidence of about 9,000 tokens.
fn much_evidence() -> Vec<Evidence> {
    let text = "The gate stands in a long wall. ".repeat(180);
    let items = (0..6).map(|number| item(&format!("{number}.md"), &text));
    items.collect()
}

fn counted(text: &str, reason: &str, usage: &Value) -> Act {
    let last = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": usage});
    stream(piece(text) + &format!("data: {last}\n\ndata: {usage}\n\ndata: [DONE]\n\n"))
}

fn prompt_bytes(server: &FaultServer) -> Vec<usize> {
    let seen = server.seen();
    seen.iter().map(|seen| seen.body.len()).collect()
}

#[tokio::test]
async fn r23_a_prompt_that_a_server_cuts_in_silence_is_said_and_the_next_one_fits() {
    let cut = json!({"prompt_tokens": 4_095, "completion_tokens": 5});
    let apart = json!({"prompt_tokens": 96, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8_900}});
    for (server, usage, is_said) in [
        ("ollama", &cut, true),
        ("other", &cut, true),
        ("ollama", &apart, false),
        (
            "other",
            &json!({"prompt_tokens": 3_000, "completion_tokens": 5}),
            false,
        ),
        (
            "ollama",
            &json!({"prompt_tokens": 9_000, "completion_tokens": 5}),
            false,
        ),
    ] {
        let said = counted("Seven.", "stop", usage);
        let endpoint = FaultServer::start(&[("synthesize", vec![said])]);
        let reasoner = EndpointReasoner::new(EndpointSettings {
            server: Some(server.to_owned()),
            ..settings(endpoint.base_url())
        });
        let reasoner = reasoner.unwrap();
        let mut given = given("What is the gate?");
        given.context = much_evidence();
        for _ in 0..2 {
            let (_, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
            let warnings = result.unwrap().warnings;
            let said = warnings.iter().any(|it| it.code == "prompt_truncated");
            let asked = prompt_bytes(&endpoint);
            assert_eq!(
                said,
                is_said && asked.len() == 1,
                "{server} {usage} {warnings:?}"
            );
        }
        let asked = prompt_bytes(&endpoint);
        assert_eq!(
            asked[1] * 2 < asked[0],
            is_said,
            "{server} {usage} {asked:?}"
        );
    }
}

#[tokio::test]
async fn r17_a_judgement_that_ends_far_below_its_limit_is_asked_again_with_less() {
    let full = counted(
        "[0.",
        "length",
        &json!({"prompt_tokens": 4_093, "completion_tokens": 3}),
    );
    let server = FaultServer::start(&[("grade_evidence", vec![full, says("[1, 1, 1, 1, 1, 1]")])]);
    let base_url = server.base_url();
    let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
    let mut given = given("What is the gate?");
    given.context = much_evidence();
    let grades = reasoner.grade(given.grade()).await.unwrap();
    assert_eq!(grades.scores.unwrap(), [Some(1.0); 6]);
    assert_eq!(grades.warnings[0].code, "context_overflow");
    let asked = prompt_bytes(&server);
    assert!(asked[1] * 3 < asked[0] * 2, "{asked:?}");
}

#[test]
fn r23_what_is_unreadable_in_the_middle_of_an_answer_costs_only_itself() {
    let broken = "data: {\"choices\": [{\"delta\": {\"content\": \"dam\n\n";
    let late = format!("{}data: [DONE]\n\n{}", piece("One. "), piece("Two."));
    for case in [
        answered(
            "an event cut in the middle",
            [stream(piece("One. ") + broken + &piece("Two.") + &ending())],
        )
        .warns("HOST sent something unreadable in the middle; some of the answer may be lost")
        .shows("One. Two."),
        answered("a piece after the end", [stream(late)])
            .shows("One. Two.")
            .shows("One. Two."),
    ] {
        place().check(&case);
    }
}

#[tokio::test]
async fn r23_a_reply_with_its_reason_is_whole_however_the_connection_ends() {
    let reason = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let said = piece("Seven.") + &format!("data: {reason}\n\n");
    let idle = Act::Hang([stream_head(), said.into_bytes()].concat());
    // A reason with every piece says nothing: the rest is waited for.
    let each = |text: &str| {
        let chunk = json!({"choices": [{"delta": {"content": text}, "finish_reason": "null"}]});
        format!("data: {chunk}\n\n")
    };
    let each = stream(each("At ") + &each("seven.") + "data: [DONE]\n\n");
    for (act, text) in [(idle, "Seven."), (each, "At seven.")] {
        let server = FaultServer::start(&[("synthesize", vec![act])]);
        let base_url = server.base_url();
        let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
        let given = given("hi");
        let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Chitchat)).await;
        assert_eq!(pieces.concat(), text);
        assert_eq!(result.unwrap().warnings, []);
    }
}
