use std::ops::Range;

use pulldown_cmark::{BrokenLink, Event, Options, Parser, Tag, TagEnd};

use super::super::language::trimmed;
use super::markup::{Markup, is_link};
use crate::text::{begins_item, front_matter, markup};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Paragraph,
    List,
    Table,
    Code,
    Row,
    Slide,
    /// Metadata at the top of a file.
    Fields,
}

/// Lines of a passage that are quoted together.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub kind: BlockKind,
    /// The lines of the passage, from 0.
    pub lines: Range<usize>,
    /// The headings above, outermost first.
    pub headings: Vec<String>,
    /// What it says, without marks that only lay it out.
    pub text: String,
    /// Its sentences, list items and table rows in order. Lines of code are none.
    pub sentences: Vec<Sentence>,
}

/// A sentence, list item or table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its bytes in the passage.
    pub range: Range<usize>,
    pub text: String,
}

impl Block {
    /// The innermost heading above; empty where there is none.
    pub fn heading(&self) -> &str {
        self.headings.last().map_or("", String::as_str)
    }

    /// Whether a sentence above its first item announces it.
    pub fn is_announced(&self) -> bool {
        let lead_in = self.text.lines().take_while(|line| !begins_item(line));
        lead_in
            .map(str::trim_end)
            .any(|it| it.ends_with([':', '：']))
    }
}

/// The bytes of each line of a text, without its end.
pub fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut end = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = end;
        end += line.len();
        start..start + line.trim_end_matches('\n').len()
    });
    lines.collect()
}

// Blocks of what is no prose: source files, rows of sheets, slides.

/// Endings of files whose text is code.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cpp", "cc", "hpp", "cs", "rb", "php",
    "swift", "scala", "lua", "pl", "r", "jl", "hs", "ex", "exs", "erl", "clj", "sh", "bash", "zsh", "fish", "ps1",
    "sql", "toml", "yaml", "yml", "ini", "css", "proto", "tf", "zig", "nim", "dart", "vue", "json", "jsonl", "xml",
];

pub fn is_code(ending: &str) -> bool {
    CODE.contains(&ending)
}

/// The blocks of a text that is code, rows or one slide: a block for each row, and in code for each run of lines between
/// an empty line and the next line at the margin that follows one.
pub fn plain_blocks(text: &str, kind: BlockKind, above: &[String]) -> Vec<Block> {
    let lines = line_ranges(text);
    let is_outside = |c: char| !c.is_whitespace() && !"})]".contains(c);
    let goes_on = |line: &Range<usize>, next: &Range<usize>| match kind {
        BlockKind::Row => false,
        BlockKind::Code => {
            !text[line.clone()].trim().is_empty() || !text[next.clone()].starts_with(is_outside)
        }
        _ => true,
    };
    let mut at = 0;
    let mut blocks = Vec::new();
    for run in lines.chunk_by(goes_on) {
        blocks.extend(block(text, run, at, kind, above));
        at += run.len();
    }
    blocks
}

/// Lines from the number `at` on as a block, without empty ones at its ends; `None` where they say nothing.
fn block(
    text: &str,
    lines: &[Range<usize>],
    at: usize,
    kind: BlockKind,
    above: &[String],
) -> Option<Block> {
    let is_code = kind == BlockKind::Code;
    let says = |c: char| c.is_alphanumeric() || is_code && !c.is_whitespace();
    let is_filled = |line: &Range<usize>| text[line.clone()].contains(says);
    let first = lines.iter().position(is_filled)?;
    let last = lines.iter().rposition(is_filled)?;
    let lines = &lines[first..=last];
    let sentences = lines.iter().filter(|line| !is_code && is_filled(line));
    let sentences = sentences.map(|line| {
        let range = trimmed(text, line.clone());
        let text = text[range.clone()].to_owned();
        Sentence { range, text }
    });
    Some(Block {
        kind,
        lines: at + first..at + last + 1,
        headings: above.to_vec(),
        text: text[lines[0].start..lines[last - first].end].to_owned(),
        sentences: sentences.collect(),
    })
}

