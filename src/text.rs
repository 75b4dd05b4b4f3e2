//! Text that came from outside, made safe and short enough to show.
//!
//! Documents, models and servers are data: a file can hold an escape sequence that repaints the
//! terminal, renames its window or answers on the user's behalf. Everything that reaches the
//! screen or standard output passes through [`sanitize`] or, where it arrives in pieces, through
//! [`StreamSanitizer`], which remembers an unfinished sequence from one piece to the next.

mod near;
mod trouble;

use std::borrow::Cow;

pub use near::{distance, nearest};
pub use trouble::Trouble;

/// The name of the threads that take documents apart. Documents break parsers: a panic on such a
/// thread is an outcome, and no reason to give up the terminal.
pub const CONFINED_THREAD: &str = "document";

/// Removes terminal escape sequences, control characters and invisible direction marks.
///
/// Newlines and tabs stay; `\r\n` and a lone `\r` become `\n`. Borrowed when nothing had to go.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut sanitizer = StreamSanitizer::default();
    let mut clean = sanitizer.push(text);
    clean.push_str(&sanitizer.finish());
    Cow::Owned(clean)
}

/// [`sanitize`] for text that arrives in pieces.
#[derive(Debug, Default, Clone)]
pub struct StreamSanitizer {
    state: Escape,
    carriage_return: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    Outside,
    /// After ESC.
    Started,
    /// After ESC and an intermediate byte, as in `ESC ( B`.
    Intermediate,
    /// `CSI`: parameters until a final byte.
    Control,
    /// `OSC`, `DCS`, `SOS`, `PM`, `APC`: a string until `ST` or BEL.
    String,
    /// Inside such a string, after ESC.
    StringEnd,
}

impl StreamSanitizer {
    /// Cleans the next piece. A sequence cut in two at the border is removed all the same.
    pub fn push(&mut self, piece: &str) -> String {
        let mut clean = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.accept(c, &mut clean);
        }
        clean
    }

    /// What is still owed at the end of the text: the line break of a final lone `\r`.
    pub fn finish(&mut self) -> String {
        self.state = Escape::Outside;
        if std::mem::take(&mut self.carriage_return) {
            "\n".to_owned()
        } else {
            String::new()
        }
    }

    fn accept(&mut self, c: char, clean: &mut String) {
        match self.state {
            Escape::Outside => self.plain(c, clean),
            Escape::Started => match c {
                '[' => self.state = Escape::Control,
                ']' | 'P' | 'X' | '^' | '_' => self.state = Escape::String,
                '\u{20}'..='\u{2f}' => self.state = Escape::Intermediate,
                '\u{1b}' => {}
                '\u{30}'..='\u{7e}' => self.state = Escape::Outside,
                _ => self.leave(c, clean),
            },
            Escape::Intermediate => match c {
                '\u{20}'..='\u{2f}' => {}
                '\u{30}'..='\u{7e}' => self.state = Escape::Outside,
                _ => self.leave(c, clean),
            },
            Escape::Control => match c {
                '\u{20}'..='\u{3f}' => {}
                '\u{40}'..='\u{7e}' => self.state = Escape::Outside,
                _ => self.leave(c, clean),
            },
            Escape::String => match c {
                '\u{7}' | '\u{9c}' => self.state = Escape::Outside,
                '\u{1b}' => self.state = Escape::StringEnd,
                // A terminal would wait for the terminator for ever; a reader of documents wants
                // the next line back.
                '\n' => self.leave(c, clean),
                _ => {}
            },
            Escape::StringEnd if c == '\\' => self.state = Escape::Outside,
            Escape::StringEnd => {
                self.state = Escape::Started;
                self.accept(c, clean);
            }
        }
    }

    fn leave(&mut self, c: char, clean: &mut String) {
        self.state = Escape::Outside;
        self.plain(c, clean);
    }

    fn plain(&mut self, c: char, clean: &mut String) {
        if std::mem::take(&mut self.carriage_return) && c != '\n' {
            clean.push('\n');
        }
        match c {
            '\u{1b}' => self.state = Escape::Started,
            '\u{9b}' => self.state = Escape::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = Escape::String,
            '\r' => self.carriage_return = true,
            '\n' | '\t' => clean.push(c),
            c if is_unsafe(c) => {}
            c => clean.push(c),
        }
    }
}

/// Control characters, and the format characters that reorder or hide text.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// The text on one line, runs of white space folded, cut with `…` after `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    let clean = sanitize(text);
    let mut line = String::new();
    let mut count = 0;
    for word in clean.split_whitespace() {
        for c in (count > 0).then_some(' ').into_iter().chain(word.chars()) {
            if count == max {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// Whether the character belongs to a script written without spaces: Chinese, Japanese, Korean.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// Whether an answer to this text should be in Chinese: it holds Han characters and no kana.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| is_cjk(c) && !is_kana_or_hangul(c)) && !text.chars().any(is_kana_or_hangul)
}

fn is_kana_or_hangul(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(sanitize("plain\ttext\n比较 👩‍💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn sequences_and_controls_are_removed() {
        for (dirty, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}Pq#0;2\u{1b}\\after", "after"),
            ("\u{1b}(Bx\u{1b}cy", "xy"),
            ("\u{9b}2Jx", "x"),
            ("a\u{8}\u{0}b\u{7f}", "ab"),
            ("a\r\nb\rc\r", "a\nb\nc\n"),
            ("left\u{202e}thgir", "leftthgir"),
            ("\u{1b}]0;never closed\nnext line", "\nnext line"),
        ] {
            assert_eq!(sanitize(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn a_sequence_cut_in_pieces_is_removed() {
        let dirty = "one\u{1b}[1;31mtwo\u{1b}]52;c;ZXZpbA==\u{7}three\r\nfour";
        let whole = sanitize(dirty).into_owned();
        for cut in (0..dirty.len()).filter(|&at| dirty.is_char_boundary(at)) {
            let mut stream = StreamSanitizer::default();
            let mut pieces = stream.push(&dirty[..cut]);
            pieces.push_str(&stream.push(&dirty[cut..]));
            pieces.push_str(&stream.finish());
            assert_eq!(pieces, whole, "cut at {cut}");
        }
    }

    #[test]
    fn one_line_folds_and_cuts() {
        assert_eq!(one_line("  a\n b\t c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn chinese_is_told_from_japanese() {
        assert!(is_chinese("什么是 fast path"));
        assert!(!is_chinese("ルーティングとは何ですか"));
        assert!(!is_chinese("routing"));
    }
}
