//! PDF, page by page.
//!
//! `unpdf` reads the pages. Where a page ends in the middle of a sentence, so do its lines: what
//! stands on which page is a matter of places, not of paragraphs. What stands at the edge of most
//! pages is said once.

use std::collections::HashMap;
use std::mem;
use std::ops::ControlFlow;
use std::path::Path;

use encoding_rs::Encoding;
use unicode_normalization::UnicodeNormalization;
use unpdf::model::{Block, Page};
use unpdf::parser::raw::tokenizer::dict_get;
use unpdf::parser::raw::{PdfDict, RawDocument};
use unpdf::{Error, ErrorKind, FormField, Metadata, PageStreamOptions, ParseEvent, PdfParser};

use super::draft::{Draft, escaped, markdown_table};
use super::{Extraction, SkipReason, TextLayout};
use crate::domain::PlaceUnit;

/// What is said of pages without text; text recognition looks for it.
pub(super) const PICTURE_PAGE: &str = "only a picture: install ocrmypdf, then set KB_AGENT_OCR=1";
/// A line at the edge of so many pages is their head or foot.
const REPEATED_ON: usize = 3;
/// Heads and feet are looked for among so many blocks at either edge of a page.
const EDGE: usize = 2;
/// A number that counts pages has no more digits.
const MAX_PAGE_DIGITS: usize = 4;
/// Words that follow a half of a compound which shares its other half: `pre- and postfix`.
const JOINING: &[&str] = &[
    "and", "or", "to", "und", "oder", "bis", "bzw.", "et", "ou", "y", "o", "e", "en", "of", "og",
    "och",
];
/// A head or foot is no longer.
const MAX_EDGE_CHARS: usize = 120;

/// Reads all pages that can be read.
pub(super) fn document(_: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let mut reading = PdfReader {
        notes: notes(bytes),
        ..PdfReader::default()
    };
    PdfParser::from_bytes(bytes)
        .and_then(|parser| {
            let options = PageStreamOptions {
                parallel: false,
                ..PageStreamOptions::default()
            };
            parser.for_each_page(options, |event| reading.take(event))
        })
        .map_err(|error| reason(&error))?;
    reading.finish()
}

fn reason(error: &Error) -> SkipReason {
    match error.kind() {
        ErrorKind::Encrypted => SkipReason::Encrypted,
        _ => SkipReason::Damaged(error.to_string()),
    }
}

#[derive(Default)]
struct PdfReader {
    metadata: Metadata,
    fields: Vec<FormField>,
    /// What readers noted on the pages, by their numbers.
    notes: HashMap<usize, Vec<String>>,
    /// The text of each block of each page, by the page's number.
    pages: Vec<(usize, Vec<String>)>,
    draft: Draft,
    failed: Vec<usize>,
    pictures: Vec<usize>,
    unreadable: Vec<usize>,
    text_bytes: usize,
}

