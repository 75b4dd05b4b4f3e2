//! Documents and presentations of Microsoft Office, new and old, as Markdown.
//!
//! `office_oxide` reads them. Added to what it gives: the numbers that Word makes for headings and
//! clauses, which stand in no text, and comments beside what they are about instead of at the end.

use std::collections::{HashMap, VecDeque};
use std::io::Cursor;
use std::mem;

use office_oxide::docx::{
    BlockElement, DocxDocument, NumberFormat, Paragraph, ParagraphContent, RunContent,
};
use office_oxide::ir::{DocumentIR, Element, InlineContent, List, Section};
use office_oxide::limits::Limits;
use office_oxide::options::ParseOptions;
use office_oxide::{Document, DocumentFormat, OfficeError, ir};

use super::draft::{Draft, MAX_TEXT_BYTES};
use super::{Extraction, SkipReason, TextLayout, sheet};
use crate::domain::PlaceUnit;

const MEGABYTE: u64 = 1024 * 1024;

/// Reads a document, a presentation or a workbook.
pub(crate) fn document(bytes: Vec<u8>, format: DocumentFormat) -> Result<Extraction, SkipReason> {
    let mut options = ParseOptions::default();
    options.limits = Limits::strict();
    options.limits.package_entries = 20_000;
    options.limits.package_bytes = 200 * MEGABYTE;
    options.limits.part_bytes = 64 * MEGABYTE;
    options.limits.inflate_ratio = 300;
    options.limits.text_chars = MAX_TEXT_BYTES;
    options.limits.memory_bytes = 64 * MEGABYTE;
    let document = Document::from_reader_with(Cursor::new(bytes), format, &options)
        .map_err(|error| reason(&error))?;
    if let Some(book) = document.as_xlsx() {
        return sheet::xlsx(book);
    }
    if let Some(book) = document.as_xls() {
        return sheet::xls(book);
    }
    let mut content = document.to_ir();
    let numbers = document.as_docx().map(numbers).unwrap_or_default();
    let is_presentation = matches!(
        document.format(),
        DocumentFormat::Pptx | DocumentFormat::Ppt
    );
    drop(document);

    let mut draft = Draft::default();
    if content.metadata.text_truncated {
        content
            .metadata
            .warnings
            .iter()
            .for_each(|line| draft.note_missing(line));
    }
    let mut labels = Labels(numbers);
    let title = mem::take(&mut content.metadata.title);
    for (at, mut section) in mem::take(&mut content.sections).into_iter().enumerate() {
        section.elements.retain(|element| !is_slide_number(element));
        labels.apply(&mut section.elements);
        section.elements = with_comments_in_place(mem::take(&mut section.elements));
        if is_presentation {
            draft.part();
            draft.begin(PlaceUnit::Slide, section.title.as_deref(), at + 1);
        } else {
            // It repeats the first heading, without its number.
            section.title = None;
        }
        draft.push_apart(&markdown(section));
        if draft.is_full() {
            break;
        }
    }
    if is_presentation {
        return draft.finish(
            TextLayout::Markdown,
            title,
            "its slides are empty or pictures",
        );
    }
    draft.finish_sections(title, "its pages are empty or pictures")
}

/// Every slide says its own number, which is its place.
fn is_slide_number(element: &Element) -> bool {
    match element {
        Element::Paragraph(paragraph) => paragraph.placeholder_role.as_deref() == Some("sldNum"),
        Element::TextBox(of) => !of.content.is_empty() && of.content.iter().all(is_slide_number),
        _ => false,
    }
}

/// One section by itself.
fn markdown(section: Section) -> String {
    let mut alone = DocumentIR::default();
    alone.sections.push(section);
    alone.to_markdown()
}

/// Why a document of Office cannot be read.
fn reason(error: &OfficeError) -> SkipReason {
    let said = error.to_string();
    let says = |word: &str| said.to_lowercase().contains(word);
    if says("password") || says("encrypt") {
        SkipReason::Encrypted
    } else if says("limit") {
        SkipReason::UnpacksTooMuch(said)
    } else {
        SkipReason::Damaged(said)
    }
}

/// The numbers of paragraphs that are still to come, by the text that they stand before.
#[derive(Default)]
struct Labels(HashMap<String, VecDeque<String>>);

