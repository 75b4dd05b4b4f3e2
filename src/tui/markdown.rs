//! Markdown as rows of the chat pane.
//!
//! While an answer streams, half a construct is shown as far as it is known: all is rendered anew, so
//! nothing needs to be repaired; of code only what is new is read.
//! Whatever has no form in a terminal (images, HTML) stays readable as text.

use std::sync::LazyLock;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use ratatui::style::Modifier;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};
use unicode_width::UnicodeWidthStr;

use crate::domain::SentenceSupport;
use crate::text::markup;

use super::ink::{Ink, Piece, Row, pad, with_citations, wrap};

/// `text`, already sanitised, in lines of at most `width` cells.
pub fn render(text: &str, width: usize) -> Vec<Row> {
    render_growing(text, &[], width, &mut CodeCache::default())
}

/// The same of a text that grows, with what is known of its sentences; `code` holds what was read of it when it was
/// shorter.
pub fn render_growing(
    text: &str,
    support: &[SentenceSupport],
    width: usize,
    code: &mut CodeCache,
) -> Vec<Row> {
    let mut page = MarkdownRows {
        width: width.max(1),
        cache: std::mem::take(code),
        support,
        ..MarkdownRows::default()
    };
    for (event, range) in Parser::new_ext(text, markup()).into_offset_iter() {
        if matches!(&event, Event::Text(text) if text.starts_with(['(', ')']))
            && text[..range.start].ends_with('\\')
            && !page.code
        {
            // Formulas of TeX begin and end so; nobody needs to escape a parenthesis.
            page.push_text(page.ink(), "\\");
        }
        page.place = match &event {
            // The text of code stands behind its mark.
            Event::Code(code) => range.end - (range.len() - code.len()).div_ceil(2) - code.len(),
            _ => range.start,
        };
        if matches!(event, Event::Start(Tag::Paragraph)) {
            page.is_headless_table = text[range].lines().all(is_table_row);
        }
        page.event(event);
    }
    page.break_line();
    while page.rows.last().is_some_and(|row| row.pieces.is_empty()) {
        page.rows.pop();
    }
    *code = page.cache;
    page.rows
}

/// How the text at this byte stands out: a sentence that no source says is dim and underlined, a citation that the
/// program added dim and slanted.
fn emphasis_at(support: &[SentenceSupport], at: usize) -> Modifier {
    let unsupported = |it: &&SentenceSupport| !it.supported && (it.start..it.end).contains(&at);
    let added = |it: &&SentenceSupport| (it.end..it.end + it.added_len()).contains(&at);
    if support.iter().any(|sentence| unsupported(&sentence)) {
        Modifier::DIM | Modifier::UNDERLINED
    } else if support.iter().any(|sentence| added(&sentence)) {
        Modifier::DIM | Modifier::ITALIC
    } else {
        Modifier::empty()
    }
}

/// Whether a line is a row of a table, with citations behind it or not.
fn is_table_row(line: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_digit() || matches!(c, '[' | ']' | ' ');
    let line = line.trim_start_matches(['>', ' ']);
    line.len() > 2 && line.starts_with('|') && line.trim_end_matches(is_mark).ends_with('|')
}

/// Whether a part of it is a table.
pub fn has_table(text: &str) -> bool {
    let mut events = Parser::new_ext(text, markup());
    events.any(|event| matches!(event, Event::Start(Tag::Table(_))))
}

#[derive(Default)]
struct MarkdownRows<'t> {
    width: usize,
    /// What is known of the sentences of the text.
    support: &'t [SentenceSupport],
    /// Where in the text the event at hand begins.
    place: usize,
    rows: Vec<Row>,
    line: Row,
    emphasis: Modifier,
    heading: bool,
    code: bool,
    cache: CodeCache,
    /// How many blocks of code in a known language there are so far.
    blocks: usize,
    /// The lines read of the open one.
    reading: Option<usize>,
    quotes: usize,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    marker: Option<String>,
    links: Vec<String>,
    table: Option<Table>,
    /// Whether the paragraph is rows of a table that were cut from their header.
    is_headless_table: bool,
}

