//! `doctor`: what is wrong, and what to do about it.
//!
//! The parts examine themselves, behind [`crate::engine::doctor`]; the terminal is this room's own
//! and is looked at here. Checks are shown as they come, because a slow server is one of the things
//! that people run this for.

use std::env;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::chat::own_files;
use super::interruption::interruptible;
use super::output::{CommandFailure, print_text, terminal_width};
use crate::config::{Environment, ListedSetting, Origin, Overrides, Settings, survey};
use crate::engine::doctor::{Check, ExaminationProgress, Status, examine};
use crate::text::{duration, one_line, plural};
use crate::tui::{ColorDepth, LEAST, check_keymap, check_theme};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What the command line says beside the arguments of `doctor` itself.
pub(super) struct CommandLine<'a> {
    /// `--env-file`.
    pub env_file: Option<&'a Path>,
    /// `--kb`, `--data-dir` and `-v`.
    pub overrides: Overrides,
}

/// Examines everything and says how it is.
pub(super) fn run(doctor: &Doctor, given: &CommandLine<'_>) -> Result<(), CommandFailure> {
    let survey = survey(&Environment::read(given.env_file), &given.overrides);
    let _diagnostics = survey.settings.as_ref().and_then(super::diagnostics::start);
    let mut printer = Printer::new();
    if !doctor.json {
        print_text(printer.settings(&survey.listed))?;
    }
    let checks = interruptible(async |cancel| {
        let (mut checks, mut written) = (Vec::new(), Ok(()));
        let mut show = |progress: ExaminationProgress| match progress {
            ExaminationProgress::Waiting(what) => printer.wait_for(&format!("  trying {what} …")),
            ExaminationProgress::Checked(check) => {
                printer.wait_for("");
                if !doctor.json && written.is_ok() {
                    written = print_text(printer.check(&check));
                }
                checks.push(check);
            }
        };
        let examined = cancel.run_until_cancelled(examine(&survey, &mut show));
        if examined.await.is_none() {
            printer.wait_for("");
            return Err(CommandFailure::interrupted());
        }
        let own = survey.settings.as_ref().map(check_own_files);
        let own = own.into_iter().flatten().chain(check_terminal());
        own.for_each(|check| show(ExaminationProgress::Checked(check)));
        written?;
        Ok(checks)
    })?;
    if doctor.json {
        super::output::print_json(&as_json(&survey.listed, &checks))?;
    } else {
        print_text(format!("\n{}\n", printer.wrap(&summary(&checks), 0)))?;
    }
    // A setting that cannot be used ends every command in the same way; else what is broken does.
    if let Some(error) = survey.refused.first() {
        return Err(CommandFailure::usage(error));
    }
    let broken: Vec<&Check> = with_status(&checks, Status::Broken).collect();
    match broken.first() {
        None => Ok(()),
        Some(first) => Err(CommandFailure::failed(format!(
            "{} found broken, the first: {}, {}",
            plural(broken.len(), "thing"),
            first.area,
            first.name
        ))),
    }
}

/// One check for each file of themes and keys that is wrong, and one for those that are read.
fn check_own_files(settings: &Settings) -> Vec<Check> {
    let own = own_files(settings);
    let (mut read, mut wrong) = (Vec::new(), own.unreadable);
    for (name, source) in &own.themes {
        let file = format!("themes/{name}.toml");
        match check_theme(source) {
            Ok(()) => read.push(file),
            Err(why) => wrong.push(format!("{file}: {why}")),
        }
    }
    match own.keymap.as_deref().map(check_keymap) {
        Some(Ok(())) => read.push("keymap.toml".to_owned()),
        Some(Err(why)) => wrong.push(why),
        None => {}
    }
    let wrong = wrong.into_iter();
    let wrong = wrong.map(|what| Check::note("unused", what, "correct that file, or remove it"));
    let read = (!read.is_empty()).then(|| Check::ok("read", read.join(", ")));
    let area = "own files";
    let checks = wrong.chain(read).map(|check| Check { area, ..check });
    checks.collect()
}

// How an examination looks: on a terminal in its width and with colours, in a pipe one line a
// check, for programs one object.

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 30;
/// Where the text of a check begins: behind the longest mark.
const INDENT: usize = 9;
const BOLD: &str = "1";
const FAINT: &str = "2";

/// What has been shown so far.
struct Printer {
    /// `None` is as long as it gets.
    width: Option<usize>,
    has_colours: bool,
    area: &'static str,
    /// Whether a terminal shows what is being waited for.
    is_watched: bool,
}

impl Printer {
    fn new() -> Self {
        let is_dumb = matches!(variable("TERM").as_str(), "" | "dumb");
        Self {
            width: terminal_width().map(|columns| columns.clamp(NARROWEST, WIDEST)),
            has_colours: stdout().is_terminal() && !is_dumb && variable("NO_COLOR").is_empty(),
            area: "",
            is_watched: stderr().is_terminal() && !is_dumb,
        }
    }

