//! A passage as units that can be quoted: sentences, list items, table rows, code blocks.
//!
//! Headings are not quoted; they say what the units below them are about. Markup that would mean
//! nothing outside its document (links, images) is reduced to its text. Code keeps its lines,
//! whether it stands in a fence, is set in by four spaces, or is a source file.

use super::ends::sentences;
use super::markup::{
    closes, is_bare_title, is_field, item_of, join, with_marked_links, without_links,
};
use super::pointers::{points, unmarked};
use super::records::{Record, records};
use super::sheet;
use super::source_code::{language_of, looks_like_code, without_margin};
use super::table_lines::{cells_of, is_rule};

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sentence,
    Item,
    Row,
    Code,
}

/// A piece of a passage that can stand in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// As it is quoted; of a row, the gist by which it is found.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The nearest heading above, without its mark; empty when there is none in the passage.
    pub(super) heading: String,
    /// All headings that it is the first unit below, from the outermost on.
    pub(super) opens: Vec<String>,
    /// Whether it only says where something is told.
    pub(super) points: bool,
    /// Units of one list, table or paragraph share a block; blocks count upwards.
    pub(super) block: usize,
    /// Of a row, its cells.
    pub(super) row: Option<Row>,
    /// Of an item in a numbered list, its number.
    pub(super) number: Option<usize>,
}

impl Unit {
    /// All that it says, with the columns of a row.
    pub(super) fn words(&self) -> String {
        self.row.as_ref().map_or(self.text.clone(), Row::told)
    }

    /// The same below its heading, without which "Every second Monday" is about nothing.
    pub(super) fn in_context(&self) -> String {
        if self.heading.is_empty() {
            self.words()
        } else {
            format!("{}: {}", self.heading, self.words())
        }
    }
}

/// A table row as it is written in its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The table's head; empty when the passage begins below it.
    pub(super) columns: Vec<String>,
    pub(super) cells: Vec<String>,
}

impl Row {
    /// "z: zoom", the first column as what the others speak of; "Bo: 12; town: Oslo".
    fn briefly(&self) -> String {
        let mut text = self.cells.first().cloned().unwrap_or_default();
        let others = self.cells.iter().enumerate().skip(1);
        for (at, cell) in others.filter(|(_, cell)| !cell.is_empty()) {
            text.push_str(if at == 1 { ": " } else { "; " });
            let named = at > 1 || self.columns.first().is_some_and(String::is_empty);
            if let Some(column) = self.columns.get(at).filter(|_| named) {
                text.push_str(column);
                text.push_str(": ");
            }
            text.push_str(cell);
        }
        text
    }

    /// "key: z; does: zoom", so that a row is understood without its table.
    pub(super) fn told(&self) -> String {
        let cells = self.cells.iter().enumerate();
        let cells = cells.filter(|(_, cell)| !cell.is_empty());
        let told: Vec<String> = cells
            .map(|(at, cell)| match self.columns.get(at) {
                Some(column) if !column.is_empty() => format!("{column}: {cell}"),
                _ => cell.clone(),
            })
            .collect();
        told.join("; ")
    }
}

/// The units of a passage of the file `source`, in order.
pub(super) fn units(source: &str, text: &str) -> Vec<Unit> {
    let mut reader = Reader {
        outline: source.to_ascii_lowercase().ends_with(".org"),
        ..Reader::default()
    };
    if let Some(language) = language_of(source) {
        reader.source_code(text, language);
        return reader.units;
    }
    if let Some(rows) = sheet::rows(source, text) {
        for row in rows {
            reader.told_row(row);
        }
        return reader.units;
    }
    if let Some(records) = records(source, text) {
        for record in records {
            reader.record(record);
        }
        return reader.units;
    }
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let title = at == 0 && is_bare_title(line, lines.get(1));
        reader.line(line, title);
    }
    reader.end_of_text();
    reader.units
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "what a line means hangs on each of them"
)]
#[derive(Default)]
struct Reader {
    units: Vec<Unit>,
    heading: String,
    block: usize,
    paragraph: Vec<String>,
    item: Option<String>,
    number: Option<usize>,
    /// What the fence was opened with, and the lines since.
    code: Option<(String, String)>,
    /// Lines set in by four spaces, of which it is not yet known whether they are code.
    margin: Vec<String>,
    columns: Vec<String>,
    /// Headings below which nothing has come yet.
    opening: Vec<String>,
    /// Whether lines of stars and a space are headings, as Org has them.
    outline: bool,
    after_blank: bool,
    in_list: bool,
    started: bool,
}

