//! What a question is limited to: filters, and names after an `@`.
//!
//! Filters are `"these words"`, `-word`, `file:notes/`, `type:pdf`, `after:2026-01`, `before:2026-05-12` and
//! `tag:house`. A new one with a name is a row of [`FILTERS`] and a [`Condition`], which `kb::scope` checks.
//! Names are `@house/`, `@notes/plan.md`, `@*.md` and `@"my notes/plan.md"`. Without quotes a name must look like a
//! path, so that `@Override` and `@alice` stay words. Chinese has no spaces: there a name ends where text follows the
//! ending of a file, or the `/` of a folder.
//!
//! What only looks like a filter stays text: what stands in backticks, a name before a space (`time: 12:30`), an
//! address (`file:///etc`), a date or kind that is none (which is said). A `-word` leaves out passages only behind
//! all words, so that in "what does -verbose do?" it stays a word; how many it leaves out is always said.

use std::ops::Range;

use super::day::Day;
use super::file_format::{FILE_FORMATS, FileFormat, endings_of, kind_names};
use crate::text::{code_ranges, is_chinese, is_cjk};

/// More filters in one question are words.
const MOST_FILTERS: usize = 32;
/// More names in one question are words.
const MOST_NAMES: usize = 16;
/// What a filter says, and a name, may be so long, in bytes.
const LONGEST: usize = 1000;
/// A word that is left out has so many letters; shorter ones are flags of commands.
const FEWEST_LETTERS: usize = 3;
/// Fewer words say nothing without the name that follows them.
const ENOUGH_WORDS: usize = 3;

/// Words that need what comes after them.
const LINKING: &[&str] = &[
    "a", "about", "and", "are", "as", "at", "between", "by", "for", "from", "in", "inside", "is",
    "of", "on", "or", "than", "the", "to", "under", "versus", "vs", "with", "within",
];

/// The same in Chinese.
const LINKING_ZH: [char; 8] = ['和', '与', '在', '从', '对', '把', '及', '跟'];

/// Words that take up what goes before them.
const JOINING: &[&str] = &["and", "or", "with", "vs", "versus", "than"];

/// The same in Chinese, and words that say where in it.
const JOINING_ZH: [char; 17] = [
    '和', '与', '跟', '及', '或', '同', '对', '比', '以', '里', '中', '内', '的', '说', '讲', '写',
    '还',
];

/// Marks of scripts without spaces.
const CJK_MARKS: &str = "，。？！；：、（）《》「」“”";

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
#[rustfmt::skip]
pub static FILTERS: &[FilterName] = &[
    FilterName { name: "file", help: "documents whose path holds this, or matches it as a glob", offers: Offers::Documents,
        parse: |value| Ok(Condition::File(value.to_owned())) },
    FilterName { name: "type", help: "documents of this kind, or with this ending", offers: Offers::Kinds,
        parse: |value| endings_of(value).map(Condition::Type).ok_or_else(no_kind) },
    FilterName { name: "after", help: "documents of this year, month or day, and later ones", offers: Offers::Days,
        parse: |value| day(value).map(Condition::After) },
    FilterName { name: "before", help: "documents of before this year, month or day", offers: Offers::Days,
        parse: |value| day(value).map(Condition::Before) },
    FilterName { name: "tag", help: "documents with this tag, or one below it", offers: Offers::Tags,
        parse: |value| Ok(Condition::Tag(tag_key(value))) },
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

/// A name after an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// A document, a folder with or without its `/`, or a pattern.
    pub name: String,
    /// Where in the question, the `@` included.
    pub range: Range<usize>,
}

