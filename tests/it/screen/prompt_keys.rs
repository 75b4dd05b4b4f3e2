//! Keys of the prompt: those of vi, keys pressed one after the other, the rows that the text gets.

use kb_agent::domain::Complexity;
use kb_agent::protocol::Command;
use kb_agent::tui::{Effect, Msg, PromptKeys, Screen, ThemeName};

use super::{
    KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind, ask, ctrl, play, runs, screen,
    setup, strike, tap, tell_knowledge, write,
};

fn with_vi() -> Screen {
    let mut setup = setup(ThemeName::DARK);
    setup.prompt_keys = PromptKeys::Vi;
    let mut screen = Screen::new(setup).unwrap();
    tell_knowledge(&mut screen);
    screen
}

#[test]
fn escape_drops_a_command_of_vi_before_it_stops_the_run() {
    for keys in ["<Esc>0d", "<Esc>03"] {
        let mut screen = with_vi();
        strike(&mut screen, "first<Enter>");
        let mut events = runs::complex();
        events.pop();
        play(&mut screen, events);
        write(&mut screen, "one two three");
        strike(&mut screen, keys);
        assert_eq!(tap(&mut screen, KeyCode::Esc), [], "{keys}");
        strike(&mut screen, "w");
        let text = screen.text(100, 30);
        assert!(text.contains("normal one two three"), "{text}");
        let effects = tap(&mut screen, KeyCode::Esc);
        assert_eq!(effects, [Effect::Send(Command::Cancel)], "{keys}");
    }
}

#[test]
fn an_empty_prompt_in_normal_mode_leaves_the_other_keys_to_the_answer() {
    let mut screen = with_vi();
    play(&mut screen, runs::simple());
    strike(&mut screen, "one<Esc>dd]");
    let effects = tap(&mut screen, KeyCode::Enter);
    assert!(
        matches!(effects[..], [Effect::Send(Command::ReadDocument { .. })]),
        "{effects:?}"
    );
    strike(&mut screen, "<Esc>?");
    let text = screen.text(160, 45);
    assert!(text.contains("In the chat"), "{text}");
    // What means nothing types nothing.
    strike(&mut screen, "<Esc>xqi");
    write(&mut screen, "two");
    let text = screen.text(100, 30);
    assert!(text.contains("> two "), "{text}");
}

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
    for complexity in [None, Some(Complexity::Complex)] {
        let mut screen = with_vi();
        play(&mut screen, runs::simple());
        if complexity.is_some() {
            strike(&mut screen, "/route complex<Enter>");
        }
        strike(&mut screen, "/edit 1<Enter>");
        ctrl(&mut screen, 'u');
        // One line beside " > ", and two beside what stands there now.
        write(&mut screen, &format!("alpha{} omega", " word".repeat(16)));
        tap(&mut screen, KeyCode::Esc);
        let text = screen.text(100, 30);
        assert!(text.contains("normal alpha"), "{text}");
        assert!(text.contains("omega"), "{text}");
    }
}
