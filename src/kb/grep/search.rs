//! Goes through the files of the base, on all processors, and finds the lines that match.
//!
//! Bytes are searched as they lie in the file; nothing is decoded, no line counted, before
//! something is found, for most files hold nothing. Only text whose bytes are not UTF-8 is
//! decoded first, where the query could stand in it unseen.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkState};

use super::blocks::{Blocks, TextBlock, TextKind};
use super::passage::{CONTEXT_LINES, MAX_PASSAGE_LINES};
use super::pattern::Pattern;
use super::tally::{Candidate, RankClass, Tally};
use crate::domain::LineRange;
use crate::kb::error::KbError;
use crate::kb::extract::{self, MAX_FILE_BYTES, TextLayout};
use crate::kb::index::Within;
use crate::kb::opened::Opened;
use crate::kb::source::Roots;
use crate::kb::source::TextCache;
use crate::kb::source::walk;

/// The best passages of all files, and some more in case a file is gone by the time it is shown.
pub(super) fn search_all(
    roots: &Roots,
    texts: &TextCache,
    pattern: &Pattern,
    keep: usize,
    within: Within<'_>,
) -> Result<Tally, KbError> {
    let stop = within.stop;
    let is_wanted = |path: &Path| {
        let source = || roots.source_of(path);
        within
            .documents
            .is_none_or(|wanted| source().is_some_and(|name| wanted.contains(&name)))
    };
    let _session = texts.session();
    let done = Mutex::new(Tally::new(pattern.len(), keep));
    for (root, path) in roots.paths().enumerate() {
        let Ok(builder) = walk::builder(path, &roots.included(path), |_| true, |_, _| {}) else {
            continue;
        };
        builder.build_parallel().run(|| {
            let mut worker = SearchThread::new(root, (texts, stop), pattern, keep, &done);
            Box::new(move |entry| {
                if stop.load(Ordering::Relaxed) {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && is_of_the_base(path, &entry)
                    && is_wanted(entry.path())
                {
                    worker.search(path, entry.path());
                }
                WalkState::Continue
            })
        });
    }
    if stop.load(Ordering::Relaxed) {
        return Err(KbError::Stopped);
    }
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What the walk of the index lists, whatever its size.
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
    tally: Option<Tally>,
    done: &'a Mutex<Tally>,
}

impl Drop for SearchThread<'_> {
    fn drop(&mut self) {
        if let Some(tally) = self.tally.take() {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.join(tally);
        }
    }
}

impl<'a> SearchThread<'a> {
    fn new(
        root: usize,
        (texts, stop): (&'a TextCache, &'a AtomicBool),
        pattern: &Pattern,
        keep: usize,
        done: &'a Mutex<Tally>,
    ) -> Self {
        Self {
            root,
            pattern: pattern.clone(),
            reader: FileSearcher {
                texts,
                stop,
                searcher: SearcherBuilder::new()
                    .line_number(true)
                    .bom_sniffing(false)
                    .binary_detection(BinaryDetection::none())
                    .build(),
                blocks: Blocks::new(),
            },
            tally: Some(Tally::new(pattern.len(), keep)),
            done,
        }
    }

    fn search(&mut self, root: &Path, path: &Path) {
        let Some(mut tally) = self.tally.take() else {
            return;
        };
        let mut found = Matches::new(&self.pattern, self.root, path, tally.keep());
        let searched = Opened::beneath(root, path)
            .map_err(io::Error::from)
            .and_then(|file| self.reader.search(&file, &mut found));
        match searched {
            Ok(true) => found.hand_over(&mut tally),
            Ok(false) => {}
            Err(error) => tracing::debug!(path = %path.display(), %error, "grep gave up on a file"),
        }
        self.tally = Some(tally);
    }
}

/// What reads and searches one file after the other.
struct FileSearcher<'a> {
    texts: &'a TextCache,
    stop: &'a AtomicBool,
    searcher: Searcher,
    blocks: Blocks,
}

impl FileSearcher<'_> {
    /// Whether it is text, all of whose matches are now known.
    fn search(&mut self, opened: &Opened, found: &mut Matches<'_>) -> io::Result<bool> {
        let mut file = opened.file();
        let kind = self.blocks.open(&mut file)?;
        if kind != TextKind::Decoded {
            let size = match self.blocks.size() {
                Some(size) => size,
                None => file.metadata()?.len(),
            };
            let is_lines = extract::is_lines_by(opened.path(), self.blocks.head(), size);
            if !is_lines || kind == TextKind::Unmarked {
                return self.search_extracted(opened, found);
            }
            // A picture is not read to its end to learn that it is one.
            if kind == TextKind::Binary {
                return Ok(false);
            }
        }
        let mut is_large = None;
        while !self.stop.load(Ordering::Relaxed)
            && let Some(block) = self.blocks.next(&mut file)?
        {
            let is_plain = memchr::memchr(0, block.bytes).is_none()
                && (kind == TextKind::Decoded || found.pattern.is_seen_in(block.bytes));
            if !is_plain {
                let is_large = match is_large {
                    Some(known) => known,
                    None => *is_large.insert(file.metadata()?.len() > MAX_FILE_BYTES),
                };
                // A large log may have broken off once; its other lines are as good as ever.
                if !is_large {
                    return self.search_extracted(opened, found);
                }
            }
            found.search(&mut self.searcher, block)?;
            if found.is_enough() {
                break;
            }
            self.blocks.skip_hole(file)?;
        }
        Ok(true)
    }

    /// What is not text as it lies there may be once it is read as the index reads it.
    fn search_extracted(&mut self, file: &Opened, found: &mut Matches<'_>) -> io::Result<bool> {
        let Ok(document) = self.texts.document_unless(file, "", self.stop) else {
            return Ok(false);
        };
        found.forget();
        found.has_headings = document.shape == TextLayout::Markdown;
        let whole = TextBlock {
            bytes: document.text.as_bytes(),
            line: 1,
            offset: 0,
        };
        found.search(&mut self.searcher, whole)?;
        Ok(true)
    }
}