/// What stands in a question besides words.
enum Piece<'q> {
    /// A name after an `@`.
    Name(&'q str),
    /// Words in quotes, or a filter with a name; an error says why it is none.
    Filter(Result<Condition, String>),
    /// `-word`, which leaves out passages only where no more words follow.
    Without(&'q str),
    /// What stands in backticks, which is text.
    Code,
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

/// What stands in a question besides words, in its order, with the place of each.
fn pieces(question: &str) -> Vec<(Range<usize>, Piece<'_>)> {
    let mut pieces = Vec::new();
    let mut code = code_ranges(question).into_iter().peekable();
    let mut end = 0;
    for (at, _) in question.char_indices() {
        while code.next_if(|range| range.end <= at).is_some() {}
        let piece = match code.peek() {
            _ if at < end => None,
            Some(range) if range.start <= at => Some((Piece::Code, range.end - at)),
            _ if begins_mention(&question[..at]) => piece_at(question, at),
            _ => None,
        };
        if let Some((piece, length)) = piece {
            end = at + length;
            pieces.push((at..end, piece));
        }
    }
    pieces
}

/// What begins here besides a word, and how long it is.
fn piece_at(question: &str, at: usize) -> Option<(Piece<'_>, usize)> {
    let (before, rest) = question.split_at(at);
    if let Some(rest) = rest.strip_prefix('@') {
        let (name, length) = name_of(rest)?;
        return Some((Piece::Name(name), 1 + length));
    }
    if before.ends_with(char::is_whitespace)
        && let Some(rest) = rest.strip_prefix('-')
    {
        let (words, length) = words_left_out(rest)?;
        return Some((Piece::Without(words), 1 + length));
    }
    if let Some((phrase, length)) = quotation(rest) {
        let is_ended = rest[length..].chars().next().is_none_or(is_end);
        let phrase = Piece::Filter(Ok(Condition::Phrase(phrase.to_owned())));
        return is_ended.then_some((phrase, length));
    }
    let (filter, colon) = filter_name(rest)?;
    let (value, length) = value_of(&rest[colon..])?;
    let length = colon + length;
    let condition = if value.contains(char::is_alphanumeric) {
        (filter.parse)(value)
    } else {
        Err("holds no letter and no digit, and was read as words".to_owned())
    };
    let condition = condition.map_err(|why| format!("{} {why}", &rest[..length]));
    Some((Piece::Filter(condition), length))
}

/// Where the words of a question end, behind which only filters, names and code stand; its end where it has none.
fn end_of_words(question: &str, pieces: &[(Range<usize>, Piece<'_>)]) -> usize {
    let is_blank = |text: &str| text.chars().all(|c| c.is_whitespace() || c == ',');
    let mut end = question.len();
    for (range, piece) in pieces.iter().rev() {
        if matches!(piece, Piece::Filter(Err(_))) || !is_blank(&question[range.end..end]) {
            break;
        }
        end = range.start;
    }
    let has_words = question[..end].contains(char::is_alphanumeric);
    if has_words { end } else { question.len() }
}

/// The filters of a question.
pub fn filters(question: &str) -> Filters {
    let pieces = pieces(question);
    let end_of_words = end_of_words(question, &pieces);
    let mut found = Filters::default();
    for (range, piece) in pieces {
        let condition = match piece {
            Piece::Filter(Ok(condition)) => condition,
            Piece::Without(words) if range.start >= end_of_words => {
                Condition::Without(words.to_owned())
            }
            Piece::Filter(Err(why)) => {
                found.refused.push(why);
                continue;
            }
            Piece::Without(_) | Piece::Name(_) | Piece::Code => continue,
        };
        let written = question[range.clone()].to_owned();
        found.list.push(Filter {
            condition,
            written,
            range,
        });
    }
    found.list.truncate(MOST_FILTERS);
    found.refused.truncate(MOST_FILTERS);
    found
}

/// What a question names, in its order.
pub fn mentions(question: &str) -> Vec<Mention> {
    let names = pieces(question).into_iter().filter_map(|(range, piece)| {
        let Piece::Name(name) = piece else {
            return None;
        };
        let name = name.to_owned();
        Some(Mention { name, range })
    });
    names.take(MOST_NAMES).collect()
}

/// The question without its filters; words in quotes stay.
pub fn without_filters(question: &str) -> String {
    let (mut left, mut from) = (String::new(), 0);
    for filter in filters(question).list {
        if !matches!(filter.condition, Condition::Phrase(_)) {
            push_apart(&mut left, &question[from..filter.range.start]);
            from = filter.range.end;
        }
    }
    if from == 0 {
        return question.to_owned();
    }
    push_apart(&mut left, &question[from..]);
    left.trim().to_owned()
}

/// Appends what stands beside something taken out: of the spaces around that one is enough.
fn push_apart(left: &mut String, text: &str) {
    let is_apart = left.is_empty() || left.ends_with(char::is_whitespace);
    left.push_str(if is_apart { text.trim_start() } else { text });
}

/// The question without the names that only say where to look; one that it is about stays, without
/// its mark.
pub fn without_mentions(question: &str) -> String {
    let mentions = mentions(question);
    if mentions.is_empty() {
        return question.to_owned();
    }
    let is_named = |at: &usize| mentions.iter().any(|mention| mention.range.contains(at));
    let mut letters = question.char_indices();
    let Some((last, _)) = letters.rfind(|(at, c)| c.is_alphanumeric() && !is_named(at)) else {
        return String::new();
    };
    let (mut bare, mut from) = (String::new(), 0);
    for mention in &mentions {
        bare.push_str(&question[from..mention.range.start]);
        from = mention.range.end;
        let is_only = mentions.len() == 1;
        let is_first = is_only && bare.trim().is_empty() && !is_joined(&question[from..]);
        let is_last = mention.range.start > last;
        if !(is_first || is_last && stands_alone(&bare)) {
            bare.push_str(mention.name.trim_end_matches('/'));
        }
    }
    bare.push_str(&question[from..]);
    bare.trim().to_owned()
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
    before.char_indices().rev().find_map(|(at, _)| {
        let rest = &before[at..];
        let (filter, colon) = filter_name(rest)?;
        let is_open = begins_mention(&before[..at]) && ends_open(&rest[colon..]);
        is_open.then_some((rest, filter))
    })
}

/// A filter as it is written with this value.
pub fn filter_of(filter: &FilterName, value: &str) -> String {
    let is_apart = |c: char| c.is_whitespace() || c == '"' || CJK_MARKS.contains(c);
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

/// How a document or folder is named in a question; `None` where it cannot be.
pub fn mention_of(name: &str) -> Option<String> {
    let mut written = [name.to_owned(), format!("\"{name}\"")].into_iter();
    let written = written.find(|written| name_of(written) == Some((name, written.len())))?;
    Some(format!("@{written}"))
}

/// The question with quotes around each name after an `@` that looks like ordinary words and
/// is a document's name all the same: `@Backup plan`. `first_name` is given what may be one, the
/// longest first, and says which is.
pub fn with_quoted_names(question: &str, first_name: impl Fn(&[&str]) -> Option<usize>) -> String {
    /// Words that a name without quotes may have.
    const MOST_WORDS: usize = 5;
    let mut quoted = String::with_capacity(question.len() + 2);
    let mut rest = question;
    while let Some(at) = rest.find('@') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let begins = begins_mention(&question[..question.len() - rest.len() + at]);
        quoted.push_str(before);
        quoted.push('@');
        rest = after;
        if !begins || name_of(after).is_some() {
            continue;
        }
        let ends = after.match_indices(char::is_whitespace).map(|(end, _)| end);
        let ends: Vec<usize> = ends.chain([after.len()]).take(MOST_WORDS).collect();
        let shorter = ends.iter().rev();
        let names: Vec<&str> = shorter
            .map(|end| after[..*end].trim_end_matches(is_closing))
            .filter(|name| !name.is_empty() && name.len() <= LONGEST)
            .collect();
        let name = first_name(&names).and_then(|at| names.get(at).copied());
        if let Some(name) = name {
            quoted.push_str(&format!("\"{name}\""));
            rest = &after[name.len()..];
        }
    }
    quoted.push_str(rest);
    quoted
}

/// Whether an `@` after this text begins a name: it does not within a word, as in an address.
pub fn begins_mention(before: &str) -> bool {
    let last = before.chars().next_back();
    last.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ',') || is_of_cjk_text(c))
}

/// Letters and marks of scripts without spaces.
fn is_of_cjk_text(c: char) -> bool {
    is_cjk(c) || CJK_MARKS.contains(c)
}

/// Marks that end a sentence or an aside, and neither a value nor a name.
fn is_closing(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')')
}

/// What may come after words in quotes.
fn is_end(c: char) -> bool {
    c.is_whitespace() || is_closing(c) || is_of_cjk_text(c)
}

/// Whether a value that is being typed goes on: until its quote is closed, or a space comes.
fn ends_open(value: &str) -> bool {
    match value.strip_prefix('"') {
        Some(quoted) => !quoted.contains('"'),
        None => !value.contains(char::is_whitespace),
    }
}

/// Whether a word needs what comes after it.
fn is_linking(word: &str) -> bool {
    LINKING.contains(&word.to_lowercase().as_str()) || word.ends_with(LINKING_ZH)
}

/// Whether a word joins what goes before with this.
fn is_joined(after: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_punctuation() || CJK_MARKS.contains(c);
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    let next = after.split(char::is_whitespace).next().unwrap_or_default();
    let next = next.trim_end_matches(is_mark);
    JOINING.contains(&next.to_lowercase().as_str()) || after.starts_with(JOINING_ZH)
}

/// Whether this is a question without what follows.
fn stands_alone(text: &str) -> bool {
    let text = text.trim_end();
    if text.ends_with(['?', '!', '.', '？', '！', '。']) {
        return true;
    }
    if is_chinese(text) {
        return text.chars().count() > ENOUGH_WORDS && !text.ends_with(LINKING_ZH);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let last = words.last();
    words.len() >= ENOUGH_WORDS && last.is_some_and(|last| !is_linking(last))
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

/// The words behind a `-`, and how long they are as they stand there.
fn words_left_out(rest: &str) -> Option<(&str, usize)> {
    quotation(rest).or_else(|| {
        let word = rest.split(char::is_whitespace).next()?;
        let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’');
        let count = word.chars().filter(|c| c.is_alphabetic()).count();
        let is_word = word.starts_with(char::is_alphabetic)
            && word.ends_with(char::is_alphanumeric)
            && word.chars().all(is_letter)
            && (count >= FEWEST_LETTERS || count > 1 && word.contains(is_cjk));
        is_word.then_some((word, word.len()))
    })
}

/// The name that follows an `@`, and how long it is as it stands there.
fn name_of(rest: &str) -> Option<(&str, usize)> {
    if rest.starts_with('"') {
        return quotation(rest);
    }
    let near = near(rest);
    let word = near.split(char::is_whitespace).next().unwrap_or_default();
    let name = &word[..end_of_name(word)];
    let name = name.trim_end_matches(|c: char| is_closing(c) || CJK_MARKS.contains(c));
    let is_path = name.contains('/') || name.trim_start_matches('.').contains('.');
    (is_path && name.len() <= LONGEST && name != "/").then_some((name, name.len()))
}

/// What a name or a value may be taken from: looking further would make many of them slow.
fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST + 4)]
}

