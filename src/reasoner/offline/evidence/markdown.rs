//! Prose as units: Markdown, and what can be read as such.
//!
//! Headings are not quoted; they say what the units below them are about. A passage may be cut out of
//! its document anywhere, so a table may have lost its head and a list its beginning.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::is_cjk;

use super::super::language::sentences;
use super::code::{fenced, looks_like_code};
use super::units::{Unit, UnitKind, told};

/// A box of a task list that is not ticked, and one that is.
const BOXES: [char; 2] = ['☐', '☑'];
/// A longer first line is no title, in characters; what follows a title is longer.
const TITLE: usize = 60;
/// A longer line over a rule is a paragraph and no heading.
const HEADING: usize = 120;

/// The title that a text begins with, empty where it does not, and its units in order, those before its
/// first heading below `heading`.
pub(super) fn read(text: &str, heading: &str) -> (String, Vec<Unit>) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_WIKILINKS;
    let mut reader = Reader {
        heading: heading.to_owned(),
        ..Reader::default()
    };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(event, text, range);
    }
    reader.flush();
    (reader.title, reader.units)
}

/// A short first line without an end, such as the title in front of an abstract.
pub(super) fn bare_title(text: &str) -> Option<(&str, &str)> {
    let (line, rest) = text.split_once('\n')?;
    let (line, next) = (line.trim(), rest.lines().next()?);
    let is_title = line.chars().count() <= TITLE
        && line.starts_with(char::is_alphanumeric)
        && !line.ends_with(['.', '。', ':', '：', ',', '，', '!', '?', '？', ';', '|'])
        && !is_field(line)
        && item_of(line).is_none()
        && next.chars().count() > TITLE;
    is_title.then_some((line, rest))
}

/// `Status: done`, as at the head of a ticket.
fn is_field(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(key, _)| {
        key.chars().count() <= 24
            && key.starts_with(|c: char| c.is_uppercase() || is_cjk(c))
            && key.split(' ').count() <= 3
    })
}

/// What stands behind the mark of a list item, and its number; also such marks as Markdown does not
/// know.
fn item_of(line: &str) -> Option<(Option<usize>, &str)> {
    if let Some(item) = line.strip_prefix(['•', '·', '-', '*', '+']) {
        return item.starts_with(' ').then(|| (None, item.trim_start()));
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = (1..=3).contains(&digits).then(|| &line[digits..])?;
    let item = [". ", ") ", "、", "）"]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))?;
    Some((line[..digits].parse().ok(), item))
}

#[derive(Default)]
struct Reader {
    units: Vec<Unit>,
    title: String,
    heading: String,
    block: usize,
    /// What is being read, its lines apart.
    text: String,
    /// The next number of each list that is open, innermost last.
    lists: Vec<Option<u64>>,
    /// An item begins with what is being read; its number.
    item: Option<Item>,
    /// What the definitions that follow define.
    term: String,
    columns: Vec<String>,
    cells: Vec<String>,
    /// What opened the code that is being read.
    code: Option<Fence>,
    images: usize,
    in_heading: bool,
}

/// An item of a list, with its number where it has one.
struct Item(Option<usize>);

