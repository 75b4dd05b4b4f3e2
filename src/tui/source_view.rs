//! A document at the lines of a passage, above all panes.
//!
//! The engine sends some of the lines. How many rows each takes at this width is counted once; what is
//! seen is laid out and coloured when it is drawn, with some lines before it: where a comment or a
//! string began before those, its end is mistaken until it is over.

use std::path::Path;

use ratatui::layout::Size;

use crate::domain::{EvidenceId, LineRange};
use crate::protocol::{DocumentPart, DocumentText, RunId, Timestamp};
use crate::text::one_line;

use super::fold::{EvidenceRow, RunView};
use super::ink::{Ink, Row, wrap};
use super::markdown::{CodeLines, SyntaxLanguage};
use super::pane_state::List;

/// Lines that are read for their colours before the first one seen.
const LEAD: usize = 150;

/// Lines that are shown of why a passage was found or was not.
const MOST_EXPLAINED: usize = 10;

/// What is shown of one item of evidence, or of a document as a whole.
#[derive(Debug, Clone)]
pub struct SourceView {
    /// The item and the run that found it; nothing where a document was opened by its name.
    pub found: Option<(RunId, EvidenceId)>,
    /// Its file, as evidence names it.
    pub file: String,
    /// Why what is shown is not what was found.
    pub doubt: Option<String>,
    /// Why a passage of it was found or was not, clean, a line each; empty until that is asked for.
    pub explanation: Vec<String>,
    /// The rows that are seen, as settled.
    pub visible: Vec<Row>,
    /// Where the passage stands: as it was found, or where the changed file holds it now.
    lines: LineRange,
    excerpt: String,
    asked_at: Timestamp,
    /// The line around which the document was asked for, until it is here.
    awaited: Option<usize>,
    /// The document; nothing until it is here, or one line that says why it does not come.
    content: Option<Result<DocumentPart, String>>,
    colours: CodeColours,
    /// How far it is scrolled, in rows of what is here.
    list: List,
    goal: Goal,
    rows: RowCounts,
}

/// Where to go before the next drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Stay,
    /// Goes to the passage until something else is wanted, whatever becomes of the size.
    Passage,
    First,
    Last,
}

/// Which rows the lines that are here take.
#[derive(Debug, Clone, Default)]
struct RowCounts {
    /// The width for which they were counted; none once other lines have come.
    width: Option<usize>,
    /// The number of the first line.
    first: usize,
    /// The first row of each line, and how many rows there are.
    starts: Vec<usize>,
}

impl RowCounts {
    fn line_at(&self, row: usize) -> usize {
        let lines = self.starts.len().saturating_sub(1);
        let at = self.starts.partition_point(|start| *start <= row);
        self.first + at.saturating_sub(1).min(lines.saturating_sub(1))
    }

    fn row_of(&self, line: usize) -> usize {
        let at = line.saturating_sub(self.first);
        let last = self.starts.len().saturating_sub(2);
        self.starts.get(at.min(last)).copied().unwrap_or(0)
    }

    fn count(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }
}

impl SourceView {
    /// The view of an item that a run found; the document is still to be asked for.
    pub fn new(run: &RunView, item: &EvidenceRow) -> Self {
        Self {
            found: Some((run.id.clone(), item.id.clone())),
            file: item.file.clone(),
            doubt: None,
            explanation: Vec::new(),
            visible: Vec::new(),
            lines: item.lines,
            excerpt: item.excerpt.clone(),
            asked_at: run.started,
            awaited: Some(item.lines.start),
            content: None,
            colours: CodeColours::default(),
            list: List::default(),
            goal: Goal::Passage,
            rows: RowCounts::default(),
        }
    }

