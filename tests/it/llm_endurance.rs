//! What many runs leave behind, and how soon a cancel is through: measured, not timed in CI.
//!
//! `cargo test --test it llm_endurance -- --ignored --nocapture` prints the figures.
#![allow(clippy::print_stderr)]

use std::fs;
use std::time::{Duration, Instant};

use kb_agent::domain::Outcome;
use kb_agent::engine::Engine;
use kb_agent::protocol::EventBody;
use tokio_util::sync::CancellationToken;

use crate::engine::engine;
use crate::fault_server::{Act, FaultServer, ending, piece, reply, stream_head};
use crate::support::{check_stream, question_of};
use crate::workplace::Workplace;

const RUNS: usize = 1_000;
/// Runs before the first look: pools and caches fill up once.
const WARM: usize = 100;

/// What a process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    handles: usize,
    tasks: usize,
    threads: usize,
    resident_kb: usize,
}

fn held() -> Held {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    Held {
        handles: fs::read_dir("/proc/self/fd").unwrap().count(),
        tasks: tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks(),
        threads: number("Threads:"),
        resident_kb: number("VmRSS:"),
    }
}

fn kept(text: &str) -> Act {
    let body = format!("{}{}", piece(text), ending());
    Act::Keep(reply("200 OK", "Content-Type: text/event-stream\r\n", body))
}

