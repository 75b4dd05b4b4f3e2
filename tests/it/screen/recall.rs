//! Questions of before: recalled and searched.

use crossterm::event::KeyCode;
use kb_agent::protocol::{SessionUpdate, Update};
use kb_agent::tui::{Msg, Screen};

use super::{ask, pictures, played, runs, screen, strike, tap};
use crate::support::Said;

fn with_earlier(mut screen: Screen) -> Screen {
    let earlier = [
        "What are the four rules?",
        "Compare rules.md with\nthresholds.md",
        "which rule is the last\u{1b}[2J one?",
        "hello",
    ];
    let earlier = earlier.map(str::to_owned).to_vec();
    screen.handle(Msg::Update(Update::Session(SessionUpdate::Questions(
        earlier,
    ))));
    screen
}

#[test]
fn questions_of_earlier_conversations_are_recalled() {
    let mut screen = with_earlier(screen());
    tap(&mut screen, KeyCode::Up);
    assert!(screen.text(100, 30).contains("> hello"));
    tap(&mut screen, KeyCode::Up);
    assert!(
        screen
            .text(100, 30)
            .contains("> which rule is the last one?")
    );
}

#[test]
fn earlier_questions_are_found_by_their_words() {
    let mut screen = with_earlier(played(runs::simple()));
    strike(&mut screen, "rule<Ctrl+r>");
    pictures("recall", &mut screen);
    let text = screen.text(100, 30);
    text.must_hold("3 of 4");
    text.must_lack(" hello");
    // The newest is selected; the arrow goes on to older ones.
    strike(&mut screen, "<Down><Enter>");
    let text = screen.text(100, 30);
    assert!(text.contains("> Compare rules.md with"), "{text}");
    assert_eq!(
        tap(&mut screen, KeyCode::Enter),
        ask("Compare rules.md with\nthresholds.md", None)
    );
}

#[test]
fn the_search_leaves_what_was_typed() {
    let mut screen = with_earlier(screen());
    strike(&mut screen, "what is<Ctrl+r> this");
    assert!(screen.text(100, 30).contains("0 of 4"));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    assert!(screen.text(100, 30).contains("> what is"));
    strike(&mut screen, "<Ctrl+r><Esc>");
    let text = screen.text(100, 30);
    text.must_hold("> what is");
    text.must_lack("Earlier");
}
