//! What should stay together: paragraphs, fences and tables under their headings, or the
//! top-level items of a source file.

use std::collections::HashMap;

use crate::text::{Fence, front_matter, plain_heading};

/// Lines `start..=end`, counted from 0, under a path of headings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub path: Vec<String>,
    pub start: usize,
    pub end: usize,
    /// Whether the block holds headings only, and no text yet.
    pub heading: bool,
    /// Whether the block is the front matter of the file.
    pub metadata: bool,
    /// The headings that stand in it.
    pub titles: Vec<String>,
    /// The names of a table's columns, which each part of the table repeats; `None` for other blocks.
    pub columns: Option<String>,
}

/// The headings above a line.
#[derive(Debug, Default)]
pub(super) struct Headings(Vec<(usize, String)>);

impl Headings {
    /// A heading of that level, 0 or 1 being the highest, ends those of its level and below.
    pub fn enter(&mut self, level: usize, title: &str) {
        self.0.retain(|(above, _)| *above < level);
        self.0.push((level, plain_heading(title)));
    }

    /// Lines of text under these headings.
    pub fn block(&self, start: usize, end: usize) -> Block {
        Block {
            path: self.0.iter().map(|(_, title)| title.clone()).collect(),
            start,
            end,
            ..Block::default()
        }
    }

    /// The lines of the heading that was entered last.
    pub fn heading(&self, start: usize, end: usize) -> Block {
        let title = self.0.last().map(|(_, title)| title.clone());
        Block {
            heading: true,
            titles: title.into_iter().collect(),
            ..self.block(start, end)
        }
    }
}

/// Hands the blocks from line `at` on to `take`, in order; `next` makes the one that begins at a line. Blank
/// lines between them belong to none.
fn visit_blocks(
    lines: &[&str],
    mut at: usize,
    take: &mut impl FnMut(Block),
    mut next: impl FnMut(&mut Headings, usize) -> Block,
) {
    let mut headings = Headings::default();
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let block = next(&mut headings, at);
        at = block.end + 1;
        take(block);
    }
}

/// Blocks of Markdown, in order, each handed to `take`.
pub(super) fn markdown(lines: &[&str], take: &mut impl FnMut(Block)) {
    let text = front_matter(lines.iter().copied());
    if text > 0 {
        take(Block {
            end: text - 1,
            metadata: true,
            ..Block::default()
        });
    }
    visit_blocks(lines, text, take, |headings, at| {
        let last_before = |from: usize, is_end: &dyn Fn(usize) -> bool| {
            let end = (from..lines.len()).find(|&line| is_end(line));
            end.unwrap_or(lines.len()) - 1
        };
        if let Some(fence) = Fence::opened_by(lines[at].trim_start()) {
            return headings.block(at, end_of_fence(lines, at, fence));
        }
        if let Some((level, title, height)) = heading(lines, at) {
            headings.enter(level, &title);
            return headings.heading(at, at + height - 1);
        }
        if let Some(columns) = table(lines, at) {
            let end = last_before(at + 2, &|line| !lines[line].contains('|'));
            return Block {
                columns: Some(columns),
                ..headings.block(at, end)
            };
        }
        let end = last_before(at + 1, &|line| {
            lines[line].trim().is_empty()
                || is_fence(lines[line])
                || heading(lines, line).is_some()
                || table(lines, line).is_some()
        });
        headings.block(at, end)
    });
}

/// Paragraphs of plain text.
pub(super) fn paragraphs(lines: &[&str], take: &mut impl FnMut(Block)) {
    split_before(lines, take, |at| {
        at > 0 && lines[at - 1].trim().is_empty() && !lines[at].trim().is_empty()
    });
}

/// Top-level items of source code: what begins at the margin after a blank line.
pub(super) fn code(lines: &[&str], take: &mut impl FnMut(Block)) {
    split_before(lines, take, |at| {
        at > 0
            && lines[at - 1].trim().is_empty()
            && lines[at].chars().next().is_some_and(|c| !c.is_whitespace())
    });
}

fn split_before(lines: &[&str], take: &mut impl FnMut(Block), starts: impl Fn(usize) -> bool) {
    let mut start = 0;
    for at in 0..lines.len() {
        if starts(at) {
            take(Headings::default().block(start, at - 1));
            start = at;
        }
    }
    if start < lines.len() {
        take(Headings::default().block(start, lines.len() - 1));
    }
}

