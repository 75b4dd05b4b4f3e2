//! Of which kind a link is: what the text around it calls the relation.
//!
//! A relation holds for the rest of its line (`Blocks: …`), for the list or the section below it,
//! for a row or a column of a table, or, as a verb, for the ids that follow. It is kept as it is
//! written, in the language of the document.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::forms::compile;

/// What may stand before a colon, as a heading or in a cell of a table, in lower case.
static RELATIONS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| entries(include_str!("../../../assets/relations.txt")).collect());
/// Relations that are also verbs in a sentence, longer ones first.
static VERBS: LazyLock<Vec<&str>> =
    LazyLock::new(|| entries(include_str!("../../../assets/relation-verbs.txt")).collect());

static KEY: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"^\s*(?:(?:[-*+•]|\d+[.)])\s+)?[*_"'`]{0,3}([\p{L}][\p{L} _-]{0,30}?)[*_"'`]{0,3}\s*[:：][*_"'`]{0,3}\s*(.*)$"#,
    )
});
static ITEM: LazyLock<Regex> = LazyLock::new(|| compile(r"^\s*(?:[-*+•]|\d+[.)])\s+"));

/// The entries of a list, one a line.
fn entries(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// Within this part of the line every link is of that kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedRange {
    pub range: Range<usize>,
    pub name: String,
}

/// Reads a document line by line and remembers what still holds.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// Whether `*` begins a heading.
    stars: bool,
    below: Option<Below>,
    /// The relation of each column of the current table, if its head names one.
    columns: Option<Vec<Option<String>>>,
}

/// A name with nothing behind it: it holds for what comes below.
#[derive(Debug)]
struct Below {
    name: String,
    /// A heading holds until the next, a key only for its list.
    is_heading: bool,
}

impl Relations {
    pub fn new(source: &str) -> Self {
        Self {
            stars: source.to_lowercase().ends_with(".org"),
            ..Self::default()
        }
    }

    /// Reads the relations of the links on a line. `ids` are the ticket ids in it.
    pub fn read(&mut self, line: &str, ids: &[(usize, &str)]) -> Vec<NamedRange> {
        let bare = line.trim();
        if !bare.starts_with('|') {
            self.columns = None;
        }
        if is_underline(bare) {
            self.below.take_if(|below| !below.is_heading);
            return Vec::new();
        }
        if bare.is_empty() {
            return Vec::new();
        }
        if bare.starts_with('|') {
            return self.row(line);
        }
        let all_of = |name: &str| {
            vec![NamedRange {
                range: 0..line.len(),
                name: name.to_owned(),
            }]
        };
        let heading = heading_of(bare, self.stars);
        if let Some(name) = relation_in(heading.unwrap_or(bare)) {
            let is_key = bare.trim_end_matches('*').ends_with([':', '：']);
            self.below = Some(Below {
                name,
                is_heading: heading.is_some() || !is_key,
            });
            return Vec::new();
        }
        if let Some((name, value)) = key_of(heading.unwrap_or(line)) {
            let opens = matches!(value.trim(), "" | "[" | "|" | ">" | ">-");
            self.below = opens.then(|| Below {
                name: name.clone(),
                is_heading: heading.is_some(),
            });
            return all_of(&name);
        }
        if heading.is_some() {
            self.below = None;
            return Vec::new();
        }
        if let Some(below) = &self.below {
            let is_item = ITEM.is_match(line);
            let begins_with_link = bare.starts_with(['[', '<'])
                || ids
                    .first()
                    .is_some_and(|(at, _)| line[..*at].trim().is_empty());
            if is_item
                || (below.is_heading && begins_with_link)
                || (!below.is_heading && bare.starts_with('"'))
            {
                return all_of(&below.name);
            }
            if !below.is_heading {
                self.below = None;
            }
        }
        verbs(line, ids)
    }

    /// A row of a table: by a cell that names the relation, else by the head of each column.
    fn row(&mut self, line: &str) -> Vec<NamedRange> {
        let cells = cells(line);
        let names: Vec<Option<String>> = cells
            .iter()
            .map(|cell| relation_in(line[cell.clone()].trim()))
            .collect();
        let by_column = self.columns.get_or_insert_with(|| names.clone());
        if let Some(at) = names.iter().position(Option::is_some) {
            let name = names[at].clone().unwrap_or_default();
            let from = cells[at].end;
            return vec![NamedRange {
                range: from..line.len(),
                name,
            }];
        }
        cells
            .into_iter()
            .zip(by_column.iter())
            .filter_map(|(range, name)| {
                let name = name.clone()?;
                Some(NamedRange { range, name })
            })
            .collect()
    }
}

