//! The lines of a judged file, one after the other: collections are large, and what is read must
//! end, whatever stands behind the name.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::cli::output::CommandFailure;
use crate::files;

/// No document of a collection is nearly as long.
const LONGEST: u64 = 64 << 20;

/// Hands over every line with its end and its number, from 1 on, as UTF-8 and without a byte order
/// mark. `missing` is what to say where there is no such file.
pub(super) fn each_line(
    path: &Path,
    missing: &str,
    mut take: impl FnMut(usize, &str) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let file = files::open_regular(path).map_err(|error| {
        if error.is_missing() {
            bad(path, missing)
        } else {
            bad(path, error)
        }
    })?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST + 1);
        let read = bounded.read_until(b'\n', &mut line);
        if read.map_err(|error| bad(path, error))? == 0 {
            break;
        }
        if line.len() as u64 > LONGEST {
            let what = format!("line {number} is longer than {} MB", LONGEST >> 20);
            return Err(bad(path, what));
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            return Err(bad(path, format!("line {number} is not UTF-8")));
        };
        let mark = if number == 1 { "\u{feff}" } else { "" };
        take(number, text.strip_prefix(mark).unwrap_or(text))?;
    }
    Ok(())
}

/// A line without its end.
pub(super) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// What cannot be used of a file.
pub(super) fn bad(path: &Path, what: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::failed(format!("{}: {what}", path.display()))
}
