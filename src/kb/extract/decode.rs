//! Bytes to text, in whatever encoding they are.
//!
//! Nothing says in which encoding a text file is, so the surest sign decides: a byte order mark,
//! then UTF-8 (whose sequences hardly come about by chance), then the NULs that UTF-16 puts
//! between Western letters, then the guess of Firefox's detector. A guess always names some
//! encoding, also for a picture, so what it gives must look like text too.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::SkipReason;

/// A few broken bytes are a slip of an editor; more than one in this many are another encoding.
const BYTES_PER_REPLACEMENT: usize = 500;
/// Text has fewer control characters than one in this many.
const BYTES_PER_CONTROL: usize = 100;
/// A page says its encoding within so many bytes.
const DECLARED_WITHIN: usize = 1024;
/// How much is looked at to tell UTF-16 by its NULs.
const PATTERN_BYTES: usize = 4096;

/// The text of a whole file, without a byte order mark; single broken bytes become `�`.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, SkipReason> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        if encoding != encoding_rs::UTF_8 {
            return decode_as(encoding, &bytes[mark..]);
        }
    } else if memchr::memchr(0, &bytes).is_some() {
        let is_whole = bytes.len().is_multiple_of(2);
        let encoding = utf_16_by_pattern(&bytes).filter(|_| is_whole);
        return decode_as(encoding.ok_or(SkipReason::Binary)?, &bytes);
    }
    let controls = bytes.iter().filter(|&&byte| is_control(byte)).count();
    if controls > 1 + bytes.len() / BYTES_PER_CONTROL || memchr::memchr(0, &bytes).is_some() {
        return Err(SkipReason::Binary);
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.as_bytes();
            if let Some(encoding) = declared(bytes) {
                return decode_as(encoding, bytes);
            }
            if broken_bytes(bytes) > allowed_breaks(bytes.len()) {
                return decode_as(guess(bytes), bytes);
            }
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// The encoding that a page or a document of XML says it has.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARED_WITHIN)].to_ascii_lowercase();
    if !head.trim_ascii_start().starts_with(b"<") {
        return None;
    }
    let marks = [&b"charset="[..], b"encoding="].into_iter();
    let at = marks
        .filter_map(|mark| Some(memchr::memmem::find(&head, mark)? + mark.len()))
        .min()?;
    let label = head[at..]
        .trim_ascii_start()
        .strip_prefix(b"\"")
        .unwrap_or(&head[at..]);
    let label = label.strip_prefix(b"'").unwrap_or(label);
    let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"-_".contains(byte);
    let end = label.iter().position(is_end).unwrap_or(label.len());
    Encoding::for_label(&label[..end]).filter(|encoding| *encoding != encoding_rs::UTF_8)
}

fn allowed_breaks(bytes: usize) -> usize {
    1 + bytes / BYTES_PER_REPLACEMENT
}

fn broken_bytes(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, SkipReason> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let strange = text.chars().filter(|&c| is_strange(c)).count();
    if strange > allowed_breaks(bytes.len()) {
        return Err(SkipReason::Binary);
    }
    Ok(text.into_owned())
}

/// What a wrong decoding leaves behind.
fn is_strange(c: char) -> bool {
    c == '\u{fffd}' || matches!(c, '\u{80}'..='\u{9f}') || u8::try_from(c).is_ok_and(is_control)
}

/// C0 and DEL, less what text is laid out with, and what logs and manuals for terminals hold:
/// bell characters, overstrikes and escape sequences.
fn is_control(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, 0x07..=0x0d | 0x1b))
}

/// Every other byte of Western text in UTF-16 is NUL. A text in which NULs part words or lines has
/// them at other places too, or not at all of these.
pub(crate) fn utf_16_by_pattern(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(PATTERN_BYTES)];
    let pairs = sample.len() / 2;
    let nuls_at = |side: usize| {
        let side = sample.iter().skip(side).step_by(2);
        side.filter(|byte| **byte == 0).count()
    };
    let (first, second) = (nuls_at(0), nuls_at(1));
    // A letter in ten of Czech is beyond Latin-1, and a few in a hundred end in NUL, such as Ā.
    let most = |nuls: usize| nuls * 10 > pairs * 7;
    let few = |nuls: usize| nuls * 50 <= pairs;
    if most(second) && few(first) {
        Some(UTF_16LE)
    } else if most(first) && few(second) {
        Some(UTF_16BE)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_broken_bytes_are_replaced() {
        assert_eq!(
            decode(b"caf\xe9 and more".to_vec()).unwrap(),
            "caf\u{fffd} and more"
        );
        assert_eq!(decode(b"\xef\xbb\xbfhi".to_vec()).unwrap(), "hi");
    }

    #[test]
    fn other_encodings_are_read_as_what_they_are() {
        let said = [
            (
                "windows-1252",
                "Déjà vu au café : le garçon a été très gêné, où est l’été ?",
            ),
            (
                "windows-1251",
                "Договор вступает в силу с момента подписания обеими сторонами.",
            ),
            (
                "gbk",
                "本合同自双方签字盖章之日起生效,有效期为三年。知识库的索引每天更新。",
            ),
            (
                "big5",
                "本合約自雙方簽字蓋章之日起生效,有效期為三年。知識庫的索引每天更新。",
            ),
            (
                "shift_jis",
                "この契約は署名の日から三年間有効です。データベースは毎日更新されます。",
            ),
            (
                "euc-kr",
                "이 계약은 서명일로부터 3년간 유효합니다. 데이터베이스는 매일 갱신됩니다.",
            ),
        ];
        for (name, text) in said {
            let encoding = Encoding::for_label(name.as_bytes()).unwrap();
            let (bytes, _, lossy) = encoding.encode(text);
            assert!(!lossy, "{name}");
            assert_eq!(decode(bytes.into_owned()).unwrap(), text, "{name}");
        }
    }

    #[test]
    fn utf_16_is_known_by_its_mark_and_by_its_nuls() {
        let text =
            "Grüße aus Köln, příliš žluťoučký kůň\r\nzwei Zeilen, aber nicht kürzer als nötig";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (mark, bytes) in [
            (&[0xff, 0xfe][..], &little),
            (&[0xfe, 0xff], &big),
            (&[], &little),
            (&[], &big),
        ] {
            assert_eq!(decode([mark, bytes].concat()).unwrap(), text);
        }
    }

    #[test]
    fn a_text_with_nuls_is_not_utf_16() {
        for text in [
            "abc\0".repeat(50),
            "one\0two\0three\0four\0".to_owned(),
            "a line of text\nanother one\0\0\0\0\0\0".to_owned(),
            "\0\u{1}\u{2}x".to_owned(),
            format!("{}\0\0", "x\0".repeat(20)),
        ] {
            assert_eq!(
                decode(text.clone().into_bytes()),
                Err(SkipReason::Binary),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let mut state = 7_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let noise: Vec<u8> = (0..4000).map(|_| random()).collect();
        let without_nul: Vec<u8> = noise.iter().map(|byte| byte.max(&1)).copied().collect();
        for bytes in [noise, without_nul, b"a\0b".to_vec(), vec![1; 50]] {
            assert_eq!(decode(bytes), Err(SkipReason::Binary));
        }
    }
}
