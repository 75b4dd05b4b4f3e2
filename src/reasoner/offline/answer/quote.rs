//! Lines of a passage as an answer shows them: without links, the best sentence in bold, and of a long block only a
//! window around that sentence, with the number of items or lines that are left out.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use regex::{Captures, Regex};
use unicode_width::UnicodeWidthStr;

use super::super::language::{Frames, filled, trimmed};
use super::super::passage::{BlockKind, Passage, line_ranges};
use crate::reasoner::regex;
use crate::text::{code_ranges, ends_all_blocks, markup};

/// Lines that are shown of a block.
pub const MOST_LINES: usize = 12;
/// Columns after which a line counts as another one: an answer is about as wide.
const WRAPPED_AT: usize = 100;
/// Bytes of a character that is two columns wide. Of others more stand in a column, and a line may hold such only.
const BYTES_OF_COLUMN: usize = 3;

/// A number in brackets, or more than one blank line.
static UNCLEAN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\[(\d[\d,， ]*)\]|\n(?:>?[ \t]*\n){2,}"));

/// Quotes lines of a passage as source `[number]`, with the bytes `bold` of the passage in bold: Markdown with its
/// citation, and the lines of the passage that it shows, from 0.
pub fn quote(
    passage: &Passage,
    lines: &Range<usize>,
    bold: Option<&Range<usize>>,
    number: usize,
    frames: &Frames,
) -> (String, Range<usize>) {
    let all = passage.bytes_of(lines);
    // A line that says that one line is left out would take as much room.
    let shown = if height(passage, &all) <= MOST_LINES + 1 {
        all.clone()
    } else {
        window(passage, &all, bold)
    };
    let line = |byte: usize| passage.text[..byte].matches('\n').count();
    let shown_lines = line(shown.start)..line(shown.end) + 1;
    let whole_lines = passage.whole_lists(lines);
    let whole = passage.bytes_of(&whole_lines);
    let beyond = passage.beyond_lines(&whole_lines);
    let is_cut = |part| {
        let left_out = passage.markup.readable(&passage.text, &part);
        !left_out.trim().is_empty()
    };
    let is_cut_above = beyond.above > 0 || is_cut(whole.start..shown.start);
    let is_cut_below = beyond.below > 0 || is_cut(shown.end..whole.end);
    let mut text = marked_up(passage, &shown, bold, is_cut_above);
    if is_cut_above || is_cut_below {
        let items_above = passage.items_in(&(whole_lines.start..shown_lines.start));
        let items_below = passage.items_in(&(shown_lines.end..whole_lines.end));
        let left_out = match beyond.above + items_above + items_below + beyond.below {
            0 => {
                let lines = height(passage, &whole).saturating_sub(height(passage, &shown));
                filled(&frames.more_lines, lines.max(2))
            }
            items => filled(&frames.more_items, items),
        };
        text.push_str(&format!("\n\n{left_out} [{number}]"));
    } else if let Some(end) = end_of_prose(&text) {
        text.insert_str(end, &format!(" [{number}]"));
    } else {
        text.push_str(&format!("\n\n[{number}]"));
    }
    (text, shown_lines)
}

/// Lines that a part of a passage takes on a screen.
pub fn height(passage: &Passage, part: &Range<usize>) -> usize {
    let shown = passage.markup.readable(&passage.text, part);
    let height = |line: &str| {
        let columns = line.width().max(line.len() / BYTES_OF_COLUMN);
        columns.div_ceil(WRAPPED_AT).max(1)
    };
    cleaned(shown.trim()).lines().map(height).sum()
}

/// The bytes that are shown: as much as fits around the bold sentence, from the beginning on where that holds it.
fn window(passage: &Passage, all: &Range<usize>, bold: Option<&Range<usize>>) -> Range<usize> {
    let bold = bold.cloned().unwrap_or(all.start..all.start);
    let cuts = cuts(passage, all);
    let mut from = cuts.partition_point(|cut| *cut <= bold.start) - 1;
    let mut to = cuts.partition_point(|cut| *cut < bold.end).max(from + 1);
    let fits = |start: usize, end: usize| height(passage, &(start..end)) <= MOST_LINES;
    if !fits(cuts[from], cuts[to]) {
        let holds_bold = fits(cuts[from], bold.end);
        let start = if holds_bold { cuts[from] } else { bold.start };
        return as_much_as_fits(&passage.text, start..cuts[to], fits);
    }
    if fits(cuts[0], cuts[to]) {
        from = 0;
    }
    loop {
        let grows_down = to + 1 < cuts.len() && fits(cuts[from], cuts[to + 1]);
        to += usize::from(grows_down);
        let grows_up = from > 0 && fits(cuts[from - 1], cuts[to]);
        from -= usize::from(grows_up);
        if !grows_down && !grows_up {
            break;
        }
    }
    let first = trimmed(&passage.text, cuts[from]..cuts[to]);
    let indent = passage.text[cuts[from]..first.start].rfind('\n');
    indent.map_or(cuts[from], |at| cuts[from] + at + 1)..first.end
}

