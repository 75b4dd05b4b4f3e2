use std::error::Error;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write, stdout};
use std::iter;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::audit::ReadError;
use crate::config::SettingError;
use crate::engine::EngineError;
use crate::kb::KbError;
use crate::text::{Trouble, escape_json};

/// How a command ends when it does not end well.
#[derive(Debug)]
pub(super) struct CommandFailure {
    code: u8,
    why: Option<Trouble>,
}

impl CommandFailure {
    const fn silent(code: u8) -> Self {
        Self { code, why: None }
    }

    /// It could not be done.
    pub(super) fn failed(why: impl Display) -> Self {
        Trouble::from(why.to_string()).into()
    }

    /// A file or folder cannot be used.
    pub(super) fn of_file(path: &Path, why: impl Display) -> Self {
        Self::failed(format!("{}: {why}", path.display()))
    }

    /// It was asked for wrongly.
    pub(super) fn usage(why: impl Display) -> Self {
        Self::failed(why).into_usage()
    }

    /// A failure that is already reported.
    pub(super) fn reported() -> Self {
        Self::silent(1)
    }

    /// Turns the exit code into that of wrong usage.
    pub(super) fn into_usage(self) -> Self {
        Self { code: 2, ..self }
    }

    /// The user stopped it.
    pub(super) fn interrupted() -> Self {
        Self::silent(130)
    }

    /// Nothing more is to be done, and nothing went wrong.
    pub(super) fn finished() -> Self {
        Self::silent(0)
    }

    /// Whether nothing went wrong.
    pub(super) fn is_finished(&self) -> bool {
        self.code == 0
    }

    /// Whether it was asked for wrongly.
    pub(super) fn is_usage(&self) -> bool {
        self.code == 2
    }

    /// Says why in one line.
    pub(super) fn report(self) -> ExitCode {
        if let Some(why) = self.why {
            print_notice(&why.to_string());
        }
        ExitCode::from(self.code)
    }

    /// Leaves in the diagnostics what led to it, as far as its line does not say it.
    pub(super) fn log_causes(&self) {
        // The words of the first are at the end of the line.
        let first = self.why.as_ref().and_then(Error::source);
        for error in iter::successors(first, |&error| error.source()).skip(1) {
            tracing::error!(%error, "what led to the failure");
        }
    }
}

impl From<Trouble> for CommandFailure {
    /// It could not be done.
    fn from(why: Trouble) -> Self {
        let (code, why) = (1, Some(why));
        Self { code, why }
    }
}

impl From<SettingError> for CommandFailure {
    fn from(error: SettingError) -> Self {
        Self::usage(error)
    }
}

impl From<EngineError> for CommandFailure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled => Self::interrupted(),
            EngineError::Setting(why) | EngineError::Knowledge(KbError::Setting(why)) => {
                Self::from(why).into_usage()
            }
            error => error.trouble().into(),
        }
    }
}

impl From<KbError> for CommandFailure {
    fn from(error: KbError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<ReadError> for CommandFailure {
    fn from(error: ReadError) -> Self {
        Trouble::from(error).into()
    }
}

impl From<io::Error> for CommandFailure {
    /// A reader that has had enough, as `head` does, is no failure worth a word.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::finished()
        } else {
            Self::failed(format!("standard output cannot be written: {error}"))
        }
    }
}

/// What a figure that nothing was recorded for is drawn as.
pub(super) const NOTHING: &str = "–";

/// A figure, or [`NOTHING`].
pub(super) fn or_nothing(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |figure| figure.to_string())
}

/// One line for a person, on standard error.
pub(super) fn print_notice(line: &str) {
    let line = format!("kb-agent: {}\n", crate::text::one_line(line, 2000));
    // Standard error is not buffered: who reads it is to find whole lines.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Each of these lines by [`print_notice`].
pub(super) fn print_notices(lines: impl IntoIterator<Item = impl AsRef<str>>) {
    for line in lines {
        print_notice(line.as_ref());
    }
}

/// Writes to standard output what a person reads.
pub(super) fn print_text(text: impl Display) -> io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "{text}")?;
    out.flush()
}

