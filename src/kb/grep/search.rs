//! Goes through the files of the base, on all processors, and finds the lines that match.
//!
//! Bytes are searched as they lie in the file; nothing is decoded, no line counted, before
//! something is found, for most files hold nothing. Only text whose bytes are not UTF-8 is
//! decoded first, where the query could stand in it unseen. What is too large to be indexed is
//! streamed through `grep-searcher`, whose buffer then holds the longest line.

use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkState};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::pattern::Pattern;
use super::tally::{CONTEXT_LINES, Candidate, MAX_LINE_BYTES, MAX_PASSAGE_LINES, RankClass, Tally};
use crate::domain::LineRange;
use crate::kb::error::KbError;
use crate::kb::extract;
use crate::kb::extract::{MAX_FILE_BYTES, SNIFF_BYTES, TextLayout, utf_16_by_pattern};
use crate::kb::index::Within;
use crate::kb::opened::Opened;
use crate::kb::source::{Roots, TextCache, walk};

/// A longer line of a large file, or a hole in it, ends the search of this file.
const LONGEST_LINE_BYTES: usize = 64 << 20;

/// The best passages of all files, and some more in case a file is gone by the time it is shown.
pub(super) fn search_all(
    roots: &Roots,
    texts: &TextCache,
    pattern: &Pattern,
    keep: usize,
    within: Within<'_>,
) -> Result<Tally, KbError> {
    let cancel = within.cancel;
    let is_wanted = |path: &Path| {
        let source = || roots.source_of(path);
        within
            .documents
            .is_none_or(|wanted| source().is_some_and(|name| wanted.contains(&name)))
    };
    let _session = texts.extractor.session();
    let done = Mutex::new(Tally::new(pattern.len(), keep));
    for (root, path) in roots.paths().enumerate() {
        let Ok(builder) = walk::builder(path, &roots.included(), |_| true, |_, _| {}) else {
            continue;
        };
        builder.build_parallel().run(|| {
            let mut thread = SearchThread {
                root,
                pattern: pattern.clone(),
                reader: FileSearcher {
                    texts,
                    cancel,
                    searcher: SearcherBuilder::new()
                        .line_number(true)
                        .heap_limit(Some(LONGEST_LINE_BYTES))
                        .binary_detection(BinaryDetection::none())
                        .build(),
                    bytes: Vec::new(),
                },
                tally: Tally::new(pattern.len(), keep),
                done: &done,
            };
            Box::new(move |entry| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && is_of_the_base(path, &entry)
                    && is_wanted(entry.path())
                {
                    thread.search(path, entry.path());
                }
                WalkState::Continue
            })
        });
    }
    if cancel.is_cancelled() {
        return Err(KbError::Stopped);
    }
    Ok(done.into_inner())
}

/// Whether the walk of the index lists this file, whatever its size.
fn is_of_the_base(root: &Path, entry: &DirEntry) -> bool {
    !entry.path_is_symlink()
        && entry.file_type().is_some_and(|kind| kind.is_file())
        && walk::is_plain(root, entry.path())
}

/// One thread with what it uses again for each file.
struct SearchThread<'a> {
    root: usize,
    pattern: Pattern,
    reader: FileSearcher<'a>,
    tally: Tally,
    done: &'a Mutex<Tally>,
}

impl Drop for SearchThread<'_> {
    fn drop(&mut self) {
        let mut done = self.done.lock();
        done.join(mem::replace(&mut self.tally, Tally::new(0, 1)));
    }
}

impl SearchThread<'_> {
    fn search(&mut self, root: &Path, path: &Path) {
        let mut found = Matches::new(&self.pattern, self.root, path, self.tally.keep());
        let searched = Opened::beneath(root, path)
            .map_err(io::Error::from)
            .and_then(|file| self.reader.search(&file, &mut found));
        match searched {
            Ok(true) => found.hand_over(&mut self.tally),
            Ok(false) => {}
            Err(error) => tracing::debug!(path = %path.display(), %error, "grep gave up on a file"),
        }
    }
}

/// Reads and searches one file after the other.
struct FileSearcher<'a> {
    texts: &'a TextCache,
    cancel: &'a CancellationToken,
    searcher: Searcher,
    /// The file, or how a large one begins.
    bytes: Vec<u8>,
}

