//! Commands, the palette, the queue and the search in the conversation.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use kb_agent::domain::Complexity;
use kb_agent::protocol::{Command, EventBody};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{ask, ctrl, pictures, played, press, screen, strike, struck, tap, write};
use super::{play, runs};
use crate::support::Said;

fn click(screen: &mut Screen, wanted: &str, (width, height): (u16, u16)) -> Vec<Effect> {
    let text = screen.text(width, height);
    let found = text.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(wanted)?;
        Some((row, line[..at].chars().count()))
    });
    let (row, column) = found.unwrap_or_else(|| panic!("no {wanted}:\n{text}"));
    screen.handle(Msg::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: column as u16,
        row: row as u16,
        modifiers: KeyModifiers::NONE,
    }))
}

#[test]
fn a_slash_opens_a_list_that_keys_and_mouse_choose_from() {
    let mut screen = screen();
    write(&mut screen, "/");
    pictures("menu", &mut screen);
    // The last one is one step above the first.
    tap(&mut screen, KeyCode::Up);
    let text = screen.text(60, 20);
    assert!(text.contains("▸ /quit"), "{text}");
    let text = screen.text(60, 12);
    assert!(text.contains(" of ") && text.contains("▸ /quit"), "{text}");
    strike(&mut screen, "<Down><Tab>");
    let text = screen.text(100, 30);
    text.must_hold("> /route");
    text.must_hold("▸ auto");
    strike(&mut screen, "<Down><Enter>");
    assert!(
        screen
            .text(100, 30)
            .contains("Route for new questions: simple")
    );
    write(&mut screen, "/eng");
    click(&mut screen, "/engine", (100, 30));
    let text = screen.text(100, 30);
    assert!(text.contains("offline, built in"), "{text}");
    tap(&mut screen, KeyCode::Esc);
    // The first Esc closes the list, the second takes the text back.
    strike(&mut screen, "/s<Esc>");
    let text = screen.text(100, 30);
    assert!(!text.contains("/stats") && text.contains("/s"), "{text}");
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(100, 30).contains("ask, / for commands"));
}

#[test]
fn the_palette_finds_actions_and_commands_by_a_few_letters() {
    let mut screen = struck(runs::complex(), "<Ctrl+p>");
    pictures("palette", &mut screen);
    write(&mut screen, "unrl");
    let text = screen.text(100, 30);
    assert!(text.contains("unroll the loops"), "{text}");
    tap(&mut screen, KeyCode::Enter);
    let text = screen.text(100, 30);
    assert!(text.contains("▸Path"), "{text}");
    strike(&mut screen, "<Ctrl+p>theme<Enter>");
    let text = screen.text(100, 30);
    text.must_hold("> /theme");
    text.must_hold("▸ auto");
    strike(&mut screen, "li<Enter>");
    assert!(screen.text(100, 30).contains("Theme light."));
    strike(&mut screen, "<Ctrl+p>zzzz");
    assert!(screen.text(100, 30).contains("nothing like that"));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
}

#[test]
fn the_palette_shows_the_key_that_does_the_same() {
    let mut screen = screen();
    strike(&mut screen, "<Ctrl+p>/help");
    let text = screen.text(100, 30);
    let row = text.lines().find(|line| line.contains("/help  all keys"));
    assert!(row.is_some_and(|row| row.contains('?')), "{text}");
}

#[test]
fn windows_tell_which_engine_answers_and_what_to_try() {
    let mut screen = screen();
    play(&mut screen, runs::complex());
    play(&mut screen, runs::simple());
    for (command, name) in [("/engine", "model"), ("/try", "samples")] {
        write(&mut screen, command);
        tap(&mut screen, KeyCode::Enter);
        pictures(name, &mut screen);
        tap(&mut screen, KeyCode::Esc);
    }
}

