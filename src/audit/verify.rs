//! Whether the log is as it was written: one reading of all its lines, in order.
//!
//! Each line refers to the hash of the line before it, so the first that does not tells that one of
//! the two was changed, or that a line was added or removed there. That the last lines are gone shows
//! in the head, which notes the last line of the log and of each of its parts.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::Hash;
use thiserror::Error;

use crate::files::{open_unlinked, wait_for};
use crate::protocol::Timestamp;

use super::file::{list_files, part_id};
use super::head::{BEGINNING, Head};
use super::lines::{ChainLink, HeadMismatch, LineKind, Lines};
use super::log_reader::ReadError;

/// How long the log is waited for that is put aside just when its files are opened.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result of verifying a log's chain of hashes. What it counts ends where the chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogVerification {
    /// Lines of all files.
    pub lines: u64,
    /// Number of files: the log, and the parts that were put aside.
    pub files: usize,
    /// Lines before the chain begins, as older versions wrote them.
    pub unchained: u64,
    /// Lines that are no event: cut short by a crash, too long to be read, or of another program
    /// before the chain begins.
    pub unreadable: u64,
    /// The hash of the last line: who keeps it elsewhere can compare it.
    pub last: Option<String>,
    /// The times of the first and of the last event that are chained, in the order of their lines;
    /// `None` where none is.
    pub chained_times: Option<(Timestamp, Timestamp)>,
    /// The first place where the log is not as it was written.
    pub broken: Option<Break>,
    /// Where lines may have been removed unseen.
    pub unwitnessed: Option<UnwitnessedEnd>,
}

impl LogVerification {
    /// The first line that refers to the one before it, counted over all files from 1; `None`
    /// where there is none.
    pub fn chained_from(&self) -> Option<u64> {
        (self.unchained < self.lines).then_some(self.unchained + 1)
    }

    /// What is wrong with the log, in one line; `None` where nothing is.
    pub fn fault(&self) -> Option<String> {
        let broken = self.broken.as_ref();
        let broken = broken.map(|place| format!("the audit log is not as it was written: {place}"));
        let unwitnessed = self.unwitnessed.as_ref();
        let unwitnessed =
            unwitnessed.map(|place| format!("the audit log may not be whole: {place}"));
        let faults: Vec<String> = broken.into_iter().chain(unwitnessed).collect();
        (!faults.is_empty()).then(|| faults.join("; and "))
    }
}

/// Where the log is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: line {line} {kind}", part.display())]
pub struct Break {
    /// The file.
    pub part: PathBuf,
    /// The line in it, from 1; where lines are gone, the one in whose place they were.
    pub line: u64,
    /// What happened to it.
    pub kind: BreakKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BreakKind {
    /// It is the last, and says something else than what was noted of it.
    #[error("was changed")]
    Changed,
    /// It is gone from the end, or several are.
    #[error("was removed")]
    Removed,
    /// It refers to no line, as none does that is written here.
    #[error("was added, or changed into what is not written here")]
    NotOurs,
    /// It refers to another line than the one before it.
    #[error(
        "does not follow from the one before it: one of the two was changed or added, or what \
         stood between them was removed"
    )]
    DoesNotFollow,
}

/// Where the file that notes the end of the log, its head, was missing: lines that were removed from
/// the end then are missed by nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnwitnessedEnd {
    /// It is missing now.
    #[error(
        "{}, which notes its end, is missing or cannot be read, so that lines removed from the end \
         would not be seen; put it back beside the log", head.display()
    )]
    End {
        /// The file.
        head: PathBuf,
    },
    /// It was when a line was written.
    #[error(
        "{}: when line {line} was written, the file that notes the end (.head) was missing, so that \
         lines may have been removed before it", part.display()
    )]
    Line {
        /// The file of the line.
        part: PathBuf,
        /// The line in it, from 1.
        line: u64,
    },
}

/// Follows the chain through all files of the log, up to the first place where it breaks. Where
/// there is no log at all, no file is found.
pub fn verify(log: &Path) -> Result<LogVerification, ReadError> {
    let failed = |kind, why: &str| ReadError::Io {
        path: log.to_owned(),
        source: io::Error::new(kind, why),
    };
    let opened = wait_for(PATIENCE, || OpenedLog::open(log))?;
    let OpenedLog { head, files } = opened.ok_or_else(|| {
        failed(
            io::ErrorKind::TimedOut,
            "it changes again and again meanwhile",
        )
    })?;
    let removed = head.as_ref().and_then(|head| head.removed.as_ref());
    let newest_removed = removed.and_then(|part| part_id(log, part.name.as_ref()));
    let mut check = ChainCheck::new(head.as_ref());
    for (path, file) in files {
        let id = path.file_name().and_then(|name| part_id(log, name));
        if id.is_some_and(|id| newest_removed.is_some_and(|newest| id <= newest)) {
            continue;
        }
        let followed = check.follow_file(&path, file);
        followed.map_err(|source| ReadError::Io { path, source })?;
        if check.found.broken.is_some() {
            break;
        }
    }
    let found = check.finish(log);
    if found.lines > 0 && found.unreadable == found.lines && head.is_none() {
        return Err(failed(
            io::ErrorKind::InvalidData,
            "it holds no event of ours",
        ));
    }
    Ok(found)
}

