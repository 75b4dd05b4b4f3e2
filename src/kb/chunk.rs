//! Cuts a document into chunks along its structure.
//!
//! A chunk is whole lines, so that its text is exactly what its line numbers say; only a single
//! line longer than [`MAX_BYTES`] is cut within. `blocks` finds what should stay together
//! (paragraphs, fences, tables, top-level items) under which heading; this file packs blocks of one
//! section until the target is reached, and parts what is too large by itself. Sizes are counted in bytes: a
//! byte of English and a byte of Chinese cost the embedding model about the same share of its window, a
//! character does not.

mod blocks;
mod outline;

use std::collections::HashSet;
use std::iter;

use super::extract::{Extraction, TextLayout};
use crate::domain::{LineRange, Place, PlaceUnit};
use crate::text::{front_matter, stem};
use blocks::Block;

pub(crate) use outline::Outline;

/// Names of files that do not tell what the file is about.
const TELLING_NOTHING: &[&str] = &[
    "readme", "index", "_index", "overview", "home", "contents", "toc", "summary",
];

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
    /// What it is found by when that is all that is asked for: the headings in it; of a document's
    /// first chunk also what the document is called.
    pub names: Vec<String>,
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
    let name = match document.shape {
        TextLayout::Code | TextLayout::Data => source,
        // What a page or a mail is about, it says once.
        TextLayout::Plain => document.title.as_deref().unwrap_or_default(),
        _ => "",
    };
    let generated = document.shape == TextLayout::Data || is_generated(document, lines.len());
    let limits = match document.shape {
        _ if generated => ChunkLimits::GENERATED,
        TextLayout::Rows => ChunkLimits::ROWS,
        _ => ChunkLimits::NONE,
    };
    let mut packer = Packer {
        lines: &lines,
        boundaries: boundaries(document),
        name,
        limits,
        open: None,
        chunks: Vec::new(),
    };
    let mut first_heading = None;
    let mut pack = |block: Block| {
        first_heading = first_heading.take().or_else(|| block.path.first().cloned());
        packer.push(block);
    };
    visit_blocks(source, document, &lines, &mut pack);
    let mut chunks = packer.finish();
    let named = document.title.is_some() && front_matter(lines.iter().copied()) > 0;
    let is_first = |title: &str| first_heading.as_deref() == Some(title);
    let above = document
        .title
        .as_deref()
        .filter(|title| named && !is_first(title));
    for chunk in &mut chunks {
        chunk.place = document.place(chunk.lines);
        if let Some(title) = above {
            let below = if chunk.heading.is_empty() { "" } else { " > " };
            chunk.heading.insert_str(0, &format!("{title}{below}"));
        }
    }
    let title = title(source, document, first_heading);
    if let Some(first) = chunks.first_mut() {
        let name = stem(source);
        let name = (!TELLING_NOTHING.contains(&name.to_lowercase().as_str())).then_some(name);
        first.names.push(title.clone());
        first.names.extend(name.map(str::to_owned));
        first.names.extend(document.aliases());
    }
    (title, chunks)
}

/// Hands the blocks of a document to `take`, in order.
fn visit_blocks(source: &str, document: &Extraction, lines: &[&str], take: &mut impl FnMut(Block)) {
    match document.shape {
        TextLayout::Markdown => blocks::markdown(lines, take),
        TextLayout::Org => blocks::org(lines, take),
        TextLayout::Plain => blocks::paragraphs(lines, take),
        TextLayout::Code | TextLayout::Data => blocks::code(lines, take),
        TextLayout::Rows => (0..lines.len()).for_each(|at| take(row(source, document, at))),
    }
}

/// The title of a document: its own, else its first heading, else the name of its file.
fn title(source: &str, document: &Extraction, first_heading: Option<String>) -> String {
    first_heading
        .filter(|_| document.title.is_none() && document.shape != TextLayout::Rows)
        .unwrap_or_else(|| document.name(source))
}

/// How much of a document is indexed.
#[derive(Debug, Clone, Copy)]
struct ChunkLimits {
    pieces_of_a_line: usize,
    chunks: usize,
}

