//! Keeps citations honest while the answer streams: a mark that maps to nothing is taken out
//! before it is shown (R23).
//!
//! Brackets in code are code, and what is code is only known once the code has ended: one stray
//! backtick opens nothing. So where text could still turn out to be code, good marks are shown at
//! once, because they look the same either way, and a bad one is held back with what follows it
//! until its block has ended.

use std::ops::Range;

use crate::text::{code_ranges, ends_all_blocks};

/// Lets `[n]` through where n is an item, and removes it where it is not.
///
/// A mark may list several numbers, `[1, 3]`; those that map to nothing leave the list. What comes
/// out does not depend on how the text was cut into pieces.
#[derive(Debug, Clone)]
pub(super) struct CitationFilter {
    /// How many items there are; `None` lets everything through.
    items: Option<usize>,
    /// What came since the last block that surely ended, bad marks outside code removed.
    block: String,
    /// How much of it was shown.
    shown: usize,
    /// Where the first bad mark begins that may or may not be code.
    held: Option<usize>,
    /// Whether something in the block may begin code.
    may_hold_code: bool,
    line: MarkdownLine,
    /// Whether the line before this one is blank.
    after_blank: bool,
    /// How long the block must be before its end is looked for again.
    look_from: usize,
    /// How much more may be parsed to show held text early.
    patience: usize,
    used: Vec<usize>,
    removed: Vec<usize>,
}

/// What is known of the line that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownLine {
    /// Nothing but this many blanks.
    Blank(usize),
    Text,
}

/// Longer than any list of numbers worth checking.
const LONGEST_MARK: usize = 256;

/// So many blanks before a line may make it code.
const INDENT: usize = 4;

/// Rounds of removing what the removal of other marks has laid bare.
const ROUNDS: usize = 8;

impl CitationFilter {
    /// For an answer over `items` items.
    pub(super) fn new(items: usize) -> Self {
        Self {
            items: Some(items),
            block: String::new(),
            shown: 0,
            held: None,
            may_hold_code: false,
            line: MarkdownLine::Blank(0),
            after_blank: false,
            look_from: 0,
            patience: 64 << 10,
            used: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// For small talk, where brackets mean nothing (R24).
    pub(super) fn passing_all() -> Self {
        Self {
            items: None,
            ..Self::new(0)
        }
    }

    /// What of the next piece can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.items.is_none() {
            return piece.to_owned();
        }
        let mut shown = String::with_capacity(piece.len());
        self.patience += 8 * piece.len();
        for c in piece.chars() {
            self.accept(c, &mut shown);
        }
        self.show(&mut shown);
        shown
    }

    /// What was still held back: a bracket that never closed is text.
    pub(super) fn finish(&mut self) -> String {
        let mut shown = String::new();
        if self.may_hold_code {
            self.check_all();
        }
        self.end_block(&mut shown);
        shown
    }

    /// The numbers cited, each once, in the order in which the text first uses them.
    pub(super) fn used(&self) -> &[usize] {
        &self.used
    }

    /// The numbers removed, each once, ascending.
    pub(super) fn removed(&self) -> &[usize] {
        &self.removed
    }

    fn accept(&mut self, c: char, shown: &mut String) {
        // A line that begins with a mark may begin with something else, or be blank, without it.
        let at_margin = self.line == MarkdownLine::Blank(0) && !c.is_whitespace() && c != '[';
        if self.after_blank && at_margin {
            self.look_for_an_end(shown);
        }
        let after_code = self.block.ends_with(['`', '~']) && !matches!(c, '`' | '~');
        self.block.push(c);
        self.line = match (self.line, c) {
            (line, '\n') => {
                self.after_blank = line != MarkdownLine::Text;
                MarkdownLine::Blank(0)
            }
            (MarkdownLine::Blank(count), ' ') => MarkdownLine::Blank(count + 1),
            (MarkdownLine::Blank(_), '\t') => MarkdownLine::Blank(INDENT),
            (MarkdownLine::Blank(count), _) => {
                self.may_hold_code |= count >= INDENT;
                MarkdownLine::Text
            }
            (MarkdownLine::Text, _) => MarkdownLine::Text,
        };
        self.may_hold_code |= matches!(c, '`' | '~' | '<');
        if c == ']' {
            self.check_mark();
        }
        // Blanks may follow a fence that text behind them makes none.
        let is_decided = c == '\n' || c != ' ' && c != '\t' || !ends_with_fence(&self.block);
        if after_code && is_decided && self.held.is_some() {
            self.let_go_of_code();
        }
    }

