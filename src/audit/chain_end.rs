//! Where the chain of hashes ends: behind which line the next one is written, and what the head
//! notes of it.
//!
//! What stands at the end of the file need not be ours. The next line refers to the last one that
//! goes on from what was noted, so that a line which another program appended is passed over and
//! shows. What does not fit is never mended in silence: a line says so first, and only then is the
//! head made anew.
//!
//! | the head                 | the log                 | the next line says          | who writes the head          |
//! |--------------------------|-------------------------|-----------------------------|------------------------------|
//! | is there, and fits       | any                     | nothing                     | each note of the end         |
//! | is there, its line gone  | any                     | `noted: {"lines": n}`       | the note after that line     |
//! | is missing               | holds no chained line   | nothing: the chain begins   | the note before that line    |
//! | is missing               | is chained, just opened | `noted: "nothing"`          | the note after that line     |
//! | vanished since our line  | is chained              | `noted: "nothing"`, once a note of the end found it missing | the note after that line |

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use blake3::Hash;

use crate::files::{open_unlinked, sync_dir};

use super::file::{folder, list_files, list_older_parts, next_part, refuse_foreign};
use super::head::{BEGINNING, FileEnd, Head, LogPart, line_before};
use super::lines::{ChainLink, HeadMismatch, Lines};

/// A log larger than this is put aside, unless less is to be kept.
const ROTATE_AT_BYTES: u64 = 64 << 20;
/// What is kept is at least so many parts, so that not all goes at once.
const FEWEST_PARTS: u64 = 4;

/// What one process knows of the end of the chain.
#[derive(Debug)]
pub(super) struct ChainEnd {
    /// The end of the last line that this process wrote.
    written: Option<FileEnd>,
    head: HeadState,
}

/// What became of the head, which is made before the first line and may not vanish from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadState {
    /// Nothing is known to the contrary.
    Kept,
    /// It was not there when the end was to be noted: the next line says so.
    Missing,
    /// A line says so, or begins the chain: it may be made.
    MayBeMade,
}

/// The place of the next line.
#[derive(Debug)]
pub(super) struct NextLine {
    /// Where the file ends, and the hash that the line refers to.
    pub(super) end: FileEnd,
    /// Whether a line feed ends the file.
    pub(super) is_ended: bool,
    /// What the line has to say of the head.
    pub(super) noted: Option<HeadMismatch>,
    /// What becomes of the head once the line is written.
    head: HeadState,
}

impl ChainEnd {
    /// The end of a log that was just opened.
    pub(super) fn unknown() -> Self {
        Self {
            written: None,
            head: HeadState::Kept,
        }
    }

    /// The log that was written to is a part now.
    pub(super) fn begin_another_file(&mut self) {
        self.written = None;
    }

    /// Finds the place of the next line; the file must be locked.
    pub(super) fn find(&self, file: &File, log: &Path) -> io::Result<NextLine> {
        let length = file.metadata()?.len();
        let known = || Head::read(log).map(|head| head.end);
        let mut next = match (self.written, self.written.or_else(known)) {
            (_, None) => return NextLine::without_head(file, log),
            (Some(written), _) if written.bytes == length => NextLine::after_end(written),
            (_, Some(end)) => NextLine::find(file, end)?,
        };
        if self.head == HeadState::Missing {
            next.noted.get_or_insert(HeadMismatch::NoHead);
        }
        if next.noted.is_none() {
            next.head = self.head;
        }
        Ok(next)
    }

    /// Goes on behind the line of this hash that was written there, with so many bytes.
    pub(super) fn advance(&mut self, next: &NextLine, bytes: u64, last: Hash) {
        self.head = next.head;
        self.written = Some(FileEnd {
            lines: next.end.lines + 1,
            bytes: next.end.bytes + bytes,
            last,
        });
    }

    /// Notes the end in the head, and puts an overgrown log aside; says whether it did. The file
    /// must be locked, and on disk up to its end.
    pub(super) fn note(&mut self, file: &File, log: &Path, keep_bytes: u64) -> io::Result<bool> {
        let old = Head::read(log);
        let mut head = match &old {
            Some(head) => head.clone(),
            None if self.head == HeadState::MayBeMade => Head::without_lines(BEGINNING),
            None if is_chained(log)? => {
                self.head = HeadState::Missing;
                return Ok(false);
            }
            None => take_over(file, log)?,
        };
        if let Some(written) = self.written
            && (written.bytes > head.end.bytes || !head.end.is_still_in(file)?)
        {
            head.end = written;
        }
        if !head.end.is_still_in(file)? {
            // The next line says so, before anything is noted anew.
            return Ok(false);
        }
        let is_put_aside = rotate_if_overgrown(file, log, keep_bytes, &mut head)?;
        remove_oldest_parts(log, keep_bytes, &mut head)?;
        if old.as_ref() != Some(&head) {
            head.write(log)?;
        }
        self.head = HeadState::Kept;
        if is_put_aside {
            self.begin_another_file();
        }
        Ok(is_put_aside)
    }
}

impl NextLine {
    /// The next line comes right after this end of the file.
    fn after_end(end: FileEnd) -> Self {
        Self {
            end,
            is_ended: true,
            noted: None,
            head: HeadState::MayBeMade,
        }
    }

