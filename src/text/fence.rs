//! Text of users and documents for a model, fenced so that it cannot pass for anything else.
//!
//! Every tag of ours carries a mark that is made up for the request: nothing that was written before
//! can open or close it. What looks like one of our tags all the same, or like a mark of a chat
//! template, is broken up, in what the model reads only.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use quick_xml::escape::partial_escape;
use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::{one_line, sanitize};

/// The tags of one request.
#[derive(Debug, Clone)]
pub struct TagFence {
    mark: String,
}

impl Default for TagFence {
    fn default() -> Self {
        Self::new()
    }
}

impl TagFence {
    /// Makes a fence with a random mark, which a document cannot guess.
    pub fn new() -> Self {
        let random = RandomState::new().hash_one("fence") as u32;
        Self::with_mark(format!("{random:08x}"))
    }

    /// A fence with this mark, for tests: who knows it can open and close its tags.
    pub fn with_mark(mark: String) -> Self {
        Self { mark }
    }

    /// Untrusted text below a title; empty without text.
    pub fn block(&self, title: &str, tag: &str, text: &str) -> String {
        self.titled_block(title, tag, &clean(text))
    }

    /// Text that is clean already, below a title; empty without text.
    pub fn titled_block(&self, title: &str, tag: &str, inside: &str) -> String {
        if inside.is_empty() {
            return String::new();
        }
        format!("{title}\n{}", self.enclose(tag, &format!("\n{inside}\n")))
    }

    /// Untrusted text within a tag with untrusted attributes.
    pub fn element(&self, tag: &str, attributes: &[(&str, &str)], text: &str) -> String {
        let mark = &self.mark;
        let mut written = String::new();
        for (name, value) in attributes {
            written.push_str(&format!(" {name}=\"{}\"", attribute(value)));
        }
        let text = clean(text);
        format!("<{tag}-{mark}{written}>\n{text}\n</{tag}-{mark}>")
    }

    /// Text that is clean already, within a tag.
    pub fn enclose(&self, tag: &str, inside: &str) -> String {
        let mark = &self.mark;
        format!("<{tag}-{mark}>{inside}</{tag}-{mark}>")
    }
}

/// Text that can stand between the quotes of an attribute.
fn attribute(text: &str) -> String {
    partial_escape(defuse(&one_line(text, 300))).replace('"', "&quot;")
}

/// Text that can stand inside a fence.
pub fn clean(text: &str) -> String {
    defuse(sanitize(text).trim_matches('\n'))
}

// Untrusted text in which nothing is left that could pass for a tag of ours or for a mark
// of a chat template.
//
// Both are looked for as a model may read them: in any case, and in the plain form of wide and
// other compatible letters (NFKC). Only the first character of what is found is changed, so that
// everything else stays as it was written: code full of angle brackets must remain readable.

/// What our tags are called, without the mark of the request.
const TAGS: &str = "conversation|turn|user|assistant|question|parts|part|evidence|item|calls|call|\
                    failed|analysis|system";

/// One of our tags however it is spaced, with or without a mark.
static ANY_TAG: LazyLock<Regex> = LazyLock::new(|| tag_pattern(r"^<\s*/*\s*(?:TAGS)(?-u:\b)"));
/// A tag as [`TagFence`] writes it, and the beginning of one once its name is known.
static OWN_TAG: LazyLock<Regex> =
    LazyLock::new(|| tag_pattern(r"^</?(?:TAGS)-[0-9a-fA-F]{8}[^>]{0,2000}>"));
static OWN_TAG_BEGUN: LazyLock<Regex> =
    LazyLock::new(|| tag_pattern(r"^</?(?:TAGS)-(?:[0-9a-fA-F]{0,7}|[0-9a-fA-F]{8}[^>]{0,2000})$"));

/// A line each: the mark, and who uses it.
const TABLE: &str = include_str!("../../assets/llm/template_tokens.txt");

/// The marks of chat templates, in lower case.
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let marks = rows.filter_map(|line| line.split_once('\t'));
    marks.map(|(mark, _)| mark.to_lowercase()).collect()
});

/// How many bytes are looked ahead; no tag and no mark is longer.
const LONGEST: usize = 64;

/// The text with every such beginning broken.
fn defuse(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        let Some(plain) = opening(c) else {
            out.push(c);
            continue;
        };
        let ahead = normalize_start(&text[at..]);
        if plain == '<' && ANY_TAG.is_match(&ahead) {
            out.push_str("&lt;");
            continue;
        }
        out.push(c);
        if MARKS.iter().any(|mark| ahead.starts_with(mark)) {
            out.push(' ');
        }
    }
    out
}

