//! `doctor`: what is wrong, and what to do about it.
//!
//! The parts examine themselves, behind [`crate::engine::doctor`]; the terminal is this room's own
//! and is looked at here. Checks are shown as they come, because a slow server is one of the things
//! that people run this for.

use std::env;
use std::io::{self, IsTerminal, Write, stderr, stdin, stdout};
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::chat::own_files;
use super::interruption::interruptible;
use super::output::{CommandFailure, print_text};
use crate::config::{Environment, ListedSetting, Origin, Overrides, Settings, Survey, survey};
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
    let mut report = DoctorReport::new(!doctor.json);
    report.settings(&survey.listed);
    let checks = interruptible(async |cancel| {
        let mut checks = Vec::new();
        let mut written = Ok(());
        let mut show = |progress: ExaminationProgress| {
            if written.is_ok() {
                written = report.progress(&progress);
            }
            if let ExaminationProgress::Checked(check) = progress {
                checks.push(check);
            }
        };
        tokio::select! {
            () = examine(&survey, &mut show) => {}
            () = cancel.cancelled() => {
                report.erase_waiting();
                return Err(CommandFailure::interrupted());
            }
        }
        let own = survey.settings.as_ref().map(check_own_files);
        for check in own.into_iter().flatten().chain(check_terminal()) {
            show(ExaminationProgress::Checked(check));
        }
        written?;
        Ok(checks)
    })?;
    let result = if doctor.json {
        super::output::print_json(&as_json(&survey.listed, &checks))
    } else {
        report.summary(&checks)
    };
    end(&survey, &checks, result)
}

/// A setting that cannot be used ends every command in the same way; else what is broken does.
fn end(survey: &Survey, checks: &[Check], written: io::Result<()>) -> Result<(), CommandFailure> {
    written?;
    if let Some(error) = survey.refused.first() {
        return Err(CommandFailure::usage(error));
    }
    let is_broken = |check: &&Check| check.status == Status::Broken;
    let broken: Vec<&Check> = checks.iter().filter(is_broken).collect();
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
    let wrong = |what: String| Check::note("unused", what, "correct that file, or remove it");
    let mut checks: Vec<Check> = own.unreadable.into_iter().map(wrong).collect();
    let (mut read, mut mistakes) = (Vec::new(), Vec::new());
    for (name, source) in &own.themes {
        match check_theme(source) {
            Ok(()) => read.push(format!("themes/{name}.toml")),
            Err(why) => mistakes.push(format!("themes/{name}.toml: {why}")),
        }
    }
    match own.keymap.as_deref().map(check_keymap) {
        Some(Ok(())) => read.push("keymap.toml".to_owned()),
        Some(Err(why)) => mistakes.push(why),
        None => {}
    }
    checks.extend(mistakes.into_iter().map(wrong));
    if !read.is_empty() {
        checks.push(Check::ok("read", read.join(", ")));
    }
    let checks = checks.into_iter();
    checks.map(|check| check.in_area("own files")).collect()
}

// How an examination looks: on a terminal in its width and with colours, in a pipe one line a
// check, for programs one object.

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 30;
/// Where the text of a check begins: behind the longest mark.
const INDENT: usize = 9;

/// What has been shown so far.
struct DoctorReport {
    /// `false` where one object comes at the end.
    is_text: bool,
    /// `None` is as long as it gets.
    width: Option<usize>,
    colour: bool,
    area: &'static str,
    /// Whether a terminal shows what is being waited for.
    is_watched: bool,
}

#[derive(Clone, Copy)]
enum Tone {
    Strong,
    Faint,
    Mark(Status),
}

impl DoctorReport {
    fn new(is_text: bool) -> Self {
        let is_terminal = stdout().is_terminal();
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let columns = crossterm::terminal::size().map(|(columns, _)| usize::from(columns));
        Self {
            is_text,
            width: match columns {
                Ok(columns) if is_terminal => Some(columns.clamp(NARROWEST, WIDEST)),
                _ => None,
            },
            colour: is_terminal && !is_dumb && !is_set("NO_COLOR"),
            area: "",
            is_watched: stderr().is_terminal() && !is_dumb,
        }
    }