impl ChunkLimits {
    const NONE: Self = Self {
        pieces_of_a_line: usize::MAX,
        chunks: usize::MAX,
    };
    /// The 16,384 columns that a spreadsheet may have say no more in one row.
    const ROWS: Self = Self {
        pieces_of_a_line: 300,
        ..Self::NONE
    };
    /// What programs wrote for programs says nothing to people that its beginning does not; all
    /// of it is still found by grep.
    const GENERATED: Self = Self {
        pieces_of_a_line: 8,
        chunks: 200,
    };
}

/// Whether this is code that was not written by hand: minified, bundled, a blob.
fn is_generated(document: &Extraction, lines: usize) -> bool {
    const LINE_BYTES: usize = 2000;
    document.shape == TextLayout::Code && document.text.len() / lines.max(1) > LINE_BYTES
}

/// The lines, from 0, at which a slide or a cell begins: people speak of these one by one.
fn boundaries(document: &Extraction) -> HashSet<usize> {
    document
        .places
        .iter()
        .filter(|mark| match mark.place.unit {
            PlaceUnit::Slide | PlaceUnit::Cell | PlaceUnit::Message => true,
            PlaceUnit::Page | PlaceUnit::Row | PlaceUnit::Section => false,
        })
        .map(|mark| mark.line - 1)
        .collect()
}

/// Makes a block of one line of a sheet, under the name of the sheet.
fn row(source: &str, document: &Extraction, at: usize) -> Block {
    let line = LineRange {
        start: at + 1,
        end: at + 1,
    };
    let sheet = document.place(line).and_then(|place| place.name);
    Block {
        path: iter::once(document.name(source)).chain(sheet).collect(),
        start: at,
        end: at,
        ..Block::default()
    }
}

/// Joins neighbours of one section up to the target, splits what is too large by itself. Blocks
/// come one by one: a document of headings only has millions, and most are joined at once.
struct Packer<'a> {
    lines: &'a [&'a str],
    boundaries: HashSet<usize>,
    name: &'a str,
    limits: ChunkLimits,
    open: Option<Block>,
    chunks: Vec<Chunk>,
}

impl Packer<'_> {
    fn push(&mut self, block: Block) {
        let is_boundary = self.boundaries.contains(&block.start);
        self.open = Some(match self.open.take() {
            Some(mut before) if !is_boundary && self.fits(&before, &block) => {
                before.titles.extend(block.titles);
                Block {
                    start: before.start,
                    titles: before.titles,
                    heading: before.heading && block.heading,
                    columns: block.columns.filter(|_| before.heading),
                    ..block
                }
            }
            before => {
                if let Some(before) = before {
                    self.emit(before);
                }
                block
            }
        });
    }

    fn finish(mut self) -> Vec<Chunk> {
        if let Some(last) = self.open.take() {
            self.emit(last);
        }
        self.chunks.truncate(self.limits.chunks);
        self.chunks
    }

    fn fits(&self, before: &Block, block: &Block) -> bool {
        let size = |start: usize| -> usize {
            let lines = self.lines[start..=block.end].iter();
            lines.map(|line| line.len() + 1).sum()
        };
        let together = size(before.start);
        if before.heading {
            // A heading without a text of its own goes with what follows it, unless that is whole
            // without it and would not be with it.
            return together <= MAX_BYTES || size(block.start) > MAX_BYTES;
        }
        let is_one = before.path == block.path && !before.metadata;
        !block.heading && is_one && together <= TARGET_BYTES
    }

    /// Makes chunks of a block.
    fn emit(&mut self, block: Block) {
        let lines = self.lines;
        let mut heading = block.path.join(" > ");
        if block.path.is_empty() {
            self.name.clone_into(&mut heading);
        }
        let mut titles = block.titles;
        let mut start = block.start;
        while start <= block.end && self.chunks.len() < self.limits.chunks {
            let end = end_of_part(lines, start, block.end);
            let mut said = (start..=end).filter(|&at| !lines[at].trim().is_empty());
            if let Some(first) = said.next() {
                let last = said.next_back().unwrap_or(first);
                let pieces = cut_line(lines[first..=last].join("\n"));
                for text in pieces.into_iter().take(self.limits.pieces_of_a_line) {
                    self.chunks.push(Chunk {
                        names: std::mem::take(&mut titles),
                        heading: heading.clone(),
                        lines: LineRange {
                            start: first + 1,
                            end: last + 1,
                        },
                        place: None,
                        text,
                    });
                }
            }
            if end == block.end {
                break;
            }
            if start == block.start
                && let Some(columns) = &block.columns
            {
                // The rows that come now are far from their header.
                let above = if heading.is_empty() { "" } else { " > " };
                heading.push_str(&format!("{above}{columns}"));
            }
            start = match block.columns {
                Some(_) => end + 1,
                None => next_part(lines, start, end),
            };
        }
    }
}

