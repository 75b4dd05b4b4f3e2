//! Lines of a passage as an answer shows them: whole, the best sentence in bold, cut with a visible count.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use unicode_width::UnicodeWidthStr;

use super::super::passage::{Layout, Passage};
use super::frames::Frames;
use crate::text::{begins_item, code_ranges, ends_all_blocks};

/// Lines that are shown of a block.
pub(super) const MOST_LINES: usize = 12;
/// Columns after which a line counts as another one: an answer is about as wide.
const WRAPPED_AT: usize = 100;
/// Bytes of a character that is two columns wide. Of others more stand in a column, and a line may hold such only.
const BYTES_OF_COLUMN: usize = 3;
/// Bytes at which a single line is cut. A line of data may be a document of its own.
const LONGEST_LINE: usize = 2_400;

#[expect(
    clippy::expect_used,
    reason = "the pattern is part of the program, and a test uses it"
)]
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[(\d[\d,， ]*)\]").expect("a pattern of this file"));

/// A quotation in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Quote {
    /// Markdown with its citation.
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
    let all = read_lines(passage, lines);
    let window = window(&all, bold);
    let shown = &all[window.clone()];
    let start = shown.first().map_or(0, |line| line.bytes.start);
    let mut end = shown.last().map_or(0, |line| line.bytes.end);
    let longest = passage.text.floor_char_boundary(start + LONGEST_LINE);
    let is_cut = shown.len() == 1 && longest < end;
    if is_cut {
        end = longest;
    }
    let bold = bold.map(|bold| bold.start.max(start)..bold.end.min(end));
    let body = match bold.filter(|bold| bold.start < bold.end) {
        Some(bold) => passage
            .markup
            .with_bold(&passage.text, &(start..end), &bold),
        None => passage.markup.readable(&passage.text, &(start..end)),
    };
    let above = opening(shown, window.start > 0).unwrap_or_default();
    let height_above = above.matches('\n').count();
    let mut body = format!("{above}{body}");
    if is_cut {
        body.push_str(" …");
    }
    if let Some(layout) = shown.last().and_then(|line| line.layout)
        && !ends_all_blocks(&body)
    {
        let marks = layout.opening.chars();
        let fence: String = marks.take_while(|c| matches!(c, '`' | '~')).collect();
        body.push_str(&format!("\n{fence}"));
    }
    let body = without_citations(&body);
    let beyond = all[..window.start].iter().chain(&all[window.end..]);
    let left_out = beyond.filter(|line| !line.is_blank).count() + usize::from(is_cut);
    let is_prose = |line: &Line| !line.is_blank && line.layout.is_none();
    let cited = shown.iter().rposition(is_prose).filter(|_| left_out == 0);
    let mut written: Vec<String> = Vec::new();
    for (at, text) in body.split('\n').enumerate() {
        let at = at.checked_sub(height_above);
        if at.is_some() && at == cited {
            written.push(format!("{} [{number}]", text.trim_end()));
        } else if at
            .and_then(|at| shown.get(at))
            .is_none_or(|line| line.height > 0)
        {
            written.push(text.to_owned());
        }
    }
    let mut text = written.join("\n");
    if left_out > 0 {
        text.push_str(&format!("\n\n{} [{number}]", frames.more_lines(left_out)));
    } else if cited.is_none() {
        text.push_str(&format!("\n\n[{number}]"));
    }
    Quote {
        text,
        shown_lines: shown.iter().map(|line| line.height).sum(),
        lines: lines.start + window.start..lines.start + window.end,
    }
}

struct Line<'a> {
    /// Without its end.
    bytes: Range<usize>,
    /// Lines that it takes on a screen; 0 of one that is not shown.
    height: usize,
    is_blank: bool,
    /// The code or table that it is part of.
    layout: Option<&'a Layout>,
    /// Whether it only opens that.
    is_opening: bool,
    begins_item: bool,
}

fn read_lines<'a>(passage: &'a Passage, lines: &Range<usize>) -> Vec<Line<'a>> {
    let mut at = 0;
    let mut is_after_blank = true;
    let mut read = Vec::new();
    for (number, line) in passage.text.lines().enumerate() {
        let bytes = at..at + line.len();
        at = bytes.end + 1;
        if !lines.contains(&number) {
            continue;
        }
        let shown = passage.markup.readable(&passage.text, &bytes);
        let is_blank = shown.trim().is_empty();
        let was_blank = line.trim().is_empty();
        let probe = if was_blank {
            bytes.start
        } else {
            bytes.end - 1
        };
        let layout = passage.markup.layout_at(probe);
        let is_opening = layout.is_some_and(|layout| {
            let above = passage.text.get(layout.range.start..bytes.start);
            let above = above.unwrap_or_default().matches('\n').count();
            layout.is_written && above < layout.opening.lines().count()
        });
        // Where an image was, nothing is left, and one blank line parts as well as two.
        let is_shown = !is_blank || was_blank && (layout.is_some() || !is_after_blank);
        let width = shown.width().max(shown.len() / BYTES_OF_COLUMN);
        read.push(Line {
            bytes,
            height: usize::from(is_shown) * width.div_ceil(WRAPPED_AT).max(1),
            is_blank,
            layout,
            is_opening,
            begins_item: begins_item(line),
        });
        is_after_blank = is_blank;
    }
    read
}

