//! The rows of an answer that grows: what has ended of it is not rendered again.

use super::fold::Exchange;
use super::ink::Row;
use super::markdown::{CodeCache, EndedBlocks, RowsBelow, render_below};

/// What is known of an answer from the last time that it was rendered.
#[derive(Debug, Clone, Default)]
pub struct GrowingAnswer {
    width: usize,
    ended: EndedBlocks,
    /// The text of the ended blocks.
    text: String,
    code: CodeCache,
}

impl GrowingAnswer {
    /// Renders `text` in lines of at most `width` cells: how many of the rows of the last time stay,
    /// and the rows that come below them.
    pub fn render(&mut self, text: &str, width: usize) -> (usize, Vec<Row>) {
        if self.width != width || !text.starts_with(&self.text) {
            self.width = width;
            self.ended = EndedBlocks::default();
            self.text.clear();
        }
        let RowsBelow { above, rows, ended } =
            render_below(text, width, self.ended, &mut self.code);
        self.text.truncate(ended.bytes);
        self.text.push_str(&text[self.text.len()..ended.bytes]);
        self.ended = ended;
        (above, rows)
    }
}

/// Wrapped rows of a turn.
#[derive(Debug, Clone, Default)]
pub struct TurnCache {
    /// Columns that they were wrapped for.
    pub width: usize,
    /// Revision of the exchange from which the rows were made.
    pub revision: u64,
    /// The rows; none before they are laid out.
    pub rows: Vec<Row>,
    /// What is known of the answer while it grows.
    pub answer: GrowingAnswer,
}

impl TurnCache {
    /// The rows, where they are those of this text at this width.
    pub fn rows(&self, exchange: &Exchange, width: usize) -> Option<&[Row]> {
        let is_it = self.width == width && self.revision == exchange.revision;
        (is_it && !self.rows.is_empty()).then_some(&*self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::markdown::render;

    /// Every beginning of the text, one after the other, looks as it does by itself.
    fn grow(answer: &mut GrowingAnswer, text: &str, width: impl Fn(usize) -> usize) -> usize {
        let ends = (0..=text.len()).filter(|end| text.is_char_boundary(*end));
        grow_to(answer, text, ends, width)
    }

    fn grow_to(
        answer: &mut GrowingAnswer,
        text: &str,
        ends: impl Iterator<Item = usize>,
        width: impl Fn(usize) -> usize,
    ) -> usize {
        let (mut rows, mut stayed) = (Vec::new(), 0);
        for end in ends {
            let (above, below) = answer.render(&text[..end], width(end));
            rows.truncate(above);
            rows.extend(below);
            assert_eq!(rows, render(&text[..end], width(end)), "{:?}", &text[..end]);
            stayed += usize::from(above > 0);
        }
        stayed
    }

    const TEXT: &str = "A [1].\n\n```rust\n/* why\nfn a() { \"s\" }\n*/ let b = 1;\n```\n\nText.\n\n\
                        - ```py\n  def f(x):\n      return 'é'\n  ```\n\n> ```rust\n> let c = \"\n> d\";\n> ```\n\n\
                        ```no-such\nplain\n```\n~~~toml\n[a]\nb = 2 # c\n";

    #[test]
    fn ui_code_that_grows_has_the_inks_of_code_that_is_whole() {
        let mut answer = GrowingAnswer::default();
        assert_eq!(grow(&mut answer, TEXT, |end| 12 + end % 3), 0);
        assert!(grow(&mut answer, TEXT, |_| 20) > 0);
        // Another text is not taken for this one.
        for other in ["```rust\nlet /* x\n*/ 1\n```", "```py\ndef g(): 1\n```", ""] {
            assert_eq!(answer.render(other, 20), (0, render(other, 20)), "{other}");
        }
    }

    #[test]
    fn ui_an_answer_that_grows_looks_like_one_that_is_whole() {
        for text in [
            "One.\n\nTwo goes\non.\n\n# Three\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n\nEnd.",
            "One.\n\n- two\n\n- three\n\n  of it\n\n    code\n\n1. four\n\n2. five\n\nSix.\n\n7",
            "> One.\n\n> Two.\n\n    code\n\n    more\n\nThree.\n   \n    code\n\t\n    more",
            "One.\n\n<b>\n\nTwo\n\n</b>\n\n<!-- a\n\nb\n\n-->\n\nThree.\n\nFour\n===\n\nFive",
            "``` \n```\n\nOne.\n\n```\n\n\n```\n\n~~~\na\n~~~\n\n    \n\n```\nb\n\nc",
            "One.\n\nTwo\n\u{3000}\n***bold***\n\n第一\n\u{a0}\n#5\n\n三\n\u{3000}\n```x``` y\n\nEnd.",
            "第一。\n\n第二，很长的一行文字要换行。\n\n- *三*\n\n**四**\n\n五",
        ] {
            for width in [7, 30] {
                let stayed = grow(&mut GrowingAnswer::default(), text, |_| width);
                assert!(stayed > 0, "{text}");
            }
        }
    }

    #[test]
    fn ui_a_link_that_is_defined_further_down_is_a_link_above() {
        let text = "See [it] now.\n\nAnd [that][it].\n\nMore.\n\n[it]: https://example.org\n\nEnd [it].\n\nEnd.";
        let mut answer = GrowingAnswer::default();
        assert!(grow(&mut answer, text, |_| 60) > 0);
        let (above, rows) = answer.render(text, 60);
        assert_eq!(above, 0);
        assert_eq!(rows[0].text(), "See it (https://example.org) now.");
    }

    use proptest::prelude::*;

    /// Pieces of Markdown, whole lines and others.
    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let piece = prop::sample::select(vec![
            "\n\u{3000}\n",
            "\n\u{a0}\n",
            "#",
            "x```",
            "\n",
            "\n",
            "\n\n",
            "\n\n",
            "\n  \n",
            "\n\t\n",
            "  ",
            "    ",
            "\t",
            "- ",
            "* ",
            "+",
            "2. ",
            "3",
            ". ",
            "> ",
            ">",
            "# ",
            "##",
            "---",
            "===",
            "***",
            "*",
            "**",
            "`",
            "```",
            "```rust\n",
            "~~~",
            "| a | b |",
            "\n|---|---|\n",
            "|",
            "[it]",
            "[it]: ",
            "]:",
            "[1]",
            "(",
            ")",
            "https://example.org",
            "<b>",
            "</b>",
            "<!-- ",
            "-->",
            "<pre>",
            "&amp;",
            "\\",
            "word",
            "words ",
            "let a = 1;",
            "/* ",
            "*/",
            "\"",
            "文字",
            "é",
            "[ ] ",
        ]);
        prop::collection::vec(piece, 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn ui_whatever_grows_looks_like_what_is_whole(pieces in pieces(), width in 4_usize..40) {
            let text = pieces.concat();
            let ends = pieces.iter().scan(0, |end, piece| {
                *end += piece.len();
                Some(*end)
            });
            grow_to(&mut GrowingAnswer::default(), &text, ends, |_| width);
        }
    }
}
