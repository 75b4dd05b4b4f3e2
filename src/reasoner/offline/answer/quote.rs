//! Lines of a passage as an answer shows them: whole, the best sentence in bold, cut with a visible count.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use unicode_width::UnicodeWidthStr;

use super::super::passage::{BlockKind, Layout, Passage};
use super::frames::Frames;
use crate::text::{begins_item, code_ranges, ends_all_blocks};

/// Lines that are shown of a block.
pub(super) const MOST_LINES: usize = 12;
/// Columns after which a line counts as another one: an answer is about as wide.
const WRAPPED_AT: usize = 100;
/// Bytes of a character that is two columns wide. Of others more stand in a column, and a line may hold such only.
const BYTES_OF_COLUMN: usize = 3;

#[expect(
    clippy::expect_used,
    reason = "the pattern is part of the program, and a test uses it"
)]
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[(\d[\d,， ]*)\]").expect("a pattern of this file"));

/// A quotation in an answer.
#[derive(Debug, Clone, Default, PartialEq)]
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
    let pieces = cut(passage, &all);
    let window = window(&pieces, bold);
    let (before, behind) = (&pieces[..window.start], &pieces[window.end..]);
    let shown = &pieces[window];
    let Some((first, last)) = shown.first().zip(shown.last()) else {
        return Quote::default();
    };
    let part = first.bytes.start..last.bytes.end;
    let body = passage.markup.quoted(&passage.text, &part, bold);
    let above = above(before.last(), first);
    let height_above = above.matches('\n').count();
    let mut body = format!("{above}{body}");
    if behind.first().is_some_and(|next| next.is_in_line_of(last)) {
        body.truncate(body.trim_end().len());
        body.push_str(" …");
    }
    if let Some(layout) = last.line.layout
        && !ends_all_blocks(&body)
    {
        let marks = layout.opening.chars();
        let fence: String = marks.take_while(|c| matches!(c, '`' | '~')).collect();
        body.push_str(&format!("\n{fence}"));
    }
    let is_filled = |piece: &Piece| !piece.line.is_blank;
    let is_whole = !before.iter().chain(behind).any(is_filled);
    let is_prose = |piece: &&Piece| is_filled(piece) && piece.line.layout.is_none();
    let cited = shown.iter().rfind(is_prose).filter(|_| is_whole);
    let cited = cited.map(|piece| piece.line.number);
    let mut written: Vec<String> = Vec::new();
    for (at, text) in without_citations(&body).split('\n').enumerate() {
        let line = (at + first.line.number).checked_sub(height_above);
        let is_left_out = |piece: &Piece| Some(piece.line.number) == line && !piece.line.is_shown;
        if at >= height_above && line == cited {
            written.push(format!("{} [{number}]", text.trim_end()));
        } else if at < height_above || !shown.iter().any(is_left_out) {
            written.push(text.to_owned());
        }
    }
    let mut text = written.join("\n");
    if !is_whole {
        let left_out = height(&pieces).saturating_sub(height(shown)).max(1);
        let more = frames.more_lines(left_out);
        text.push_str(&format!("\n\n{more} [{number}]"));
    } else if cited.is_none() {
        text.push_str(&format!("\n\n[{number}]"));
    }
    Quote {
        text,
        shown_lines: height(shown),
        lines: first.line.number..last.line.number + 1,
    }
}

/// What stands above the lines that are shown where these are not all.
fn above(before: Option<&Piece<'_>>, first: &Piece<'_>) -> String {
    let layout = first
        .line
        .layout
        .filter(|layout| !layout.opening.is_empty());
    match (layout, before) {
        (Some(layout), _) if !first.line.is_opening => format!("{}\n", layout.opening),
        (_, None) => String::new(),
        (_, Some(before)) if before.is_in_line_of(first) => "… ".to_owned(),
        // A list or code that follows a line directly would be part of it.
        _ => "…\n\n".to_owned(),
    }
}

struct Line<'a> {
    /// Its place in the passage.
    number: usize,
    /// Without its end.
    bytes: Range<usize>,
    is_blank: bool,
    is_shown: bool,
    /// The code or table that it is part of.
    layout: Option<&'a Layout>,
    /// Whether it only opens that.
    is_opening: bool,
}

