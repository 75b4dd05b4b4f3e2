//! Which brackets of an answer cite an item, and which only look like it.
//!
//! Models are asked for `[1]` and write what they were trained on. Each form is an entry of [`FORMS`], and any of
//! them may be written as a link to its file: `[1](rules.md)`. What others mean by brackets is text: `arr[42]`,
//! `[0, 1]`, `[1](https://…)`, `[1]: url`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A form in which models cite.
struct Form {
    /// An example of the mark, brackets included.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people and a test"))]
    example: &'static str,
    /// What is between the brackets; the numbers are in the group.
    pattern: &'static str,
    /// Whether it means a citation whatever its numbers are. Otherwise it is text where one of them is no item.
    always: bool,
}

/// What `{n}` and `{list}` stand for in the patterns of the forms.
const NUMBER: &str = r"[#^eE]?\d+(?:\s*[-–—]\s*[#^eE]?\d+)?";
const SEPARATOR: &str = r"(?:\s*[,;，；、&]\s*|\s+(?:and|und|or|oder)\s+|\s*[和与及]\s*)";

#[rustfmt::skip]
const FORMS: [Form; 7] = [
    Form { example: "[^1]", pattern: r"^\^(\d+)$", always: true },
    Form { example: "[1†source]", pattern: r"^(\d+)(?::\d+)?†", always: true },
    Form { example: "[1; 2]", pattern: r"^(\d+(?:\s*[,;，；、]\s*\d+)*)$", always: true },
    Form { example: "[1-3]", pattern: "^({n})$", always: false },
    Form { example: "[1 and 2]", pattern: "^({list})$", always: false },
    Form { example: "[Source 1]", pattern: r"(?i)^(?:sources?|items?|evidence|refs?\.?|references?|citations?|documents?|docs?|passages?)\s*[:#]?\s*({list})$", always: true },
    Form { example: "[来源1]", pattern: r"(?i)^(?:来源|资料|证据|文档|quellen?|belege?)\s*[:：#]?\s*({list})$", always: true },
];

static PATTERNS: LazyLock<Vec<(Regex, bool)>> = LazyLock::new(|| {
    let list = format!("{NUMBER}(?:{SEPARATOR}{NUMBER})*");
    let compiled = FORMS.iter().filter_map(|form| {
        let pattern = form.pattern.replace("{list}", &list).replace("{n}", NUMBER);
        Some((Regex::new(&pattern).ok()?, form.always))
    });
    compiled.collect()
});

/// Longer than any list of numbers worth checking.
const LONGEST_LIST: usize = 256;

/// Bytes of the longest mark in another form than `[1]`, and items of the longest range.
const LONGEST_FORM: usize = 100;
const LONGEST_RANGE: usize = 20;

const OPENING: [char; 3] = ['[', '【', '［'];
const CLOSING: [char; 3] = [']', '】', '］'];
/// What a mark may end with: brackets, or the parenthesis of a link.
pub(super) const ENDING: [char; 4] = [']', '】', '］', ')'];
/// Bytes of the longest link.
const LONGEST_LINK: usize = 256;

/// What the target of a link does not hold.
const LINK_ENDS: [char; 9] = ['(', ')', '\n', '[', ']', '【', '】', '［', '］'];

/// Brackets that cite.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    /// Where they are, with the backslashes that some models put before them.
    pub range: Range<usize>,
    /// The items, as they are numbered.
    pub numbers: Vec<usize>,
    /// Whether they are written as they are shown: `[1, 2]`.
    pub is_plain: bool,
}

/// What an answer may cite.
#[derive(Debug, Clone)]
pub(super) struct Citable {
    items: usize,
    /// Where each item is from; empty where only `[1]` is read.
    sources: Vec<String>,
    /// Whether a number that is no item is an index where it follows a word.
    has_indices: bool,
}

impl Citable {
    /// Numbers from 1, each in the form `[1]`.
    pub(super) fn numbers(items: usize) -> Self {
        Self {
            items,
            sources: Vec::new(),
            has_indices: true,
        }
    }

    /// Items from these files, in all forms.
    pub(super) fn sources(sources: Vec<String>) -> Self {
        Self {
            items: sources.len(),
            sources,
            has_indices: true,
        }
    }

