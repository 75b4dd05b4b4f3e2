//! Lines of a passage as an answer shows them: whole, the best sentence in bold, cut with a visible count.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::super::passage::{Passage, readable};
use super::frames::Frames;
use crate::text::Fences;

/// Lines that are shown of a block.
pub(super) const MOST_LINES: usize = 12;
/// Columns after which a line of prose counts as another one: an answer is about as wide.
const WRAPPED_AT: usize = 100;
/// Bytes at which a single line is cut. A line of data may be a document of its own.
const LONGEST_LINE: usize = 2_400;
/// Signs that a bold sentence ends before: behind them Markdown knows no end of bold in scripts without spaces.
const END_MARKS: [char; 12] = [
    '.', '!', '?', ':', ';', '。', '！', '？', '：', '；', '”', '"',
];

/// A quotation in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Quote {
    /// Markdown, ended by its citation.
    pub(in super::super) text: String,
    /// The lines of the passage that it shows, from 0.
    pub(in super::super) lines: Range<usize>,
    /// What it takes on a screen.
    pub(in super::super) shown_lines: usize,
}

/// Quotes lines of a passage as source `[number]`, with the bytes `bold` of the passage in bold.
pub(super) fn quote(
    passage: &Passage,
    lines: &Range<usize>,
    bold: Option<&Range<usize>>,
    number: usize,
    frames: &Frames,
) -> Quote {
    let all = written_lines(passage, lines, bold);
    let window = window(&all);
    let shown = &all[window.clone()];
    let left_out: usize =
        all.len() - window.len() + shown.iter().filter(|line| line.is_cut).count();
    let mut text = String::new();
    // A window into code or a table needs the fence or the header that stands before it.
    let before = &all[..window.start];
    if let Some(fence) = open_fence(before) {
        text.push_str(&format!("{fence}\n"));
    } else if window.start > 1 && is_table(&all) {
        text.push_str(&format!("{}\n{}\n", all[0].text, all[1].text));
    } else if window.start > 0 {
        text.push_str("…\n");
    }
    let body: Vec<&str> = shown.iter().map(|line| line.text.as_str()).collect();
    text.push_str(&body.join("\n"));
    if open_fence(&all[..window.end]).is_some() {
        text.push_str("\n```");
    }
    let last = shown.last().map_or("", |line| line.text.trim());
    let stands_alone = last.starts_with('|') || text.ends_with("```") || text.ends_with("~~~");
    if left_out > 0 {
        text.push_str(&format!("\n\n{} [{number}]", frames.more_lines(left_out)));
    } else if stands_alone {
        text.push_str(&format!("\n\n[{number}]"));
    } else {
        text.push_str(&format!(" [{number}]"));
    }
    Quote {
        text,
        shown_lines: shown.iter().map(|line| line.height).sum(),
        lines: lines.start + window.start..lines.start + window.end,
    }
}

struct WrittenLine {
    text: String,
    /// Lines that it takes on a screen.
    height: usize,
    is_code: bool,
    is_bold: bool,
    is_cut: bool,
}

/// The lines as they are shown, each with its height.
fn written_lines(
    passage: &Passage,
    lines: &Range<usize>,
    bold: Option<&Range<usize>>,
) -> Vec<WrittenLine> {
    let mut fences = Fences::default();
    let mut at = 0;
    let mut written = Vec::new();
    for (number, line) in passage.text.lines().enumerate() {
        let bytes = at..at + line.len();
        at += line.len() + 1;
        if !lines.contains(&number) {
            continue;
        }
        let is_code = fences.hold(line.trim_start());
        let marked = bold.and_then(|bold| {
            let start = bold.start.max(bytes.start);
            let end = bold.end.min(bytes.end);
            (start < end).then(|| start - bytes.start..end - bytes.start)
        });
        let is_bold = marked.is_some();
        let text = match marked.filter(|_| !is_code) {
            Some(range) => with_bold(line, range),
            None => line.to_owned(),
        };
        let text = if is_code { text } else { readable(&text) };
        let cut = text.floor_char_boundary(LONGEST_LINE);
        let is_cut = cut < text.len();
        let text = if is_cut {
            format!("{} …", &text[..cut])
        } else {
            text
        };
        let height = if is_code {
            1
        } else {
            text.width().div_ceil(WRAPPED_AT).max(1)
        };
        written.push(WrittenLine {
            text,
            height,
            is_code,
            is_bold,
            is_cut,
        });
    }
    written
}

