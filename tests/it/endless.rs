//! Endpoints that are alive and never come to an end: a byte now and then, wherever one can be sent.

use std::time::{Duration, Instant};

use kb_agent::agent::ports::{Reasoner, ReasonerError};
use kb_agent::domain::Complexity;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};

use crate::fault_server::{Act, FaultServer, piece, stream_head};
use crate::llm_jobs::{answer, given, settings};

/// Silence that is borne with; a tenth of what a whole response may take.
const SILENCE: Duration = Duration::from_millis(200);
const WHOLE: Duration = Duration::from_secs(2);
/// Well above the limit, and well below for ever.
const PATIENCE: Duration = Duration::from_secs(20);

fn drip(head: impl Into<Vec<u8>>, again: &str) -> Act {
    let pause = SILENCE / 10;
    Act::Drip(head.into(), again.as_bytes().to_vec(), pause)
}

fn head(status: &str, kind: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n").into_bytes()
}

fn reasoner(server: &FaultServer, model: Option<&str>) -> EndpointReasoner {
    EndpointReasoner::new(EndpointSettings {
        timeout: SILENCE,
        model: model.map(str::to_owned),
        ..settings(server.base_url())
    })
    .unwrap()
}

#[tokio::test]
async fn ends_a_reply_that_never_comes_to_an_end() {
    let json = [head("200 OK", "application/json"), b"{".to_vec()].concat();
    let begun = [stream_head(), piece("Hello, ").into_bytes()].concat();
    let still = "was still sending one reply after 2 s";
    let silent = "kept the connection alive for 2 s without a word";
    for (name, act, said) in table![
        "JSON", drip(json, "\n"), still;
        "blank lines before the first sign", drip(stream_head(), "\n"), silent;
        "comments", drip(stream_head(), ": alive\n\n"), silent;
        "a line without an end", drip(stream_head(), "d"), still;
        "empty pieces", drip(stream_head(), &piece("")), silent;
        "comments after a word", drip(begun, ": alive\n\n"), silent;
    ] {
        let server = FaultServer::start(&[("synthesize", vec![act])]);
        let given = given("hi");
        let asked = Instant::now();
        let reasoner = reasoner(&server, Some("m"));
        let answering = answer(&reasoner, given.synthesize(Complexity::Chitchat));
        let answered = tokio::time::timeout(PATIENCE, answering).await;
        let (_, result) = answered.unwrap_or_else(|_| panic!("{name}: waited for without end"));
        let line = result.unwrap_err().to_string();
        assert!(line.contains(said), "{name}: {line}");
        assert!(
            line.contains("KB_AGENT_LLM_TIMEOUT_SECS") || name.ends_with("word"),
            "{line}"
        );
        assert!(asked.elapsed() >= WHOLE, "{name}: {:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn ends_an_error_and_a_listing_that_never_come_to_an_end() {
    let error = drip(head("400 Bad Request", "text/plain"), "x");
    let server = FaultServer::start(&[("analyze_and_route", vec![error.clone()])]);
    let reasoner_of = reasoner(&server, Some("m"));
    let given = given("hi");
    let analyzed = tokio::time::timeout(PATIENCE, reasoner_of.analyze(given.analyze())).await;
    let line = analyzed.expect("an end").unwrap_err().to_string();
    assert!(line.contains("rejects the request (400): xx"), "{line}");

    let listing = drip(head("200 OK", "application/json"), " ");
    for (act, said) in [
        (listing, "was still sending"),
        (error, "rejects the request (400)"),
    ] {
        let server = FaultServer::start(&[("", vec![act])]);
        let reasoner = reasoner(&server, None);
        let ready = tokio::time::timeout(PATIENCE, reasoner.ready(None)).await;
        let line = ready.expect("an end").unwrap_err().to_string();
        assert!(line.contains(said), "{line}");
        // Doctor asks the same way.
        let listed = tokio::time::timeout(PATIENCE, reasoner.models()).await;
        let error = listed.expect("an end").unwrap_err();
        assert!(matches!(
            error,
            ReasonerError::Unreachable(_) | ReasonerError::Refused(_)
        ));
    }
}
