//! The lines of standard input, read on a thread of their own: nothing else waits for them.

use std::io::{self, BufRead, BufReader, Read, stdin};
use std::thread;

use tokio::sync::mpsc;

/// A longer line is a document.
const LONGEST: u64 = 64 << 10;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputLine {
    Line(String),
    /// A line that was too long to be taken.
    TooLong,
    /// Nothing follows.
    End,
}

/// Standard input, line by line.
pub(super) struct StandardInput {
    lines: mpsc::Receiver<InputLine>,
}

impl StandardInput {
    /// Starts to read.
    pub(super) fn begin() -> io::Result<Self> {
        let (send, lines) = mpsc::channel(1);
        let reader = thread::Builder::new().name("lines".to_owned());
        reader.spawn(move || {
            let mut reader = BufReader::new(stdin());
            while let Some(typed) = next_line(&mut reader)
                && send.blocking_send(typed).is_ok()
            {}
        })?;
        Ok(Self { lines })
    }

    #[cfg(test)]
    pub(super) fn from_channel(lines: mpsc::Receiver<InputLine>) -> Self {
        Self { lines }
    }

    /// The next line; after the last always [`InputLine::End`].
    pub(super) async fn next(&mut self) -> InputLine {
        self.lines.recv().await.unwrap_or(InputLine::End)
    }
}

/// `None` at the end, and where nothing can be read any more.
fn next_line(reader: &mut impl BufRead) -> Option<InputLine> {
    let mut line = Vec::new();
    let read = reader
        .by_ref()
        .take(LONGEST + 1)
        .read_until(b'\n', &mut line);
    if read.ok()? == 0 {
        return None;
    }
    if line.len() as u64 <= LONGEST || line.ends_with(b"\n") {
        return Some(InputLine::Line(String::from_utf8_lossy(&line).into_owned()));
    }
    // The rest of that line.
    while !line.ends_with(b"\n") {
        line.clear();
        if reader
            .by_ref()
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .ok()?
            == 0
        {
            break;
        }
    }
    Some(InputLine::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_costs_itself_only() {
        let text = format!("one\n{}\nthree", "x".repeat(3 * LONGEST as usize));
        let mut reader = text.as_bytes();
        assert_eq!(
            next_line(&mut reader),
            Some(InputLine::Line("one\n".to_owned()))
        );
        assert_eq!(next_line(&mut reader), Some(InputLine::TooLong));
        assert_eq!(
            next_line(&mut reader),
            Some(InputLine::Line("three".to_owned()))
        );
        assert_eq!(next_line(&mut reader), None);
    }
}
