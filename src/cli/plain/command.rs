//! What is typed in plain mode.

use crate::domain::Complexity;
use crate::protocol::{IndexCommand, ModelRequest};
use crate::text::nearest;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlainCommand {
    /// Nothing.
    Empty,
    /// An answer.
    Question(String),
    Help,
    /// The route of the questions to come; `None`: the agent decides.
    Route(Option<Complexity>),
    /// The last question again.
    Retry(Option<Complexity>),
    /// Evidence of the last run; one of it with its passage.
    Sources(Option<usize>),
    Runs,
    /// What all recorded runs came to.
    Stats,
    /// What the knowledge base holds.
    Base,
    /// Which engine answers, and which models there are; or a model for the questions to come.
    Model(ModelRequest),
    /// Recorded conversations.
    Sessions,
    /// This conversation as a file.
    Export,
    /// Questions to try, or one of them.
    Try(Option<usize>),
    Index(IndexCommand),
    /// A folder or file more.
    Add(String),
    Clear,
    Quit,
}

/// Usage and purpose of each command.
pub(super) const COMMANDS: [(&str, &str); 15] = [
    ("/help", "these commands"),
    (
        "/route auto, simple, complex or chitchat",
        "set the route for new questions",
    ),
    (
        "/retry, or /retry and a route",
        "the last question again, by another route",
    ),
    (
        "/sources, or /sources 2",
        "the evidence of the last answer, or one passage of it",
    ),
    ("/runs", "the questions of this conversation"),
    ("/try, or /try 2", "questions to try, or the second of them"),
    (
        "/index, or /index stop",
        "keep the index up to date, or stop that",
    ),
    ("/kb", "what the knowledge base holds"),
    ("/add and a path", "a folder or file more, for this session"),
    (
        "/model, or /model and a name, or /model grade and a name",
        "which engine and models answer, or another model from the next question on; \
         the jobs are analyze, plan, grade and answer, and default is as the settings say",
    ),
    (
        "/stats",
        "fast paths, what they saved, and times of all recorded runs",
    ),
    (
        "/sessions",
        "recorded conversations, and how to go on with them",
    ),
    ("/export", "write this conversation to a file"),
    ("/clear", "begin another conversation"),
    ("/quit", "leave, as Ctrl+D does"),
];

impl PlainCommand {
    /// What this line is; the error is for the person who typed it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::Empty);
        }
        if !text.starts_with('/') {
            return Ok(Self::Question(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("/add ") {
            return Ok(Self::Add(path.trim().to_owned()));
        }
        if let Some(wanted) = text.strip_prefix("/model ") {
            return Ok(Self::Model(ModelRequest::parse(wanted)));
        }
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let argument = words.next();
        if let Some(more) = words.next() {
            return Err(format!("{name} takes one word; what is '{more}'?"));
        }
        match (name, argument) {
            ("/help", None) => Ok(Self::Help),
            ("/route", Some(word)) => route(word).map(Self::Route),
            ("/route", None) => Err(NO_ROUTE.to_owned()),
            ("/retry", None) => Ok(Self::Retry(None)),
            ("/retry", Some(word)) => route(word).map(Self::Retry),
            ("/sources", word) => number(name, word).map(Self::Sources),
            ("/try", word) => number(name, word).map(Self::Try),
            ("/runs", None) => Ok(Self::Runs),
            ("/stats", None) => Ok(Self::Stats),
            ("/kb", None) => Ok(Self::Base),
            ("/model", None) => Ok(Self::Model(ModelRequest::List(None))),
            ("/sessions", None) => Ok(Self::Sessions),
            ("/export", None) => Ok(Self::Export),
            ("/index", None) => Ok(Self::Index(IndexCommand::Resume)),
            ("/index", Some("stop")) => Ok(Self::Index(IndexCommand::Stop)),
            ("/index", Some(_)) => Err("/index takes nothing, or stop".to_owned()),
            ("/add", _) => Err("/add needs a folder or a file".to_owned()),
            ("/clear", None) => Ok(Self::Clear),
            ("/quit", None) => Ok(Self::Quit),
            (known, Some(_)) if names().any(|name| name == known) => {
                Err(format!("{known} takes nothing"))
            }
            _ => {
                let meant = nearest(name, names()).into_iter().next();
                let meant = meant.map_or_else(
                    || ";".to_owned(),
                    |meant| format!("; did you mean {meant}?"),
                );
                Err(format!("{name} is no command{meant} /help lists them"))
            }
        }
    }
}

const NO_ROUTE: &str = "a route is auto, simple, complex or chitchat";

fn route(word: &str) -> Result<Option<Complexity>, String> {
    let routes = [
        Complexity::Simple,
        Complexity::Complex,
        Complexity::Chitchat,
    ];
    match routes.into_iter().find(|route| route.as_str() == word) {
        None if word == "auto" => Ok(None),
        None => Err(NO_ROUTE.to_owned()),
        route => Ok(route),
    }
}

fn number(name: &str, word: Option<&str>) -> Result<Option<usize>, String> {
    let Some(word) = word else { return Ok(None) };
    let number = word.trim_matches(['[', ']']).parse();
    number
        .map(Some)
        .map_err(|_| format!("{name} takes a number, such as {name} 1"))
}

fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(usage, _)| {
        let end = usage.find([' ', ',']).unwrap_or(usage.len());
        &usage[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let read = |text: &str| PlainCommand::parse(text).unwrap();
        assert_eq!(read("  "), PlainCommand::Empty);
        assert_eq!(read(" why? "), PlainCommand::Question("why?".to_owned()));
        assert_eq!(
            read("/route simple"),
            PlainCommand::Route(Some(Complexity::Simple))
        );
        assert_eq!(read("/route auto"), PlainCommand::Route(None));
        assert_eq!(read("/retry"), PlainCommand::Retry(None));
        assert_eq!(read("/sources [2]"), PlainCommand::Sources(Some(2)));
        assert_eq!(read("/index stop"), PlainCommand::Index(IndexCommand::Stop));
        assert_eq!(
            read("/add my notes "),
            PlainCommand::Add("my notes".to_owned())
        );
        for (usage, _) in COMMANDS {
            let name = usage.split([' ', ',']).next().unwrap();
            let known = [name.to_owned(), format!("{name} auto")];
            assert!(
                known.iter().any(|line| PlainCommand::parse(line).is_ok()),
                "{name}"
            );
        }
        for wrong in [
            "/route",
            "/route fast",
            "/sources x",
            "/runs 1",
            "/quit now x",
            "/add",
        ] {
            assert!(PlainCommand::parse(wrong).is_err(), "{wrong}");
        }
        let meant = PlainCommand::parse("/retyr").unwrap_err();
        assert!(meant.contains("did you mean /retry?"), "{meant}");
    }
}
