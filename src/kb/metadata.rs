//! What a document says of itself that questions are limited by: its day and its tags.
//!
//! They are kept with the document in the index, so that a question asks for neither texts nor files.

use super::extract::{Extraction, TextLayout};
use super::index::DocumentMetadata;
use crate::domain::{Day, tag_key};
use crate::text::code_ranges;

/// Keys of a document's day in its metadata, the first that is there counts.
const DAY_KEYS: &[&str] = &["date", "created", "published"];
/// Keys of its tags.
const TAG_KEYS: &[&str] = &["tags", "tag"];
/// A line with the day stands among so many, as the head of a mail does.
const HEAD_LINES: usize = 20;
/// The most tags of one document.
const MOST_TAGS: usize = 200;
/// Longer ones, in bytes, are no tags.
const LONGEST_TAG: usize = 100;

/// The day and the tags of a document.
pub(super) fn document_metadata(document: &Extraction) -> DocumentMetadata {
    let fields = document.fields();
    let of_keys = |keys: &[&str]| -> Vec<String> {
        let values = keys.iter().flat_map(|key| {
            let own = fields
                .iter()
                .filter(|(own, _)| own.eq_ignore_ascii_case(key));
            own.flat_map(|(_, values)| values.iter().cloned())
        });
        values.collect()
    };
    let mut days = of_keys(DAY_KEYS).into_iter();
    let mut tags: Vec<String> = of_keys(TAG_KEYS);
    if document.shape == TextLayout::Markdown {
        tags.extend(tags_in(&document.text));
    }
    let mut metadata = DocumentMetadata {
        day: days
            .find_map(|day| Day::first_of(&day))
            .or_else(|| day_in_head(&document.text)),
        tags: Vec::new(),
    };
    for tag in tags.iter().map(|tag| tag_key(tag)) {
        let is_new = !tag.is_empty() && tag.len() <= LONGEST_TAG && !metadata.tags.contains(&tag);
        if is_new && metadata.tags.len() < MOST_TAGS {
            metadata.tags.push(tag);
        }
    }
    metadata
}

/// The day on a line such as `Date: 2026-01-12T09:30:00Z` among the first.
fn day_in_head(text: &str) -> Option<Day> {
    text.lines().take(HEAD_LINES).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim_matches(|c: char| !c.is_alphanumeric());
        let value = value.trim_matches(|c: char| !c.is_alphanumeric());
        let is_whole = value.len() >= "2026-01-12".len();
        (is_whole && name.eq_ignore_ascii_case("date"))
            .then(|| Day::first_of(value))
            .flatten()
    })
}

/// Tags as they are written within Markdown: `#house`, `#house/garden`; one has a letter. What stands in
/// code is none.
fn tags_in(text: &str) -> Vec<String> {
    let is_of_tag = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let tags = text.match_indices('#').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + 1..];
        let tag = &rest[..rest.find(|c| !is_of_tag(c)).unwrap_or(rest.len())];
        let is_tag = before.is_none_or(|c| c.is_whitespace() || c == '(')
            && tag.contains(char::is_alphabetic);
        is_tag.then_some((at, tag))
    });
    let mut tags = tags.peekable();
    if tags.peek().is_none() {
        return Vec::new();
    }
    let code = code_ranges(text);
    // Tags and code come in the order of the text, so that each is passed once.
    let mut code = code.iter().peekable();
    let in_text = tags.filter(|(at, _)| {
        while code.next_if(|range| range.end <= *at).is_some() {}
        code.peek().is_none_or(|range| range.start > *at)
    });
    let found = in_text.map(|(_, tag)| tag.trim_end_matches('/').to_owned());
    found.take(MOST_TAGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(source: &str, text: &str) -> (Option<String>, Vec<String>) {
        let metadata = document_metadata(&Extraction::of_text(source, text.to_owned()));
        (metadata.day.map(|day| day.to_string()), metadata.tags)
    }

    #[test]
    fn a_document_says_its_day_and_its_tags() {
        let text = "---\ntitle: A\ndate: 2026-01-12\ntags: [House, \"#garden\"]\n---\n# A\n\n#house #to/do \
                    #12 a#b `#code` (#aside)\n\n```\n#fenced\n```\n";
        let (day, tags) = labels("a.md", text);
        assert_eq!(day.as_deref(), Some("2026-01-12"));
        assert_eq!(tags, ["house", "garden", "to/do", "aside"]);
        let (day, tags) = labels("a.txt", "From: A\nDate: 2025-11-21T09:30:00Z\n\n#no\n");
        assert_eq!((day.as_deref(), tags.len()), (Some("2025-11-21"), 0));
        let (day, _) = labels("a.md", "---\ndate: soon\n---\n# A\n\nThe date: not today\n");
        assert_eq!(day, None);
    }

    #[test]
    fn tags_behind_many_in_code_are_found() {
        let text = format!("{}\n#last\n", "` #a` ".repeat(300_000));
        assert_eq!(labels("a.md", &text).1, ["last"]);
    }
}
