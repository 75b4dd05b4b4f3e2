//! A document at the lines of a passage, above all panes.
//!
//! The engine sends the lines; of them only those that are seen are laid out, so that a key costs
//! the same in a file of any length. The position is kept as a line and a row of it, because long
//! lines are wrapped.

mod colours;
mod compare;

use std::path::Path;

use ratatui::layout::Size;

use crate::domain::{EvidenceId, LineRange};
use crate::protocol::{DocumentPart, DocumentText, RunId, Timestamp};

use super::fold::EvidenceRow;
use super::ink::{Ink, Row};
use super::wrap::wrap;
use colours::CodeColours;

/// What is shown of one item of evidence.
#[derive(Debug, Clone)]
pub struct SourceView {
    /// The run that found it.
    pub run: RunId,
    /// The item.
    pub item: EvidenceId,
    /// Its file, as evidence names it.
    pub file: String,
    /// Why what is shown is not what was found.
    pub doubt: Option<String>,
    /// The rows that are seen, as settled.
    pub visible: Vec<Row>,
    /// Where the passage stands: as it was found, or where the changed file holds it now.
    lines: LineRange,
    excerpt: String,
    asked_at: Timestamp,
    /// The line around which the document was asked for, until it is here.
    awaited: Option<usize>,
    content: Content,
    colours: CodeColours,
    top: Position,
    /// The last line that is seen.
    bottom: usize,
    moving: SourceMove,
    height: usize,
}

/// How far the document is here.
#[derive(Debug, Clone)]
enum Content {
    Awaited,
    Here(DocumentPart),
    Missing(String),
}

/// A line of the document, and a row of that line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    line: usize,
    row: usize,
}

/// Where to go before the next drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceMove {
    By(isize),
    ToPassage,
    ToFirst,
    ToLast,
}

impl SourceView {
    /// The view of an item that a run found; the document is still to be asked for.
    pub fn new(run: RunId, asked_at: Timestamp, item: &EvidenceRow) -> Self {
        Self {
            run,
            item: item.id.clone(),
            file: item.file().to_owned(),
            doubt: None,
            visible: Vec::new(),
            lines: item.lines,
            excerpt: item.excerpt.clone(),
            asked_at,
            awaited: Some(item.lines.start),
            content: Content::Awaited,
            colours: CodeColours::default(),
            top: Position { line: 1, row: 0 },
            bottom: 1,
            moving: SourceMove::ToPassage,
            height: 0,
        }
    }

    /// Around which line the document is asked for at first.
    pub fn first_line(&self) -> usize {
        self.lines.start
    }

    /// Takes a document that was asked for; others are late.
    pub fn take(&mut self, text: DocumentText) {
        if text.source != self.file || self.awaited != Some(text.line) {
            return;
        }
        match text.part {
            Ok(part) => {
                let (doubt, moved) =
                    compare::compared(&part, self.lines, &self.excerpt, self.asked_at);
                // Only where the passage should stand can it be missed.
                let holds_it = part.line(self.lines.start).is_some() || part.first == 1;
                if holds_it || moved.is_some() {
                    self.doubt = doubt;
                    self.lines = moved.unwrap_or(self.lines);
                }
                self.awaited = None;
                self.colours = CodeColours::new(&part);
                self.content = Content::Here(part);
            }
            Err(reason) => self.fail(&reason),
        }
    }

    /// What is to be said of the document above it, a line each.
    pub fn remarks(&self) -> Vec<String> {
        self.missing()
            .into_iter()
            .chain(self.doubt.clone())
            .collect()
    }

    /// What the document holds and its text does not, on one line.
    fn missing(&self) -> Option<String> {
        let Content::Here(part) = &self.content else {
            return None;
        };
        let (first, others) = part.missing.split_first()?;
        Some(match others.len() {
            0 => format!("not read of it: {first}"),
            more => format!("not read of it: {first}; and {more} more"),
        })
    }

    /// Says why the document does not come.
    pub fn fail(&mut self, reason: &str) {
        self.awaited = None;
        self.content = Content::Missing(reason.to_owned());
    }

    /// Whether the document is still awaited.
    pub fn is_awaited(&self) -> bool {
        matches!(self.content, Content::Awaited)
    }

