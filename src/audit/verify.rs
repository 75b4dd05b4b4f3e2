//! Whether the log is as it was written: one reading of all its lines, in order.
//!
//! Each line refers to the hash of the line before it, so the first that does not tells that one of
//! the two was changed, or that a line was added or removed there. That the last lines are gone shows
//! in the head, which notes the last line of the log and of each of its parts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use crate::files::{open_unlinked, refuse_link};

use super::chain::{BEGINNING, Head};
use super::file::refuse_foreign;
use super::findings::{Break, How, LogVerification, UnwitnessedEnd};
use super::lines::Lines;
use super::link::{ChainLink, EarlierLines, LineKind};
use super::log_parts;
use super::log_reader::ReadError;

/// Follows the chain through all parts of the log, up to the first place where it breaks. Where there
/// is no log at all, no part is found.
pub fn verify(log: &Path) -> Result<LogVerification, ReadError> {
    // Read first: what is written meanwhile comes behind what it notes.
    let head = Head::read(log);
    let removed = head.as_ref().and_then(|head| head.removed.as_ref());
    let begins_behind = removed.map_or(BEGINNING, |part| part.last);
    let removed = removed.and_then(|part| log_parts::id_of(log, part.name.as_ref()));
    let mut check = ChainCheck::new(head.as_ref(), begins_behind);
    for path in log_parts::all(log) {
        let id = path
            .file_name()
            .and_then(|name| log_parts::id_of(log, name));
        if id.is_some() && id <= removed {
            continue;
        }
        check.begin(path.clone());
        let read = match open_unlinked(&path) {
            Ok(file) => check.follow_part(file),
            // Put aside meanwhile, or not there yet.
            Err(error) if error.is_missing() => Ok(()),
            Err(error) => Err(error.into()),
        };
        read.map_err(|source| ReadError::Io { path, source })?;
        if check.found.broken.is_some() {
            break;
        }
    }
    let found = check.finish(Head::path(log));
    if found.lines > 0 && found.unreadable == found.lines && !found.has_head {
        let path = log.to_owned();
        let source = io::Error::new(io::ErrorKind::InvalidData, "it holds no event of ours");
        return Err(ReadError::Io { path, source });
    }
    Ok(found)
}

/// Whether the file at `path` would be taken for a log; `None` where there is none.
pub fn look_at(path: &Path) -> io::Result<Option<fs::Metadata>> {
    Head::refuse_foreign(path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(_) => refuse_link(path)?,
    }
    let file = open_unlinked(path)?;
    refuse_foreign(&file)?;
    file.metadata().map(Some)
}

struct ChainCheck<'a> {
    head: Option<&'a Head>,
    found: LogVerification,
    /// What the next line has to refer to: the hash of the last one.
    expected: Hash,
    begins_behind: Hash,
    is_chained: bool,
    /// Whether the line that the head notes as the last of the log was read.
    has_seen_end: bool,
    /// The part that is being read, and how many of its lines were.
    part: PathBuf,
    number: u64,
    /// Number of the line before, and whether it was ended, where it is the beginning of an event only.
    torn: Option<(u64, bool)>,
}

impl<'a> ChainCheck<'a> {
    fn new(head: Option<&'a Head>, begins_behind: Hash) -> Self {
        let found = LogVerification {
            has_head: head.is_some(),
            ..LogVerification::default()
        };
        Self {
            head,
            found,
            expected: begins_behind,
            begins_behind,
            is_chained: false,
            has_seen_end: false,
            part: PathBuf::new(),
            number: 0,
            torn: None,
        }
    }

    fn begin(&mut self, part: PathBuf) {
        (self.part, self.number, self.torn) = (part, 0, None);
    }

    /// Follows the chain through one part, and compares its end with what is noted of it.
    fn follow_part(&mut self, file: File) -> io::Result<()> {
        self.found.parts += 1;
        let name = self.part.file_name().unwrap_or_default();
        let mut known = self.head.iter().flat_map(|head| &head.parts);
        let noted = known.find(|noted| name == noted.name.as_str());
        let mut has_seen_end = false;
        let mut lines = Lines::with_hashes(file);
        while let Some(line) = lines.next_line()? {
            self.number += 1;
            self.found.lines += 1;
            self.found.too_long += u64::from(line.bytes.is_none());
            let Some(link) = ChainLink::new(&line) else {
                continue;
            };
            self.follow(&link);
            if self.found.broken.is_some() {
                return Ok(());
            }
            has_seen_end = noted.is_some_and(|noted| noted.last == link.hash);
        }
        if let Some(noted) = noted.filter(|_| !has_seen_end) {
            self.break_at_end(noted.lines);
        }
        Ok(())
    }

    fn follow(&mut self, link: &ChainLink) {
        self.found.unreadable += u64::from(link.kind != LineKind::Event);
        let fits = match link.prev {
            // Lines that stand before the beginning of the chain are none of it.
            Some(prev) if !self.is_chained && prev == self.begins_behind && self.number > 1 => {
                return self.break_at(1, How::NotOurs);
            }
            Some(prev) => prev == self.expected,
            // What a crash left of a line refers to nothing, and what is older than the chain.
            None => link.kind == LineKind::Torn || !self.is_chained,
        };
        match (fits, self.torn) {
            (true, _) => {}
            // No line of ours followed it: no crash left it so.
            (false, Some((number, _))) => return self.break_at(number, How::NotOurs),
            (false, None) if link.prev.is_none() => {
                return self.break_at(self.number, How::NotOurs);
            }
            (false, None) => return self.break_at(self.number, How::DoesNotFollow),
        }
        self.is_chained |= link.prev.is_some();
        self.found.unchained += u64::from(!self.is_chained);
        self.has_seen_end |= self.head.is_some_and(|head| head.last == link.hash);
        if link.noted == Some(EarlierLines::Nothing) {
            self.found.unwitnessed.get_or_insert(UnwitnessedEnd::Line {
                part: self.part.clone(),
                line: self.number,
            });
        }
        let is_torn = link.kind == LineKind::Torn && self.is_chained;
        self.torn = is_torn.then_some((self.number, link.is_ended));
        self.expected = link.hash;
        self.found.last = Some(link.hash.to_hex().to_string());
    }

    fn break_at(&mut self, line: u64, how: How) {
        let part = self.part.clone();
        self.found.broken.get_or_insert(Break { part, line, how });
    }

    /// The last lines of the part are not those that were noted.
    fn break_at_end(&mut self, noted_lines: u64) {
        if self.number < noted_lines || self.number == 0 {
            self.break_at(self.number + 1, How::Removed);
        } else {
            self.break_at(noted_lines.max(1), How::Changed);
        }
    }

    fn finish(mut self, head: PathBuf) -> LogVerification {
        if let Some((number, true)) = self.torn {
            self.break_at(number, How::NotOurs);
        }
        match self.head {
            Some(head) if !self.has_seen_end && head.last != self.begins_behind => {
                self.break_at_end(head.lines);
            }
            None if self.is_chained => {
                let end = UnwitnessedEnd::End { head };
                self.found.unwitnessed.get_or_insert(end);
            }
            _ => {}
        }
        self.found
    }
}
