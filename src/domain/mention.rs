//! Parts of the knowledge base that a question names after an `@`: it is kept within them.
//!
//! `@house/`, `@notes/plan.md`, `@*.md`, `@"my notes/plan.md"`. Without quotes it must look like a
//! path, so that `@Override` and `@alice` stay words. Chinese has no spaces: there a name ends where
//! text follows the ending of a file, or the `/` of a folder.

use std::ops::Range;

use super::file_format::FileFormat;
use crate::text::{is_chinese, is_cjk};

/// More of them in one question are words.
const MOST: usize = 16;
/// A name longer than this is none, in bytes.
const LONGEST: usize = 1000;
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

/// A name after an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// A document, a folder with or without its `/`, or a pattern.
    pub name: String,
    /// Where in the question, the `@` included.
    pub range: Range<usize>,
}

/// What a question names, in its order.
pub fn mentions(question: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = question[from..].find('@').map(|at| from + at)
        && found.len() < MOST
    {
        from = at + 1;
        if !begins_mention(&question[..at]) {
            continue;
        }
        let Some((name, length)) = name_of(&question[from..]) else {
            continue;
        };
        from += length;
        found.push(Mention {
            name: name.to_owned(),
            range: at..from,
        });
    }
    found
}

/// Whether an `@` after this text begins a name: it does not within a word, as in an address.
pub fn begins_mention(before: &str) -> bool {
    let last = before.chars().next_back();
    last.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ',') || is_of_cjk_text(c))
}

/// Letters and marks of scripts without spaces.
fn is_of_cjk_text(c: char) -> bool {
    is_cjk(c)
        || matches!(
            c,
            '，' | '。'
                | '？'
                | '！'
                | '；'
                | '：'
                | '、'
                | '（'
                | '）'
                | '《'
                | '》'
                | '「'
                | '」'
                | '“'
                | '”'
        )
}

/// Marks of scripts without spaces.
pub(super) fn is_mark_of_cjk_text(c: char) -> bool {
    is_of_cjk_text(c) && !is_cjk(c)
}

/// Whether a value that is being typed goes on: until its quote is closed, or a space comes.
pub(super) fn ends_open(value: &str) -> bool {
    match value.strip_prefix('"') {
        Some(quoted) => !quoted.contains('"'),
        None => !value.contains(char::is_whitespace),
    }
}

/// Whether a word needs what comes after it.
pub(super) fn is_linking(word: &str) -> bool {
    LINKING.contains(&word.to_lowercase().as_str()) || word.ends_with(LINKING_ZH)
}

/// The name that follows an `@`, and how long it is as it stands there.
fn name_of(rest: &str) -> Option<(&str, usize)> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted
            .find(['"', '\n'])
            .filter(|end| quoted[*end..].starts_with('"'))?;
        let name = quoted[..end].trim();
        return (!name.is_empty() && end <= LONGEST).then_some((name, end + 2));
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let word = &rest[..end];
    let name = &word[..end_of_name(word)];
    let name = name.trim_end_matches(|c| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')') || is_of_cjk_text(c) && !is_cjk(c)
    });
    let is_path = name.contains('/') || name.trim_start_matches('.').contains('.');
    (is_path && name.len() <= LONGEST && name != "/").then_some((name, name.len()))
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
        if is_text && FileFormat::by_ending(&ending).is_some() {
            return dot + 1 + length;
        }
    }
    if let Some(slash) = word.rfind('/') {
        let (folder, text) = (&word[..slash], &word[slash + 1..]);
        // What is between two of these letters may be the name of a file.
        let is_text = text.starts_with(|c: char| is_of_cjk_text(c) && !is_cjk(c))
            || text.starts_with(JOINING_ZH)
            || text.starts_with(is_cjk) && !folder.ends_with(is_cjk);
        if is_text && !text.contains('.') {
            return slash + 1;
        }
    }
    word.len()
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
        let names = ends.iter().rev().map(|end| {
            let name = &after[..*end];
            name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
        });
        let names: Vec<&str> = names
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

/// How a document or folder is named in a question; `None` where it cannot be.
pub fn mention_of(name: &str) -> Option<String> {
    let is_read_as = |written: &str| {
        let read = mentions(written);
        matches!(&read[..], [only] if only.name == name && only.range == (0..written.len()))
    };
    [format!("@{name}"), format!("@\"{name}\"")]
        .into_iter()
        .find(|written| is_read_as(written))
}

/// The question without the names that only say where to look; one that it is about stays, without
/// its mark.
pub fn without_mentions(question: &str) -> String {
    let mentions = mentions(question);
    if mentions.is_empty() {
        return question.to_owned();
    }
    if is_blank_between(question, 0, &mentions) {
        return String::new();
    }
    let mut bare = String::new();
    let mut from = 0;
    for (at, mention) in mentions.iter().enumerate() {
        let before = &question[from..mention.range.start];
        let after = &question[mention.range.end..];
        let later = &mentions[at + 1..];
        bare.push_str(before);
        let is_only = mentions.len() == 1;
        let is_first = is_only && bare.trim().is_empty() && !is_joined(after);
        let is_last = is_blank_between(question, mention.range.end, later);
        if !(is_first || is_last && stands_alone(&bare)) {
            bare.push_str(mention.name.trim_end_matches('/'));
        }
        from = mention.range.end;
    }
    bare.push_str(&question[from..]);
    bare.trim().to_owned()
}

/// Whether a word joins what goes before with this.
fn is_joined(after: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_punctuation() || is_of_cjk_text(c) && !is_cjk(c);
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    let next = after.split(char::is_whitespace).next().unwrap_or_default();
    let next = next.trim_end_matches(is_mark);
    JOINING.contains(&next.to_lowercase().as_str()) || after.starts_with(JOINING_ZH)
}

/// Whether nothing but these names comes from there on.
fn is_blank_between(question: &str, mut from: usize, later: &[Mention]) -> bool {
    let says = |text: &str| text.contains(char::is_alphanumeric);
    for mention in later {
        if says(&question[from..mention.range.start]) {
            return false;
        }
        from = mention.range.end;
    }
    !says(&question[from..])
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(mentions(&"@a.md ".repeat(1000)).len(), MOST);
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
}