/// The names of the columns of the table that begins here.
fn table(lines: &[&str], at: usize) -> Option<String> {
    let (header, rule) = (lines[at], lines.get(at + 1)?.trim());
    let is_rule = rule.contains('-')
        && rule.contains('|')
        && rule
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'));
    (is_rule && header.contains('|')).then(|| {
        let cells: Vec<&str> = header
            .split('|')
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect();
        cells.join(", ")
    })
}

/// Whether a line opens a block of code, which in an item of a list is indented.
pub(super) fn is_fence(line: &str) -> bool {
    Fence::opened_by(line.trim_start()).is_some()
}

/// The last line of the block of code that is opened here. One within an item ends at the latest
/// where the item does.
fn end_of_fence(lines: &[&str], at: usize, fence: Fence) -> usize {
    let is_within_item = unindented(lines[at]).is_none();
    let is_margin = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']);
    for (number, line) in lines.iter().enumerate().skip(at + 1) {
        if fence.is_closed_by(line) {
            return number;
        }
        if is_within_item && is_margin(line) {
            return number - 1;
        }
    }
    lines.len() - 1
}

/// Level, title and height in lines of the heading that stands at this line.
fn heading(lines: &[&str], at: usize) -> Option<(usize, String, usize)> {
    let line = unindented(lines[at])?;
    let level = line.chars().take_while(|&c| c == '#').count();
    if (1..=6).contains(&level) {
        let rest = &line[level..];
        if rest.is_empty() || rest.starts_with([' ', '\t']) {
            let title = rest.trim().trim_end_matches('#').trim_end().to_owned();
            return Some((level, title, 1));
        }
    }
    let under = lines
        .get(at + 1)
        .and_then(|next| unindented(next))?
        .trim_end();
    let level = match under.chars().next()? {
        '=' if under.chars().all(|c| c == '=') => 1,
        '-' if under.len() > 1 && under.chars().all(|c| c == '-') => 2,
        _ => return None,
    };
    let alone = at == 0 || lines[at - 1].trim().is_empty();
    let is_text = !line.starts_with(['-', '*', '+', '>', '|']) && !line.trim().is_empty();
    (alone && is_text).then(|| (level, line.trim().to_owned(), 2))
}

fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then_some(text)
}

// Blocks of Org: headings by their stars, `#+BEGIN` blocks whole.

/// Words before a title that say how far it is done.
const STATES: &[&str] = &["TODO", "DONE", "NEXT", "WAITING", "CANCELLED", "CANCELED"];

/// Paragraphs and blocks under their headings.
pub(super) fn org(lines: &[&str], take: &mut impl FnMut(Block)) {
    let closings = closings(lines);
    visit_blocks(lines, 0, take, |headings, at| {
        let Some((level, title)) = org_heading(lines[at]) else {
            return headings.block(at, org_end(lines, at, &closings));
        };
        headings.enter(level, &title);
        headings.heading(at, at)
    });
}

fn org_heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'*').count();
    let title = line[level..]
        .strip_prefix(' ')
        .filter(|_| level > 0)?
        .trim();
    let title = STATES
        .iter()
        .find_map(|state| title.strip_prefix(state)?.strip_prefix(' '))
        .unwrap_or(title);
    // `Title   :tag:other:`
    let title = match title.rsplit_once(char::is_whitespace) {
        Some((before, tags)) if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') => {
            before.trim_end()
        }
        _ => title,
    };
    Some((level, title.to_owned()))
}

/// The last line that closes each block name.
fn closings<'l>(lines: &[&'l str]) -> HashMap<&'l str, usize> {
    let lines = lines.iter().enumerate();
    lines
        .filter_map(|(at, line)| Some((directive(line, "#+end_")?, at)))
        .collect()
}

/// The last line of the block or paragraph that begins here.
fn org_end(lines: &[&str], start: usize, closings: &HashMap<&str, usize>) -> usize {
    let rest = || lines.iter().enumerate().skip(start + 1);
    let is_closed = |name: &&str| closings.get(name).is_some_and(|last| *last > start);
    if let Some(name) = directive(lines[start], "#+begin_").filter(is_closed) {
        let closed = rest().find(|(_, line)| directive(line, "#+end_") == Some(name));
        if let Some((at, _)) = closed {
            return at;
        }
    }
    rest()
        .find(|(_, line)| {
            line.trim().is_empty()
                || org_heading(line).is_some()
                || directive(line, "#+begin_").is_some()
        })
        .map_or(lines.len(), |(at, _)| at)
        - 1
}

/// The word that follows a mark at the beginning of a line.
fn directive<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let begins = line.get(..mark.len())?.eq_ignore_ascii_case(mark);
    begins.then(|| {
        line[mark.len()..]
            .split_whitespace()
            .next()
            .unwrap_or_default()
    })
}
