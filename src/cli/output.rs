use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

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
    let mut out = io::stdout().lock();
    write!(out, "{text}")?;
    out.flush()
}

/// Writes one JSON object on a line of its own.
pub(super) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut line = escape_json(&serde_json::to_string(value)?).into_owned();
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}