    /// Checks the mark that ends the block so far, if one does.
    fn check_mark(&mut self) {
        let end = self.block.len();
        let Some((open, numbers)) = mark_before(&self.block, end) else {
            return;
        };
        let is_bad = self.is_bad(&numbers);
        if !self.may_hold_code {
            if is_bad && open >= self.shown {
                let (start, left) = self.without_bad(open, &numbers);
                self.block.replace_range(start..end, &left);
            }
            self.note_used(&numbers);
        } else if is_bad && self.held.is_none() {
            self.held = Some(start_of_brackets(&self.block, open));
        }
    }

    fn is_item(&self, n: usize) -> bool {
        self.items.is_some_and(|items| (1..=items).contains(&n))
    }

    fn is_bad(&self, numbers: &[usize]) -> bool {
        numbers.iter().any(|&n| !self.is_item(n))
    }

    fn note_used(&mut self, numbers: &[usize]) {
        for &n in numbers {
            if self.is_item(n) && !self.used.contains(&n) {
                self.used.push(n);
            }
        }
    }

    /// Notes the numbers that leave a mark: from where it is replaced, and by what.
    fn without_bad(&mut self, open: usize, numbers: &[usize]) -> (usize, String) {
        let (good, bad): (Vec<usize>, Vec<usize>) = numbers.iter().partition(|&&n| self.is_item(n));
        for n in bad {
            if let Err(at) = self.removed.binary_search(&n) {
                self.removed.insert(at, n);
            }
        }
        if good.is_empty() {
            // The space before a mark goes with it.
            let spaced = open > self.shown && self.block[..open].ends_with(' ');
            return (open - usize::from(spaced), String::new());
        }
        let good: Vec<_> = good.iter().map(ToString::to_string).collect();
        (open, format!("[{}]", good.join(", ")))
    }

    /// A line begins at the margin after a blank one: most likely a new block.
    fn look_for_an_end(&mut self, shown: &mut String) {
        if self.may_hold_code {
            if self.block.len() < self.look_from {
                return;
            }
            // Removing a mark can open what holds the next line.
            let mut ended = self.clone();
            ended.check_all();
            if !ends_all_blocks(&self.block) || !ends_all_blocks(&ended.block) {
                // In a long fence the next look is further on, or the looks would add up.
                self.look_from = self.block.len() + self.block.len() / 4;
                return;
            }
            *self = ended;
        }
        self.end_block(shown);
    }

    /// Shows the rest of a block, and begins the next.
    fn end_block(&mut self, shown: &mut String) {
        shown.push_str(&self.block[self.shown..]);
        self.block.clear();
        self.shown = 0;
        self.held = None;
        self.may_hold_code = false;
        self.look_from = 0;
        self.line = MarkdownLine::Blank(0);
        self.after_blank = false;
    }

    /// Removes the bad marks outside code and notes the good ones. Where the removal changes what is
    /// code, it is looked through again.
    fn check_all(&mut self) {
        for round in 0.. {
            let code = if round < ROUNDS {
                code_ranges(&self.block)
            } else {
                Vec::new()
            };
            let found: Vec<_> = marks(&self.block)
                .filter(|(mark, _)| !is_within(mark, &code))
                .collect();
            let mut changed = false;
            for (mark, numbers) in found.iter().rev() {
                if self.is_bad(numbers) && mark.start >= self.shown {
                    let (start, mut left) = self.without_bad(mark.start, numbers);
                    let joins = self.block[..start].ends_with('`')
                        && self.block[mark.end..].starts_with('`');
                    if left.is_empty() && joins {
                        // Two runs of backticks that become one would make other code.
                        left.push(' ');
                    }
                    self.block.replace_range(start..mark.end, &left);
                    changed = true;
                }
            }
            if !changed {
                for (_, numbers) in found {
                    self.note_used(&numbers);
                }
                return;
            }
        }
    }

