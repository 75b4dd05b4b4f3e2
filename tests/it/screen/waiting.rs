//! Waiting shows itself: how far the index is, how fast, how long still, and that it is stopped;
//! what a run does, and what the call of a model waits for.

use crossterm::event::KeyCode;
use kb_agent::domain::{Complexity, NodeName, ToolCall, ToolName, Wait};
use kb_agent::protocol::{
    Command, Event, EventBody, IndexCommand, IndexProgress, IndexStep, KnowledgeStatus, Timestamp,
    Update,
};
use kb_agent::tui::{Effect, Msg, Screen};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use super::runs::{self, Tape, item};
use super::{SIZES, play, played, screen, tap, write};
use crate::support::Said;

fn report_status(screen: &mut Screen, status: KnowledgeStatus) {
    screen.handle(Msg::Update(Update::Knowledge(status)));
}

fn embedding(done: usize, at: u64) -> KnowledgeStatus {
    counted(IndexStep::Embedding, done, 5_020, at)
}

fn counted(step: IndexStep, done: usize, total: usize, at: u64) -> KnowledgeStatus {
    KnowledgeStatus {
        name: "handbook".to_owned(),
        documents: 640,
        chunks: 5_020,
        languages: None,
        pending: 5_020 - done,
        indexing: true,
        watching: true,
        progress: Some(IndexProgress {
            step,
            done,
            total,
            at: Timestamp(at),
        }),
        stopped: false,
    }
}

fn stopped() -> KnowledgeStatus {
    KnowledgeStatus {
        indexing: false,
        watching: false,
        progress: None,
        stopped: true,
        ..embedding(1_204, 0)
    }
}

#[test]
fn the_header_says_how_far_embedding_is_how_fast_and_how_long_still() {
    let mut screen = screen();
    report_status(&mut screen, embedding(374, 10_000));
    report_status(&mut screen, embedding(1_204, 20_000));
    let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
    for (width, said) in [
        (160, "embedding 1 204 of 5 020 · 83/s · 46 s left"),
        (100, "embedding 1 204 of 5 020 · 83/s · 46 s left"),
        (80, "embedding 1 204 of 5 020"),
        (60, "embedding 23 %"),
    ] {
        let text = plain(screen.text(width, 30));
        assert!(text.contains(said), "{width}: {text}");
    }
}

#[test]
fn files_that_are_read_are_counted_likewise() {
    let mut screen = screen();
    let reading = |done, at| counted(IndexStep::Reading, done, 640, at);
    report_status(&mut screen, reading(20, 0));
    report_status(&mut screen, reading(120, 2_000));
    let text = screen.text(160, 45);
    text.must_hold("reading 120 of 640 files · 50/s · 11 s left");
}

#[test]
fn indexing_is_stopped_and_taken_up_again_by_a_command() {
    let mut screen = screen();
    report_status(&mut screen, embedding(1_204, 0));
    write(&mut screen, "/index stop");
    let stop = Effect::Send(Command::Index(IndexCommand::Stop));
    assert_eq!(tap(&mut screen, KeyCode::Enter), [stop]);
    assert!(screen.text(160, 45).contains("what is done is kept"));
    report_status(&mut screen, stopped());
    for (width, height) in &SIZES[..3] {
        let text = screen.text(*width, *height);
        assert!(text.contains("indexing stopped"), "{text}");
    }
    write(&mut screen, "/index go");
    let resume = Effect::Send(Command::Index(IndexCommand::Resume));
    assert_eq!(tap(&mut screen, KeyCode::Enter), [resume]);
    let text = screen.text(160, 45);
    assert!(text.contains("brought up to date again"), "{text}");
    write(&mut screen, "/index now");
    assert!(tap(&mut screen, KeyCode::Enter).is_empty());
    let text = screen.text(160, 45);
    assert!(text.contains("/index needs one of stop, go"), "{text}");
}

fn waiting(wait: Wait) -> EventBody {
    let node = NodeName::AnalyzeAndRoute;
    EventBody::Waiting { node, wait }
}

fn retry(seconds: f64) -> Wait {
    Wait::Retry {
        seconds,
        attempt: 2,
        attempts: 3,
        status: Some(429),
    }
}