    /// Nothing, so that whatever looks like a mark is one that is removed.
    pub(super) fn nothing() -> Self {
        Self {
            items: 0,
            sources: Vec::new(),
            has_indices: false,
        }
    }

    pub(super) fn is_item(&self, n: usize) -> bool {
        (1..=self.items).contains(&n)
    }

    /// All marks of `text`, from left to right.
    pub(super) fn marks(&self, text: &str) -> impl Iterator<Item = Mark> {
        text.match_indices(ENDING).filter_map(|(at, closing)| {
            let end = at + closing.len();
            self.mark_before(&text[..end], text[end..].chars().next())
        })
    }

    /// The mark that ends a text, if one does, where `next` follows.
    pub(super) fn mark_before(&self, text: &str, next: Option<char>) -> Option<Mark> {
        let closing = text.chars().next_back()?;
        if closing == ')' {
            return self.link_before(text);
        }
        let bracket = CLOSING.iter().position(|c| *c == closing)?;
        let before = &text[..text.len() - closing.len_utf8()];
        let from = before.floor_char_boundary(before.len().saturating_sub(LONGEST_LIST));
        let open = from + before[from..].rfind(OPENING)?;
        let mut inside = before[open..].strip_prefix(OPENING[bracket])?;
        let mut start = open;
        let is_escaped = inside.ends_with('\\') && before[..open].ends_with('\\');
        if is_escaped && self.reads_all_forms() {
            inside = &inside[..inside.len() - 1];
            start -= 1;
        }
        let is_square = closing == ']';
        let is_usual = is_square && !is_escaped;
        let (numbers, is_plain, always) = match plain_numbers(inside) {
            Some(numbers) if is_usual => (numbers, true, true),
            _ if !self.reads_all_forms() || !may_be_formed(inside) => return None,
            _ => {
                let (numbers, always) = formed_numbers(inside.trim()).or_else(|| {
                    let is_wiki_link = text[..start].ends_with(['[', '!']);
                    let named = (!is_wiki_link).then(|| self.items_of_files(inside.trim()))?;
                    Some((named?, false))
                })?;
                (numbers, false, always)
            }
        };
        let is_link = is_square && next == Some('(');
        let begins_line = || {
            let before = text[..start].trim_end_matches([' ', '\t']);
            before.is_empty() || before.ends_with('\n')
        };
        let is_definition = is_square && next == Some(':') && begins_line();
        let is_interval = numbers.len() > 1 && numbers.contains(&0);
        let all_are_items = numbers.iter().all(|&n| self.is_item(n));
        let is_index = self.has_indices
            && is_usual
            && text[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let is_other = !all_are_items && (is_index || !always);
        let is_text = is_link || is_definition || is_interval || is_other;
        (!is_text).then_some(Mark {
            range: start..text.len(),
            numbers,
            is_plain,
        })
    }

    /// The mark that a link is: numbers of items, or the name of a file, with anything but an address of the web
    /// behind it.
    fn link_before(&self, text: &str) -> Option<Mark> {
        let from = text.floor_char_boundary(text.len().saturating_sub(LONGEST_LINK));
        let border = from + text[from..].rfind("](")?;
        let target = &text[border + 2..text.len() - 1];
        let target = target.split(" \"").next().unwrap_or_default();
        let target = target.trim_matches(['<', '>', ' ']);
        let of_file = self.item_of(target).map(|n| vec![n]);
        let is_web = target.contains("://");
        // A mark is on one line: who replaces it knows only where the last line begins.
        let is_target = !target.contains(LINK_ENDS)
            && !text[border..].contains('\n')
            && (!target.contains(' ') || of_file.is_some());
        if !self.reads_all_forms() || is_web || !is_target {
            return None;
        }
        let mark = self.mark_before(&text[..=border], None)?;
        let are_items = mark.numbers.iter().all(|&n| self.is_item(n));
        let numbers = Some(mark.numbers).filter(|_| are_items).or(of_file)?;
        let is_picture = text[..mark.range.start].ends_with('!');
        (!is_picture && mark.range.start >= from).then_some(Mark {
            range: mark.range.start..text.len(),
            numbers,
            is_plain: false,
        })
    }

    /// Where the mark begins that `text` may be in the middle of; else its end.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        let longest = LONGEST_LINK.max(LONGEST_LIST) + '['.len_utf8();
        let from = text.floor_char_boundary(text.len().saturating_sub(longest));
        let is_mark = |open: &usize| {
            let inside = text[*open..].trim_start_matches(OPENING);
            let inside = match inside.split_once("](") {
                Some((_, target)) if target.contains(LINK_ENDS) => return false,
                Some((label, _)) if self.reads_all_forms() => label,
                // What follows tells whether it is a link.
                _ if self.reads_all_forms() => inside.strip_suffix(']').unwrap_or(inside),
                _ => inside,
            };
            let is_list = text[*open..].starts_with('[') && inside.chars().all(is_in_list);
            is_list || self.reads_all_forms() && may_be_formed(inside.trim_end_matches('\\'))
        };
        let open = text[from..].rfind(OPENING).map(|at| from + at);
        let begun = open
            .filter(is_mark)
            .map_or(text.len(), |open| self.start_of_brackets(text, open));
        if self.reads_all_forms() {
            text[..begun].trim_end_matches('\\').len()
        } else {
            begun
        }
    }

