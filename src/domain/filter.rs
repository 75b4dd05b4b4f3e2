//! Filters in a question: `"these words"`, `-word`, `file:notes/`, `type:pdf`, `after:2026-01`,
//! `before:2026-05-12`, `tag:house`.
//!
//! A new filter with a name is a row of [`FILTERS`] and a [`Condition`], which `kb::scope` checks. What only
//! looks like a filter stays text: what stands in backticks, a name before a space (`time: 12:30`), an address
//! (`file:///etc`), a date or kind that is none (which is said). A `-word` leaves out passages only at the
//! end of a question, so that in "what does -verbose do?" it stays a word.

use std::ops::Range;

use super::day::Day;
use super::file_format::{FILE_FORMATS, FileFormat, FileKind};
use super::mention::{
    begins_mention, ends_open, is_linking, is_mark_of_cjk_text, mentions, without_mentions,
};
use crate::text::{code_ranges, is_cjk};

/// More of them in one question are words.
const MOST: usize = 32;
/// What a filter says may be so long, in bytes.
const LONGEST: usize = 1000;
/// A word that is left out has so many letters; shorter ones are flags of commands.
const FEWEST_LETTERS: usize = 3;

/// A filter with a name, as it is written before a colon.
#[derive(Debug)]
pub struct FilterName {
    /// What is written before the colon.
    pub name: &'static str,
    /// What is found with it.
    pub help: &'static str,
    /// What is offered after the colon.
    pub offers: Offers,
    /// What it means; an error says what is allowed, after "`type:exe` …".
    parse: fn(&str) -> Result<Condition, String>,
}

/// What a filter is completed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offers {
    /// Documents and folders.
    Documents,
    /// Kinds of files that are there.
    Kinds,
    /// Some days of late.
    Days,
    /// Tags that are there.
    Tags,
}

/// Every filter with a name.
pub static FILTERS: &[FilterName] = &[
    FilterName {
        name: "file",
        help: "documents whose path holds this, or matches it as a glob",
        offers: Offers::Documents,
        parse: |value| Ok(Condition::File(value.to_owned())),
    },
    FilterName {
        name: "type",
        help: "documents of this kind, or with this ending",
        offers: Offers::Kinds,
        parse: |value| endings_of(value).map(Condition::Type).ok_or_else(no_kind),
    },
    FilterName {
        name: "after",
        help: "documents of this year, month or day, and later ones",
        offers: Offers::Days,
        parse: |value| day(value).map(Condition::After),
    },
    FilterName {
        name: "before",
        help: "documents of before this year, month or day",
        offers: Offers::Days,
        parse: |value| day(value).map(Condition::Before),
    },
    FilterName {
        name: "tag",
        help: "documents with this tag, or one below it",
        offers: Offers::Tags,
        parse: |value| Ok(Condition::Tag(tag_key(value))),
    },
];

/// What a filter asks of a passage or of its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The passage holds these words as they stand here.
    Phrase(String),
    /// The passage holds these words nowhere.
    Without(String),
    /// The document's path holds this, or matches it as a glob.
    File(String),
    /// The name of the document's file has one of these endings.
    Type(Vec<&'static str>),
    /// The document is of this day or a later one.
    After(Day),
    /// The document is of an earlier day.
    Before(Day),
    /// The document has this tag, in lower case, or one below it.
    Tag(String),
}

/// A filter as it stands in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// What it asks for.
    pub condition: Condition,
    /// The filter as it is written.
    pub written: String,
    /// Where in the question.
    pub range: Range<usize>,
}

/// What a question is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    /// The filters in their order.
    pub list: Vec<Filter>,
    /// What looks like one and is none, a sentence each.
    pub refused: Vec<String>,
}

impl FilterName {
    /// Whether it means something without what is offered for it: a part of a path, another day.
    pub fn takes_any(&self) -> bool {
        matches!(self.offers, Offers::Documents | Offers::Days)
    }
}

impl Condition {
    /// Whether it is about passages; else it is about whole documents.
    pub fn is_of_passages(&self) -> bool {
        matches!(self, Self::Phrase(_) | Self::Without(_))
    }
}

