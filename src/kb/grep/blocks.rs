//! A file in blocks of whole lines, whatever its size.
//!
//! The memory is that of one block, used again for the next file. Most files are one block and
//! are read by one call. A line that is longer than a block comes in pieces that overlap, all
//! under the number of that line. UTF-16, which announces itself, becomes UTF-8 on the way; other
//! bytes stay as they are. Holes, which a file has where nothing was ever written, are not read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::{Decoder, Encoding, UTF_8};

use crate::kb::extract::{SNIFF_BYTES, utf_16_by_pattern};

/// What is read at a time: large enough to be few calls, small enough to stay in the cache.
const BLOCK_BYTES: usize = 256 * 1024;
/// Of a line longer than a block, what is repeated so that nothing is cut in two.
const OVERLAP_BYTES: usize = 1024;

/// The block reader of one thread.
pub(super) struct Blocks {
    /// What is decoded and not yet used up, from `start` to `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the block that was given out last ends; what follows it is carried over.
    given: usize,
    /// The number of the first line in the buffer.
    line: usize,
    /// Bytes before `start`, of the decoded text.
    offset: u64,
    decoder: Option<Decoder>,
    /// Undecoded bytes of UTF-16.
    raw: Vec<u8>,
    ended: bool,
}

/// Whole lines, or a piece of one that is very long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextBlock<'b> {
    pub bytes: &'b [u8],
    /// The number of its first line, from 1.
    pub line: usize,
    /// Where in the file it begins.
    pub offset: u64,
}

/// What a file's beginning says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Bytes that are lines of text as they are.
    Plain,
    /// Text that is decoded while it is read, so that offsets are not the file's own.
    Decoded,
    /// UTF-16 that does not announce itself, by the look of it.
    Unmarked,
    /// NUL bytes where text has none.
    Binary,
}

impl Blocks {
    pub fn new() -> Self {
        Self {
            buffer: vec![0; BLOCK_BYTES],
            start: 0,
            end: 0,
            given: 0,
            line: 1,
            offset: 0,
            decoder: None,
            raw: Vec::new(),
            ended: false,
        }
    }

    /// Begins a file.
    pub fn open(&mut self, file: &mut impl Read) -> io::Result<TextKind> {
        self.reset(0, 1);
        self.fill(file)?;
        match Encoding::for_bom(&self.buffer[..self.end]) {
            Some((encoding, bom)) if encoding == UTF_8 => {
                self.start = bom;
                self.given = bom;
                self.offset = bom as u64;
            }
            Some((encoding, bom)) => {
                self.raw.extend_from_slice(&self.buffer[bom..self.end]);
                self.end = 0;
                let mut decoder = encoding.new_decoder_without_bom_handling();
                self.decode(&mut decoder, self.ended);
                self.decoder = Some(decoder);
                return Ok(TextKind::Decoded);
            }
            None => {}
        }
        Ok(match memchr::memchr(0, self.head()) {
            Some(_) if utf_16_by_pattern(self.head()).is_some() => TextKind::Unmarked,
            Some(_) => TextKind::Binary,
            None => TextKind::Plain,
        })
    }

    /// How a file begins that was just opened and is not [`TextKind::Decoded`].
    pub fn head(&self) -> &[u8] {
        &self.buffer[..self.end.min(SNIFF_BYTES)]
    }

    /// The size of a file that was just opened, if all of it is in the buffer.
    pub fn size(&self) -> Option<u64> {
        self.ended.then_some(self.end as u64)
    }

    /// Goes on from a place in a plain file where that line begins.
    pub fn open_at(&mut self, offset: u64, line: usize) {
        self.reset(offset, line);
    }