/// What opened a block of code.
enum Fence {
    /// A mark with the name of a language, or none.
    Marked(String),
    /// The space in front of its lines.
    Margin,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, source: &str, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, source, range),
            Event::End(tag) => self.end(tag, source, range),
            _ if self.images > 0 => {}
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(code) if self.in_heading => self.text.push_str(&code),
            Event::Code(_) => self.text.push_str(&source[range].replace("\\|", "|")),
            Event::SoftBreak | Event::HardBreak => self.text.push('\n'),
            Event::InlineHtml(tag) if tag.starts_with("<br") => self.text.push(' '),
            Event::InlineHtml(tag) => self.text.push_str(&tag),
            Event::Html(html) => self.text.push_str(&without_tags(&html)),
            Event::TaskListMarker(ticked) => {
                self.text.push(BOXES[usize::from(ticked)]);
                self.text.push(' ');
            }
            Event::Rule => {
                self.flush();
                self.block += 1;
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, source: &str, range: Range<usize>) {
        match tag {
            Tag::Emphasis => self.mark(source, range, 1),
            Tag::Strong | Tag::Strikethrough => self.mark(source, range, 2),
            Tag::Image { .. } => self.images += 1,
            Tag::Link { .. } => {}
            Tag::TableCell => self.text.clear(),
            Tag::TableRow => self.cells.clear(),
            other => {
                self.flush();
                match other {
                    Tag::Heading { .. } => self.in_heading = true,
                    Tag::List(first) => {
                        self.block += usize::from(self.lists.is_empty());
                        self.lists.push(first);
                    }
                    Tag::Item => self.item = Some(Item(self.next_number())),
                    Tag::DefinitionListDefinition => self.item = Some(Item(None)),
                    Tag::CodeBlock(CodeBlockKind::Indented) => self.code = Some(Fence::Margin),
                    Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
                        self.code = Some(Fence::Marked(language.to_string()));
                    }
                    Tag::Paragraph if self.lists.is_empty() => self.block += 1,
                    Tag::Table(_) => self.block += 1,
                    _ => {}
                }
            }
        }
    }

    fn end(&mut self, tag: TagEnd, source: &str, range: Range<usize>) {
        match tag {
            TagEnd::Emphasis => self.mark(source, range, 1),
            TagEnd::Strong | TagEnd::Strikethrough => self.mark(source, range, 2),
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            TagEnd::Link => {}
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::DefinitionListTitle => self.term = std::mem::take(&mut self.text),
            TagEnd::TableCell => self
                .cells
                .push(self.text.drain(..).collect::<String>().trim().to_owned()),
            TagEnd::TableHead => self.columns = std::mem::take(&mut self.cells),
            TagEnd::TableRow => {
                let cells = std::mem::take(&mut self.cells);
                self.row(self.columns.clone(), cells);
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.block += usize::from(self.lists.is_empty());
            }
            TagEnd::Item | TagEnd::DefinitionListDefinition => {
                self.flush();
                self.item = None;
            }
            TagEnd::DefinitionList => self.term.clear(),
            _ => self.flush(),
        }
    }

    /// Marks of emphasis stay, because an answer is Markdown too; in a heading they mean nothing.
    fn mark(&mut self, source: &str, range: Range<usize>, length: usize) {
        if !self.in_heading && self.images == 0 {
            let mark = source.get(range.start..range.start + length);
            self.text.push_str(mark.unwrap_or_default());
        }
    }

    fn next_number(&mut self) -> Option<usize> {
        let next = self.lists.last_mut()?.as_mut()?;
        let number = usize::try_from(*next).ok();
        *next += 1;
        number
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        self.in_heading = false;
        if self.text.chars().count() > HEADING {
            return self.flush();
        }
        let mut heading = String::new();
        for line in std::mem::take(&mut self.text).lines() {
            join(&mut heading, line);
        }
        if level == HeadingLevel::H1 && self.units.is_empty() && self.title.is_empty() {
            self.title.clone_from(&heading);
        }
        self.heading = heading;
        self.block += 1;
    }

    fn end_code(&mut self) {
        let text = std::mem::take(&mut self.text);
        let opened = self.code.take();
        if matches!(opened, Some(Fence::Margin)) && !looks_like_code(&text) {
            self.text = text;
            self.flush();
            return;
        }
        let language = match opened {
            Some(Fence::Marked(language)) => language,
            Some(Fence::Margin) | None => String::new(),
        };
        self.block += 1;
        self.push(fenced(&text, &language), UnitKind::Code);
        self.block += 1;
    }

    /// Ends what is being read: an item, or a paragraph of sentences, fields or rows.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        if lines.is_empty() {
            return;
        }
        if let Some(Item(number)) = self.item.take() {
            let term = self.term.trim();
            let begin = if term.is_empty() {
                String::new()
            } else {
                format!("{term}:")
            };
            self.join_item(begin, &lines, number);
        } else if lines.len() > 1 && lines.iter().all(|line| is_field(line)) {
            for line in lines {
                self.push(line.to_owned(), UnitKind::Item);
            }
        } else if lines.iter().all(|line| line.starts_with('|')) {
            self.rows_below_a_cut(&lines);
        } else {
            self.paragraph(&lines);
        }
    }

    fn join_item(&mut self, mut text: String, lines: &[&str], number: Option<usize>) {
        for line in lines {
            join(&mut text, line);
        }
        let before = self.units.len();
        self.push(text, UnitKind::Item);
        if let Some(unit) = self.units.get_mut(before) {
            unit.number = number;
        }
    }

    fn paragraph(&mut self, lines: &[&str]) {
        let first = lines
            .iter()
            .position(|line| item_of(line).is_some())
            .unwrap_or(lines.len());
        let (prose, items) = lines.split_at(first);
        let mut text = String::new();
        for line in prose {
            join(&mut text, line);
        }
        for range in sentences(&text) {
            self.push(text[range].trim().to_owned(), UnitKind::Sentence);
        }
        for item in items.chunk_by(|_, next| item_of(next).is_none()) {
            if let Some((number, begin)) = item_of(item[0]) {
                self.join_item(begin.to_owned(), &item[1..], number);
            }
        }
    }

    /// Rows of a table that began above the passage.
    fn rows_below_a_cut(&mut self, lines: &[&str]) {
        let is_rule = |line: &str| line.chars().all(|c| "-:| +".contains(c));
        for (at, line) in lines.iter().enumerate() {
            if at > 0 || !is_rule(line) {
                let cells = line
                    .trim_matches('|')
                    .split('|')
                    .map(|cell| cell.trim().to_owned());
                self.row(Vec::new(), cells.collect());
            }
        }
    }

    fn row(&mut self, columns: Vec<String>, cells: Vec<String>) {
        let before = self.units.len();
        self.push(told(&columns, &cells), UnitKind::Row);
        if let Some(unit) = self.units.get_mut(before) {
            unit.row = Some((columns, cells));
        }
    }

    fn push(&mut self, text: String, kind: UnitKind) {
        if text.chars().any(char::is_alphanumeric) {
            self.units
                .push(Unit::new(text, kind, &self.heading, self.block));
        }
    }
}

/// The next line of a paragraph: Chinese goes on without a space.
fn join(text: &mut String, line: &str) {
    let wide = |c: Option<char>| c.is_some_and(|c| is_cjk(c) || "，。：；！？、”“".contains(c));
    if !(text.is_empty() || wide(text.chars().next_back()) && wide(line.chars().next())) {
        text.push(' ');
    }
    text.push_str(line.trim());
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}