impl MarkdownRows<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Code(text) => self.push_text(Ink::Code, &text),
            Event::HardBreak => self.break_line(),
            Event::SoftBreak if self.is_headless_table => self.break_line(),
            Event::SoftBreak => self.push_text(self.ink(), " "),
            Event::Rule => {
                self.blank();
                self.rows
                    .push(Row::new(Ink::Border, "─".repeat(self.width.min(24))));
            }
            Event::TaskListMarker(done) => {
                self.push_text(Ink::Dim, if done { "[x] " } else { "[ ] " });
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.push_text(Ink::Dim, text.trim_end_matches('\n'));
            }
            Event::Text(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.push_text(self.ink(), &text),
        }
    }

    fn ink(&self) -> Ink {
        if self.heading {
            Ink::Heading
        } else if self.quotes > 0 {
            Ink::Quote
        } else {
            Ink::Text
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph if self.marker.is_none() => {
                self.break_line();
                self.blank();
            }
            Tag::Heading { level, .. } => {
                self.break_line();
                self.blank();
                self.heading = true;
                self.emphasis |= Modifier::BOLD;
                if level == HeadingLevel::H1 {
                    self.push_text(Ink::Heading, "▎ ");
                }
            }
            Tag::BlockQuote(_) => {
                self.break_line();
                self.blank();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.break_line();
                self.blank();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.line = Row::new(Ink::Dim, format!("▏ {language}"));
                    self.break_line();
                    if let Some(known) = SyntaxLanguage::of_fence(&language) {
                        self.cache.begin(self.blocks, &language, known);
                        self.blocks += 1;
                        self.reading = Some(0);
                    }
                }
                self.code = true;
            }
            Tag::List(first) => {
                self.break_line();
                if self.lists.is_empty() {
                    self.blank();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.break_line();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Emphasis => self.emphasis |= Modifier::ITALIC,
            Tag::Strong => self.emphasis |= Modifier::BOLD,
            Tag::Strikethrough => self.emphasis |= Modifier::CROSSED_OUT,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            Tag::Table(alignments) => {
                self.break_line();
                self.blank();
                self.table = Some(Table {
                    alignments,
                    ..Table::default()
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.break_line();
                self.is_headless_table = false;
            }
            TagEnd::Heading(_) => {
                self.break_line();
                self.heading = false;
                self.emphasis -= Modifier::BOLD;
            }
            TagEnd::BlockQuote(_) => {
                self.break_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => (self.code, self.reading) = (false, None),
            TagEnd::List(_) => {
                self.break_line();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.break_line();
                self.marker = None;
            }
            TagEnd::Emphasis => self.emphasis -= Modifier::ITALIC,
            TagEnd::Strong => self.emphasis.set(Modifier::BOLD, self.heading),
            TagEnd::Strikethrough => self.emphasis -= Modifier::CROSSED_OUT,
            TagEnd::Link | TagEnd::Image => {
                if let Some(url) = self.links.pop()
                    && !url.is_empty()
                    && !self.line.text().contains(&url)
                {
                    self.push_text(Ink::Dim, &format!(" ({url})"));
                }
            }
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    let cell = std::mem::take(&mut table.cell);
                    if let Some(row) = table.rows.last_mut() {
                        row.push(cell);
                    }
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.rows.extend(table.layout(self.width));
                }
            }
            _ => {}
        }
    }

    fn push_text(&mut self, ink: Ink, text: &str) {
        if let Some(table) = &mut self.table {
            table
                .cell
                .push_str(&text.replace('\n', " ").replace('\t', "    "));
            return;
        }
        for (support, stretch) in self.stretches(text) {
            for (at, part) in stretch.split('\n').enumerate() {
                if at > 0 {
                    self.break_line();
                }
                let part = part.replace('\t', "    ");
                self.line.push_emphatic(ink, self.emphasis | support, part);
            }
        }
    }

    /// Parts the text of the event at hand where its sentences and their citations begin and end; each with how it
    /// stands out.
    fn stretches<'s>(&self, text: &'s str) -> Vec<(Modifier, &'s str)> {
        let bounds = self.support.iter().flat_map(|sentence| {
            [
                sentence.start,
                sentence.end,
                sentence.end + sentence.added_len(),
            ]
        });
        let bounds = bounds.filter_map(|at| at.checked_sub(self.place));
        let mut cuts: Vec<usize> = bounds.filter(|at| (1..text.len()).contains(at)).collect();
        cuts.retain(|at| text.is_char_boundary(*at));
        cuts.sort_unstable();
        cuts.dedup();
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([text.len()]);
        let stretch = |(start, end)| {
            (
                emphasis_at(self.support, self.place + start),
                &text[start..end],
            )
        };
        starts.zip(ends).map(stretch).collect()
    }

    fn code_lines(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.replace('\t', "    ");
            let bar = self.prefix("").add(Ink::Dim, "▏ ");
            let row = match &mut self.reading {
                Some(read) => {
                    *read += 1;
                    self.cache.row(self.blocks - 1, *read - 1, &line)
                }
                None => Row::new(Ink::Code, line),
            };
            self.rows.extend(wrap(&row, &bar, &bar, self.width));
        }
    }

    fn prefix(&self, marker: &str) -> Row {
        let mut row = Row::default();
        row.push(Ink::Dim, "▎ ".repeat(self.quotes));
        let depth = self.lists.len().saturating_sub(1);
        row.push(Ink::Text, "  ".repeat(depth));
        row.push(Ink::Heading, marker);
        row
    }

    fn break_line(&mut self) {
        if self.line.pieces.is_empty() {
            return;
        }
        let marker = self.marker.take();
        let mut line = std::mem::take(&mut self.line);
        if self.is_headless_table {
            join_cells(&mut line);
        }
        let line = with_citations(line);
        let hang = if self.lists.is_empty() {
            String::new()
        } else {
            " ".repeat(marker.as_deref().map_or(2, UnicodeWidthStr::width))
        };
        let first = self.prefix(marker.as_deref().unwrap_or(&hang));
        let rest = self.prefix(&hang);
        self.rows.extend(wrap(&line, &first, &rest, self.width));
    }

    fn blank(&mut self) {
        let ends_in_text = self.rows.last().is_some_and(|row| !row.pieces.is_empty());
        if self.lists.is_empty() && ends_in_text {
            self.rows.push(self.prefix(""));
        }
    }
}

