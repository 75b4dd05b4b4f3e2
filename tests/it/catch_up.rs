//! A question over files that are not embedded yet: the words first, the rest as time allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::workplace::{Workplace, events, json_lines, one_line, text};

/// A server that embeds short texts, and everything else only once `awake`.
async fn sleeping_server(awake: &Arc<AtomicBool>) -> MockServer {
    let server = MockServer::start().await;
    let awake = awake.clone();
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let texts = body["input"].as_array().unwrap().clone();
            let data: Vec<Value> = (0..texts.len())
                .map(|at| json!({"index": at, "embedding": [1.0, 0.5]}))
                .collect();
            let answer = ResponseTemplate::new(200).set_body_json(json!({"data": data}));
            let is_question = texts.len() == 1;
            if is_question || awake.load(Ordering::Relaxed) {
                answer
            } else {
                answer.set_delay(Duration::from_mins(10))
            }
        })
        .mount(&server)
        .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_question_does_not_wait_for_the_embedding() {
    let awake = Arc::new(AtomicBool::new(false));
    let server = sleeping_server(&awake).await;
    let place = Workplace::empty();
    for (name, says) in [("gate", "opens at seven"), ("door", "is locked at nine")] {
        let document = format!("# The {name}\n\nThe {name} {says}.\n");
        place.file(&format!("kb/{name}.md"), document);
    }
    let run = async |args: &[&str]| {
        let mut command = place.command(args);
        command
            .env("KB_AGENT_SOURCE", "kb")
            .env("KB_AGENT_EMBEDDING_BASE_URL", server.uri())
            .env("KB_AGENT_EMBEDDING_MODEL", "m");
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    };
    let incomplete = "0 of 2 passages are embedded; the others are found by their words only";

    let search = run(&["search", "--json", "gate"]).await;
    assert!(search.status.success());
    assert_eq!(json_lines(&search.stdout)[0]["source"], "gate.md");
    assert_eq!(
        one_line(&search),
        format!("kb-agent: {incomplete}; 'kb-agent index' finishes it")
    );
    let ask = run(&["ask", "When does the gate open?"]).await;
    assert!(text(&ask.stdout).contains("seven"), "{}", text(&ask.stdout));
    assert!(one_line(&ask).contains(incomplete));
    let log = place.audit();
    let warnings = events(&log, "warning");
    assert_eq!(warnings[0]["code"], "index_incomplete");
    assert_eq!(warnings[0]["message"], incomplete);
    // Looking into the files needs no vectors, so nothing is said.
    let grep = run(&["search", "--tool", "grep", "--json", "gate"]).await;
    assert!(grep.stderr.is_empty(), "{}", text(&grep.stderr));

    awake.store(true, Ordering::Relaxed);
    let index = run(&["index", "--json"]).await;
    assert_eq!(
        one_line(&index),
        "kb-agent: the words of 2 documents can be searched; embedding 2 passages"
    );
    assert_eq!(json_lines(&index.stdout)[0]["embedded"], 2);
    let search = run(&["search", "--json", "gate"]).await;
    assert!(search.stderr.is_empty(), "{}", text(&search.stderr));
}
