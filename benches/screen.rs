//! What the screen costs: a key and the frame after it, an event, memory.
//!
//! `cargo bench --bench screen`. Conversations of 10, 1 000 and 10 000 questions, a run of 10 000
//! audit rows and one of 1 000 passages, all at 200×60, into a buffer: what the terminal itself
//! takes to draw is not in it. What the screen lays out ahead once a frame is out, the pages above and
//! below, is measured by itself. Memory is that of a process of its own for each conversation, and of
//! one that asks a recorded run again and again. The answer that streams comes with 2 000 tokens a second, gathered
//! for one frame of a sixtieth of a second. Code is measured line by line as it streams, and beside
//! that with all of it read anew, as for another width once the answer is whole.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

// Made for the tests of the screen, of which this needs a few.
#[allow(dead_code)]
#[path = "../tests/it/screen/runs.rs"]
mod runs;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kb_agent::domain::{Complexity, NodeName, Outcome, ToolName};
use kb_agent::protocol::{Event, EventBody, KnowledgeContents, RunId, Update};
use kb_agent::tui::{Msg, Screen, Setup};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use runs::{Tape, item};

const SIZE: (u16, u16) = (200, 60);
const FRAMES: usize = 600;
/// Before a number: only the memory of so many questions is measured.
const MEMORY: &str = "memory=";
/// Before a number: only a conversation of so many questions is measured, as for a profiler.
const CONVERSATION: &str = "conversation=";
const RECORDED: &str = include_str!("../tests/it/fixtures/picture.jsonl");
const TOKENS_A_FRAME: usize = 2_000 / 60;

fn main() {
    let asked = std::env::args().find_map(|arg| arg.strip_prefix(MEMORY)?.parse().ok());
    if let Some(count) = asked {
        return memory(count);
    }
    println!(
        "a key and its frame at {}×{}, ms: median, 99th percentile, slowest; the key that takes longest",
        SIZE.0, SIZE.1
    );
    let only = std::env::args().find_map(|arg| arg.strip_prefix(CONVERSATION)?.parse().ok());
    if let Some(count) = only {
        return conversation(count);
    }
    for count in [10, 1_000, 10_000] {
        conversation(count);
    }
    for count in [5_000, 10_000] {
        let program = std::env::current_exe().unwrap();
        let mut process = std::process::Command::new(program);
        process.arg(format!("{MEMORY}{count}")).status().unwrap();
    }
    let mut drawn = Drawn::new();
    drawn.play(long_trail(10_000));
    drawn.keys(
        "audit of 10 000 rows",
        &focused(
            '4',
            [
                KeyCode::PageUp,
                KeyCode::Up,
                KeyCode::Down,
                KeyCode::PageDown,
            ],
        ),
    );
    let mut drawn = Drawn::new();
    drawn.play(many_passages(1_000));
    drawn.keys(
        "1 000 passages",
        &focused(
            '3',
            [
                KeyCode::PageDown,
                KeyCode::Down,
                KeyCode::Up,
                KeyCode::PageUp,
            ],
        ),
    );
    names(10_000);
    streaming();
    streaming_code();
}

/// A name after an `@` that is typed, completed and taken back, over so many.
fn names(count: usize) {
    let mut drawn = Drawn::new();
    let folders = (0..count / 20).map(|at| format!("area-{}/project-{at}/", at % 40));
    let files = (0..count - count / 20).map(|at| {
        format!(
            "area-{}/project-{}/meeting notes {at}.md",
            at % 40,
            at % 500
        )
    });
    let contents = KnowledgeContents {
        names: folders.chain(files).collect(),
        ..KnowledgeContents::default()
    };
    let update = Msg::Update(Update::Contents(contents));
    drawn.screen.handle(update);
    let typed = "@meet7".chars().map(KeyCode::Char);
    let keys = typed.chain([KeyCode::Down, KeyCode::PageDown]);
    let erased = std::iter::repeat_n(KeyCode::Backspace, 6);
    let keys: Vec<KeyEvent> = keys.chain(erased).map(key).collect();
    drawn.keys(&format!("a name among {count}"), &keys);
}

/// Typing, scrolling and changing panes after so many questions, and what the events took.
fn conversation(count: usize) {
    let mut drawn = Drawn::new();
    let mut events = 0;
    let begun = Instant::now();
    for at in 0..count {
        let run = named(at, made(at));
        events += run.len();
        drawn.play(run);
    }
    let took = begun.elapsed();
    let keys = [
        alt('1'),
        key(KeyCode::Char('a')),
        key(KeyCode::PageUp),
        key(KeyCode::PageUp),
        key(KeyCode::PageDown),
        alt('2'),
        key(KeyCode::Down),
        alt('3'),
        key(KeyCode::Down),
        alt('4'),
        key(KeyCode::Up),
    ];
    drawn.keys(&format!("{count} questions"), &keys);
    let each = took.as_secs_f64() * 1e6 / events as f64;
    println!("  {events} events, {each:.1} µs each");
}