#[test]
fn a_question_during_a_run_waits_and_is_sent_when_the_run_ends() {
    let mut screen = screen();
    assert_eq!(strike(&mut screen, "first<Enter>"), ask("first", None));
    let mut events = runs::complex();
    let end = events.pop().unwrap();
    play(&mut screen, events);
    for question in ["second", "third", "fourth"] {
        write(&mut screen, question);
        assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    }
    pictures("queued", &mut screen);
    // Esc takes back what was queued last before it stops anything.
    assert_eq!(tap(&mut screen, KeyCode::Esc), []);
    let text = screen.text(100, 30);
    assert!(text.contains("> fourth") && !text.contains("queued: fourth"));
    ctrl(&mut screen, 'c');
    assert_eq!(play(&mut screen, vec![end]), ask("second", None));
    let text = screen.text(100, 30);
    assert!(text.contains("you   second"), "{text}");
    assert!(text.contains("queued: third"), "{text}");
    assert_eq!(play(&mut screen, runs::simple()), ask("third", None));
    assert_eq!(
        tap(&mut screen, KeyCode::Esc),
        [Effect::Send(Command::Cancel)]
    );
}

#[test]
fn what_waits_goes_back_to_the_prompt_when_the_engine_is_gone() {
    let mut screen = screen();
    for question in ["first", "second"] {
        write(&mut screen, question);
        tap(&mut screen, KeyCode::Enter);
    }
    screen.handle(Msg::EngineGone);
    let text = screen.text(100, 30);
    text.must_hold("> second");
    text.must_lack("queued");
}

#[test]
fn a_retry_stands_below_its_question() {
    let mut screen = screen();
    play(&mut screen, runs::complex());
    assert_eq!(strike(&mut screen, "<Alt+Up><Enter>r"), []);
    tap(&mut screen, KeyCode::Char('2'));
    let mut events = runs::simple();
    if let EventBody::RunStarted {
        forced_route,
        place,
        ..
    } = &mut events[0].body
    {
        *forced_route = Some(Complexity::Simple);
        place.retry_of = Some(runs::complex()[0].run.clone());
    }
    play(&mut screen, events);
    pictures("retried", &mut screen);
    let text = screen.text(160, 45);
    assert!(text.contains("retried: simple"), "{text}");
    assert_eq!(text.matches("│ you   ").count(), 1, "{text}");
}

#[test]
fn a_click_on_an_answer_moves_the_panes_to_its_run() {
    let mut screen = screen();
    play(&mut screen, runs::simple());
    play(&mut screen, runs::not_found());
    let size = (160, 60);
    let text = screen.text(size.0, size.1);
    let marked = |text: &str| {
        let marked = text.lines().filter(|line| line.starts_with("│▌"));
        marked.collect::<Vec<_>>().join("\n")
    };
    assert!(marked(&text).contains("not found"), "{text}");
    click(&mut screen, "What is the default", size);
    let text = screen.text(size.0, size.1);
    assert!(text.contains("Panes show run 1 of 2"), "{text}");
    assert!(marked(&text).contains("What is the default"), "{text}");
    assert!(!marked(&text).contains("not found"), "{text}");
    strike(&mut screen, "<Enter>r");
    assert!(screen.text(100, 30).contains("by which route?"));
}

#[test]
fn ui_the_header_says_which_run_of_how_many_the_panes_show() {
    let mut screen = screen();
    let header = |screen: &mut Screen, width| {
        let text = screen.text(width, 30);
        text.lines().next().unwrap_or_default().to_owned()
    };
    play(&mut screen, runs::simple());
    assert!(header(&mut screen, 100).contains(" run 1 of 1 "));
    assert!(
        !header(&mut screen, 60).contains("run"),
        "there is no other"
    );
    play(&mut screen, runs::not_found());
    play(&mut screen, runs::chitchat());
    press(&mut screen, KeyCode::Up, KeyModifiers::ALT);
    for width in [160, 100, 60] {
        let line = header(&mut screen, width);
        assert!(line.contains(" run 2 of 3 "), "{line}");
    }
    strike(&mut screen, "/replay<Enter>");
    assert!(
        header(&mut screen, 100).contains(" run 2 of 3 "),
        "as before"
    );
}

/// Two answers, and how to get to one of them.
fn at_an_answer(way: &str) -> Screen {
    let mut screen = screen();
    play(&mut screen, runs::simple());
    play(&mut screen, runs::complex());
    match way {
        "alt" => drop(press(&mut screen, KeyCode::Up, KeyModifiers::ALT)),
        "bracket" => drop(tap(&mut screen, KeyCode::Char(']'))),
        _ => drop(click(&mut screen, "What is the default", (160, 60))),
    }
    screen
}

