//! What `y` copies, and what is said of it.

use kb_agent::tui::{Effect, Screen};

use super::runs;
use super::{KeyCode, KeyModifiers, played, press, tap};

fn copied(effects: Vec<Effect>) -> String {
    match <[Effect; 1]>::try_from(effects) {
        Ok([Effect::Copy(text)]) => text,
        other => panic!("{other:?}"),
    }
}

fn focused(pane: char) -> Screen {
    let mut screen = played(runs::complex());
    press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
    screen.text(160, 45);
    screen
}

fn says(screen: &mut Screen, words: &str) {
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let text = screen.text(width, height);
        let last: Vec<&str> = text.lines().rev().take(6).collect();
        assert!(
            last.iter().any(|line| line.contains(words)),
            "{words}\n{text}"
        );
    }
}

#[test]
fn each_pane_copies_what_its_keys_are_on() {
    let mut screen = focused('3');
    let text = copied(tap(&mut screen, KeyCode::Char('y')));
    assert!(text.contains(".md:") && text.lines().count() > 2, "{text}");
    says(&mut screen, "Sent ");
    let text = screen.text(160, 45);
    assert!(text.contains("to the terminal to copy (OSC 52)."), "{text}");

    let mut screen = focused('4');
    let text = copied(tap(&mut screen, KeyCode::Char('y')));
    let event: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(event["event"], "run_finished");
    says(&mut screen, "Sent run_finished (");

    let mut screen = focused('2');
    let text = copied(tap(&mut screen, KeyCode::Char('y')));
    assert!(text.starts_with("# "), "{text}");
    says(&mut screen, "Sent the run as Markdown (");
    assert_eq!(copied(tap(&mut screen, KeyCode::Char('Y'))), text);
}

#[test]
fn the_chat_copies_the_answer_or_the_selected_citation() {
    let mut screen = played(runs::complex());
    let text = copied(press(&mut screen, KeyCode::Char('y'), KeyModifiers::ALT));
    assert!(text.contains("\n[1] "), "{text}");
    says(&mut screen, "Sent the answer (");
    tap(&mut screen, KeyCode::Char(']'));
    let text = copied(press(&mut screen, KeyCode::Char('y'), KeyModifiers::ALT));
    assert!(
        text.starts_with("[1] ") && text.lines().count() == 1,
        "{text}"
    );
    says(&mut screen, "Sent citation [1] (1 line)");
}

#[test]
fn windows_copy_what_they_show_and_say_so_below() {
    let mut screen = focused('4');
    tap(&mut screen, KeyCode::Enter);
    let text = copied(tap(&mut screen, KeyCode::Char('y')));
    assert!(text.contains("\"run_finished\""), "{text}");
    says(&mut screen, "Sent the event (");
    let mut screen = focused('2');
    tap(&mut screen, KeyCode::Enter);
    assert!(!copied(tap(&mut screen, KeyCode::Char('y'))).is_empty());
    says(&mut screen, "Sent the details (");
}

#[test]
fn nothing_is_copied_where_there_is_nothing() {
    for pane in ['2', '3', '4'] {
        let mut screen = super::screen();
        press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
        assert_eq!(tap(&mut screen, KeyCode::Char('y')), []);
        says(&mut screen, "There is nothing to copy here.");
    }
}

#[test]
fn the_mouse_is_left_to_the_terminal_and_taken_back() {
    let mut screen = focused('3');
    assert_eq!(
        tap(&mut screen, KeyCode::Char('m')),
        [Effect::ReportMouse(false)]
    );
    says(&mut screen, "The mouse is the terminal's");
    assert_eq!(
        press(&mut screen, KeyCode::Char('m'), KeyModifiers::ALT),
        [Effect::ReportMouse(true)]
    );
}
