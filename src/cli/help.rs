//! `help`: the options of a command, or a page of the manual in `docs/`.

use std::{env, io};

use clap::{Args, Command};

use super::output::{CommandFailure, print_text, terminal_width};
use crate::text::nearest;
use crate::tui::printed_markdown;

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// A page of the manual.
struct Page {
    topic: &'static str,
    text: &'static str,
}

/// The page `docs/TOPIC.md`.
macro_rules! page {
    ($topic:literal) => {
        Page {
            topic: $topic,
            text: include_str!(concat!("../../docs/", $topic, ".md")),
        }
    };
}

/// Every page, guides first.
const PAGES: [Page; 13] = [
    page!("own-files"),
    page!("models"),
    page!("screen"),
    page!("debugging"),
    page!("mcp"),
    page!("shared-store"),
    page!("security"),
    page!("evaluating"),
    page!("commands"),
    page!("settings"),
    page!("events"),
    page!("benchmarks"),
    page!("design"),
];

impl Page {
    /// The heading of the page.
    fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches(['#', ' '])
    }
}

/// Arguments of `help`.
#[derive(Debug, Args)]
pub(super) struct Help {
    /// A topic, or a command
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

/// What a newcomer types first.
const EXAMPLES: &str = "\
Examples:
  kb-agent                              open the screen on the demo knowledge base
  kb-agent ~/notes                      open it on your own files
  kb-agent ask --kb ~/notes 'QUESTION'  answer one question
  kb-agent doctor                       check everything and say what to do";

/// How a command ends, for the program's help, its manual page and the page of commands.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed (one line on standard error), 2 bad usage or setting, 130 interrupted.
Standard output carries results only. On a signal or a closed terminal a command shuts down within two
seconds and records a running question as cancelled; a second signal stops it at once.";

/// Examples, and the topics with their titles, for the end of the program's help.
pub(super) fn examples_and_topics() -> String {
    let mut text = format!("{EXAMPLES}\n\nTopics (kb-agent help TOPIC):");
    for page in &PAGES {
        text.push_str(&format!("\n  {:<14}{}", page.topic, page.title()));
    }
    text
}

/// Prints a page, or the help of the command.
pub(super) fn run(help: &Help, mut command: Command) -> Result<(), CommandFailure> {
    let Some(first) = help.words.first() else {
        return Ok(command.print_help()?);
    };
    if let Some(page) = PAGES.iter().find(|page| page.topic == *first) {
        return Ok(print_page(page.text)?);
    }
    let commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    if commands.contains(&first.as_str()) {
        let words = help.words.iter().map(String::as_str);
        let line = ["kb-agent"].into_iter().chain(words).chain(["--help"]);
        return match command.try_get_matches_from_mut(line) {
            Err(error) if !error.use_stderr() => Ok(error.print()?),
            Err(error) => {
                let said = error.to_string();
                let line = said.lines().next().unwrap_or_default();
                Err(CommandFailure::usage(line.trim_start_matches("error: ")))
            }
            Ok(_) => Ok(()),
        };
    }
    let known = PAGES.iter().map(|page| page.topic).chain(commands);
    let advice = match nearest(first, known).first() {
        Some(meant) => format!("did you mean 'kb-agent help {meant}'?"),
        None => "'kb-agent help' lists the topics".to_owned(),
    };
    Err(CommandFailure::usage(format!(
        "there is no help on '{first}'; {advice}"
    )))
}

/// Prints a page as it is written, or laid out where a terminal shows it.
fn print_page(text: &str) -> io::Result<()> {
    match terminal_width() {
        None => print_text(text),
        Some(width) => {
            let has_colour = env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
                && env::var_os("TERM").is_some_and(|term| term != "dumb");
            print_text(printed_markdown(text, width.min(WIDEST), has_colour))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_manual_is_a_topic() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut topics = PAGES.map(|page| format!("{}.md", page.topic));
        files.sort();
        topics.sort();
        assert_eq!(files, topics);
    }

    #[test]
    fn links_between_pages_lead_somewhere() {
        let readme = include_str!("../../README.md");
        let pages = PAGES.iter().map(|page| page.text);
        for text in pages.chain([readme]) {
            for (_, rest) in text
                .match_indices("](")
                .map(|(at, mark)| text.split_at(at + mark.len()))
            {
                let target = rest.split(')').next().unwrap_or_default();
                if target.contains("://") || target.starts_with('#') {
                    continue;
                }
                let base = if text == readme { "" } else { "docs/" };
                let file = target.split('#').next().unwrap_or_default();
                let path = format!("{}/{base}{file}", env!("CARGO_MANIFEST_DIR"));
                assert!(std::path::Path::new(&path).exists(), "{target}");
            }
        }
    }
}