/// Writes one JSON object on a line of its own.
pub(super) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut line = escape_json(&serde_json::to_string(value)?).into_owned();
    line.push('\n');
    let mut out = stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// Writes one JSON object where that is asked for, else what a person reads.
pub(super) fn print_result(
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> io::Result<()> {
    if json {
        print_json(value)
    } else {
        print_text(text())
    }
}

// Tables on standard output: as wide as the terminal, and as long as it gets elsewhere.

/// Between two columns.
const GAP: &str = "  ";
/// The least that a text column is worth its place with, in cells.
const LEAST_TEXT: usize = 16;

/// The cells of the terminal's width; `None` where the output is no terminal.
pub(super) fn terminal_width() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let (columns, _) = crossterm::terminal::size().ok()?;
    (columns > 0).then_some(usize::from(columns))
}

/// The table as text. Its titles are parted by `|`, its cells clean and on one line; a column of
/// figures, which hold no letter, stands to the right. Where lines have at most `width` cells, columns
/// are left out in the order of `spare`, and the last one is cut to what the others leave.
pub(super) fn table_within(
    width: Option<usize>,
    titles: &str,
    spare: &str,
    rows: &[Vec<String>],
) -> String {
    let titles: Vec<String> = titles.split('|').map(str::to_owned).collect();
    let lines = || [&titles].into_iter().chain(rows);
    let mut shown: Vec<usize> = (0..titles.len()).collect();
    let widest = |at: &usize| lines().map(|line| line[*at].width()).max();
    let wide: Vec<usize> = shown.iter().filter_map(widest).collect();
    for spare in spare.split('|') {
        if width.is_some_and(|width| least(&shown, &wide) > width) {
            shown.retain(|at| titles[*at] != spare);
        }
    }
    let is_figure = |row: &Vec<String>, at: usize| !row[at].contains(char::is_alphabetic);
    let mut text = String::new();
    for line in lines() {
        let cells = shown.iter().map(|&at| {
            let blanks = " ".repeat(wide[at].saturating_sub(line[at].width()));
            if rows.iter().all(|row| is_figure(row, at)) {
                blanks + &line[at]
            } else {
                line[at].clone() + &blanks
            }
        });
        let line = cells.collect::<Vec<_>>().join(GAP);
        let line = line.trim_end();
        text.push_str(&width.map_or_else(|| line.to_owned(), |width| cut(line, width)));
        text.push('\n');
    }
    text
}

/// The cells of a line whose last column is cut as short as it may be.
fn least(shown: &[usize], wide: &[usize]) -> usize {
    let Some((last, others)) = shown.split_last() else {
        return 0;
    };
    let others = others.iter().map(|at| wide[*at] + GAP.len());
    others.sum::<usize>() + wide[*last].min(LEAST_TEXT)
}

/// The text, with `…` at its end where it takes more than `width` cells.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let kept = text.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken < width
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod columns_tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        [
            [
                "a1",
                "12:00",
                "4",
                "how many rules are there, and which is tried first?",
            ],
            [
                "b22",
                "12:01",
                "12",
                "索引是怎么建立的,多长时间更新一次,存在哪里?",
            ],
        ]
        .map(|row| row.map(str::to_owned).to_vec())
        .to_vec()
    }

    fn within(width: Option<usize>) -> String {
        table_within(width, "id|time|calls|question", "calls|time", &rows())
    }

    #[test]
    fn a_table_takes_the_width_of_the_terminal_and_no_more() {
        for width in [10, 24, 30, 36, 48, 80] {
            let drawn = within(Some(width));
            assert!(drawn.lines().all(|line| line.width() <= width), "{drawn}");
            assert_eq!(drawn.lines().count(), 3);
        }
        let narrow = within(Some(30));
        assert!(narrow.starts_with("id    time  question\n"), "{narrow}");
        assert!(within(Some(24)).starts_with("id   question\n"));
    }

    #[test]
    fn a_table_in_a_pipe_is_cut_nowhere() {
        let drawn = within(None);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "id    time  calls  question");
        assert!(lines[1].starts_with("a1   12:00      4  how many"));
        assert!(lines[1].ends_with("tried first?") && lines[2].ends_with("存在哪里?"));
    }
}
