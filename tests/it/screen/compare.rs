//! Two runs side by side, and a race of two routes.

use kb_agent::domain::{Complexity, NodeName, Outcome};
use kb_agent::protocol::{Command, Event, EventBody, QuestionPlace};
use kb_agent::tui::{Effect, Screen};

use super::runs::{self, Tape};
use super::{
    KeyCode, KeyModifiers, pictures, play, played, press, screen, strike, struck, tap, write,
};
use crate::support::Said;

const QUESTION: &str = "What is the default chunk size?";

/// The events of a run as they are when its route was chosen, and it repeats another.
pub fn chosen(mut events: Vec<Event>, route: Complexity, repeats: Option<&Event>) -> Vec<Event> {
    if let EventBody::RunStarted {
        query,
        forced_route,
        place,
        ..
    } = &mut events[0].body
    {
        QUESTION.clone_into(query);
        *forced_route = Some(route);
        place.retry_of = repeats.map(|event| event.run.clone());
    }
    events
}

fn two_runs() -> Screen {
    let mut screen = played(runs::simple());
    let again = chosen(runs::complex(), Complexity::Complex, runs::simple().first());
    play(&mut screen, again);
    screen
}

#[test]
fn two_runs_of_a_question_stand_side_by_side() {
    let mut screen = two_runs();
    strike(&mut screen, "<Alt+2>c");
    pictures("compare", &mut screen);
    // What only one of them did, whichever way the window is scrolled.
    let all = screen.text(160, 120);
    for expected in [
        "× faster",
        "REFINE",
        "only left: ",
        "only right: ",
        "found by both",
        "Answers",
    ] {
        assert!(all.contains(expected), "{expected}\n{all}");
    }
}

/// A simple run that ends with this answer.
fn answered(run: &str, answer: &str) -> Vec<Event> {
    let mut tape = Tape::new(run);
    tape.start(QUESTION);
    tape.analyze(Complexity::Simple, &[]);
    tape.answer(0, answer, Vec::new());
    tape.end(Outcome::Answered, 2, 2, None);
    tape.events
}

#[test]
fn words_that_differ_between_two_answers_are_marked() {
    let mut screen = played(answered(
        "0199a1b2-1",
        "A chunk holds 512 tokens by default.",
    ));
    play(
        &mut screen,
        answered("0199a1b2-2", "A chunk holds 256 tokens by default."),
    );
    strike(&mut screen, "/compare<Enter>");
    let text = screen.text(160, 90);
    text.must_hold("A chunk holds [-512-]{+256+} tokens by default.");
}

#[test]
fn ui_answers_are_compared_as_the_chat_draws_them() {
    let compared = |left: &str, right: &str| {
        let mut screen = played(answered("0199a1b2-1", left));
        play(&mut screen, answered("0199a1b2-2", right));
        strike(&mut screen, "/compare<Enter>");
        screen.text(160, 90)
    };
    let table = "| tool | finds |\n|---|---|\n| grep | words |\n| vector | meaning |\n";
    for (left, right) in [
        (table, table.replace("words", "patterns")),
        (table, table.to_owned()),
        (table, "Something else.".to_owned()),
    ] {
        let text = compared(left, &right);
        assert!(!text.contains("|---") && !text.contains("| grep"), "{text}");
        text.must_hold("vector");
        text.must_hold("meaning");
    }
    let text = compared("It is **512** `tokens`.", "It is **256** `tokens`.");
    assert!(text.contains("It is [-512-]{+256+} tokens."), "{text}");
}

#[test]
fn ui_a_round_is_the_same_in_the_path_and_in_a_comparison() {
    let mut screen = two_runs();
    assert!(screen.text(160, 45).contains("2nd round"));
    strike(&mut screen, "/compare<Enter>");
    let text = screen.text(160, 120);
    let row = text.lines().find(|line| line.contains("│ rounds "));
    let numbers: Vec<&str> = row
        .unwrap_or_else(|| panic!("{text}"))
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| !number.is_empty())
        .collect();
    assert_eq!(numbers, ["1", "2", "1"], "a search, two of them, one more");
}