    /// Code may just have ended. If all that is held is in it, whatever may follow, it can be shown.
    fn let_go_of_code(&mut self) {
        if self.patience < self.block.len() {
            return;
        }
        self.patience -= self.block.len();
        // A table or a tag that is not whole yet can still make something else of it.
        if self.block.contains(['<', '|']) {
            return;
        }
        let code = code_ranges(&self.block);
        let stays = |(mark, numbers): (Range<usize>, Vec<usize>)| {
            is_within(&mark, &code) || !self.is_bad(&numbers)
        };
        if marks(&self.block).all(stays) {
            self.held = None;
        }
    }

    /// Shows what can no longer change.
    fn show(&mut self, shown: &mut String) {
        let unfinished = unfinished_mark(&self.block);
        let end = self.held.map_or(unfinished, |held| held.min(unfinished));
        if end > self.shown {
            shown.push_str(&self.block[self.shown..end]);
            self.shown = end;
        }
    }
}

/// Whether the line that is being read may be a fence, blanks after it included.
fn ends_with_fence(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let bare = line.trim_matches([' ', '\t', '>']);
    bare.chars().all(|c| c == '`' || c == '~')
}

pub(super) fn is_within(mark: &Range<usize>, code: &[Range<usize>]) -> bool {
    let next = code.partition_point(|range| range.end < mark.end);
    code.get(next)
        .is_some_and(|range| range.start <= mark.start && mark.end <= range.end)
}

/// All marks of `text`, from left to right.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (Range<usize>, Vec<usize>)> {
    text.match_indices(']').filter_map(|(at, _)| {
        let end = at + 1;
        mark_before(text, end).map(|(open, numbers)| (open..end, numbers))
    })
}

/// The mark that ends at `end`: where it opens, and its numbers.
fn mark_before(text: &str, end: usize) -> Option<(usize, Vec<usize>)> {
    let before = &text[..end - 1];
    let from = before.floor_char_boundary(before.len().saturating_sub(LONGEST_MARK));
    let open = from + before[from..].rfind('[')?;
    let inside = &before[open + 1..];
    let numbers: Option<Vec<usize>> = inside
        .split([',', '，', '、'])
        .map(|part| number(part.trim_matches(' ')))
        .collect();
    Some((open, numbers?))
}

/// A number too large to count with maps to nothing all the same.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// The first of the brackets that open before a mark with nothing else between: what stays of them
/// when the mark goes may be a mark again. With the spaces before it, one of which goes with each.
fn start_of_brackets(text: &str, open: usize) -> usize {
    let from = text.floor_char_boundary(open.saturating_sub(LONGEST_MARK));
    let run = text[from..open]
        .char_indices()
        .rev()
        .take_while(|(_, c)| *c == '[' || is_in_mark(*c));
    let first = run.filter(|(_, c)| *c == '[').last();
    let first = first.map_or(open, |(at, _)| from + at);
    text[..first].trim_end_matches(' ').len()
}

fn is_in_mark(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | ' ' | '，' | '、')
}

/// Where the mark begins that `text` may be in the middle of, with the spaces before it; else its
/// end.
fn unfinished_mark(text: &str) -> usize {
    let from = text.floor_char_boundary(text.len().saturating_sub(LONGEST_MARK));
    let tail = &text[from..];
    let run = tail.trim_end_matches(is_in_mark);
    let open = if run.ends_with('[') {
        start_of_brackets(text, from + run.len() - 1)
    } else {
        text.len()
    };
    open.min(text.trim_end_matches(' ').len())
}