/// Puts dots between the cells of a table's row in the place of bars.
fn join_cells(line: &mut Row) {
    let bar = ['|', ' '];
    if let Some(first) = line.pieces.first_mut() {
        first.text = first.text.trim_start_matches(bar).to_owned();
    }
    if let Some(last) = line.pieces.last_mut() {
        last.text.truncate(last.text.trim_end_matches(bar).len());
    }
    for piece in line
        .pieces
        .iter_mut()
        .filter(|piece| piece.ink != Ink::Code)
    {
        piece.text = piece.text.replace('|', "·");
    }
}

/// Markdown laid out for a terminal without the screen, in lines of at most `width` cells.
pub fn printed_markdown(text: &str, width: usize, has_colour: bool) -> String {
    let mut printed = String::new();
    for row in render(text, width) {
        for piece in row.pieces {
            match style(&piece).filter(|_| has_colour) {
                Some(code) => {
                    printed.push_str(&format!("\u{1b}[{code}m{}\u{1b}[0m", piece.text));
                }
                None => printed.push_str(&piece.text),
            }
        }
        printed.truncate(printed.trim_end_matches(' ').len());
        printed.push('\n');
    }
    printed
}

/// The code of its style: the colours are the terminal's own.
fn style(piece: &Piece) -> Option<&'static str> {
    match piece.ink {
        _ if piece.emphasis.contains(Modifier::BOLD) => Some("1"),
        Ink::Dim | Ink::Comment | Ink::Border => Some("2"),
        Ink::Text => None,
        _ => Some("36"),
    }
}

/// A table as it is read.
#[derive(Default)]
pub struct Table {
    /// Alignment of each column.
    pub alignments: Vec<Alignment>,
    /// Rows of the table, its head first.
    pub rows: Vec<Vec<String>>,
    /// The cell being read.
    pub cell: String,
}

impl Table {
    const GAP: usize = 2;

