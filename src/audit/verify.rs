//! Whether the log is as it was written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use crate::files::{open_unlinked, refuse_link};

use super::chain::{BEGINNING, Head};
use super::file::refuse_foreign;
use super::findings::{Break, How, LogVerification, UnwitnessedEnd};
use super::lines::{Lines, LogLine};
use super::link::{ChainLink, EarlierLines, LineKind};
use super::parts;
use super::read::ReadError;
use super::verdict::Doubt;

/// Follows the chain through all parts of the log. Where there is no log at all, no part is found.
pub fn verify(log: &Path) -> Result<LogVerification, ReadError> {
    // Read first: what is written meanwhile comes behind what it notes.
    let head = Head::read(log);
    let removed = head.as_ref().and_then(|head| head.removed.as_ref());
    let removed = removed.and_then(|part| parts::id_of(log, part.name.as_ref()));
    let mut paths = parts::all(log);
    paths.retain(|path| {
        let id = path.file_name().and_then(|name| parts::id_of(log, name));
        id.is_none() || id > removed
    });
    let mut check = ChainCheck::new(head, &paths);
    for (part, path) in paths.iter().enumerate() {
        let failed = |source| ReadError::Io {
            path: path.clone(),
            source,
        };
        let file = match open_unlinked(path) {
            Ok(file) => file,
            // Put aside meanwhile, or not there yet.
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(failed(error.into())),
        };
        check.begin(part);
        let mut lines = Lines::with_hashes(file);
        while let Some(line) = lines.next_line().map_err(failed)? {
            check.line(&line);
        }
        check.end_of_part();
    }
    let found = check.finish(log);
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
    head: Option<Head>,
    found: LogVerification,
    /// All parts, oldest first, the log itself last.
    paths: &'a [PathBuf],
    /// Index of the part that is being read.
    part: usize,
    /// Number of lines of each part read so far.
    counts: Vec<u64>,
    /// The last line that goes on from the one before it.
    last: Option<ChainLink>,
    /// A line whose place in the chain shows in the one that follows.
    doubtful: Option<ChainLink>,
    is_chained: bool,
    /// Where the line stands that the head notes.
    noted_at: Option<(usize, u64)>,
}

impl<'a> ChainCheck<'a> {
    fn new(head: Option<Head>, paths: &'a [PathBuf]) -> Self {
        let found = LogVerification {
            has_head: head.is_some(),
            ..LogVerification::default()
        };
        Self {
            head,
            found,
            paths,
            part: 0,
            counts: vec![0; paths.len()],
            last: None,
            doubtful: None,
            is_chained: false,
            noted_at: None,
        }
    }

    fn begin(&mut self, part: usize) {
        self.part = part;
        self.found.parts += 1;
    }

    fn end_of_part(&mut self) {
        let part = self.part;
        let Some(head) = &self.head else { return };
        let name = self.paths[part].file_name().unwrap_or_default();
        let Some(noted) = head.parts.iter().find(|noted| name == noted.name.as_str()) else {
            return;
        };
        // Behind the last one, another may stand that is judged by what follows.
        let is_end = |link: &ChainLink| link.hash == noted.last;
        let is_there = self.doubtful.as_ref().is_some_and(is_end);
        let is_there = is_there || self.last.as_ref().is_some_and(is_end);
        let lines = noted.lines;
        if self.found.broken.is_none() && !is_there {
            self.ended_elsewhere(part, lines);
        }
    }

    /// The last lines of a part are not those that were noted.
    fn ended_elsewhere(&mut self, part: usize, noted: u64) {
        let lines = self.counts[part];
        if lines < noted || lines == 0 {
            self.break_at(part, lines + 1, How::Removed);
        } else {
            self.break_at(part, noted.max(1), How::Changed);
        }
    }

    fn line(&mut self, line: &LogLine<'_>) {
        let part = self.part;
        self.counts[part] += 1;
        self.found.lines += 1;
        let Some(next) = ChainLink::new(part, self.counts[part], line) else {
            return;
        };
        if next.kind != LineKind::Event {
            self.found.unreadable += 1;
            self.found.too_long += u64::from(line.bytes.is_none());
        }
        if self.found.broken.is_none() {
            self.follow(next);
        }
    }

    fn follow(&mut self, link: ChainLink) {
        if let Some(doubtful) = self.doubtful.take() {
            self.judge(doubtful, Some(&link));
            if self.found.broken.is_some() {
                return;
            }
        }
        let fits = match link.prev {
            Some(prev) => prev == self.expected(),
            // Before the chain begins, lines refer to nothing.
            None => !self.is_chained,
        };
        if fits {
            self.is_chained |= link.prev.is_some();
            self.found.unchained += u64::from(link.prev.is_none());
            self.accept(link);
        } else {
            self.is_chained = true;
            self.doubtful = Some(link);
        }
    }

    fn accept(&mut self, link: ChainLink) {
        if self
            .head
            .as_ref()
            .is_some_and(|head| head.last == link.hash)
        {
            self.noted_at = Some(link.place());
        }
        if link.noted == Some(EarlierLines::Nothing) {
            self.found.unwitnessed.get_or_insert(UnwitnessedEnd::Line {
                part: self.paths[link.part].clone(),
                line: link.number,
            });
        }
        self.last = Some(link);
    }

    /// What the next line refers to.
    fn expected(&self) -> Hash {
        let last = self.last.as_ref().map(|last| last.hash);
        last.unwrap_or_else(|| self.begins_behind())
    }

    fn begins_behind(&self) -> Hash {
        let removed = self.head.as_ref().and_then(|head| head.removed.as_ref());
        removed.map_or(BEGINNING, |part| part.last)
    }

    /// `link` does not refer to the line before it, or to none; `next` is the line behind it.
    fn judge(&mut self, link: ChainLink, next: Option<&ChainLink>) {
        let doubt = Doubt {
            paths: self.paths,
            head: self.head.as_ref(),
            noted_at: self.noted_at,
            last: self.last.as_ref(),
            beginning: self.begins_behind(),
            expected: self.expected(),
            link: &link,
            next,
        };
        if doubt.was_cut_short() {
            return self.accept(link);
        }
        let ((part, number), how) = doubt.verdict();
        self.break_at(part, number, how);
    }

    fn break_at(&mut self, part: usize, line: u64, how: How) {
        let part = self.paths.get(part).cloned().unwrap_or_default();
        self.found.broken.get_or_insert(Break { part, line, how });
    }

    fn finish(mut self, log: &Path) -> LogVerification {
        if let Some(doubtful) = self.doubtful.take() {
            self.judge(doubtful, None);
        }
        if let Some(head) = self.head.clone()
            && self.found.broken.is_none()
            && self.noted_at.is_none()
            && head.last != self.begins_behind()
        {
            self.ended_elsewhere(self.paths.len() - 1, head.lines);
        }
        if self.head.is_none() && self.is_chained {
            let head = Head::path(log);
            let end = UnwitnessedEnd::End { head };
            self.found.unwitnessed.get_or_insert(end);
        }
        self.found.last = self.last.map(|last| last.hash.to_hex().to_string());
        self.found
    }
}