impl Reader {
    fn line(&mut self, line: &str, title: bool) {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        if let Some((opened, code)) = &mut self.code {
            if closes(opened, trimmed) {
                self.flush_code();
            } else {
                code.push_str(line);
                code.push('\n');
            }
            return;
        }
        if self.is_set_in(line) {
            self.margin.push(line.to_owned());
            return;
        }
        self.flush_margin();
        if fence {
            self.flush();
            self.code = Some((trimmed.to_owned(), String::new()));
        } else {
            self.plain_line(trimmed, title);
        }
        self.after_blank = trimmed.is_empty();
        self.started = true;
    }

    /// Whether a line belongs to a block set in by four spaces, which lists have too.
    fn is_set_in(&self, line: &str) -> bool {
        let deep = line.starts_with("    ") || line.starts_with('\t');
        if !self.margin.is_empty() {
            return deep || line.trim().is_empty();
        }
        deep && !line.trim().is_empty()
            && (self.after_blank || !self.started)
            && !self.in_list
            && self.item.is_none()
    }

    fn plain_line(&mut self, trimmed: &str, title: bool) {
        let mark = if self.outline { '*' } else { '#' };
        let heading =
            trimmed.starts_with(mark) && trimmed.trim_start_matches(mark).starts_with(' ');
        if heading || title {
            self.flush();
            let head = trimmed.trim_start_matches(mark).trim();
            let mut states = ["TODO ", "DONE "].iter().filter(|_| self.outline);
            let state = states.find_map(|state| head.strip_prefix(state));
            self.head(state.unwrap_or(head));
        } else if self.outline && trimmed.starts_with("#+") {
            // What tools read, such as the title, which stands in front of the first heading.
            self.flush();
            if let Some(title) = trimmed.strip_prefix("#+TITLE:") {
                self.head(title.trim());
            }
        } else if trimmed.is_empty() {
            self.flush();
            self.block += 1;
            self.columns.clear();
        } else if trimmed.starts_with('|') {
            self.flush();
            self.row(trimmed);
        } else if trimmed
            .chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | '~'))
        {
            // A line below a single one makes it a heading.
            if self.paragraph.len() == 1 && trimmed.len() > 2 && !trimmed.contains(['*', '_']) {
                let head = self.paragraph.remove(0);
                self.head(&head);
            }
            self.flush();
        } else if let Some(told) = trimmed
            .strip_prefix(": ")
            .filter(|_| self.paragraph.len() == 1)
        {
            // An entry of a list of terms, in the form of Markdown Extra.
            let term = self.paragraph.remove(0);
            self.item = Some(format!("{term}: {told}"));
            self.number = None;
        } else if let Some((number, item)) = item_of(trimmed) {
            self.flush();
            self.item = Some(item);
            self.number = number;
            self.in_list = true;
        } else if let Some(item) = &mut self.item {
            join(item, trimmed);
        } else {
            self.in_list = false;
            self.paragraph
                .push(trimmed.trim_start_matches("> ").to_owned());
        }
    }

    fn head(&mut self, heading: &str) {
        self.block += 1;
        self.in_list = false;
        self.heading = without_links(heading);
        self.opening.push(self.heading.clone());
    }

    fn row(&mut self, line: &str) {
        let cells = cells_of(line);
        // Below the head, dashes are a cell's text.
        if (self.columns.is_empty() || self.outline) && is_rule(line, &cells) {
            let is_head = |unit: &&Unit| unit.kind == Kind::Row && unit.block == self.block;
            // What came before the rule was the head, not a row.
            if self.columns.is_empty() && self.units.last().as_ref().is_some_and(is_head) {
                let head = self.units.pop();
                self.opening = head.as_ref().map_or(Vec::new(), |head| head.opens.clone());
                let cells = head.and_then(|head| head.row).map(|row| row.cells);
                self.columns = cells.unwrap_or_default();
            }
            return;
        }
        self.told_row(Row {
            columns: self.columns.clone(),
            cells,
        });
    }

    fn told_row(&mut self, row: Row) {
        let before = self.units.len();
        self.push(row.briefly(), Kind::Row);
        // A row of signs has no text and is left out.
        if let Some(unit) = self.units.get_mut(before) {
            unit.row = Some(row);
        }
    }

    /// An object of a JSON file: a row, or at the top of the file a setting for each member.
    fn record(&mut self, record: Record) {
        let Record {
            within,
            listed,
            row,
        } = record;
        if within != self.heading {
            self.block += 1;
            self.heading = within;
        }
        let named = row.columns.first().is_some_and(String::is_empty);
        if named || listed {
            self.told_row(row);
            return;
        }
        for (column, cell) in row.columns.iter().zip(&row.cells) {
            self.push(format!("{column}: {cell}"), Kind::Item);
        }
    }

    fn flush(&mut self) {
        if let Some(item) = self.item.take() {
            let before = self.units.len();
            self.push(without_links(&item), Kind::Item);
            if let Some(unit) = self.units.get_mut(before) {
                unit.number = self.number;
            }
        }
        let lines = std::mem::take(&mut self.paragraph);
        if lines.len() > 1 && lines.iter().all(|line| is_field(line)) {
            for line in lines {
                self.push(without_links(&line), Kind::Item);
            }
            return;
        }
        let mut paragraph = String::new();
        for line in &lines {
            join(&mut paragraph, line);
        }
        for sentence in sentences(&with_marked_links(&paragraph)) {
            let before = self.units.len();
            self.push(unmarked(&sentence), Kind::Sentence);
            if let Some(unit) = self.units.get_mut(before) {
                unit.points = points(&sentence);
            }
        }
    }

    fn flush_code(&mut self) {
        if let Some((opened, code)) = self.code.take() {
            let language = opened.trim_start_matches(['`', '~']).trim();
            self.push_code(&code, language);
        }
    }

    fn flush_margin(&mut self) {
        let lines = std::mem::take(&mut self.margin);
        if looks_like_code(&lines) {
            self.flush();
            self.push_code(&without_margin(&lines), "");
        } else {
            for line in lines {
                self.plain_line(line.trim(), false);
            }
        }
    }

    fn end_of_text(&mut self) {
        self.flush_margin();
        self.flush();
        self.flush_code();
    }

    /// A source file: what is defined together stays together.
    fn source_code(&mut self, text: &str, language: &str) {
        for piece in super::source_code::pieces(text) {
            self.push_code(&piece, language);
        }
    }

    fn push_code(&mut self, code: &str, language: &str) {
        let code = code.trim_matches('\n').trim_end();
        if !code.trim().is_empty() {
            let fence = if code.contains("```") { "````" } else { "```" };
            self.block += 1;
            self.push(format!("{fence}{language}\n{code}\n{fence}"), Kind::Code);
            self.block += 1;
        }
    }

    fn push(&mut self, text: String, kind: Kind) {
        if text.chars().any(char::is_alphanumeric) {
            self.units.push(Unit {
                text,
                kind,
                heading: self.heading.clone(),
                opens: std::mem::take(&mut self.opening),
                points: false,
                block: self.block,
                row: None,
                number: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        units("a.md", text)
            .into_iter()
            .map(|unit| unit.text)
            .collect()
    }

    #[test]
    fn r23_a_passage_becomes_units() {
        let text = "# Rules\n\nThe [rules](a.md) come first. See e.g. [[rules]],\nversion 1.2 of it.\n\n\
                    - one thing\n  and more\n- two\n\n| name | default | note |\n|---|---|---|\n| A | 1 | x |\n\n\
                    ```\nlet a = 1;\n```\n## Next\n规则按顺序检查，\n第一条生效。完全没有证据时不检查规则。\n\nStatus: done\nType: story";
        assert_eq!(
            texts(text),
            [
                "The rules come first.",
                "See e.g. rules, version 1.2 of it.",
                "one thing and more",
                "two",
                "A: 1; note: x",
                "```\nlet a = 1;\n```",
                "规则按顺序检查，第一条生效。",
                "完全没有证据时不检查规则。",
                "Status: done",
                "Type: story",
            ]
        );
        assert_eq!(units("a.md", text)[7].heading, "Next");
    }

    #[test]
    fn r23_code_keeps_its_lines_however_it_is_set() {
        let text = "# Use\n\nRun this:\n\n    export A=1\n    run --fast\n\nThen wait.\n\n\
                    - an item\n\n    that goes on\n\nTitle\n-----\n    Words set in as a poem is,\n    that are no code.\n\n\
                    ````md\n```\nx\n```\n````\n1. first\n2. second";
        assert_eq!(
            texts(text),
            [
                "Run this:",
                "```\nexport A=1\nrun --fast\n```",
                "Then wait.",
                "an item",
                "that goes on",
                "Words set in as a poem is, that are no code.",
                "````md\n```\nx\n```\n````",
                "first",
                "second",
            ]
        );
        assert_eq!(units("a.md", text).last().and_then(|u| u.number), Some(2));
    }

    #[test]
    fn r23_a_source_file_is_quoted_in_pieces_that_belong_together() {
        let text = "import os\n\nLIMIT = 5\n\n\ndef a():\n    x = 1\n\n    return x\n\n\ndef b():\n    pass";
        assert_eq!(
            units("src/a.py", text)
                .iter()
                .map(|unit| unit.text.as_str())
                .collect::<Vec<_>>(),
            [
                "```python\nimport os\n```",
                "```python\nLIMIT = 5\n```",
                "```python\ndef a():\n    x = 1\n\n    return x\n```",
                "```python\ndef b():\n    pass\n```",
            ]
        );
    }

    #[test]
    fn r23_a_row_whose_head_is_elsewhere_keeps_its_cells() {
        let found = units("a.md", "| A | 1 |\n| B | |");
        assert_eq!(found[0].text, "A: 1");
        assert_eq!(found[1].text, "B");
    }

    #[test]
    fn r23_a_row_of_dashes_in_a_table_takes_nothing_away() {
        let text =
            "| key | does |\n|---|---|\n| a | opens |\n| - | - |\n| --- | --- |\n| b | shuts |";
        let found: Vec<Vec<String>> = units("a.md", text)
            .into_iter()
            .filter_map(|unit| Some(unit.row?.cells))
            .collect();
        assert_eq!(found, [["a", "opens"], ["b", "shuts"]]);
        for rule in ["|-|-|", "| :-: | -: |", "| :-- | --: |", "| --- | --- |"] {
            let text = format!("| key | does |\n{rule}\n| a | opens |");
            assert_eq!(texts(&text), ["a: opens"], "{rule}");
        }
        // A head of signs leaves the table above it as it is.
        let two = "| a | b |\n|---|---|\n| c | d |\n\n| # | % |\n|---|---|\n| e | f |";
        assert_eq!(texts(two), ["c: d", "e: f"]);
        // Single dashes with blanks are a row of a table that is cut off its head.
        assert_eq!(texts("| a | opens |\n| - | - |"), ["a: opens"]);
    }

    #[test]
    fn r23_broken_markup_is_text() {
        for text in [
            "[",
            "![",
            "[a](",
            "[[a",
            "|",
            "```",
            "- ",
            "\u{0}",
            "1. ",
            "#",
            "“。”",
        ] {
            let _ = (units("a.md", text), units("a.rs", text));
        }
        assert_eq!(without_links("a [b c ![d](e) [f](g)"), "a [b c  f");
    }
}
