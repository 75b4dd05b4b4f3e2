//! Parts of the knowledge base that a question names after an `@`: it is kept within them.
//!
//! `@house/`, `@notes/plan.md`, `@*.md`, `@"my notes/plan.md"`. Without quotes it must look like a
//! path, so that `@Override` and `@alice` stay words.

use std::ops::Range;

use crate::text::is_chinese;

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
    last.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '（' | ',' | '，'))
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
    let name = rest[..end].trim_end_matches(|c| {
        matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | ')' | '。' | '，' | '？' | '！' | '）' | '；'
        )
    });
    let is_path = name.contains('/') || name.trim_start_matches('.').contains('.');
    (is_path && name.len() <= LONGEST && name != "/").then_some((name, name.len()))
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
    let mut bare = String::new();
    let mut from = 0;
    for (at, mention) in mentions.iter().enumerate() {
        let before = &question[from..mention.range.start];
        let after = &question[mention.range.end..];
        let later = &mentions[at + 1..];
        bare.push_str(before);
        let is_first = bare.trim().is_empty() && !is_joined(after);
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
    let next = after.split_whitespace().next().unwrap_or_default();
    ["and", "or", "with", "vs", "versus", "than"].contains(&next.to_lowercase().as_str())
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
    let last = words.last().map(|word| word.to_lowercase());
    words.len() >= ENOUGH_WORDS && last.is_some_and(|last| !LINKING.contains(&last.as_str()))
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
            ("@house/", ""),
            ("no names here", "no names here"),
        ] {
            assert_eq!(without_mentions(question), bare, "{question}");
        }
    }
}
