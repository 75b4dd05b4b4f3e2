//! The reply on the wire: real captures, awkward cuts, and connections that end early.

use kb_agent::agent::ports::{AnswerSink, Reasoner};
use kb_agent::domain::{Complexity, NodeName, Usage};
use kb_agent::reasoner::llm::EndpointReasoner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::llm_jobs::{answer, given, settings};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};

/// A recorded reply of a real server.
pub fn captured(text: &'static str) -> Reply {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let content_type = if head.contains("text/event-stream") {
        "text/event-stream"
    } else {
        "application/json"
    };
    Reply::raw(status, content_type, body)
}

/// A server for one connection: reads the request, sends the event, and then waits for the other side to
/// hang up.
async fn serve_once(event: Vec<u8>) -> (String, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        socket
            .write_all(&[&head[..], &event].concat())
            .await
            .unwrap();
        socket.read(&mut [0; 16]).await.unwrap_or(0)
    });
    (base_url, server)
}

pub async fn read_request(socket: &mut TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = socket.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the request was cut off");
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return;
            }
        }
    }
}

async fn answer_from(base_url: String) -> (String, Option<Usage>) {
    let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
    let given = given("x?");
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    (
        pieces.concat(),
        result.ok().map(|synthesis| synthesis.usage),
    )
}

async fn answer_with(reply: Reply) -> (String, Option<Usage>) {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(NodeName::Synthesize, reply);
    answer_from(endpoint.base_url()).await
}

#[tokio::test]
async fn a_captured_stream_is_read_with_the_counts_of_its_last_chunk() {
    let reply = captured(include_str!("fixtures/llm/stream_usage.txt"));
    let counted = Usage {
        calls: 1,
        prompt_tokens: Some(50),
        completion_tokens: Some(12),
        cached_tokens: Some(49),
        ..Usage::ONE_CALL
    };
    let (text, usage) = answer_with(reply).await;
    assert_eq!(text, "sysand fisearc有foucontaisect pa和sour foun");
    assert_eq!(usage, Some(counted));
}

#[tokio::test]
async fn a_captured_stream_without_counts_is_estimated_and_says_so() {
    let (text, usage) = answer_with(captured(include_str!("fixtures/llm/stream_normal.txt"))).await;
    assert!(text.starts_with("sysand fisearc有"), "{text}");
    let usage = usage.unwrap();
    assert!(
        usage.estimated && usage.prompt_tokens > Some(100),
        "{usage:?}"
    );
    assert!(
        (8..30).contains(&usage.completion_tokens.unwrap()),
        "{usage:?}"
    );
}

#[tokio::test]
async fn a_captured_plain_completion_answers_a_streaming_request() {
    let (text, usage) = answer_with(captured(include_str!("fixtures/llm/nonstream.txt"))).await;
    assert_eq!(text, "sysand fisearc有foucontaisect pa和sour foun");
    assert_eq!(usage.and_then(|usage| usage.prompt_tokens), Some(50));
}

#[tokio::test]
async fn dropping_an_answer_hangs_up() {
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"One. Two\"}}]}\n\n".to_vec();
    let (base_url, server) = serve_once(event).await;
    let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
    let given = given("x?");
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::select! {
        result = reasoner.synthesize(given.synthesize(Complexity::Simple), AnswerSink(sender)) => {
            panic!("the server never ended the answer: {result:?}");
        }
        piece = receiver.recv() => assert_eq!(piece.as_deref(), Some("One. Two")),
    }
    assert_eq!(server.await.unwrap(), 0);
}

#[tokio::test]
async fn dropping_a_question_hangs_up_before_any_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
    let given = given("x?");
    let mut socket = tokio::select! {
        result = reasoner.plan(given.plan()) => panic!("no one answered: {result:?}"),
        socket = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            read_request(&mut socket).await;
            socket
        } => socket,
    };
    assert_eq!(socket.read(&mut [0; 16]).await.unwrap_or(0), 0);
}
