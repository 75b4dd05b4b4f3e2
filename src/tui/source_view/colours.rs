//! The lines of a document in the inks of their language.
//!
//! Only what is seen is read, and some lines before it, so that a long file costs no more than a short
//! one; where a comment or a string began before those, its end is mistaken until it is over.

use crate::protocol::DocumentPart;
use crate::tui::ink::{Ink, Row};
use crate::tui::syntax::{CodeLines, SyntaxLanguage};

/// Lines that are read before the first one seen.
const LEAD: usize = 150;

/// What has been read of the document so far.
#[derive(Debug, Clone, Default)]
pub struct CodeColours {
    language: Option<SyntaxLanguage>,
    /// The line with which it began, and what goes on behind the last row.
    reading: Option<(usize, CodeLines)>,
    rows: Vec<Row>,
}

impl CodeColours {
    /// For a document that has arrived; only the lines of a file are those of its language.
    pub fn new(part: &DocumentPart) -> Self {
        let path = part.path.as_deref().map(|path| path.to_string_lossy());
        let first = if part.first == 1 { part.line(1) } else { None };
        Self {
            language: path
                .and_then(|path| SyntaxLanguage::of_file(&path, first.unwrap_or_default())),
            ..Self::default()
        }
    }

    /// Reads on until these lines have their inks.
    pub fn reach(&mut self, part: &DocumentPart, first: usize, last: usize) {
        let Some(language) = self.language else {
            return;
        };
        let is_near = self
            .reading
            .as_ref()
            .is_some_and(|(begin, _)| *begin <= first && first <= begin + self.rows.len() + LEAD);
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
    pub fn line(&self, number: usize) -> Option<&Row> {
        let (begin, _) = self.reading.as_ref()?;
        self.rows.get(number.checked_sub(*begin)?)
    }
}