// Parts one block that is too large.
//
// The parts of one text overlap a little, so that what stands across the cut is found; whole
// lines do, so that each part is still exactly its lines. Nothing else overlaps: what the author
// parted is about different things.

/// The size, in bytes, that a chunk grows to.
const TARGET_BYTES: usize = 1100;
/// The most bytes of a chunk.
pub(crate) const MAX_BYTES: usize = 1500;
/// The most bytes of a part that the next one repeats.
const OVERLAP_BYTES: usize = 150;

/// The last line of a chunk that begins at `start`: all of the block if it fits, else up to the
/// last blank line within the second half of the target, else as many lines as fit.
fn end_of_part(lines: &[&str], start: usize, last: usize) -> usize {
    let mut bytes = 0;
    let mut end = start;
    let mut blank = None;
    let mut full = false;
    for (at, line) in lines.iter().enumerate().take(last + 1).skip(start) {
        bytes += line.len() + 1;
        if bytes > MAX_BYTES && at > start {
            return blank.unwrap_or(end);
        }
        full |= bytes > TARGET_BYTES && at > start;
        if full {
            continue;
        }
        if line.trim().is_empty() && bytes > TARGET_BYTES / 2 {
            blank = Some(at);
        }
        end = at;
    }
    last
}

/// Where the next part begins after one of the lines `start..=end`: at the last of its lines that
/// are short enough to be said twice.
fn next_part(lines: &[&str], start: usize, end: usize) -> usize {
    if lines[end].trim().is_empty() {
        return end + 1;
    }
    let mut bytes = 0;
    let repeated = lines[start..=end]
        .iter()
        .rev()
        .take_while(|line| {
            bytes += line.len() + 1;
            !line.trim().is_empty() && bytes <= OVERLAP_BYTES
        })
        .count();
    // Each part brings more that is new than old.
    end + 1 - repeated.min((end - start).div_ceil(2))
}