    /// The settings, and where each is from.
    fn settings(&mut self, settings: &[ListedSetting]) -> String {
        let mut text = self.heading("settings");
        for one in settings {
            // A file may be called anything.
            let origin = || one_line(&one.origin.to_string(), 300);
            let (value, from) = match (&one.value, one.unset) {
                (Some(value), _) => (value.as_str(), origin()),
                (None, Some(means)) => ("not set", means.to_owned()),
                (None, None) => ("not set", origin()),
            };
            let line = self.wrap(&format!("  {}: {value} ({from})", one.name), 4);
            text += &match one.origin {
                Origin::Default => self.paint(FAINT, &line),
                _ => line,
            };
            text.push('\n');
        }
        text
    }

    /// Shows what is waited for in the place of what was before.
    fn wait_for(&self, line: &str) {
        if self.is_watched {
            let _ = write!(stderr(), "\r\u{1b}[K{line}");
            let _ = stderr().flush();
        }
    }

    fn heading(&mut self, area: &'static str) -> String {
        let gap = if self.area.is_empty() { "" } else { "\n" };
        self.area = area;
        format!("{gap}{}\n", self.paint(BOLD, area))
    }

    /// What was found of one thing, below the name of its area.
    fn check(&mut self, check: &Check) -> String {
        let mut text = String::new();
        if check.area != self.area {
            text = self.heading(check.area);
        }
        let took = check.ms.map(|ms| format!(" ({})", duration(ms)));
        let took = took.unwrap_or_default();
        let mark = check.status.as_str();
        let line = format!("  {mark:<6} {}: {}{took}", check.name, check.detail);
        let colour = match check.status {
            Status::Ok => "32",
            Status::Note => "33",
            Status::Broken => "1;31",
        };
        let line = self.wrap(&line, INDENT);
        text += &line.replacen(mark, &self.paint(colour, mark), 1);
        text.push('\n');
        if let Some(next) = &check.next {
            text += &self.wrap(&format!("{:INDENT$}→ {next}", ""), INDENT + 2);
            text.push('\n');
        }
        text
    }

