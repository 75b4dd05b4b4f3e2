//! The reference pages and `.env.example` are made from the code. A page that is out of date fails
//! here; with `KB_AGENT_UPDATE_DOCS=1` it is written anew.

mod events;

use std::path::Path;

use kb_agent::cli::{EXIT_CODES, command};
use kb_agent::config::{GROUPS, Unset};

/// Heading and introduction of the commands page.
const COMMANDS: &str = "# Commands

This page is made from the program's own help: `kb-agent COMMAND --help` prints the same.
";

/// Heading and introduction of the settings page.
const SETTINGS: &str = "# Settings

Every setting is an environment variable. The first of these that sets it wins:

1. a flag: `--kb` or a path (`KB_AGENT_SOURCE`), `--data-dir` (`KB_AGENT_DATA_DIR`), `-v` (`KB_AGENT_LOG`)
2. the environment
3. the file of `--env-file FILE`
4. `.env` in the configuration folder (on Linux `~/.config/kb-agent`)
5. `.env` in the current folder, unless `--env-file` is given

`.env` in the current folder may come with a clone. Only settings of the screen and of routing count there; any other
is ignored, and a warning names it ([more](security.md)). An empty value means \"not set\". `${NAME}` is plain
text. A bad value is one line and exit code 2. `kb-agent doctor` shows every value in effect, where it comes
from, and settings that are misspelt or have no effect. Copy [`.env.example`](../.env.example) to begin.

The network settings of the system apply too: `ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY` (http, https, socks5,
socks5h; this machine is asked directly), and on Linux and the BSDs `SSL_CERT_FILE` and `SSL_CERT_DIR`, which
replace the system's certificates. They are read from the process's environment only.
";

/// Beginning of `.env.example`.
const EXAMPLE: &str = "\
# Settings of kb-agent. Copy this file to .env in your configuration folder (on Linux ~/.config/kb-agent). The
# environment wins over it. Every line shows the default; an empty value means \"not set\". ${NAME} is plain
# text.
#
# (folder) may also stand in .env of the folder that you start kb-agent in, over which yours wins. Anything else
# is ignored there.
";

/// Cells of a comment in `.env.example`.
const COMMENT_WIDTH: usize = 110;

#[test]
fn the_commands_page_is_the_help_of_every_command() {
    let mut page = format!("{COMMANDS}\n{EXIT_CODES}\n");
    let program = command().term_width(96);
    let mut own = program.clone();
    own.build();
    let help = own.render_help().to_string();
    let (help, _) = help.split_once("\nExamples:").unwrap();
    page.push_str(&section("kb-agent", help));
    let mut program = program;
    program.build();
    for command in program.get_subcommands_mut() {
        add_command(command, &mut page);
    }
    compare("docs/commands.md", &page);
}

fn add_command(command: &mut clap::Command, page: &mut String) {
    if command.get_name() == "help" && command.get_about().is_none() || command.is_hide_set() {
        return;
    }
    let name = command.get_bin_name().unwrap_or_default().to_owned();
    let help = command
        .clone()
        .term_width(96)
        .render_long_help()
        .to_string();
    // These are listed once, above.
    let (own, rest) = help
        .split_once("\nOn every command:")
        .unwrap_or((&help, ""));
    let after = rest
        .split_once("\nFormats, ")
        .map_or("", |(_, after)| after);
    let after = if after.is_empty() {
        String::new()
    } else {
        format!("\nFormats, {after}")
    };
    page.push_str(&section(&name, &format!("{own}{after}")));
    for command in command
        .get_subcommands_mut()
        .filter(|one| one.get_name() != "help")
    {
        add_command(command, page);
    }
}

fn section(name: &str, help: &str) -> String {
    let lines = help
        .trim()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()));
    format!(
        "\n## `{name}`\n\n```text\n{}```\n",
        lines.collect::<String>()
    )
}

#[test]
fn the_settings_page_holds_every_setting() {
    let mut page = SETTINGS.to_owned();
    for group in GROUPS {
        page.push_str(&format!("\n## {}\n", group.title));
        for one in group.settings {
            let default = match one.unset {
                Unset::To(value) => format!("`{value}`"),
                Unset::Means("not set") => "not set".to_owned(),
                Unset::Means(meaning) => format!("not set ({meaning})"),
                Unset::As(other) => format!("what `{other}` says"),
            };
            page.push_str(&format!(
                "\n### `{}`\n\n{}\n\nTakes {}. Default: {default}.{}\n",
                one.name,
                wrapped(one.help, "", COMMENT_WIDTH),
                one.allowed(),
                if one.folder {
                    " May stand in `.env` of the current folder."
                } else {
                    ""
                }
            ));
        }
    }
    compare("docs/settings.md", &page);
}

#[test]
fn the_example_holds_every_setting_with_its_default() {
    let mut text = EXAMPLE.to_owned();
    for group in GROUPS {
        text.push_str(&format!("\n# --- {} ---\n", group.title));
        for one in group.settings {
            let folder = if one.folder { "(folder) " } else { "" };
            let (default, unset) = match one.unset {
                Unset::To(value) => (value, String::new()),
                Unset::Means("not set") => ("", String::new()),
                Unset::Means(meaning) | Unset::As(meaning) => ("", format!(" Not set: {meaning}.")),
            };
            let comment = format!("{folder}{}{unset}", one.help);
            text.push_str(&wrapped(&comment, "# ", COMMENT_WIDTH));
            text.push_str(&format!("\n{}={default}\n", one.name));
        }
    }
    compare(".env.example", &text);
}

#[test]
fn the_events_page_is_the_format_of_the_log() {
    compare("docs/events.md", &events::page());
}

/// A text in lines of at most so many cells, each behind the prefix.
fn wrapped(text: &str, prefix: &str, width: usize) -> String {
    let mut lines = vec![prefix.to_owned()];
    for word in text.split(' ') {
        let line = lines.last_mut().unwrap();
        if line.len() > prefix.len() && line.chars().count() + word.chars().count() >= width {
            lines.push(format!("{prefix}{word}"));
        } else {
            let gap = if line.len() > prefix.len() { " " } else { "" };
            line.push_str(&format!("{gap}{word}"));
        }
    }
    lines.join("\n")
}

/// Fails where the file is not `text`, or writes it.
fn compare(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("KB_AGENT_UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept.replace("\r\n", "\n") == text,
        "{file} is out of date; renew it: KB_AGENT_UPDATE_DOCS=1 cargo test --test it reference_pages"
    );
}