#[test]
fn ui_the_next_question_is_typed_wherever_one_has_moved_to() {
    for way in ["alt", "bracket", "click"] {
        for question in ["yes, and why?", "rust?", "Round 2", "what else", "copy it"] {
            let mut screen = at_an_answer(way);
            for c in question.chars() {
                assert_eq!(tap(&mut screen, KeyCode::Char(c)), [], "{way} {question}");
            }
            let text = screen.text(100, 30);
            assert!(text.contains(&format!("> {question}")), "{way}:\n{text}");
        }
        // Moving on while something is typed takes nothing from it.
        let mut screen = at_an_answer(way);
        strike(&mut screen, "ab<Alt+Up>ry[i");
        assert!(screen.text(100, 30).contains("> abry[i"));
    }
}

#[test]
fn ui_letters_act_on_an_answer_only_where_the_screen_says_so() {
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        for (key, back) in [("i", KeyCode::Char('i')), ("Esc", KeyCode::Esc)] {
            let mut screen = at_an_answer("alt");
            assert!(screen.text(width, height).contains("⏎ act on it"));
            tap(&mut screen, KeyCode::Enter);
            let text = screen.text(width, height);
            for expected in ["letters act on the answer · i types", "y copy", "r retry"] {
                assert!(
                    text.contains(expected),
                    "no {expected} after {key}:\n{text}"
                );
            }
            let copied = tap(&mut screen, KeyCode::Char('y'));
            assert!(matches!(copied[..], [Effect::Copy(_)]), "{copied:?}");
            tap(&mut screen, back);
            assert!(!screen.text(width, height).contains("letters act"));
            write(&mut screen, "ry");
            assert!(screen.text(width, height).contains("> ry"));
        }
        // A letter that does nothing there is the first of the question.
        let mut screen = at_an_answer("alt");
        strike(&mut screen, "<Enter>how");
        let text = screen.text(width, height);
        text.must_hold("> how");
        text.must_lack("letters act");
    }
}

#[test]
fn ui_a_digit_in_the_middle_of_a_conversation_is_typed() {
    let mut screen = played(runs::simple());
    assert_eq!(tap(&mut screen, KeyCode::Char('1')), []);
    assert!(screen.text(100, 30).contains("> 1"));
    ctrl(&mut screen, 'c');
    // Asked for, they are sent.
    assert_eq!(
        strike(&mut screen, "/try<Enter>1"),
        ask("Hello, who are you?", None)
    );
    // A question that has not begun is a conversation too.
    let mut screen = super::screen();
    assert_eq!(strike(&mut screen, "12"), []);
    assert!(screen.text(100, 30).contains("> 2"));
}

#[test]
fn the_last_question_is_edited_and_sent_again() {
    let mut screen = screen();
    strike(&mut screen, "what is a chunk<Enter>");
    play(&mut screen, runs::simple());
    assert_eq!(
        strike(&mut screen, "<Up> size<Enter>"),
        ask("what is a chunk size", None)
    );
}

#[test]
fn the_conversation_is_searched() {
    let mut screen = screen();
    for events in [runs::complex(), runs::simple(), runs::not_found()] {
        play(&mut screen, events);
    }
    strike(&mut screen, "<Ctrl+f>per question");
    let text = screen.text(60, 20);
    assert!(text.contains("per document"), "{text}");
    strike(&mut screen, "<Ctrl+u>chunk");
    pictures("find", &mut screen);
    let shown = |screen: &mut Screen| {
        let text = screen.text(60, 20);
        let line = text.lines().find(|line| line.contains(" find chunk"));
        let line = line.unwrap_or_default().to_owned();
        line.split_whitespace()
            .nth(3)
            .unwrap_or_default()
            .to_owned()
    };
    let first = shown(&mut screen);
    tap(&mut screen, KeyCode::Down);
    let second = shown(&mut screen);
    assert_ne!(first, second);
    tap(&mut screen, KeyCode::Up);
    assert_eq!(shown(&mut screen), first);
    write(&mut screen, "zzz");
    assert!(screen.text(60, 20).contains("not found"));
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(60, 20).contains("ask, / for commands"));
}
