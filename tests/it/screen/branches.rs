//! Branches of a conversation on the screen: what is edited, searched, judged and begun again keeps its
//! place.

use std::collections::BTreeMap;

use crossterm::event::KeyCode;
use kb_agent::domain::{Complexity, GradedBy, Outcome};
use kb_agent::protocol::{
    Command, Event, EventBody, Mode, QuestionPlace, RecordedAnswer, RecordedSession, RunId,
    SessionUpdate, Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Screen, Setup, ThemeName};

use super::runs::{self, Tape};
use super::{play, played, screen, setup, strike, tap};
use crate::support::Said;

const FIRST: &str = "0199a1b2-0000-7000-8000-0000000000d1";
const EDITED: &str = "0199a1b2-0000-7000-8000-0000000000d2";

fn id(run: &str) -> RunId {
    RunId(run.into())
}

/// A question that is answered, in that place of its conversation.
fn asked(run: &str, query: &str, place: QuestionPlace) -> Vec<Event> {
    let mut tape = Tape::new(run);
    tape.start(query);
    tape.analyze(Complexity::Simple, &[]);
    tape.retrieve(0, Vec::new(), Vec::new());
    tape.answer(0, "It is so.", Vec::new());
    tape.end(Outcome::Answered, 2, 2, None);
    let EventBody::RunStarted { place: stands, .. } = &mut tape.events[0].body else {
        panic!("no start");
    };
    *stands = place;
    tape.events
}

/// Two branches of one question each; the edited one is shown.
fn branches() -> Vec<Event> {
    let mut events = asked(FIRST, "why is it so?", QuestionPlace::default());
    let place = QuestionPlace::edit_of(id(FIRST));
    events.extend(asked(EDITED, "how is it so?", place));
    events
}

fn edit_of(query: &str) -> Vec<Effect> {
    vec![Effect::Send(Command::Ask {
        query: query.to_owned(),
        route: None,
        place: QuestionPlace::edit_of(id(FIRST)),
    })]
}

fn not_asked(screen: &mut Screen, query: &str) {
    screen.handle(Msg::Update(Update::NotAsked {
        query: query.to_owned(),
        reason: "nosuch.md is not there".to_owned(),
    }));
}

#[test]
fn an_answer_of_another_branch_is_shown_where_it_stands() {
    let mut screen = played(branches());
    screen.text(160, 45).must_lack("you   why is it so?");
    strike(&mut screen, "<Ctrl+r><Ctrl+r>");
    let answer = |run: &str, question: &str| RecordedAnswer {
        run: id(run),
        time: Timestamp(0),
        question: question.to_owned(),
        text: "It is so.".to_owned(),
    };
    let answers = vec![
        answer(FIRST, "why is it so?"),
        answer(EDITED, "how is it so?"),
    ];
    let update = SessionUpdate::Answers(Ok(answers));
    screen.handle(Msg::Update(Update::Session(update)));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    let text = screen.text(160, 45);
    text.must_hold("you   why is it so?");
    text.must_hold("branch 1 of 2 · Alt+← Alt+→ show another");
    text.must_lack("you   how is it so?");
}

#[test]
fn an_edited_question_that_is_not_taken_keeps_its_place() {
    let mut screen = played(asked(FIRST, "why is it so?", QuestionPlace::default()));
    strike(&mut screen, "<Alt+Up><Enter>e");
    screen.text(160, 45).must_hold("edit 1 > why is it so?");
    strike(&mut screen, " x");
    assert_eq!(tap(&mut screen, KeyCode::Enter), edit_of("why is it so? x"));
    not_asked(&mut screen, "why is it so? x");
    let text = screen.text(160, 45);
    text.must_hold("edit 1 > why is it so? x");
    text.must_hold("nosuch.md is not there");
    // The engine is busy, and what was typed meanwhile is back when the edit is left.
    let Effect::Send(command) = tap(&mut screen, KeyCode::Enter).remove(0) else {
        panic!("no command");
    };
    strike(&mut screen, " on");
    screen.handle(Msg::Refused(command));
    screen.text(160, 45).must_hold("edit 1 > why is it so? x");
    tap(&mut screen, KeyCode::Backspace);
    tap(&mut screen, KeyCode::Backspace);
    assert_eq!(tap(&mut screen, KeyCode::Enter), edit_of("why is it so?"));
}

#[test]
fn what_was_edited_can_be_recalled() {
    let mut screen = played(branches());
    strike(&mut screen, "/edit 1<Enter>, and why");
    screen
        .text(160, 45)
        .must_hold("edit 1 > how is it so?, and why");
    strike(&mut screen, "<Alt+Left>");
    screen.text(160, 45).must_hold("you   why is it so?");
    strike(&mut screen, "<Esc><Esc><Up>");
    screen.text(160, 45).must_hold("> how is it so?, and why");
}

/// The window from which the run of this conversation begins again at the gate.
fn plan() -> Screen {
    let mut screen = played(runs::complex());
    strike(&mut screen, "<Alt+2>gjjja");
    screen.text(160, 45).must_hold("Again from grade_evidence");
    screen
}