    /// Finds the end of the file from `known`, the end that was noted last.
    fn find(file: &File, known: FileEnd) -> io::Result<Self> {
        if known.is_still_in(file)? {
            let next = Self::after_end(known);
            next.read_on(file, |link, last| {
                link.prev == Some(last) || link.was_cut_short()
            })
        } else {
            let mut next = Self::after_end(FileEnd::without_lines(known.last));
            next.noted = Some(HeadMismatch::LastLineGone(known.lines));
            next.read_on(file, |_, _| false)
        }
    }

    /// Behind the last line of a log of which nothing is noted.
    fn without_head(file: &File, log: &Path) -> io::Result<Self> {
        let mut next = Self::after_end(FileEnd::without_lines(last_put_aside(log)));
        if !is_chained(log)? {
            return next.read_on(file, |_, _| true);
        }
        next.noted = Some(HeadMismatch::NoHead);
        next.read_on(file, |link, _| link.prev.is_some() || link.was_cut_short())
    }

    /// Reads the file to its end; `goes_on` tells whether a line goes on from the one of this hash.
    fn read_on(
        mut self,
        file: &File,
        goes_on: impl Fn(&ChainLink, Hash) -> bool,
    ) -> io::Result<Self> {
        let mut lines = lines_from(file, self.end.bytes)?;
        while let Some(link) = lines.next_link()? {
            if goes_on(&link, self.end.last) {
                self.end.last = link.hash;
            }
            self.end.lines += 1;
            self.end.bytes += link.bytes;
            self.is_ended = link.is_ended;
        }
        Ok(self)
    }
}

/// The head of a log without a chain, whose lines are taken as they are. What a crash left of the
/// last one stays to be ended by the next.
fn take_over(mut file: &File, log: &Path) -> io::Result<Head> {
    let mut end = FileEnd::without_lines(last_put_aside(log));
    let mut is_ended = true;
    let mut lines = lines_from(file, 0)?;
    while let Some(link) = lines.next_link()? {
        if !link.was_cut_short() {
            end.last = link.hash;
            end.lines += 1;
            end.bytes += link.bytes;
            is_ended = link.is_ended;
        }
    }
    if !is_ended {
        file.write_all(b"\n")?;
        end.bytes += 1;
    }
    Ok(Head {
        end,
        ..Head::without_lines(BEGINNING)
    })
}

/// Whether any line of the log refers to one before it.
fn is_chained(log: &Path) -> io::Result<bool> {
    for path in list_files(log).iter().rev() {
        let mut lines = match open_unlinked(path) {
            Ok(file) => Lines::new(file),
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(error.into()),
        };
        while let Some(link) = lines.next_link()? {
            if link.prev.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn lines_from(mut file: &File, at: u64) -> io::Result<Lines<&File>> {
    file.seek(SeekFrom::Start(at))?;
    Ok(Lines::new(file))
}

/// Where a log goes on whose head is lost.
fn last_put_aside(log: &Path) -> Hash {
    let last = || {
        let file = open_unlinked(&list_older_parts(log).pop()?).ok()?;
        let length = file.metadata().ok().filter(|meta| meta.len() > 0)?.len();
        Some(line_before(&file, length).ok()?.0)
    };
    last().unwrap_or(BEGINNING)
}

/// Renames an overgrown log to a part; `head`, whose end must be that of the file or before it,
/// says so afterwards.
fn rotate_if_overgrown(
    file: &File,
    log: &Path,
    keep_bytes: u64,
    head: &mut Head,
) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length <= ROTATE_AT_BYTES.min(keep_bytes / FEWEST_PARTS) {
        return Ok(false);
    }
    head.end = NextLine::find(file, head.end)?.end;
    // A process that starts after a kill between the two finds the chain's end here.
    head.write(log)?;
    let part = next_part(log);
    fs::rename(log, &part)?;
    sync_dir(folder(log))?;
    head.parts.push(LogPart {
        name: file_name(&part),
        lines: head.end.lines,
        last: head.end.last,
    });
    head.end = FileEnd::without_lines(head.end.last);
    head.write(log)?;
    Ok(true)
}

/// Removes the oldest parts until the rest is within bounds; `head` says behind which the chain
/// begins then.
fn remove_oldest_parts(log: &Path, keep_bytes: u64, head: &mut Head) -> io::Result<()> {
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut total: u64 = list_files(log).iter().map(size).sum();
    for oldest in list_older_parts(log) {
        if total <= keep_bytes {
            break;
        }
        let file = open_unlinked(&oldest)?;
        let name = file_name(&oldest);
        let noted = head.parts.iter().position(|part| part.name == name);
        if noted.is_none() && refuse_foreign(&file).is_err() {
            continue;
        }
        let noted = noted.map(|at| head.parts.remove(at));
        let length = file.metadata()?.len();
        total = total.saturating_sub(length);
        if length > 0 {
            head.removed = Some(match noted {
                Some(part) => part,
                None => LogPart {
                    name,
                    lines: 0,
                    last: line_before(&file, length)?.0,
                },
            });
        }
        // Noted first: a part that is still there after a kill is passed over by who verifies.
        head.write(log)?;
        fs::remove_file(&oldest)?;
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