const SILENCE: Wait = Wait::Silence {
    seconds: 12,
    seconds_left: 48,
};

const READING: Wait = Wait::Reading {
    tokens: 412,
    tokens_in_all: 760,
    cached: 0,
    seconds: 7,
    tokens_per_second: Some(58.0),
    seconds_left: Some(6),
};

const WRITING: Wait = Wait::Writing {
    tokens: 40,
    tokens_per_second: 8.4,
};

/// The line below the question that is being answered.
fn wait_line(screen: &mut Screen, (width, height): (u16, u16)) -> String {
    let text = screen.text(width, height);
    let line = text.lines().find(|line| line.contains("Esc stops"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    let said = line.split(['◐', '◓', '◑', '◒']).nth(1).unwrap_or(line);
    said.split(" · Esc stops").next().unwrap().trim().to_owned()
}

#[test]
fn ui_the_wait_line_says_what_a_call_waits_for_until_the_next_thing_happens() {
    for size in SIZES.into_iter().take(3) {
        let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e1");
        tape.start("What is a chunk?");
        tape.enter(NodeName::AnalyzeAndRoute, 0);
        let mut screen = played(std::mem::take(&mut tape.events));
        assert_eq!(wait_line(&mut screen, size), "analyze_and_route");
        let mut report = |screen: &mut Screen, body| {
            tape.add(body);
            let event = tape.events.pop().unwrap();
            let at = event.ts;
            screen.handle(Msg::Update(Update::Event(event)));
            at
        };
        let at = report(&mut screen, waiting(retry(3.2)));
        let line = |left| format!("429: again in {left} s (2 of 3)");
        assert_eq!(wait_line(&mut screen, size), line(4));
        screen.handle(Msg::Tick(Timestamp(at.0 + 2_500)));
        assert_eq!(wait_line(&mut screen, size), line(1));
        screen.handle(Msg::Tick(Timestamp(at.0 + 3_200)));
        assert_eq!(wait_line(&mut screen, size), "429: asked again (2 of 3)");
        report(&mut screen, waiting(Wait::Over));
        assert_eq!(wait_line(&mut screen, size), "analyze_and_route");
        report(&mut screen, waiting(Wait::Thinking { tokens: 320 }));
        assert_eq!(wait_line(&mut screen, size), "thinking · 320 tok");
        report(&mut screen, waiting(READING));
        // Three seconds have passed on the screen since the event.
        let read = "reading the prompt · 412 of 760 tok · 3 s left · 58 tok/s";
        let said = wait_line(&mut screen, size);
        assert!(
            read.starts_with(&said) && said.contains("412 of 760"),
            "{said}"
        );
        assert!(said == read || size.0 < 160, "{said}");
        report(&mut screen, waiting(SILENCE));
        assert_eq!(wait_line(&mut screen, size), "12 s without a byte, 48 left");
        report(&mut screen, waiting(WRITING));
        let delta = EventBody::AnswerDelta {
            text: "A chunk".to_owned(),
            supported: None,
        };
        report(&mut screen, delta);
        let written = "writing · 40 tok · 8.4 tok/s";
        assert_eq!(wait_line(&mut screen, size), written);
        let warning = EventBody::Warning {
            code: "endpoint_retried".to_owned(),
            message: "answered at attempt 2".to_owned(),
        };
        report(&mut screen, warning);
        assert_eq!(wait_line(&mut screen, size), "analyze_and_route");
    }
}

#[test]
fn ui_the_wait_line_says_what_is_searched_and_found_and_how_much_is_graded() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e2");
    tape.start("compare the pipeline with the query engine");
    tape.analyze(Complexity::Complex, &["a", "b"]);
    tape.enter(NodeName::ToolExec, 0);
    let mut screen = played(std::mem::take(&mut tape.events));
    assert_eq!(wait_line(&mut screen, SIZES[0]), "tool_exec");
    let query = |query: &str| ToolCall::GrepSearch {
        query: query.to_owned(),
    };
    let read = ToolCall::ReadFile {
        path: "a\u{1b}[2J.md".to_owned(),
        start_line: None,
        end_line: None,
    };
    let calls = [query("index pipeline"), query("query engine"), read];
    let found = |call: &ToolCall, items| EventBody::ToolFinished {
        call: call.clone(),
        items,
        scores: Vec::new(),
        ms: 1.0,
        error: None,
        is_breakdown: false,
        by: None,
    };
    for call in &calls {
        tape.add(EventBody::ToolCalled {
            call: call.clone(),
            by: None,
        });
    }
    let mut line = |events: Vec<Event>| {
        play(&mut screen, events);
        wait_line(&mut screen, SIZES[0])
    };
    assert_eq!(
        line(std::mem::take(&mut tape.events)),
        "searching 'index pipeline' +2"
    );
    tape.add(found(&calls[0], 3));
    let said = line(std::mem::take(&mut tape.events));
    assert_eq!(said, "searching 'query engine' +1 · 3 found");
    tape.add(found(&calls[1], 11));
    assert_eq!(
        line(std::mem::take(&mut tape.events)),
        "reading 'a.md' · 14 found"
    );
    let items = (1..=14)
        .map(|n| item(n, "a.md", (n * 20, n * 20 + 1), ToolName::GrepSearch, 0.5))
        .collect();
    tape.add(EventBody::EvidenceAdded { items });
    tape.leave(NodeName::ToolExec, 0, 12, 0);
    tape.enter(NodeName::GradeEvidence, 0);
    assert_eq!(line(std::mem::take(&mut tape.events)), "grading 14");
    tape.leave(NodeName::GradeEvidence, 0, 12, 1);
    tape.enter(NodeName::Synthesize, 0);
    let said = line(std::mem::take(&mut tape.events));
    assert_eq!(said, "synthesize · 14 passages");
}

fn any_wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        any::<(f64, u32, u32, Option<u16>)>().prop_map(|(seconds, attempt, attempts, status)| {
            Wait::Retry {
                seconds,
                attempt,
                attempts,
                status,
            }
        }),
        any::<u64>().prop_map(|tokens| Wait::Thinking { tokens }),
        any::<(u64, u64)>().prop_map(|(seconds, seconds_left)| Wait::FirstToken {
            seconds,
            seconds_left
        }),
        any::<(u64, u64)>().prop_map(|(seconds, seconds_left)| Wait::Silence {
            seconds,
            seconds_left
        }),
        any::<(u64, u64, u64, Option<f64>, Option<u64>)>().prop_map(
            |(tokens, tokens_in_all, seconds, tokens_per_second, seconds_left)| Wait::Reading {
                tokens,
                tokens_in_all,
                cached: 0,
                seconds,
                tokens_per_second,
                seconds_left,
            }
        ),
        any::<(u64, f64)>().prop_map(|(tokens, tokens_per_second)| Wait::Writing {
            tokens,
            tokens_per_second
        }),
    ]
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 16,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    /// A log has none of them, and its runs look as they did live.
    #[test]
    fn ui_what_was_waited_for_leaves_no_trace(
        waits in proptest::collection::vec((any_wait(), 1_usize..60), 0..12)
    ) {
        for run in [runs::complex(), runs::failed(), runs::chitchat()] {
            let mut events = run.clone();
            for (wait, at) in &waits {
                let at = 1 + at % (events.len() - 1);
                let event_of_wait = Event { body: waiting(*wait), ..events[at].clone() };
                events.insert(at, event_of_wait);
            }
            let (mut live, mut recorded) = (screen(), played(run));
            for event in events {
                let is_wait = event.body.is_passing();
                live.handle(Msg::Update(Update::Event(event)));
                if is_wait {
                    live.text(60, 20);
                }
            }
            for (width, height) in SIZES {
                assert_eq!(live.text(width, height), recorded.text(width, height));
            }
            for screen in [&mut live, &mut recorded] {
                super::press(screen, KeyCode::Char('2'), crossterm::event::KeyModifiers::ALT);
                tap(screen, KeyCode::Char('R'));
                tap(screen, KeyCode::End);
            }
            assert_eq!(live.text(160, 45), recorded.text(160, 45));
        }
    }
}
