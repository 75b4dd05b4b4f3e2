//! Text that came from outside, made safe and short enough to show.
//!
//! Documents, models and servers are data: a file can hold an escape sequence that repaints the
//! terminal, renames its window or answers on the user's behalf. Everything that reaches the
//! screen or standard output passes through [`sanitize`] or, where it arrives in pieces, through
//! [`StreamSanitizer`], which remembers an unfinished sequence from one piece to the next.

mod blocks;
mod code;
mod excerpt;
mod fence;
mod figures;
mod invisible;
mod letters;
mod naming;
mod near;
mod trouble;

use std::borrow::Cow;
use std::fmt::Write as _;

pub use blocks::{Fence, Fences, begins_item, count_items, front_matter, headings, plain_heading};
pub use code::{code_ranges, ends_all_blocks, markup};
pub use excerpt::excerpt_around;
pub use fence::{TagFence, begins_own_tag, clean as clean_for_fence, own_tag};
pub use figures::{duration, plural, sparkline};
pub use letters::LetterCounts;
pub use naming::{extension, name_key, spaced, stem, without_extension};
pub use near::nearest;
pub use trouble::{OrTrouble, Trouble};

use invisible::{CharTreatment, stays_behind, treatment_of};

/// Removes terminal escape sequences, control characters and whatever no eye can see.
///
/// Newlines and tabs stay; `\r\n` and a lone `\r` become `\n`, an invisible blank becomes a space.
/// Joiners stay where they write something together. Borrowed when nothing had to go.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut before = '\0';
    let stays = |c: char| {
        let before = std::mem::replace(&mut before, c);
        match c {
            '\n' | '\t' => true,
            c if c.is_control() => false,
            c => treatment_of(c) == CharTreatment::Stays || stays_behind(c, before),
        }
    };
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut sanitizer = StreamSanitizer::default();
    let mut clean = sanitizer.push(text);
    clean.push_str(&sanitizer.finish());
    Cow::Owned(clean)
}

/// Whether it holds nothing but what ASCII shows, which most text does.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// [`sanitize`] for text that arrives in pieces.
#[derive(Debug, Default, Clone)]
pub struct StreamSanitizer {
    state: Escape,
    carriage_return: bool,
    /// What was let through last.
    before: char,
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
        if self.state == Escape::Outside && !self.carriage_return && is_plain(piece) {
            self.before = piece.chars().next_back().unwrap_or(self.before);
            return piece.to_owned();
        }
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
            self.show('\n', clean);
        }
        match c {
            '\u{1b}' => self.state = Escape::Started,
            '\u{9b}' => self.state = Escape::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = Escape::String,
            '\r' => self.carriage_return = true,
            '\n' | '\t' => self.show(c, clean),
            c if c.is_control() => {}
            c => match treatment_of(c) {
                CharTreatment::Stays => self.show(c, clean),
                CharTreatment::Blank => self.show(' ', clean),
                CharTreatment::Joins | CharTreatment::Chooses if stays_behind(c, self.before) => {
                    self.show(c, clean);
                }
                CharTreatment::Joins | CharTreatment::Chooses | CharTreatment::Goes => {}
            },
        }
    }

    fn show(&mut self, c: char, clean: &mut String) {
        self.before = c;
        clean.push(c);
    }
}

/// Whether there is nothing in the text that a person could see: it holds white space, escape
/// sequences and invisible characters only.
pub fn is_blank(text: &str) -> bool {
    sanitize(text).trim().is_empty()
}

/// JSON with every character escaped that a terminal obeys, that no eye can see, or at which a
/// reader of lines might break one: JSON itself escapes only the controls below U+0020.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_safe = |c: char| {
        c.is_ascii() && c != '\u{7f}' || !c.is_control() && treatment_of(c) == CharTreatment::Stays
    };
    if json.chars().all(is_safe) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_safe(c) {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// The text on one line, runs of white space folded, cut with `…` after `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    let clean = sanitize(text);
    let mut line = String::with_capacity(clean.len().min(max));
    let mut room = max;
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            if room == 0 {
                return cut(line);
            }
            line.push(' ');
            room -= 1;
        }
        // A word of no more bytes has no more characters.
        if word.len() > room
            && let Some((at, _)) = word.char_indices().nth(room)
        {
            line.push_str(&word[..at]);
            return cut(line);
        }
        line.push_str(word);
        room -= word.chars().count();
    }
    line
}

