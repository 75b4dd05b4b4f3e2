//! From what is typed to a question for the engine. It answers one at a time; the others wait here.

use crate::domain::{Complexity, Wait};
use crate::protocol::{Command, KnowledgeContents, SampleQuestion, Timestamp};

use super::fold::{PendingCall, RunResult};
use super::message::Effect;
use super::model::{Model, Overlay, TurnQuestion};
use super::pane_state::{AnswerFocus, ChatScroll};
use super::prompt::MAX_QUESTION;
use super::setup::Sample;
use super::slash::route_called;
use super::window::Window;

/// Questions that may wait for their turn.
const MOST_QUEUED: usize = 20;

/// Sends what is typed.
pub fn send(model: &mut Model) -> Vec<Effect> {
    let text = model.prompt.text();
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Vec::new();
    }
    let question = TurnQuestion::new(text, model.route);
    let (taken, effects) = ask(model, question);
    if taken {
        model.prompt.set("");
    }
    effects
}

/// Sends a question, or lets it wait until the run that is going on has ended; false where it is not
/// taken, which a line says.
pub fn ask(model: &mut Model, question: TurnQuestion) -> (bool, Vec<Effect>) {
    if question.text.len() > MAX_QUESTION {
        let message = format!(
            "The question has {} kB; at most {} kB can be sent. Nothing is lost: shorten it.",
            question.text.len().div_ceil(1024),
            MAX_QUESTION / 1024
        );
        model.warn(&message);
        return (false, Vec::new());
    }
    let must_wait = model.is_busy() || model.choosing.is_some();
    if must_wait && model.queue.len() >= MOST_QUEUED {
        let message = format!("{MOST_QUEUED} questions are queued already; Esc takes one back.");
        model.warn(&message);
        return (false, Vec::new());
    }
    model.prompt.remember(&question.text);
    model.chat.chosen = AnswerFocus::No;
    model.notice = None;
    model.chat.follow();
    if must_wait {
        model.queue.push_back(question);
        return (true, Vec::new());
    }
    model.shown = None;
    (true, begin(model, question))
}

/// Sends the question that waits longest, now that nothing goes on.
pub fn next_queued(model: &mut Model) -> Vec<Effect> {
    if model.is_busy() || model.choosing.is_some() {
        return Vec::new();
    }
    match model.queue.pop_front() {
        Some(question) => begin(model, question),
        None => Vec::new(),
    }
}

fn begin(model: &mut Model, question: TurnQuestion) -> Vec<Effect> {
    if model.chat.is_following() {
        model.chat.follow();
    }
    let command = Command::Ask {
        query: question.text.clone(),
        route: question.route,
        retry_of: question.retry_of.clone(),
    };
    model.pending = Some(question);
    vec![Effect::Send(command)]
}

/// Takes the question that was queued last back into the prompt; false where none is.
pub fn take_back(model: &mut Model) -> bool {
    let Some(question) = model.queue.pop_back() else {
        return false;
    };
    let typed = model.prompt.text();
    if typed.trim().is_empty() {
        model.inform("Taken back from the queue.");
    } else {
        model.prompt.remember(&typed);
        model.inform("Taken back from the queue; what was typed is one ↑ away.");
    }
    model.prompt.set(&question.text);
    true
}

fn give_back(model: &mut Model, query: &str) {
    model.pending = None;
    if model.prompt.is_empty() {
        model.prompt.set(query);
    }
}

/// The engine did not take a question: it goes back to where it was typed.
pub fn refused(model: &mut Model, query: &str) {
    give_back(model, query);
    model.warn("The engine is busy and did not take the question; it is back in the prompt.");
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
pub fn not_asked(model: &mut Model, query: &str, reason: &str) -> Vec<Effect> {
    give_back(model, query);
    model.racing = None;
    let effects = next_queued(model);
    model.warn(reason);
    effects
}

/// Nothing answers any more: what waits goes back to where it was typed.
pub fn abandon_queue(model: &mut Model) {
    if let Some(first) = model.queue.pop_front() {
        if model.prompt.is_empty() {
            model.prompt.set(&first.text);
        }
        model.queue.clear();
    }
}

/// Sends the question that is shown once more.
pub fn ask_again(model: &mut Model, route: Option<Complexity>) -> Vec<Effect> {
    let Some(run) = model.shown_run() else {
        return Vec::new();
    };
    let first = run.retry_of.as_ref().unwrap_or(&run.id);
    let question = TurnQuestion {
        text: run.query.clone(),
        route,
        retry_of: Some(first.clone()),
    };
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
pub fn sample(model: &mut Model, at: usize) -> Vec<Effect> {
    let Some(sample) = model.samples.get(at) else {
        return Vec::new();
    };
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
pub fn forget(model: &mut Model) -> Vec<Effect> {
    if model.is_busy() {
        model.inform("Still answering. Esc stops the run.");
        return Vec::new();
    }
    model.turns.clear();
    model.shown = None;
    model.chat = ChatScroll::default();
    model.begin_find_again();
    vec![Effect::Send(Command::Forget)]
}
