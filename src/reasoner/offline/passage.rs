//! A passage as blocks that can be quoted: paragraphs, lists with their lead-in, tables with their header, code
//! with the sentence that introduces it, slides, rows.
//!
//! The blocks of Markdown come from `pulldown-cmark`. A block is whole lines of the passage, so that what is
//! quoted stands in the file as it is shown.

mod blocks;
mod markup;

use std::ops::Range;

use crate::domain::{Evidence, ItemsBeyond, LineRange, PlaceUnit};
use crate::text::{count_items, stem};
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
    /// What of the lists and tables at its ends it does not hold.
    pub beyond: ItemsBeyond,
}

impl Passage {
    pub fn read(item: &Evidence) -> Self {
        let text: String = item.text.lines().flat_map(|line| [line, "\n"]).collect();
        let above = item.topic.headings.as_slice();
        let name = item.source.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let ending = ending.to_ascii_lowercase();
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
            beyond: item.topic.beyond,
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

    /// Some of its lines with the rest of the blocks that they are a part of. The lists of a section are one, with captions
    /// and code between them, until a sentence announces another.
    pub fn whole_lists(&self, lines: &Range<usize>) -> Range<usize> {
        let blocks = self.blocks.as_slice();
        let holds = |block: &Block| block.lines.start < lines.end && lines.start < block.lines.end;
        let first = blocks.iter().position(holds);
        let (Some(first), Some(last)) = (first, blocks.iter().rposition(holds)) else {
            return lines.clone();
        };
        let start = lines.start.min(blocks[first].lines.start);
        let end = lines.end.max(blocks[last].lines.end);
        let is_list = |block: &&Block| block.kind == BlockKind::List;
        if !blocks[first..=last].iter().any(|block| is_list(&block)) {
            return start..end;
        }
        let is_part = |block: &&Block| {
            block.headings == blocks[first].headings
                && matches!(block.kind, BlockKind::List | BlockKind::Code)
        };
        let begins_another = |block: &&Block| is_list(block) && block.is_announced();
        let above = || blocks[..=first].iter().rev().take_while(is_part);
        let top = above().find(begins_another);
        let top = top.or_else(|| above().filter(is_list).last());
        let goes_on = |block: &&Block| block.lines.start < end || !begins_another(block);
        let below = blocks[last..].iter().take_while(is_part);
        let bottom = below.take_while(goes_on).filter(is_list).last();
        start.min(top.map_or(start, |block| block.lines.start))
            ..end.max(bottom.map_or(end, |block| block.lines.end))
    }

    /// How many items of lists and rows of tables begin in some of its lines.
    pub fn items_in(&self, lines: &Range<usize>) -> usize {
        let is_text = |block: &&Block| !matches!(block.kind, BlockKind::Code | BlockKind::Fields);
        let items = self.blocks.iter().filter(is_text).map(|block| {
            let from = lines.start.max(block.lines.start);
            let to = lines.end.min(block.lines.end);
            count_items(self.text.lines().take(to).skip(from))
        });
        items.sum()
    }

    /// What stands beyond it of the list or table that some of its lines reach into.
    pub fn beyond_lines(&self, lines: &Range<usize>) -> ItemsBeyond {
        let begins = |block: &Block| lines.start <= block.lines.start;
        let ends = |block: &Block| block.lines.end <= lines.end;
        let is_first = self.blocks.first().is_some_and(begins);
        let is_last = self.blocks.last().is_some_and(ends);
        ItemsBeyond {
            above: usize::from(is_first) * self.beyond.above,
            below: usize::from(is_last) * self.beyond.below,
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
