//! The search in the answers of all conversations.

use crate::protocol::{Command, RecordedAnswer, SessionCommand};
use crate::text::{excerpt_around, one_line};

use super::branching::show_other_branch;
use super::focus::show_turn;
use super::ink::{Ink, Row};
use super::model::{Effect, Model, Overlay, TurnView};
use super::window::Window;

/// What is searched of a question and its answer together, characters.
const SEARCHED: usize = 4_400;
/// A question takes this share of a row at most.
const QUESTION_SHARE: usize = 2;

/// Opens the search, beginning with what is typed into the search of questions, and asks for what there
/// is to search.
pub fn open(model: &mut Model) -> Effect {
    let typed = match &model.overlay {
        Some(window) if matches!(window.shown, Overlay::Recall(_)) => window.typed.clone(),
        _ => String::new(),
    };
    let mut window = Window::new(Overlay::Answers(None));
    window.set_typed(&typed);
    model.overlay = Some(window);
    Effect::Send(Command::Session(SessionCommand::ListAnswers))
}

/// The answers are here, or one line says why they are not.
pub fn arrived(model: &mut Model, answers: Result<Vec<RecordedAnswer>, String>) {
    let is_it = |shown: &Overlay| matches!(shown, Overlay::Answers(_));
    match answers {
        Ok(answers) => {
            let mut windows = model.windows_mut();
            let Some(window) = windows.find(|window| is_it(&window.shown)) else {
                return;
            };
            let text = |answer: &RecordedAnswer| {
                one_line(&format!("{} {}", answer.question, answer.text), SEARCHED)
            };
            let texts = answers.iter().map(text).collect();
            window.shown = Overlay::Answers(Some(answers));
            window.set_texts(texts);
        }
        Err(why) => {
            model.close_windows(is_it);
            model.warn(&why);
        }
    }
}

/// Shows the run of an answer: where it stands on the screen, or in its conversation.
pub fn show(model: &mut Model, answer: &RecordedAnswer) -> Option<Effect> {
    let is_it = |turn: &TurnView| turn.exchange().id == answer.run;
    if let Some(at) = model.turns.current().iter().position(is_it) {
        show_turn(model, at);
        model.chat.reveal = true;
        return None;
    }
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return None;
    }
    if let Some(at) = model.turns.show_run(&answer.run) {
        show_other_branch(model, at);
        return None;
    }
    let run = answer.run.0.to_string();
    Some(Effect::Send(Command::Session(SessionCommand::Resume(run))))
}

/// One answer: its question, the words around what is looked for, and when it was asked.
pub fn row(answer: &RecordedAnswer, typed: &str, width: usize) -> Row {
    let time = Row::new(Ink::Dim, format!("  {} ", answer.time.minute()));
    let room = width.saturating_sub(time.width());
    let question = one_line(&answer.question, room / QUESTION_SHARE);
    let excerpt = excerpt_around(&answer.text, typed.split_whitespace(), room);
    let left = Row::new(Ink::Heading, format!(" {question}  ")).add(Ink::Text, excerpt);
    left.fit(room).and_right(time, width)
}