    /// The settings, and where each is from.
    fn settings(&mut self, settings: &[ListedSetting]) {
        if !self.is_text {
            return;
        }
        let mut text = self.heading("settings");
        for one in settings {
            let (value, from) = match (&one.value, one.unset) {
                (Some(value), _) => (value.as_str(), origin(one)),
                (None, Some(means)) => ("not set", means.to_owned()),
                (None, None) => ("not set", origin(one)),
            };
            let line = format!("  {}: {value} ({from})", one.name);
            let line = self.wrapped(&line, 4);
            text.push_str(&match one.origin {
                Origin::Default => self.toned(Tone::Faint, &line),
                _ => line,
            });
            text.push('\n');
        }
        // Whether the reader is gone shows with the next line.
        let _ = print_text(text);
    }

    /// What is going on, or what was found.
    fn progress(&mut self, progress: &ExaminationProgress) -> io::Result<()> {
        self.erase_waiting();
        match progress {
            ExaminationProgress::Waiting(what) => {
                if self.is_watched {
                    let _ = write!(stderr(), "  trying {what} …");
                    let _ = stderr().flush();
                }
                Ok(())
            }
            ExaminationProgress::Checked(_) if !self.is_text => Ok(()),
            ExaminationProgress::Checked(check) => {
                let mut text = String::new();
                if check.area != self.area {
                    text = self.heading(check.area);
                }
                text.push_str(&self.line(check));
                print_text(text)
            }
        }
    }

    /// Erases the line that says what is being waited for.
    fn erase_waiting(&self) {
        if self.is_watched {
            let _ = write!(stderr(), "\r\u{1b}[K");
            let _ = stderr().flush();
        }
    }

    /// How it is altogether, and what to do next.
    fn summary(&self, checks: &[Check]) -> io::Result<()> {
        print_text(format!("\n{}\n", self.wrapped(&summary(checks), 0)))
    }

    fn heading(&mut self, area: &'static str) -> String {
        let gap = if self.area.is_empty() { "" } else { "\n" };
        self.area = area;
        format!("{gap}{}\n", self.toned(Tone::Strong, area))
    }

    fn line(&self, check: &Check) -> String {
        let took = check.ms.map(|ms| format!(" ({})", duration(ms)));
        let took = took.unwrap_or_default();
        let mark = check.status.as_str();
        let line = format!("  {mark:<6} {}: {}{took}", check.name, check.detail);
        let line = self.wrapped(&line, INDENT);
        let marked = self.toned(Tone::Mark(check.status), mark);
        let mut text = format!("{}\n", line.replacen(mark, &marked, 1));
        if let Some(next) = &check.next {
            let next = format!("{:INDENT$}→ {next}", "");
            text.push_str(&self.wrapped(&next, INDENT + 2));
            text.push('\n');
        }
        text
    }

    /// Cut between words, every further line behind so many spaces. A word that is too long, such
    /// as a path, stays whole, so that it can be copied.
    fn wrapped(&self, line: &str, indent: usize) -> String {
        let Some(width) = self.width else {
            return line.to_owned();
        };
        let begin = line.len() - line.trim_start().len();
        let mut text = line[..begin].to_owned();
        let (mut used, mut is_first) = (begin, true);
        for word in line[begin..].split(' ') {
            let wide = word.width();
            if !is_first && used + 1 + wide > width {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                used = indent;
            } else if !is_first {
                text.push(' ');
                used += 1;
            }
            text.push_str(word);
            used += wide;
            is_first = false;
        }
        text
    }

