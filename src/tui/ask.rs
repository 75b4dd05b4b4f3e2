//! From what is typed to a question for the engine. It answers one at a time; the others wait here.

use crate::domain::{Complexity, Wait};
use crate::protocol::{
    Command, KnowledgeContents, QuestionPlace, RunId, SampleQuestion, Timestamp,
};
use crate::text::sanitize;

use super::branching::{edit_again, leave_edit};
use super::fold::{Exchange, PendingCall, RunResult};
use super::model::{Effect, Model, Overlay, Sample, TurnQuestion};
use super::pane_state::{AnswerFocus, ChatScroll};
use super::panes::rerun;
use super::prompt::MAX_QUESTION;
use super::slash::route_called;
use super::window::Window;

/// Questions that may wait for their turn.
const MOST_QUEUED: usize = 20;

/// Sends what is typed.
pub fn send(model: &mut Model) -> Option<Effect> {
    let text = model.prompt.text();
    let text = text.trim().to_owned();
    if text.is_empty() {
        return None;
    }
    let mut question = TurnQuestion::new(text, model.route);
    if let Some(edit) = &model.editing {
        question.place = QuestionPlace::edit_of(edit.first.clone());
    }
    let (taken, effects) = ask(model, question);
    if taken {
        model.prompt.set("");
        leave_edit(model);
    }
    effects
}

/// Sends a question, or lets it wait until the run that is going on has ended; false where it is not
/// taken, which a line says.
pub fn ask(model: &mut Model, question: TurnQuestion) -> (bool, Option<Effect>) {
    if question.text.len() > MAX_QUESTION {
        let message = format!(
            "The question has {} kB; at most {} kB can be sent. Nothing is lost: shorten it.",
            question.text.len().div_ceil(1024),
            MAX_QUESTION / 1024
        );
        model.warn(&message);
        return (false, None);
    }
    let must_wait = model.is_busy() || model.choosing.is_some();
    if must_wait && model.queue.len() >= MOST_QUEUED {
        let message = format!("{MOST_QUEUED} questions are queued already; Esc takes one back.");
        model.warn(&message);
        return (false, None);
    }
    model.prompt.remember(&question.text);
    model.chat.chosen = AnswerFocus::No;
    model.notice = None;
    model.chat.follow();
    if must_wait {
        model.queue.push_back(question);
        return (true, None);
    }
    model.shown = None;
    (true, Some(begin(model, question)))
}

/// Sends the question that waits longest, now that nothing goes on.
pub fn next_queued(model: &mut Model) -> Option<Effect> {
    if model.is_busy() || model.choosing.is_some() {
        return None;
    }
    let question = model.queue.pop_front()?;
    Some(begin(model, question))
}

fn begin(model: &mut Model, question: TurnQuestion) -> Effect {
    if model.chat.is_following() {
        model.chat.follow();
    }
    let place = match &question.place {
        place if *place == QuestionPlace::default() => model.turns.next_place(),
        place => place.clone(),
    };
    let command = match &question.rerun {
        Some(plan) => Command::Rerun(Box::new(plan.request())),
        None => Command::Ask {
            query: question.text.clone(),
            route: question.route,
            place,
        },
    };
    model.pending = Some(question);
    Effect::Send(command)
}

/// Takes the question that was queued last back to where it was written; false where none is.
pub fn take_back(model: &mut Model) -> bool {
    let Some(question) = model.queue.pop_back() else {
        return false;
    };
    let typed = model.prompt.text();
    let has_own_place = question.rerun.is_some() || question.place.edit_of.is_some();
    if typed.trim().is_empty() || has_own_place {
        model.inform("Taken back from the queue.");
    } else {
        model.prompt.remember(&typed);
        model.prompt.set("");
        model.inform("Taken back from the queue; what was typed is one ↑ away.");
    }
    put_back(model, question);
    true
}

/// The editor is closed: the prompt holds what was written in it.
pub fn take_draft(model: &mut Model, written: Result<String, String>) {
    match written {
        Ok(text) => model.prompt.set(sanitize(&text).trim_end()),
        Err(reason) => model.warn(&reason),
    }
}