/// Where the name ends in a word that begins with one.
fn end_of_name(word: &str) -> usize {
    // Another name, as in `@a.md,@b.md`.
    let word = &word[..word.find(",@").unwrap_or(word.len())];
    for (dot, _) in word.match_indices('.') {
        let rest = &word[dot + 1..];
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let ending = rest[..length].to_ascii_lowercase();
        let follows = rest[length..].chars().next();
        let is_text = follows.is_some_and(|c| is_of_cjk_text(c) || matches!(c, '\'' | '’'));
        let mut endings = FILE_FORMATS.iter().flat_map(FileFormat::endings_in_prose);
        if is_text && endings.any(|known| known == ending) {
            return dot + 1 + length;
        }
    }
    if let Some(slash) = word.rfind('/') {
        let (folder, text) = (&word[..slash], &word[slash + 1..]);
        // What is between two of these letters may be the name of a file.
        let is_text = text.starts_with(|c: char| CJK_MARKS.contains(c))
            || text.starts_with(JOINING_ZH)
            || text.starts_with(is_cjk) && !folder.ends_with(is_cjk);
        if is_text && !text.contains('.') {
            return slash + 1;
        }
    }
    word.len()
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
    let near = near(text);
    let end = match near.find(|c: char| c.is_whitespace() || CJK_MARKS.contains(c)) {
        Some(end) => end,
        None if near.len() < text.len() => return None,
        None => text.len(),
    };
    let value = text[..end].trim_end_matches(is_closing);
    let is_value = !value.is_empty() && !value.starts_with("//") && value.len() <= LONGEST;
    is_value.then_some((value, value.len()))
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
        kind_names().join(", ")
    )
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
            ("what is -name", &["-name"], "what is"),
            ("what -abc is -name", &["-name"], "what -abc is"),
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
    fn what_is_no_value_is_said_and_stays_words() {
        let found = filters("the rent after:lunch type:exe file:%");
        assert!(found.list.is_empty());
        assert!(found.refused[0].starts_with("after:lunch is no date"));
        assert!(found.refused[1].contains("PDF, Word, slides"), "{found:?}");
        assert!(found.refused[2].starts_with("file:% holds no letter"));
        assert_eq!(without_filters("type:exe x"), "type:exe x");
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
            (" -abc", MOST_FILTERS),
            (" file:a", MOST_FILTERS),
            (" -\"a b\"", MOST_FILTERS),
            // Only the last value is short enough.
            ("(file:", 1),
            ("(-a", 0),
            (" -abc?", 0),
            (" `a` -abc", MOST_FILTERS),
        ] {
            let question = format!("rent{}", text.repeat((64 << 10) / text.len()));
            assert_eq!(filters(&question).list.len(), count, "{text}");
        }
    }

    #[test]
    fn names_after_an_at_are_read() {
        for (question, names) in [
            ("@house/ what is the rent?", &["house/"][..]),
            ("what is the rent @lease.md?", &["lease.md"]),
            ("compare @a.md with @b.md.", &["a.md", "b.md"]),
            ("(see @\"my notes/plan.md\")", &["my notes/plan.md"]),
            ("what is in @\"README\"", &["README"]),
            ("@*.md rent", &["*.md"]),
            ("租金是多少 @租约.md？", &["租约.md"]),
            ("mail bob@example.org", &[]),
            ("what does @Override do", &[]),
            ("@", &[]),
            ("@/ @. @.. @... @\"\" @\" \" @\"open", &[]),
            ("`@angular/core` is a package", &[]),
            ("what does `npm i @types/node` do with @a.md", &["a.md"]),
            ("\"see @a.md\" stands in @b.md", &["b.md"]),
            ("@租约.md里说了什么？", &["租约.md"]),
            ("@租约.md，租金是多少", &["租约.md"]),
            ("@a.md与@b.md", &["a.md", "b.md"]),
            ("租金在@租约.md", &["租约.md"]),
            ("看看（@合同/租约.md）里的租金", &["合同/租约.md"]),
            ("@house/里的租金", &["house/"]),
            ("@合同/里的租金", &["合同/"]),
            ("@合同/租约 里的租金", &["合同/租约"]),
            ("@合同/2024/，租金", &["合同/2024/"]),
            ("@版本v1.2说明/租约.md里", &["版本v1.2说明/租约.md"]),
            ("@a.md,@b.md: which?", &["a.md", "b.md"]),
            ("what is @lease.md's rent", &["lease.md"]),
            ("@scope/@types/x.md", &["scope/@types/x.md"]),
        ] {
            let read: Vec<String> = mentions(question).into_iter().map(|m| m.name).collect();
            assert_eq!(read, names, "{question}");
        }
        assert_eq!(mentions(&"@a.md ".repeat(1000)).len(), MOST_NAMES);
    }

    #[test]
    fn what_is_written_for_a_name_is_read_as_that_name() {
        for name in [
            "house/",
            "a.md",
            "README",
            "my notes/plan.md",
            "odd, name.md",
            "v1./",
            "x?.md",
            "合同/",
            "docs/租约",
            "合同/中国区",
            "租约.md的备份.md",
            "a.md,@b.md",
            "o'clock.md's.md",
        ] {
            let written = mention_of(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(mentions(&format!("why {written} now"))[0].name, name);
        }
        assert_eq!(mention_of("a\"b c.md"), None);
        assert_eq!(mention_of("a\nb.md"), None);
    }

    #[test]
    fn a_question_loses_what_only_says_where_to_look() {
        for (question, bare) in [
            ("@house/ what is the rent?", "what is the rent?"),
            ("what is the rent @house/", "what is the rent"),
            ("what is the rent? @house/", "what is the rent?"),
            ("compare @a.md with @b.md", "compare a.md with b.md"),
            (
                "what does @a.md say about rent?",
                "what does a.md say about rent?",
            ),
            ("what is in @house/?", "what is in house?"),
            ("summarise @a.md", "summarise a.md"),
            (
                "@a.md or @b.md: which is newer?",
                "a.md or b.md: which is newer?",
            ),
            ("what is the rent @house/ @a.md", "what is the rent"),
            ("compare @a.md @b.md", "compare a.md b.md"),
            ("租金是多少 @租约.md", "租金是多少"),
            ("比较 @a.md 和 @b.md", "比较 a.md 和 b.md"),
            ("租金是多少@租约.md", "租金是多少"),
            ("租金在@租约.md", "租金在租约.md"),
            ("@租约.md 租金是多少", "租金是多少"),
            ("@租约.md里说了什么？", "租约.md里说了什么？"),
            ("@a.md与@b.md", "a.md与b.md"),
            ("@a.md 和 @b.md 有什么区别", "a.md 和 b.md 有什么区别"),
            ("@a.md, @b.md: compare them", "a.md, b.md: compare them"),
            ("@a.md vs. @b.md: the rent?", "a.md vs. b.md: the rent?"),
            ("@a.md vs. the plan", "a.md vs. the plan"),
            ("@house/", ""),
            ("@house/ @garden/!", ""),
            (
                "@a.md, and the plan: compare",
                "a.md, and the plan: compare",
            ),
            ("no names here", "no names here"),
        ] {
            assert_eq!(without_mentions(question), bare, "{question}");
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
