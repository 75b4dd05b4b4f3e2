//! Blocks of Org: headings by their stars, `#+BEGIN` blocks whole.

use std::collections::HashMap;

use super::blocks::{Block, Headings};

/// Words before a title that say how far it is done.
const STATES: &[&str] = &["TODO", "DONE", "NEXT", "WAITING", "CANCELLED", "CANCELED"];

/// Paragraphs and blocks under their headings.
pub(super) fn blocks(lines: &[&str], take: &mut impl FnMut(Block)) {
    let mut headings = Headings::default();
    let closings = closings(lines);
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
        } else if let Some((level, title)) = heading(lines[at]) {
            headings.enter(level, &title);
            take(headings.heading(at, at));
            at += 1;
        } else {
            let end = end(lines, at, &closings);
            take(headings.block(at, end));
            at = end + 1;
        }
    }
}

fn heading(line: &str) -> Option<(usize, String)> {
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
fn end(lines: &[&str], start: usize, closings: &HashMap<&str, usize>) -> usize {
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
                || heading(line).is_some()
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