/// Puts a question that was not sent back to where it was written, and says where that is.
fn put_back(model: &mut Model, question: TurnQuestion) -> &'static str {
    if let Some(plan) = question.rerun {
        let window = rerun::window(plan);
        if model.overlay.is_none() {
            model.overlay = Some(window);
        } else {
            model.beneath = Some(window);
        }
        "its changes are kept"
    } else if let Some(first) = &question.place.edit_of {
        edit_again(model, first, &question.text);
        "it is back in the prompt"
    } else if model.prompt.is_empty() {
        model.prompt.set(&question.text);
        "it is back in the prompt"
    } else {
        model.prompt.remember(&question.text);
        "it is one ↑ away"
    }
}

/// Puts the question back that was sent and not taken, and says where that is.
fn give_back(model: &mut Model, query: &str) -> &'static str {
    let pending = model.pending.take();
    put_back(
        model,
        pending.unwrap_or_else(|| TurnQuestion::new(query, None)),
    )
}

/// The engine did not take a question: it goes back to where it was typed.
pub fn refused(model: &mut Model, query: &str) {
    let place = give_back(model, query);
    model.warn(&format!(
        "The engine is busy and did not take the question; {place}."
    ));
}

/// What the question that was sent waits for, before its run begins.
pub fn starting(model: &mut Model, wait: Wait, at: Timestamp) {
    let is_awaited = model.pending.is_some() && wait != Wait::Over;
    model.starting = is_awaited.then_some(PendingCall {
        wait,
        reported_at: at,
        node: None,
    });
}

/// What a question names is not there: it goes back to where it was typed, and the next one is sent.
pub fn not_asked(model: &mut Model, query: &str, reason: &str) -> Option<Effect> {
    give_back(model, query);
    model.racing = None;
    let effects = next_queued(model);
    model.warn(reason);
    effects
}

/// Nothing answers any more: what waits goes back to where it was typed.
pub fn abandon_queue(model: &mut Model) {
    if let Some(first) = model.queue.pop_front() {
        put_back(model, first);
        model.queue.clear();
    }
}

/// Sends the question that is shown once more.
pub fn ask_again(model: &mut Model, route: Option<Complexity>) -> Option<Effect> {
    let run = model.shown_run()?;
    let mut question = TurnQuestion::new(run.query.clone(), route);
    question.place = QuestionPlace::retry_of(run.first_run().clone());
    ask(model, question).1
}

/// Opens the choice of a route, at one that was not taken.
pub fn choose_route(model: &mut Model) {
    let Some(run) = model.shown_run() else {
        model.inform("Nothing to ask again yet.");
        return;
    };
    let broke_off = run.finish.as_ref().is_some_and(RunResult::broke_off);
    let selected = match run.complexity() {
        // The same way once more: it was not the way that failed.
        _ if broke_off => 0,
        Some(Complexity::Simple) => 2,
        _ => 1,
    };
    let mut window = Window::new(Overlay::Retry);
    window.list.selected = selected;
    model.overlay = Some(window);
}

/// Opens the search in earlier questions, beginning with what is typed.
pub fn open_recall(model: &mut Model) {
    let typed = model.prompt.text();
    let questions = model.prompt.earlier();
    let texts = questions.clone();
    let mut window = Window::new(Overlay::Recall(questions));
    window.set_texts(texts);
    if model.prompt.slash().is_none() && !typed.contains('\n') {
        window.set_typed(&typed);
    }
    model.overlay = Some(window);
}

/// Sends one of the sample questions.
pub fn sample(model: &mut Model, at: usize) -> Option<Effect> {
    let sample = model.samples.get(at)?;
    let question = TurnQuestion::new(sample.text.clone(), model.route);
    ask(model, question).1
}

/// What the documents are now; questions to try are made from it, where none were given.
pub fn know(model: &mut Model, contents: KnowledgeContents) {
    if let Some(samples) = &contents.samples {
        let of = |sample: &SampleQuestion| Sample {
            route: sample.route.as_str(),
            text: sample.text.clone(),
        };
        model.samples = samples.iter().map(of).collect();
    }
    model.contents = contents;
}

/// Opens the sample questions.
pub fn offer_samples(model: &mut Model) {
    if model.samples.is_empty() {
        let words = "There are no sample questions: they are made from headings, and offered where the \
                     answer is sure.";
        model.inform(words);
    } else {
        model.open(Overlay::Samples);
    }
}