/// Makes the events of a run.
type RunOf<'a> = &'a dyn Fn(usize) -> Vec<Event>;

/// The run with what an endpoint is sent for it: eight prompts of 6 000 characters and their replies.
fn with_prompts(at: usize, run: &[Event]) -> Vec<Event> {
    let text: Vec<char> = RECORDED.chars().collect();
    let last = run.last().unwrap();
    let called = (0..8_usize).map(|call| {
        let from = (at * 977 + call * 3_001) % (text.len() - 6_000);
        let body = EventBody::ModelCalled {
            node: NodeName::Synthesize,
            call: call as u32,
            model: "model".to_owned(),
            ms: 1_000.0,
            prompt_tokens: Some(1_500),
            completion_tokens: Some(100),
            retries: 0,
            prompt: Some(text[from..from + 6_000].iter().collect()),
            reply: Some(format!("reply {at} {call}")),
        };
        Event {
            body,
            ..last.clone()
        }
    });
    let before = run[..run.len() - 1].iter().cloned();
    before.chain(called).chain([last.clone()]).collect()
}

/// What a conversation of so many questions takes: of made runs, then of a recorded one, then of
/// that with prompts.
fn memory(count: usize) {
    let recorded: Vec<Event> = RECORDED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: [(&str, RunOf<'_>); 3] = [
        ("made", &made),
        ("recorded", &|_| recorded.clone()),
        ("endpoint", &|at| with_prompts(at, &recorded)),
    ];
    let mut drawn = Drawn::new();
    drawn.play(named(0, made(1)));
    drawn.press(alt('1'));
    for (kind, run) in kinds {
        let before = resident();
        for at in 0..count {
            drawn.play(named(at, run(at)));
        }
        drawn.press(alt('1'));
        let kept = resident().saturating_sub(before);
        let (mb, each) = (kept as f64 / 1e6, kept as f64 / 1e3 / count as f64);
        println!(
            "{count} {kind} questions, {} events each: {mb:.0} MB, {each:.1} kB each",
            run(1).len()
        );
    }
}

/// A short or a long run, by turns.
fn made(at: usize) -> Vec<Event> {
    if at.is_multiple_of(2) {
        runs::simple()
    } else {
        runs::complex()
    }
}

fn named(at: usize, run: Vec<Event>) -> Vec<Event> {
    let id = RunId(format!("0199a1b2-0000-7000-8000-{at:012}").into());
    let named = |event| Event {
        run: id.clone(),
        ..event
    };
    run.into_iter().map(named).collect()
}

/// An answer that grows while keys come.
fn streaming() {
    let mut drawn = Drawn::new();
    let mut run = runs::complex();
    let first = run
        .iter()
        .position(|event| matches!(event.body, EventBody::AnswerDelta { .. }));
    run.truncate(first.unwrap());
    let last = run.last().unwrap().clone();
    drawn.play(run);
    let mut samples = Vec::new();
    for frame in 0..FRAMES {
        let tokens = (0..TOKENS_A_FRAME).map(|at| Event {
            seq: last.seq + (frame * TOKENS_A_FRAME + at) as u64,
            body: EventBody::AnswerDelta {
                text: if at % 30 == 0 {
                    "pipeline.\n\n".into()
                } else {
                    "word ".into()
                },
                supported: None,
            },
            ..last.clone()
        });
        let tokens: Vec<Event> = tokens.collect();
        let begun = Instant::now();
        drawn.play(tokens);
        drawn.press(key(KeyCode::Char('a')));
        samples.push(begun.elapsed());
    }
    report("2 000 tokens a second, 10 s", &mut samples);
}

/// An answer of many code blocks that grows by a line a frame; then all of it at once, as often.
fn streaming_code() {
    const BLOCKS: usize = 20;
    const LINES: usize = 30;
    let mut drawn = Drawn::new();
    let mut run = runs::complex();
    let first = run
        .iter()
        .position(|event| matches!(event.body, EventBody::AnswerDelta { .. }));
    let end = run.pop().unwrap();
    run.truncate(first.unwrap());
    let last = run.last().unwrap().clone();
    drawn.play(run);
    let delta = |text: String| Event {
        body: EventBody::AnswerDelta {
            text,
            supported: None,
        },
        ..last.clone()
    };
    let mut samples = Vec::new();
    for at in 0..BLOCKS * LINES {
        let line = format!("    let value_{at}: Vec<String> = call(\"{at}\", {at}); // why\n");
        let text = match at % LINES {
            0 => format!("\nText [1].\n\n```rust\n{line}"),
            place if place + 1 == LINES => format!("{line}```\n"),
            _ => line,
        };
        let begun = Instant::now();
        drawn.play(vec![delta(text)]);
        drawn.press(key(KeyCode::Char('a')));
        samples.push(begun.elapsed());
    }
    let tail = samples.len() / 10;
    let mut grown = samples.split_off(samples.len() - tail);
    report("one more line of 600 of code", &mut grown);
    drawn.play(vec![end]);
    let mut anew: Vec<Duration> = (0..tail)
        .map(|at| {
            let mut terminal = Terminal::new(TestBackend::new(SIZE.0 - 1 - at as u16 % 2, SIZE.1));
            let begun = Instant::now();
            drawn.screen.draw(terminal.as_mut().unwrap()).unwrap();
            begun.elapsed()
        })
        .collect();
    report("all 600 lines read anew", &mut anew);
    let ratio = anew[anew.len() / 2].as_secs_f64() / grown[grown.len() / 2].as_secs_f64();
    println!("  {ratio:.0} times as long");
}

/// A run of so many tool calls, each of which is a row of its own.
fn long_trail(rows: usize) -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e1");
    tape.start("How many?");
    tape.analyze(Complexity::Complex, &[]);
    for at in 0..rows / 2 {
        let code = format!("odd_{at}");
        let message = format!("reply {at} was not as asked");
        tape.after(1).add(EventBody::Warning { code, message });
        tape.retrieve(0, Vec::new(), Vec::new());
    }
    tape.end(Outcome::Answered, 2, 0, None);
    tape.events
}

