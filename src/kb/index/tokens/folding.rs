//! One way of writing for what people write in several.
//!
//! Compatibility forms (full and half width, ligatures) become plain ones. Latin, Greek and Cyrillic
//! letters lose their accents, so that `cafe` and `café` find each other; Arabic and Hebrew letters
//! lose their vowel signs, which most texts leave out, and Arabic letters that keyboards and writers
//! exchange become one. In other scripts marks carry the word, so they stay. What is plain already,
//! ASCII and the scripts of East Asia, is copied in one piece.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Adds the folded text to `out`. Case stays, because it tells words apart in `CamelCase`.
pub(super) fn fold(text: &str, out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let other = rest.find(is_plain).unwrap_or(rest.len());
        if other > 0 {
            // A mark belongs to what stands before it.
            let before = out.pop();
            fold_slowly(before.into_iter().chain(rest[..other].chars()), out);
            rest = &rest[other..];
        }
    }
}

/// The text with umlauts and their northern kin in two letters, as `Mueller` for `Müller`, if it has any.
pub(super) fn spell_out(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.nfc().peekable();
    let mut any = false;
    while let Some(c) = chars.next() {
        let (first, second) = match c {
            'ä' => ('a', 'e'),
            'ö' | 'ø' => ('o', 'e'),
            'ü' => ('u', 'e'),
            'å' => ('a', 'a'),
            'Ä' => ('A', 'e'),
            'Ö' | 'Ø' => ('O', 'e'),
            'Ü' => ('U', 'e'),
            'Å' => ('A', 'a'),
            c => {
                out.push(c);
                continue;
            }
        };
        any = true;
        // Case parts the words of a compound.
        let is_capital = first.is_uppercase() && !chars.peek().is_some_and(|c| c.is_lowercase());
        out.push(first);
        out.push(if is_capital {
            second.to_ascii_uppercase()
        } else {
            second
        });
    }
    any.then_some(out)
}

fn fold_slowly(text: impl Iterator<Item = char>, out: &mut String) {
    let mut loses_marks = false;
    let kept = text.nfkd().filter(|&c| {
        if is_combining_mark(c) {
            return !loses_marks;
        }
        loses_marks = is_european(c) || is_semitic(c);
        true
    });
    for c in kept.nfc() {
        match c {
            'ß' => out.push_str("ss"),
            'ẞ' => out.push_str("SS"),
            'æ' => out.push_str("ae"),
            'Æ' => out.push_str("AE"),
            'œ' => out.push_str("oe"),
            'Œ' => out.push_str("OE"),
            'þ' => out.push_str("th"),
            'Þ' => out.push_str("TH"),
            'ø' => out.push('o'),
            'Ø' => out.push('O'),
            'đ' | 'ð' => out.push('d'),
            'Đ' | 'Ð' => out.push('D'),
            'ł' => out.push('l'),
            'Ł' => out.push('L'),
            'ı' => out.push('i'),
            'ى' | 'ی' => out.push('ي'),
            'ة' => out.push('ه'),
            'ک' => out.push('ك'),
            'ٱ' => out.push('ا'),
            // Hebrew's maqaf among the hyphens, its geresh and gershayim among the quotation marks.
            '\u{2010}'..='\u{2012}' | '\u{5be}' => out.push('-'),
            '\u{2019}' | '\u{2bc}' | '\u{5f3}' => out.push('\''),
            '\u{201d}' | '\u{5f4}' => out.push('"'),
            c if is_unwritten(c) => {}
            c => out.push(ascii_digit(c).unwrap_or(c)),
        }
    }
}

/// Soft hyphens and joiners, which are not seen; Arabic's tatweel, which only widens a word; and how
/// an emoji is drawn: as picture or letter, in a frame, with which skin.
fn is_unwritten(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{640}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{20e3}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// The same digit in ASCII, for digits of the scripts that have their own.
fn ascii_digit(c: char) -> Option<char> {
    const ZEROS: &[char] = &[
        '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
        '\u{c66}', '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{17e0}',
    ];
    let digit = |zero: &char| {
        (c as u32)
            .checked_sub(*zero as u32)
            .filter(|digit| *digit < 10)
    };
    char::from_digit(ZEROS.iter().find_map(digit)?, 10)
}

fn is_plain(c: char) -> bool {
    c.is_ascii()
        || matches!(c,
            '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'
            | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Latin, Greek and Cyrillic, once their letters are taken apart.
fn is_european(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{52f}')
}

/// Letters of Arabic and Hebrew, which are read without their vowel signs.
fn is_semitic(c: char) -> bool {
    matches!(c, '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{6d3}')
}