/// The route of the questions to come, by its name.
pub fn set_route(model: &mut Model, name: &str) {
    let Some((_, route)) = route_called(name) else {
        return;
    };
    model.route = route;
    let words = match route {
        None => "Route for new questions: auto".to_owned(),
        Some(route) => format!("Route for new questions: {}", route.as_str()),
    };
    model.inform(&words);
}

/// Forgets the conversation.
pub fn forget(model: &mut Model) -> Option<Effect> {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return None;
    }
    model.turns.clear();
    model.shown = None;
    model.chat = ChatScroll::default();
    model.begin_find_again();
    leave_edit(model);
    Some(Effect::Send(Command::Forget))
}

// Two runs beside each other: which two, and how a race of two routes comes to be shown.

/// Compares the run that the panes show with another of its question, else with the one before.
pub fn compare_runs(model: &mut Model) {
    let Some(at) = model.shown_at() else {
        model.inform("Nothing to compare yet: ask a question.");
        return;
    };
    let Some(other) = partner(model, at) else {
        model.inform("Nothing to compare yet. Retry by another route (r), or use /race.");
        return;
    };
    // The earlier one stands on the left.
    let (left, right) = (at.min(other), at.max(other));
    model.turns.open(left);
    model.turns.open(right);
    let id = |at: usize| model.turns.current()[at].exchange().id.clone();
    let (left, right) = (id(left), id(right));
    model.open(Overlay::Compare { left, right });
}

/// The last other run of the same question, else the nearest run.
fn partner(model: &Model, at: usize) -> Option<usize> {
    let shown = model.turns.current()[at].exchange();
    let others = || (0..model.turns.current().len()).filter(|other| *other != at);
    let same =
        others().rfind(|other| is_same_question(shown, model.turns.current()[*other].exchange()));
    same.or_else(|| others().min_by_key(|other| (other.abs_diff(at), *other)))
}

fn is_same_question(a: &Exchange, b: &Exchange) -> bool {
    a.first_run() == b.first_run() || a.query.trim() == b.query.trim()
}

/// Puts another run on the right.
pub fn step_compared(model: &mut Model, by: isize) {
    let at = |id: &RunId| model.turns.place_of_open(id);
    let Some(Overlay::Compare { left: id, right }) = model.shown_overlay() else {
        return;
    };
    let (id, left, right) = (id.clone(), at(id), at(right));
    let (Some(left), Some(right)) = (left, right) else {
        return;
    };
    let count = model.turns.current().len().cast_signed();
    let step = by.signum();
    let mut next = right;
    for _ in 0..count {
        next = (next.cast_signed() + step)
            .rem_euclid(count)
            .cast_unsigned();
        if next != left {
            break;
        }
    }
    model.turns.open(next);
    let right = model.turns.current()[next].exchange().id.clone();
    model.open(Overlay::Compare { left: id, right });
}

/// Asks one question by the short way and by the full pipeline at the same time.
pub fn race(model: &mut Model, question: Option<&str>) -> Option<Effect> {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return None;
    }
    if model.choosing.is_some() {
        model.inform("A model is still being checked; try again.");
        return None;
    }
    let shown = model.shown_run().map(|run| run.query.clone());
    let Some(query) = question.map(str::to_owned).or(shown) else {
        model.inform("/race needs a question.");
        return None;
    };
    if query.len() > MAX_QUESTION {
        model.warn("The question is too long to be sent.");
        return None;
    }
    model.prompt.remember(&query);
    model.notice = None;
    model.shown = None;
    model.chat.follow();
    model.racing = Some(Vec::new());
    model.pending = Some(TurnQuestion::new(query.clone(), None));
    let place = model.turns.next_place();
    Some(Effect::Send(Command::Race { query, place }))
}

/// A run has begun: once both of a race have, they are shown beside each other.
pub fn note_run_start(model: &mut Model, run: &RunId) {
    let Some(racing) = &mut model.racing else {
        return;
    };
    racing.push(run.clone());
    let [first, second] = &racing[..] else {
        return;
    };
    let (left, right) = (first.clone(), second.clone());
    model.racing = None;
    model.open(Overlay::Compare { left, right });
}
