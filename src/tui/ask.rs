//! From what is typed to a command for the engine.

use crate::domain::Complexity;
use crate::protocol::{Command, NoticeLevel};

use super::compare;
use super::fold::Finish;
use super::list::List;
use super::model::{Model, Overlay, Question};
use super::prompt::MAX_QUESTION;
use super::sessions;
use super::slash::{self, Slash};
use super::update::Effect;

/// Sends what is typed, or runs the command that it is.
pub fn send(model: &mut Model) -> Vec<Effect> {
    let text = model.prompt.text();
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if model.prompt.slash().is_some() {
        return command(model, text);
    }
    if model.is_busy() {
        model.say(
            NoticeLevel::Info,
            "Still answering: the question stays here. Esc stops the run.",
        );
        return Vec::new();
    }
    let effects = question(model, text, model.route);
    if !effects.is_empty() {
        model.prompt.set("");
    }
    effects
}

/// Sends a question.
pub fn question(model: &mut Model, text: &str, route: Option<Complexity>) -> Vec<Effect> {
    let asked = Question {
        text: text.to_owned(),
        route,
        retry_of: None,
    };
    submit(model, asked)
}

fn submit(model: &mut Model, asked: Question) -> Vec<Effect> {
    let text = &asked.text;
    if text.len() > MAX_QUESTION {
        let message = format!(
            "The question has {} kB; at most {} kB can be sent. Nothing is lost: shorten it.",
            text.len().div_ceil(1024),
            MAX_QUESTION / 1024
        );
        model.say(NoticeLevel::Warning, &message);
        return Vec::new();
    }
    model.prompt.remember(text);
    model.notice = None;
    model.shown = None;
    model.chat.last();
    let command = Command::Ask {
        query: asked.text.clone(),
        route: asked.route,
        retry_of: asked.retry_of.clone(),
    };
    model.pending = Some(asked);
    vec![Effect::Send(command)]
}

/// Sends the question that is shown once more.
pub fn again(model: &mut Model, route: Option<Complexity>) -> Vec<Effect> {
    let Some(run) = model.shown_run() else {
        return Vec::new();
    };
    let first = run.retry_of.as_ref().unwrap_or(&run.id);
    let asked = Question {
        text: run.query.clone(),
        route,
        retry_of: Some(first.clone()),
    };
    submit(model, asked)
}

/// Opens the choice of a route, at one that was not taken.
pub fn choose_route(model: &mut Model) {
    if model.is_busy() {
        model.say(NoticeLevel::Info, "Still answering. Esc stops the run.");
        return;
    }
    let Some(run) = model.shown_run() else {
        model.say(NoticeLevel::Info, "Nothing to ask again yet.");
        return;
    };
    let broke_off = run.finish.as_ref().is_some_and(Finish::broke_off);
    let selected = match run.complexity() {
        // The same way once more: it was not the way that failed.
        _ if broke_off => 0,
        Some(Complexity::Simple) => 2,
        _ => 1,
    };
    let mut list = List::default();
    list.step(selected);
    model.overlay = Some(Overlay::Retry(list));
}

/// Completes the command that is typed.
pub fn complete(model: &mut Model) {
    let typed = model.prompt.text();
    if let [(name, arguments, _)] = slash::matching(&typed)[..] {
        let argument = typed.split_whitespace().nth(1).unwrap_or_default();
        let full = arguments
            .split('|')
            .find(|word| !argument.is_empty() && word.starts_with(argument));
        let space = if arguments.is_empty() { "" } else { " " };
        model
            .prompt
            .set(&format!("{name}{space}{}", full.unwrap_or(argument)));
    }
}

fn command(model: &mut Model, line: &str) -> Vec<Effect> {
    // What only one command begins with is that command.
    let line = match slash::matching(line)[..] {
        [(name, ..)] => {
            let rest = line.split_once(char::is_whitespace).map_or("", |(_, r)| r);
            format!("{name} {rest}")
        }
        _ => line.to_owned(),
    };
    let parsed = match Slash::parse(&line) {
        Ok(parsed) => parsed,
        Err(message) => {
            model.say(NoticeLevel::Warning, &message);
            return Vec::new();
        }
    };
    model.notice = None;
    model.prompt.set("");
    match parsed {
        Slash::Help => model.overlay = Some(Overlay::Help(List::default())),
        Slash::Quit => return vec![Effect::Quit],
        Slash::Retry => choose_route(model),
        Slash::Replay { slow } => return vec![Effect::Replay { slow }],
        Slash::Sessions => return sessions::open(model),
        Slash::Export => return sessions::export_shown(model),
        Slash::Compare => compare::open(model),
        Slash::Race(question) => return compare::race(model, question.as_deref()),
        Slash::Route(route) => {
            model.route = route;
            model.say(
                NoticeLevel::Info,
                &match route {
                    None => "The agent decides the route again.".to_owned(),
                    Some(route) => format!("Questions go by {} from now on.", route.as_str()),
                },
            );
        }
        Slash::Clear if model.is_busy() => {
            model.say(NoticeLevel::Info, "Still answering. Esc stops the run.");
        }
        Slash::Clear => {
            model.turns.clear();
            model.shown = None;
            model.chat = super::panes::chat::ChatScroll::default();
            return vec![Effect::Send(Command::Forget)];
        }
    }
    Vec::new()
}