/// Lines that some lines of a passage take on a screen.
pub(super) fn shown_height(passage: &Passage, lines: &Range<usize>) -> usize {
    let lines = read_lines(passage, lines);
    lines.iter().map(|line| line.height).sum()
}

/// The lines that are shown: the first ones, or those from shortly before the bold ones where these lie deeper.
fn window(lines: &[Line<'_>], bold: Option<&Range<usize>>) -> Range<usize> {
    let is_text = |line: &Line<'_>| !line.is_blank && !line.is_opening;
    let fitting = |from: usize| {
        let mut height = 0;
        let fits = |line: &&Line<'_>| {
            height += line.height;
            height <= MOST_LINES
        };
        let count = lines[from..].iter().take_while(fits).count();
        let last = lines[from..from + count].iter().rposition(is_text);
        from..from + last.map_or(1, |last| last + 1).min(lines.len() - from)
    };
    let first = fitting(0);
    let begins = |bold: &Range<usize>| lines.iter().position(|line| bold.start < line.bytes.end);
    let ends = |bold: &Range<usize>| lines.iter().position(|line| bold.end <= line.bytes.end);
    let Some((begin, end)) = bold.and_then(|bold| Some((begins(bold)?, ends(bold)?))) else {
        return first;
    };
    if first.contains(&end) || begin == 0 {
        return first;
    }
    // From the paragraph or item that holds the sentence on, and from further above where that shows as much.
    let opens = |at: &usize| *at == 0 || lines[*at].begins_item || !is_text(&lines[*at - 1]);
    let holds = |window: &Range<usize>| window.contains(&end);
    let mut windows = (0..=begin).filter(opens).map(fitting).filter(holds);
    let nearest = windows.clone().next_back();
    let is_as_much = |window: &Range<usize>| Some(window.end) == nearest.as_ref().map(|it| it.end);
    windows.find(is_as_much).unwrap_or_else(|| fitting(begin))
}

/// What stands above the lines that are shown where that is more than they are.
fn opening(shown: &[Line<'_>], is_cut: bool) -> Option<String> {
    let line = shown.first()?;
    let layout = line.layout.filter(|layout| {
        !layout.is_written || is_cut && !line.is_opening && !layout.opening.is_empty()
    });
    match layout {
        Some(layout) => Some(format!("{}\n", layout.opening)),
        // A list or code that follows a line directly would be part of it.
        None => is_cut.then(|| "…\n\n".to_owned()),
    }
}

/// A text without numbers in brackets, which would be taken for citations of the answer; code stays as it is.
pub(in super::super) fn without_citations(text: &str) -> Cow<'_, str> {
    let code = code_ranges(text);
    NUMBER.replace_all(text, |found: &Captures<'_>| {
        let at = found.get(0).map_or(0, |found| found.start());
        if code.iter().any(|range| range.contains(&at)) {
            found[0].to_owned()
        } else {
            format!("({})", &found[1])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Evidence, Language};

    fn quoted(source: &str, text: &str, bold: &str) -> String {
        let passage = Passage::read(&Evidence {
            source: source.to_owned(),
            ..Evidence::without_file(1, text)
        });
        let at = text.find(bold).unwrap();
        let bold = Some(at..at + bold.len()).filter(|bold| !bold.is_empty());
        let frames = Frames::for_language(Language::En);
        quote(
            &passage,
            &(0..text.lines().count()),
            bold.as_ref(),
            1,
            frames,
        )
        .text
    }

    #[test]
    fn r23_a_citation_stands_behind_prose_or_alone() {
        for (text, shown) in [
            (
                "Run [it](b.md)\nnow [3]:\n\n```sh\na[1]\n```\n",
                "Run it\nnow (3): [1]\n\n```sh\na[1]\n```",
            ),
            ("```sh\na\n```\n", "```sh\na\n```\n\n[1]"),
            ("a\n\n![b](c)\n\n\nd\n", "a\n\nd [1]"),
            ("---\nid: A-1\n---\n", "```yaml\nid: A-1\n```\n\n[1]"),
        ] {
            assert_eq!(quoted("a.md", text, ""), shown);
        }
        assert_eq!(
            quoted("a.py", "# b\nc[1]\n", ""),
            "```py\n# b\nc[1]\n```\n\n[1]"
        );
    }

    #[test]
    fn r23_a_window_begins_and_ends_with_whole_blocks() {
        let lines = |mark: &str| {
            let lines: Vec<String> = (1..=20).map(|n| format!("{mark}line {n}\n")).collect();
            lines.concat()
        };
        let list = quoted("a.md", &lines("- "), "line 15");
        assert!(list.starts_with("…\n\n- line 9\n"), "{list}");
        assert!(list.contains("\n- **line 15**\n"), "{list}");
        assert!(list.ends_with("- line 20\n\n… 8 more lines [1]"), "{list}");
        let prose = lines("").lines().take(11).collect::<Vec<_>>().join("\n");
        let code = quoted("a.md", &format!("{prose}\n```sh\nb\n```\n"), "");
        assert!(code.ends_with("line 11\n\n… 3 more lines [1]"), "{code}");
        let code = quoted("a.md", &format!("  ````sh\n{}  ````\n", lines("  ")), "");
        assert!(
            code.contains("line 11\n````\n\n… 10 more lines [1]"),
            "{code}"
        );
    }
}
