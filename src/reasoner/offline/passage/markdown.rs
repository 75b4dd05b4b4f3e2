//! Blocks of Markdown, and of what can be read as such.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::block::{Block, BlockKind, Sentence};
use super::readable::readable;
use crate::reasoner::offline::language::sentences;

/// The blocks of a text below the headings `above` its first line.
pub(super) fn blocks(text: &str, above: &[String]) -> Vec<Block> {
    let mut reader = Reader::new(text, above);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_DEFINITION_LIST;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.read(&event, range);
    }
    with_lead_ins(reader.blocks)
}

struct Reader<'a> {
    text: &'a str,
    /// Where each line begins.
    starts: Vec<usize>,
    depth: usize,
    /// The headings above, each with its level.
    headings: Vec<(HeadingLevel, String)>,
    in_heading: bool,
    opens_section: bool,
    /// The block that is being read.
    open: Option<Block>,
    /// The inline text that is being read.
    run: Option<Range<usize>>,
    blocks: Vec<Block>,
}

const LEVELS: [HeadingLevel; 6] = [
    HeadingLevel::H1,
    HeadingLevel::H2,
    HeadingLevel::H3,
    HeadingLevel::H4,
    HeadingLevel::H5,
    HeadingLevel::H6,
];

impl<'a> Reader<'a> {
    fn new(text: &'a str, above: &[String]) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
            depth: 0,
            headings: LEVELS.into_iter().zip(above.iter().cloned()).collect(),
            in_heading: false,
            opens_section: true,
            open: None,
            run: None,
            blocks: Vec::new(),
        }
    }

    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                if self.depth == 0 {
                    self.open_block(tag, &range);
                } else if matches!(tag, Tag::TableRow) {
                    self.add_sentence(range);
                } else if is_block(tag) {
                    self.end_run();
                } else {
                    self.extend_run(range);
                }
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end_run();
                    self.close_block();
                } else if !matches!(
                    tag,
                    pulldown_cmark::TagEnd::Emphasis
                        | pulldown_cmark::TagEnd::Strong
                        | pulldown_cmark::TagEnd::Strikethrough
                        | pulldown_cmark::TagEnd::Link
                        | pulldown_cmark::TagEnd::Image
                ) {
                    self.end_run();
                }
            }
            Event::Rule => {}
            _ => self.extend_run(range),
        }
    }

    fn open_block(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        if let Tag::Heading { level, .. } = tag {
            let lines = self.lines_of(range);
            let title = self.text_of_lines(&lines);
            let title = title.lines().next().unwrap_or_default();
            let title = readable(title.trim_start().trim_start_matches('#').trim());
            self.headings.retain(|(above, _)| above < level);
            self.headings.push((*level, title.replace(['*', '`'], "")));
            self.opens_section = true;
            self.in_heading = true;
            return;
        }
        let kind = match tag {
            Tag::List(_) | Tag::DefinitionList => BlockKind::List,
            Tag::Table(_) => BlockKind::Table,
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => BlockKind::Code,
            _ => BlockKind::Paragraph,
        };
        self.open = Some(Block {
            kind,
            lines: self.lines_of(range),
            headings: self
                .headings
                .iter()
                .map(|(_, title)| title.clone())
                .collect(),
            opens_section: self.opens_section,
            text: String::new(),
            sentences: Vec::new(),
        });
    }

    fn close_block(&mut self) {
        if std::mem::take(&mut self.in_heading) {
            return;
        }
        let Some(mut block) = self.open.take() else {
            return;
        };
        let lines = self.text_of_lines(&block.lines);
        block.text = match block.kind {
            BlockKind::Code => without_fences(lines),
            _ => lines.lines().map(readable).collect::<Vec<_>>().join("\n"),
        };
        if block.text.chars().any(char::is_alphanumeric) {
            self.opens_section = false;
            self.blocks.push(block);
        }
    }

    fn extend_run(&mut self, range: Range<usize>) {
        let is_prose = self
            .open
            .as_ref()
            .is_some_and(|block| matches!(block.kind, BlockKind::Paragraph | BlockKind::List));
        if is_prose {
            let run = self.run.get_or_insert(range.clone());
            run.start = run.start.min(range.start);
            run.end = run.end.max(range.end);
        }
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            for sentence in sentences(&self.text[run.clone()]) {
                self.add_sentence(run.start + sentence.start..run.start + sentence.end);
            }
        }
    }

    fn add_sentence(&mut self, range: Range<usize>) {
        let Some(block) = &mut self.open else {
            return;
        };
        let written = &self.text[range.clone()];
        let length = written.trim_end().len();
        let text = readable(&written[..length]);
        if text.chars().any(char::is_alphanumeric) {
            block.sentences.push(Sentence {
                range: range.start..range.start + length,
                text,
            });
        }
    }

    /// The lines that hold some bytes.
    fn lines_of(&self, range: &Range<usize>) -> Range<usize> {
        let written = self.text[range.clone()].trim_end();
        let line = |byte: usize| self.starts.partition_point(|start| *start <= byte) - 1;
        let first = line(range.start);
        first..line(range.start + written.len().saturating_sub(1)).max(first) + 1
    }

    fn text_of_lines(&self, lines: &Range<usize>) -> &'a str {
        let end = self.starts.get(lines.end).copied();
        &self.text[self.starts[lines.start]..end.unwrap_or(self.text.len())]
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
    )
}

