//! Commands typed at the prompt, after a `/`.
//!
//! One table, `assets/commands.toml`: the menu above the prompt, the palette and the help window are
//! made from it, and docs/screen.md is tested against it.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Complexity;
use crate::text::nearest;

use super::keymap::Action;

/// A command.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlashCommand {
    /// Name of the command, with its slash.
    pub name: String,
    /// What may follow: words to choose from, parted by `|`, or in capitals what stands for any text;
    /// in brackets what may be left out.
    #[serde(default)]
    pub arguments: String,
    /// Its purpose.
    pub help: String,
    /// What it does; some actions take the argument.
    #[serde(rename = "do")]
    pub does: Action,
}

/// All of them, in the order of the menu.
pub static COMMANDS: LazyLock<Vec<SlashCommand>> = LazyLock::new(|| {
    #[derive(Default, Deserialize)]
    struct CommandsFile {
        command: Vec<SlashCommand>,
    }
    let source = include_str!("../../assets/commands.toml");
    // A test reads it too.
    let file: CommandsFile = toml::from_str(source).unwrap_or_default();
    file.command
});

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
    pub fn choices<'a>(&'a self, themes: &'a [String]) -> Vec<&'a str> {
        if self.does == Action::Theme {
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
        let names = COMMANDS.iter().map(|command| command.name.as_str());
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
    let (name, listed) = (&command.name, choices.join(", "));
    Err(match choices.len() {
        0 => format!("{name} takes no argument"),
        1 => format!("{name} takes nothing, or {listed}"),
        _ => format!("{name} needs one of {listed}"),
    })
}

/// What the command of this name does.
pub fn action_of(name: &str) -> Option<Action> {
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some(command.does)
}

/// The name of the command that does this.
pub fn name_of(action: Action) -> Option<&'static str> {
    let command = COMMANDS.iter().find(|command| command.does == action)?;
    Some(&command.name)
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
        assert_eq!((command.does, argument), (Action::Route, "simple"));
        let (command, _) = parse("/he").unwrap();
        assert_eq!(command.does, Action::Help);
        let (command, argument) = parse("/theme mine").unwrap();
        assert_eq!((command.does, argument), (Action::Theme, "mine"));
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
        assert!(!COMMANDS.is_empty());
        for command in COMMANDS.iter() {
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
