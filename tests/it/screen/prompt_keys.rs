//! Keys of the prompt: keys pressed one after the other, the rows that the text gets.

use kb_agent::tui::{Effect, Msg, Screen};

use super::{
    KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind, ask, ctrl, play, runs, screen,
    strike, tap, write,
};

#[test]
fn a_key_of_a_sequence_is_shown_and_dropped_by_what_does_not_follow() {
    let mut screen = screen();
    let is_held = |screen: &mut Screen| screen.text(100, 30).contains("^X waits");
    let hold = |screen: &mut Screen| {
        ctrl(screen, 'x');
        assert!(is_held(screen), "{}", screen.text(100, 30));
    };
    hold(&mut screen);
    assert_eq!(ctrl(&mut screen, 'z'), [Effect::Suspend]);
    assert!(!is_held(&mut screen));
    write(&mut screen, "one");
    hold(&mut screen);
    assert_eq!(tap(&mut screen, KeyCode::Enter), ask("one", None));
    // Esc drops the key and stops nothing.
    hold(&mut screen);
    assert_eq!(tap(&mut screen, KeyCode::Esc), []);
    assert!(!is_held(&mut screen));
    hold(&mut screen);
    screen.handle(Msg::Paste("two".to_owned()));
    assert!(!is_held(&mut screen));
    hold(&mut screen);
    screen.handle(Msg::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 4,
        row: 4,
        modifiers: KeyModifiers::NONE,
    }));
    assert!(!is_held(&mut screen));
    // Ctrl+C does what it does alone.
    hold(&mut screen);
    ctrl(&mut screen, 'c');
    let text = screen.text(100, 30);
    assert!(!text.contains("> two"), "{text}");
    hold(&mut screen);
    assert_eq!(
        ctrl(&mut screen, 'e'),
        [Effect::Write(String::new())],
        "the sequence"
    );
    ctrl(&mut screen, 'c');
    hold(&mut screen);
    assert_eq!(ctrl(&mut screen, 'c'), [Effect::Quit]);
}

#[test]
fn a_text_beside_a_long_sign_gets_the_rows_that_it_takes() {
    for (route, shown) in [
        ("", "edit 1 > alpha"),
        ("/route complex<Enter>", "edit 1 > complex alpha"),
    ] {
        let mut screen = screen();
        play(&mut screen, runs::simple());
        strike(&mut screen, &format!("{route}/edit 1<Enter>"));
        ctrl(&mut screen, 'u');
        // One line beside " > ", and two beside what stands there now.
        write(&mut screen, &format!("alpha{} omega", " word".repeat(16)));
        let text = screen.text(100, 30);
        assert!(text.contains(shown), "{text}");
        assert!(text.contains("omega"), "{text}");
    }
}