/// The files of a log and its head, as they were at one moment.
struct OpenedLog {
    head: Option<Head>,
    /// Each with what it held then: what is written later may be noted in a later head.
    files: Vec<(PathBuf, Take<File>)>,
}

impl OpenedLog {
    /// `None` where the log was put aside or a part was removed meanwhile: head and files need not
    /// fit together then.
    fn open(log: &Path) -> Result<Option<Self>, ReadError> {
        let head = Head::read(log);
        let mut files = Vec::new();
        for path in list_files(log) {
            let opened = open_unlinked(&path).map_err(io::Error::from);
            match opened.and_then(|file| Ok((file.metadata()?.len(), file))) {
                Ok((length, file)) => files.push((path, file.take(length))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(ReadError::Io { path, source }),
            }
        }
        let is_unchanged = Head::read(log) == head
            && list_files(log)
                .iter()
                .eq(files.iter().map(|(path, _)| path));
        Ok(is_unchanged.then_some(Self { head, files }))
    }
}

struct ChainCheck<'a> {
    head: Option<&'a Head>,
    found: LogVerification,
    begins_behind: Hash,
    /// What the next line has to refer to: the hash of the last one.
    expected: Hash,
    is_chained: bool,
    /// Whether the line that the head notes as the last of the log was read.
    has_seen_end: bool,
    /// The file that is being read, and how many of its lines were.
    part: PathBuf,
    number: u64,
    /// Number of the line before, and whether it was ended, where it is the beginning of an event only.
    torn: Option<(u64, bool)>,
}

impl<'a> ChainCheck<'a> {
    fn new(head: Option<&'a Head>) -> Self {
        let removed = head.and_then(|head| head.removed.as_ref());
        let begins_behind = removed.map_or(BEGINNING, |part| part.last);
        Self {
            head,
            found: LogVerification::default(),
            begins_behind,
            expected: begins_behind,
            is_chained: false,
            has_seen_end: false,
            part: PathBuf::new(),
            number: 0,
            torn: None,
        }
    }

    /// Follows the chain through one file, and compares its end with what is noted of it.
    fn follow_file(&mut self, path: &Path, file: impl Read) -> io::Result<()> {
        (self.part, self.number, self.torn) = (path.to_owned(), 0, None);
        self.found.files += 1;
        let name = path.file_name().unwrap_or_default();
        let mut parts = self.head.iter().flat_map(|head| &head.parts);
        let noted = parts.find(|part| name == part.name.as_str());
        let mut has_seen_end = false;
        let mut lines = Lines::new(file);
        while let Some(link) = lines.next_link()? {
            self.number += 1;
            self.found.lines += 1;
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
                return self.break_at(1, BreakKind::NotOurs);
            }
            Some(prev) => prev == self.expected,
            // What a crash left of a line refers to nothing, and what is older than the chain.
            None => link.kind == LineKind::Torn || !self.is_chained,
        };
        if !fits {
            return match (self.torn, link.prev) {
                // No line of ours followed it: no crash left it so.
                (Some((number, _)), _) => self.break_at(number, BreakKind::NotOurs),
                (None, None) => self.break_at(self.number, BreakKind::NotOurs),
                (None, Some(_)) => self.break_at(self.number, BreakKind::DoesNotFollow),
            };
        }
        self.is_chained |= link.prev.is_some();
        self.found.unchained += u64::from(!self.is_chained);
        self.has_seen_end |= self.head.is_some_and(|head| head.end.last == link.hash);
        if link.noted == Some(HeadMismatch::NoHead) {
            self.found.unwitnessed.get_or_insert(UnwitnessedEnd::Line {
                part: self.part.clone(),
                line: self.number,
            });
        }
        if let Some(time) = link.time.filter(|_| self.is_chained) {
            let first = self.found.chained_times.map_or(time, |(first, _)| first);
            self.found.chained_times = Some((first, time));
        }
        let is_torn = link.kind == LineKind::Torn && self.is_chained;
        self.torn = is_torn.then_some((self.number, link.is_ended));
        self.expected = link.hash;
        self.found.last = Some(link.hash.to_hex().to_string());
    }

    fn break_at(&mut self, line: u64, kind: BreakKind) {
        let part = self.part.clone();
        self.found.broken.get_or_insert(Break { part, line, kind });
    }

    /// The last lines of the file are not those that were noted.
    fn break_at_end(&mut self, noted_lines: u64) {
        if self.number < noted_lines || self.number == 0 {
            self.break_at(self.number + 1, BreakKind::Removed);
        } else {
            self.break_at(noted_lines.max(1), BreakKind::Changed);
        }
    }

    fn finish(mut self, log: &Path) -> LogVerification {
        // Where the log itself is gone, its lines are the ones that are missed.
        if self.part != log {
            (self.part, self.number, self.torn) = (log.to_owned(), 0, None);
        }
        if let Some((number, true)) = self.torn {
            self.break_at(number, BreakKind::NotOurs);
        }
        match self.head {
            Some(head) if !self.has_seen_end && head.end.last != self.begins_behind => {
                self.break_at_end(head.end.lines);
            }
            None if self.is_chained => {
                let head = Head::path(log);
                let end = UnwitnessedEnd::End { head };
                self.found.unwitnessed.get_or_insert(end);
            }
            _ => {}
        }
        self.found
    }
}
