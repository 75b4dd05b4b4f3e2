//! Keeps citations honest while the answer streams: a mark that maps to nothing is taken out
//! before it is shown (R23).
//!
//! Brackets in code are code, and what is code is only known once the code has ended: one stray
//! backtick opens nothing. So where text could still turn out to be code, good marks are shown at
//! once, because they look the same either way, and a bad one is held back with what follows it
//! until its block has ended.

use std::ops::Range;

use crate::text::{code_ranges, ends_all_blocks};

use super::citation_marks::{Citable, ENDING, Mark};

/// Lets `[n]` through where n is an item, and removes it where it is not.
///
/// A mark may list several numbers, `[1, 3]`; those that map to nothing leave the list. A mark in another form
/// is shown in this one. What comes out does not depend on how the text was cut into pieces.
#[derive(Debug, Clone)]
pub(super) struct CitationFilter {
    /// What may be cited; `None` lets everything through.
    citable: Option<Citable>,
    /// What came since the last block that surely ended, bad marks outside code removed.
    block: String,
    /// How much of it was shown.
    shown: usize,
    /// Where the first mark begins that is to be changed and may or may not be code.
    held: Option<usize>,
    /// Whether the block may end with a mark: what follows tells whether it is one.
    may_end_with_mark: bool,
    /// Where the last mark was removed: what stands there now stood apart from what is before it.
    removed_at: Option<usize>,
    /// Whether something in the block may begin code.
    may_hold_code: bool,
    line: MarkdownLine,
    /// Where in the block that line begins.
    line_start: usize,
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

/// So many blanks before a line may make it code.
const INDENT: usize = 4;

/// Rounds of removing what the removal of other marks has laid bare.
const ROUNDS: usize = 8;

impl CitationFilter {
    /// For an answer over what may be cited.
    pub(super) fn new(citable: Citable) -> Self {
        Self {
            citable: Some(citable),
            block: String::new(),
            shown: 0,
            held: None,
            may_end_with_mark: false,
            removed_at: None,
            may_hold_code: false,
            line: MarkdownLine::Blank(0),
            line_start: 0,
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
            citable: None,
            ..Self::new(Citable::nothing())
        }
    }

    /// What of the next piece can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.citable.is_none() {
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
        self.check_mark(None);
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
        self.check_mark(Some(c));
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
                self.line_start = self.block.len();
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
        self.may_end_with_mark = ENDING.contains(&c);
        if after_code && self.held.is_some() {
            // Blanks may follow a fence that text behind them makes none.
            let is_decided = !matches!(c, ' ' | '\t') || !is_fence(&self.block[self.line_start..]);
            if is_decided {
                self.let_go_of_code();
            }
        }
    }

    /// Checks the mark that ends the block so far, if one does, now that it is known what follows.
    fn check_mark(&mut self, next: Option<char>) {
        if !std::mem::take(&mut self.may_end_with_mark) {
            return;
        }
        let Some(mark) = self.last_mark(next) else {
            return;
        };
        let changes = self.is_changed(&mark);
        if !self.may_hold_code {
            if changes && mark.range.start >= self.shown {
                let (start, left) = self.changed(&mark);
                self.block.replace_range(start..mark.range.end, &left);
                self.removed_at = left.is_empty().then_some(start);
            }
            self.note_used(&mark.numbers);
        } else if changes && self.held.is_none() {
            self.held = Some(self.start_of_brackets(&mark));
        }
    }

    /// The mark that ends the block so far, where `next` follows.
    fn last_mark(&self, next: Option<char>) -> Option<Mark> {
        let from = self.removed_at.unwrap_or(0);
        let citable = self.citable.as_ref()?;
        let mut mark = citable.mark_before(&self.block, next);
        if mark.is_none() && from > 0 {
            // A word before a mark that was removed is not before this one.
            mark = citable.mark_before(&self.block[from..], next);
            if let Some(mark) = &mut mark {
                mark.range = mark.range.start + from..mark.range.end + from;
            }
        }
        mark
    }

    fn start_of_brackets(&self, mark: &Mark) -> usize {
        let start = mark.range.start;
        let citable = self.citable.as_ref();
        citable.map_or(start, |of| of.start_of_brackets(&self.block, start))
    }

    fn is_item(&self, n: usize) -> bool {
        self.citable.as_ref().is_some_and(|of| of.is_item(n))
    }

    /// Whether a mark is shown otherwise than it is written, or not at all.
    fn is_changed(&self, mark: &Mark) -> bool {
        !mark.is_plain || mark.numbers.iter().any(|&n| !self.is_item(n))
    }

