//! A passage as units that can be quoted: sentences, list items, table rows, code blocks.
//!
//! Headings are not quoted; they say what the units below them are about. Markup that would mean
//! nothing outside its document (links, images) is reduced to its text.

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
    /// As it is quoted.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The nearest heading above, without its mark; empty when there is none in the passage.
    pub(super) heading: String,
    /// Units of one list, table or paragraph share a block; blocks count upwards.
    pub(super) block: usize,
}

/// The units of a passage, in order.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut reader = Reader::default();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let title = at == 0 && is_bare_title(line, lines.get(1));
        reader.line(line, title);
    }
    reader.flush();
    reader.flush_code();
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
    code: Option<String>,
    columns: Vec<String>,
    in_table: bool,
}

impl Reader {
    fn line(&mut self, line: &str, title: bool) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            self.flush();
            if self.code.is_some() {
                self.flush_code();
            } else {
                self.code = Some(String::new());
            }
            return;
        }
        if let Some(code) = &mut self.code {
            code.push_str(line);
            code.push('\n');
            return;
        }
        let heading = trimmed.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ');
        if heading || title {
            self.flush();
            self.block += 1;
            self.heading = without_links(trimmed.trim_start_matches('#').trim());
        } else if trimmed.is_empty() {
            self.flush();
            self.block += 1;
            self.in_table = false;
        } else if trimmed.starts_with('|') {
            self.flush();
            self.row(trimmed);
        } else if trimmed.chars().all(|c| matches!(c, '-' | '=' | '*' | '_')) {
            self.flush();
        } else if let Some(item) = item_of(trimmed) {
            self.flush();
            self.item = Some(item.to_owned());
        } else if let Some(item) = &mut self.item {
            join(item, trimmed);
        } else {
            self.paragraph
                .push(trimmed.trim_start_matches("> ").to_owned());
        }
    }

    fn row(&mut self, line: &str) {
        let cells: Vec<String> = line
            .trim_matches('|')
            .split('|')
            .map(|cell| without_links(cell.trim()))
            .collect();
        let rule = cells
            .iter()
            .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')));
        if rule {
            // What came before the rule was the head, not a row.
            if self.units.last().is_some_and(|unit| unit.kind == Kind::Row) {
                self.units.pop();
            }
            return;
        }
        if !self.in_table {
            self.in_table = true;
            self.columns.clone_from(&cells);
        }
        let mut text = cells.first().cloned().unwrap_or_default();
        for (at, cell) in cells
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, c)| !c.is_empty())
        {
            text.push_str(if at == 1 { ": " } else { "; " });
            if at > 1
                && let Some(column) = self.columns.get(at)
            {
                text.push_str(column);
                text.push_str(": ");
            }
            text.push_str(cell);
        }
        self.push(text, Kind::Row);
    }

    fn flush(&mut self) {
        if let Some(item) = self.item.take() {
            self.push(without_links(&item), Kind::Item);
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
        if let Some(code) = self.code.take().filter(|code| !code.trim().is_empty()) {
            self.block += 1;
            self.push(format!("```\n{}\n```", code.trim_end()), Kind::Code);
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

fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = String::new();
    let mut chars = paragraph.chars().peekable();
    while let Some(c) = chars.next() {
        sentence.push(c);
        let end = match c {
            '。' | '！' | '？' => !chars.peek().is_some_and(|next| "”」』）".contains(*next)),
            '”' | '」' | '』' | '）' => {
                ["。", "！", "？"]
                    .iter()
                    .any(|mark| sentence.strip_suffix(c).is_some_and(|s| s.ends_with(mark)))
                    && !chars.peek().is_some_and(|next| "，“、（".contains(*next))
            }
            '.' | '!' | '?' => {
                chars.peek().is_none_or(|next| next.is_whitespace()) && !is_abbreviation(&sentence)
            }
            _ => false,
        };
        if end {
            found.push(std::mem::take(&mut sentence).trim().to_owned());
        }
    }
    found.push(sentence.trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn is_abbreviation(sentence: &str) -> bool {
    let last = sentence.rsplit([' ', '(']).next().unwrap_or_default();
    let last = last.trim_end_matches('.');
    let initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    initial
        || matches!(
            last.to_lowercase().as_str(),
            "e.g"
                | "i.e"
                | "etc"
                | "vs"
                | "mr"
                | "mrs"
                | "ms"
                | "dr"
                | "prof"
                | "st"
                | "jr"
                | "sr"
                | "no"
                | "fig"
                | "cf"
                | "al"
                | "inc"
                | "ltd"
                | "co"
                | "approx"
                | "u.s"
        )
}

fn item_of(line: &str) -> Option<&str> {
    for mark in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = line.strip_prefix(mark) {
            return Some(item);
        }
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    (1..=3)
        .contains(&digits)
        .then(|| &line[digits..])
        .and_then(|rest| {
            rest.strip_prefix(". ")
                .or_else(|| rest.strip_prefix(") "))
                .or_else(|| rest.strip_prefix('、'))
        })
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
        units(text).into_iter().map(|unit| unit.text).collect()
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
        assert_eq!(units(text)[7].heading, "Next");
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
            let _ = units(text);
        }
        assert_eq!(without_links("a [b c ![d](e) [f](g)"), "a [b c  f");
    }
}
