use std::fmt::Display;
use std::io::{self, IsTerminal, Write, stdout};
use std::process::ExitCode;

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::config::SettingError;
use crate::engine::EngineError;
use crate::kb::KbError;
use crate::text::escape_json;

/// How a command ends when it does not end well.
#[derive(Debug)]
pub(super) struct CommandFailure {
    code: u8,
    line: Option<String>,
}

impl CommandFailure {
    /// It could not be done.
    pub(super) fn failed(why: impl Display) -> Self {
        Self {
            code: 1,
            line: Some(why.to_string()),
        }
    }

    /// It was asked for wrongly.
    pub(super) fn usage(why: impl Display) -> Self {
        Self {
            code: 2,
            line: Some(why.to_string()),
        }
    }

    /// A failure that is already reported.
    pub(super) fn reported() -> Self {
        Self {
            code: 1,
            line: None,
        }
    }

    /// Turns the exit code into that of wrong usage.
    pub(super) fn into_usage(self) -> Self {
        Self { code: 2, ..self }
    }

    /// The user stopped it.
    pub(super) fn interrupted() -> Self {
        Self {
            code: 130,
            line: None,
        }
    }

    /// Nothing more is to be done, and nothing went wrong.
    pub(super) fn finished() -> Self {
        Self {
            code: 0,
            line: None,
        }
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
        if let Some(line) = self.line {
            print_notice(&line);
        }
        ExitCode::from(self.code)
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
            EngineError::Setting(line) => Self::usage(line),
            EngineError::Knowledge(KbError::Setting(trouble)) => Self::usage(trouble),
            error => Self::failed(error),
        }
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

/// One line for a person, on standard error.
pub(super) fn print_notice(line: &str) {
    let line = format!("kb-agent: {}\n", crate::text::one_line(line, 2000));
    // Standard error is not buffered: who reads it is to find whole lines.
    let _ = io::stderr().write_all(line.as_bytes());
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

// Tables on standard output: as wide as the terminal, and as long as it gets elsewhere.

/// Between two columns.
const GAP: &str = "  ";
/// The least that a text column is worth its place with, in cells.
const LEAST_TEXT: usize = 16;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// What stands above it.
    pub(super) title: &'static str,
    /// Which side its cells stand on.
    pub(super) side: Side,
    /// Columns with more than 0 are left out where there is no room, the largest first.
    pub(super) spare: u8,
}

/// Which side the cells of a column stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A column of that title.
pub(super) const fn column(title: &'static str, side: Side, spare: u8) -> Column {
    Column { title, side, spare }
}

/// The cells of the terminal's width; `None` where the output is no terminal.
pub(super) fn terminal_width() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let (columns, _) = crossterm::terminal::size().ok()?;
    (columns > 0).then_some(usize::from(columns))
}

/// The table as text. Its cells are clean and on one line; the last column is cut to what the
/// others leave of `width`.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let wide: Vec<usize> = (0..columns.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row[at].width());
            cells.chain([columns[at].title.width()]).max().unwrap_or(0)
        })
        .collect();
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    while let Some(width) = width
        && least(&shown, &wide) > width
        && let Some(spare) = (shown.iter().copied())
            .filter(|at| columns[*at].spare > 0)
            .max_by_key(|at| columns[*at].spare)
    {
        shown.retain(|at| *at != spare);
    }
    let titles: Vec<String> = columns.iter().map(|one| one.title.to_owned()).collect();
    let mut text = String::new();
    for row in [&titles].into_iter().chain(rows) {
        let mut line = String::new();
        for at in &shown {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let room = wide[*at].saturating_sub(row[*at].width());
            let space = " ".repeat(room);
            match columns[*at].side {
                Side::Left => line.extend([row[*at].as_str(), &space]),
                Side::Right => line.extend([space.as_str(), &row[*at]]),
            }
        }
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

    const COLUMNS: [Column; 4] = [
        column("id", Side::Left, 0),
        column("time", Side::Left, 1),
        column("calls", Side::Right, 2),
        column("question", Side::Left, 0),
    ];

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

    #[test]
    fn a_table_takes_the_width_of_the_terminal_and_no_more() {
        for width in [10, 24, 30, 36, 48, 80] {
            let drawn = table(&COLUMNS, &rows(), Some(width));
            assert!(drawn.lines().all(|line| line.width() <= width), "{drawn}");
            assert_eq!(drawn.lines().count(), 3);
        }
        let narrow = table(&COLUMNS, &rows(), Some(30));
        assert!(narrow.starts_with("id   time   question\n"), "{narrow}");
        assert!(table(&COLUMNS, &rows(), Some(24)).starts_with("id   question\n"));
    }

    #[test]
    fn a_table_in_a_pipe_is_cut_nowhere() {
        let drawn = table(&COLUMNS, &rows(), None);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "id   time   calls  question");
        assert!(lines[1].starts_with("a1   12:00      4  how many"));
        assert!(lines[1].ends_with("tried first?") && lines[2].ends_with("存在哪里?"));
    }
}