/// The matches of one file as they come, line after line.
struct Matches<'p> {
    pattern: &'p Pattern,
    root: usize,
    path: &'p Path,
    /// Of a class of passages more than these are of no use.
    keep: usize,
    /// Whether a line of it that begins with `#` is a heading.
    has_headings: bool,
    /// Nothing is made for a file without matches.
    known: Option<KnownFile>,
}

/// What is known of a file with matches.
struct KnownFile {
    tally: Tally,
    path: Arc<PathBuf>,
    /// All words that the file holds.
    mask: u64,
    /// How many passages are as good as one can be.
    best: usize,
    /// The passage that still grows.
    open: Option<Candidate>,
    /// The line that came last; a long one comes in several pieces.
    line: GrepLine,
}

#[derive(Clone, Copy)]
struct GrepLine {
    number: usize,
    mask: u64,
    is_heading: bool,
    offset: u64,
}

impl<'p> Matches<'p> {
    fn new(pattern: &'p Pattern, root: usize, path: &'p Path, keep: usize) -> Self {
        Self {
            pattern,
            root,
            path,
            keep,
            has_headings: TextLayout::of(path) == TextLayout::Markdown,
            known: None,
        }
    }

    fn search(&mut self, searcher: &mut Searcher, block: TextBlock<'_>) -> io::Result<()> {
        let pattern = self.pattern;
        let sink = LinesOf {
            matches: self,
            block,
        };
        searcher.search_slice(pattern.matcher(), block.bytes, sink)
    }

    /// Whether whatever may follow cannot change what is shown.
    fn is_enough(&self) -> bool {
        self.known
            .as_ref()
            .is_some_and(|known| known.best >= self.keep)
    }

    fn forget(&mut self) {
        self.known = None;
    }

    fn hand_over(mut self, tally: &mut Tally) {
        let Some(known) = &mut self.known else {
            return tally.count_file(0);
        };
        known.add(known.line, self.root, self.pattern.full_mask());
        known.close(self.pattern.full_mask());
        tally.count_file(known.mask);
        if let Some(known) = self.known {
            tally.join(known.tally);
        }
    }

    fn take(&mut self, line: GrepLine) {
        let full = self.pattern.full_mask();
        let Some(known) = &mut self.known else {
            self.known = Some(KnownFile {
                tally: Tally::new(self.pattern.len(), self.keep),
                path: Arc::new(self.path.to_owned()),
                mask: line.mask,
                best: 0,
                open: None,
                line,
            });
            return;
        };
        known.mask |= line.mask;
        if known.line.number == line.number {
            known.line.mask |= line.mask;
            return;
        }
        let complete = std::mem::replace(&mut known.line, line);
        known.add(complete, self.root, full);
    }
}

impl KnownFile {
    /// The context of one line joins that of the next where they share a line.
    fn add(&mut self, line: GrepLine, root: usize, full: u64) {
        let window = LineRange {
            start: line.number.saturating_sub(CONTEXT_LINES).max(1),
            end: line.number + CONTEXT_LINES,
        };
        let mut start = window.start;
        if let Some(open) = self
            .open
            .as_mut()
            .filter(|open| open.lines.overlaps(window))
        {
            let fits = window.end - open.lines.start < MAX_PASSAGE_LINES;
            if fits || line.number <= open.lines.end {
                if fits {
                    open.lines.end = window.end;
                }
                if open.class.add(line.mask, line.is_heading) {
                    open.best_line = line.number;
                    open.offset = line.offset;
                }
                return;
            }
            start = open.lines.end + 1;
        }
        self.close(full);
        self.open = Some(Candidate {
            root,
            path: Arc::clone(&self.path),
            lines: LineRange {
                start,
                end: window.end,
            },
            class: RankClass::of_line(line.mask, line.is_heading),
            best_line: line.number,
            offset: line.offset,
        });
    }

    fn close(&mut self, full: u64) {
        if let Some(passage) = self.open.take() {
            self.best += usize::from(passage.class.is_best(full));
            self.tally.offer(passage);
        }
    }
}

fn is_heading(line: &[u8]) -> bool {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    (1..=6).contains(&level) && line.get(level) == Some(&b' ')
}

/// Takes the matching lines of one block.
struct LinesOf<'m, 'p, 'b> {
    matches: &'m mut Matches<'p>,
    block: TextBlock<'b>,
}

impl Sink for LinesOf<'_, '_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let mask = self.matches.pattern.mask(found.bytes());
        if mask != 0 {
            self.matches.take(GrepLine {
                number: self.block.line + found.line_number().map_or(0, |n| n as usize - 1),
                mask,
                is_heading: self.matches.has_headings && is_heading(found.bytes()),
                offset: self.block.offset + found.absolute_byte_offset(),
            });
        }
        Ok(!self.matches.is_enough())
    }
}