/// Cuts a text that is over the limit after a sentence or between words. Such a text is always one long line.
fn cut_line(text: String) -> Vec<String> {
    if text.len() <= MAX_BYTES {
        return vec![text];
    }
    let mut pieces = Vec::new();
    // What a line repeats is found once.
    let mut seen = HashSet::new();
    let mut keep = |piece: &str| {
        let piece = piece.trim();
        if !piece.is_empty() && seen.insert(blake3::hash(piece.as_bytes())) {
            pieces.push(piece.to_owned());
        }
    };
    let mut rest = text.as_str();
    while rest.len() > MAX_BYTES {
        let limit = rest.floor_char_boundary(TARGET_BYTES);
        let head = &rest[..limit];
        let at = [". ", "。", "! ", "? ", "！", "？", "; ", " "]
            .iter()
            .filter_map(|mark| head.rfind(mark).map(|at| at + mark.len()))
            .find(|&at| at > limit / 2)
            .unwrap_or(limit);
        keep(&rest[..at]);
        rest = &rest[at..];
    }
    keep(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::extract::Mark;

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
                let repeated: usize = (c.lines.start..next).map(|n| lines[n - 1].len() + 1).sum();
                assert!(
                    repeated <= 150,
                    "parts of a block overlap a little: {repeated}"
                );
                assert!(c.lines.end >= next, "and each says something new");
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
    fn only_what_is_cut_by_size_overlaps() {
        let line = "Sixty bytes of a paragraph that goes on for a long while yet.";
        let long = format!("{line}\n").repeat(40);
        let text = format!("# T\n\n{long}\n## Next\n\n{line}\n");
        let lines: Vec<_> = shape("a.md", &text)
            .into_iter()
            .map(|(_, start, end)| (start, end))
            .collect();
        assert_eq!(lines, [(1, 19), (18, 34), (33, 42), (44, 46)]);
    }

    #[test]
    fn the_rows_of_a_long_table_keep_the_names_of_its_columns() {
        let rows = "| some key of the table | and a value of some length |\n".repeat(60);
        let text = format!("# Keys\n\nAll keys:\n| Key | Value |\n|---|---|\n{rows}\nEnd.\n");
        let chunks = chunk("a.md", &text).1;
        assert_eq!(chunks[0].heading, "Keys");
        assert!(chunks[1].text.starts_with("| Key | Value |"));
        assert_eq!(chunks[2].heading, "Keys > Key, Value");
        assert_eq!(chunks.last().unwrap().heading, "Keys");
        let rows: usize = chunks
            .iter()
            .map(|c| c.text.matches("some key").count())
            .sum();
        assert_eq!(rows, 60, "rows do not overlap");
    }

    #[test]
    fn org_has_headings_too() {
        let org = "#+TITLE: Guide\n\n* TODO Setup :work:\nFirst.\n** Linux\n#+BEGIN_SRC sh\n\n* no heading\n#+END_SRC\n* Use\nEnd.\n";
        assert_eq!(
            shape("guide.org", org),
            [
                (String::new(), 1, 1),
                ("Setup".to_owned(), 3, 4),
                ("Setup > Linux".to_owned(), 5, 9),
                ("Use".to_owned(), 10, 11),
            ]
        );
        assert_eq!(chunk("guide.org", org).0, "Guide");
        assert_eq!(
            chunk("a.md", "---\ntitle: \"Named\"\n---\n# T\n").0,
            "Named"
        );
    }

    #[test]
    fn ends_a_document_of_openings_costs_what_is_in_it() {
        let time = |name: &str, lines: usize| {
            let line = |n| format!("#+begin_{n}\n```{n}`\n");
            let text: Vec<String> = (0..lines).map(line).collect();
            let text = text.concat();
            let start = std::time::Instant::now();
            assert!(!chunk(name, &text).1.is_empty());
            start.elapsed()
        };
        for name in ["a.org", "a.md"] {
            let (small, large) = (time(name, 2_000), time(name, 20_000));
            assert!(
                large < small * 40 + std::time::Duration::from_millis(300),
                "{name}: {small:?} for 2,000, {large:?} for 20,000"
            );
        }
    }

    #[test]
    fn generated_files_do_not_flood_the_index() {
        let minified: String = (0..200_000)
            .map(|n| ["function f", &n.to_string(), "(){};"].concat())
            .collect();
        let chunks = chunk("a.min.js", &minified).1;
        assert_eq!(chunks.len(), 8);
        let prose: String = (0..2000)
            .map(|n| ["Sentence ", &n.to_string(), " says something. "].concat())
            .collect();
        assert!(
            chunk("a.txt", &prose).1.len() > 40,
            "what people wrote is kept"
        );
    }

    #[test]
    fn slides_and_rows_stand_for_themselves() {
        let mark = |line, unit, name: &str, number| Mark {
            line,
            place: Place {
                unit,
                name: Some(name.to_owned()),
                start: number,
                end: number,
            },
        };
        let slides = Extraction {
            places: vec![
                mark(1, PlaceUnit::Slide, "One", 1),
                mark(3, PlaceUnit::Slide, "Two", 2),
            ],
            ..Extraction::of_text("a.md", "# One\n\n# Two\n\nWords.\n".to_owned())
        };
        let places = |document| -> Vec<String> {
            let chunks = super::chunk("budget.xlsx", document).1;
            chunks
                .iter()
                .map(|c| format!("{}: {}", c.heading, c.place.as_ref().unwrap()))
                .collect()
        };
        assert_eq!(places(&slides), ["One: One slide 1", "Two: Two slide 2"]);
        let rows = Extraction {
            text: "a: 1\na: 2\nb: 1\n".to_owned(),
            title: None,
            shape: TextLayout::Rows,
            places: vec![
                mark(1, PlaceUnit::Row, "Costs", 2),
                mark(2, PlaceUnit::Row, "Costs", 3),
                mark(3, PlaceUnit::Row, "Staff", 2),
            ],
            missing: Vec::new(),
        };
        assert_eq!(
            places(&rows),
            [
                "budget > Costs: Costs rows 2-3",
                "budget > Staff: Staff row 2"
            ]
        );
    }

    #[test]
    fn a_row_of_a_million_columns_does_not_flood_the_index() {
        let cells: Vec<String> = (0..200_000).map(|n| format!("c{n}: {n}; ")).collect();
        let document = Extraction {
            shape: TextLayout::Rows,
            ..Extraction::of_text("a.csv", cells.concat())
        };
        assert_eq!(super::chunk("a.csv", &document).1.len(), 300);
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
