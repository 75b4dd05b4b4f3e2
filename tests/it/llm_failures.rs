//! Everything that can go wrong with an endpoint is one clear line.

use std::time::Duration;

use kb_agent::agent::ports::{Reasoner, ReasonerError};
use kb_agent::domain::NodeName;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};
use tokio::net::TcpListener;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::llm_jobs::{given, reasoner_at, settings};
use crate::llm_wire::{captured, read_request};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};

/// The error that this reply to a plan request leads to, the host replaced by `HOST`.
async fn failure(reply: Reply) -> ReasonerError {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(NodeName::Plan, reply);
    let reasoner = reasoner_at(&endpoint).await;
    reasoner.plan(given("x?").plan()).await.unwrap_err()
}

fn line(error: &ReasonerError) -> String {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    let mut parts = text.split("127.0.0.1:");
    let mut line = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        line.push_str("HOST");
        line.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    line
}

#[tokio::test]
async fn captured_refusals_are_quoted() {
    for (capture, expected) in table![
        include_str!("fixtures/llm/error_401.txt"),
            "HOST asks for a key (401): Invalid API Key; set KB_AGENT_LLM_API_KEY";
        include_str!("fixtures/llm/error_404.txt"),
            "HOST does not know the address or the model (404): File Not Found; check KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_MODEL";
        include_str!("fixtures/llm/error_bad_schema.txt"),
            "HOST rejects the request (400): Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #: unrecognized type nonsense; check KB_AGENT_LLM_MODEL, or see the server's log";
    ] {
        let error = failure(captured(capture)).await;
        assert!(matches!(error, ReasonerError::Refused(_)), "{error:?}");
        assert_eq!(line(&error), expected);
    }
}

#[tokio::test]
async fn a_captured_overflow_leaves_the_plan_to_a_rule() {
    let overflow = captured(include_str!(
        "fixtures/llm/error_context_overflow_stream.txt"
    ));
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(NodeName::Plan, overflow);
    let reasoner = reasoner_at(&endpoint).await;
    let planned = reasoner.plan(given("x?").plan()).await.unwrap();
    let codes = planned.warnings.iter().map(|warning| warning.code);
    let codes: Vec<_> = codes.collect();
    assert_eq!(codes, ["context_overflow"]);
}

#[tokio::test]
async fn errors_in_place_of_a_reply_are_quoted() {
    let in_stream = "data: {\"choices\":[{\"delta\":{\"content\":\"[\"}}]}\n\n\
                     data: {\"error\":{\"message\":\"out of\\nmemory\"}}\n\n";
    for (kind, body, expected) in table![
        "application/json", "{\"error\": {\"message\": \"overloaded\"}}", "overloaded";
        "application/json", "{\"error\": \"overloaded\"}", "overloaded";
        "application/json", "{\"object\": \"error\", \"message\": \"overloaded\"}", "overloaded";
        "text/event-stream", in_stream, "out of memory";
        "text/event-stream", "event: error\ndata: {\"message\": \"overloaded\"}\n\n", "overloaded";
        "text/event-stream", "event: error\ndata: overloaded\n\n", "overloaded";
    ] {
        let error = failure(Reply::raw(200, kind, body)).await;
        assert!(matches!(error, ReasonerError::Refused(_)), "{error:?}");
        assert_eq!(
            line(&error),
            format!("HOST failed: {expected}; check KB_AGENT_LLM_MODEL, or see the server's log"),
            "{body}"
        );
    }
}

/// A server that is never silent for long, and never says a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn signs_of_life_without_a_word_are_not_borne_with_for_ever() {
    let signs = [
        ": alive\n\n",
        "data: {\"choices\": []}\n\n",
        "data: {\"choices\": [{\"delta\": {\"content\": \"\"}}]}\n\n",
    ];
    let lines = signs.map(|sign| tokio::spawn(borne_with(sign)));
    let line = "HOST kept the connection alive for 5 s without a word; try again, or raise \
                KB_AGENT_LLM_TIMEOUT_SECS";
    for said in lines {
        assert_eq!(said.await.unwrap(), line);
    }
}