impl PdfReader {
    fn take(&mut self, event: ParseEvent) -> ControlFlow<()> {
        match event {
            ParseEvent::DocumentStart {
                metadata,
                form_fields,
                ..
            } => {
                self.metadata = metadata;
                self.fields = form_fields;
            }
            ParseEvent::PageParsed(page) => self.take_page(&page),
            ParseEvent::PageFailed { page, .. } => self.failed.push(page as usize),
            ParseEvent::DocumentEnd { quality } => {
                let read = self.pages.len() + self.failed.len();
                let declared = quality.declared_page_count.unwrap_or(0) as usize;
                if declared > read {
                    let gone = declared - read;
                    self.draft.note_missing(format!(
                        "{gone} of {declared} pages: they are not in the file"
                    ));
                } else if quality.pages_incomplete || quality.xref_reconstructed {
                    self.draft.note_missing(
                        "the file is damaged or cut off: pages or parts of them may be missing",
                    );
                }
            }
            ParseEvent::Progress { .. } => {}
        }
        if self.text_bytes > super::MAX_TEXT_BYTES {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn take_page(&mut self, page: &Page) {
        let number = page.number as usize;
        let mut blocks = blocks(page);
        blocks.extend(self.notes.remove(&number).unwrap_or_default());
        if blocks.is_empty() && (page.image_op_count > 0 || page.ocr_text_suppressed) {
            self.pictures.push(number);
        }
        if page.suppressed_text_runs + page.undecodable_content_streams > 0 {
            self.unreadable.push(number);
        }
        self.text_bytes += blocks.iter().map(String::len).sum::<usize>();
        self.pages.push((number, blocks));
    }

    fn finish(mut self) -> Result<Extraction, SkipReason> {
        let all = self.pages.len() + self.failed.len();
        if all == 0 {
            return Err(SkipReason::Damaged(
                "no page of it can be found; it may be cut off".to_owned(),
            ));
        }
        if self.pages.is_empty() {
            return Err(SkipReason::Damaged(
                "none of its pages can be read".to_owned(),
            ));
        }
        drop_repeated_edges(&mut self.pages);
        join_cut_words(&mut self.pages);
        let mut draft = self.draft;
        for (numbers, why) in [
            (&self.failed, "cannot be read"),
            (&self.pictures, PICTURE_PAGE),
            (
                &self.unreadable,
                "text in a font that does not say which letters it holds",
            ),
        ] {
            if !numbers.is_empty() {
                draft.note_missing(format!("{} of {all}: {why}", pages_named(numbers)));
            }
        }
        let mut is_ended = true;
        for (number, blocks) in &self.pages {
            for (at, block) in blocks.iter().enumerate() {
                if is_ended || at > 0 {
                    draft.part();
                }
                if at == 0 {
                    draft.begin(PlaceUnit::Page, None, *number);
                }
                draft.push(block);
            }
            if let Some(last) = blocks.last() {
                is_ended = !last.ends_with(|c: char| c.is_alphanumeric() || c == ',');
            }
        }
        add_fields(&mut draft, &self.fields);
        if !draft.has_text() && self.pictures.len() == all {
            return Err(SkipReason::Scan);
        }
        draft.finish(
            TextLayout::Markdown,
            self.metadata.title.and_then(|title| own_title(&title)),
            "its pages are empty or drawings",
        )
    }
}

/// What annotations of the pages say: notes, comments on passages, text typed over the page.
fn notes(bytes: &[u8]) -> HashMap<usize, Vec<String>> {
    const SAYING: [&[u8]; 7] = [
        b"Text",
        b"FreeText",
        b"Highlight",
        b"Underline",
        b"StrikeOut",
        b"Squiggly",
        b"Caret",
    ];
    let mut notes: HashMap<usize, Vec<String>> = HashMap::new();
    let Ok(document) = RawDocument::load(bytes) else {
        return notes;
    };
    let value = |dict: &PdfDict, key: &[u8]| {
        let value = dict_get(dict, key)?;
        let text = text_string(document.resolve(value).as_str_bytes()?);
        Some(text).filter(|text| !text.trim().is_empty())
    };
    for (number, page) in document.pages() {
        let Ok(page) = document.get_dict(page) else {
            continue;
        };
        let all = dict_get(page, b"Annots").and_then(|all| document.resolve(all).as_array());
        for note in all.unwrap_or_default() {
            let Some(note) = document.resolve(note).as_dict() else {
                continue;
            };
            let kind = dict_get(note, b"Subtype").and_then(|kind| kind.as_name());
            if !kind.is_some_and(|kind| SAYING.contains(&kind)) {
                continue;
            }
            if let Some(said) = value(note, b"Contents") {
                let author = value(note, b"T").map(|author| format!(" ({author})"));
                let note = format!("Note{}: {}", author.unwrap_or_default(), words(&said));
                notes.entry(number as usize).or_default().push(note);
            }
        }
    }
    notes
}

/// A text string of the format: UTF-16 by its mark, else UTF-8, else nearly Latin-1.
fn text_string(bytes: &[u8]) -> String {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => encoding.decode_without_bom_handling(&bytes[mark..]).0,
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => {
                encoding_rs::WINDOWS_1252
                    .decode_without_bom_handling(bytes)
                    .0
            }
        },
    }
    .into_owned()
}

/// The blocks of a page that say something, as Markdown.
fn blocks(page: &Page) -> Vec<String> {
    let level = |block: Option<&Block>| match block {
        Some(Block::Paragraph(paragraph)) => paragraph.style.heading_level,
        _ => None,
    };
    let mut blocks = Vec::new();
    for (at, block) in page.elements.iter().enumerate() {
        let said = match block {
            Block::Paragraph(paragraph) => {
                let text = words(&paragraph.plain_text());
                match level(Some(block)) {
                    // One over another is a line of large letters.
                    Some(own) if level(page.elements.get(at + 1)).is_none_or(|next| next > own) => {
                        format!("{} {text}", "#".repeat(usize::from(own.clamp(1, 6))))
                    }
                    _ => escaped(&text),
                }
            }
            Block::Table(rows) => {
                let cells = rows.rows.iter().map(|row| {
                    let cells = row.cells.iter();
                    cells.map(unpdf::TableCell::plain_text).collect()
                });
                markdown_table(&cells.collect::<Vec<_>>())
            }
            Block::Code { content } | Block::Raw { content } => content.clone(),
            _ => continue,
        };
        if said.chars().any(|c| !c.is_whitespace() && c != '#') {
            blocks.push(said);
        }
    }
    blocks
}