    /// The next lines; `None` at the end.
    pub fn next(&mut self, file: &mut impl Read) -> io::Result<Option<TextBlock<'_>>> {
        self.carry_over();
        loop {
            if self.ended {
                break;
            }
            let known = self.end;
            if known > 0 && memchr::memrchr(b'\n', &self.buffer[..known]).is_some() {
                break;
            }
            if known >= BLOCK_BYTES {
                break;
            }
            self.fill(file)?;
        }
        if self.start == self.end {
            return Ok(None);
        }
        let whole = memchr::memrchr(b'\n', &self.buffer[self.start..self.end]);
        self.given = match whole {
            Some(at) if !self.ended => self.start + at + 1,
            _ => self.end,
        };
        Ok(Some(TextBlock {
            bytes: &self.buffer[self.start..self.given],
            line: self.line,
            offset: self.offset,
        }))
    }

    /// Goes on behind the hole in which the last block ended, if it did: in the same line, for
    /// there is none that ends in a hole.
    pub fn skip_hole(&mut self, mut file: &File) -> io::Result<()> {
        let given = &self.buffer[self.start..self.given];
        let may_end_in_hole = given.last() == Some(&0) && self.given == self.end;
        if !may_end_in_hole || self.ended || self.decoder.is_some() {
            return Ok(());
        }
        let at = file.stream_position()?;
        let next = next_data(file, at)?;
        if next > at {
            let line = self.line + memchr::memchr_iter(b'\n', given).count();
            self.reset(next, line);
        }
        Ok(())
    }

    fn reset(&mut self, offset: u64, line: usize) {
        (self.start, self.end, self.given) = (0, 0, 0);
        (self.offset, self.line) = (offset, line);
        self.decoder = None;
        self.raw.clear();
        self.ended = false;
    }

    /// Moves what was not given out to the front.
    fn carry_over(&mut self) {
        if self.given == self.start {
            return;
        }
        let used = &self.buffer[self.start..self.given];
        let cut = used.last() != Some(&b'\n') && !self.ended;
        if !self.ended {
            self.line += memchr::memchr_iter(b'\n', used).count();
        }
        let from = if cut {
            self.given - OVERLAP_BYTES.min(used.len() / 2)
        } else {
            self.given
        };
        self.offset += (from - self.start) as u64;
        self.buffer.copy_within(from..self.end, 0);
        self.end -= from;
        (self.start, self.given) = (0, 0);
    }

    /// Reads until there is a block, or the end.
    fn fill(&mut self, file: &mut impl Read) -> io::Result<()> {
        if let Some(mut decoder) = self.decoder.take() {
            let known = self.raw.len();
            self.raw.resize(known + BLOCK_BYTES / 4, 0);
            let read = read_some(file, &mut self.raw[known..])?;
            self.raw.truncate(known + read);
            self.ended = read == 0;
            self.decode(&mut decoder, self.ended);
            self.decoder = Some(decoder);
            return Ok(());
        }
        while self.end < BLOCK_BYTES {
            let read = read_some(file, &mut self.buffer[self.end..BLOCK_BYTES])?;
            if read == 0 {
                self.ended = true;
                break;
            }
            self.end += read;
        }
        Ok(())
    }

    /// All of `raw` into the buffer, which grows where a code unit becomes three bytes.
    fn decode(&mut self, decoder: &mut Decoder, last: bool) {
        let room = decoder
            .max_utf8_buffer_length(self.raw.len())
            .unwrap_or(3 * self.raw.len() + 16);
        if self.buffer.len() < self.end + room {
            self.buffer.resize(self.end + room, 0);
        }
        let (_, read, written, _) =
            decoder.decode_to_utf8(&self.raw, &mut self.buffer[self.end..], last);
        self.raw.drain(..read);
        self.end += written;
    }
}

/// Moves on from `at` to where something was written, or to the end.
fn next_data(mut file: &File, at: u64) -> io::Result<u64> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(next) => return Ok(next),
        // Nothing was written from here to the end.
        Err(rustix::io::Errno::NXIO) => return file.seek(SeekFrom::End(0)),
        // The file system does not know.
        Err(_) => {}
    }
    file.seek(SeekFrom::Start(at))
}