/// Replaces the last character by `…`.
fn cut(mut line: String) -> String {
    line.pop();
    line.push('…');
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

/// Whether an answer to this text should be in Chinese: at least a third of it is in Han characters, each
/// of which counts as a word does, and it is not Japanese, whose sentences hold hiragana throughout.
pub fn is_chinese(text: &str) -> bool {
    let (mut han, mut hiragana, mut katakana, mut words) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut in_word = false;
    for c in text.chars() {
        let is_wide = is_cjk(c);
        match c {
            // Chinese texts write it for 的.
            'の' => {}
            '\u{3040}'..='\u{309f}' => hiragana += 1,
            c if is_kana_or_hangul(c) => katakana += 1,
            _ if is_wide => han += 1,
            _ => {}
        }
        let is_letter = !is_wide && c.is_alphabetic();
        words += usize::from(is_letter && !in_word);
        in_word =
            is_letter || in_word && !is_wide && (c.is_alphanumeric() || "_-./'`:".contains(c));
    }
    han > 2 * katakana && han >= 10 * hiragana && 2 * han >= words
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
    fn shown_what_no_eye_can_see_is_removed_or_a_blank() {
        for (dirty, clean) in [
            ("a\u{61c}b", "ab"),
            ("a\u{2028}b\u{2029}c", "a b c"),
            ("a\u{180e}b\u{ad}c", "abc"),
            ("\u{115f}\u{1160}x", "x"),
            ("a\u{3164}b\u{ffa0}c\u{2800}d", "a b c d"),
            ("a\u{e0100}\u{e0041}\u{e007f}b", "ab"),
            ("a\u{fff9}b\u{fffa}c\u{fffb}d", "abcd"),
            ("a\u{fe00}b\u{34f}c\u{2061}d\u{206f}e", "abcde"),
            ("[I\u{200d}N\u{200c}ST]", "[INST]"),
            ("a\u{fe0f}b", "ab"),
            ("\u{1b}[1m\u{200d}x", "x"),
            (
                "\u{1f469}\u{200d}\u{200d}\u{1f4bb}",
                "\u{1f469}\u{200d}\u{1f4bb}",
            ),
        ] {
            assert_eq!(sanitize(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn shown_what_writes_something_together_stays() {
        for text in [
            "\u{1f469}\u{200d}\u{1f4bb}",
            "\u{1f468}\u{1f3fd}\u{200d}\u{1f680}",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "1\u{fe0f}\u{20e3} \u{2600}\u{fe0e}",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "\u{915}\u{94d}\u{200d}\u{937}",
        ] {
            assert!(matches!(sanitize(text), Cow::Borrowed(_)), "{text:?}");
            let mut stream = StreamSanitizer::default();
            let mut pieces: String = text
                .chars()
                .map(|c| stream.push(c.encode_utf8(&mut [0; 4])))
                .collect();
            pieces.push_str(&stream.finish());
            assert_eq!(pieces, text);
        }
    }

    #[test]
    fn shown_nothing_visible_is_blank() {
        for text in [
            "",
            " \n\t",
            "\u{200b}\u{2060}\u{feff}",
            "\u{1b}[31m\u{1b}[0m",
            "\u{2800}\u{3164}\u{2028}\u{ad}",
            "\u{200d}\u{fe0f}",
        ] {
            assert!(is_blank(text), "{text:?}");
        }
        assert!(!is_blank("\u{200b}.\u{200b}"));
    }

    #[test]
    fn shown_json_holds_nothing_that_breaks_a_line_or_hides() {
        let text = "a\u{2028}\u{7f}\u{9b}\u{e0041}\u{202e}比";
        let json = format!("{{\"k\":\"{text}\"}}");
        let escaped = escape_json(&json);
        assert_eq!(
            escaped,
            r#"{"k":"a\u2028\u007f\u009b\udb40\udc41\u202e比"}"#
        );
        assert!(matches!(escape_json("{\"k\":\"比\"}"), Cow::Borrowed(_)));
    }

    proptest::proptest! {
        #[test]
        fn one_line_is_the_words_up_to_so_many_characters(text in "[aé漢 \n]{0,30}", max in 0_usize..12) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let folded = words.join(" ");
            let expected = if folded.chars().count() <= max {
                folded
            } else {
                let kept = folded.chars().take(max.saturating_sub(1));
                kept.chain(['…']).collect()
            };
            proptest::prop_assert_eq!(one_line(&text, max), expected);
        }

        #[test]
        fn ui_pieces_are_cleaned_as_the_whole_is(text in "[a\r\n \u{1b}\\[m\u{200d}👩]{0,20}", at in 0_usize..20) {
            let at = text.char_indices().map(|(at, _)| at).nth(at).unwrap_or(text.len());
            let mut sanitizer = StreamSanitizer::default();
            let mut clean = sanitizer.push(&text[..at]);
            clean.push_str(&sanitizer.push(&text[at..]));
            clean.push_str(&sanitizer.finish());
            let mut whole = StreamSanitizer::default();
            let mut expected = String::new();
            text.chars().for_each(|c| whole.accept(c, &mut expected));
            expected.push_str(&whole.finish());
            proptest::prop_assert_eq!(clean, expected);
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
    fn chinese_is_distinguished_from_japanese() {
        assert!(is_chinese("什么是 fast path"));
        assert!(!is_chinese("ルーティングとは何ですか"));
        assert!(!is_chinese("routing"));
        assert!(!is_chinese("What does 快 mean in the log?"));
        assert!(!is_chinese("How do I write 你好 in a note?"));
        assert!(is_chinese("快速路径会跳过の哪些节点"));
        assert!(is_chinese("对比 Qdrant Milvus Weaviate"));
        assert!(is_chinese("怎么 deploy nginx with helm"));
        assert!(!is_chinese(""));
        for japanese in ["設定方法は？", "再試行の上限は？", "検索速度の改善方法は？"]
        {
            assert!(!is_chinese(japanese), "{japanese}");
        }
        assert!(is_chinese("vector_search 和 grep_search 各有什么弱点？"));
    }
}
