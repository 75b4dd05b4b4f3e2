//! Behind which line the next one is written.
//!
//! What stands at the end of the file need not be ours. The next line refers to the last one that
//! goes on from what was noted, so that a line which another program appended is passed over and shows.
//! Where what was noted is not there any more, or nothing is noted, the next line says so itself:
//! what is written later does not heal it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use blake3::Hash;

use crate::files::open_unlinked;

use super::chain::{BEGINNING, FileEnd, Head, line_before, line_feeds};
use super::lines::Lines;
use super::link::{ChainLink, EarlierLines};
use super::log_parts;

/// The end of the log, as the next line finds it.
#[derive(Debug)]
pub(super) struct Tail {
    /// Where the file ends, and the hash that the next line refers to.
    pub(super) end: FileEnd,
    /// Whether a line feed ends it.
    pub(super) is_ended: bool,
    /// What the next line has to say of what was noted.
    pub(super) noted: Option<EarlierLines>,
}

impl Tail {
    /// The tail of a log that ends with what was written last.
    pub(super) fn at_end(end: FileEnd) -> Self {
        Self {
            end,
            is_ended: true,
            noted: None,
        }
    }

    /// The tail of a log of which `known` was noted last.
    pub(super) fn read_after(file: &File, known: FileEnd) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        if !known.holds(file)? {
            let is_ended = bytes == 0 || line_before(file, bytes)?.1;
            let lines = line_feeds(file, bytes)? + u64::from(!is_ended);
            let last = known.last;
            return Ok(Self {
                end: FileEnd { bytes, last, lines },
                is_ended,
                noted: Some(EarlierLines::Lines(known.lines)),
            });
        }
        let mut tail = Self::at_end(FileEnd { bytes, ..known });
        for_each_link(file, known.bytes, |link| {
            tail.end.lines += 1;
            tail.is_ended = link.is_ended;
            if link.prev == Some(tail.end.last) || link.was_cut_short() {
                tail.end.last = link.hash;
            }
        })?;
        Ok(tail)
    }

    /// The tail of a log of which nothing is noted.
    pub(super) fn without_head(file: &File, log: &Path) -> io::Result<Self> {
        let mut tail = Self {
            end: FileEnd {
                bytes: file.metadata()?.len(),
                last: last_put_aside(log),
                lines: 0,
            },
            is_ended: true,
            noted: is_chained(log)?.then_some(EarlierLines::Nothing),
        };
        for_each_link(file, 0, |link| {
            tail.end.lines += 1;
            tail.is_ended = link.is_ended;
            // What stands before the chain begins is taken as it is.
            if tail.noted.is_none() || link.prev.is_some() || link.was_cut_short() {
                tail.end.last = link.hash;
            }
        })?;
        Ok(tail)
    }
}

/// The head of a log without a chain, whose lines are taken as they are. What a crash left of the
/// last one stays to be ended by the next.
pub(super) fn take_over(mut file: &File, log: &Path) -> io::Result<Head> {
    let mut head = Head::of_lines_found();
    (head.last, head.is_recounted) = (last_put_aside(log), false);
    let mut is_ended = true;
    for_each_link(file, 0, |link| {
        if !link.was_cut_short() {
            head.lines += 1;
            head.bytes += link.bytes + u64::from(link.is_ended);
            head.last = link.hash;
            is_ended = link.is_ended;
        }
    })?;
    if !is_ended {
        file.write_all(b"\n")?;
        head.bytes += 1;
    }
    Ok(head)
}

/// Whether any line of the log refers to one before it.
pub(super) fn is_chained(log: &Path) -> io::Result<bool> {
    for path in log_parts::all(log).iter().rev() {
        let mut lines = match open_unlinked(path) {
            Ok(file) => Lines::with_hashes(file),
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(error.into()),
        };
        while let Some(line) = lines.next_line()? {
            if ChainLink::new(&line).is_some_and(|link| link.prev.is_some()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn for_each_link(file: &File, from: u64, mut each: impl FnMut(ChainLink)) -> io::Result<()> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(from))?;
    let mut lines = Lines::with_hashes(file);
    while let Some(line) = lines.next_line()? {
        if let Some(link) = ChainLink::new(&line) {
            each(link);
        }
    }
    Ok(())
}

/// Where a log goes on whose head is lost.
fn last_put_aside(log: &Path) -> Hash {
    let last = || {
        let file = open_unlinked(&log_parts::put_aside(log).pop()?).ok()?;
        let length = file.metadata().ok().filter(|meta| meta.len() > 0)?.len();
        Some(line_before(&file, length).ok()?.0)
    };
    last().unwrap_or(BEGINNING)
}
