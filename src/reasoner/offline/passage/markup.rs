//! What in a passage lays it out and says nothing outside its document, as `pulldown-cmark` finds it.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use regex::Regex;

use super::super::language::sentences;
use crate::reasoner::regex;

static TAG: LazyLock<Regex> = LazyLock::new(|| regex(r"</?[A-Za-z][^<>\n]*>"));

static CALLOUT: LazyLock<Regex> = LazyLock::new(|| regex(r"^>[ \t]*(\[![^\]\s]+\][+-]?[ \t]*)"));
static BREAK: LazyLock<Regex> = LazyLock::new(|| regex(r"^</?(?:br|p)\b"));

/// The marks of a passage, by their bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Markup {
    /// What is not shown, in order: images, tags, marks of emphasis, and of links all but their text.
    hidden: Vec<Range<usize>>,
    cells: Vec<Range<usize>>,
    layouts: Vec<Layout>,
    /// Inline code, links, images and tags: no sentence ends within.
    unbroken: Vec<Range<usize>>,
    /// The links that are being read, each with what of its text was read.
    open_links: Vec<Option<Range<usize>>>,
}

/// Code, a table or metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    range: Range<usize>,
    /// The lines that stand above any part of it: a fence, or the header of a table.
    pub opening: String,
}

impl Layout {
    /// Whether a part of the text that begins within it has its opening.
    pub fn is_opened_in(&self, text: &str, part: &Range<usize>) -> bool {
        let start = self.range.start;
        self.opening.is_empty() || part.start <= start && text[start..].starts_with(&self.opening)
    }
}

impl Markup {
    /// The marks of a text that is code and has no fence.
    pub fn of_code(text: &str, ending: &str) -> Self {
        let mut markup = Self::default();
        markup.lay_out(&(0..text.len()), format!("```{ending}"));
        markup
    }

    /// Takes in what a parser of the passage found, in its order.
    pub fn read(&mut self, text: &str, event: &Event<'_>, range: &Range<usize>) {
        let is_end_of_link = matches!(event, Event::End(TagEnd::Link));
        if !is_end_of_link && let Some(inner) = self.open_links.last_mut() {
            let inner = inner.get_or_insert(range.clone());
            inner.end = inner.end.max(range.end);
        }
        match event {
            Event::Start(Tag::Link { .. }) => {
                self.unbroken.push(range.clone());
                self.open_links.push(None);
            }
            Event::End(TagEnd::Link) => {
                let inner = self.open_links.pop().flatten();
                let inner = inner.unwrap_or(range.end..range.end);
                // A link to a heading of the same note is read without its mark.
                let is_wiki = text[range.clone()].starts_with("[[");
                let mark = usize::from(is_wiki && text[inner.clone()].starts_with('#'));
                self.hide(text, range.start..inner.start + mark);
                self.hide(text, inner.end..range.end);
            }
            Event::Start(Tag::Image { .. }) | Event::InlineHtml(_) => {
                self.unbroken.push(range.clone());
                self.hide(text, range.clone());
            }
            Event::Html(_) => {
                for tag in TAG.find_iter(&text[range.clone()]) {
                    self.hide(text, range.start + tag.start()..range.start + tag.end());
                }
            }
            // The kind of a callout, which stands in front of its title.
            Event::Start(Tag::BlockQuote(_)) => {
                if let Some(found) = CALLOUT.captures(&text[range.clone()])
                    && let Some(kind) = found.get(1)
                {
                    self.hide(text, range.start + kind.start()..range.start + kind.end());
                }
            }
            Event::Code(_) => self.unbroken.push(range.clone()),
            // Bold is for the sentence that answers.
            Event::Start(Tag::Emphasis) => self.hide_ends(text, range, 1),
            Event::Start(Tag::Strong) => self.hide_ends(text, range, 2),
            Event::Start(Tag::TableCell) => self.cells.push(range.clone()),
            Event::Start(Tag::Table(_)) => self.lay_out(range, first_lines(text, range, 2)),
            Event::Start(Tag::CodeBlock(kind)) => {
                let fence = first_lines(text, range, usize::from(kind.is_fenced()));
                self.lay_out(range, fence);
            }
            Event::Start(Tag::MetadataBlock(_)) => {
                self.lay_out(range, "```yaml".to_owned());
                let written = text[range.clone()].trim_end();
                let first = written.find('\n').unwrap_or_default();
                let last = written.rfind('\n').unwrap_or_default();
                self.hide(text, range.start..range.start + first);
                self.hide(text, range.start + last..range.start + written.len());
            }
            _ => {}
        }
    }