    fn note_used(&mut self, numbers: &[usize]) {
        for &n in numbers {
            if self.is_item(n) && !self.used.contains(&n) {
                self.used.push(n);
            }
        }
    }

    /// Notes the numbers that leave a mark: from where it is replaced, and by what.
    fn changed(&mut self, mark: &Mark) -> (usize, String) {
        let (open, numbers) = (mark.range.start, mark.numbers.iter());
        let (good, bad): (Vec<usize>, Vec<usize>) = numbers.partition(|&&n| self.is_item(n));
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
        self.removed_at = None;
        self.may_hold_code = false;
        self.look_from = 0;
        self.line = MarkdownLine::Blank(0);
        self.line_start = 0;
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
            let marks = self.marks();
            let found: Vec<Mark> = marks.filter(|it| !is_within(&it.range, &code)).collect();
            let block = self.block.clone();
            let mut written = String::with_capacity(block.len());
            let mut kept = 0;
            for mark in &found {
                if !self.is_changed(mark) || mark.range.start < self.shown {
                    continue;
                }
                let (start, mut left) = self.changed(mark);
                written.push_str(&block[kept..start.max(kept)]);
                kept = mark.range.end;
                if left.is_empty() && written.ends_with('`') && block[kept..].starts_with('`') {
                    // Two runs of backticks that become one would make other code.
                    left.push(' ');
                }
                written.push_str(&left);
            }
            if kept > 0 {
                written.push_str(&block[kept..]);
                self.block = written;
            } else {
                for mark in found {
                    self.note_used(&mark.numbers);
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
        let stays = |mark: Mark| is_within(&mark.range, &code) || !self.is_changed(&mark);
        if self.marks().all(stays) {
            self.held = None;
        }
    }

    fn marks(&self) -> impl Iterator<Item = Mark> {
        let citable = self.citable.iter();
        citable.flat_map(|citable| citable.marks(&self.block))
    }

    /// Shows what can no longer change.
    fn show(&mut self, shown: &mut String) {
        let Some(citable) = &self.citable else {
            return;
        };
        let blanks = self.block.trim_end_matches(' ').len();
        let mut end = citable.unfinished(&self.block).min(blanks);
        if self.may_end_with_mark
            && let Some(mark) = self.last_mark(None)
            && self.is_changed(&mark)
        {
            end = end.min(self.start_of_brackets(&mark));
        }
        let end = self.held.map_or(end, |held| held.min(end));
        if end > self.shown {
            shown.push_str(&self.block[self.shown..end]);
            self.shown = end;
        }
    }
}

/// Whether a line may be a fence, blanks after it included.
fn is_fence(line: &str) -> bool {
    let bare = line.trim_matches([' ', '\t', '>']);
    bare.chars().all(|c| c == '`' || c == '~')
}

pub(super) fn is_within(mark: &Range<usize>, code: &[Range<usize>]) -> bool {
    let next = code.partition_point(|range| range.end < mark.end);
    code.get(next)
        .is_some_and(|range| range.start <= mark.start && mark.end <= range.end)
}

/// The text without its citation marks, as the conversation remembers it (R25).
pub fn without_marks(text: &str) -> String {
    let mut filter = CitationFilter::new(Citable::nothing());
    let mut plain = filter.push(text);
    plain.push_str(&filter.finish());
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filtered(text: &str, items: usize) -> (String, Vec<usize>, Vec<usize>) {
        filtered_by(&Citable::numbers(items), text)
    }

    fn filtered_by(citable: &Citable, text: &str) -> (String, Vec<usize>, Vec<usize>) {
        let mut whole = CitationFilter::new(citable.clone());
        let mut shown = whole.push(text);
        shown.push_str(&whole.finish());
        for cut in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            let mut parts = CitationFilter::new(citable.clone());
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
    fn r23_marks_in_other_forms_are_shown_as_numbers() {
        let citable = Citable::sources(vec!["docs/rules.md".to_owned(), "b.md".to_owned()]);
        for (text, shown, used, removed) in [
            ("So 【1】.", "So [1].", vec![1], vec![]),
            ("So 【2†source】【9】.", "So [2].", vec![2], vec![9]),
            ("So [1-2].", "So [1, 2].", vec![1, 2], vec![]),
            ("So [Source 2; 1]", "So [2, 1]", vec![2, 1], vec![]),
            ("So \\[1\\]!", "So [1]!", vec![1], vec![]),
            ("So [rules.md].", "So [1].", vec![1], vec![]),
            (
                "So [1](docs/rules.md)[2](b.md).",
                "So [1][2].",
                vec![1, 2],
                vec![],
            ),
            ("`[1](b.md)` [9](b.md)", "`[1](b.md)` [2]", vec![2], vec![]),
            ("So [^9]", "So", vec![], vec![9]),
            ("`[1-2]` [e1]", "`[1-2]` [1]", vec![1], vec![]),
            (
                "```\n【1】\n```\n【2】",
                "```\n【1】\n```\n[2]",
                vec![2],
                vec![],
            ),
            ("a ` b 【1】", "a ` b [1]", vec![1], vec![]),
            ("a [9][8] b", "a b", vec![], vec![8, 9]),
        ] {
            let expected = (shown.to_owned(), used, removed);
            assert_eq!(filtered_by(&citable, text), expected, "{text:?}");
        }
        for text in [
            "lies in [0, 1]",
            "arr[42] = 1",
            "[x] [1](https://a.b) and [the rules](docs/rules.md)",
            "[1](docs/ru",
            "[1](b.md \"over\ntwo lines\") `[9]` x",
            "[1]: url\n[^2]: a note",
            "[unclosed",
            "a [long text in brackets that is none of the forms] b",
        ] {
            let expected = (text.to_owned(), vec![], vec![]);
            assert_eq!(filtered_by(&citable, text), expected, "{text:?}");
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
                "````\nx [9]\n```\n[1]",
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
            let mut filter = CitationFilter::new(Citable::numbers(2));
            let shown = filter.push(text);
            let waits = text.strip_prefix(shown.as_str()).unwrap();
            assert!(held.ends_with(waits), "{text:?} waits at {waits:?}");
        }
    }

    #[test]
    fn shown_long_answers_are_checked_in_time() {
        let started = std::time::Instant::now();
        for (piece, times) in [
            ("word ` and [9] words. ", 50_000),
            ("[1] words [9]. ", 50_000),
            ("` [9] `` ", 50_000),
            ("[1](a.md) [9](b ", 50_000),
            ("[1]: ", 100_000),
        ] {
            let sources = vec!["a.md".to_owned(), "b.md".to_owned()];
            let mut filter = CitationFilter::new(Citable::sources(sources));
            for _ in 0..times {
                filter.push(piece);
            }
            filter.finish();
        }
        for piece in [
            "`[9]`",
            "`[9]` |",
            "`[9]`\n\n",
            "```\n\na [9]\n",
            "[[9]",
            "` [9]\n",
            "- `\n\n  [9]",
        ] {
            let mut filter = CitationFilter::new(Citable::numbers(2));
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
            "(",
            ")",
            "](",
            "[1](a.md)",
            ":",
            "【1】",
            " 【9†x】",
            "[^2]",
            "[1-2]",
            "[a.md]",
            "\\[1\\]",
            "［",
        ]);
        prop::collection::vec(fragment, 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn shown_no_mark_that_maps_to_nothing_is_left_in_text(
            pieces in fragments(),
            cuts in prop::collection::vec(0_usize..200, 0..12),
            all_forms: bool,
        ) {
            let text: String = pieces.concat();
            let citable = if all_forms {
                Citable::sources(vec!["a.md".to_owned(), "b.md".to_owned()])
            } else {
                Citable::numbers(2)
            };
            let mut whole = CitationFilter::new(citable.clone());
            let mut shown = whole.push(&text);
            shown.push_str(&whole.finish());

            let mut cuts: Vec<usize> = cuts.iter().map(|&cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut parts = CitationFilter::new(citable.clone());
            let mut streamed = String::new();
            for pair in cuts.windows(2) {
                streamed.push_str(&parts.push(&text[pair[0]..pair[1]]));
            }
            streamed.push_str(&parts.finish());
            prop_assert_eq!(&streamed, &shown);
            prop_assert_eq!(parts.used(), whole.used());

            // As the chat draws it.
            let code = code_as_drawn(&shown);
            for mark in citable.marks(&shown) {
                let is_code = is_within(&mark.range, &code);
                let bad = !mark.is_plain || mark.numbers.iter().any(|n| !(1..=2).contains(n));
                prop_assert!(!bad || is_code, "{:?} in {:?} of {:?}", mark, shown, text);
                let noted = mark.numbers.iter().all(|n| whole.used().contains(n));
                prop_assert!(noted || is_code, "{:?} is not noted", mark);
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