/// Where a window may begin and end: at lines and at sentences of prose, but neither within a sentence, item or row
/// nor right behind the first line of code.
fn cuts(passage: &Passage, all: &Range<usize>) -> Vec<usize> {
    let text = passage.text.as_str();
    let is_shown = |at: &usize| all.start < *at && *at < all.end;
    let lines = line_ranges(text).into_iter().map(|line| line.start);
    let mut cuts: Vec<usize> = lines.filter(is_shown).collect();
    let mut whole: Vec<Range<usize>> = passage.markup.openings().collect();
    for block in &passage.blocks {
        for sentence in &block.sentences {
            let start = sentence.range.start;
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let is_within_line = text[line..start].contains(char::is_alphanumeric);
            if block.kind == BlockKind::Paragraph && is_shown(&start) && is_within_line {
                cuts.push(start);
            }
            whole.push(sentence.range.clone());
        }
    }
    cuts.retain(|at| !whole.iter().any(|it| it.start < *at && *at < it.end));
    cuts.extend([all.start, all.end]);
    cuts.sort_unstable();
    cuts
}

/// Cuts a text to so many bytes, at the end of a word where one is near.
fn as_much_as_fits(
    text: &str,
    part: Range<usize>,
    fits: impl Fn(usize, usize) -> bool,
) -> Range<usize> {
    let ends: Vec<usize> = (part.start..=part.end)
        .filter(|at| text.is_char_boundary(*at))
        .collect();
    let fitting = ends.partition_point(|end| fits(part.start, *end));
    let end = ends[fitting - 1];
    let space = text[part.start..end].rfind(char::is_whitespace);
    let space = space.map(|at| part.start + at);
    let near = space.filter(|at| at + WRAPPED_AT > end && end < part.end);
    part.start..near.unwrap_or(end)
}

/// A part of a passage as Markdown that stands alone: code with its fence and a table with its header, also where
/// these are not in the part.
fn marked_up(
    passage: &Passage,
    shown: &Range<usize>,
    bold: Option<&Range<usize>>,
    is_cut_above: bool,
) -> String {
    let text = passage.text.as_str();
    let layout_at = |end: usize| passage.markup.layout_at(end.saturating_sub(1));
    let first_line = text[shown.clone()].lines().next().unwrap_or_default();
    let above = match layout_at(shown.start + first_line.len()) {
        Some(layout) if !layout.is_opened_in(text, shown) => format!("{}\n", layout.opening),
        _ if !is_cut_above => String::new(),
        _ if matches!(text[..shown.start].chars().next_back(), None | Some('\n')) => {
            "…\n\n".to_owned()
        }
        _ => "… ".to_owned(),
    };
    let quoted = passage.markup.quote_part(text, shown, bold);
    let mut written = format!("{above}{}", quoted.trim_matches('\n'));
    let rest_of_line = text[shown.end..].lines().next().unwrap_or_default();
    if !rest_of_line.trim().is_empty() {
        written.push_str(" …");
    }
    let layout = layout_at(shown.end).filter(|_| !ends_all_blocks(&written));
    if let Some(layout) = layout {
        let marks = layout.opening.chars();
        written.push('\n');
        written.extend(marks.take_while(|c| matches!(c, '`' | '~')));
    }
    cleaned(&written).into_owned()
}

/// Where the last line ends that is neither code nor a table.
fn end_of_prose(text: &str) -> Option<usize> {
    let mut last = None;
    let mut is_prose = true;
    for (event, range) in Parser::new_ext(text, markup()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Table(_)) => is_prose = false,
            Event::End(TagEnd::CodeBlock | TagEnd::Table) => is_prose = true,
            Event::Text(_) | Event::Code(_) if is_prose => last = Some(range.end),
            _ => {}
        }
    }
    let last = last?;
    let rest = text[last..].lines().next().unwrap_or_default();
    Some(last + rest.trim_end().len())
}