/// The filters of a question.
pub fn filters(question: &str) -> Filters {
    let mut found = Filters::default();
    let names = mentions(question).into_iter().map(|mention| mention.range);
    let mut other = Stretches::new(names.chain(code_ranges(question)));
    let (mut left_out, mut end) = (Vec::new(), 0);
    for at in starts(question) {
        if at < end || other.hold(at) {
            continue;
        }
        // Before the filters with names, so that one within `-"…"` is words of it.
        if let Some(filter) = left_out_at(question, at) {
            end = filter.range.end;
            left_out.push(filter);
            continue;
        }
        if found.list.len() == MOST {
            continue;
        }
        match filter_at(question, at) {
            Some(Ok(filter)) => {
                end = filter.range.end;
                found.list.push(filter);
            }
            Some(Err(refused)) if found.refused.len() < MOST => found.refused.push(refused),
            Some(Err(_)) | None => {}
        }
    }
    other.add(found.list.iter().map(|filter| filter.range.clone()));
    left_out.drain(..left_out.len() - count_at_end(question, &left_out, &other));
    let excess = (found.list.len() + left_out.len()).saturating_sub(MOST);
    found.list.extend(left_out.into_iter().skip(excess));
    found.list.sort_by_key(|filter| filter.range.start);
    found
}

/// The question without its filters; words in quotes stay.
pub fn without_filters(question: &str) -> String {
    let found = filters(question).list.into_iter();
    let dropped: Vec<Range<usize>> = found
        .filter(|filter| !matches!(filter.condition, Condition::Phrase(_)))
        .map(|filter| filter.range)
        .collect();
    if dropped.is_empty() {
        return question.to_owned();
    }
    let (mut left, mut from) = (String::new(), 0);
    for range in dropped {
        let before = &question[from..range.start];
        // Of the spaces around it one is enough.
        let is_spaced = left.is_empty() || left.ends_with(char::is_whitespace);
        left.push_str(if is_spaced {
            before.trim_start()
        } else {
            before
        });
        from = range.end;
    }
    let rest = &question[from..];
    let is_spaced = left.ends_with(char::is_whitespace);
    left.push_str(if is_spaced { rest.trim_start() } else { rest });
    left.trim().to_owned()
}

/// Whether a question may say where to look: by a name after an `@`, or by a filter.
pub fn may_be_limited(question: &str) -> bool {
    question.contains('@') || filters(question) != Filters::default()
}

/// The question without what only says where to look: filters, and names after an `@`.
pub fn without_limits(question: &str) -> String {
    without_mentions(&without_filters(question))
}

/// What stands before a caret from the name of a filter on, and what is offered there.
pub fn open_filter(before: &str) -> Option<(&str, &'static FilterName)> {
    let at = starts(before).filter(|at| {
        let rest = &before[*at..];
        let value = filter_name(rest).map(|(filter, colon)| (filter, &rest[colon..]));
        value.is_some_and(|(_, value)| ends_open(value))
    });
    let at = at.last()?;
    let (filter, _) = filter_name(&before[at..])?;
    Some((&before[at..], filter))
}

/// A filter as it is written with this value.
pub fn filter_of(filter: &FilterName, value: &str) -> String {
    let is_apart = |c: char| c.is_whitespace() || c == '"' || is_mark_of_cjk_text(c);
    let is_word = !value.contains(is_apart) && !value.ends_with(is_closing);
    if is_word {
        format!("{}:{value}", filter.name)
    } else {
        format!("{}:\"{}\"", filter.name, value.replace('"', ""))
    }
}

/// A tag as it is compared: `#House` is `house`.
pub fn tag_key(tag: &str) -> String {
    tag.trim().trim_start_matches('#').to_lowercase()
}

/// Where a filter may begin: where a mention may.
fn starts(question: &str) -> impl Iterator<Item = usize> {
    let places = question.char_indices().map(|(at, _)| at);
    places.filter(|at| begins_mention(&question[..*at]))
}

/// The words between quotes here, or what stands after a name of a filter.
fn filter_at(question: &str, at: usize) -> Option<Result<Filter, String>> {
    let rest = &question[at..];
    let filter = |condition, length| Filter {
        condition,
        written: rest[..length].to_owned(),
        range: at..at + length,
    };
    if let Some((phrase, length)) = quotation(rest) {
        let is_ended = rest[length..].chars().next().is_none_or(is_end);
        return is_ended.then(|| Ok(filter(Condition::Phrase(phrase.to_owned()), length)));
    }
    let (named, colon) = filter_name(rest)?;
    let (value, length) = value_of(&rest[colon..])?;
    let length = colon + length;
    let parsed = (named.parse)(value).map_err(|why| format!("{} {why}", &rest[..length]));
    Some(parsed.map(|condition| filter(condition, length)))
}