/// The text without its citation marks, as the conversation remembers it (R25).
pub fn without_marks(text: &str) -> String {
    let mut filter = CitationFilter::new(0);
    let mut plain = filter.push(text);
    plain.push_str(&filter.finish());
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filtered(text: &str, items: usize) -> (String, Vec<usize>, Vec<usize>) {
        let mut whole = CitationFilter::new(items);
        let mut shown = whole.push(text);
        shown.push_str(&whole.finish());
        for cut in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            let mut parts = CitationFilter::new(items);
            let mut again = parts.push(&text[..cut]);
            again.push_str(&parts.push(&text[cut..]));
            again.push_str(&parts.finish());
            assert_eq!(again, shown, "cut at {cut}");
        }
        (shown, whole.used().to_vec(), whole.removed().to_vec())
    }

    #[test]
    fn r23_marks_that_map_to_nothing_are_removed() {
        for (text, shown, used, removed) in [
            ("It is so [1].", "It is so [1].", vec![1], vec![]),
            ("It is so [9].", "It is so.", vec![], vec![9]),
            ("So[2][7] it[1] is", "So[2] it[1] is", vec![2, 1], vec![7]),
            ("Both [1, 3, 2].", "Both [1, 2].", vec![1, 2], vec![3]),
            ("Zero [0] and [ 1 ]", "Zero and [ 1 ]", vec![1], vec![0]),
            ("依据[1、2]。", "依据[1、2]。", vec![1, 2], vec![]),
            (
                "not a mark [a1] [] [1",
                "not a mark [a1] [] [1",
                vec![],
                vec![],
            ),
            (
                "code `a[9]` stays [9]",
                "code `a[9]` stays",
                vec![],
                vec![9],
            ),
            ("```\nx[7]\n```\n[7]x", "```\nx[7]\n```\nx", vec![], vec![7]),
            ("[99999999999999999999999]", "", vec![], vec![usize::MAX]),
        ] {
            assert_eq!(
                filtered(text, 2),
                (shown.to_owned(), used, removed),
                "{text:?}"
            );
        }
    }

    #[test]
    fn shown_a_stray_backtick_opens_no_code() {
        for (text, shown, used, removed) in [
            // The tick on `a key [9] is none, so that what follows is text.
            (
                "on `a key [9] is [2].",
                "on `a key is [2].",
                vec![2],
                vec![9],
            ),
            ("a `` b [1] ` c [7]", "a `` b [1] ` c", vec![1], vec![7]),
            ("a ``b ` [9]`` [1]", "a ``b ` [9]`` [1]", vec![1], vec![]),
            (
                "`a[0]` and `b[9]` [1]",
                "`a[0]` and `b[9]` [1]",
                vec![1],
                vec![],
            ),
            // Code ends with its paragraph.
            ("a ` b\n\nc [9] ` [1]", "a ` b\n\nc ` [1]", vec![1], vec![9]),
            ("a \\` b [9] ` [1]", "a \\` b ` [1]", vec![1], vec![9]),
            // A fence that is never closed.
            (
                "```\nx\n\nSo it is [9][2].",
                "```\nx\n\nSo it is[2].",
                vec![2],
                vec![9],
            ),
            (
                "````\nx[9]\n```\n[1]",
                "````\nx\n```\n[1]",
                vec![1],
                vec![9],
            ),
            (
                "~~~\nx[9]\n~~~\n\n[9]x",
                "~~~\nx[9]\n~~~\n\nx",
                vec![],
                vec![9],
            ),
            (
                "1. a\n   ```\n   x[9]\n\n   y[0]\n   ```\n2. b [9]",
                "1. a\n   ```\n   x[9]\n\n   y[0]\n   ```\n2. b",
                vec![],
                vec![9],
            ),
            (
                "| ` | [9] ` |\n|---|---|\n",
                "| ` | ` |\n|---|---|\n",
                vec![],
                vec![9],
            ),
            // What stays when a mark goes is looked at again.
            ("[[9]7]", "", vec![], vec![7, 9]),
            ("`[7]`` [9] ``", "` `` [9] ``", vec![], vec![7]),
            ("`[9]`[9]`", "`[9]` `", vec![], vec![9]),
        ] {
            assert_eq!(
                filtered(text, 2),
                (shown.to_owned(), used, removed),
                "{text:?}"
            );
        }
    }

    #[test]
    fn shown_code_that_is_closed_waits_for_nothing() {
        for (text, held) in [
            ("Use `xs[0]` for", " for"),
            ("```\nxs[0]\n```\n", ""),
            ("Use `xs[0", "[0"),
        ] {
            let mut filter = CitationFilter::new(2);
            let shown = filter.push(text);
            let waits = text.strip_prefix(shown.as_str()).unwrap();
            assert!(held.ends_with(waits), "{text:?} waits at {waits:?}");
        }
    }

    #[test]
    fn shown_long_answers_full_of_code_are_checked_in_time() {
        let started = std::time::Instant::now();
        for piece in [
            "`[9]`",
            "`[9]` |",
            "`[9]`\n\n",
            "```\n\na [9]\n",
            "[[9]",
            "` [9]\n",
            "- `\n\n  [9]",
        ] {
            let mut filter = CitationFilter::new(2);
            for _ in 0..5_000 {
                filter.push(piece);
            }
            filter.finish();
        }
        let taken = started.elapsed();
        assert!(taken.as_secs() < 20, "{taken:?}");
    }

    fn fragments() -> impl Strategy<Value = Vec<&'static str>> {
        let fragment = prop::sample::select(vec![
            "`",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "\n",
            "\n\n",
            " ",
            "    ",
            "a",
            "word ",
            "[1]",
            " [2]",
            "[9]",
            " [9]",
            "[1, 9]",
            "[",
            "]",
            "|",
            "\n|---|---|\n",
            "> ",
            "- ",
            "1. ",
            "\\",
            "<",
            ">",
            "<!--",
            "-->",
            "# ",
            "7",
            "[0]",
        ]);
        prop::collection::vec(fragment, 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn shown_no_mark_that_maps_to_nothing_is_left_in_text(
            pieces in fragments(),
            cuts in prop::collection::vec(0_usize..200, 0..12),
        ) {
            let text: String = pieces.concat();
            let mut whole = CitationFilter::new(2);
            let mut shown = whole.push(&text);
            shown.push_str(&whole.finish());

            let mut cuts: Vec<usize> = cuts.iter().map(|&cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut parts = CitationFilter::new(2);
            let mut streamed = String::new();
            for pair in cuts.windows(2) {
                streamed.push_str(&parts.push(&text[pair[0]..pair[1]]));
            }
            streamed.push_str(&parts.finish());
            prop_assert_eq!(&streamed, &shown);
            prop_assert_eq!(parts.used(), whole.used());

            // As the chat draws it.
            let code = code_as_drawn(&shown);
            for (mark, numbers) in marks(&shown) {
                let bad = numbers.iter().any(|n| !(1..=2).contains(n));
                prop_assert!(!bad || is_within(&mark, &code), "{:?} in {:?} of {:?}", mark, shown, text);
                let noted = numbers.iter().all(|n| whole.used().contains(n));
                prop_assert!(noted || is_within(&mark, &code), "{:?} is not noted", numbers);
            }
        }
    }

    /// What CommonMark says, an open fence to the end included.
    fn code_as_drawn(text: &str) -> Vec<Range<usize>> {
        use pulldown_cmark::{Event, Parser, TagEnd};
        Parser::new_ext(text, crate::text::markup())
            .into_offset_iter()
            .filter(|(event, _)| matches!(event, Event::Code(_) | Event::End(TagEnd::CodeBlock)))
            .map(|(_, range)| range)
            .collect()
    }

    #[test]
    fn r25_the_conversation_keeps_no_marks() {
        assert_eq!(
            without_marks("A is B [1]. C [2, 3] `x[0]`"),
            "A is B. C `x[0]`"
        );
    }
}