    /// The view of a document from its first line; it is still to be asked for.
    pub fn of_document(file: String) -> Self {
        Self {
            found: None,
            file,
            doubt: None,
            explanation: Vec::new(),
            visible: Vec::new(),
            // No line is marked.
            lines: LineRange { start: 1, end: 0 },
            excerpt: String::new(),
            asked_at: Timestamp(0),
            awaited: Some(1),
            content: None,
            colours: CodeColours::default(),
            list: List::default(),
            goal: Goal::Stay,
            rows: RowCounts::default(),
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
                if self.found.is_some() {
                    self.look_for_passage(&part);
                }
                self.awaited = None;
                self.colours = CodeColours::new(&part);
                self.rows.width = None;
                self.content = Some(Ok(part));
            }
            Err(reason) => self.fail(&reason),
        }
    }

    fn look_for_passage(&mut self, part: &DocumentPart) {
        let (doubt, moved) = compared(part, self.lines, &self.excerpt, self.asked_at);
        // Only where the passage should stand can it be missed.
        let holds_it = part.line(self.lines.start).is_some() || part.first == 1;
        if holds_it || moved.is_some() {
            self.doubt = doubt;
            self.lines = moved.unwrap_or(self.lines);
        }
    }

    /// The line whose passage is asked about: that of the passage while it is in sight, else the first that is
    /// seen. `None` where an answer is shown, which goes then.
    pub fn ask_why(&mut self) -> Option<usize> {
        if !self.explanation.is_empty() {
            self.explanation.clear();
            return None;
        }
        self.explanation = vec!["looking …".to_owned()];
        Some(self.line_in_sight())
    }

    /// Takes the answer, unless it is not wanted any more.
    pub fn take_explanation(&mut self, lines: &[String]) {
        if !self.explanation.is_empty() {
            let lines = lines.iter().take(MOST_EXPLAINED);
            self.explanation = lines.map(|line| one_line(line, 400)).collect();
        }
    }

    /// What is to be said of the document above it, a line each.
    pub fn remarks(&self) -> Vec<String> {
        let missing = self.missing().into_iter();
        missing.chain(self.doubt.clone()).collect()
    }

    /// What the document holds and its text does not, on one line.
    fn missing(&self) -> Option<String> {
        let part = self.part()?;
        let (first, others) = part.missing.split_first()?;
        Some(match others.len() {
            0 => format!("not read of it: {first}"),
            more => format!("not read of it: {first}; and {more} more"),
        })
    }

    /// Says why the document does not come.
    pub fn fail(&mut self, reason: &str) {
        self.awaited = None;
        self.content = Some(Err(reason.to_owned()));
    }

    /// Whether the document is still awaited.
    pub fn is_awaited(&self) -> bool {
        self.content.is_none()
    }

    /// Moves by rows.
    pub fn step(&mut self, by: isize) {
        self.scroll(|list| list.step(by));
    }

    /// Moves by pages.
    pub fn page(&mut self, pages: isize) {
        let rows = self.visible.len().saturating_sub(2).max(1);
        self.step(pages * rows.cast_signed());
    }

    /// Moves, once the document is here and was drawn.
    fn scroll(&mut self, by: impl FnOnce(&mut List)) {
        let is_on_its_way = matches!(self.goal, Goal::First | Goal::Last);
        if !is_on_its_way && !self.visible.is_empty() && self.part().is_some() {
            by(&mut self.list);
            self.goal = Goal::Stay;
        }
    }

    /// Scrolls to the first line of the document.
    pub fn first(&mut self) {
        self.goal = Goal::First;
    }

    /// Scrolls to the last line of the document.
    pub fn last(&mut self) {
        self.goal = Goal::Last;
    }

    /// Around which line the document must be asked for, because what is to be seen lies beyond
    /// what is here; from now on that is awaited.
    pub fn line_to_request(&mut self) -> Option<usize> {
        let part = self.part()?;
        let (begins, ends) = (part.first == 1, part.last() >= part.total);
        let near = 2 * self.visible.len().max(1);
        let line = match self.goal {
            _ if self.awaited.is_some() => return None,
            Goal::First if !begins => 1,
            Goal::Last if !ends => part.total,
            Goal::Stay => {
                let line = self.rows.line_at(self.list.selected);
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
        let line = self.rows.line_at(self.list.top).max(1);
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
        Some((path, self.line_in_sight()))
    }

    /// The first line of the passage while it is in sight or nothing was drawn yet, else the first line seen.
    fn line_in_sight(&self) -> usize {
        let (top, bottom) = self.seen_lines();
        let is_seen = (top..=bottom).contains(&self.lines.start);
        if is_seen || self.part().is_none() || self.rows.count() == 0 {
            self.lines.start
        } else {
            top
        }
    }

    /// The first line that is seen, the last, and how many there are.
    pub fn range(&self) -> Option<(usize, usize, usize)> {
        let part = self.part()?;
        let (top, bottom) = self.seen_lines();
        (part.total > 0).then_some((top, bottom, part.total))
    }

    fn seen_lines(&self) -> (usize, usize) {
        let last = self.list.top + self.visible.len().saturating_sub(1);
        (self.rows.line_at(self.list.top), self.rows.line_at(last))
    }

    /// Lays out what is seen.
    pub fn settle(&mut self, size: Size) {
        let (width, height) = (usize::from(size.width), usize::from(size.height));
        let part = match &self.content {
            Some(Ok(part)) if !part.lines.is_empty() => part,
            Some(Ok(_)) => return self.show_message(Ink::Dim, "the document is empty", width),
            None => return self.show_message(Ink::Dim, "reading …", width),
            Some(Err(reason)) => {
                let reason = reason.clone();
                return self.show_message(Ink::Warning, &reason, width);
            }
        };
        let page = SourceRows {
            part,
            passage: self.lines,
            width,
            digits: part.total.to_string().len().max(3),
        };
        if self.rows.width != Some(width) {
            let line = self.rows.line_at(self.list.selected);
            self.rows = page.count();
            self.list.selected = self.rows.row_of(line);
        }
        let count = self.rows.count();
        match self.goal {
            Goal::First if part.first == 1 => {
                self.list.first();
                self.goal = Goal::Stay;
            }
            Goal::Last if part.last() >= part.total => {
                self.list.last(count);
                self.goal = Goal::Stay;
            }
            // Some lines before it say where the passage stands.
            Goal::Passage => {
                let above = (height / 5).min(6);
                self.list.selected = self.rows.row_of(self.lines.start).saturating_sub(above);
            }
            // The beginning or the end of a longer document is not here yet.
            Goal::First | Goal::Last | Goal::Stay => {}
        }
        self.list.settle_view(count, height);
        let first = self.rows.line_at(self.list.top);
        self.colours.reach(part, first, first + height);
        let skipped = self.list.top - self.rows.row_of(first);
        let lines = first..=part.last().min(first + height);
        let rows = lines.flat_map(|line| page.rows(line, self.colours.line(line)));
        self.visible = rows.skip(skipped).take(height).collect();
    }

    fn show_message(&mut self, ink: Ink, words: &str, width: usize) {
        let indent = Row::new(ink, "  ");
        self.visible = wrap(&Row::new(ink, words), &indent, &indent, width);
    }

    fn part(&self) -> Option<&DocumentPart> {
        self.content.as_ref()?.as_ref().ok()
    }
}

/// Lines that are here, in rows of some width.
struct SourceRows<'a> {
    part: &'a DocumentPart,
    passage: LineRange,
    width: usize,
    digits: usize,
}