    /// The first of the brackets that open before a mark: what stays of them when the mark goes may be a mark
    /// again. With the spaces before it, one of which goes with each.
    pub(super) fn start_of_brackets(&self, text: &str, open: usize) -> usize {
        let from = text.floor_char_boundary(open.saturating_sub(LONGEST_LINK.max(LONGEST_LIST)));
        let is_between = |at: usize, c: char| {
            if !self.reads_all_forms() {
                c == '[' || is_in_list(c)
            } else if CLOSING.contains(&c) {
                text[from + at..].starts_with("](")
            } else {
                c != '\n'
            }
        };
        let run = text[from..open].char_indices().rev();
        let run = run.take_while(|(at, c)| is_between(*at, *c));
        let first = run.filter(|(_, c)| OPENING.contains(c)).last();
        let first = first.map_or(open, |(at, _)| from + at);
        text[..first].trim_end_matches([' ', '\\']).len()
    }

    fn reads_all_forms(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The items whose files are named, the first of each; nothing where a name is no file's, or several files'.
    fn items_of_files(&self, inside: &str) -> Option<Vec<usize>> {
        let parts = inside.split([',', ';', '，', '；', '、']);
        parts.map(|part| self.item_of(part.trim())).collect()
    }

    fn item_of(&self, name: &str) -> Option<usize> {
        let name = name.split([':', '#']).next().unwrap_or_default();
        let is_named = |source: &&String| {
            let file = source.rsplit('/').next().unwrap_or_default();
            !name.is_empty() && (source.as_str() == name || file == name)
        };
        let source = self.sources.iter().find(is_named)?;
        let mut named = self.sources.iter().filter(is_named);
        let first = self.sources.iter().position(|other| other == source)?;
        named.all(|other| other == source).then_some(first + 1)
    }
}

/// The numbers of `1, 2`.
fn plain_numbers(inside: &str) -> Option<Vec<usize>> {
    let parts = inside.split([',', '，', '、']);
    parts.map(|part| number(part.trim_matches(' '))).collect()
}

/// A number too large to count with maps to nothing all the same.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// The numbers of the first form that fits, and whether it always means a citation.
fn formed_numbers(inside: &str) -> Option<(Vec<usize>, bool)> {
    static NUMBERS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(\d+)(?:\s*[-–—]\s*[#^eE]?(\d+))?").ok());
    let (list, always) = PATTERNS.iter().find_map(|(pattern, always)| {
        let list = pattern.captures(inside)?.get(1)?;
        Some((list.as_str(), *always))
    })?;
    let mut numbers = Vec::new();
    for found in NUMBERS.as_ref()?.captures_iter(list) {
        let first = number(found.get(1)?.as_str())?;
        let end = found
            .get(2)
            .map_or(Some(first), |end| number(end.as_str()))?;
        if end.checked_sub(first)? >= LONGEST_RANGE {
            return None;
        }
        numbers.extend(first..=end);
    }
    numbers.dedup();
    Some((numbers, always))
}

/// Whether what is in brackets may be a mark in another form than `[1]`.
fn may_be_formed(inside: &str) -> bool {
    inside.len() <= LONGEST_FORM && !inside.contains(CLOSING) && !inside.contains('\n')
}

fn is_in_list(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | ' ' | '，' | '、')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citable() -> Citable {
        let sources = [
            "docs/rules.md",
            "a/README.md",
            "b/README.md",
            "docs/rules.md",
        ];
        Citable::sources(sources.map(str::to_owned).to_vec())
    }

    #[test]
    fn r23_every_form_is_read_as_its_example_shows_it() {
        assert_eq!(PATTERNS.len(), FORMS.len());
        for (form, (pattern, _)) in FORMS.iter().zip(PATTERNS.iter()) {
            let inside = form.example.trim_matches(['[', ']']);
            assert!(pattern.is_match(inside), "{}", form.example);
            let text = format!("It is so {}.", form.example);
            let marks: Vec<Mark> = citable().marks(&text).collect();
            assert_eq!(marks.len(), 1, "{text}");
            assert_eq!(marks[0].numbers[0], 1, "{text}");
        }
    }

    #[test]
    fn r23_marks_in_other_forms_are_understood() {
        for (text, numbers) in [
            ("【1】", vec![1]),
            ("［1］", vec![1]),
            ("【1†source】", vec![1]),
            ("【3:1†rules.md】", vec![3]),
            ("[1-3]", vec![1, 2, 3]),
            ("[1–3, 4]", vec![1, 2, 3, 4]),
            ("[^1]", vec![1]),
            ("[^1, ^2]", vec![1, 2]),
            ("[1; 2]", vec![1, 2]),
            ("[1 and 2]", vec![1, 2]),
            ("\\[1\\]", vec![1]),
            ("[Source 1]", vec![1]),
            ("[sources: 1, 2 and 4]", vec![1, 2, 4]),
            ("[Quelle 2]", vec![2]),
            ("[来源：1]", vec![1]),
            ("[e1]", vec![1]),
            ("[#1]", vec![1]),
            ("[#1, #2]", vec![1, 2]),
            ("[rules.md]", vec![1]),
            ("[docs/rules.md:3-9]", vec![1]),
            ("[a/README.md, b/README.md]", vec![2, 3]),
            ("【99】", vec![99]),
            ("[Source 9]", vec![9]),
            ("[1](docs/rules.md)", vec![1]),
            ("[2](a/README.md:3-9)", vec![2]),
            ("[1, 3](#sources)", vec![1, 3]),
            ("[^1](<docs/rules.md>)", vec![1]),
            ("[9](docs/rules.md)", vec![1]),
            ("[rules.md](docs/rules.md#top)", vec![1]),
            ("[rules.md]()", vec![1]),
        ] {
            let text = format!("It is so {text}.");
            let marks: Vec<Mark> = citable().marks(&text).collect();
            assert_eq!(marks.len(), 1, "{text}");
            assert_eq!(marks[0].numbers, numbers, "{text}");
            assert!(!marks[0].is_plain, "{text}");
        }
    }

    #[test]
    fn r23_what_only_looks_like_a_mark_is_text() {
        for text in [
            "lies in [0, 1]",
            "arr[42]",
            "x_[7]",
            "[x]",
            "[1](https://a.b)",
            "[rules.md](https://a.b/rules.md)",
            "[the rules](docs/rules.md)",
            "[9](other.md)",
            "[1](see below)",
            "![1](a.png)",
            "[[rules.md]]",
            "[1]: https://a.b",
            "a\n [^1]: a note",
            "digits [1-9]",
            "the years [2024-2025]",
            "[README.md]",
            "[other.md]",
            "[e99]",
            "[#123]",
            "[1.5]",
            "[-1]",
            "【注意】",
            "[a1]",
            "[]",
        ] {
            let marks: Vec<Mark> = citable().marks(text).collect();
            assert_eq!(marks, [], "{text}");
        }
    }
}
