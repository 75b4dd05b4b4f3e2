//! Questions of before: recalled and searched.

use crossterm::event::KeyCode;
use kb_agent::protocol::{SessionUpdate, Update};
use kb_agent::tui::{Msg, Screen};

use super::{ask, ctrl, pictures, played, runs, screen, tap, write};

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
    write(&mut screen, "rule");
    ctrl(&mut screen, 'r');
    pictures("recall", &mut screen);
    let text = screen.text(100, 30);
    assert!(
        text.contains("3 of 4") && !text.contains(" hello"),
        "{text}"
    );
    // The newest is selected; the key goes on to older ones.
    ctrl(&mut screen, 'r');
    tap(&mut screen, KeyCode::Enter);
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
    write(&mut screen, "what is");
    ctrl(&mut screen, 'r');
    write(&mut screen, " this");
    assert!(screen.text(100, 30).contains("0 of 4"));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    assert!(screen.text(100, 30).contains("> what is"));
    ctrl(&mut screen, 'r');
    tap(&mut screen, KeyCode::Esc);
    let text = screen.text(100, 30);
    assert!(
        text.contains("> what is") && !text.contains("Earlier"),
        "{text}"
    );
}