/// What is said of a server that gives this sign over and over.
async fn borne_with(sign: &'static str) -> String {
    use tokio::io::AsyncWriteExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let mut sent = socket.write_all(head).await;
        let mut beat = tokio::time::interval(Duration::from_millis(20));
        while sent.is_ok() {
            beat.tick().await;
            sent = socket.write_all(sign.as_bytes()).await;
        }
    });
    let reasoner = EndpointReasoner::new(EndpointSettings {
        timeout: Duration::from_millis(500),
        ..settings(base_url)
    })
    .unwrap();
    let error = reasoner.plan(given("x?").plan()).await.unwrap_err();
    server.await.unwrap();
    line(&error)
}

#[tokio::test]
async fn a_listing_without_a_model_is_reported_before_the_first_question() {
    for (reply, expected) in table![
        ResponseTemplate::new(200).set_body_raw("{\"data\": []}", "application/json"),
            "HOST lists no model; set KB_AGENT_LLM_MODEL";
        ResponseTemplate::new(200).set_body_raw("{\"data\": [{\"id\": \"bge-m3\"}, {\"id\": \"whisper-1\"}]}", "application/json"),
            "HOST lists no model that chats; set KB_AGENT_LLM_MODEL";
        ResponseTemplate::new(200).set_body_raw("<html></html>", "text/html"),
            "HOST sent no list of models instead of a chat reply; check KB_AGENT_LLM_BASE_URL (most end in /v1)";
        ResponseTemplate::new(308).insert_header("Location", "/elsewhere"),
            "HOST redirects (308) to http://HOST/elsewhere; set KB_AGENT_LLM_BASE_URL to where it leads";
    ] {
        let server = MockServer::start().await;
        Mock::given(path("/v1/models"))
            .respond_with(reply)
            .mount(&server)
            .await;
        let reasoner = EndpointReasoner::new(EndpointSettings {
            model: None,
            ..settings(format!("{}/v1", server.uri()))
        })
        .unwrap();
        let error = reasoner.ready(None).await.unwrap_err();
        assert_eq!(line(&error), expected);
    }
}

#[tokio::test]
async fn an_address_that_does_not_parse_is_one_clear_line() {
    let error = EndpointReasoner::new(settings("not an address".to_owned())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "KB_AGENT_LLM_BASE_URL 'not an address' is not an address (relative URL without a base); \
         it should look like http://127.0.0.1:8080/v1"
    );
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_named_and_not_shown() {
    let error = EndpointReasoner::new(EndpointSettings {
        api_key: Some("sk-one\nsk-two".into()),
        ..settings("http://127.0.0.1:9/v1".to_owned())
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "KB_AGENT_LLM_API_KEY holds a character that no header can carry"
    );
}

#[tokio::test]
async fn a_server_without_a_listing_is_asked_for_its_only_model() {
    for status in [404, 405, 501] {
        let server = MockServer::start().await;
        Mock::given(path("/v1/models"))
            .respond_with(ResponseTemplate::new(status))
            .mount(&server)
            .await;
        let reasoner = EndpointReasoner::new(EndpointSettings {
            model: None,
            ..settings(format!("{}/v1", server.uri()))
        })
        .unwrap();
        reasoner.ready(None).await.unwrap();
        assert_eq!(reasoner.identity().model, "default");
    }
}

#[tokio::test]
async fn a_kept_connection_that_the_server_has_closed_is_not_an_error() {
    use tokio::io::AsyncWriteExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let reply = r#"{"choices":[{"message":{"content":"[0.5]"}}]}"#;
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{reply}",
            reply.len()
        );
        // Answers once and keeps the connection; then takes a request and closes without a word.
        let (mut first, _) = listener.accept().await.unwrap();
        read_request(&mut first).await;
        first.write_all(reply.as_bytes()).await.unwrap();
        read_request(&mut first).await;
        drop(first);
        let (mut second, _) = listener.accept().await.unwrap();
        read_request(&mut second).await;
        second.write_all(reply.as_bytes()).await.unwrap();
    });
    // The server may have seen the second request, so it is made again as any other that fails.
    let reasoner = EndpointReasoner::new(EndpointSettings {
        retries: 1,
        ..settings(format!("http://{address}/v1"))
    })
    .unwrap();
    let given = given("q");
    for _ in 0..2 {
        let grades = reasoner.grade(given.grade()).await.unwrap();
        assert_eq!(grades.scores, Ok(vec![Some(0.5)]));
    }
    server.await.unwrap();
}