#[test]
fn a_grade_that_was_not_measured_is_not_drawn_where_a_run_begins_again() {
    let mut events = runs::complex();
    for event in &mut events {
        if let EventBody::EvidenceGraded { by, .. } = &mut event.body {
            *by = GradedBy::Fallback;
        }
    }
    for (events, grade) in [(runs::complex(), "[x] 0."), (events, "[x] –")] {
        let mut screen = played(events);
        strike(&mut screen, "<Alt+2>gjjja");
        screen.text(160, 45).must_hold(grade);
    }
}

#[test]
fn a_run_that_does_not_begin_keeps_what_was_changed() {
    for is_refused in [false, true] {
        let mut screen = plan();
        tap(&mut screen, KeyCode::Char(' '));
        screen.text(160, 45).must_hold("1 passage dropped");
        let Effect::Send(command) = tap(&mut screen, KeyCode::Enter).remove(0) else {
            panic!("no command");
        };
        let Command::Rerun(request) = command.clone() else {
            panic!("{command:?}");
        };
        screen.text(160, 45).must_lack("─ Again from");
        if is_refused {
            screen.handle(Msg::Refused(command));
        } else {
            not_asked(&mut screen, &request.query);
        }
        let text = screen.text(160, 45);
        text.must_hold("Again from grade_evidence");
        text.must_hold("1 passage dropped");
        assert!(!screen.is_animated());
    }
}

#[test]
fn a_click_on_a_passage_drops_it_and_a_paste_is_refused() {
    let mut screen = plan();
    let text = screen.text(160, 45);
    let lines: Vec<&str> = text.lines().collect();
    let row = lines.iter().position(|line| line.contains("[x]")).unwrap();
    let column = lines[row].split("[x]").next().unwrap().chars().count();
    let mut click = |row: usize| {
        let effects = super::citations::click(&mut screen, column as u16, row as u16);
        assert_eq!(effects, []);
        screen.text(160, 45)
    };
    click(row).must_hold("1 passage dropped");
    // What stands above the passages does nothing.
    click(row - 2).must_hold("1 passage dropped");
    screen.handle(Msg::Paste("pasted words".to_owned()));
    let text = screen.text(160, 45);
    text.must_hold("1 passage dropped");
    text.must_hold("e begins an instruction; paste then.");
    text.must_lack("pasted words");
}

#[test]
fn an_instruction_has_one_limit_and_is_cut_without_a_sign() {
    let mut screen = Screen::new(Setup {
        mode: Mode::Llm,
        ..setup(ThemeName::DARK)
    })
    .unwrap();
    play(&mut screen, runs::complex());
    strike(&mut screen, "<Alt+2>gjjjae");
    strike(&mut screen, &"a".repeat(130));
    screen.handle(Msg::Paste("b ".repeat(200)));
    screen
        .text(160, 45)
        .must_hold("An instruction has at most 400 characters.");
    tap(&mut screen, KeyCode::Enter);
    let effects = tap(&mut screen, KeyCode::Enter);
    let [Effect::Send(Command::Rerun(request))] = &effects[..] else {
        panic!("{effects:?}");
    };
    let told = request.rerun.instruction.as_deref().unwrap();
    let cut = "a".repeat(130) + &"b ".repeat(135);
    assert_eq!(told, cut.trim_end());
}

#[test]
fn a_label_that_is_not_kept_is_taken_back_in_a_branch_that_is_not_shown() {
    let mut screen = played(branches());
    let effects = strike(&mut screen, "<Alt+2>+");
    let [Effect::Send(Command::Label(change))] = &effects[..] else {
        panic!("{effects:?}");
    };
    screen.text(160, 45).must_hold("simple ✓");
    strike(&mut screen, "<Alt+Left>");
    screen.handle(Msg::Update(Update::NotLabelled {
        change: change.clone(),
        reason: "the disk is full".to_owned(),
    }));
    strike(&mut screen, "<Alt+Right>");
    let text = screen.text(160, 45);
    text.must_hold("you   how is it so?");
    text.must_lack("simple ✓");
}

#[test]
fn a_resumed_conversation_counts_the_runs_of_all_branches() {
    let mut screen = screen();
    let update = SessionUpdate::Resumed(RecordedSession {
        id: "s1".to_owned(),
        name: None,
        events: branches(),
        left_out: 0,
        shown: None,
        labels: BTreeMap::new(),
    });
    screen.handle(Msg::Update(Update::Session(update)));
    screen.text(160, 45).must_hold("Resumed: 2 runs since");
}

/// The run of a branch that is begun while a search is open is told apart by its turns, not by how many
/// there are.
#[test]
fn a_retry_in_another_branch_shows_that_branch() {
    let mut screen = played(branches());
    strike(&mut screen, "<Alt+Left>");
    screen.text(160, 45).must_hold("you   why is it so?");
    strike(&mut screen, "<Ctrl+f>how is");
    screen.text(160, 45).must_hold("not found");
    let place = QuestionPlace::retry_of(id(EDITED));
    let run = "0199a1b2-0000-7000-8000-0000000000d3";
    play(&mut screen, asked(run, "how is it so?", place));
    let text = screen.text(160, 45);
    text.must_hold("you   how is it so?");
    text.must_lack("not found");
}