/// A `-word` or `-"some words"` here.
fn left_out_at(question: &str, at: usize) -> Option<Filter> {
    let rest = question[at..].strip_prefix('-')?;
    if !question[..at].ends_with(char::is_whitespace) {
        return None;
    }
    let (words, length) = quotation(rest).or_else(|| {
        let word = rest.split(char::is_whitespace).next()?;
        let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’');
        let count = word.chars().filter(|c| c.is_alphabetic()).count();
        let is_word = word.starts_with(char::is_alphabetic)
            && word.ends_with(char::is_alphanumeric)
            && word.chars().all(is_letter)
            && (count >= FEWEST_LETTERS || count > 1 && word.contains(is_cjk));
        is_word.then_some((word, word.len()))
    })?;
    Some(Filter {
        condition: Condition::Without(words.to_owned()),
        written: question[at..=at + length].to_owned(),
        range: at..at + 1 + length,
    })
}

/// How many of the `-word`s leave something out: those behind which nothing but filters and names comes, where
/// the words before them do not need what follows: "what is -name" asks for the name.
fn count_at_end(question: &str, left_out: &[Filter], other: &Stretches) -> usize {
    let (mut count, mut end) = (0, question.len());
    for filter in left_out.iter().rev() {
        if !is_blank(question, filter.range.end..end, other) {
            break;
        }
        (count, end) = (count + 1, filter.range.start);
    }
    if count == 0 {
        return 0;
    }
    let mut skipped = other.clone();
    skipped.add(left_out.iter().map(|filter| filter.range.clone()));
    let mut words = question[..end].split_whitespace().rev();
    let last = words.find(|word| {
        let at = word.as_ptr() as usize - question.as_ptr() as usize;
        !skipped.hold(at)
    });
    let is_asked =
        last.is_some_and(|word| word.contains(char::is_alphanumeric) && !is_linking(word));
    if is_asked { count } else { 0 }
}

/// Whether nothing but filters and names stands there.
fn is_blank(question: &str, range: Range<usize>, other: &Stretches) -> bool {
    let from = range.start;
    let mut rest = question[range].char_indices();
    rest.all(|(at, c)| c.is_whitespace() || c == ',' || other.hold(from + at))
}

/// Stretches of a question, in their order and without overlaps.
#[derive(Clone)]
struct Stretches(Vec<Range<usize>>);

impl Stretches {
    fn new(ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let mut stretches = Self(Vec::new());
        stretches.add(ranges);
        stretches
    }

    fn add(&mut self, ranges: impl Iterator<Item = Range<usize>>) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(ranges);
        all.sort_by_key(|range| range.start);
        for range in all {
            match self.0.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => self.0.push(range),
            }
        }
    }

    fn hold(&self, at: usize) -> bool {
        let next = self.0.partition_point(|range| range.start <= at);
        next > 0 && self.0[next - 1].contains(&at)
    }
}

/// What stands between straight quotes here, and how long that is with them.
fn quotation(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix('"')?;
    let end = inner.find(['"', '\n'])?;
    let words = inner[..end].trim();
    let is_phrase =
        inner[end..].starts_with('"') && end <= LONGEST && words.contains(char::is_alphanumeric);
    is_phrase.then_some((words, end + 2))
}

/// The filter whose name and colon stand here, and how long both are.
fn filter_name(text: &str) -> Option<(&'static FilterName, usize)> {
    FILTERS.iter().find_map(|filter| {
        let length = filter.name.len();
        let name = text.get(..length)?;
        let is_name = name.eq_ignore_ascii_case(filter.name) && text[length..].starts_with(':');
        is_name.then_some((filter, length + 1))
    })
}