fn read_lines<'a>(passage: &'a Passage, lines: &Range<usize>) -> Vec<Line<'a>> {
    let text = passage.text.as_str();
    let mut at = 0;
    let mut read: Vec<Line<'a>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bytes = at..at + line.len();
        at = bytes.end + 1;
        if !lines.contains(&number) {
            continue;
        }
        let is_blank = passage.markup.readable(text, &bytes).trim().is_empty();
        let was_blank = line.trim().is_empty();
        let probe = bytes.end - usize::from(!was_blank);
        let layout = passage.markup.layout_at(probe);
        let is_opening = layout.is_some_and(|layout| {
            let above = text.get(layout.range.start..bytes.start);
            let above = above.unwrap_or_default().matches('\n').count();
            text[layout.range.start..].starts_with(&layout.opening)
                && above < layout.opening.lines().count()
        });
        let before = read.last();
        // Where an image was, nothing is left, and one blank line parts as well as two.
        let is_parting = layout.is_some() || before.is_some_and(|line| !line.is_blank);
        read.push(Line {
            number,
            bytes,
            is_blank,
            is_shown: !is_blank || was_blank && is_parting,
            layout,
            is_opening,
        });
    }
    read
}

/// A line, or a part of one in which several sentences meet or that is long.
struct Piece<'a> {
    line: &'a Line<'a>,
    bytes: Range<usize>,
    columns: usize,
    /// Whether a sentence of prose, an item or a row begins: a window may begin here and end before.
    is_border: bool,
}

impl Piece<'_> {
    fn is_in_line_of(&self, other: &Self) -> bool {
        self.line.number == other.line.number
    }
}

