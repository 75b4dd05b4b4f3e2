//! A passage as units that can be quoted: sentences, list items, table rows, code blocks.
//!
//! Headings are not quoted; they say what the units below them are about. Markup that would mean
//! nothing outside its document (links, images) is reduced to its text. Code keeps its lines,
//! whether it stands in a fence, is set in by four spaces, or is a source file.

use super::ends::sentences;
use super::sheet;
use super::source_code::{language_of, looks_like_code, without_margin};

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
    /// Units of one list, table or paragraph share a block; blocks count upwards.
    pub(super) block: usize,
    /// Of a row, its cells.
    pub(super) row: Option<Row>,
    /// Of an item in a numbered list, its number.
    pub(super) number: Option<usize>,
}

/// A table row as it is written in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            if let Some(column) = self.columns.get(at).filter(|_| at > 1) {
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
    let mut reader = Reader::default();
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
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let title = at == 0 && is_bare_title(line, lines.get(1));
        reader.line(line, title);
    }
    reader.end_of_text();
    reader.units
}

/// Links and images reduced to their text.
pub(super) fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at(at);
        let image = before.ends_with('!');
        plain.push_str(before.strip_suffix('!').filter(|_| image).unwrap_or(before));
        if let Some(inner) = after.strip_prefix("[[")
            && let Some((name, tail)) = inner.split_once("]]")
        {
            plain.push_str(name.rsplit('|').next().unwrap_or(name));
            rest = tail;
        } else if let Some((label, tail)) = after[1..].split_once("](")
            && !label.contains(['\n', '['])
            && let Some(end) = tail.find(')')
        {
            if !image {
                plain.push_str(label);
            }
            rest = &tail[end + 1..];
        } else {
            if image {
                plain.push('!');
            }
            plain.push('[');
            rest = &after[1..];
        }
    }
    plain.push_str(rest);
    plain
}

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
        let heading = trimmed.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ');
        if heading || title {
            self.flush();
            self.head(trimmed.trim_start_matches('#').trim());
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
        } else if let Some((number, item)) = item_of(trimmed) {
            self.flush();
            self.item = Some(item.to_owned());
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
    }

    fn row(&mut self, line: &str) {
        // An escaped bar is no border.
        let line = line.replace("\\|", "\u{1}");
        let line = line.strip_prefix('|').unwrap_or(&line);
        let line = line.strip_suffix('|').unwrap_or(line);
        let cells: Vec<String> = line
            .split('|')
            .map(|cell| without_links(cell.trim()).replace('\u{1}', "|"))
            .collect();
        let rule = cells
            .iter()
            .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')));
        if rule {
            // What came before the rule was the head, not a row.
            if self.units.last().is_some_and(|unit| unit.kind == Kind::Row) {
                let head = self.units.pop().and_then(|unit| unit.row);
                self.columns = head.map_or(Vec::new(), |head| head.cells);
            }
            return;
        }
        self.told_row(Row {
            columns: self.columns.clone(),
            cells,
        });
    }

    fn told_row(&mut self, row: Row) {
        self.push(row.briefly(), Kind::Row);
        if let Some(unit) = self.units.last_mut().filter(|unit| unit.kind == Kind::Row) {
            unit.row = Some(row);
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
        for sentence in sentences(&without_links(&paragraph)) {
            self.push(sentence, Kind::Sentence);
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
                block: self.block,
                row: None,
                number: None,
            });
        }
    }
}

/// The next line of a paragraph: Chinese goes on without a space.
fn join(text: &mut String, line: &str) {
    let wide = |c: Option<char>| {
        c.is_some_and(|c| crate::text::is_cjk(c) || "，。：；！？、”“".contains(c))
    };
    let runs_on = wide(text.chars().next_back()) && wide(line.chars().next());
    if !text.is_empty() && !runs_on {
        text.push(' ');
    }
    text.push_str(line);
}

/// Whether a line closes a fence: a longer fence may hold a shorter one.
fn closes(opened: &str, line: &str) -> bool {
    let run = |text: &str, mark: char| text.chars().take_while(|c| *c == mark).count();
    let mark = opened.chars().next().unwrap_or('`');
    let marks = run(line, mark);
    marks == line.chars().count() && marks >= run(opened, mark)
}

/// What stands behind the mark of a list item, and its number.
fn item_of(line: &str) -> Option<(Option<usize>, &str)> {
    for mark in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = line.strip_prefix(mark) {
            return Some((None, item));
        }
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = (1..=3).contains(&digits).then(|| &line[digits..])?;
    let item = rest
        .strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))
        .or_else(|| rest.strip_prefix('、'))?;
    Some((line[..digits].parse().ok(), item))
}

/// `Status: done`, as at the head of a ticket.
fn is_field(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(key, _)| {
        key.chars().count() <= 24
            && key
                .chars()
                .next()
                .is_some_and(|c| c.is_uppercase() || crate::text::is_cjk(c))
            && key.split(' ').count() <= 3
    })
}

/// A short first line without an end, such as the title in front of an abstract.
fn is_bare_title(line: &str, next: Option<&&str>) -> bool {
    let line = line.trim();
    line.chars().count() <= 60
        && line.starts_with(|c: char| c.is_alphanumeric())
        && !line.ends_with(['.', '。', ':', '：', ',', '，', '!', '?', '？', ';'])
        && !is_field(line)
        && item_of(line).is_none()
        && next.is_some_and(|next| next.chars().count() > 60)
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
