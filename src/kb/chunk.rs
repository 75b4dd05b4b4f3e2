//! Cuts a document into chunks along its structure.
//!
//! A chunk is whole lines, so that its text is exactly what its line numbers say; only a single
//! line longer than [`MAX_BYTES`] is cut within. `blocks` finds what should stay together
//! (paragraphs, fences, top-level items) under which heading; this file packs blocks of one
//! section until the target is reached. Sizes are counted in bytes: a byte of English and a byte
//! of Chinese cost the embedding model about the same share of its window, a character does not.

use std::collections::HashSet;

use blocks::Block;

use super::extract::{Extraction, Shape};
use crate::domain::{LineRange, Place};

mod blocks;

/// A chunk grows until here …
const TARGET_BYTES: usize = 1100;
/// … and never beyond this.
pub(super) const MAX_BYTES: usize = 1500;

/// Lines of a document that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it is about: the headings above it, `Indexing > The vector scan`; a source file's
    /// name; empty for plain text.
    pub heading: String,
    /// Where in the file.
    pub lines: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The text of exactly these lines.
    pub text: String,
}

impl Chunk {
    /// What is indexed and embedded: the heading gives the text its context.
    pub fn indexed_text(&self) -> String {
        with_heading(&self.heading, &self.text)
    }
}

/// Heading and text as they are indexed and embedded.
pub(super) fn with_heading(heading: &str, text: &str) -> String {
    if heading.is_empty() {
        text.to_owned()
    } else {
        format!("{heading}\n{text}")
    }
}

/// The document's title and its chunks, in order.
pub fn chunk(source: &str, document: &Extraction) -> (String, Vec<Chunk>) {
    let lines: Vec<&str> = document.text.lines().collect();
    let blocks = match document.shape {
        Shape::Markdown => blocks::markdown(&lines),
        Shape::Plain => blocks::paragraphs(&lines),
        Shape::Code => blocks::code(&lines),
        Shape::Rst | Shape::Org | Shape::Rows => blocks::paragraphs(&lines),
    };
    let title = blocks
        .iter()
        .find_map(|block| block.path.first().cloned())
        .filter(|_| document.title.is_none())
        .unwrap_or_else(|| document.name(source));
    let name = match document.shape {
        Shape::Code => source,
        _ => "",
    };
    let mut chunks = pack(&lines, &blocks, name);
    for chunk in &mut chunks {
        chunk.place = document.place(chunk.lines);
    }
    (title, chunks)
}

/// Joins neighbours of one section up to the target, splits what is too large by itself.
fn pack(lines: &[&str], blocks: &[Block], name: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut open: Option<Block> = None;
    for block in blocks {
        let joined = open.as_ref().filter(|before| fits(lines, before, block));
        if let Some(before) = joined {
            open = Some(Block {
                path: block.path.clone(),
                start: before.start,
                end: block.end,
                heading: before.heading && block.heading,
            });
            continue;
        }
        if let Some(done) = open.replace(block.clone()) {
            emit(lines, &done, name, &mut chunks);
        }
    }
    if let Some(done) = open {
        emit(lines, &done, name, &mut chunks);
    }
    chunks
}

fn fits(lines: &[&str], before: &Block, block: &Block) -> bool {
    let together = size(&lines[before.start..=block.end]);
    if before.heading {
        // A heading without a text of its own goes with what follows it.
        return together <= MAX_BYTES;
    }
    !block.heading && before.path == block.path && together <= TARGET_BYTES
}