impl Labels {
    fn next(&mut self, text: &str) -> Option<String> {
        self.0.get_mut(text.trim())?.pop_front()
    }

    /// Writes the numbers where the document shows them.
    fn apply(&mut self, elements: &mut [Element]) {
        for element in elements {
            match element {
                Element::Heading(heading) => {
                    if let Some(label) = self.next(&ir::inline_to_text(&heading.content)) {
                        heading.content.insert(0, text(format!("{label} ")));
                    }
                }
                Element::List(list) => self.apply_to_list(list),
                Element::Table(table) => {
                    let cells = table.rows.iter_mut().flat_map(|row| &mut row.cells);
                    cells.for_each(|cell| self.apply(&mut cell.content));
                }
                _ => {}
            }
        }
    }

    /// Markdown counts a list by plain numbers; other numbers are written before their items.
    fn apply_to_list(&mut self, list: &mut List) {
        let mut is_plain = true;
        for item in &mut list.items {
            if let Some(Element::Paragraph(first)) = item.content.first_mut()
                && let Some(label) = self.next(&ir::inline_to_text(&first.content))
                && label.trim_end_matches('.').parse::<usize>().is_err()
            {
                first.content.insert(0, text(format!("{label} ")));
                is_plain = false;
            }
            item.nested
                .iter_mut()
                .for_each(|nested| self.apply_to_list(nested));
        }
        list.ordered &= is_plain;
    }
}

fn text(text: String) -> InlineContent {
    InlineContent::Text(ir::TextSpan {
        text,
        ..ir::TextSpan::default()
    })
}

/// Elements with each comment behind the element that it is about.
fn with_comments_in_place(elements: Vec<Element>) -> Vec<Element> {
    let is_comment = |element: &Element| {
        matches!(element, Element::Endnote(note)
            if note.marker.as_deref().is_some_and(|marker| marker.starts_with("Comment")))
    };
    let (comments, elements): (Vec<_>, Vec<_>) = elements.into_iter().partition(is_comment);
    let mut comments: Vec<Option<Element>> = comments.into_iter().map(Some).collect();
    let mut placed = Vec::with_capacity(elements.len() + comments.len());
    for element in elements {
        let mut about = Vec::new();
        comment_ids(&element, &mut about);
        placed.push(element);
        for id in about {
            let is_it = |comment: &&mut Option<Element>| matches!(comment, Some(Element::Endnote(note)) if note.id == id);
            placed.extend(comments.iter_mut().find(is_it).and_then(Option::take));
        }
    }
    placed.extend(comments.into_iter().flatten());
    placed
}

fn comment_ids(element: &Element, ids: &mut Vec<u32>) {
    let content = match element {
        Element::Paragraph(paragraph) => &paragraph.content,
        Element::Heading(heading) => &heading.content,
        Element::Table(table) => {
            let cells = table.rows.iter().flat_map(|row| &row.cells);
            cells
                .flat_map(|cell| &cell.content)
                .for_each(|inner| comment_ids(inner, ids));
            return;
        }
        Element::List(list) => {
            let items = list.items.iter().flat_map(|item| &item.content);
            items.for_each(|inner| comment_ids(inner, ids));
            return;
        }
        _ => return,
    };
    ids.extend(content.iter().filter_map(|inline| match inline {
        InlineContent::CommentRef(anchor) => Some(anchor.comment_id),
        _ => None,
    }));
}

/// The numbers that Word shows before its paragraphs, by the text of each, in order.
fn numbers(document: &DocxDocument) -> HashMap<String, VecDeque<String>> {
    let mut counters = Counters::default();
    let mut labels: HashMap<String, VecDeque<String>> = HashMap::new();
    let mut open: Vec<&BlockElement> = document.body.elements.iter().rev().collect();
    while let Some(block) = open.pop() {
        match block {
            BlockElement::Paragraph(paragraph) => {
                if let Some(label) = counters.label(document, paragraph) {
                    let text = paragraph_text(paragraph);
                    labels
                        .entry(text.trim().to_owned())
                        .or_default()
                        .push_back(label);
                }
            }
            BlockElement::Table(table) => {
                let cells = table.rows.iter().flat_map(|row| &row.cells);
                let blocks: Vec<_> = cells.flat_map(|cell| &cell.content).collect();
                open.extend(blocks.into_iter().rev());
            }
        }
    }
    labels
}