fn many_passages(count: usize) -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e2");
    tape.start("What is there?");
    tape.analyze(Complexity::Complex, &[]);
    let items = (1..=count)
        .map(|n| {
            item(
                n,
                &format!("notes/{n}.md"),
                (n, n + 8),
                ToolName::HybridSearch,
                0.5,
            )
        })
        .collect();
    tape.retrieve(0, Vec::new(), items);
    tape.answer(0, "A good deal.", Vec::new());
    tape.end(Outcome::Answered, 2, 0, None);
    tape.events
}

struct Drawn {
    screen: Screen,
    terminal: Terminal<TestBackend>,
}

impl Drawn {
    fn new() -> Self {
        Self {
            screen: Screen::new(Setup::default()).unwrap(),
            terminal: Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap(),
        }
    }

    fn play(&mut self, events: Vec<Event>) {
        for event in events {
            self.screen.handle(Msg::Update(Update::Event(event)));
        }
    }

    fn press(&mut self, key: KeyEvent) {
        self.screen.handle(Msg::Key(key));
        self.screen.draw(&mut self.terminal).unwrap();
    }

    fn keys(&mut self, what: &str, keys: &[KeyEvent]) {
        // The first frame lays out what is seen.
        self.press(keys[0]);
        let (mut samples, mut ahead) = (Vec::new(), Vec::new());
        for at in 0..FRAMES {
            let begun = Instant::now();
            self.press(keys[at % keys.len()]);
            samples.push(begun.elapsed());
            let drawn = Instant::now();
            self.screen.lay_out_ahead();
            ahead.push(drawn.elapsed());
        }
        let of_key = |at: usize| {
            let mut samples: Vec<_> = samples.iter().skip(at).step_by(keys.len()).collect();
            samples.sort();
            (*samples[samples.len() / 2], at)
        };
        let (median, slowest) = (0..keys.len()).map(of_key).max().unwrap();
        report(what, &mut samples);
        println!(
            "  {:?}, key {} of {}, {:.3}",
            keys[slowest].code,
            slowest + 1,
            keys.len(),
            median.as_secs_f64() * 1e3
        );
        report("  laid out ahead, after it", &mut ahead);
    }
}

fn report(what: &str, samples: &mut [Duration]) {
    samples.sort();
    let ms = |at: usize| samples[at.min(samples.len() - 1)].as_secs_f64() * 1e3;
    let (median, p99) = (ms(samples.len() / 2), ms(samples.len() * 99 / 100));
    println!("{what:<28} {median:6.3} {p99:6.3} {:6.3}", ms(usize::MAX));
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn alt(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT)
}

fn focused(pane: char, codes: [KeyCode; 4]) -> Vec<KeyEvent> {
    std::iter::once(alt(pane)).chain(codes.map(key)).collect()
}

/// Bytes in memory; 0 where the system does not tell.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
