//! Blocks of reStructuredText. Which mark means which level is up to each document: the first one
//! met is the highest.

use super::blocks::{Block, Headings};

/// Paragraphs, and directives with what belongs to them, under their headings.
pub(super) fn blocks(lines: &[&str], take: &mut impl FnMut(Block)) {
    let mut headings = Headings::default();
    let mut marks: Vec<(char, bool)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
        } else if let Some(heading) = heading(lines, at) {
            let known = marks.iter().position(|mark| *mark == heading.mark);
            let level = known.unwrap_or_else(|| {
                marks.push(heading.mark);
                marks.len() - 1
            });
            headings.enter(level, heading.title);
            take(headings.heading(at, at + heading.height - 1));
            at += heading.height;
        } else {
            let end = end(lines, at);
            take(headings.block(at, end));
            at = end + 1;
        }
    }
}

struct RstHeading<'a> {
    /// The character, and whether it stands above the title too.
    mark: (char, bool),
    title: &'a str,
    height: usize,
}

fn heading<'a>(lines: &[&'a str], at: usize) -> Option<RstHeading<'a>> {
    let alone = at == 0 || lines[at - 1].trim().is_empty();
    if !alone {
        return None;
    }
    if let Some(mark) = adornment(lines[at]) {
        let (title, under) = (lines.get(at + 1)?, lines.get(at + 2)?);
        let framed = adornment(under) == Some(mark) && !title.trim().is_empty();
        return framed.then(|| RstHeading {
            mark: (mark, true),
            title: title.trim(),
            height: 3,
        });
    }
    let title = lines[at].trim_end();
    let mark = adornment(lines.get(at + 1)?)?;
    let long_enough = lines[at + 1].trim_end().len() * 2 >= title.chars().count();
    (!title.starts_with(char::is_whitespace) && long_enough).then_some(RstHeading {
        mark: (mark, false),
        title,
        height: 2,
    })
}

/// The character that a line consists of.
fn adornment(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|c| c == mark)).then_some(mark)
}

/// The last line of the block that begins here: a paragraph ends at a blank line, a directive
/// where the indentation does.
fn end(lines: &[&str], start: usize) -> usize {
    let mut end = start;
    while end + 1 < lines.len() && !lines[end + 1].trim().is_empty() {
        end += 1;
    }
    let directive = lines[start].starts_with(".. ") || lines[end].trim_end().ends_with("::");
    if !directive {
        return end;
    }
    for (at, line) in lines.iter().enumerate().skip(end + 1) {
        if line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            end = at;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    end
}
