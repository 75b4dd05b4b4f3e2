//! PDF, page by page.
//!
//! `tame` first makes the file harmless; then each page is read for itself, so that one that
//! cannot be read costs only itself. Where a page ends in the middle of a sentence, so do its
//! lines: what stands on which page is a matter of places, not of paragraphs.

use std::panic::{self, AssertUnwindSafe};

use pdf_extract::{
    Document, MediaBox, OutputDev, OutputError, PlainTextOutput, Transform, decode_text_string,
};

use super::draft::Draft;
use super::{Extraction, SkipReason, TextLayout};
use crate::domain::PlaceUnit;

mod tame;

/// No page says more.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Reads all pages that can be read.
pub(super) fn document(bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    tame::check_packed(&bytes)?;
    let locked = memchr::memmem::find(&bytes, b"/Encrypt").is_some();
    let mut pdf = match Document::load_mem(&bytes) {
        Ok(pdf) if pdf.is_encrypted() => return Err(SkipReason::Encrypted),
        Ok(pdf) => pdf,
        Err(_) if locked => return Err(SkipReason::Encrypted),
        Err(error) => return Err(SkipReason::Damaged(error.to_string())),
    };
    drop(bytes);
    let sizes = tame::streams(&mut pdf);
    let title = title(&pdf);
    let pages = pdf.get_pages();
    if pages.is_empty() {
        return Err(SkipReason::Damaged("it has no pages".to_owned()));
    }
    let mut draft = Draft::default();
    let mut unread = 0;
    let mut ended = true;
    for (&number, &page) in &pages {
        let text = tame::page(&mut pdf, page, &sizes).and_then(|()| read(&pdf, number));
        tame::release(&mut pdf, page);
        let Some(text) = text else {
            unread += 1;
            continue;
        };
        let text = tidy(&text);
        if ended {
            draft.part();
        }
        draft.begin(PlaceUnit::Page, None, number as usize);
        draft.push(&text);
        ended = !text.ends_with(|c: char| c.is_alphanumeric() || c == ',');
        if draft.is_full() {
            break;
        }
    }
    if unread > 0 {
        tracing::debug!(
            unread,
            pages = pages.len(),
            "pages of a PDF could not be read"
        );
    }
    if unread == pages.len() {
        return Err(SkipReason::Damaged(
            "none of its pages can be read".to_owned(),
        ));
    }
    draft.finish(
        TextLayout::Plain,
        title,
        "its pages are pictures; run text recognition (OCR) on it first",
    )
}

fn read(pdf: &Document, number: u32) -> Option<String> {
    let mut text = String::new();
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut page = PdfPage {
            inner: PlainTextOutput::new(&mut text),
            left: MAX_PAGE_BYTES,
        };
        pdf_extract::output_doc_page(pdf, &mut page, number)
    }));
    // What was read before the page broke is worth having.
    match read {
        Ok(Ok(())) => Some(text),
        _ if text.trim().is_empty() => None,
        _ => Some(text),
    }
}

/// A page's text, up to a limit.
struct PdfPage<'a> {
    inner: PlainTextOutput<&'a mut String>,
    left: usize,
}

impl OutputDev for PdfPage<'_> {
    fn begin_page(
        &mut self,
        number: u32,
        media: &MediaBox,
        art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.inner.begin_page(number, media, art)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.inner.end_page()
    }

    fn output_character(
        &mut self,
        trm: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        said: &str,
    ) -> Result<(), OutputError> {
        self.left = self
            .left
            .checked_sub(said.len().max(1))
            .ok_or(OutputError::FormatError(std::fmt::Error))?;
        self.inner
            .output_character(trm, width, spacing, font_size, said)
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.inner.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.inner.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.inner.end_line()
    }
}

/// Letters that were printed as one come apart, words that were cut at the end of a line come
/// together, and of blank lines one is enough.
fn tidy(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut line = unligated(&words.join(" "));
        let blank_before = lines.last().is_none_or(String::is_empty);
        if line.is_empty() && blank_before {
            continue;
        }
        if let Some(last) = lines.last_mut()
            && let Some(rest) = continues(last, &line)
        {
            last.pop();
            last.push_str(&line[..line.len() - rest.len()]);
            let rest = rest.trim_start().to_owned();
            line = rest;
            if line.is_empty() {
                continue;
            }
        }
        lines.push(line);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n")
}

/// What follows the second half of a word whose first half ends `before`; `None` when there is no
/// such word.
fn continues<'l>(before: &str, line: &'l str) -> Option<&'l str> {
    let half = before.strip_suffix(['-', '\u{ad}'])?;
    let cut = half.ends_with(char::is_lowercase) && line.starts_with(char::is_lowercase);
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    cut.then(|| &line[end..])
}

fn unligated(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => plain.push_str("st"),
            c => plain.push(c),
        }
    }
    plain
}

/// What the document calls itself, unless a program called it so.
fn title(pdf: &Document) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let info = match info.as_reference() {
        Ok(id) => pdf.get_dictionary(id).ok()?,
        Err(_) => info.as_dict().ok()?,
    };
    let title = decode_text_string(info.get(b"Title").ok()?).ok()?;
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

    #[test]
    fn words_that_were_cut_come_together() {
        let text = "The \u{fb01}rst exam-\nple of  many\n\n\n\nA-\nB and x-\n";
        assert_eq!(tidy(text), "The first example\nof many\n\nA-\nB and x-");
    }
}