    /// Moves by rows.
    pub fn step(&mut self, by: isize) {
        self.moving = match self.moving {
            SourceMove::By(before) => SourceMove::By(before.saturating_add(by)),
            SourceMove::ToPassage if !self.visible.is_empty() && !self.is_awaited() => {
                SourceMove::By(by)
            }
            elsewhere => elsewhere,
        };
    }

    /// Moves by pages.
    pub fn page(&mut self, pages: isize) {
        self.step(pages * self.height.saturating_sub(2).max(1).cast_signed());
    }

    /// Scrolls to the first line of the document.
    pub fn first(&mut self) {
        self.moving = SourceMove::ToFirst;
    }

    /// Scrolls to the last line of the document.
    pub fn last(&mut self) {
        self.moving = SourceMove::ToLast;
    }

    /// Around which line the document must be asked for, because what is to be seen lies beyond
    /// what is here; from now on that is awaited.
    pub fn line_to_request(&mut self) -> Option<usize> {
        let Content::Here(part) = &self.content else {
            return None;
        };
        let (begins, ends) = (part.first == 1, part.last() >= part.total);
        let near = 2 * self.height.max(1);
        let line = match self.moving {
            _ if self.awaited.is_some() => return None,
            SourceMove::ToFirst if !begins => 1,
            SourceMove::ToLast if !ends => part.total,
            SourceMove::By(by) => {
                let line = self.top.line.saturating_add_signed(by);
                let before = !begins && line < part.first + near;
                let after = !ends && line + near > part.last();
                (before || after).then_some(line.clamp(1, part.total))?
            }
            _ => return None,
        };
        self.awaited = Some(line);
        Some(line)
    }

    /// Around which line to ask for the document once more, because it may have changed.
    pub fn request_again(&mut self) -> usize {
        let line = self.top.line;
        self.awaited = Some(line);
        line
    }

    /// The text of the passage and how many lines it has, as far as they are here.
    pub fn passage(&self) -> Option<(String, usize)> {
        let part = self.part()?;
        let numbers = self.lines.start..=self.lines.end.min(part.last());
        let lines: Vec<&str> = numbers.filter_map(|number| part.line(number)).collect();
        (!lines.is_empty()).then(|| (lines.join("\n"), lines.len()))
    }

    /// The file and the line at which an editor should open it: the passage's while that is in
    /// sight, else the first that is seen. `None` where the lines are not those of a file.
    pub fn in_file(&self) -> Option<(&Path, usize)> {
        let path = self.part()?.path.as_deref()?;
        let seen = self.top.line..=self.bottom;
        let line = if seen.contains(&self.lines.start) {
            self.lines.start
        } else {
            self.top.line
        };
        Some((path, line))
    }

    /// The first line that is seen, the last, and how many there are.
    pub fn range(&self) -> Option<(usize, usize, usize)> {
        let part = self.part()?;
        (part.total > 0).then_some((self.top.line, self.bottom, part.total))
    }

    /// Lays out what is seen.
    pub fn settle(&mut self, size: Size) {
        self.height = usize::from(size.height);
        let width = usize::from(size.width);
        let page = match &self.content {
            Content::Here(part) if !part.lines.is_empty() => {
                SourceRows::new(part, self.lines, width)
            }
            Content::Here(_) => return self.show_message(Ink::Dim, "the document is empty", width),
            Content::Awaited => return self.show_message(Ink::Dim, "reading …", width),
            Content::Missing(reason) => {
                let reason = reason.clone();
                return self.show_message(Ink::Warning, &reason, width);
            }
        };
        let top = self.top;
        let top = match self.moving {
            // The end of a longer document is not here yet.
            SourceMove::ToFirst if page.part.first > 1 => top,
            SourceMove::ToLast if page.part.last() < page.part.total => top,
            SourceMove::ToFirst => page.line_position(1),
            SourceMove::ToLast => page.line_position(page.part.last()),
            // Some lines before it say where the passage stands.
            SourceMove::ToPassage => page.move_by(
                page.line_position(self.lines.start),
                -(self.height / 5).min(6).cast_signed(),
            ),
            SourceMove::By(by) => page.move_by(page.at_position(top), by),
        };
        let arrived = match self.moving {
            SourceMove::ToFirst => page.part.first == 1,
            SourceMove::ToLast => page.part.last() >= page.part.total,
            SourceMove::ToPassage | SourceMove::By(_) => true,
        };
        let lowest = page.lowest(self.height);
        let top = page.at_position(top).min(lowest);
        self.colours
            .reach(page.part, top.line, top.line + self.height);
        let (rows, bottom) = page.rows(top, self.height, &self.colours);
        (self.top, self.visible, self.bottom) = (top, rows, bottom);
        // Until it is scrolled it stays at the passage, whatever becomes of the size.
        if arrived && self.moving != SourceMove::ToPassage {
            self.moving = SourceMove::By(0);
        }
    }