/// The first byte of `：`.
const FULL_WIDTH: u8 = 0xef;

/// `Blocks: …` with what stands behind the colon.
fn key_of(line: &str) -> Option<(String, &str)> {
    // A key is short: what has no colon soon is prose.
    let start = &line.as_bytes()[..line.len().min(80)];
    memchr::memchr2(b':', FULL_WIDTH, start)?;
    let found = KEY.captures(line)?;
    let name = relation_in(found.get(1)?.as_str())?;
    Some((name, found.get(2)?.as_str()))
}

/// The name as it is written, if a cell, a heading or a line is nothing but that.
fn relation_in(text: &str) -> Option<String> {
    let bare = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '_' | '"' | '\'' | '`' | ':' | '：')
    });
    if bare.is_empty() || bare.len() > 40 {
        return None;
    }
    let mut plain = String::with_capacity(bare.len() + 4);
    let mut was_lower = false;
    for c in bare.chars() {
        if c.is_uppercase() && was_lower {
            plain.push(' ');
        }
        was_lower = c.is_lowercase();
        match c {
            '_' | '-' => plain.push(' '),
            c => plain.extend(c.to_lowercase()),
        }
    }
    RELATIONS.contains(plain.as_str()).then(|| bare.to_owned())
}

/// The text of a heading in Markdown, AsciiDoc or Org.
fn heading_of(bare: &str, stars: bool) -> Option<&str> {
    let mark = bare.chars().next()?;
    let is_mark = matches!(mark, '#' | '=') || (stars && mark == '*');
    let rest = bare.trim_start_matches(mark);
    (is_mark && rest.starts_with(' ')).then(|| rest.trim_end_matches(['#', '=', ' ']).trim())
}

/// Whether a line underlines a heading, or ends a front matter.
fn is_underline(bare: &str) -> bool {
    let mut chars = bare.chars();
    let Some(mark) = chars.next() else {
        return false;
    };
    bare.len() >= 3 && matches!(mark, '-' | '=' | '~' | '^') && chars.all(|c| c == mark)
}

/// The most cells of a row; further text belongs to the last of them.
const MAX_CELLS: usize = 1000;

/// The ranges between the bars; a bar in a wiki link within a table is written `\|`.
fn cells(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let bars: Vec<usize> = memchr::memchr_iter(b'|', bytes)
        .filter(|&at| at == 0 || bytes[at - 1] != b'\\')
        .take(MAX_CELLS)
        .collect();
    let ends = bars.iter().skip(1).copied().chain([line.len()]);
    bars.iter()
        .zip(ends)
        .map(|(&start, end)| start + 1..end.max(start + 1))
        .collect()
}

/// A verb before an id, and the ids that go on from it: `blocks PROJ-1, PROJ-2 and PROJ-3`.
fn verbs(line: &str, ids: &[(usize, &str)]) -> Vec<NamedRange> {
    let mut named: Vec<NamedRange> = Vec::new();
    let mut end = 0;
    for &(at, id) in ids {
        let before = &line[end..at];
        let goes_on = named.last().is_some_and(|last| last.range.end == end)
            && before
                .split(|c: char| c.is_whitespace() || ",;、，&[](".contains(c))
                .all(|word| matches!(word, "" | "and" | "or" | "和" | "及" | "与" | "以及"));
        let name = if goes_on {
            named.last().map(|last| last.name.clone())
        } else {
            verb_at_end(before).map(str::to_owned)
        };
        end = at + id.len();
        if let Some(name) = name {
            named.push(NamedRange {
                range: at..end,
                name,
            });
        }
    }
    named
}

/// The verb that a text ends with, as it is written.
fn verb_at_end(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "[(\"'`*_:：".contains(c));
    VERBS.iter().find_map(|verb| {
        let at = text.len().checked_sub(verb.len())?;
        let (before, end) = (text.get(..at)?, text.get(at..)?);
        // `unblocks` is not `blocks`; in Chinese nothing stands between words.
        let begins = !verb.is_ascii() || !before.ends_with(char::is_alphanumeric);
        (end.eq_ignore_ascii_case(verb) && begins).then_some(end)
    })
}