impl FileSearcher<'_> {
    /// Searches one file; returns whether it is text and all matches are known.
    fn search(&mut self, opened: &Opened, found: &mut Matches<'_>) -> io::Result<bool> {
        self.bytes.clear();
        self.read(opened, SNIFF_BYTES as u64)?;
        let is_large = opened.size() > MAX_FILE_BYTES;
        let mark = Encoding::for_bom(&self.bytes);
        let is_utf_16 = mark.is_some_and(|(encoding, _)| encoding != UTF_8);
        if is_utf_16 && is_large {
            return Ok(self.search_large(opened, 0, found));
        }
        let has_nul = memchr::memchr(0, &self.bytes).is_some();
        if is_utf_16
            || !extract::is_searched_as_written(opened.path(), &self.bytes, opened.size())
            || has_nul && utf_16_by_pattern(&self.bytes).is_some()
        {
            return self.search_extracted(opened, found);
        }
        // A picture is not read to its end to learn that it is one.
        if has_nul {
            return Ok(false);
        }
        let start = mark.map_or(0, |(_, length)| length);
        if is_large {
            return Ok(self.search_large(opened, start, found));
        }
        self.read(opened, MAX_FILE_BYTES)?;
        if memchr::memchr(0, &self.bytes).is_some() || !found.pattern.is_seen_in(&self.bytes) {
            return self.search_extracted(opened, found);
        }
        found.start = start as u64;
        let matcher = found.pattern.matcher();
        self.searcher
            .search_slice(matcher, &self.bytes[start..], found)?;
        Ok(true)
    }

    /// Reads at most `most` more bytes of the file.
    fn read(&mut self, opened: &Opened, most: u64) -> io::Result<usize> {
        opened.file().take(most).read_to_end(&mut self.bytes)
    }

    /// Searches line after line what is too large to be indexed, whatever bytes are in it: a log may
    /// have broken off once, and its other lines are as good as ever.
    fn search_large(&mut self, opened: &Opened, start: usize, found: &mut Matches<'_>) -> bool {
        let mut file = StoppableFile {
            file: opened.file(),
            cancel: self.cancel,
        };
        found.start = start as u64;
        let matcher = found.pattern.matcher();
        let searched = file
            .file
            .seek(SeekFrom::Start(found.start))
            .and_then(|_| self.searcher.search_reader(matcher, &mut file, found));
        if let Err(error) = searched {
            tracing::debug!(path = %opened.path().display(), %error, "grep gave up on the rest of a file");
        }
        true
    }

    /// Searches the extracted text of a file that is not plain text.
    fn search_extracted(&mut self, file: &Opened, found: &mut Matches<'_>) -> io::Result<bool> {
        let Ok(document) = self.texts.document_unless(file, "", self.cancel) else {
            return Ok(false);
        };
        found.has_headings = document.shape == TextLayout::Markdown;
        found.start = 0;
        let matcher = found.pattern.matcher();
        self.searcher
            .search_slice(matcher, document.text.as_bytes(), found)?;
        Ok(true)
    }
}

/// A file whose reading fails once `cancel` is cancelled.
struct StoppableFile<'a> {
    file: &'a File,
    cancel: &'a CancellationToken,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(into)
    }
}

/// The matches of one file as they come, line after line.
struct Matches<'p> {
    pattern: &'p Pattern,
    root: usize,
    path: Arc<PathBuf>,
    /// Whether a line of it that begins with `#` is a heading.
    has_headings: bool,
    /// Where in the file the text begins that is searched.
    start: u64,
    tally: Tally,
    /// All words that the file holds.
    mask: u64,
    /// How many passages are as good as one can be.
    best: usize,
    /// The passage that still grows.
    open: Option<Candidate>,
}

impl<'p> Matches<'p> {
    /// Keeps at most `keep` passages of one rank class.
    fn new(pattern: &'p Pattern, root: usize, path: &Path, keep: usize) -> Self {
        Self {
            pattern,
            root,
            path: Arc::new(path.to_owned()),
            has_headings: TextLayout::for_path(path) == TextLayout::Markdown,
            start: 0,
            tally: Tally::new(pattern.len(), keep),
            mask: 0,
            best: 0,
            open: None,
        }
    }

    fn hand_over(mut self, tally: &mut Tally) {
        self.close();
        tally.count_file(self.mask);
        tally.join(self.tally);
    }

    /// Adds a line to the open passage where their contexts share a line, else begins a passage.
    fn add(&mut self, number: usize, mask: u64, is_heading: bool, offset: u64) {
        self.mask |= mask;
        let end = number + CONTEXT_LINES;
        let mut start = number.saturating_sub(CONTEXT_LINES).max(1);
        if let Some(open) = self.open.as_mut().filter(|open| start <= open.lines.end) {
            let fits = end - open.lines.start < MAX_PASSAGE_LINES;
            if fits || number <= open.lines.end {
                if fits {
                    open.lines.end = end;
                }
                if open.class.add(mask, is_heading) {
                    open.best_line = number;
                    open.offset = offset;
                }
                return;
            }
            start = open.lines.end + 1;
        }
        self.close();
        self.open = Some(Candidate {
            root: self.root,
            path: Arc::clone(&self.path),
            lines: LineRange { start, end },
            class: RankClass::of_line(mask, is_heading),
            best_line: number,
            offset,
        });
    }

    fn close(&mut self) {
        if let Some(passage) = self.open.take() {
            self.best += usize::from(passage.class.is_best(self.pattern.full_mask()));
            self.tally.offer(passage);
        }
    }
}

impl Sink for &mut Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let line = found.bytes();
        let mask = self.pattern.mask(line);
        if mask != 0 {
            let is_endless = line.len() > MAX_LINE_BYTES;
            let within = is_endless.then(|| self.pattern.first_match(line)).flatten();
            let number = found.line_number().map_or(1, |number| number as usize);
            let offset = self.start + found.absolute_byte_offset() + within.unwrap_or(0) as u64;
            let is_heading = self.has_headings && is_heading(line);
            self.add(number, mask, is_heading, offset);
        }
        // What follows cannot change what is shown once there are enough of the best.
        Ok(self.best < self.tally.keep())
    }
}

fn is_heading(line: &[u8]) -> bool {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    (1..=6).contains(&level) && line.get(level) == Some(&b' ')
}