async fn indexed(place: &Workplace, server: &FaultServer) -> Engine {
    let engine = engine(place, &server.base_url()).await.unwrap();
    engine
        .knowledge()
        .update(&|_| (), &CancellationToken::new())
        .unwrap();
    engine
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: half a minute"]
async fn a_thousand_runs_leave_nothing_behind() {
    let plan = r#"{"complexity": "complex", "sub_questions": ["a?", "b?"]}"#;
    let calls = r#"{"calls": [{"tool": "grep_search", "args": {"query": "gate"}}]}"#;
    let server = FaultServer::start(&[
        (
            "",
            vec![Act::Keep(reply("200 OK", "", r#"{"data": [{"id": "m"}]}"#))],
        ),
        ("analyze_and_route", vec![kept(plan)]),
        ("plan", vec![kept(calls)]),
        ("grade_evidence", vec![kept(r#"{"scores": [0.9]}"#)]),
        ("synthesize", vec![kept("At seven [1].")]),
    ]);
    let place = Workplace::empty();
    let engine = indexed(&place, &server).await;
    let started = Instant::now();
    let mut looks = Vec::new();
    for at in 0..=WARM + RUNS {
        if at >= WARM && (at - WARM).is_multiple_of(RUNS / 4) {
            // What a run leaves to be torn down is given the time that it asks for.
            tokio::time::sleep(Duration::from_millis(200)).await;
            looks.push(held());
        }
        let answer = engine
            .answer_query("When does the gate open?")
            .await
            .unwrap();
        assert_eq!(answer.outcome, Outcome::Answered);
        if at % 50 == 0 {
            server.forget();
        }
    }
    let took = started.elapsed();
    for look in &looks {
        eprintln!("{look:?}");
    }
    eprintln!(
        "{:.2} ms a run",
        took.as_secs_f64() * 1e3 / (WARM + RUNS) as f64
    );
    let log = fs::read_to_string(place.audit_log()).unwrap();
    let ends = log.matches("\"event\":\"run_finished\"").count();
    assert_eq!(ends, WARM + RUNS + 1, "no run is lost from the log");
    let (first, last) = (looks[0], looks[looks.len() - 1]);
    assert!(last.handles <= first.handles + 2, "{first:?} {last:?}");
    assert!(last.tasks <= first.tasks + 2, "{first:?} {last:?}");
    assert!(last.threads <= first.threads + 2, "{first:?} {last:?}");
    assert!(
        last.resident_kb <= first.resident_kb + 4_096,
        "{first:?} {last:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_cancel_is_through_at_once_wherever_it_waits() {
    let half = Act::Hang([stream_head(), piece("At se").into_bytes()].concat());
    let chat = r#"{"complexity": "chitchat", "reply": null}"#;
    let busy = reply("503 Service Unavailable", "Retry-After: 50\r\n", "busy");
    for (name, acts) in table![
        "a first byte", vec![("analyze_and_route", vec![Act::Hang(vec![])])];
        "a body", vec![("analyze_and_route", vec![Act::Hang(stream_head())])];
        "the rest of an answer",
            vec![("analyze_and_route", vec![kept(chat)]), ("synthesize", vec![half])];
        "the next attempt", vec![("analyze_and_route", vec![Act::Keep(busy)])];
    ] {
        let mut script = vec![(
            "",
            vec![Act::Keep(reply("200 OK", "", r#"{"data": [{"id": "m"}]}"#))],
        )];
        let last = acts.len() + 1;
        script.extend(acts);
        let server = FaultServer::start(&script);
        let place = Workplace::empty();
        let engine = indexed(&place, &server).await;
        let mut all = Vec::new();
        for _ in 0..50 {
            server.forget();
            let cancel = CancellationToken::new();
            let question = question_of("hello");
            let mut run = engine.stream(question, cancel.clone()).await.unwrap();
            let mut events = Vec::new();
            let (mut cancelled, mut ended) = (None, None);
            loop {
                tokio::select! {
                    event = run.next_event() => match event {
                        Some(event) => {
                            ended = Some(Instant::now());
                            events.push(event);
                        }
                        None => break,
                    },
                    () = tokio::time::sleep(Duration::from_millis(1)), if cancelled.is_none() => {
                        // The listing is asked for once.
                        let chats = server.seen().iter().filter(|seen| !seen.node().is_empty()).count();
                        if chats >= last - 1 {
                            cancelled = Some(Instant::now());
                            cancel.cancel();
                        }
                    }
                }
            }
            all.push(ended.unwrap().duration_since(cancelled.unwrap()));
            check_stream(&events);
            let end = events.last().map(|event| &event.body);
            assert!(matches!(
                end,
                Some(EventBody::RunFinished {
                    outcome: Outcome::Cancelled,
                    ..
                })
            ));
        }
        all.sort();
        let ms = |at: usize| all[at].as_secs_f64() * 1e3;
        eprintln!(
            "{name}: median of 50 cancels {:.2} ms, slowest {:.2} ms",
            ms(25),
            ms(49)
        );
        assert!(ms(25) < 100.0, "{name}: {all:?}");
    }
}

/// From the server's writing of the first token to the event that shows it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn the_first_token_is_shown_when_it_arrives() {
    const ASKED: usize = 500;
    let chat = r#"{"complexity": "chitchat", "reply": null}"#;
    let rest = format!("{}{}", piece(" seven."), ending());
    let pieces = vec![stream_head(), piece("At").into_bytes(), rest.into_bytes()];
    let server = FaultServer::start(&[
        (
            "",
            vec![Act::Keep(reply("200 OK", "", r#"{"data": [{"id": "m"}]}"#))],
        ),
        ("analyze_and_route", vec![kept(chat)]),
        ("synthesize", vec![Act::Send(pieces)]),
    ]);
    let place = Workplace::empty();
    let engine = indexed(&place, &server).await;
    let mut delays = Vec::new();
    for _ in 0..ASKED {
        let question = question_of("hello");
        let mut run = engine
            .stream(question, CancellationToken::new())
            .await
            .unwrap();
        let mut first = None;
        while let Some(event) = run.next_event().await {
            if matches!(event.body, EventBody::AnswerDelta { .. }) {
                first.get_or_insert_with(Instant::now);
            }
        }
        let sent = server.sent();
        let written = sent[sent.len() - 2];
        delays.push(first.unwrap().saturating_duration_since(written));
    }
    delays.sort();
    let ms = |share: usize| delays[(ASKED - 1) * share / 100].as_secs_f64() * 1e3;
    eprintln!(
        "first token of {ASKED}: median {:.2} ms after it was written, p99 {:.2}, slowest {:.2}",
        ms(50),
        ms(99),
        ms(100)
    );
    assert!(ms(99) < 5.0, "p99 {:.2} ms", ms(99));
}
