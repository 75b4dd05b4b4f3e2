//! A passage as blocks that can be quoted: paragraphs, lists with their lead-in, tables with their header, code
//! with the sentence that introduces it, slides, rows.
//!
//! The blocks of Markdown come from `pulldown-cmark`. A block is whole lines of the passage, so that what is
//! quoted stands in the file as it is shown.

mod blocks;
mod markup;
mod rst;

use std::ops::Range;

use crate::domain::{Evidence, FileFormat, FileKind, LineRange, PlaceUnit};
use crate::text::stem;
pub use blocks::{Block, BlockKind, line_ranges, markdown_blocks};
use markup::Markup;

/// An evidence item, read once for all questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passage {
    /// The file's path.
    pub source: String,
    /// The document's title, or else its file's name.
    pub title: String,
    pub aliases: Vec<String>,
    /// The number of the first line in the file, from 1.
    pub start: usize,
    /// The lines of the item, each ended by a newline.
    pub text: String,
    /// Blocks of the passage in their order; none overlaps another.
    pub blocks: Vec<Block>,
    /// What in the text is not shown.
    pub markup: Markup,
}

impl Passage {
    pub fn read(item: &Evidence) -> Self {
        let mut text: String = item.text.lines().flat_map(|line| [line, "\n"]).collect();
        let above = item.topic.headings.as_slice();
        let name = item.source.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let ending = ending.to_ascii_lowercase();
        let format = FileFormat::by_ending(&ending).map(|format| format.kind);
        if format == Some(FileKind::ReStructuredText) {
            text = rst::to_markdown(&text, above.len());
        }
        let plain = |kind| blocks::plain_blocks(&text, kind, above);
        let (blocks, markup) = match item.place.as_ref().map(|place| place.unit) {
            Some(PlaceUnit::Slide) => (plain(BlockKind::Slide), Markup::default()),
            Some(PlaceUnit::Row) => (plain(BlockKind::Row), Markup::default()),
            _ if blocks::is_code(&ending) => {
                (plain(BlockKind::Code), Markup::of_code(&text, &ending))
            }
            _ => markdown_blocks(&text, above),
        };
        let title = match item.topic.title.trim() {
            "" => first_title(&text).unwrap_or_else(|| stem(&item.source)),
            title => title,
        };
        Self {
            source: item.source.clone(),
            title: title.to_owned(),
            aliases: item.topic.aliases.clone(),
            start: item.lines.start,
            blocks,
            markup,
            text,
        }
    }

    /// Its lines as they are read.
    pub fn readable(&self) -> String {
        self.markup.readable(&self.text, &(0..self.text.len()))
    }

    /// Some of its lines by their numbers in the file.
    pub fn lines_in_file(&self, lines: &Range<usize>) -> LineRange {
        LineRange {
            start: self.start + lines.start,
            end: self.start + lines.end - 1,
        }
    }

    /// The bytes of some of its lines.
    pub fn bytes_of(&self, lines: &Range<usize>) -> Range<usize> {
        let all = line_ranges(&self.text);
        match all.get(lines.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([line]) => line.clone(),
            _ => 0..0,
        }
    }
}

/// Characters of a first line that may be a title; what follows a title is longer.
const LONGEST_TITLE: usize = 60;

/// The title that a text begins with, where nobody knows its document's: its first heading, or a short line without an
/// end in front of a longer one.
fn first_title(text: &str) -> Option<&str> {
    let (line, rest) = text.trim_start().split_once('\n')?;
    let title = line.trim_start_matches('#').trim();
    if line.starts_with('#') {
        return Some(title);
    }
    let is_title = title.chars().count() <= LONGEST_TITLE
        && title.starts_with(char::is_alphanumeric)
        && !title.ends_with(['.', '。', ':', '：', ',', '，', '!', '?', '？', ';', '|'])
        && rest
            .lines()
            .next()
            .is_some_and(|it| it.chars().count() > LONGEST_TITLE);
    is_title.then_some(title)
}