/// What a filter says after its colon, and how long that is as it stands there.
fn value_of(text: &str) -> Option<(&str, usize)> {
    if text.starts_with('"') {
        return quotation(text);
    }
    // What is longer is none; looking further would make many such names slow.
    let near = &text[..text.floor_char_boundary(LONGEST + 4)];
    let end = match near.find(|c: char| c.is_whitespace() || is_mark_of_cjk_text(c)) {
        Some(end) => end,
        None if near.len() < text.len() => return None,
        None => text.len(),
    };
    let value = text[..end].trim_end_matches(is_closing);
    let is_value =
        value.contains(char::is_alphanumeric) && !value.starts_with("//") && value.len() <= LONGEST;
    is_value.then_some((value, value.len()))
}

/// Marks that end a sentence or an aside, and no value.
fn is_closing(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')')
}

/// What may come after words in quotes.
fn is_end(c: char) -> bool {
    c.is_whitespace() || is_closing(c) || is_cjk(c) || is_mark_of_cjk_text(c)
}

fn day(value: &str) -> Result<Day, String> {
    Day::first_of(value).ok_or_else(|| {
        "is no date and was read as words; write a year, month or day: 2026, 2026-01, 2026-01-12"
            .to_owned()
    })
}

fn no_kind() -> String {
    format!(
        "is no kind of file and was read as words; write an ending, as pdf or docx, or one of {}",
        kinds().join(", ")
    )
}

/// The names by which kinds of files are asked for.
fn kinds() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for format in read_formats() {
        if !names.contains(&format.short_name) {
            names.push(format.short_name);
        }
    }
    names
}

fn read_formats() -> impl Iterator<Item = &'static FileFormat> {
    let formats = FILE_FORMATS.iter();
    formats.filter(|format| format.is_read() && !format.endings.is_empty())
}