impl SourceRows<'_> {
    /// Which rows the lines take.
    fn count(&self) -> RowCounts {
        let mut starts = vec![0];
        let mut end = 0;
        for number in self.part.first..=self.part.last() {
            end += self.rows(number, None).len();
            starts.push(end);
        }
        RowCounts {
            width: Some(self.width),
            first: self.part.first,
            starts,
        }
    }

    /// The pages, slides or sheets that begin with a line.
    fn places(&self, number: usize) -> &[(usize, String)] {
        let places = &self.part.places;
        let begin = places.partition_point(|(line, _)| *line < number);
        let end = places.partition_point(|(line, _)| *line <= number);
        &places[begin..end]
    }

    /// A line with its number and, within the passage, its mark; above it what begins there.
    fn rows(&self, number: usize, coloured: Option<&Row>) -> Vec<Row> {
        let gutter = " ".repeat(self.digits);
        let heading = |(_, name): &(usize, String)| {
            let row = Row::new(Ink::Border, format!("{gutter}   ── "));
            let row = row.add(Ink::Heading, name.as_str()).add(Ink::Border, " ──");
            row.fit(self.width)
        };
        let mut rows: Vec<Row> = self.places(number).iter().map(heading).collect();
        let is_inside = (self.passage.start..=self.passage.end).contains(&number);
        let (ink, mark) = if is_inside {
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

/// What has been read of the document so far.
#[derive(Debug, Clone, Default)]
struct CodeColours {
    language: Option<SyntaxLanguage>,
    /// The line with which it began, and what goes on behind the last row.
    reading: Option<(usize, CodeLines)>,
    rows: Vec<Row>,
}

impl CodeColours {
    /// For a document that has arrived; only the lines of a file are those of its language.
    fn new(part: &DocumentPart) -> Self {
        let path = part.path.as_deref().map(|path| path.to_string_lossy());
        let first = if part.first == 1 { part.line(1) } else { None };
        Self {
            language: path
                .and_then(|path| SyntaxLanguage::of_file(&path, first.unwrap_or_default())),
            ..Self::default()
        }
    }

    /// Reads on until these lines have their inks.
    fn reach(&mut self, part: &DocumentPart, first: usize, last: usize) {
        let Some(language) = self.language else {
            return;
        };
        let end = self.rows.len() + LEAD;
        let reaches = |begin: usize| begin <= first && first <= begin + end;
        let reading = self.reading.as_ref();
        let is_near = reading.is_some_and(|(begin, _)| reaches(*begin));
        if !is_near {
            let begin = first.saturating_sub(LEAD).max(part.first);
            self.reading = Some((begin, language.lines()));
            self.rows.clear();
        }
        let Some((begin, lines)) = &mut self.reading else {
            return;
        };
        while *begin + self.rows.len() <= last.min(part.last()) {
            let text = part.line(*begin + self.rows.len()).unwrap_or_default();
            let text = text.replace('\t', "    ");
            self.rows.push(lines.next_row(&text, Ink::Text));
        }
    }

    /// A line in its inks, once it has been read.
    fn line(&self, number: usize) -> Option<&Row> {
        let (begin, _) = self.reading.as_ref()?;
        self.rows.get(number.checked_sub(*begin)?)
    }
}

/// How many characters of a passage's beginning are looked for.
const BEGINNING: usize = 80;

/// What is to be said of a document that was read later than its passage was found, and where the
/// passage stands if it has moved. `excerpt` is the passage's beginning on one line.
pub fn compared(
    part: &DocumentPart,
    lines: LineRange,
    excerpt: &str,
    asked_at: Timestamp,
) -> (Option<String>, Option<LineRange>) {
    let beginning = excerpt.trim_end_matches('…').chars().take(BEGINNING);
    let beginning: String = beginning.collect();
    let beginning = beginning.trim();
    if stands_at(part, lines, beginning) {
        let written_since = part.modified.is_some_and(|modified| modified > asked_at);
        let said = "the file was written since; the passage begins as it did";
        return (written_since.then(|| said.to_owned()), None);
    }
    let length = lines.end.saturating_sub(lines.start);
    let place = |start| LineRange {
        start,
        end: start + length,
    };
    let begins = |number: &usize| could_begin(part, *number, beginning);
    let places = (part.first..=part.last()).filter(begins).map(place);
    let places = places.filter(|place| stands_at(part, *place, beginning));
    let moved = places.min_by_key(|place| place.start.abs_diff(lines.start));
    let said = match moved {
        Some(place) => format!("the file has changed since: the passage stands at {place} now"),
        None => "the file has changed since: the passage is not in it as it was found".to_owned(),
    };
    (Some(said), moved)
}

fn stands_at(part: &DocumentPart, lines: LineRange, beginning: &str) -> bool {
    let numbers = lines.start..=lines.end.min(lines.start + BEGINNING);
    let text: Vec<&str> = numbers.filter_map(|number| part.line(number)).collect();
    // Of a line that was cut, the rest cannot be compared.
    if text
        .iter()
        .any(|line| line.chars().count() > DocumentPart::LONGEST_LINE)
    {
        return true;
    }
    // A passage begins with a line, or within one that is too long for one passage.
    let first = text.iter().map(|line| one_line(line, usize::MAX));
    let first = first.map(|line| line.len()).find(|length| *length > 0);
    let at = one_line(&text.join("\n"), usize::MAX).find(beginning);
    at.is_some_and(|at| at < first.unwrap_or(0))
}

/// A cheap look at one line, because every line is looked at.
fn could_begin(part: &DocumentPart, number: usize, beginning: &str) -> bool {
    let first_word = beginning.split(' ').next().unwrap_or_default();
    let line = part.line(number).unwrap_or_default();
    !line.trim().is_empty() && line.contains(first_word)
}

#[cfg(test)]
mod compare_tests {
    use super::*;

    fn part(lines: &[&str], modified: u64) -> DocumentPart {
        DocumentPart {
            first: 1,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            total: lines.len(),
            modified: Some(Timestamp(modified)),
            ..DocumentPart::default()
        }
    }

    #[test]
    fn a_document_that_changed_says_so_and_where_its_passage_is_now() {
        let at = |start, end| LineRange { start, end };
        let asked = Timestamp(100);
        let now = part(&["# Title", "", "one  two", "\tthree", "end"], 50);
        let compared = |part: &DocumentPart, lines, excerpt| compared(part, lines, excerpt, asked);
        assert_eq!(compared(&now, at(3, 4), "one two three"), (None, None));
        assert_eq!(compared(&now, at(3, 4), "one two thr…"), (None, None));
        let (said, moved) = compared(&now, at(1, 2), "one two three");
        assert!(said.unwrap().contains("stands at 3-4 now"));
        assert_eq!(moved, Some(at(3, 4)));
        let (said, moved) = compared(&now, at(9, 10), "gone for good");
        assert!(said.unwrap().contains("not in it as it was found"));
        assert_eq!(moved, None);
        let written = part(&["one"], 200);
        let (said, moved) = compared(&written, at(1, 1), "one");
        assert!(said.unwrap().contains("written since"));
        assert_eq!(moved, None);
    }
}