    fn lay_out(&mut self, range: &Range<usize>, opening: String) {
        let range = range.clone();
        self.layouts.push(Layout { range, opening });
    }

    /// Hides some bytes, but no line break: lines are counted.
    pub fn hide(&mut self, text: &str, range: Range<usize>) {
        let mut start = range.start;
        for piece in text[range].split_inclusive('\n') {
            let end = start + piece.trim_end_matches('\n').len();
            let at = self.hidden.partition_point(|known| known.start <= start);
            self.hidden.insert(at, start..end);
            start += piece.len();
        }
    }

    fn hide_ends(&mut self, text: &str, range: &Range<usize>, length: usize) {
        self.hide(text, range.start..range.start + length);
        self.hide(text, range.end - length..range.end);
    }

    /// The bytes of each opening with the line break behind it.
    pub fn openings(&self) -> impl Iterator<Item = Range<usize>> {
        let openings = self.layouts.iter();
        openings.map(|it| it.range.start..it.range.start + it.opening.len() + 2)
    }

    /// What holds a byte.
    pub fn layout_at(&self, byte: usize) -> Option<&Layout> {
        let holds = |layout: &&Layout| layout.range.contains(&byte);
        self.layouts.iter().find(holds)
    }

    /// The sentences of a part of a passage; none ends within code or a link.
    pub fn sentences(&self, text: &str, part: &Range<usize>) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for sentence in sentences(&text[part.clone()]) {
            let (start, end) = (part.start + sentence.start, part.start + sentence.end);
            let is_within = |it: &Range<usize>| it.start < start && start < it.end;
            match found.last_mut() {
                Some(last) if self.unbroken.iter().any(is_within) => last.end = end,
                _ => found.push(start..end),
            }
        }
        found
    }

    /// A part of a passage as it is read: links reduced to their text, images, tags and emphasis left out, each line
    /// in its place.
    pub fn readable(&self, text: &str, part: &Range<usize>) -> String {
        let mut shown = String::new();
        let mut at = part.start;
        let is_within = |range: &&Range<usize>| range.start < part.end && part.start < range.end;
        for range in self.hidden.iter().filter(is_within) {
            shown.push_str(text.get(at..range.start).unwrap_or_default());
            if BREAK.is_match(text.get(range.clone()).unwrap_or_default()) {
                shown.push(' ');
            }
            at = at.max(range.end);
        }
        shown.push_str(text.get(at..part.end).unwrap_or_default());
        shown
    }

    /// A part of a passage as it is quoted, with a sentence in bold: of a table row each cell.
    pub fn quote_part(
        &self,
        text: &str,
        part: &Range<usize>,
        sentence: Option<&Range<usize>>,
    ) -> String {
        let sentence = sentence.map_or(part.end..part.end, |bold| {
            bold.start.clamp(part.start, part.end)..bold.end.clamp(part.start, part.end)
        });
        let shown = |part: &Range<usize>| self.readable(text, part);
        let is_inside = |it: &&Range<usize>| sentence.start <= it.start && it.end <= sentence.end;
        let cells = self.cells.iter().filter(is_inside);
        let mut bold: Vec<Range<usize>> = cells.cloned().collect();
        if bold.is_empty() {
            bold.push(sentence.clone());
        }
        let mut written = String::new();
        let mut at = part.start;
        for range in bold {
            written.push_str(&shown(&(at..range.start)));
            let next = text[range.end..].chars().next();
            written.push_str(&in_bold(&shown(&range), next));
            at = range.end;
        }
        written.push_str(&shown(&(at..part.end)));
        written
    }
}

fn first_lines(text: &str, range: &Range<usize>, count: usize) -> String {
    let lines: Vec<&str> = text[range.clone()].lines().take(count).collect();
    lines.join("\n")
}

/// Signs that a bold sentence ends before: behind them Markdown knows no end of bold in scripts without spaces.
const END_MARKS: [char; 10] = ['.', '!', '?', ':', ';', '。', '！', '？', '：', '；'];
/// Signs that bold ends behind, unless a letter follows, for the same reason.
const QUOTATION_MARKS: [char; 6] = ['”', '"', '’', '»', '」', '』'];