/// The endings of the files that are called so: by the name of a kind, else by an ending, else by a word of
/// the name of a kind.
fn endings_of(value: &str) -> Option<Vec<&'static str>> {
    let asked = value.trim().trim_start_matches(['.', '*']).to_lowercase();
    let all = |is_meant: &dyn Fn(&FileFormat) -> bool| -> Option<Vec<&'static str>> {
        let formats = read_formats().filter(|format| is_meant(format));
        let endings: Vec<_> = formats.flat_map(|format| format.endings).copied().collect();
        (!endings.is_empty()).then_some(endings)
    };
    let singular = asked.strip_suffix('s').unwrap_or(&asked);
    let is_asked = |name: &str| {
        let name = name.to_lowercase();
        name == asked || name == singular
    };
    all(&|format| is_asked(format.short_name) || is_asked(format.name))
        .or_else(|| {
            let format = read_formats().find(|format| format.endings.contains(&&*asked))?;
            // Of many languages one is meant.
            let is_mixed = matches!(format.kind, FileKind::Code | FileKind::Plain);
            let endings = format.endings.iter().copied();
            Some(
                endings
                    .filter(|ending| !is_mixed || *ending == asked)
                    .collect(),
            )
        })
        .or_else(|| all(&|format| format.name.split(' ').any(is_asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(question: &str) -> Vec<String> {
        let found = filters(question).list.into_iter();
        found.map(|filter| filter.written).collect()
    }

    #[test]
    fn filters_are_read_wherever_they_stand() {
        for (question, found, left) in [
            ("rent type:pdf", &["type:pdf"][..], "rent"),
            (
                "Type:PDF what is the rent?",
                &["Type:PDF"],
                "what is the rent?",
            ),
            (
                "what (file:house/) is the rent",
                &["file:house/"],
                "what () is the rent",
            ),
            (
                "rent after:2026-01 before:2026-05-12, tag:#house.",
                &["after:2026-01", "before:2026-05-12", "tag:#house"],
                "rent , .",
            ),
            (
                "the \"blue green\" way",
                &["\"blue green\""],
                "the \"blue green\" way",
            ),
            (
                "rent file:\"my notes\" now",
                &["file:\"my notes\""],
                "rent now",
            ),
            ("rent -draft", &["-draft"], "rent"),
            (
                "rent -draft -\"old plan\" @house/",
                &["-draft", "-\"old plan\""],
                "rent @house/",
            ),
            ("rent -\"old file:x\"", &["-\"old file:x\""], "rent"),
            (
                "rent type:md -\"see type:pdf\"",
                &["type:md", "-\"see type:pdf\""],
                "rent",
            ),
            ("rent \"x -\" y\"", &["\"x -\""], "rent \"x -\" y\""),
            ("租金 -草稿 type:pdf", &["-草稿", "type:pdf"], "租金"),
            ("合同type:pdf，租金", &["type:pdf"], "合同，租金"),
        ] {
            assert_eq!(written(question), found, "{question}");
            assert_eq!(without_filters(question), left, "{question}");
        }
    }

    #[test]
    fn what_only_looks_like_a_filter_is_text() {
        for question in [
            "a well-known item",
            "- item one",
            "at -5 °C",
            "what does -v do?",
            "what does -verbose do?",
            "what is -name",
            "what -abc is -name",
            "run it with -verbose",
            "use --flag",
            "list -rf",
            "-draft",
            "rent -draft?",
            "is -\"old file:x\" a filter?",
            "open file:///etc/hosts",
            "time: 12:30",
            "type: string",
            "see `type:pdf` and `-draft`",
            "profile:admin",
            "a 5\" pipe and a 6\" pipe",
            "an \"open quote",
            "@\"my notes/plan.md\" what",
            "“curly quotes” quote",
            "file: notes",
            "tag:",
        ] {
            assert_eq!(filters(question), Filters::default(), "{question}");
            assert_eq!(without_filters(question), question);
        }
    }

    #[test]
    fn what_is_no_date_or_kind_is_said_and_stays_words() {
        let found = filters("the rent after:lunch type:exe");
        assert!(found.list.is_empty());
        assert!(found.refused[0].starts_with("after:lunch is no date"));
        assert!(found.refused[1].contains("PDF, Word, slides"), "{found:?}");
        assert_eq!(without_filters("type:exe x"), "type:exe x");
    }

    #[test]
    fn kinds_are_known_by_name_and_ending() {
        for (asked, ending, other) in [
            ("pdf", "pdf", "md"),
            ("markdown", "md", "txt"),
            ("Word", "odt", "md"),
            ("doc", "docx", "md"),
            ("mails", "msg", "md"),
            ("code", "rs", "md"),
            ("rs", "rs", "py"),
            (".txt", "txt", "adoc"),
            ("text", "txt", "rtf"),
            ("sheet", "xlsx", "csv"),
        ] {
            let endings = endings_of(asked).unwrap_or_default();
            assert!(endings.contains(&ending), "{asked}: {endings:?}");
            assert!(!endings.contains(&other), "{asked}: {endings:?}");
        }
        assert_eq!(endings_of("zip"), None);
    }

    #[test]
    fn a_filter_is_open_until_its_value_ends() {
        for (before, typed) in [
            ("rent type:", Some("type:")),
            ("rent type:pd", Some("type:pd")),
            ("rent file:\"my no", Some("file:\"my no")),
            ("rent type:pdf ", None),
            ("rent file:\"my notes\"", None),
            ("profile:a", None),
        ] {
            let open = open_filter(before).map(|(typed, _)| typed);
            assert_eq!(open, typed, "{before}");
        }
        assert_eq!(filter_of(&FILTERS[0], "my notes/"), "file:\"my notes/\"");
    }

    #[test]
    fn the_longest_question_holds_no_more_filters_than_are_taken() {
        for (text, count) in [
            (" -abc", MOST),
            (" file:a", MOST),
            (" -\"a b\"", MOST),
            // Only the last value is short enough.
            ("(file:", 1),
            ("(-a", 0),
            (" -abc?", 0),
            (" `a` -abc", MOST),
        ] {
            let question = format!("rent{}", text.repeat((64 << 10) / text.len()));
            assert_eq!(filters(&question).list.len(), count, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_filters_that_do_not_overlap(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "-", "\"", "file:", "type:pdf", "after:2026", "tag:", "word", "草稿", "，", " ", " ", "(",
                    ")", ",", "`", "@", "a.md", "/", "\n", "é", "\u{2028}", "\0",
                ]),
                0..24,
            ),
            any in ".*",
        ) {
            for text in [parts.concat(), any] {
                let mut end = 0;
                for filter in filters(&text).list {
                    assert!(filter.range.start >= end, "{text:?}");
                    assert_eq!(&text[filter.range.clone()], filter.written);
                    end = filter.range.end;
                }
                without_limits(&text);
                may_be_limited(&text);
                open_filter(&text);
            }
        }
    }
}