fn cut<'a>(passage: &Passage, lines: &'a [Line<'a>]) -> Vec<Piece<'a>> {
    let text = passage.text.as_str();
    let columns = |bytes: &Range<usize>| {
        let shown = passage.markup.plain(text, bytes);
        shown.width().max(shown.len() / BYTES_OF_COLUMN)
    };
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    let is_text = |line: &Line<'_>| !line.is_blank && line.layout.is_none();
    let mut is_after_text = false;
    for line in lines {
        let Range { start, end } = line.bytes;
        let is_continued = is_after_text && is_text(line) && !begins_item(&text[start..end]);
        is_after_text = is_text(line);
        // Where pieces begin, and whether that is a border.
        let mut begins = BTreeMap::from([(start, !is_continued)]);
        for block in &passage.blocks {
            let is_prose = block.kind == BlockKind::Paragraph;
            let sentences = block.sentences.iter().map(|sentence| sentence.range.start);
            for at in sentences.filter(|at| line.bytes.contains(at)) {
                let is_inside = text[start..at].contains(char::is_alphanumeric);
                *begins
                    .entry(if is_inside { at } else { start })
                    .or_default() |= is_prose;
            }
        }
        if columns(&line.bytes) > MOST_LINES * WRAPPED_AT {
            for at in (start..end).step_by(WRAPPED_AT) {
                let most = text.floor_char_boundary(end.min(at + WRAPPED_AT));
                let words = &text[text.floor_char_boundary(at)..most];
                let behind = words.rfind(' ').map_or(0, |space| words.len() - space - 1);
                begins.entry(most - behind).or_default();
            }
        }
        let mut end = end;
        let first = pieces.len();
        for (start, is_border) in begins.into_iter().rev() {
            pieces.push(Piece {
                line,
                columns: columns(&(start..end)),
                bytes: start..end,
                is_border,
            });
            end = start;
        }
        pieces[first..].reverse();
    }
    pieces
}

/// Lines that some pieces take on a screen.
fn height(pieces: &[Piece<'_>]) -> usize {
    let height = |line: &[Piece<'_>]| {
        let columns: usize = line.iter().map(|piece| piece.columns).sum();
        usize::from(line[0].line.is_shown) * columns.div_ceil(WRAPPED_AT).max(1)
    };
    pieces.chunk_by(Piece::is_in_line_of).map(height).sum()
}

/// Lines that some lines of a passage take on a screen.
pub(super) fn shown_height(passage: &Passage, lines: &Range<usize>) -> usize {
    height(&cut(passage, &read_lines(passage, lines)))
}

/// The pieces that are shown: the first ones where these hold the bold ones, or else those around the bold ones.
fn window(pieces: &[Piece<'_>], bold: Option<&Range<usize>>) -> Range<usize> {
    if pieces.is_empty() {
        return 0..0;
    }
    let is_bold = |piece: &Piece<'_>| {
        bold.is_some_and(|bold| bold.start < piece.bytes.end && piece.bytes.start < bold.end)
    };
    let begin = pieces.iter().position(is_bold).unwrap_or_default();
    let end = pieces.iter().rposition(is_bold).unwrap_or_default();
    let fits = |from: usize, to: usize| height(&pieces[from..to]) <= MOST_LINES;
    let every: Vec<usize> = (0..=pieces.len()).collect();
    let is_border = |at: &usize| *at == 0 || pieces.get(*at).is_none_or(|it| it.is_border);
    let whole: Vec<usize> = every.iter().copied().filter(is_border).collect();
    let around = |borders: &[usize], last: usize| {
        let from = borders.partition_point(|at| *at <= begin) - 1;
        (from, borders.partition_point(|at| *at <= last))
    };
    let is_fitting = |(borders, last): &(&Vec<usize>, usize)| {
        let (from, to) = around(borders, *last);
        fits(borders[from], borders[to])
    };
    let tried = [(&whole, end), (&every, end)].into_iter().find(is_fitting);
    let (borders, last) = tried.unwrap_or((&every, begin));
    let (mut from, mut to) = around(borders, last);
    if fits(0, borders[to]) {
        from = 0;
    }
    loop {
        let grows_down = to + 1 < borders.len() && fits(borders[from], borders[to + 1]);
        to += usize::from(grows_down);
        let grows_up = from > 0 && fits(borders[from - 1], borders[to]);
        from -= usize::from(grows_up);
        if !grows_down && !grows_up {
            break;
        }
    }
    let (from, to) = (borders[from], borders[to]);
    let is_text = |piece: &Piece<'_>| !piece.line.is_blank && !piece.line.is_opening;
    let is_filled = |piece: &Piece<'_>| !piece.line.is_blank;
    let first = pieces[from..to]
        .iter()
        .position(is_filled)
        .map_or(from, |at| from + at);
    let last = pieces[first..to]
        .iter()
        .rposition(is_text)
        .unwrap_or_default();
    first..first + last + 1
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

    fn window_of(text: &str, bold: &str) -> Quote {
        let passage = Passage::read(&Evidence::without_file(1, text));
        let at = text.find(bold).unwrap();
        let frames = Frames::for_language(Language::En);
        let lines = 0..text.lines().count();
        quote(&passage, &lines, Some(&(at..at + bold.len())), 1, frames)
    }

    #[test]
    fn r23_a_window_holds_the_whole_bold_sentence() {
        let said = |n: usize| format!("Sentence {n} says one thing\nand then\nanother one. ");
        let text: String = (1..=8).map(said).collect();
        // The fifth one ends behind the first twelve lines.
        for n in 1..=8 {
            let quote = window_of(&text, said(n).trim());
            let bold = format!("**{}**.", said(n).trim().trim_end_matches('.'));
            assert!(quote.text.contains(&bold), "{}", quote.text);
            assert!(quote.shown_lines <= MOST_LINES, "{}", quote.text);
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
            let quote = window_of(&text, said(n).trim());
            let shown = &quote.text;
            assert!(shown.starts_with(begins) && shown.contains(ends), "{shown}");
            assert!(shown.contains(&format!("**Sentence {n} of")), "{shown}");
            assert!((8..=MOST_LINES).contains(&quote.shown_lines), "{shown}");
        }
        let data = format!("a {}", "1,".repeat(4_000));
        let quote = window_of(&data, "a");
        assert_eq!(quote.shown_lines, MOST_LINES);
        assert!(quote.text.contains(" …\n\n… "), "{}", quote.text);
    }

    #[test]
    fn r23_marks_that_are_not_shown_take_no_room() {
        let line = format!("**{}** b", "a".repeat(WRAPPED_AT - 2));
        assert_eq!(window_of(&line, "a").shown_lines, 1);
    }
}
