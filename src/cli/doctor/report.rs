//! How an examination looks: on a terminal in its width and with colours, in a pipe one line a
//! check, for programs one object.

use std::env;
use std::io::{self, IsTerminal, Write, stderr, stdout};

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::cli::output::print_text;
use crate::config::{ListedSetting, Origin};
use crate::engine::doctor::{Check, ExaminationProgress, Status};
use crate::text::{duration, one_line, plural};

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 30;
/// Where the text of a check begins: behind the longest mark.
const INDENT: usize = 9;

/// What has been shown so far.
pub(super) struct DoctorReport {
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
    pub(super) fn new(is_text: bool) -> Self {
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
    pub(super) fn settings(&mut self, settings: &[ListedSetting]) {
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
            let line = format!("{}: {value} ({from}; {})", one.name, one.class.as_str());
            let line = self.wrapped(&format!("  {line}"), 4);
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
    pub(super) fn progress(&mut self, progress: &ExaminationProgress) -> io::Result<()> {
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
    pub(super) fn erase_waiting(&self) {
        if self.is_watched {
            let _ = write!(stderr(), "\r\u{1b}[K");
            let _ = stderr().flush();
        }
    }

    /// How it is altogether, and what to do next.
    pub(super) fn summary(&self, checks: &[Check]) -> io::Result<()> {
        print_text(format!("\n{}\n", self.wrapped(&summary(checks), 0)))
    }

    fn heading(&mut self, area: &'static str) -> String {
        let gap = if self.area.is_empty() { "" } else { "\n" };
        self.area = area;
        format!("{gap}{}\n", self.toned(Tone::Strong, area))
    }

    fn line(&self, check: &Check) -> String {
        let took = check
            .took
            .map(|took| format!(" ({})", duration(took.as_secs_f64() * 1000.0)));
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
pub(super) fn as_json(settings: &[ListedSetting], checks: &[Check]) -> Value {
    let is_broken = checks.iter().any(|check| check.status == Status::Broken);
    let settings = settings.iter().map(|one| {
        json!({
            "name": one.name,
            "value": one.value,
            "origin": one.origin.to_string(),
            "class": one.class.as_str(),
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

#[cfg(test)]
mod tests {
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