    /// Cuts between words, every further line behind so many spaces. A word that is too long, such
    /// as a path, stays whole, so that it can be copied.
    fn wrap(&self, line: &str, indent: usize) -> String {
        let width = self.width.unwrap_or(usize::MAX);
        let (mut text, mut used) = (String::new(), 0);
        for word in line.split(' ') {
            let wide = word.width();
            if used > indent && used + wide > width {
                text.truncate(text.trim_end().len());
                text = text + "\n" + &" ".repeat(indent);
                used = indent;
            }
            text = text + word + " ";
            used += wide + 1;
        }
        text.pop();
        text
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if !self.has_colours {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Everything as one object; `ok` is whether nothing is broken.
fn as_json(settings: &[ListedSetting], checks: &[Check]) -> Value {
    let settings = settings.iter().map(|one| {
        json!({
            "name": one.name,
            "value": one.value,
            "origin": one.origin.to_string(),
        })
    });
    json!({
        "ok": with_status(checks, Status::Broken).next().is_none(),
        "version": env!("CARGO_PKG_VERSION"),
        "summary": summary(checks),
        "checks": checks,
        "settings": settings.collect::<Vec<_>>(),
    })
}

fn with_status(checks: &[Check], status: Status) -> impl Iterator<Item = &Check> {
    checks.iter().filter(move |check| check.status == status)
}

/// How it is altogether, and what to do next.
fn summary(checks: &[Check]) -> String {
    let notes = match with_status(checks, Status::Note).count() {
        0 => String::new(),
        count => format!(", {}", plural(count, "note")),
    };
    match with_status(checks, Status::Broken).next() {
        Some(first) => format!(
            "{} broken{notes}. Next, for {} ({}): {}",
            with_status(checks, Status::Broken).count(),
            first.name,
            first.area,
            first.next.as_deref().unwrap_or_default()
        ),
        None => format!(
            "Nothing is broken{notes}. Next: kb-agent opens the screen, kb-agent ask QUESTION \
             answers one question."
        ),
    }
}

/// The terminal that this runs in, as the screen will find it.
fn check_terminal() -> Vec<Check> {
    let term = variable("TERM");
    let mut checks = Vec::new();
    if stdin().is_terminal() && stdout().is_terminal() {
        checks.push(check_screen(crossterm::terminal::size().ok(), &term));
        let colours = match ColorDepth::from_variables(&variable("COLORTERM"), &term) {
            _ if !variable("NO_COLOR").is_empty() => "none, because NO_COLOR is set",
            ColorDepth::True => "all",
            ColorDepth::Indexed => "256, by what COLORTERM and TERM say",
            ColorDepth::Sixteen => "sixteen, by what COLORTERM and TERM say",
            ColorDepth::None => "none, by what TERM says",
        };
        checks.push(Check::ok("colours", colours));
    } else {
        let line = "this is not a terminal, so that the screen could not be checked";
        let next = "run kb-agent doctor in the terminal that you use";
        checks.push(Check::note("screen", line, next));
    }
    if cfg!(unix) {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        checks.push(check_locale(&names.map(|name| (name, variable(name)))));
    }
    let area = "terminal";
    let checks = checks.into_iter().map(|check| Check { area, ..check });
    checks.collect()
}

/// Empty when it is not set.
fn variable(name: &str) -> String {
    env::var_os(name).map_or_else(String::new, |value| one_line(&value.to_string_lossy(), 60))
}

fn check_screen(size: Option<(u16, u16)>, term: &str) -> Check {
    const NAME: &str = "screen";
    if cfg!(unix) && matches!(term, "" | "dumb") {
        let line = format!("TERM is '{term}': the screen cannot be drawn");
        let next = "set TERM to what your terminal is, such as xterm-256color, or use kb-agent ask";
        return Check::note(NAME, line, next);
    }
    let Some((columns, rows)) = size else {
        let line = "the terminal does not tell its size";
        return Check::note(NAME, line, "use kb-agent ask, or another terminal");
    };
    let line = format!("{columns}×{rows} cells, TERM is '{term}'");
    if columns < LEAST.0 || rows < LEAST.1 {
        let next = format!("make it at least {}×{}", LEAST.0, LEAST.1);
        return Check::note(NAME, format!("{line}: too small for the screen"), next);
    }
    Check::ok(NAME, line)
}

/// The first that is set counts.
fn check_locale(set: &[(&str, String)]) -> Check {
    const NAME: &str = "characters";
    let first = set.iter().find(|(_, value)| !value.is_empty());
    let (name, value) = first.map_or(("LANG", ""), |(name, value)| (*name, value.as_str()));
    if value.to_lowercase().replace('-', "").contains("utf8") {
        return Check::ok(NAME, format!("UTF-8, by {name}"));
    }
    let line = format!(
        "{name} is '{value}', which is not UTF-8: borders and other scripts may look wrong"
    );
    Check::note(NAME, line, format!("export {name}=C.UTF-8"))
}

#[cfg(test)]
mod report_tests {
    use super::*;

    fn printer(width: Option<usize>) -> Printer {
        Printer {
            width,
            has_colours: false,
            area: "",
            is_watched: false,
        }
    }

    #[test]
    fn a_check_is_one_line_in_a_pipe_and_fits_a_narrow_terminal() {
        let check = Check::note(
            "models",
            "'qwen3' is none of the models listed (12), and that is a long line",
            "set KB_AGENT_LLM_MODEL to one that is, such as qwen3:8b, qwen3:14b",
        );
        assert_eq!(printer(None).check(&check).lines().count(), 2);
        let text = printer(Some(40)).check(&check);
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        let further = text.lines().filter(|line| line.starts_with("         "));
        assert_eq!(further.count(), text.lines().count() - 1, "{text}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&text), words(&printer(None).check(&check)));
    }

    #[test]
    fn the_summary_says_what_to_do_first() {
        let ok = Check::ok("contents", "12 documents");
        let note = Check::note("files", "1 new", "nothing");
        let broken = |area, name, next| Check {
            area,
            ..Check::broken(name, crate::text::Trouble::new("refused", next))
        };
        let first = broken("endpoint", "reach", "start the server");
        let second = broken("storage", "disk", "make room");
        assert!(summary(&[ok.clone(), note.clone()]).starts_with("Nothing is broken, 1 note."));
        assert_eq!(
            summary(&[ok, note, first, second]),
            "2 broken, 1 note. Next, for reach (endpoint): start the server"
        );
    }
}

#[cfg(test)]
mod terminal_tests {
    use super::*;
    use crate::engine::doctor::Status;

    #[cfg(unix)]
    #[test]
    fn what_the_screen_cannot_live_with_is_reported() {
        let status = |size, term| check_screen(size, term).status;
        assert_eq!(status(Some((80, 24)), "xterm"), Status::Ok);
        assert_eq!(status(Some(LEAST), "xterm"), Status::Ok);
        assert_eq!(status(Some((LEAST.0 - 1, 24)), "xterm"), Status::Note);
        assert_eq!(status(Some((80, LEAST.1 - 1)), "xterm"), Status::Note);
        assert_eq!(status(Some((80, 24)), "dumb"), Status::Note);
        assert_eq!(status(Some((80, 24)), ""), Status::Note);
        assert_eq!(status(None, "xterm"), Status::Note);
    }

    #[test]
    fn the_first_locale_that_is_set_counts() {
        let of = |all: &str, lang: &str| {
            check_locale(&[("LC_ALL", all.to_owned()), ("LANG", lang.to_owned())])
        };
        assert_eq!(of("", "de_DE.UTF-8").detail, "UTF-8, by LANG");
        assert_eq!(of("C.utf8", "C").status, Status::Ok);
        let other = of("C", "en_US.UTF-8");
        assert_eq!(other.next.as_deref(), Some("export LC_ALL=C.UTF-8"));
        assert_eq!(of("", "").next.as_deref(), Some("export LANG=C.UTF-8"));
    }
}
