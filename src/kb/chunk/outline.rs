//! The structure of a document by its lines: which headings stand above a line, and where what
//! belongs together begins and ends.
//!
//! Chunks are cut by size, and a search of the files shows the lines around a match. Neither cares
//! whether a list goes on. Whoever shows a passage asks here how far it reaches.

use super::blocks::Block;
use super::{blocks, boundaries, title, visit_blocks};
use crate::domain::{ItemsBeyond, LineRange, Topic};
use crate::kb::extract::{Extraction, TextLayout, names_only};
use crate::text::{begins_item, count_items};

/// The largest section that is shown whole, in bytes.
const WHOLE_SECTION: usize = 2500;
/// The largest passage that is made by growing one.
const LARGEST: PassageSize = PassageSize {
    lines: 60,
    bytes: 4000,
};
/// A block of code may be larger, because half of it says little, but no larger than this.
const LARGEST_BLOCK: PassageSize = PassageSize {
    lines: 200,
    bytes: 12_000,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PassageSize {
    lines: usize,
    bytes: usize,
}

/// The kind of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    Metadata,
    Heading,
    Prose,
    List,
    Table,
    Code,
}

/// Lines `start..=end`, from 0, that say something only together.
#[derive(Debug, Clone)]
struct Unit {
    kind: UnitKind,
    start: usize,
    end: usize,
    path: Vec<String>,
    /// The number of its section in the document.
    section: usize,
}

/// The structure of one document.
#[derive(Debug)]
pub(crate) struct Outline<'d> {
    lines: Vec<&'d str>,
    layout: TextLayout,
    units: Vec<Unit>,
    title: String,
    aliases: Vec<String>,
}

impl<'d> Outline<'d> {
    /// The structure of a document of that name.
    pub fn new(source: &str, document: &'d Extraction) -> Self {
        let lines: Vec<&str> = document.text.lines().collect();
        let layout = document.shape;
        let mut units = Vec::new();
        let mut first_heading = None;
        let edges = boundaries(document);
        let mut take = |block: Block| {
            first_heading = first_heading.take().or_else(|| block.path.first().cloned());
            add_unit(&lines, layout, block, &mut units);
        };
        visit_blocks(source, document, &lines, &mut take);
        let mut section = 0;
        for at in 1..units.len() {
            let (before, unit) = (&units[at - 1], &units[at]);
            let is_edge = edges.contains(&unit.start) || before.kind == UnitKind::Metadata;
            if is_edge || before.path != unit.path || unit.kind == UnitKind::Heading {
                section += 1;
            }
            units[at].section = section;
        }
        let title = title(source, document, first_heading);
        Self {
            aliases: document.aliases(),
            lines,
            layout,
            units,
            title,
        }
    }

    /// The text of these lines; `None` where the document is shorter.
    pub fn text(&self, lines: LineRange) -> Option<String> {
        let within = self.lines.get(lines.start.checked_sub(1)?..lines.end)?;
        Some(within.join("\n"))
    }

    /// What a passage of these lines, from 1, is about: the headings above it, and what goes on beyond it.
    pub fn topic(&self, lines: LineRange) -> Topic {
        let headings = self.unit_at(lines.start).map_or(&[] as &[String], |unit| {
            let own = usize::from(unit.kind == UnitKind::Heading);
            &unit.path[..unit.path.len() - own.min(unit.path.len())]
        });
        Topic {
            title: self.title.clone(),
            aliases: self.aliases.clone(),
            headings: headings.to_vec(),
            beyond: self.beyond(lines),
        }
    }

    /// The first unit that does not end before this line, from 1.
    fn unit_at(&self, line: usize) -> Option<&Unit> {
        let at = self.units.partition_point(|unit| unit.end + 1 < line);
        self.units.get(at)
    }