/// How far each level of each numbering has counted.
#[derive(Default)]
struct Counters(HashMap<u32, [u32; 9]>);

impl Counters {
    /// The number of the next paragraph; `None` where it has none, or a bullet.
    fn label(&mut self, document: &DocxDocument, paragraph: &Paragraph) -> Option<String> {
        let direct = paragraph.properties.as_ref();
        let own = direct.and_then(|own| own.numbering_ref.clone());
        let of_style = || {
            let styles = document.styles.as_ref()?;
            let effective = styles.effective_paragraph_properties(direct);
            effective.numbering_ref
        };
        let reference = own.or_else(of_style)?;
        let numbering = document.numbering.as_ref()?;
        let instance = numbering.instances.get(&reference.num_id)?;
        let depth = usize::from(reference.ilvl.min(8));
        let counts = self.0.entry(instance.abstract_num_id).or_default();
        let start = |level: usize| {
            numbering
                .resolve_start(reference.num_id, level as u8)
                .unwrap_or(1)
        };
        counts[depth] = match counts[depth] {
            0 => start(depth),
            count => count.saturating_add(1),
        };
        counts[depth + 1..].fill(0);
        let level = numbering.resolve_level(reference.num_id, reference.ilvl)?;
        if matches!(level.format, NumberFormat::Bullet | NumberFormat::None) {
            return None;
        }
        let mut label = level.level_text.clone();
        for (above, count) in counts.iter().enumerate().take(depth + 1) {
            let format = numbering
                .resolve_level(reference.num_id, above as u8)
                .map_or(&NumberFormat::Decimal, |level| &level.format);
            let count = match *count {
                0 => start(above),
                count => count,
            };
            label = label.replace(&format!("%{}", above + 1), &format_number(count, format));
        }
        Some(label.trim().to_owned()).filter(|label| !label.is_empty())
    }
}

fn format_number(count: u32, format: &NumberFormat) -> String {
    let letters = || {
        let letter = char::from(b'a' + ((count.max(1) - 1) % 26) as u8);
        letter
            .to_string()
            .repeat(((count.max(1) - 1) / 26 + 1).min(4) as usize)
    };
    match format {
        NumberFormat::LowerLetter => letters(),
        NumberFormat::UpperLetter => letters().to_uppercase(),
        NumberFormat::LowerRoman => roman(count),
        NumberFormat::UpperRoman => roman(count).to_uppercase(),
        _ => count.to_string(),
    }
}

fn roman(count: u32) -> String {
    const DIGITS: [[&str; 10]; 4] = [
        ["", "m", "mm", "mmm", "", "", "", "", "", ""],
        ["", "c", "cc", "ccc", "cd", "d", "dc", "dcc", "dccc", "cm"],
        ["", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc"],
        ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"],
    ];
    let count = count.min(3999) as usize;
    let places = DIGITS.iter().zip([1000, 100, 10, 1]);
    places
        .map(|(digits, place)| digits[count / place % 10])
        .collect()
}

/// The text of a paragraph as `office_oxide` gives it in its content.
fn paragraph_text(paragraph: &Paragraph) -> String {
    let mut said = String::new();
    let runs = paragraph.content.iter().flat_map(|content| match content {
        ParagraphContent::Run(run) => std::slice::from_ref(run),
        ParagraphContent::Hyperlink(link) => link.runs.as_slice(),
    });
    for piece in runs.flat_map(|run| &run.content) {
        match piece {
            RunContent::Text(text) => said.push_str(text),
            RunContent::Tab => said.push('\t'),
            RunContent::Break(_) => said.push('\n'),
            _ => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_in_the_way_that_their_format_asks() {
        let said = |count| {
            [
                format_number(count, &NumberFormat::Decimal),
                format_number(count, &NumberFormat::LowerLetter),
                format_number(count, &NumberFormat::UpperRoman),
            ]
        };
        assert_eq!(said(4), ["4", "d", "IV"]);
        assert_eq!(said(28), ["28", "bb", "XXVIII"]);
    }
}