#[test]
fn another_run_is_put_on_the_right() {
    let mut screen = two_runs();
    play(&mut screen, runs::chitchat());
    strike(&mut screen, "/compare<Enter>");
    // Nothing else asked that, so it is the run before.
    assert!(screen.text(160, 90).contains("right · chitchat"));
    press(&mut screen, KeyCode::Up, KeyModifiers::ALT);
    assert!(screen.text(160, 90).contains("right · simple"));
    press(&mut screen, KeyCode::Down, KeyModifiers::ALT);
    assert!(screen.text(160, 90).contains("right · chitchat"));
    tap(&mut screen, KeyCode::Esc);
    assert!(!screen.text(160, 90).contains("Two runs"));
}

#[test]
fn one_run_alone_is_compared_with_nothing() {
    let mut screen = struck(runs::simple(), "/compare<Enter>");
    assert!(screen.text(160, 45).contains("Nothing to compare yet."));
}

#[test]
fn a_race_shows_both_runs_as_they_go_on() {
    let mut screen = screen();
    write(&mut screen, &format!("/race {QUESTION}"));
    let effects = tap(&mut screen, KeyCode::Enter);
    let query = QUESTION.to_owned();
    assert_eq!(
        effects,
        [Effect::Send(Command::Race {
            query,
            place: QuestionPlace::default(),
        })]
    );

    let short = chosen(runs::simple(), Complexity::Simple, None);
    let whole = chosen(runs::complex(), Complexity::Complex, short.first());
    let graded = |event: &Event| {
        matches!(
            event.body,
            EventBody::NodeEntered {
                node: NodeName::GradeEvidence,
                ..
            }
        )
    };
    let until = whole.iter().position(graded).unwrap() + 1;
    let (begins, ends) = whole.split_at(until);
    play(&mut screen, short[..1].to_vec());
    play(&mut screen, begins.to_vec());
    play(&mut screen, short[1..].to_vec());
    assert!(screen.is_animated(), "one of them is still at work");
    pictures("race", &mut screen);
    play(&mut screen, ends.to_vec());
    assert!(!screen.is_animated());
    let text = screen.text(160, 90);
    assert!(text.contains("× faster"), "{text}");
    // The panes beneath show both as turns of one conversation.
    tap(&mut screen, KeyCode::Esc);
    assert!(
        screen.text(160, 45).contains("run 2 of 2") || screen.text(160, 45).contains("complex")
    );
}

#[test]
fn ui_the_wait_lines_of_a_race_speak_for_both_runs() {
    let mut screen = screen();
    write(&mut screen, &format!("/race {QUESTION}"));
    tap(&mut screen, KeyCode::Enter);
    let short = chosen(runs::simple(), Complexity::Simple, None);
    let whole = chosen(runs::complex(), Complexity::Complex, short.first());
    let searching = |events: &[Event]| {
        let is_call = |event: &Event| event.body.name() == "tool_called";
        events.iter().position(is_call).unwrap() + 1
    };
    let lines = |screen: &mut Screen| {
        let text = screen.text(160, 45);
        let said = text
            .lines()
            .filter_map(|line| line.split(['◐', '◓', '◑', '◒']).nth(1));
        let said = said.filter(|line| line.contains(": ") || line.contains("Esc"));
        said.map(|line| line.split("  ").next().unwrap().trim().to_owned())
            .collect::<Vec<_>>()
    };
    play(&mut screen, short[..searching(&short)].to_vec());
    play(&mut screen, whole[..2].to_vec());
    tap(&mut screen, KeyCode::Esc);
    assert_eq!(
        lines(&mut screen),
        [
            "simple: searching 'default chunk size'",
            "complex: analyze_and_route · Esc stops"
        ]
    );
    // What ends first, the last that began, does not take the other's line along.
    play(&mut screen, whole[2..].to_vec());
    assert_eq!(
        lines(&mut screen),
        ["simple: searching 'default chunk size' · Esc stops"]
    );
    play(&mut screen, short[searching(&short)..].to_vec());
    assert!(lines(&mut screen).is_empty());
}

#[test]
fn a_race_that_is_stopped_ends_both_runs() {
    let mut screen = screen();
    write(&mut screen, &format!("/race {QUESTION}"));
    tap(&mut screen, KeyCode::Enter);
    let short = chosen(runs::simple(), Complexity::Simple, None);
    let whole = chosen(runs::cancelled(), Complexity::Complex, short.first());
    play(&mut screen, short[..3].to_vec());
    play(&mut screen, whole[..3].to_vec());
    let effects = strike(&mut screen, "<Esc><Esc>");
    assert_eq!(effects, [Effect::Send(Command::Cancel)]);
}