    /// What of the list or table in which these lines begin stands above them, and of that in which they end below.
    fn beyond(&self, lines: LineRange) -> ItemsBeyond {
        let is_listing = |unit: &&Unit| matches!(unit.kind, UnitKind::List | UnitKind::Table);
        let listing_at = |line| {
            let unit = self.unit_at(line).filter(is_listing);
            unit.filter(|unit| unit.start < line)
        };
        let items = |from: usize, to: usize| {
            let within = self.lines.get(from..to).unwrap_or_default();
            count_items(within.iter().copied())
        };
        ItemsBeyond {
            above: listing_at(lines.start).map_or(0, |unit| items(unit.start, lines.start - 1)),
            below: listing_at(lines.end).map_or(0, |unit| items(lines.end, unit.end + 1)),
        }
    }

    /// How far a passage reaches that was found at `core`, lines from 1, and was shown as `own`.
    ///
    /// It begins and ends where blocks do. It is the section when that is small; else its blocks, with
    /// the sentence that leads to a list, table or code, and with what such a sentence leads to. Of
    /// what `own` shows around `core`, whole blocks of the same section stay.
    pub fn grown(&self, own: LineRange, core: LineRange) -> LineRange {
        if matches!(self.layout, TextLayout::Rows | TextLayout::Data) {
            return own;
        }
        let Some((first, last)) = self.units_of(core) else {
            return own;
        };
        let limit = PassageSize {
            lines: LARGEST.lines.max(own.end + 1 - own.start),
            bytes: LARGEST.bytes.max(self.bytes(own.start - 1, own.end - 1)),
        };
        let fits = |(start, end): (usize, usize)| {
            end + 1 - start <= limit.lines && self.bytes(start, end) <= limit.bytes
        };
        let blocks = (
            self.beginning(first, own.start - 1, core.start - 1),
            self.end(last, own.end - 1, core.end - 1),
        );
        let whole = self.section_of(first, last).map(|(start, end)| {
            let (first, last) = (&self.units[first], &self.units[last]);
            (start.min(first.start), end.max(last.end))
        });
        let with_lead = self.with_lead(first, last, blocks);
        let around = self.around((first, last), own, with_lead);
        let widest = [whole, Some(around), Some(with_lead)];
        let widest = widest.into_iter().flatten().find(|range| fits(*range));
        let (start, end) = widest.unwrap_or(blocks);
        LineRange {
            start: start + 1,
            end: end + 1,
        }
    }

    /// The first and the last unit that these lines touch. Metadata that only names the document is
    /// replaced by the beginning of the text.
    fn units_of(&self, lines: LineRange) -> Option<(usize, usize)> {
        let first = self
            .units
            .partition_point(|unit| unit.end + 1 < lines.start);
        let last = self
            .units
            .partition_point(|unit| unit.start < lines.end)
            .checked_sub(1)?;
        if first > last {
            return None;
        }
        let is_title = self.units[first].kind == UnitKind::Metadata
            && names_only(&self.lines[self.units[first].start..=self.units[first].end]);
        if !is_title || self.units.len() == 1 {
            return Some((first, last));
        }
        let text = self
            .units
            .iter()
            .position(|unit| !matches!(unit.kind, UnitKind::Metadata | UnitKind::Heading));
        let opening = text.unwrap_or(1).max(1);
        Some((1, last.max(opening)))
    }

    /// The section of these units, where they are of one and it is small: headings without a text of
    /// their own go with the section below them.
    fn section_of(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let of_text = (first..=last).find(|&at| self.units[at].kind != UnitKind::Heading);
        let section = self.units[of_text.unwrap_or(last)].section;
        let is_within = |at: usize| {
            let unit = &self.units[at];
            unit.section == section
                || unit.kind == UnitKind::Heading && at < of_text.unwrap_or(last)
        };
        if !(first..=last).all(is_within) {
            return None;
        }
        let from = self.units.partition_point(|unit| unit.section < section);
        let to = self.units.partition_point(|unit| unit.section <= section);
        let (start, end) = (self.units[from].start, self.units[to - 1].end);
        (self.bytes(start, end) <= WHOLE_SECTION).then_some((start, end))
    }