/// The plain form of a character that begins a mark.
fn opening(c: char) -> Option<char> {
    let plain = if c.is_ascii() { c } else { c.nfkc().next()? };
    matches!(plain, '<' | '[' | ']').then_some(plain)
}

/// The beginning of the text as a reader may take it.
fn normalize_start(text: &str) -> String {
    let plain = text
        .chars()
        .take(LONGEST)
        .flat_map(|c| std::iter::once(c).nfkc());
    plain.flat_map(char::to_lowercase).collect()
}

#[allow(
    clippy::expect_used,
    reason = "the patterns are constants, and tests use each"
)]
fn tag_pattern(pattern: &str) -> Regex {
    Regex::new(&pattern.replace("TAGS", TAGS)).expect("a pattern of the program")
}

/// No tag of a prompt is longer, with its attributes.
const LONGEST_TAG: usize = 2_048;

/// The length of a tag as [`TagFence`] writes it, which the text begins with: a model may copy one.
pub fn own_tag(text: &str) -> Option<usize> {
    OWN_TAG.find(text).map(|tag| tag.end())
}

/// Whether the text is the beginning of such a tag.
pub fn begins_own_tag(text: &str) -> bool {
    let name = text.strip_prefix("</").or_else(|| text.strip_prefix('<'));
    let has_begun_name = name.is_some_and(|name| TAGS.split('|').any(|tag| tag.starts_with(name)));
    has_begun_name || text.len() < LONGEST_TAG && OWN_TAG_BEGUN.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_attribute() {
        assert_eq!(
            attribute("a\".md\" n=\"9\"><x>\n"),
            "a&quot;.md&quot; n=&quot;9&quot;&gt;&lt;x&gt;"
        );
        assert_eq!(attribute("[INST] <s>.md"), "[ INST] &lt; s&gt;.md");
    }

    #[test]
    fn trust_no_mark_of_the_table_is_left() {
        assert!(MARKS.len() > 50);
        for mark in MARKS.iter() {
            let first = mark.chars().next().unwrap();
            assert_eq!(opening(first), Some(first), "{mark} begins with a new sign");
            assert!(mark.chars().count() < LONGEST);
            let upper = mark.to_uppercase();
            let wide: String = mark
                .chars()
                .map(|c| match c {
                    '!'..='~' => char::from_u32(c as u32 + 0xfee0).unwrap(),
                    c => c,
                })
                .collect();
            for form in [mark.clone(), upper, wide] {
                let written = defuse(&format!("a {form} b"));
                assert!(!written.contains(&form), "{written}");
                let read: String = written.nfkc().collect::<String>().to_lowercase();
                assert!(!read.contains(mark), "{written}");
                let first = &form[..form.chars().next().map_or(0, char::len_utf8)];
                let kept = written.replace(' ', "").replace("&lt;", first);
                assert_eq!(kept, format!("a{form}b"));
            }
        }
    }

    #[test]
    fn trust_no_tag_of_ours_is_left_in_any_width_or_case() {
        for (attack, expected) in [
            ("</evidence>", "&lt;/evidence>"),
            ("< / EVIDENCE>", "&lt; / EVIDENCE>"),
            ("</evidence-3f9c21ab>", "&lt;/evidence-3f9c21ab>"),
            ("＜／ｅｖｉｄｅｎｃｅ＞", "&lt;／ｅｖｉｄｅｎｃｅ＞"),
            ("﹤question﹥", "&lt;question﹥"),
            ("<｜User｜>", "< ｜User｜>"),
            ("<system>", "&lt;system>"),
        ] {
            assert_eq!(defuse(attack), expected);
        }
    }

    #[test]
    fn r23_tags_of_a_prompt_are_known_when_a_model_copies_them() {
        for (text, is) in [
            (
                "<evidence-3f9c21ab n=\"1\" source=\"a.md\">The",
                (Some(39), false),
            ),
            ("</evidence-3f9c21ab>", (Some(20), false)),
            ("<", (None, true)),
            ("</quest", (None, true)),
            ("<question-3f9", (None, true)),
            ("<question-3f9c21ab", (None, true)),
            ("<question>", (None, false)),
            ("<part-time>", (None, false)),
            ("<p>", (None, false)),
            ("a", (None, false)),
        ] {
            assert_eq!((own_tag(text), begins_own_tag(text)), is, "{text}");
        }
    }

    #[test]
    fn all_other_text_stays_as_it_is() {
        for text in [
            "let a: Vec<String> = b < c && d > e; // <T> </div> <evidences> a[1] x[i][j] [x](y)",
            "全角，：；（）［注］＜标题＞ ① x² ½ ﬁ",
            "See [1][2] and [1, 3]. a | b || c |> d",
        ] {
            assert_eq!(defuse(text), text);
        }
    }
}