fn in_bold(text: &str, next: Option<char>) -> String {
    let is_end = |c: char| c.is_whitespace() || END_MARKS.contains(&c);
    let mut length = text.trim_end_matches(is_end).len();
    let next = text[length..].chars().next().or(next);
    if next.is_some_and(char::is_alphanumeric) {
        let is_behind = |c: char| is_end(c) || QUOTATION_MARKS.contains(&c);
        length = text.trim_end_matches(is_behind).len();
    }
    let (text, behind) = text.split_at(length);
    let (before, text) = text.split_at(text.len() - text.trim_start().len());
    if text.is_empty() {
        return format!("{before}{behind}");
    }
    format!("{before}**{text}**{behind}")
}

/// Whether a reference to a definition elsewhere is a link: two numbers are citations.
pub fn is_link(text: &str, kind: LinkType) -> bool {
    matches!(kind, LinkType::Reference | LinkType::Collapsed)
        && text.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use crate::reasoner::offline::passage::blocks::markdown_blocks as blocks;

    fn read(text: &str) -> String {
        blocks(text, &[]).1.readable(text, &(0..text.len()))
    }

    #[test]
    fn r23_what_means_nothing_elsewhere_is_not_quoted() {
        for (text, shown) in [
            (
                "See [the guide](../guide.md#a) for more.",
                "See the guide for more.",
            ),
            (
                "See [the\nguide][g] or [the\nbook](b.md)",
                "See the\nguide or the\nbook",
            ),
            ("See [the guide](\n  g.md) now", "See the guide\n now"),
            ("[[#The lid]] and [#12](x)", "The lid and #12"),
            ("> [!note]+ Lid\n> It is shut.", "> Lid\n> It is shut."),
            ("It is shut.<br>Open it.", "It is shut. Open it."),
            ("> See [the\n> guide][g]", "> See the\n> guide"),
            ("See [`clap`](https://x.y/(z)) now", "See `clap` now"),
            (
                "[“Running”][subset] and [1] and [2, 3] and [1][2]",
                "“Running” and [1] and [2, 3] and [1][2]",
            ),
            ("[[Vault|the vault]] and [[Note]]", "the vault and Note"),
            ("A ![picture](p.png) here", "A  here"),
            ("[![picture](p.png)](a.md)\nhere", "\nhere"),
            ("H<sub>2</sub>O and `a<b>[1](c)`", "H2O and `a<b>[1](c)`"),
            ("At <https://x.y/>", "At https://x.y/"),
            ("a lone ` mark", "a lone ` mark"),
            ("x < y and [ ] [x] a task", "x < y and [ ] [x] a task"),
            ("See [it].\n\n[it]: a.md\n", "See it.\n\n\n"),
            ("| [a](b) |\n|---|\n| [c](d) |", "| a |\n|---|\n| c |"),
        ] {
            assert_eq!(read(text), shown, "{text}");
        }
    }

    #[test]
    fn r23_no_sentence_ends_within_code_or_a_link() {
        for (text, expected) in [
            (
                "If we call `println!` in a test and the test\npasses, we see nothing. Try it.",
                vec![
                    "If we call `println!` in a test and the test\npasses, we see nothing.",
                    "Try it.",
                ],
            ),
            (
                "Call `Is it? No.` first. See [So it is. Yes](u).",
                vec!["Call `Is it? No.` first.", "See So it is. Yes."],
            ),
        ] {
            let (blocks, _) = blocks(text, &[]);
            let said = blocks[0].sentences.iter().map(|it| it.text.as_str());
            assert_eq!(said.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn r23_marks_of_bold_fall_into_no_other_marks() {
        for (text, sentence, shown) in [
            (
                "If `a!` so.\nElse b. C.",
                "Else b.",
                "If `a!` so.\n**Else b**. C.",
            ),
            (
                "A. If\n`b!` so\nelse. C.",
                "If\n`b!` so\nelse.",
                "A. **If\n`b!` so\nelse**. C.",
            ),
            ("*A. B.* C", "B.*", "A. **B**. C"),
            ("**A** is *b*. C", "**A** is *b*.", "**A is b**. C"),
            ("A “b?” C", "A “b?”", "**A “b?”** C"),
            ("A “b”. C", "A “b”.", "**A “b”**. C"),
            ("甲“乙？”丙", "甲“乙？”", "**甲“乙**？”丙"),
            (
                "| a | b |\n|---|---|\n| `c\\|d` | **e** |",
                "| `c\\|d` | **e** |",
                "| a | b |\n|---|---|\n| **`c\\|d`** | **e** |",
            ),
        ] {
            let (_, markup) = blocks(text, &[]);
            let at = text.find(sentence).unwrap();
            let bold = markup.quote_part(text, &(0..text.len()), Some(&(at..at + sentence.len())));
            assert_eq!(bold, shown);
        }
    }
}