// Blocks of Markdown, and of what can be read as such.

/// The blocks of a text below the headings `above` its first line, and its marks.
pub fn markdown_blocks(text: &str, above: &[String]) -> (Vec<Block>, Markup) {
    let mut reader = Reader {
        text,
        lines: line_ranges(text),
        headings: (1..).zip(above.iter().cloned()).collect(),
        ..Reader::default()
    };
    let mut options = markup()
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_WIKILINKS;
    if front_matter(text.lines()) > 0 {
        options |= Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
            | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    }
    let elsewhere = |link: BrokenLink<'_>| {
        is_link(&text[link.span], link.link_type).then(|| ("".into(), "".into()))
    };
    let parser = Parser::new_with_broken_link_callback(text, options, Some(elsewhere));
    let definitions = parser.reference_definitions().iter();
    let definitions: Vec<Range<usize>> = definitions.map(|(_, it)| it.span.clone()).collect();
    for (event, range) in parser.into_offset_iter() {
        reader.markup.read(text, &event, &range);
        reader.read(&event, range);
    }
    for range in definitions {
        reader.markup.hide(text, range);
    }
    let Reader { blocks, markup, .. } = reader;
    (with_lead_ins(blocks), markup)
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    depth: usize,
    /// The headings above, each with its level.
    headings: Vec<(usize, String)>,
    /// The block that is being read.
    open: Option<Block>,
    /// The inline text that is being read.
    run: Option<Range<usize>>,
    blocks: Vec<Block>,
    markup: Markup,
}

impl Reader<'_> {
    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                if self.depth == 0 {
                    self.open_block(tag, &range);
                } else if is_inline(tag.to_end()) {
                    self.extend_run(range);
                } else {
                    self.end_run();
                }
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                match tag {
                    TagEnd::Heading(level) if self.depth == 0 => {
                        self.enter(*level as usize, &range);
                    }
                    TagEnd::TableRow => self.add_sentence(range),
                    tag if is_inline(*tag) => {}
                    _ => self.end_run(),
                }
                if self.depth == 0 {
                    self.close_block();
                }
            }
            Event::Rule => {}
            _ => self.extend_run(range),
        }
    }

    fn open_block(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        let kind = match tag {
            Tag::Heading { .. } => return,
            Tag::List(_) | Tag::DefinitionList => BlockKind::List,
            Tag::Table(_) => BlockKind::Table,
            Tag::CodeBlock(_) => BlockKind::Code,
            Tag::MetadataBlock(_) => BlockKind::Fields,
            _ => BlockKind::Paragraph,
        };
        let headings = self.headings.iter().map(|(_, title)| title.clone());
        self.open = Some(Block {
            kind,
            lines: self.lines_of(range),
            headings: headings.collect(),
            text: String::new(),
            sentences: Vec::new(),
        });
    }

    /// Goes on below a heading.
    fn enter(&mut self, level: usize, range: &Range<usize>) {
        let title = self.markup.readable(self.text, range);
        let title = title.lines().next().unwrap_or_default();
        let title = title.trim_matches(['#', ' ']).replace('`', "");
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, title));
    }

    fn close_block(&mut self) {
        let Some(mut block) = self.open.take() else {
            return;
        };
        let bytes = self.lines[block.lines.start].start..self.lines[block.lines.end - 1].end;
        let text = self.markup.readable(self.text, &bytes);
        block.text = match block.kind {
            BlockKind::Code => without_fences(&text),
            _ => text.trim_end().to_owned(),
        };
        if block.text.chars().any(char::is_alphanumeric) {
            self.blocks.push(block);
        }
    }

    fn extend_run(&mut self, range: Range<usize>) {
        let kind = self.open.as_ref().map(|block| block.kind);
        if matches!(kind, Some(BlockKind::Paragraph | BlockKind::List)) {
            let run = self.run.get_or_insert(range.clone());
            run.start = run.start.min(range.start);
            run.end = run.end.max(range.end);
        }
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else {
            return;
        };
        let text = &self.text[run.clone()];
        let lines = line_ranges(text).into_iter();
        let are_fields = text.contains('\n') && text.lines().all(is_field);
        let lines = lines.map(|it| run.start + it.start..run.start + it.end);
        let sentences: Vec<Range<usize>> = if are_fields {
            lines.collect()
        } else {
            self.markup.sentences(self.text, &run)
        };
        for sentence in sentences {
            self.add_sentence(sentence);
        }
    }

    fn add_sentence(&mut self, range: Range<usize>) {
        let Some(block) = &mut self.open else {
            return;
        };
        let range = trimmed(self.text, range);
        let text = self.markup.readable(self.text, &range);
        if text.chars().any(char::is_alphanumeric) {
            block.sentences.push(Sentence { range, text });
        }
    }

    /// The lines that hold some bytes.
    fn lines_of(&self, range: &Range<usize>) -> Range<usize> {
        let written = trimmed(self.text, range.clone());
        let last = range.start.max(written.end.saturating_sub(1));
        let end = |byte: usize| self.lines.partition_point(|line| line.start <= byte);
        end(range.start) - 1..end(last)
    }
}