    /// Lays the table out in lines of at most `width` cells: the widest columns are narrowed, and
    /// their cells take more lines.
    pub fn layout(self, width: usize) -> Vec<Row> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1_usize; columns];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(cell.width());
            }
        }
        let room = width.saturating_sub(Self::GAP * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room.max(columns) {
            if let Some(widest) = widths.iter_mut().max() {
                *widest -= 1;
            }
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let ink = if at == 0 { Ink::Heading } else { Ink::Text };
            let none = Row::default();
            let cells = row.iter().zip(&widths);
            let cells: Vec<Vec<Row>> = cells
                .map(|(cell, width)| wrap(&Row::new(ink, cell.as_str()), &none, &none, *width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for below in 0..height {
                let mut line = Row::default();
                for (column, cell) in cells.iter().enumerate() {
                    let text = cell.get(below).map(Row::text).unwrap_or_default();
                    let text = text.trim_end();
                    let blank = widths[column].saturating_sub(text.width());
                    let text = match self.alignments.get(column) {
                        Some(Alignment::Right) => format!("{}{text}", " ".repeat(blank)),
                        Some(Alignment::Center) => {
                            pad(&(" ".repeat(blank / 2) + text), widths[column])
                        }
                        _ => pad(text, widths[column]),
                    };
                    let gap = if column == 0 { 0 } else { Self::GAP };
                    line.push(ink, format!("{}{text}", " ".repeat(gap)));
                }
                lines.push(with_citations(line).fit(width));
            }
            if at == 0 {
                let rules: Vec<_> = widths.iter().map(|&width| "─".repeat(width)).collect();
                let rule = rules.join(&" ".repeat(Self::GAP));
                lines.push(Row::new(Ink::Border, rule).fit(width));
            }
        }
        lines
    }
}

/// The code blocks of one text, in its order: what was read of them stays read. The code of an answer
/// that grows changes at the end alone, and finding what code means is most of the work, so only lines
/// that are new or longer are read.
#[derive(Debug, Clone, Default)]
pub struct CodeCache {
    blocks: Vec<CachedBlock>,
}

#[derive(Debug, Clone)]
struct CachedBlock {
    /// The word behind the fence.
    word: String,
    language: SyntaxLanguage,
    lines: Vec<(String, Row)>,
    /// What was read up to the last of these lines, and with it.
    before_last: CodeLines,
    after_last: CodeLines,
}

impl CodeCache {
    /// A block begins, the one with that place among them all.
    pub fn begin(&mut self, at: usize, word: &str, language: SyntaxLanguage) {
        if self.blocks.get(at).is_some_and(|block| block.word == word) {
            return;
        }
        self.blocks.truncate(at);
        let lines = language.lines();
        self.blocks.push(CachedBlock {
            word: word.to_owned(),
            language,
            lines: Vec::new(),
            before_last: lines.clone(),
            after_last: lines,
        });
    }

    /// A line of a block that has begun, counted from 0, in its inks.
    pub fn row(&mut self, at: usize, line: usize, text: &str) -> Row {
        match self.blocks.get_mut(at) {
            Some(block) => block.row(line, text),
            None => Row::new(Ink::Code, text),
        }
    }
}

impl CachedBlock {
    fn row(&mut self, line: usize, text: &str) -> Row {
        if let Some((_, row)) = self.lines.get(line).filter(|(known, _)| known == text) {
            return row.clone();
        }
        if line + 1 == self.lines.len() {
            self.lines.pop();
            self.after_last = self.before_last.clone();
        } else if line < self.lines.len() {
            self.lines.truncate(line);
            self.after_last = self.language.lines();
            for (known, _) in &self.lines {
                self.after_last.next_row(known, Ink::Code);
            }
        }
        self.before_last = self.after_last.clone();
        let row = self.after_last.next_row(text, Ink::Code);
        self.lines.push((text.to_owned(), row.clone()));
        row
    }
}

// Source code by what its parts mean.
//
// The grammars are bat's, read when the first code is shown and not before. What a grammar says of a
// part becomes one of our inks, so that the theme alone decides how it looks: contrast holds in
// every theme, and where there are no colours none is missed.

/// Longer lines are data; they stay plain.
const LONGEST_LINE: usize = 600;
/// Behind that many lines a text stays plain.
const MOST_LINES: usize = 2000;

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The ink of what begins like this (`assets/scopes.txt`), the first that fits; what is not there has that
/// of what it is in.
static MEANINGS: LazyLock<Vec<(Scope, Ink)>> = LazyLock::new(|| {
    let lines = include_str!("../../assets/scopes.txt").lines();
    let read = |line: &str| {
        let (name, ink) = line.split_once(' ')?;
        Some((Scope::new(name).ok()?, Ink::from_name(ink)?))
    };
    lines.filter_map(read).collect()
});

/// A grammar.
#[derive(Clone, Copy)]
pub struct SyntaxLanguage(&'static SyntaxReference);

impl SyntaxLanguage {
    /// Finds the language by the word behind the fence of a code block.
    pub fn of_fence(word: &str) -> Option<Self> {
        let word = word.split([' ', ',', '{']).next().unwrap_or_default();
        (!word.is_empty()).then_some(())?;
        Self::unless_plain(GRAMMARS.find_syntax_by_token(word))
    }

    /// Finds the language by the name of a file, or by its first line.
    pub fn of_file(path: &str, first_line: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let by_name = GRAMMARS.find_syntax_by_extension(name);
        let by_extension = || GRAMMARS.find_syntax_by_extension(&extension?.to_lowercase());
        let by_line = || {
            let is_short = first_line.len() <= LONGEST_LINE;
            is_short.then(|| GRAMMARS.find_syntax_by_first_line(first_line))?
        };
        Self::unless_plain(by_name.or_else(by_extension).or_else(by_line))
    }

    fn unless_plain(found: Option<&'static SyntaxReference>) -> Option<Self> {
        found
            .filter(|found| found.scope != GRAMMARS.find_syntax_plain_text().scope)
            .map(Self)
    }

    /// What reads code of this language from its first line on.
    pub fn lines(self) -> CodeLines {
        CodeLines {
            state: ParseState::new(self.0),
            scopes: ScopeStack::new(),
            read: 0,
        }
    }
}

impl std::fmt::Debug for SyntaxLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// Reads code line by line: what a line means depends on those before it.
#[derive(Debug, Clone)]
pub struct CodeLines {
    state: ParseState,
    scopes: ScopeStack,
    read: usize,
}

impl CodeLines {
    /// The next line in its inks; what has none is drawn in `plain`.
    pub fn next_row(&mut self, line: &str, plain: Ink) -> Row {
        self.read += 1;
        if line.len() > LONGEST_LINE || self.read > MOST_LINES {
            return Row::new(plain, line);
        }
        let whole = format!("{line}\n");
        let Ok(changes) = self.state.parse_line(&whole, &GRAMMARS) else {
            return Row::new(plain, line);
        };
        let mut row = Row::default();
        let mut at = 0;
        for (end, change) in changes {
            let end = end.min(line.len());
            if let Some(piece) = line.get(at..end) {
                row.push(self.ink().unwrap_or(plain), piece);
                at = end;
            }
            if self.scopes.apply(&change).is_err() {
                self.scopes = ScopeStack::new();
            }
        }
        let rest = line.get(at..).unwrap_or_default();
        row.push(self.ink().unwrap_or(plain), rest);
        row
    }

    fn ink(&self) -> Option<Ink> {
        self.scopes.as_slice().iter().rev().find_map(|scope| {
            let known = MEANINGS.iter().find(|(name, _)| name.is_prefix_of(*scope));
            known.map(|(_, ink)| *ink)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        render(text, width)
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn rows_without_the_header_of_their_table_are_drawn_as_cells() {
        let rows = "Before:\n\n| 12 | *gate* | open |\n| 3 | a`|`b | shut | [2]\n\n> | x | y |\n> | z | 0 |";
        insta::assert_snapshot!(shown(rows, 40), @r"
        Before:

        12 · gate · open
        3 · a|b · shut · [2]

        ▎ x · y
        ▎ z · 0
        ");
        assert_eq!(shown("| one bar", 40), "| one bar");
    }

    #[test]
    fn blocks_have_their_form() {
        let text = "# Title\n\nSome *slanted* **strong** `code` [1].\n\n- one\n- two two two two\n  - deep\n\n\
                    3. three\n\n> quoted\n\n```rust\nfn main() {}\n```\n\n| a | bb |\n|---|---:|\n| 1 | 2 |\n";
        insta::assert_snapshot!(shown(text, 14), @r"
        ▎ Title

        Some slanted
        strong code
        [1].

        • one
        • two two two
          two
          • deep

        3. three

        ▎ quoted

        ▏ rust
        ▏ fn main() {}

        a  bb
        ─  ──
        1   2
        ");
    }

    #[test]
    fn shown_a_formula_keeps_its_backslashes() {
        assert_eq!(
            shown(r"So \(x^2\) is \*it\* `\(`.", 40),
            r"So \(x^2\) is *it* \(."
        );
    }

    #[test]
    fn ui_a_tight_table_wraps_its_cells_and_keeps_its_column_of_citations() {
        let text = "| key | does |     |\n|---|---|---|\n| a | what it says and more | [1] |\n\n\
                    | key | source |\n|---|---|\n| a long key | [2] |\n";
        insta::assert_snapshot!(shown(text, 18), @r"
        key  does
        ───  ────────  ───
        a    what it   [1]
             says and
             more

        key         source
        ──────────  ──────
        a long key  [2]
        ");
    }

    #[test]
    fn citations_are_marked() {
        let rows = render("See [1][12] and [x].", 40);
        let marked: Vec<_> = rows[0]
            .pieces
            .iter()
            .filter(|piece| piece.ink == Ink::Citation)
            .map(|piece| piece.text.as_str())
            .collect();
        assert_eq!(marked, ["[1][12]"]);
    }

    #[test]
    fn shown_a_sentence_that_no_source_says_is_underlined_and_an_added_citation_slanted() {
        let text = "It bakes [1].\n\n- It **can `fly`**\tfar. Bread rises. [2]\n- [3] told.";
        let place = |part: &str| text.find(part).unwrap();
        let sentence = |start, end, supported, added| SentenceSupport {
            start,
            end,
            supported,
            added,
        };
        let support = [
            sentence(0, place("\n"), true, None),
            sentence(place("It **"), place(" Bread"), false, None),
            sentence(place("Bread"), place(" [2]"), true, Some(2)),
        ];
        let rows = render_growing(text, &support, 60, &mut CodeCache::default());
        let standing_out = |modifier: Modifier| {
            let pieces = rows.iter().flat_map(|row| &row.pieces);
            let found = pieces.filter(|piece| piece.emphasis.contains(modifier));
            let texts: Vec<&str> = found.map(|piece| piece.text.as_str()).collect();
            texts.concat()
        };
        assert_eq!(standing_out(Modifier::UNDERLINED), "It can fly    far.");
        assert_eq!(standing_out(Modifier::ITALIC), " [2]");
        assert_eq!(standing_out(Modifier::BOLD), "can fly");
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        let plain: Vec<String> = render(text, 60).iter().map(Row::text).collect();
        assert_eq!(shown, plain);
    }

    #[test]
    fn depth_does_not_eat_the_width() {
        let text = format!("{} deep", ">".repeat(200));
        assert!(shown(&text, 10).contains("deep"));
    }

    #[test]
    fn a_page_is_laid_out_with_and_without_colours() {
        let page = "# Title\n\nRun `a` now.\n\n| b | c |\n|---|---|\n| 1 | 2 |\n";
        let plain = printed_markdown(page, 40, false);
        assert!(plain.starts_with("▎ Title\n\nRun a now.\n"), "{plain}");
        assert!(!plain.contains('|') && !plain.contains('\u{1b}'), "{plain}");
        let coloured = printed_markdown(page, 40, true);
        assert!(
            coloured.contains("Run \u{1b}[36ma\u{1b}[0m now."),
            "{coloured}"
        );
    }
}

#[cfg(test)]
mod growing_tests {
    use super::*;

    /// Every beginning of the text, one after the other, looks as it does by itself.
    fn grow(text: &str, width: impl Fn(usize) -> usize) {
        let mut code = CodeCache::default();
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let rows = render_growing(&text[..end], &[], width(end), &mut code);
            assert_eq!(rows, render(&text[..end], width(end)), "{:?}", &text[..end]);
        }
    }

    const TEXT: &str = "A [1].\n\n```rust\n/* why\nfn a() { \"s\" }\n*/ let b = 1;\n```\n\nText.\n\n\
                        - ```py\n  def f(x):\n      return 'é'\n  ```\n\n> ```rust\n> let c = \"\n> d\";\n> ```\n\n\
                        ```no-such\nplain\n```\n~~~toml\n[a]\nb = 2 # c\n";

    #[test]
    fn ui_code_that_grows_has_the_inks_of_code_that_is_whole() {
        grow(TEXT, |end| 12 + end % 3);
        grow(TEXT, |_| 20);
        // Another text is not taken for this one.
        let mut code = CodeCache::default();
        render_growing(TEXT, &[], 20, &mut code);
        for other in ["```rust\nlet /* x\n*/ 1\n```", "```py\ndef g(): 1\n```", ""] {
            let rows = render_growing(other, &[], 20, &mut code);
            assert_eq!(rows, render(other, 20), "{other}");
        }
    }

    #[test]
    fn ui_a_link_that_is_defined_further_down_is_a_link_above() {
        let text = "See [it] now.\n\nAnd [that][it].\n\nMore.\n\n[it]: https://example.org\n\nEnd.";
        let rows = render(text, 60);
        assert_eq!(rows[0].text(), "See it (https://example.org) now.");
    }
}

#[cfg(test)]
mod syntax_tests {
    use super::*;

    fn inks(language: &str, code: &str) -> Vec<(Ink, String)> {
        let mut lines = SyntaxLanguage::of_fence(language).unwrap().lines();
        let rows = code.lines().map(|line| lines.next_row(line, Ink::Text));
        rows.flat_map(|row| row.pieces)
            .map(|piece| (piece.ink, piece.text))
            .collect()
    }

    #[track_caller]
    fn has(found: &[(Ink, String)], ink: Ink, text: &str) {
        let holds = |(known, piece): &(Ink, String)| *known == ink && piece.contains(text);
        assert!(found.iter().any(holds), "{text} as {ink:?} in {found:?}");
    }

    #[test]
    fn code_has_the_inks_of_its_meaning() {
        let found = inks(
            "rust",
            "/* a\nb */ fn main() { let x: String = \"s\"; f(42) } // c",
        );
        has(&found, Ink::Comment, "b */");
        has(&found, Ink::Keyword, "fn");
        has(&found, Ink::FunctionName, "main");
        has(&found, Ink::TypeName, "String");
        has(&found, Ink::StringLiteral, "\"s\"");
        has(&found, Ink::Number, "42");
        has(&found, Ink::Comment, "// c");
        let found = inks("toml", "[server]\nport = 80 # why\nname = \"a\"");
        has(&found, Ink::Number, "80");
        has(&found, Ink::Comment, "# why");
        has(&found, Ink::StringLiteral, "a");
        let found = inks("md", "# Head\n\nsome `code`\n\n```rust\nlet a = 1;\n```\n");
        has(&found, Ink::Heading, "Head");
        has(&found, Ink::Keyword, "let");
        for language in [
            "py",
            "ts",
            "dockerfile",
            "yaml",
            "json",
            "sql",
            "sh",
            "go",
            "html",
        ] {
            assert!(SyntaxLanguage::of_fence(language).is_some(), "{language}");
        }
    }

    #[test]
    fn the_text_of_a_line_stays_what_it_was() {
        let code = "let a = \"日本 👩‍💻\"; // é\n\u{301}\n\tx\n<a href='b'>\"";
        for language in ["rust", "html", "yaml", "md", "sh"] {
            let mut lines = SyntaxLanguage::of_fence(language).unwrap().lines();
            for line in code.lines() {
                assert_eq!(lines.next_row(line, Ink::Code).text(), line);
            }
        }
    }

    #[test]
    fn what_is_no_code_stays_plain() {
        assert!(SyntaxLanguage::of_fence("").is_none());
        assert!(SyntaxLanguage::of_fence("no-such-language").is_none());
        assert!(SyntaxLanguage::of_file("notes/readme.txt", "Dear all,").is_none());
        assert!(SyntaxLanguage::of_file("bin/run", "#!/bin/sh").is_some());
        assert!(SyntaxLanguage::of_file("src/MAIN.RS", "").is_some());
        let long = "x = 1; ".repeat(200);
        let mut lines = SyntaxLanguage::of_fence("rust").unwrap().lines();
        assert_eq!(lines.next_row(&long, Ink::Text).pieces.len(), 1);
    }
}