fn without_fences(code: &str) -> String {
    let is_fence =
        |line: &&str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    let lines = code.lines().filter(|line| !is_fence(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The blocks, each list, table and piece of code together with the paragraph that introduces it.
fn with_lead_ins(blocks: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match joined.last_mut() {
            Some(before) if introduces(before, &block) => {
                before.kind = block.kind;
                before.lines.end = block.lines.end;
                before.text.push('\n');
                before.text.push_str(&block.text);
                before.sentences.extend(block.sentences);
            }
            _ => joined.push(block),
        }
    }
    joined
}

fn introduces(before: &Block, block: &Block) -> bool {
    let announces = before
        .text
        .trim_end_matches(['*', '_', ' '])
        .ends_with([':', '：']);
    before.kind == BlockKind::Paragraph
        && before.headings == block.headings
        && match block.kind {
            BlockKind::Code => true,
            BlockKind::List | BlockKind::Table => announces,
            BlockKind::Paragraph | BlockKind::Row | BlockKind::Slide => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(BlockKind, Range<usize>)> {
        let blocks = blocks(text, &[]);
        blocks
            .into_iter()
            .map(|block| (block.kind, block.lines))
            .collect()
    }

    #[test]
    fn r23_a_block_is_what_an_author_wrote_together() {
        use BlockKind::{Code, List, Paragraph, Table};
        let text = "# Pump\n\nIt pumps\nwater.\n\nTo start it:\n\n- open\n  the valve\n- wait\n\n\
                    | a | b |\n|---|---|\n| 1 | 2 |\n\nRun this.\n\n```sh\npump\n```\n\nDone.\n";
        let expected = [
            (Paragraph, 2..4),
            (List, 5..10),
            (Table, 11..14),
            (Code, 15..20),
            (Paragraph, 21..22),
        ];
        assert_eq!(kinds(text), expected);
        let read = blocks(text, &["Manual".to_owned()]);
        assert_eq!(read[0].headings, ["Pump"]);
        assert_eq!(
            (read[0].opens_section, read[1].opens_section),
            (true, false)
        );
        let said: Vec<&str> = read[1]
            .sentences
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(said, ["To start it:", "open\n  the valve", "wait"]);
        let rows: Vec<&str> = read[2]
            .sentences
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(rows, ["| 1 | 2 |"]);
        assert_eq!(read[3].text, "Run this.\npump");
    }

    #[test]
    fn r23_headings_above_the_passage_stay_above_what_is_below_them() {
        let above = ["Manual".to_owned(), "Pump".to_owned()];
        let read = blocks("It pumps.\n\n## Valve\n\nIt shuts.\n", &above);
        assert_eq!(read[0].headings, ["Manual", "Pump"]);
        assert_eq!(read[1].headings, ["Manual", "Valve"]);
        assert_eq!(read[1].heading(), "Valve");
    }

    #[test]
    fn r23_broken_markup_is_text() {
        for text in [
            "", "[", "```", "- ", "|", "\u{0}", "#", "---\n---", "<", ": x", "> - | a",
        ] {
            let _ = blocks(text, &[]);
        }
        assert_eq!(
            kinds("Call <name> or a * b_c."),
            [(BlockKind::Paragraph, 0..1)]
        );
    }
}