/// Characters of the label of a field.
const LONGEST_LABEL: usize = 30;

fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

/// Whether a line is the label of a field with its value, as tickets begin with.
fn is_field(line: &str) -> bool {
    let label = line.split_once([':', '：']).map(|(label, _)| label.trim());
    label.is_some_and(|it| !it.is_empty() && it.chars().count() <= LONGEST_LABEL)
}

fn without_fences(code: &str) -> String {
    let is_fence =
        |line: &&str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    let lines = code.lines().filter(|line| !is_fence(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The blocks, each list, table and piece of code of a section together with the one paragraph that introduces it, and
/// each caption with what it stands beside.
fn with_lead_ins(blocks: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<(Block, bool)> = Vec::with_capacity(blocks.len());
    // From the last one on: a caption goes with what is below it rather than with what is above.
    for mut block in blocks.into_iter().rev() {
        let mut is_introduced = false;
        if let Some((next, had)) = joined.pop_if(|(next, had)| belong_together(&block, next, *had))
        {
            is_introduced = had || introduces(&block, &next) && !is_caption(&block);
            if next.kind != BlockKind::Paragraph {
                block.kind = next.kind;
            }
            block.lines.end = next.lines.end;
            block.text = format!("{}\n{}", block.text, next.text);
            block.sentences.extend(next.sentences);
        }
        joined.push((block, is_introduced));
    }
    joined.into_iter().rev().map(|(block, _)| block).collect()
}

fn belong_together(before: &Block, block: &Block, is_introduced: bool) -> bool {
    before.headings == block.headings
        && before.kind != BlockKind::Fields
        && (is_caption(before) != is_caption(block) || !is_introduced && introduces(before, block))
}

fn introduces(before: &Block, block: &Block) -> bool {
    let announces = before.text.ends_with([':', '：', ',', '，']);
    before.kind == BlockKind::Paragraph && (block.kind == BlockKind::Code || announces)
}

/// Characters of a caption.
const LONGEST_CAPTION: usize = 100;

/// Whether a block is one line that is no sentence: it names what stands beside it and says nothing alone.
fn is_caption(block: &Block) -> bool {
    let ends = |c: char| ".!?:;,。！？：；，…".contains(c);
    block.kind == BlockKind::Paragraph
        && !block.text.contains('\n')
        && !block.text.ends_with(ends)
        && block.text.chars().count() <= LONGEST_CAPTION
}

#[cfg(test)]
mod plain_tests {
    use super::*;

    #[test]
    fn r23_rows_slides_and_code_are_blocks_of_their_own() {
        let rows = plain_blocks(
            "item: hose; price: 3\n\nitem: seed; price: 1",
            BlockKind::Row,
            &[],
        );
        assert_eq!(
            rows.iter().map(|row| row.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..3]
        );
        assert_eq!(rows[1].sentences[0].range, 22..42);
        let slide = plain_blocks("\nRisks\n  too late\n", BlockKind::Slide, &[]);
        assert_eq!(
            (slide[0].lines.clone(), slide[0].sentences.len()),
            (1..3, 2)
        );
        let code = plain_blocks(
            "use a;\n\nfn b() {\n\n    c\n}\n\nfn d() {}",
            BlockKind::Code,
            &[],
        );
        assert_eq!(
            code.iter().map(|it| it.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..6, 7..8]
        );
        assert!(plain_blocks("\n--\n", BlockKind::Slide, &[]).is_empty());
    }
}

#[cfg(test)]
mod markdown_tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(BlockKind, Range<usize>)> {
        let (blocks, _) = markdown_blocks(text, &[]);
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
        let (read, _) = markdown_blocks(text, &["Manual".to_owned()]);
        assert_eq!(read[0].headings, ["Pump"]);
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
        let (read, _) = markdown_blocks("It pumps.\n\n## Valve\n\nIt shuts.\n", &above);
        assert_eq!(read[0].headings, ["Manual", "Pump"]);
        assert_eq!(read[1].headings, ["Manual", "Valve"]);
        assert_eq!(read[1].heading(), "Valve");
    }

    #[test]
    fn r23_a_caption_is_quoted_with_what_it_stands_beside() {
        use BlockKind::{Code, Fields, List, Paragraph};
        for (text, expected) in [
            ("Listing 1\n\nIt is so.\n", vec![(Paragraph, 0..3)]),
            (
                "It is so.\n\nListing 1\n\nAnd so.\n",
                vec![(Paragraph, 0..1), (Paragraph, 2..5)],
            ),
            ("```\na\n```\n\nListing 1\n\n# B\n", vec![(Code, 0..5)]),
            ("Listing 1\n\n# B\n", vec![(Paragraph, 0..1)]),
            (
                "a\n\nb\n\nc\n",
                vec![(Paragraph, 0..1), (Paragraph, 2..3), (Paragraph, 4..5)],
            ),
            ("To do it,\n\n1. try\n", vec![(List, 0..3)]),
            (
                "It is so.\n\nDo this:\n\n```\na\n```\n",
                vec![(Paragraph, 0..1), (Code, 2..7)],
            ),
            (
                "It is so.\n\nDo this:\n\nListing 1\n\n```\na\n```\n",
                vec![(Paragraph, 0..1), (Code, 2..9)],
            ),
            (
                "Do:\n\nThis too:\n\n- a\n",
                vec![(Paragraph, 0..1), (List, 2..5)],
            ),
            (
                "---\nid: A-1\n---\nText\n",
                vec![(Fields, 0..3), (Paragraph, 3..4)],
            ),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn r23_each_line_of_a_paragraph_of_fields_is_a_sentence() {
        let said = |text: &str| -> Vec<String> {
            let (read, _) = markdown_blocks(text, &[]);
            read[0].sentences.iter().map(|it| it.text.clone()).collect()
        };
        let fields = said("Status: open\nDepends on: KB-1, KB-2\n");
        assert_eq!(fields, ["Status: open", "Depends on: KB-1, KB-2"]);
        assert_eq!(
            said("Note: it ends. So it is.\n"),
            ["Note: it ends.", "So it is."]
        );
    }

    #[test]
    fn r23_broken_markup_is_text() {
        for text in [
            "", "[", "```", "- ", "|", "\u{0}", "#", "---\n---", "<", ": x", "> - | a",
        ] {
            let _ = markdown_blocks(text, &[]);
        }
        assert_eq!(
            kinds("Call <name> or a * b_c."),
            [(BlockKind::Paragraph, 0..1)]
        );
    }
}