/// A text without numbers in brackets, which would be taken for citations of the answer, and without the blank lines
/// that images leave behind; code stays as it is.
pub fn cleaned(text: &str) -> Cow<'_, str> {
    let code = code_ranges(text);
    UNCLEAN.replace_all(text, |found: &Captures<'_>| {
        let at = found.get(0).map_or(0, |found| found.start());
        match found.get(1) {
            _ if code.iter().any(|range| range.contains(&at)) => found[0].to_owned(),
            Some(number) => format!("({})", number.as_str()),
            None if found[0].contains('>') => "\n>\n".to_owned(),
            None => "\n\n".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Evidence, ItemsBeyond, Language};
    use crate::reasoner::offline::language::table;

    fn quoted(source: &str, text: &str, bold: &str) -> String {
        let passage = Passage::read(&Evidence {
            source: source.to_owned(),
            ..Evidence::without_file(1, text)
        });
        let at = text.find(bold).unwrap();
        let bold = Some(at..at + bold.len()).filter(|bold| !bold.is_empty());
        let frames = &table(Language::EN).frames;
        quote(
            &passage,
            &(0..text.lines().count()),
            bold.as_ref(),
            1,
            frames,
        )
        .0
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
        assert!(list.ends_with("- line 20\n\n… 8 more [1]"), "{list}");
        let prose = lines("").lines().take(11).collect::<Vec<_>>().join("\n");
        let code = quoted("a.md", &format!("{prose}\n```sh\nb\n```\n"), "");
        assert!(code.ends_with("line 11\n\n… 3 more lines [1]"), "{code}");
        let code = quoted("a.md", &format!("  ````sh\n{}  ````\n", lines("  ")), "");
        assert!(
            code.contains("line 11\n````\n\n… 10 more lines [1]"),
            "{code}"
        );
    }

    #[test]
    fn r23_lists_of_one_section_and_what_goes_on_beyond_the_passage_are_counted() {
        let certificates = "We hold these:\n\n**CE**\n- a\n- b\n\n**ISO 27001**\n- c\n- d\n\n\
                            **ISO 9001**\n- e\n- f\n\nOthers:\n\n- g\n";
        let steps = "1. Open it.\n\n```sh\na\n```\n\n2. Shut it.\n\nIt is shut.\n\n- so\n";
        let (rows, items) = ("| a | b |\n|---|---|\n| c | d |\n", "- b\n- c\n");
        for (text, lines, (above, below), begins, ends) in [
            (certificates, 0..9, (0, 0), "We", "d\n\n… 2 more [1]"),
            (
                certificates,
                10..13,
                (0, 0),
                "…\n\nISO",
                "f\n\n… 4 more [1]",
            ),
            (certificates, 0..13, (0, 0), "We", "- f [1]"),
            (certificates, 14..17, (9, 0), "Others:", "- g [1]"),
            (certificates, 14..17, (9, 3), "Others:", "g\n\n… 3 more [1]"),
            (steps, 0..1, (0, 0), "1. Open", "it.\n\n… 1 more [1]"),
            (steps, 8..9, (5, 0), "It is", "shut. [1]"),
            (steps, 10..11, (5, 0), "- so", "- so [1]"),
            (rows, 0..3, (0, 7), "| a | b |", "|\n\n… 7 more [1]"),
            (items, 0..2, (1, 2), "…\n\n- b", "c\n\n… 3 more [1]"),
        ] {
            let passage = Passage {
                beyond: ItemsBeyond { above, below },
                ..Passage::read(&Evidence::without_file(1, text))
            };
            let frames = &table(Language::EN).frames;
            let (quoted, shown) = quote(&passage, &lines, None, 1, frames);
            assert!(quoted.starts_with(begins), "{quoted}");
            assert!(quoted.ends_with(ends), "{quoted}");
            assert_eq!(shown, lines);
        }
    }

    /// What is quoted of a text around its bold part, and how many lines that takes on a screen.
    fn window_of(text: &str, bold: &str) -> (String, usize) {
        let passage = Passage::read(&Evidence::without_file(1, text));
        let at = text.find(bold).unwrap();
        let bold = at..at + bold.len();
        let frames = &table(Language::EN).frames;
        let lines = 0..text.lines().count();
        let shown = window(&passage, &passage.bytes_of(&lines), Some(&bold));
        let quoted = quote(&passage, &lines, Some(&bold), 1, frames);
        (quoted.0, height(&passage, &shown))
    }

    #[test]
    fn r23_a_window_holds_the_whole_bold_sentence() {
        let said = |n: usize| format!("Sentence {n} says one thing\nand then\nanother one. ");
        let text: String = (1..=8).map(said).collect();
        // The fifth one ends behind the first twelve lines.
        for n in 1..=8 {
            let (quoted, height) = window_of(&text, said(n).trim());
            let bold = format!("**{}**.", said(n).trim().trim_end_matches('.'));
            assert!(quoted.contains(&bold), "{quoted}");
            assert!(height <= MOST_LINES, "{quoted}");
        }
    }

    #[test]
    fn r23_a_long_line_is_cut_between_its_sentences() {
        let said = |n: usize| format!("Sentence {n} of [it](x.md) {}end. ", "goes on ".repeat(20));
        let text: String = (10..=39).map(said).collect();
        for (n, begins, ends) in [
            (10, "**Sentence 10 of it", "end. …\n\n… "),
            (25, "… Sentence 2", "end. …\n\n… "),
            (39, "… Sentence 3", " [1]"),
        ] {
            let (shown, height) = window_of(&text, said(n).trim());
            assert!(shown.starts_with(begins) && shown.contains(ends), "{shown}");
            assert!(shown.contains(&format!("**Sentence {n} of")), "{shown}");
            assert!((8..=MOST_LINES).contains(&height), "{shown}");
        }
        let data = format!("a {}", "1,".repeat(4_000));
        let (quoted, height) = window_of(&data, "a");
        assert_eq!(height, MOST_LINES);
        assert!(quoted.contains(" …\n\n… "), "{quoted}");
    }

    #[test]
    fn r23_marks_that_are_not_shown_take_no_room() {
        let line = format!("**{}** b", "a".repeat(WRAPPED_AT - 2));
        assert_eq!(window_of(&line, "a").1, 1);
    }
}
