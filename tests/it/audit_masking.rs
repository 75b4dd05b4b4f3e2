//! Secrets of many kinds, put into question, tool arguments and answer of the real program.

use std::fs;

use kb_agent::domain::NodeName;
use regex::{Captures, Regex};
use serde_json::json;

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::workplace::{Workplace, events, text};

/// A few at a time: an argument of a tool has a bound.
const AT_ONCE: usize = 8;

struct Secret {
    kind: String,
    text: String,
    /// What of it must not be readable: a key of several lines has none of them.
    parts: Vec<String>,
}

/// The kinds of the fixture with random characters of this seed.
fn secrets(seed: u64) -> Vec<Secret> {
    let mut state = seed;
    let mut random = move |bound: usize| {
        // SplitMix64
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % bound
    };
    let places = Regex::new(r"<([aA0h]+)\*(\d+)>").unwrap();
    let lines = include_str!("fixtures/secrets.txt").lines();
    let kinds = lines.filter(|line| !line.starts_with('#'));
    kinds
        .map(|line| {
            let (kind, template) = line.split_once('\t').unwrap();
            let text = places.replace_all(template, |found: &Captures<'_>| {
                let mut alphabet = Vec::new();
                for class in found[1].chars() {
                    match class {
                        'a' => alphabet.extend(b'a'..=b'z'),
                        'A' => alphabet.extend(b'A'..=b'Z'),
                        '0' => alphabet.extend(b'0'..=b'9'),
                        _ => alphabet.extend(*b"0123456789abcdef"),
                    }
                }
                let count: usize = found[2].parse().unwrap();
                let pick = |_| char::from(alphabet[random(alphabet.len())]);
                (0..count).map(pick).collect::<String>()
            });
            let text = text.replace("\\n", "\n");
            let (_, behind) = text.split_once('⟦').unwrap();
            let (secret, _) = behind.split_once('⟧').unwrap();
            let parts = secret.lines().filter(|part| part.chars().count() > 5);
            Secret {
                kind: kind.to_owned(),
                parts: parts.map(str::to_owned).collect(),
                text: text.replace(['⟦', '⟧'], ""),
            }
        })
        .collect()
}

fn readable(log: &str, secrets: &[Secret], place: &str) -> Vec<String> {
    let is_readable = |secret: &&Secret| secret.parts.iter().any(|part| log.contains(part));
    let found = secrets.iter().filter(is_readable);
    found
        .map(|secret| format!("{place}: {}", secret.kind))
        .collect()
}

fn joined(secrets: &[Secret]) -> String {
    let texts: Vec<&str> = secrets.iter().map(|secret| secret.text.as_str()).collect();
    texts.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_no_kind_of_secret_reaches_the_log() {
    let (asked, planned, answered) = (secrets(1), secrets(2), secrets(3));
    assert!(asked.len() >= 83, "{}", asked.len());
    let mut found = Vec::new();
    let chunks = asked.chunks(AT_ONCE).zip(planned.chunks(AT_ONCE));
    for ((asked, planned), answered) in chunks.zip(answered.chunks(AT_ONCE)) {
        let endpoint = ScriptedEndpoint::start().await;
        let args = json!({"semantic_query": joined(planned),
            "exact_keywords": joined(planned).lines().collect::<Vec<_>>()});
        let plan = json!([{"tool": "hybrid_search", "args": args},
            {"tool": "grep_search", "args": {"query": joined(planned)}},
            {"tool": "local_file_qa", "args": {"query": joined(planned), "path": "*.md"}}]);
        let routed = r#"{"complexity": "simple", "query_type": "factual", "sub_questions": []}"#;
        let answer: Vec<char> = joined(answered).chars().collect();
        let pieces: Vec<String> = answer
            .chunks(3)
            .map(|piece| piece.iter().collect())
            .collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        endpoint
            .stream(NodeName::AnalyzeAndRoute, routed)
            .stream(NodeName::Plan, &plan.to_string())
            .say(NodeName::Synthesize, Reply::streamed_in(&pieces));
        let demo = Workplace::with_demo();
        let output = demo
            .command(&[
                "ask",
                "--json",
                &format!("What are these?\n{}", joined(asked)),
            ])
            .env("KB_AGENT_LLM_BASE_URL", endpoint.base_url())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let log = fs::read_to_string(demo.place().audit_log()).unwrap();
        let logged = demo.place().audit();
        assert!(!events(&logged, "tool_called").is_empty(), "{logged:?}");
        assert_eq!(events(&logged, "answer_finished").len(), 1);
        found.extend(readable(&log, asked, "question"));
        found.extend(readable(&log, planned, "arguments"));
        found.extend(readable(&log, answered, "answer"));
        let shown = text(&output.stdout);
        let is_shown = |secrets| !readable(&shown, secrets, "").is_empty();
        assert!(
            is_shown(asked) && is_shown(planned),
            "the stream shows what was said"
        );
    }
    assert!(
        found.is_empty(),
        "{} stay readable:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn trust_no_kind_of_secret_reaches_the_log_offline() {
    let all = secrets(4);
    let mut found = Vec::new();
    // The engine takes the words of a sentence apart and searches with them.
    for kind in [
        "password-prose",
        "passphrase",
        "chinese-password",
        "pgp",
        "redis",
    ] {
        let secret = all.iter().find(|secret| secret.kind == kind).unwrap();
        let demo = Workplace::with_demo();
        demo.ask(&[
            "--route",
            "complex",
            &format!("Compare rules.md with this: {}", secret.text),
        ]);
        let log = fs::read_to_string(demo.place().audit_log()).unwrap();
        let one = std::slice::from_ref(secret);
        found.extend(readable(&log, one, "complex question"));
    }
    assert!(
        found.is_empty(),
        "{} stay readable:\n{}",
        found.len(),
        found.join("\n")
    );
}
