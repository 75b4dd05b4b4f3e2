//! Characters that a server cut in two.
//!
//! JSON writes a character beyond U+FFFF as a pair of escapes. A server that parts its text by such
//! units sends one half in one event and the other in the next, and neither is JSON that can be
//! read. The halves are put together again; one that stays alone becomes U+FFFD or goes.

use std::borrow::Cow;

/// What stands for a half that has no other.
const ALONE: &str = "\\ufffd";

/// The JSON with every half that stands alone put right. A first half at the end of a string is kept
/// in `half` for the string that begins with the other.
pub fn mended<'a>(json: &'a str, half: &mut Option<u16>) -> Cow<'a, str> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 12);
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (kept, after) = match unit(rest) {
            None => rest.split_at(escape_length(rest)),
            Some(0xd800..=0xdbff) if is_second(&rest[6..]) => rest.split_at(12),
            Some(first @ 0xd800..=0xdbff) => {
                let is_last = rest[6..].starts_with('"');
                if is_last {
                    *half = Some(first);
                }
                (if is_last { "" } else { ALONE }, &rest[6..])
            }
            Some(second @ 0xdc00..=0xdfff) => {
                if let Some(first) = half.take() {
                    out.push_str(&format!("\\u{first:04x}\\u{second:04x}"));
                } else {
                    out.push_str(ALONE);
                }
                ("", &rest[6..])
            }
            Some(_) => rest.split_at(6),
        };
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_second(text: &str) -> bool {
    matches!(unit(text), Some(0xdc00..=0xdfff))
}

/// The unit of the escape that begins the text, if one does.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// The backslash and the character after it.
fn escape_length(text: &str) -> usize {
    text.chars().take(2).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_halves_find_each_other_or_go() {
        for (events, texts) in [
            (&[r#""a\ud83d""#, r#""\ude00b""#][..], &["a", "😀b"][..]),
            (
                &[r#""a\uD83D""#, r#""""#, r#""\uDE00b""#],
                &["a", "", "😀b"],
            ),
            (&[r#""\ud83d\ude00""#], &["😀"]),
            (&[r#""a\ud83db""#], &["a\u{fffd}b"]),
            (&[r#""\ude00b""#], &["\u{fffd}b"]),
            (&[r#""\ud83d\ud83d\ude00""#], &["\u{fffd}😀"]),
            (&[r#""\\ud83d""#], &["\\ud83d"]),
            (&[r#""\ud83d\n""#], &["\u{fffd}\n"]),
            (&[r#""比\\\ud83d""#], &["比\\"]),
        ] {
            let mut half = None;
            for (event, text) in events.iter().zip(texts) {
                let read: String = serde_json::from_str(&mended(event, &mut half)).unwrap();
                assert_eq!(read, *text, "{event}");
            }
        }
    }

    #[test]
    fn what_is_no_json_ends_all_the_same() {
        for text in [
            "\\ud",
            "\\ud83",
            "\\ud83d",
            "\\ud83d\\",
            "\\ud83d\\u比比",
            "\\",
        ] {
            mended(text, &mut None);
        }
    }
}