fn read_some(file: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The blocks of these bytes: where, which line, what.
    fn blocks(bytes: &[u8]) -> (TextKind, Vec<(u64, usize, Vec<u8>)>) {
        let mut file = bytes;
        let mut blocks = Blocks::new();
        let kind = blocks.open(&mut file).unwrap();
        let mut all = Vec::new();
        while let Some(block) = blocks.next(&mut file).unwrap() {
            all.push((block.offset, block.line, block.bytes.to_vec()));
        }
        (kind, all)
    }

    #[test]
    fn lines_are_never_cut_and_always_numbered() {
        let lines: Vec<String> = (1..=100_000).map(|n| format!("line {n}\n")).collect();
        let text = lines.concat();
        let (kind, all) = blocks(text.as_bytes());
        assert_eq!(kind, TextKind::Plain);
        assert!(all.len() > 3);
        let mut joined = Vec::new();
        for (offset, line, bytes) in &all {
            assert_eq!(*offset as usize, joined.len());
            assert!(bytes.starts_with(format!("line {line}\n").as_bytes()));
            joined.extend_from_slice(bytes);
        }
        assert_eq!(joined, text.as_bytes());
    }

    #[test]
    fn an_endless_line_comes_in_pieces_that_overlap() {
        let long = "x".repeat(BLOCK_BYTES - 3) + "needle" + &"y".repeat(BLOCK_BYTES);
        let (_, all) = blocks(format!("one\n{long}\nthree").as_bytes());
        assert!(all.iter().any(|(_, line, bytes)| {
            *line == 2 && memchr::memmem::find(bytes, b"needle").is_some()
        }));
        assert!(all.iter().all(|(_, _, bytes)| bytes.len() <= BLOCK_BYTES));
        let (_, line, bytes) = all.last().unwrap();
        let before = memchr::memchr_iter(b'\n', bytes).count();
        assert!(bytes.ends_with(b"\nthree") && line + before == 3);
    }

    #[test]
    fn a_hole_is_not_read() {
        const HOLE: i64 = 1 << 30;
        let words = [
            ("one", 1),
            ("two", 2),
            ("more", 2),
            ("three", 3),
            ("end", 3),
        ];
        let mut file = tempfile::tempfile().unwrap();
        let mut expected = Vec::new();
        for text in ["one\ntwo", "more\nthree", "end\n"] {
            let at = file.stream_position().unwrap();
            for (word, line) in words {
                let found = text.find(word).map(|found| at + found as u64);
                expected.extend(found.map(|at| (at, line, word)));
            }
            file.write_all(text.as_bytes()).unwrap();
            file.seek(SeekFrom::Current(HOLE)).unwrap();
        }
        let end = file.stream_position().unwrap();
        file.set_len(end).unwrap();
        if !has_holes(&file) {
            return;
        }
        file.rewind().unwrap();
        let mut blocks = Blocks::new();
        blocks.open(&mut file).unwrap();
        let (mut number, mut seen) = (0, Vec::new());
        while let Some(block) = blocks.next(&mut file).unwrap() {
            number += 1;
            for (word, _) in words {
                if let Some(at) = memchr::memmem::find(block.bytes, word.as_bytes()) {
                    let above = memchr::memchr_iter(b'\n', &block.bytes[..at]).count();
                    seen.push((block.offset + at as u64, block.line + above, word));
                }
            }
            blocks.skip_hole(&file).unwrap();
        }
        assert_eq!(seen, expected);
        assert!(number < 20, "{number} blocks");
    }

    /// Not every file system leaves them out.
    fn has_holes(file: &File) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let meta = file.metadata().unwrap();
            meta.blocks() * 512 < meta.len() / 2
        }
        #[cfg(not(unix))]
        false
    }

    #[test]
    fn utf_16_is_decoded_and_a_mark_of_utf_8_is_passed_over() {
        let lines: Vec<String> = (1..=30_000).map(|n| format!("zeile {n} 文\n")).collect();
        let text = lines.concat();
        let little: Vec<u8> = "\u{feff}"
            .chars()
            .chain(text.chars())
            .flat_map(|c| (c as u16).to_le_bytes())
            .collect();
        let (kind, all) = blocks(&little);
        assert_eq!(kind, TextKind::Decoded);
        let joined: Vec<u8> = all.into_iter().flat_map(|(_, _, bytes)| bytes).collect();
        assert_eq!(joined, text.as_bytes());
        assert_eq!(
            blocks(b"\xef\xbb\xbfone\n").1,
            vec![(3, 1, b"one\n".to_vec())]
        );
        assert_eq!(blocks(b"a\0\n\0").0, TextKind::Unmarked);
        assert_eq!(blocks(b"PNG\0\0\0\x01a").0, TextKind::Binary);
        assert_eq!(blocks(b"").1, vec![]);
    }
}
