//! Commands typed at the prompt, after a `/`.

use crate::domain::Complexity;

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    /// All keys.
    Help,
    /// Forget the conversation.
    Clear,
    /// Leave.
    Quit,
    /// The route of the questions to come; `None`: the agent decides.
    Route(Option<Complexity>),
    /// Ask the last question again, by a route to choose.
    Retry,
    /// Replay the run that the panes show.
    Replay {
        /// Play at once, slowly enough to be followed.
        slow: bool,
    },
    /// Recorded conversations.
    Sessions,
    /// This conversation as a file.
    Export,
    /// Two runs side by side.
    Compare,
    /// A question by two routes at once; `None`: the one that is shown.
    Race(Option<String>),
}

/// Name, arguments and purpose, in the order of the list above the prompt.
pub const COMMANDS: [(&str, &str, &str); 10] = [
    ("/help", "", "all keys"),
    (
        "/route",
        "auto|simple|complex|chitchat",
        "the route of the questions to come",
    ),
    ("/retry", "", "the last question, by another route"),
    ("/replay", "slow", "this run again, event by event"),
    ("/sessions", "", "recorded conversations"),
    ("/export", "", "write this conversation to a file"),
    ("/compare", "", "two runs of a question side by side"),
    ("/race", "[question]", "simple against complex, at once"),
    ("/clear", "", "forget the conversation"),
    ("/quit", "", "leave"),
];

/// The routes a person can choose.
pub const ROUTES: [(&str, Option<Complexity>); 4] = [
    ("auto", None),
    ("simple", Some(Complexity::Simple)),
    ("complex", Some(Complexity::Complex)),
    ("chitchat", Some(Complexity::Chitchat)),
];

impl Slash {
    /// The command on this line; the error is for the person who typed it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let argument = words.next();
        match (name, argument) {
            ("/help", None) => Ok(Self::Help),
            ("/clear", None) => Ok(Self::Clear),
            ("/quit", None) => Ok(Self::Quit),
            ("/sessions", None) => Ok(Self::Sessions),
            ("/export", None) => Ok(Self::Export),
            ("/retry", None) => Ok(Self::Retry),
            ("/replay", None) => Ok(Self::Replay { slow: false }),
            ("/replay", Some("slow")) => Ok(Self::Replay { slow: true }),
            ("/replay", Some(_)) => Err("/replay takes nothing, or slow".to_owned()),
            ("/compare", None) => Ok(Self::Compare),
            ("/race", first) => {
                let question = line.trim_start().strip_prefix(name).unwrap_or("").trim();
                Ok(Self::Race(first.map(|_| question.to_owned())))
            }
            ("/route", word) => ROUTES
                .into_iter()
                .find(|(name, _)| Some(*name) == word)
                .map(|(_, route)| Self::Route(route))
                .ok_or_else(|| "/route needs one of auto, simple, complex, chitchat".to_owned()),
            _ => Err(format!("{name} is no command; /help lists the keys")),
        }
    }
}

/// The commands that begin like this.
pub fn matching(typed: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let name = typed.split_whitespace().next().unwrap_or("/");
    COMMANDS
        .into_iter()
        .filter(|(command, ..)| command.starts_with(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(
            Slash::parse("/route simple"),
            Ok(Slash::Route(Some(Complexity::Simple)))
        );
        assert_eq!(Slash::parse("/route auto"), Ok(Slash::Route(None)));
        assert!(Slash::parse("/route").is_err());
        assert!(Slash::parse("/nothing").is_err());
        assert_eq!(matching("/r").len(), 3);
    }
}