    /// Where a passage begins that begins in this unit at `own`.
    fn beginning(&self, at: usize, own: usize, core: usize) -> usize {
        let unit = &self.units[at];
        if self.is_shown_whole(unit) {
            return unit.start;
        }
        let item = (unit.start..=core)
            .rev()
            .find(|&line| begins_item(self.lines[line]));
        match unit.kind {
            UnitKind::List => item.unwrap_or(unit.start),
            _ => own.max(unit.start).min(core.max(unit.start)),
        }
    }

    /// Where a passage ends that ends in this unit at `own`.
    fn end(&self, at: usize, own: usize, core: usize) -> usize {
        let unit = &self.units[at];
        if self.is_shown_whole(unit) {
            return unit.end;
        }
        if unit.kind != UnitKind::List {
            return own.min(unit.end).max(core.min(unit.end));
        }
        let next = (core + 1..=unit.end).find(|&line| begins_item(self.lines[line]));
        let end = next.map_or(unit.end, |next| next - 1);
        (core..=end)
            .rev()
            .find(|&line| !self.lines[line].trim().is_empty())
            .unwrap_or(core)
    }

    /// Whether a unit is never cut. Half of a code block says little; other long units are cut between
    /// items, rows and lines.
    fn is_shown_whole(&self, unit: &Unit) -> bool {
        let most = match unit.kind {
            UnitKind::Code => LARGEST_BLOCK,
            _ => LARGEST,
        };
        unit.end + 1 - unit.start <= most.lines && self.bytes(unit.start, unit.end) <= most.bytes
    }

    /// These lines with the sentence that leads to the first unit and what the last one leads to.
    fn with_lead(&self, first: usize, last: usize, blocks: (usize, usize)) -> (usize, usize) {
        let (start, end) = blocks;
        let leads = |at: usize| {
            let (unit, next) = (self.units.get(at)?, self.units.get(at + 1)?);
            let is_led = matches!(next.kind, UnitKind::List | UnitKind::Table | UnitKind::Code);
            let says_so = self.lines[unit.end].trim_end().ends_with([':', '：']);
            (unit.section == next.section && unit.kind == UnitKind::Prose && is_led && says_so)
                .then_some((unit.start, next))
        };
        let before = first
            .checked_sub(1)
            .and_then(leads)
            .filter(|_| start == self.units[first].start);
        let after = leads(last).filter(|_| end == self.units[last].end);
        let start = before.map_or(start, |(start, _)| start);
        let end = after.map_or(end, |(_, led)| self.end_of_led(led, start).max(end));
        (start, end)
    }

    /// Where a passage ends that begins at `start` and leads to this unit: of a long list or table it holds the first items
    /// or rows.
    fn end_of_led(&self, led: &Unit, start: usize) -> usize {
        let fits = |end: &usize| {
            end + 1 - start <= LARGEST.lines && self.bytes(start, *end) <= LARGEST.bytes
        };
        if led.kind == UnitKind::Code || fits(&led.end) {
            return led.end;
        }
        let is_row = led.kind == UnitKind::Table;
        let ends = (led.start..led.end).filter(|end| is_row || begins_item(self.lines[end + 1]));
        let last = ends.take_while(fits).last().unwrap_or(start);
        // Of blank lines between items none ends a passage.
        (start..=last)
            .rfind(|line| !self.lines[*line].trim().is_empty())
            .unwrap_or(start)
    }

    /// These lines with the whole units of the same section that `own` shows around them.
    fn around(
        &self,
        units: (usize, usize),
        own: LineRange,
        blocks: (usize, usize),
    ) -> (usize, usize) {
        let ((first, last), (start, end)) = (units, blocks);
        let above = self.units[..first].iter().rev();
        let above = above
            .take_while(|unit| {
                unit.section == self.units[first].section && unit.start + 1 >= own.start
            })
            .last();
        let below = self.units[last + 1..].iter();
        let below = below
            .take_while(|unit| unit.section == self.units[last].section && unit.end < own.end)
            .last();
        (
            above.map_or(start, |unit| unit.start.min(start)),
            below.map_or(end, |unit| unit.end.max(end)),
        )
    }

