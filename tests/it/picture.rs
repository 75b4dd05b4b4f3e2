//! The pictures in the README: recorded runs and main states, drawn by the real view.

mod svg;

use std::path::Path;

use crossterm::event::{KeyCode, KeyModifiers};
use kb_agent::protocol::{Event, EventBody, KnowledgeStatus, Update};
use kb_agent::tui::{Msg, Screen};

use crate::screen::{press, runs, screen, tap, write};

const REFRESH: &str = "KB_AGENT_UPDATE_PICTURE=1 cargo test picture";

/// A picture stays no shorter and no longer than this, seconds; the last stays longer.
const SHORTEST: f64 = 0.12;
const LONGEST: f64 = 1.2;
const AT_THE_END: f64 = 4.0;

/// The demo with nothing asked.
fn demo() -> Screen {
    let mut screen = screen();
    screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
        name: "demo-kb".to_owned(),
        documents: 38,
        chunks: 215,
        ..KnowledgeStatus::default()
    })));
    screen
}

/// A recorded run of two rounds.
fn recorded() -> Vec<Event> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(root.join("tests/it/fixtures/picture.jsonl")).unwrap();
    let events = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    events.collect()
}

fn play(screen: &mut Screen, events: Vec<Event>) {
    for event in events {
        screen.handle(Msg::Update(Update::Event(event)));
    }
}

/// Draws it anew where that is asked for, else says whether it is as drawn.
fn is_up_to_date(name: &str, drawn: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/{name}.svg"));
    if std::env::var_os("KB_AGENT_UPDATE_PICTURE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, drawn).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|before| before == drawn),
        "assets/{name}.svg is stale; refresh it with: {REFRESH}"
    );
}

#[test]
fn picture_of_a_run_is_up_to_date() {
    let mut screen = demo();
    play(&mut screen, recorded());
    let title = "kb-agent answers a question in two rounds";
    is_up_to_date("screen", &svg::still(&screen.render(140, 40), title));
}

#[test]
fn picture_of_a_run_as_it_goes_on_is_up_to_date() {
    let mut screen = demo();
    let events = recorded();
    let mut frames = vec![(screen.render(120, 34), LONGEST)];
    for (at, event) in events.iter().enumerate() {
        screen.handle(Msg::Update(Update::Event(event.clone())));
        let until = events.get(at + 1).map_or(AT_THE_END, |next| {
            let ms = next.ts.0.saturating_sub(event.ts.0) as f64;
            (ms / 1000.0).clamp(SHORTEST, LONGEST)
        });
        // Of an answer that grows, each fifth step.
        let grows = matches!(event.body, EventBody::AnswerDelta { .. });
        if grows && at % 5 > 0 {
            frames.last_mut().unwrap().1 += until;
        } else {
            frames.push((screen.render(120, 34), until));
        }
    }
    let title = "A question goes through the graph, round by round";
    is_up_to_date("pictures/run", &svg::moving(&frames, title));
}

#[test]
fn pictures_of_the_main_states_are_up_to_date() {
    let draw = |name: &str, title: &str, screen: &mut Screen| {
        let drawn = svg::still(&screen.render(120, 34), title);
        is_up_to_date(&format!("pictures/{name}"), &drawn);
    };
    draw("empty", "Nothing asked yet", &mut demo());
    let mut chitchat = demo();
    play(&mut chitchat, runs::chitchat());
    draw("chitchat", "Small talk takes the short cut", &mut chitchat);
    let mut compared = demo();
    play(&mut compared, runs::simple());
    play(&mut compared, recorded());
    write(&mut compared, "/compare");
    tap(&mut compared, KeyCode::Enter);
    draw("compare", "Two runs side by side", &mut compared);
    let mut detail = demo();
    play(&mut detail, recorded());
    press(&mut detail, KeyCode::Char('2'), KeyModifiers::ALT);
    for _ in 0..3 {
        tap(&mut detail, KeyCode::Down);
    }
    tap(&mut detail, KeyCode::Enter);
    draw("detail", "What went on in a node", &mut detail);
}
