//! Headings of the user's documents that a question can be made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kb::{Document, KbError, KnowledgeBase};
use crate::text::{is_chinese, one_line};

use super::overview::kind;

/// So many documents are looked into, spread over the base.
const DOCUMENTS: usize = 40;
/// So many passages of each.
const PASSAGES: usize = 6;
/// The longest heading that is used, in characters.
const LONGEST: usize = 48;
/// The most words of one.
const MOST_WORDS: usize = 7;

/// Headings that say nothing about their document.
const GENERIC: &[&str] = &[
    "introduction",
    "overview",
    "contents",
    "table of contents",
    "index",
    "summary",
    "conclusion",
    "conclusions",
    "references",
    "appendix",
    "notes",
    "readme",
    "changelog",
    "license",
    "todo",
    "faq",
    "abstract",
    "background",
    "untitled",
    "unreleased",
    "added",
    "changed",
    "fixed",
    "目录",
    "简介",
    "概述",
    "总结",
    "前言",
    "附录",
];

/// A heading fit for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SampleHeading {
    pub(super) text: String,
    pub(super) source: String,
    /// Hash of the document's text.
    pub(super) hash: [u8; 32],
    /// Whether it is the document's first.
    pub(super) is_title: bool,
}

/// Headings fit for questions.
pub(super) struct SampleHeadings {
    /// All headings in the order of their documents, each once.
    pub(super) all: Vec<SampleHeading>,
    /// Whether most documents have most of theirs in Chinese.
    pub(super) are_chinese: bool,
}

impl SampleHeadings {
    /// Whether it is in another language than most documents are: it is used where nothing else is.
    pub(super) fn is_foreign(&self, heading: &SampleHeading) -> bool {
        is_chinese(&heading.text) != self.are_chinese
    }
}

/// The documents that are looked into.
pub(super) fn chosen(
    base: &KnowledgeBase,
    stop: &AtomicBool,
) -> Result<Vec<Arc<Document>>, KbError> {
    // Rows and code have names of sheets and files in their place.
    let has_headings = |source: &str| {
        matches!(
            kind(source).as_str(),
            "Markdown" | "Word" | "slides" | "web page" | "book" | "reStructuredText" | "Org"
        )
    };
    let mut fit = 0_usize;
    base.for_each_document(stop, |one| fit += usize::from(has_headings(&one.source)))?;
    let every = fit.div_ceil(DOCUMENTS).max(1);
    let (mut at, mut chosen) = (0_usize, Vec::new());
    base.for_each_document(stop, |one| {
        if has_headings(&one.source) {
            if at.is_multiple_of(every) {
                chosen.push(Arc::clone(one));
            }
            at += 1;
        }
    })?;
    Ok(chosen)
}

/// Headings that a question can be made of.
pub(super) fn headings(base: &KnowledgeBase, stop: &AtomicBool) -> Result<SampleHeadings, KbError> {
    let mut found: Vec<SampleHeading> = Vec::new();
    let (mut chinese, mut others) = (0, 0);
    for document in chosen(base, stop)? {
        go_on(stop)?;
        let source = &document.source;
        let headings = base.headings(source, PASSAGES, stop)?;
        let in_chinese = headings.iter().filter(|text| is_chinese(text)).count();
        match headings.len() {
            0 => {}
            all if 2 * in_chinese > all => chinese += 1,
            _ => others += 1,
        }
        for (at, heading) in headings.iter().enumerate() {
            let Some(text) = usable(heading) else {
                continue;
            };
            let folded = text.to_lowercase();
            if found
                .iter()
                .all(|known| known.text.to_lowercase() != folded)
            {
                found.push(SampleHeading {
                    text,
                    source: source.clone(),
                    hash: document.hash,
                    is_title: at == 0,
                });
            }
        }
    }
    Ok(SampleHeadings {
        all: found,
        are_chinese: chinese > others,
    })
}

/// The heading without its number and marks; `None` where no question can be made of it.
fn usable(heading: &str) -> Option<String> {
    let line = one_line(heading, LONGEST + 16);
    let bare = without_number(&line).trim_end_matches(['.', ':', '：', '。', '!', ' ', '-']);
    let folded = bare.to_lowercase();
    let letters = bare.chars().filter(|c| c.is_alphabetic()).count();
    let least = if is_chinese(bare) { 2 } else { 3 };
    // Marks of a language, a link or a command.
    let is_plain = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '\'' | '’' | '?' | '？' | '、')
    };
    let is_fit = letters >= least
        && bare.chars().count() <= LONGEST
        && bare.split_whitespace().count() <= MOST_WORDS
        && bare.chars().all(is_plain)
        && !GENERIC.contains(&folded.as_str());
    is_fit.then(|| bare.to_owned())
}

/// `2.1 Opening hours` and `3) Tools` without what counts them; a year stays.
fn without_number(line: &str) -> &str {
    let counts = |first: &str| {
        first.starts_with(|c: char| c.is_ascii_digit())
            && first
                .chars()
                .all(|c| c.is_ascii_digit() || ".)".contains(c))
            && (first.len() < 3 || first.contains(['.', ')']))
    };
    match line.split_once(' ') {
        Some((first, rest)) if counts(first) => rest,
        _ => line,
    }
}

/// An error once it is to stop.
pub(super) fn go_on(stop: &AtomicBool) -> Result<(), KbError> {
    if stop.load(Ordering::Relaxed) {
        return Err(KbError::Stopped);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_short_headings_become_questions() {
        for (heading, used) in [
            ("Opening hours", Some("Opening hours")),
            ("2.1 Opening hours:", Some("Opening hours")),
            ("3D printing", Some("3D printing")),
            ("2024 budget", Some("2024 budget")),
            ("租金", Some("租金")),
            ("Introduction", None),
            ("2024", None),
            ("`rm -rf /`", None),
            ("<script>alert</script>", None),
            ("See [here](http://example.org)", None),
            ("a heading that goes on and on and never ends", None),
            ("x\u{1b}[2Jyz", Some("xyz")),
        ] {
            assert_eq!(usable(heading).as_deref(), used, "{heading}");
        }
        let endless = "word".repeat(1000);
        assert_eq!(usable(&endless), None);
    }
}
