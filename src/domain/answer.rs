use serde::{Deserialize, Serialize};

use super::{Confidence, EvidenceId, LineRange, Place, location};
use crate::text::sanitize;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The run ended with an answer.
    Answered,
    /// The knowledge base holds no answer, and the answer says so.
    NotFound,
    /// The user stopped it.
    Cancelled,
    /// Something broke.
    Failed,
}

words!(Outcome: Answered "answered", NotFound "not_found", Cancelled "cancelled", Failed "failed");

impl Outcome {
    /// Whether the run went its whole way: what a run that broke off left undone was not saved.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Answered | Self::NotFound)
    }
}

/// `[n]` in an answer, and the passage it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The number between the brackets, from 1.
    pub n: usize,
    /// The item.
    pub id: EvidenceId,
    /// Its file.
    pub source: String,
    /// Its lines.
    #[serde(flatten)]
    pub lines: LineRange,
    /// Its place, in a format that has pages, slides, rows or sections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The lines of it that the answer repeats word for word, where an engine quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quoted: Vec<LineRange>,
}

impl Citation {
    /// Where in the document, as a person looks it up.
    pub fn location(&self) -> String {
        location(self.lines, self.place.as_ref())
    }
}

/// Lines that an answer repeats word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotation {
    /// The number of the item in the text of the answer, from 1.
    pub n: usize,
    /// The lines in the item's file.
    pub lines: LineRange,
}

/// What one question came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text, with `[n]` marks.
    pub text: String,
    /// What the marks stand for, in the order in which the text first uses them.
    pub citations: Vec<Citation>,
    /// Answered or not found.
    pub outcome: Outcome,
    /// How likely it is right, where that was measured.
    pub confidence: Option<Confidence>,
    /// Where the quotation below it begins, in bytes, where there is one.
    pub quotation_from: Option<usize>,
}

impl Answer {
    /// What was written, without the quotation below it.
    pub fn text_without_quotation(&self) -> &str {
        written_part(&self.text, self.quotation_from)
    }
}

/// An answer up to where the quotation below it begins.
pub fn written_part(text: &str, quotation_from: Option<usize>) -> &str {
    let written = quotation_from.and_then(|at| text.get(..at));
    written.unwrap_or(text)
}

/// How far a sentence of an answer is carried by the evidence that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentenceSupport {
    /// Where it begins in the text of the answer, in bytes.
    pub start: usize,
    /// Where it ends. A citation that the program added stands right behind it.
    pub end: usize,
    /// Whether one of the sources says it.
    pub supported: bool,
    /// The number of the citation that the program added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<usize>,
}

impl SentenceSupport {
    /// The same of the text without its control sequences; `None` where it lies outside of the text.
    pub fn within_clean(&self, text: &str) -> Option<Self> {
        let place = |at: usize| Some(sanitize(text.get(..at)?).len());
        Some(Self {
            start: place(self.start)?,
            end: place(self.end)?,
            ..*self
        })
    }

    /// How many bytes the citation takes that the program put behind it.
    pub fn added_len(&self) -> usize {
        self.added.map_or(0, |n| added_mark(n).len())
    }
}

/// The citation that the program puts behind a sentence.
pub fn added_mark(n: usize) -> String {
    format!(" [{n}]")
}

/// What is written behind a sentence that no source says, where nothing can be drawn.
pub const NOT_IN_THE_SOURCES: &str = " (not in the sources)";

/// The text of an answer with a note behind each sentence that no source says.
pub fn with_support_notes(text: &str, sentences: &[SentenceSupport]) -> String {
    let mut noted = String::with_capacity(text.len());
    let mut from = 0;
    for sentence in sentences.iter().filter(|sentence| !sentence.supported) {
        // A log may have been masked since.
        let Some(before) = text.get(from..sentence.end) else {
            break;
        };
        noted.push_str(before);
        noted.push_str(NOT_IN_THE_SOURCES);
        from = sentence.end;
    }
    noted.push_str(text.get(from..).unwrap_or_default());
    noted
}

/// The text of an answer as a quotation that stands below it.
pub fn quotation_below(text: &str) -> String {
    let lines = text.lines().map(|line| match line {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    });
    format!("\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// One question and its answer as the conversation remembers them: text only, no sources (R25).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What was asked.
    pub question: String,
    /// What was answered, without citation marks.
    pub answer: String,
}
