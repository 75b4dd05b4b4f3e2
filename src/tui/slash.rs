//! Commands typed at the prompt, after a `/`.
//!
//! One table: the menu above the prompt, the palette, the help window and docs/screen.md are made from
//! it or tested against it.

use crate::domain::Complexity;
use crate::text::nearest;

use super::keymap::Action;

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub struct SlashCommand {
    /// Name of the command, with its slash.
    pub name: &'static str,
    /// What may follow: words to choose from, parted by `|`, or in capitals what stands for any text;
    /// in brackets what may be left out.
    pub arguments: &'static str,
    /// Its purpose.
    pub help: &'static str,
    /// The action of the command.
    pub does: SlashAction,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashAction {
    /// The same as a key could.
    Act(Action),
    /// Sets the route of the questions to come.
    Route,
    /// Asks what is shown again, by a route or by one to be chosen.
    Retry,
    /// Sets the colours.
    Theme,
    /// Shows the index, stops indexing or goes on with it.
    Index,
    /// Replays the run that the panes show.
    Replay,
    /// Asks by two routes at once.
    Race,
    /// Takes up another folder or file.
    Add,
    /// Lists models, or chooses one.
    Model,
}

/// All of them, in the order of the menu.
pub const COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "/route",
        arguments: "auto|simple|complex|chitchat",
        help: "set the route of new questions",
        does: SlashAction::Route,
    },
    SlashCommand {
        name: "/retry",
        arguments: "[auto|simple|complex|chitchat]",
        help: "retry by another route",
        does: SlashAction::Retry,
    },
    SlashCommand {
        name: "/replay",
        arguments: "[slow]",
        help: "replay this run, event by event",
        does: SlashAction::Replay,
    },
    SlashCommand {
        name: "/try",
        arguments: "",
        help: "sample questions, by route",
        does: SlashAction::Act(Action::Samples),
    },
    SlashCommand {
        name: "/find",
        arguments: "",
        help: "search in the conversation",
        does: SlashAction::Act(Action::Find),
    },
    SlashCommand {
        name: "/stats",
        arguments: "",
        help: "short cuts, what they saved, times",
        does: SlashAction::Act(Action::Stats),
    },
    SlashCommand {
        name: "/index",
        arguments: "[stop|go]",
        help: "index progress; pause or resume",
        does: SlashAction::Index,
    },
    SlashCommand {
        name: "/add",
        arguments: "PATH",
        help: "add a source for this session",
        does: SlashAction::Add,
    },
    SlashCommand {
        name: "/kb",
        arguments: "",
        help: "what the knowledge base holds",
        does: SlashAction::Act(Action::ShowSources),
    },
    SlashCommand {
        name: "/model",
        arguments: "[JOB] [MODEL]",
        help: "which model does which job",
        does: SlashAction::Model,
    },
    SlashCommand {
        name: "/engine",
        arguments: "",
        help: "which engine answers, its settings",
        does: SlashAction::Act(Action::ShowEngine),
    },
    SlashCommand {
        name: "/theme",
        arguments: "auto|dark|light|NAME",
        help: "change the theme",
        does: SlashAction::Theme,
    },
    SlashCommand {
        name: "/what-if",
        arguments: "",
        help: "this run within other limits",
        does: SlashAction::Act(Action::WhatIf),
    },
    SlashCommand {
        name: "/compare",
        arguments: "",
        help: "two runs of a question side by side",
        does: SlashAction::Act(Action::Compare),
    },
    SlashCommand {
        name: "/race",
        arguments: "[QUESTION]",
        help: "run simple and complex side by side",
        does: SlashAction::Race,
    },
    SlashCommand {
        name: "/sessions",
        arguments: "",
        help: "recorded conversations",
        does: SlashAction::Act(Action::Sessions),
    },
    SlashCommand {
        name: "/export",
        arguments: "",
        help: "write this conversation to a file",
        does: SlashAction::Act(Action::Export),
    },
    SlashCommand {
        name: "/clear",
        arguments: "",
        help: "forget the conversation",
        does: SlashAction::Act(Action::Forget),
    },
    SlashCommand {
        name: "/help",
        arguments: "",
        help: "all keys",
        does: SlashAction::Act(Action::Help),
    },
    SlashCommand {
        name: "/quit",
        arguments: "",
        help: "leave",
        does: SlashAction::Act(Action::Leave),
    },
];

