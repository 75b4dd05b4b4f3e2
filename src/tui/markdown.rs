//! Markdown as rows of the chat pane.
//!
//! An answer is rendered anew from its whole text while it streams, so half a construct is shown
//! as far as it is known and never needs to be repaired; of its code only what is new is read.
//! Whatever has no form in a terminal (images, HTML) stays readable as text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::text::markup;

use super::citation_ink::with_citations;
use super::code_cache::CodeCache;
use super::ink::{Emphasis, Ink, Row};
use super::syntax::SyntaxLanguage;
use super::table::Table;
use super::wrap::wrap;

/// `text`, already sanitised, in lines of at most `width` cells; `code` holds what was read of the
/// same text when it was shorter.
pub fn render(text: &str, width: usize, code: &mut CodeCache) -> Vec<Row> {
    let mut page = MarkdownRows {
        width: width.max(1),
        cache: std::mem::take(code),
        ..MarkdownRows::default()
    };
    for event in Parser::new_ext(text, markup()) {
        page.event(event);
    }
    page.flush();
    while page.rows.last().is_some_and(|row| row.pieces.is_empty()) {
        page.rows.pop();
    }
    *code = page.cache;
    page.rows
}

/// Whether a part of it is a table.
pub fn has_table(text: &str) -> bool {
    let mut events = Parser::new_ext(text, markup());
    events.any(|event| matches!(event, Event::Start(Tag::Table(_))))
}

#[derive(Default)]
struct MarkdownRows {
    width: usize,
    rows: Vec<Row>,
    line: Row,
    emphasis: Emphasis,
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
}

impl MarkdownRows {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Code(text) => self.put(Ink::Code, &text),
            Event::SoftBreak => self.put(self.ink(), " "),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.blank();
                self.rows
                    .push(Row::of(Ink::Border, "─".repeat(self.width.min(24))));
            }
            Event::TaskListMarker(done) => {
                self.put(Ink::Dim, if done { "[x] " } else { "[ ] " });
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.put(Ink::Dim, text.trim_end_matches('\n'));
            }
            Event::Text(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.put(self.ink(), &text),
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
                self.flush();
                self.blank();
            }
            Tag::Heading { level, .. } => {
                self.flush();
                self.blank();
                self.heading = true;
                self.emphasis.bold = true;
                if level == HeadingLevel::H1 {
                    self.put(Ink::Heading, "▎ ");
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.blank();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.blank();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.line = Row::of(Ink::Dim, format!("▏ {language}"));
                    self.flush();
                    if let Some(known) = SyntaxLanguage::of_fence(&language) {
                        self.cache.begin(self.blocks, &language, known);
                        self.blocks += 1;
                        self.reading = Some(0);
                    }
                }
                self.code = true;
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.blank();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Emphasis => self.emphasis.italic = true,
            Tag::Strong => self.emphasis.bold = true,
            Tag::Strikethrough => self.emphasis.struck = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            Tag::Table(alignments) => {
                self.flush();
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
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = false;
                self.emphasis.bold = false;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => (self.code, self.reading) = (false, None),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.marker = None;
            }
            TagEnd::Emphasis => self.emphasis.italic = false,
            TagEnd::Strong => self.emphasis.bold = self.heading,
            TagEnd::Strikethrough => self.emphasis.struck = false,
            TagEnd::Link | TagEnd::Image => {
                if let Some(url) = self.links.pop()
                    && !url.is_empty()
                    && !self.line.text().contains(&url)
                {
                    self.put(Ink::Dim, &format!(" ({url})"));
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

    fn put(&mut self, ink: Ink, text: &str) {
        let text = text.replace('\t', "    ");
        if let Some(table) = &mut self.table {
            table.cell.push_str(&text.replace('\n', " "));
            return;
        }
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.break_line();
            }
            self.line.push_emphatic(ink, self.emphasis, part);
        }
    }

    fn code_lines(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.replace('\t', "    ");
            let bar = self.prefix("").with(Ink::Dim, "▏ ");
            let row = match &mut self.reading {
                Some(read) => {
                    *read += 1;
                    self.cache.row(self.blocks - 1, *read - 1, &line)
                }
                None => Row::of(Ink::Code, line),
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
        let line = with_citations(std::mem::take(&mut self.line));
        let hang = if self.lists.is_empty() {
            String::new()
        } else {
            " ".repeat(marker.as_deref().map_or(2, UnicodeWidthStr::width))
        };
        let first = self.prefix(marker.as_deref().unwrap_or(&hang));
        let rest = self.prefix(&hang);
        self.rows.extend(wrap(&line, &first, &rest, self.width));
    }

    fn flush(&mut self) {
        self.break_line();
    }

    fn blank(&mut self) {
        if self.lists.is_empty() && self.rows.last().is_some_and(|row| !row.pieces.is_empty()) {
            self.rows.push(self.prefix(""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        render(text, width, &mut CodeCache::default())
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
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
    fn ui_a_tight_table_keeps_its_headings_and_its_column_of_citations() {
        let text = "| key | does |     |\n|---|---|---|\n| a | what it says and more | [1] |\n\n\
                    | key | source |\n|---|---|\n| a long key | [2] |\n";
        insta::assert_snapshot!(shown(text, 18), @r"
        key  does
        ───  ────────  ───
        a    what it…  [1]

        key         source
        ──────────  ──────
        a long key  [2]
        ");
    }

    #[test]
    fn citations_are_marked() {
        let rows = render("See [1][12] and [x].", 40, &mut CodeCache::default());
        let marked: Vec<_> = rows[0]
            .pieces
            .iter()
            .filter(|piece| piece.ink == Ink::Citation)
            .map(|piece| piece.text.as_str())
            .collect();
        assert_eq!(marked, ["[1][12]"]);
    }

    #[test]
    fn ui_code_that_grows_has_the_inks_of_code_that_is_whole() {
        let text = "A [1].\n\n```rust\n/* why\nfn a() { \"s\" }\n*/ let b = 1;\n```\n\nText.\n\n\
                    - ```py\n  def f(x):\n      return 'é'\n  ```\n\n> ```rust\n> let c = \"\n> d\";\n> ```\n\n\
                    ```no-such\nplain\n```\n~~~toml\n[a]\nb = 2 # c\n";
        let mut code = CodeCache::default();
        for (end, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let width = 12 + end % 3;
            let whole = render(&text[..end], width, &mut CodeCache::default());
            assert_eq!(render(&text[..end], width, &mut code), whole, "{end}");
        }
        // Another text is not taken for this one.
        for other in ["```rust\nlet /* x\n*/ 1\n```", "```py\ndef g(): 1\n```", ""] {
            let whole = render(other, 20, &mut CodeCache::default());
            assert_eq!(render(other, 20, &mut code), whole, "{other}");
        }
    }

    #[test]
    fn depth_does_not_eat_the_width() {
        let text = format!("{} deep", ">".repeat(200));
        assert!(shown(&text, 10).contains("deep"));
    }
}
