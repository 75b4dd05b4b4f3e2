//! What is shown can be seen: no invisible character, no empty answer, no word of a server's that a
//! person should not read; and one odd byte costs a character and not the answer.

use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, ending, piece, reply, says, stream, stream_head};
use crate::workplace::{Workplace, events, json_lines, text};

const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;
const SIMPLE: &str =
    r#"{"complexity": "simple", "query_type": "exact", "grep_keywords": ["gate"]}"#;
const CALLS: &str = r#"{"calls": [{"tool": "grep_search", "args": {"query": "gate"}}]}"#;

fn place() -> Workplace {
    let place = Workplace::with_gate();
    place.index();
    place
}

fn served(analysis: &str, answers: Vec<Act>) -> FaultServer {
    FaultServer::start(&[
        ("analyze_and_route", vec![says(analysis)]),
        ("plan", vec![says(CALLS)]),
        (
            "grade_evidence",
            vec![says(r#"{"scores": [0.9, 0.9, 0.9]}"#)],
        ),
        ("synthesize", answers),
    ])
}

fn ask(place: &Workplace, server: &FaultServer, args: &[&str]) -> std::process::Output {
    let address = server.base_url();
    place
        .command(&[&["ask", "--kb", "kb"], args].concat())
        .env("KB_AGENT_LLM_BASE_URL", address)
        .env("KB_AGENT_LLM_MODEL", "m")
        .env("KB_AGENT_LLM_RETRIES", "0")
        .output()
        .unwrap()
}

const HIDDEN: &str = "a\u{61c}b\u{2028}c\u{2029}d\u{180e}e\u{ad}f\u{115f}\u{3164}g\u{e0100}h\u{e0041}i\u{2800}j\u{fff9}k";
const VISIBLE: &str = "ab c def ghi jk";

#[test]
fn shown_answers_hold_nothing_that_no_eye_can_see() {
    let (place, server) = (place(), served(CHITCHAT, vec![says(HIDDEN)]));
    let output = ask(&place, &server, &["hello"]);
    let said = text(&output.stdout);
    assert!(said.starts_with(&format!("{VISIBLE}\n")), "{said:?}");

    let output = ask(&place, &server, &["--json", "hello"]);
    let finished = json_lines(&output.stdout);
    let finished = events(&finished, "answer_finished")[0];
    assert_eq!(finished["text"], VISIBLE);
    for bytes in [output.stdout, std::fs::read(place.audit_log()).unwrap()] {
        assert_is_plain(&text(&bytes));
    }
}

#[test]
fn shown_questions_and_documents_break_no_line_of_json() {
    let (place, server) = (place(), served(CHITCHAT, vec![says("Hello!")]));
    let output = ask(&place, &server, &["--json", "--route", "chitchat", HIDDEN]);
    let log = std::fs::read(place.audit_log()).unwrap();
    for bytes in [output.stdout, log] {
        let lines = text(&bytes);
        assert_is_plain(&lines);
        // Nothing is lost by it: the question is what was asked.
        assert_eq!(json_lines(&bytes)[0]["query"], HIDDEN);
    }
}

#[cfg(unix)]
#[test]
fn shown_file_names_hold_nothing_that_no_eye_can_see() {
    let place = place();
    let name = format!("kb/{HIDDEN}.md");
    place.file(&name, "The lantern is lit at dusk.\n");
    for args in [
        &["search", "--kb", "kb", "lantern"][..],
        &["search", "--kb", "kb", "--tool", "grep", "lantern"],
        &["ask", "--kb", "kb", "lantern dusk"],
    ] {
        let said = text(&place.run(args).stdout);
        assert!(
            said.contains(&format!("{VISIBLE}.md")),
            "{args:?}: {said:?}"
        );
        assert_is_plain(&said);
    }
    let output = place.run(&["search", "--json", "--kb", "kb", "lantern"]);
    assert_is_plain(&text(&output.stdout));
    let source = json_lines(&output.stdout)[0]["source"].clone();
    assert_eq!(source, format!("{HIDDEN}.md"));
}

fn assert_is_plain(said: &str) {
    let hidden: Vec<char> = HIDDEN.chars().filter(|c| !c.is_ascii()).collect();
    let found: Vec<_> = said.chars().filter(|c| hidden.contains(c)).collect();
    assert!(found.is_empty(), "{found:?} in {said:?}");
}

#[test]
fn shown_an_answer_of_nothing_is_no_answer() {
    let place = place();
    let empty = "sent an empty answer; ask again, or choose another KB_AGENT_LLM_MODEL";
    let no_evidence = "it held nothing to read but citations of evidence that is not there";
    for (analysis, answer, line) in [
        (CHITCHAT, "\u{200b}\u{2060}\u{feff}", empty),
        (CHITCHAT, "\u{1b}[31m\u{1b}[0m", empty),
        (CHITCHAT, " \n\u{2800}\u{3164}\t", empty),
        (SIMPLE, "\u{ad}\u{e0041}", empty),
        (SIMPLE, "[99]", no_evidence),
        (SIMPLE, " [98] [99, 97]\n", no_evidence),
    ] {
        let server = served(analysis, vec![says(answer)]);
        let asked = match analysis {
            CHITCHAT => "hello",
            _ => "what is the threshold of the gate",
        };
        let output = ask(&place, &server, &[asked]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{answer:?}: {stderr}");
        assert!(stderr.contains(line), "{answer:?}: {stderr}");
        let log = place.audit();
        assert_eq!(log.last().unwrap()["outcome"], "failed", "{answer:?}");
        assert!(events(&log, "answer_finished").is_empty(), "{answer:?}");
        std::fs::remove_file(place.audit_log()).unwrap();
    }
    // The reply of an analysis counts as none as well, and the answer is asked for.
    let reply = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": "\u200b\u2028"}"#;
    let server = served(reply, vec![says("Hello!")]);
    let output = ask(&place, &server, &["hello"]);
    assert!(text(&output.stdout).starts_with("Hello!\n"));
}

#[test]
fn r23_citations_in_any_form_are_shown_as_numbers_and_their_absence_is_said() {
    let place = place();
    let no_warning: &[&str] = &[];
    for (answer, shown, cited, warned) in table![
        "It is seven 【1†source】.", "It is seven [1].", 1, no_warning;
        "It is seven [gate.md].", "It is seven [1].", 1, no_warning;
        "It lies in [0, 1].", "It lies in [0, 1].", 0, &["answer_uncited"];
        "It is seven 【99】.", "It is seven.", 0, &["citation_removed", "answer_uncited"];
    ] {
        let server = served(SIMPLE, vec![says(answer)]);
        let output = ask(
            &place,
            &server,
            &["--json", "what is the threshold of the gate"],
        );
        let emitted = json_lines(&output.stdout);
        let finished = &events(&emitted, "answer_finished")[0];
        assert_eq!(finished["text"], shown);
        assert_eq!(finished["citations"].as_array().unwrap().len(), cited);
        let codes: Vec<&str> = events(&emitted, "warning")
            .into_iter()
            .filter_map(|warning| warning["code"].as_str())
            .filter(|code| code.starts_with("answer") || code.starts_with("citation"))
            .collect();
        assert_eq!(codes, warned, "{answer}");
    }
}

#[test]
fn shown_an_answer_survives_an_odd_byte_and_a_character_in_halves() {
    let place = place();
    let half = |escape: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{escape}\"}}}}]}}\n\n")
    };
    let odd = [
        stream_head(),
        b"data: {\"choices\":[{\"delta\":{\"content\":\"o\xffdd \xe6\xaf\"}}]}\n\n".to_vec(),
        ending().into_bytes(),
    ]
    .concat();
    let whole = b"{\"choices\":[{\"message\":{\"content\":\"o\xffdd\"},\"finish_reason\":3}]}";
    let strange = json!({"choices": [{"delta": {}, "finish_reason": {"type": "stop"}}]});
    for (act, answer) in table![
        stream(half("a \\ud83d") + &half("\\ude00 b") + &ending()), "a 😀 b";
        stream(half("a\\ud83d") + &ending()), "a";
        Act::Send(vec![odd]), "o\u{fffd}dd \u{fffd}";
        Act::Keep(reply("200 OK", "Content-Type: application/json\r\n", whole)), "o\u{fffd}dd";
        stream(piece("fine") + &format!("data: {strange}\n\n")), "fine";
    ] {
        let server = served(CHITCHAT, vec![act]);
        let output = ask(&place, &server, &["--json", "hello"]);
        let emitted = json_lines(&output.stdout);
        assert!(
            output.status.success(),
            "{answer}: {}",
            text(&output.stderr)
        );
        assert_eq!(events(&emitted, "answer_finished")[0]["text"], answer);
    }
}

#[test]
fn shown_counts_beyond_all_bounds_fail_nothing() {
    let place = place();
    for count in [
        "9223372036854775807",
        "18446744073709551615",
        "1e300",
        "-5",
        "\"many\"",
    ] {
        let usage = format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{count},\"completion_tokens\":{count},\"cost\":1e308}}}}\n\n"
        );
        let acts = |said: &str| {
            vec![stream(
                piece(said) + &ending().replace("data: [DONE]\n\n", "") + &usage,
            )]
        };
        let server = FaultServer::start(&[
            ("analyze_and_route", acts(CHITCHAT)),
            ("synthesize", acts("Hello!")),
        ]);
        for args in [&["hello"][..], &["--json", "hello"]] {
            let output = ask(&place, &server, args);
            assert!(output.status.success(), "{count}: {}", text(&output.stderr));
            let said = text(&output.stdout);
            assert!(said.contains("Hello!"), "{count}: {said}");
        }
        let log = place.audit();
        let end: &Value = log.last().unwrap();
        assert_eq!(end["outcome"], "answered", "{count}");
        assert!(
            end["completion_tokens"].as_u64().is_some(),
            "{count}: {end}"
        );
        std::fs::remove_file(place.audit_log()).unwrap();
    }
}