/// The routes a person can choose.
pub const ROUTES: [(&str, Option<Complexity>); 4] = [
    ("auto", None),
    ("simple", Some(Complexity::Simple)),
    ("complex", Some(Complexity::Complex)),
    ("chitchat", Some(Complexity::Chitchat)),
];

/// The route of that name, with its name; `None` where there is no such.
pub fn route_called(name: &str) -> Option<(&'static str, Option<Complexity>)> {
    ROUTES.into_iter().find(|(known, _)| *known == name)
}

impl SlashCommand {
    /// The words to choose from, of which the themes are those that there are.
    pub fn choices<'a>(&self, themes: &'a [String]) -> Vec<&'a str> {
        if self.does == SlashAction::Theme {
            return themes.iter().map(String::as_str).collect();
        }
        let words = self.arguments.trim_matches(['[', ']']).split('|');
        let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
        words.filter(is_word).collect()
    }

    /// Whether it can be run as it is.
    pub fn is_complete(&self) -> bool {
        self.arguments.is_empty() || self.arguments.starts_with('[')
    }
}

/// The command on this line and its argument; the error is for the person who typed it.
pub fn parse<'a>(
    line: &'a str,
    themes: &[String],
) -> Result<(&'static SlashCommand, &'a str), String> {
    let line = line.trim();
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    let exact = COMMANDS.iter().find(|command| command.name == name);
    // What only one command begins with is that command.
    let only = match matching(name)[..] {
        [only] => Some(only),
        _ => None,
    };
    let Some(command) = exact.or(only) else {
        let names = COMMANDS.iter().map(|command| command.name);
        let meant = nearest(name, names).into_iter().next();
        let meant = meant.map_or_else(String::new, |meant| format!(" did you mean {meant}?"));
        return Err(format!("{name} is no command;{meant} /help lists all"));
    };
    let choices = command.choices(themes);
    let is_left_out = argument.is_empty() && command.is_complete();
    let is_free = choices.is_empty() && !command.arguments.is_empty();
    if is_left_out || is_free || choices.contains(&argument) {
        return Ok((command, argument));
    }
    let (name, listed) = (command.name, choices.join(", "));
    Err(match choices.len() {
        0 => format!("{name} takes no argument"),
        1 => format!("{name} takes nothing, or {listed}"),
        _ => format!("{name} needs one of {listed}"),
    })
}

/// The commands whose names begin like this.
pub fn matching(name: &str) -> Vec<&'static SlashCommand> {
    let begin = |command: &&SlashCommand| command.name.starts_with(name);
    COMMANDS.iter().filter(begin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let parse = |line| parse(line, &["dark".to_owned(), "mine".to_owned()]);
        let (command, argument) = parse("/route  simple ").unwrap();
        assert_eq!((command.does, argument), (SlashAction::Route, "simple"));
        let (command, _) = parse("/he").unwrap();
        assert_eq!(command.does, SlashAction::Act(Action::Help));
        let (command, argument) = parse("/theme mine").unwrap();
        assert_eq!((command.does, argument), (SlashAction::Theme, "mine"));
        for (line, said) in [
            ("/route", "/route needs one of auto, simple"),
            ("/route fast", "/route needs one of"),
            ("/theme light", "/theme needs one of dark, mine"),
            ("/nothing", "/nothing is no command"),
            ("/", "/ is no command; /help lists all"),
            ("/retyr", "; did you mean /retry? /help lists all"),
            ("/help me", "/help takes no argument"),
            ("/replay fast", "/replay takes nothing, or slow"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    #[test]
    fn every_command_stands_in_the_manual_with_its_purpose() {
        let page = include_str!("../../docs/screen.md");
        for command in COMMANDS {
            let arguments = command.arguments.replace('|', "\\|");
            let usage = format!("{} {arguments}", command.name);
            let row = format!("| `{}` | {} |", usage.trim_end(), command.help);
            assert!(page.contains(&row), "docs/screen.md has no row: {row}");
        }
    }

    #[test]
    fn the_manual_names_no_other_command() {
        let page = include_str!("../../docs/screen.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `/"));
        let names = rows.filter_map(|row| row.split([' ', '`']).next());
        for name in names.filter(|name| !name.is_empty()) {
            let known = COMMANDS.iter().any(|known| known.name[1..] == *name);
            assert!(known, "/{name} is in docs/screen.md only");
        }
    }
}