    fn show_message(&mut self, ink: Ink, words: &str, width: usize) {
        let indent = Row::new(ink, "  ");
        self.visible = wrap(&Row::new(ink, words), &indent, &indent, width);
    }

    fn part(&self) -> Option<&DocumentPart> {
        match &self.content {
            Content::Here(part) => Some(part),
            Content::Awaited | Content::Missing(_) => None,
        }
    }
}

/// Lines that are here, in rows of some width.
struct SourceRows<'a> {
    part: &'a DocumentPart,
    passage: LineRange,
    width: usize,
    digits: usize,
}

impl<'a> SourceRows<'a> {
    fn new(part: &'a DocumentPart, passage: LineRange, width: usize) -> Self {
        Self {
            part,
            passage,
            width,
            digits: part.total.to_string().len().max(3),
        }
    }

    fn line_position(&self, line: usize) -> Position {
        self.at_position(Position { line, row: 0 })
    }

    /// The position, or the nearest that there is.
    fn at_position(&self, at: Position) -> Position {
        let line = at.line.clamp(self.part.first, self.part.last());
        let row = if line == at.line { at.row } else { 0 };
        Position { line, row }
    }

    fn move_by(&self, from: Position, by: isize) -> Position {
        let Position { mut line, row } = from;
        let mut row = row.cast_signed().saturating_add(by);
        while row < 0 && line > self.part.first {
            line -= 1;
            row += self.line_rows(line).len().cast_signed();
        }
        while line < self.part.last() {
            // A step through a whole document does not lay out all of it.
            let rows = self.line_rows(line).len().cast_signed();
            if row < rows {
                break;
            }
            row -= rows;
            line += 1;
        }
        let row = row.max(0) as usize;
        Position { line, row }
    }

    /// The position at which the end is just seen.
    fn lowest(&self, height: usize) -> Position {
        let last = Position {
            line: self.part.last(),
            row: self.line_rows(self.part.last()).len(),
        };
        self.move_by(last, -height.cast_signed())
    }

    /// Rows from a position on, and the last line among them.
    fn rows(&self, from: Position, height: usize, colours: &CodeColours) -> (Vec<Row>, usize) {
        let mut rows = Vec::new();
        let mut skip = from.row;
        let mut bottom = from.line;
        for line in from.line..=self.part.last() {
            if rows.len() >= height {
                break;
            }
            let room = height - rows.len();
            let drawn = self.rows_of(line, colours.line(line));
            rows.extend(drawn.into_iter().skip(skip).take(room));
            skip = 0;
            bottom = line;
        }
        (rows, bottom)
    }

    /// A line with its number and, within the passage, its mark; above it the page, slide or sheet
    /// that begins there.
    fn line_rows(&self, number: usize) -> Vec<Row> {
        self.rows_of(number, None)
    }

    fn rows_of(&self, number: usize, coloured: Option<&Row>) -> Vec<Row> {
        let places = &self.part.places;
        let begin = places.partition_point(|(line, _)| *line < number);
        let named = places[begin..]
            .iter()
            .take_while(|(line, _)| *line == number);
        let gutter = " ".repeat(self.digits);
        let mut rows: Vec<Row> = named
            .map(|(_, name)| {
                Row::new(Ink::Border, format!("{gutter}   ── "))
                    .add(Ink::Heading, name.clone())
                    .add(Ink::Border, " ──")
                    .fit(self.width)
            })
            .collect();
        let inside = (self.passage.start..=self.passage.end).contains(&number);
        let (ink, mark) = if inside {
            (Ink::Citation, " ▌ ")
        } else {
            (Ink::Dim, "   ")
        };
        let first = Row::new(ink, format!("{number:>width$}{mark}", width = self.digits));
        let further = Row::new(ink, format!("{gutter}{mark}"));
        let plain = || {
            let text = self.part.line(number).unwrap_or_default();
            Row::new(Ink::Text, text.replace('\t', "    "))
        };
        let text = coloured.cloned().unwrap_or_else(plain);
        rows.extend(wrap(&text, &first, &further, self.width));
        rows
    }
}