    fn toned(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Mark(Status::Ok) => "32",
            Tone::Mark(Status::Note) => "33",
            Tone::Mark(Status::Broken) => "1;31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Everything as one object; `ok` is whether nothing is broken.
fn as_json(settings: &[ListedSetting], checks: &[Check]) -> Value {
    let is_broken = checks.iter().any(|check| check.status == Status::Broken);
    let settings = settings.iter().map(|one| {
        json!({
            "name": one.name,
            "value": one.value,
            "origin": one.origin.to_string(),
        })
    });
    json!({
        "ok": !is_broken,
        "version": env!("CARGO_PKG_VERSION"),
        "summary": summary(checks),
        "checks": checks,
        "settings": settings.collect::<Vec<_>>(),
    })
}

/// A file may be called anything.
fn origin(setting: &ListedSetting) -> String {
    one_line(&setting.origin.to_string(), 300)
}

fn summary(checks: &[Check]) -> String {
    let of = |status| checks.iter().filter(move |check| check.status == status);
    let notes = match of(Status::Note).count() {
        0 => String::new(),
        count => format!(", {}", plural(count, "note")),
    };
    match of(Status::Broken).next() {
        Some(first) => format!(
            "{} broken{notes}. Next, for {} ({}): {}",
            of(Status::Broken).count(),
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
    let mut checks = Vec::new();
    if stdin().is_terminal() && stdout().is_terminal() {
        checks.push(check_screen(
            crossterm::terminal::size().ok(),
            &variable("TERM"),
        ));
        checks.push(check_colours(&variable("COLORTERM"), &variable("TERM")));
    } else {
        checks.push(Check::note(
            "screen",
            "this is not a terminal, so that the screen could not be checked",
            "run kb-agent doctor in the terminal that you use",
        ));
    }
    if cfg!(unix) {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let set = names.map(|name| (name, variable(name)));
        checks.push(check_locale(&set));
    }
    let checks = checks.into_iter();
    checks.map(|check| check.in_area("terminal")).collect()
}

/// Empty when it is not set.
fn variable(name: &str) -> String {
    env::var_os(name).map_or_else(String::new, |value| one_line(&value.to_string_lossy(), 60))
}

fn check_screen(size: Option<(u16, u16)>, term: &str) -> Check {
    const NAME: &str = "screen";
    if cfg!(unix) && (term.is_empty() || term == "dumb") {
        let value = if term.is_empty() { "not set" } else { "'dumb'" };
        return Check::note(
            NAME,
            format!("TERM is {value}: the screen cannot be drawn"),
            "set TERM to what your terminal is, such as xterm-256color, or use kb-agent ask",
        );
    }
    let Some((columns, rows)) = size else {
        return Check::note(
            NAME,
            "the terminal does not tell its size",
            "use kb-agent ask, or another terminal",
        );
    };
    let line = format!("{columns}×{rows} cells, TERM is '{term}'");
    if columns < LEAST.0 || rows < LEAST.1 {
        let next = format!("make it at least {}×{}", LEAST.0, LEAST.1);
        return Check::note(NAME, format!("{line}: too small for the screen"), next);
    }
    Check::ok(NAME, line)
}

fn check_colours(colorterm: &str, term: &str) -> Check {
    let line = if variable("NO_COLOR").is_empty() {
        match ColorDepth::from_variables(colorterm, term) {
            ColorDepth::True => "all",
            ColorDepth::Indexed => "256, by what COLORTERM and TERM say",
            ColorDepth::Sixteen => "sixteen, by what COLORTERM and TERM say",
            ColorDepth::None => "none, by what TERM says",
        }
    } else {
        "none, because NO_COLOR is set"
    };
    Check::ok("colours", line)
}

/// The first that is set counts.
fn check_locale(set: &[(&str, String)]) -> Check {
    const NAME: &str = "characters";
    let (name, value) = match set.iter().find(|(_, value)| !value.is_empty()) {
        Some((name, value)) => (*name, value.as_str()),
        None => ("LANG", ""),
    };
    let plain = value.to_lowercase().replace('-', "");
    if plain.contains("utf8") {
        return Check::ok(NAME, format!("UTF-8, by {name}"));
    }
    let locale = if value.is_empty() {
        "no locale is set".to_owned()
    } else {
        format!("{name} is '{value}', which is not UTF-8")
    };
    Check::note(
        NAME,
        format!("{locale}: borders and other scripts may look wrong"),
        format!("export {name}=C.UTF-8"),
    )
}

#[cfg(test)]
mod report_tests {
    use super::*;

    fn narrow(width: Option<usize>) -> DoctorReport {
        DoctorReport {
            is_text: true,
            width,
            colour: false,
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
        assert_eq!(narrow(None).line(&check).lines().count(), 2);
        let text = narrow(Some(40)).line(&check);
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        let further = text.lines().filter(|line| line.starts_with("         "));
        assert_eq!(further.count(), text.lines().count() - 1, "{text}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&text), words(&narrow(None).line(&check)));
    }

    #[test]
    fn the_summary_says_what_to_do_first() {
        let ok = Check::ok("contents", "12 documents");
        let note = Check::note("files", "1 new", "nothing");
        let first = Check::broken("reach", "refused", "start the server").in_area("endpoint");
        let second = Check::broken("disk", "0 MB", "make room").in_area("storage");
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