fn size(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

fn emit(lines: &[&str], block: &Block, name: &str, chunks: &mut Vec<Chunk>) {
    let heading = if block.path.is_empty() {
        name.to_owned()
    } else {
        block.path.join(" > ")
    };
    let mut start = block.start;
    while start <= block.end {
        let end = cut(lines, start, block.end);
        let within = &lines[start..=end];
        let Some(first) = within.iter().position(|line| !line.trim().is_empty()) else {
            start = end + 1;
            continue;
        };
        let last = within
            .iter()
            .rposition(|line| !line.trim().is_empty())
            .unwrap_or(first);
        let range = LineRange {
            start: start + first + 1,
            end: start + last + 1,
        };
        for text in pieces(within[first..=last].join("\n")) {
            chunks.push(Chunk {
                heading: heading.clone(),
                lines: range,
                place: None,
                text,
            });
        }
        start = end + 1;
    }
}

/// The last line of a chunk that begins at `start`: all of the block if it fits, else up to the
/// last blank line within the second half of the target, else as many lines as fit.
fn cut(lines: &[&str], start: usize, last: usize) -> usize {
    if size(&lines[start..=last]) <= MAX_BYTES {
        return last;
    }
    let mut bytes = 0;
    let mut end = start;
    let mut blank = None;
    for (at, line) in lines.iter().enumerate().take(last + 1).skip(start) {
        bytes += line.len() + 1;
        if bytes > TARGET_BYTES && at > start {
            break;
        }
        if line.trim().is_empty() && bytes > TARGET_BYTES / 2 {
            blank = Some(at);
        }
        end = at;
    }
    blank.unwrap_or(end)
}

/// A text over the limit can only be one long line: it is cut after a sentence or between words.
fn pieces(text: String) -> Vec<String> {
    if text.len() <= MAX_BYTES {
        return vec![text];
    }
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while rest.len() > MAX_BYTES {
        let limit = rest.floor_char_boundary(TARGET_BYTES);
        let head = &rest[..limit];
        let at = [". ", "。", "! ", "? ", "！", "？", "; ", " "]
            .iter()
            .filter_map(|mark| head.rfind(mark).map(|at| at + mark.len()))
            .find(|&at| at > limit / 2)
            .unwrap_or(limit);
        pieces.push(rest[..at].trim().to_owned());
        rest = &rest[at..];
    }
    pieces.push(rest.trim().to_owned());
    // What a line repeats is found once.
    let mut seen = HashSet::new();
    pieces.retain(|piece| !piece.is_empty() && seen.insert(piece.clone()));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(source: &str, text: &str) -> (String, Vec<Chunk>) {
        super::chunk(source, &Extraction::of_text(source, text.to_owned()))
    }

    fn shape(source: &str, text: &str) -> Vec<(String, usize, usize)> {
        chunk(source, text)
            .1
            .into_iter()
            .map(|c| (c.heading, c.lines.start, c.lines.end))
            .collect()
    }

    #[test]
    fn sections_become_chunks_with_their_heading_path() {
        let text = "# Guide\n\nIntro.\n\n## Setup\n### Linux\n\nRun it.\n\n```sh\n# not a heading\n\nmake\n```\n\nSetext\n------\n\nEnd.\n";
        assert_eq!(
            shape("guide.md", text),
            vec![
                ("Guide".to_owned(), 1, 3),
                ("Guide > Setup > Linux".to_owned(), 5, 14),
                ("Guide > Setext".to_owned(), 16, 19),
            ]
        );
        assert_eq!(chunk("guide.md", text).0, "Guide");
    }

    #[test]
    fn every_chunk_is_its_lines_and_bounded() {
        let paragraph = "The quick brown fox jumps over the lazy dog again and again.\n".repeat(9);
        let text = format!(
            "# T\n\n{paragraph}\n{paragraph}\n{}\n{paragraph}",
            "y\n".repeat(2000)
        );
        let lines: Vec<&str> = text.lines().collect();
        for name in ["a.md", "a.txt", "a.rs"] {
            let mut next = 1;
            for c in chunk(name, &text).1 {
                assert!(c.text.len() <= MAX_BYTES);
                assert!(c.lines.start >= next, "chunks do not overlap");
                next = c.lines.end + 1;
                assert_eq!(c.text, lines[c.lines.start - 1..c.lines.end].join("\n"));
            }
            assert_eq!(next, lines.len() + 1, "nothing is lost: {name}");
        }
    }

    #[test]
    fn a_fence_is_kept_whole_where_it_fits() {
        let intro = "word ".repeat(180);
        let text = format!(
            "# T\n\n{intro}\n\n```\n{}```\n",
            "let x = 1;\n\n".repeat(60)
        );
        let fence = chunk("a.md", &text).1.pop().unwrap();
        assert!(fence.text.starts_with("```") && fence.text.ends_with("```"));
    }

    #[test]
    fn one_endless_line_is_cut_between_words() {
        let sentences: Vec<String> = (0..500).map(|n| format!("短句子{n}。")).collect();
        let sentences = sentences.concat();
        let text = sentences.clone() + &"x".repeat(5000);
        let chunks = chunk("a.txt", &text).1;
        assert!(chunks.len() > 4);
        assert!(
            chunks
                .iter()
                .all(|c| c.text.len() <= MAX_BYTES && c.lines.start == 1)
        );
        let joined: String = chunks.iter().map(|c| c.text.as_str()).collect();
        assert!(joined.starts_with(&sentences), "in order, and nothing lost");
        // What the line repeats is kept once.
        assert_eq!(
            chunks.iter().filter(|c| c.text == "x".repeat(1100)).count(),
            1
        );
    }
}