fn words(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut said = String::with_capacity(line.len());
        for word in line.split_whitespace() {
            // Letters that were set as one are found as two.
            let is_joined = word.contains(|c| matches!(c, '\u{fb00}'..='\u{fb06}'));
            let parted = is_joined.then(|| word.nfkc().collect::<String>());
            let word = parted.as_deref().unwrap_or(word);
            if is_cut(&said) && word.starts_with(char::is_lowercase) && !JOINING.contains(&word) {
                said.pop();
            } else if !said.is_empty() {
                said.push(' ');
            }
            said.push_str(word);
        }
        said
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a text ends in the middle of a word.
fn is_cut(text: &str) -> bool {
    let half = text.strip_suffix(['-', '\u{ad}', '\u{2010}']);
    half.is_some_and(|half| half.ends_with(char::is_lowercase))
}

/// Takes heads and feet off every page but one.
fn drop_repeated_edges(pages: &mut [(usize, Vec<String>)]) {
    let is_edge = |at: usize, count: usize| at < EDGE || at + EDGE >= count;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (page, blocks) in pages.iter() {
        let count = blocks.len();
        let edges = blocks
            .iter()
            .enumerate()
            .filter(|(at, _)| is_edge(*at, count));
        for key in edges.flat_map(|(_, block)| edge_keys(block, *page)) {
            *seen.entry(key).or_default() += 1;
        }
    }
    let most = (pages.len() / 2).max(REPEATED_ON - 1);
    seen.retain(|_, on| *on > most);
    let mut left = seen.clone();
    for (page, blocks) in pages {
        let count = blocks.len();
        let mut stays = |at: usize, block: &str| {
            let keys = edge_keys(block, *page).into_iter();
            let key = keys
                .filter(|_| is_edge(at, count))
                .max_by_key(|key| seen.get(key));
            let Some((key, left)) = key.and_then(|key| left.get_mut(&key).map(|left| (key, left)))
            else {
                return true;
            };
            let is_first = *left == seen[&key];
            *left -= 1;
            // A head stays on the first of its pages, a foot on the last.
            if at * 2 < count { is_first } else { *left == 0 }
        };
        let kept: Vec<bool> = (0..count).map(|at| stays(at, &blocks[at])).collect();
        // A page of which nothing would be left has no head.
        if kept.contains(&true) {
            let mut kept = kept.into_iter();
            blocks.retain(|_| kept.next().unwrap_or(true));
        }
    }
}

/// What a block has in common with the same head or foot of other pages: its text, and its text
/// with one number counted from that of its page. Other numbers say something.
fn edge_keys(block: &str, page: usize) -> Vec<String> {
    if block.chars().count() > MAX_EDGE_CHARS || block.contains('\n') {
        return Vec::new();
    }
    let mut keys = vec![block.to_owned()];
    let mut at = 0;
    for piece in block.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let number = piece.trim_end_matches(|c: char| !c.is_ascii_digit());
        if (1..=MAX_PAGE_DIGITS).contains(&number.len())
            && let Ok(count) = number.parse::<usize>()
        {
            let (before, after) = (&block[..at], &block[at + number.len()..]);
            keys.push(format!("{before}#{}{after}", count.wrapping_sub(page)));
        }
        at += piece.len();
    }
    keys
}

/// Puts a word together whose halves stand on two pages.
fn join_cut_words(pages: &mut [(usize, Vec<String>)]) {
    for at in 1..pages.len() {
        let (before, after) = pages.split_at_mut(at);
        let (Some(last), Some(first)) = (before[at - 1].1.last_mut(), after[0].1.first_mut())
        else {
            continue;
        };
        if is_cut(last) && first.starts_with(char::is_lowercase) {
            last.pop();
            let end = first.find(char::is_whitespace).unwrap_or(first.len());
            let rest = first.split_off(end).trim_start().to_owned();
            last.push_str(&mem::replace(first, rest));
        }
    }
}