/// Lines that some lines of a passage take on a screen.
pub(super) fn shown_height(passage: &Passage, lines: &Range<usize>) -> usize {
    written_lines(passage, lines, None)
        .iter()
        .map(|line| line.height)
        .sum()
}

/// The lines that are shown: the first ones, or those from shortly before the bold ones where these lie deeper.
fn window(lines: &[WrittenLine]) -> Range<usize> {
    let fitting = |from: usize| {
        let mut height = 0;
        let fits = |line: &&WrittenLine| {
            height += line.height;
            height <= MOST_LINES
        };
        from + lines[from..]
            .iter()
            .take_while(fits)
            .count()
            .max(1)
            .min(lines.len() - from)
    };
    let end = fitting(0);
    match lines.iter().position(|line| line.is_bold) {
        Some(bold) if bold >= end => {
            let from = bold - 1;
            from..fitting(from)
        }
        _ => 0..end,
    }
}

/// The fence that the lines leave open.
fn open_fence(lines: &[WrittenLine]) -> Option<&str> {
    let mut fences = Fences::default();
    let mut opened = None;
    for line in lines.iter().map(|line| line.text.trim_start()) {
        let was_open = opened.is_some();
        let is_code = fences.hold(line);
        opened = match (is_code, was_open) {
            (true, false) => Some(line),
            (true, true) if is_closing(line, opened.unwrap_or_default()) => None,
            (true, true) => opened,
            (false, _) => None,
        };
    }
    opened
}

fn is_closing(line: &str, opening: &str) -> bool {
    crate::text::Fence::opened_by(opening).is_some_and(|fence| fence.is_closed_by(line))
}

fn is_table(lines: &[WrittenLine]) -> bool {
    let is_row = |line: &WrittenLine| !line.is_code && line.text.trim_start().starts_with('|');
    lines.len() > 2 && lines[..2].iter().all(is_row)
}

/// A line with some of its bytes in bold: the cells of a table row each, else the text from mark to mark.
fn with_bold(line: &str, range: Range<usize>) -> String {
    let (before, rest) = line.split_at(range.start);
    let (inside, after) = rest.split_at(range.len());
    if inside.trim_start().starts_with('|') {
        let cells = inside.split('|').map(|cell| match cell.trim() {
            "" => cell.to_owned(),
            text => format!(" **{}** ", text.replace("**", "")),
        });
        return format!("{before}{}{after}", cells.collect::<Vec<_>>().join("|"));
    }
    let plain = inside.replace("**", "").replace("__", "");
    let start = plain.len()
        - plain
            .trim_start_matches(|c: char| c.is_whitespace() || ">#-*+".contains(c))
            .len();
    let (lead, text) = plain.split_at(start);
    let end = text
        .trim_end_matches(|c: char| c.is_whitespace() || END_MARKS.contains(&c))
        .len();
    let (text, marks) = text.split_at(end);
    if text.is_empty() {
        return line.to_owned();
    }
    // An emphasis that begins inside and ends outside, or the other way round, would swallow the marks.
    let is_balanced = text.matches('*').count() % 2 == 0 && before.matches("**").count() % 2 == 0;
    if is_balanced {
        format!("{before}{lead}**{text}**{marks}{after}")
    } else {
        format!(
            "{}{lead}**{}**{marks}{}",
            before.replace('*', ""),
            text.replace('*', ""),
            after.replace('*', "")
        )
    }
}