    fn bytes(&self, start: usize, end: usize) -> usize {
        let within = self.lines.get(start..=end).unwrap_or_default();
        within.iter().map(|line| line.len() + 1).sum()
    }
}

/// Adds a block to the units: what goes on with a list after a blank line belongs to the list.
fn add_unit(lines: &[&str], layout: TextLayout, block: Block, units: &mut Vec<Unit>) {
    let within = &lines[block.start..=block.end];
    let Some(last) = within.iter().rposition(|line| !line.trim().is_empty()) else {
        return;
    };
    let first = within.iter().position(|line| !line.trim().is_empty());
    let (start, end) = (block.start + first.unwrap_or(0), block.start + last);
    let line = lines[start];
    let is_marked = matches!(
        layout,
        TextLayout::Code | TextLayout::Data | TextLayout::Rows
    );
    let kind = if block.heading {
        UnitKind::Heading
    } else if block.metadata {
        UnitKind::Metadata
    } else if is_marked {
        UnitKind::Prose
    } else if block.columns.is_some() {
        UnitKind::Table
    } else if begins_item(line) {
        UnitKind::List
    } else if blocks::is_fence(line) {
        UnitKind::Code
    } else {
        UnitKind::Prose
    };
    if let Some(list) = units.last_mut()
        && list.kind == UnitKind::List
        && list.path == block.path
        && (kind == UnitKind::List
            || kind != UnitKind::Heading && (line.starts_with("  ") || line.starts_with('\t')))
    {
        list.end = end;
        return;
    }
    units.push(Unit {
        kind,
        start,
        end,
        path: block.path,
        section: 0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_knows_the_headings_above_its_first_line() {
        let text = "---\ntitle: Guide\naliases: [Manual]\n---\n# Use\n\nIntro.\n\n## Setup\n\nRun it.\n\n### Linux\nText.\n";
        let document = Extraction::of_text("guide.md", text.to_owned());
        let outline = Outline::new("guide.md", &document);
        for (line, headings) in [
            (1, &[][..]),
            (5, &[]),
            (7, &["Use"]),
            (9, &["Use"]),
            (11, &["Use", "Setup"]),
            (13, &["Use", "Setup"]),
            (14, &["Use", "Setup", "Linux"]),
            (99, &[]),
        ] {
            let topic = outline.topic(LineRange {
                start: line,
                end: line,
            });
            assert_eq!(topic.headings, headings, "{line}");
            assert_eq!(
                (topic.title.as_str(), &topic.aliases[..]),
                ("Guide", &["Manual".to_owned()][..])
            );
        }
    }

    fn grown(text: &str, own: (usize, usize), core: (usize, usize)) -> (usize, usize) {
        let document = Extraction::of_text("a.md", text.to_owned());
        let range = |(start, end)| LineRange { start, end };
        let grown = Outline::new("a.md", &document).grown(range(own), range(core));
        (grown.start, grown.end)
    }

    #[test]
    fn a_passage_grows_to_what_belongs_together() {
        let long = "A sentence that fills its line with words.\n".repeat(40);
        let list = "# T\n\nThe parts:\n\n- one\n  goes on\n\n- two\n\n      code\n\n- three\n\n";
        let all = format!("{list}{long}\n{long}");
        let table =
            format!("# T\n\n{long}\nThese keys:\n\n| a | b |\n|---|---|\n| c | d |\n\n{long}");
        let fence = format!("# T\n\n{long}\n```\nx\n\ny\n```\n\n{long}");
        for (name, text, found, expected) in [
            (
                "a small section is shown whole",
                "# T\n\na\n\n## U\n\nb\n\nc\n\n## V\n\nd\n",
                (7, 7),
                (5, 9),
            ),
            (
                "headings above it are a part of what was found",
                "# T\n\n## U\n\nb\n\nc\n",
                (1, 5),
                (1, 7),
            ),
            (
                "a list is whole, with its lead",
                all.as_str(),
                (8, 8),
                (3, 12),
            ),
            ("a lead brings its list", &all, (3, 3), (3, 12)),
            (
                "a table is whole, with its lead",
                &table,
                (48, 48),
                (44, 48),
            ),
            ("a fence is whole", &fence, (46, 46), (44, 48)),
            (
                "metadata gives way to what it is about",
                "---\ntitle: a\n---\n# T\n\nb\n",
                (1, 3),
                (4, 6),
            ),
            (
                "but not what else it says",
                "---\nstatus: open\n---\n# T\n\nb\n",
                (1, 3),
                (1, 3),
            ),
        ] {
            assert_eq!(grown(text, found, found), expected, "{name}");
        }
    }

    #[test]
    fn a_long_list_is_cut_between_its_items() {
        let items = "- item\n  goes on\n\n".repeat(100);
        assert_eq!(grown(&items, (32, 32), (32, 32)), (31, 32));
        assert_eq!(grown(&items, (31, 34), (32, 34)), (31, 35));
    }

    #[test]
    fn a_lead_brings_the_first_items_of_what_is_long() {
        let list = format!(
            "# T\n\nParts:\n\n{}\nb\n",
            "- item\n  goes on\n\n".repeat(100)
        );
        assert_eq!(grown(&list, (1, 3), (1, 3)), (1, 57));
        let rows = "| c | d |\n".repeat(100);
        let table = format!("# T\n\nParts:\n\n| a | b |\n|---|---|\n{rows}");
        assert_eq!(grown(&table, (3, 3), (3, 3)), (3, 62));
        let wide = format!("Parts:\n\n- {}\n- b\n", "item ".repeat(1000));
        assert_eq!(grown(&wide, (1, 1), (1, 1)), (1, 1));
    }

    #[test]
    fn a_passage_knows_what_of_a_list_or_table_stands_beyond_it() {
        let list = format!(
            "# T\n\nParts:\n\n{}\nb\n",
            "- item\n  goes on\n\n".repeat(100)
        );
        let rows = "| c | d |\n".repeat(100);
        let table = format!("| a | b |\n|---|---|\n{rows}\nb\n");
        let code = format!("```\n{}```\n", "- a\n".repeat(300));
        for (text, (start, end), expected) in [
            (&list, (35, 36), (10, 89)),
            (&list, (3, 303), (0, 0)),
            (&list, (3, 6), (0, 99)),
            (&list, (302, 306), (99, 0)),
            (&table, (1, 12), (0, 90)),
            (&table, (13, 22), (10, 80)),
            (&code, (10, 20), (0, 0)),
            (&list, (400, 410), (0, 0)),
        ] {
            let document = Extraction::of_text("a.md", text.clone());
            let outline = Outline::new("a.md", &document);
            let beyond = outline.topic(LineRange { start, end }).beyond;
            assert_eq!((beyond.above, beyond.below), expected, "{start}-{end}");
        }
    }

    #[test]
    fn lines_around_a_match_are_whole_blocks_of_its_section() {
        let long = "A sentence that fills its line with words.\n".repeat(40);
        let text =
            format!("# T\n\na\n\n# U\n\nb\n\nneedle\n\n```\nx\n\ny\nz\n```\n\n{long}\n{long}");
        assert_eq!(grown(&text, (1, 14), (9, 9)), (5, 9));
        assert_eq!(grown(&text, (1, 17), (9, 9)), (5, 16));
    }

    proptest::proptest! {
        #[test]
        fn any_passage_grows_to_lines_that_are_there(text in "([a:|#`>-] ?|\n|- a\n|```\n|\n\n|# a\n|---\n){0,60}", start in 1_usize..20, more in 0_usize..20) {
            let lines = text.lines().count();
            let end = start + more;
            if end <= lines {
                let (from, to) = grown(&text, (start, end), (start, end));
                proptest::prop_assert!(from >= 1 && from <= to && to <= lines);
            }
        }
    }
}