/// What a form was filled in with, where the pages do not show it.
fn add_fields(draft: &mut Draft, fields: &[FormField]) {
    let filled = fields.iter().filter_map(|field| {
        let value = field.display_value();
        let is_said = value.trim().is_empty() || draft.says(value.trim());
        (!is_said).then(|| format!("{}: {value}", field.name))
    });
    let filled: Vec<String> = filled.collect();
    if !filled.is_empty() {
        draft.push_apart(&filled.join("\n"));
    }
}

/// `page 2`, `pages 2, 5 and 7 others`.
fn pages_named(numbers: &[usize]) -> String {
    const NAMED: usize = 8;
    let named: Vec<String> = numbers
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let unit = if numbers.len() == 1 { "page" } else { "pages" };
    match numbers.len().saturating_sub(NAMED) {
        0 => format!("{unit} {}", named.join(", ")),
        others => format!("{unit} {} and {others} others", named.join(", ")),
    }
}

/// What the document calls itself, unless a program called it so.
fn own_title(title: &str) -> Option<String> {
    let title = title.trim().trim_start_matches("Microsoft Word - ").trim();
    let lower = title.to_lowercase();
    let is_file = [
        ".doc", ".docx", ".indd", ".tex", ".dvi", ".pptx", ".ppt", ".pdf",
    ]
    .iter()
    .any(|ending| lower.ends_with(ending));
    let is_nothing = lower.is_empty() || lower.starts_with("untitled") || lower == "(anonymous)";
    (!is_file && !is_nothing).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pages: &[&[&str]]) -> Vec<(usize, Vec<String>)> {
        let blocks = |blocks: &[&str]| blocks.iter().map(|&block| block.to_owned()).collect();
        pages
            .iter()
            .enumerate()
            .map(|(at, page)| (at + 1, blocks(page)))
            .collect()
    }

    #[test]
    fn a_head_is_said_once_and_a_word_over_two_pages_is_whole() {
        let head = "ACME Confidential";
        let mut read = pages(&[
            &[head, "One.", "It is a configu-", "Page 1 of 3"],
            &[head, "ration of one", "Two.", "Page 2 of 3"],
            &[head, "Three.", "End.", "Page 3 of 3"],
        ]);
        drop_repeated_edges(&mut read);
        join_cut_words(&mut read);
        assert_eq!(read[0].1, [head, "One.", "It is a configuration"]);
        assert_eq!(read[1].1, ["of one", "Two."]);
        assert_eq!(read[2].1, ["Three.", "End.", "Page 3 of 3"]);
    }

    #[test]
    fn numbers_at_the_edge_of_pages_that_count_no_pages_stay() {
        let mut read = pages(&[
            &["Invoice 48213", "Pump", "1"],
            &["Invoice 51788", "Valve", "2"],
            &["Invoice 50011", "Rope", "3"],
            &["Invoice 50012", "Left blank", "4"],
        ]);
        drop_repeated_edges(&mut read);
        assert_eq!(read[0].1, ["Invoice 48213", "Pump"]);
        assert_eq!(read[1].1, ["Invoice 51788", "Valve"]);
        assert_eq!(read[2].1, ["Invoice 50011", "Rope"]);
        assert_eq!(read[3].1, ["Invoice 50012", "Left blank", "4"]);
    }

    #[test]
    fn a_page_that_is_nothing_but_its_head_stays() {
        let mut read = pages(&[&["ACME"], &["ACME"], &["ACME"], &["ACME"]]);
        drop_repeated_edges(&mut read);
        assert!(read.iter().all(|(_, blocks)| blocks == &["ACME"]));
    }

    #[test]
    fn words_cut_at_the_end_of_a_line_are_whole_and_compounds_keep_their_hyphen() {
        assert_eq!(words("about effec- tive  work"), "about effective work");
        assert_eq!(
            words("pre- and postfix, A- b, 3- x"),
            "pre- and postfix, A- b, 3- x"
        );
        assert_eq!(
            words("of\u{fb01}ce a\u{fb03}liation ½"),
            "office affiliation ½"
        );
    }

    #[test]
    fn pages_are_named_up_to_a_number() {
        assert_eq!(pages_named(&[3]), "page 3");
        assert_eq!(
            pages_named(&(1..=10).collect::<Vec<_>>()),
            "pages 1, 2, 3, 4, 5, 6, 7, 8 and 2 others"
        );
    }
}
