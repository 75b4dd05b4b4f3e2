//! Characters that a server cut in two.
//!
//! JSON writes a character beyond U+FFFF as a pair of escapes. A server that parts its text by such
//! units sends one half in one event and the other in the next, and neither is JSON that can be
//! read. The halves are put together again; one that stays alone becomes U+FFFD or goes.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// An escape: a first half, perhaps with its second half or the end of the string behind it; a second half
/// that stands alone; or any other.
static ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?is)\\u(?<first>d[89ab][0-9a-f]{2})(?:(?<pair>\\ud[c-f][0-9a-f]{2})|(?<end>"))?|\\u(?<second>d[c-f][0-9a-f]{2})|\\."#;
    Regex::new(pattern).ok()
});
/// What stands for a half that has no other.
const ALONE: &str = "\\ufffd";

/// The JSON with every half that stands alone put right. A first half at the end of a string is kept
/// in `half` for the string that begins with the other.
pub fn join_surrogates<'a>(json: &'a str, half: &mut Option<u16>) -> Cow<'a, str> {
    let Some(escape) = ESCAPE
        .as_ref()
        .filter(|_| json.contains("\\ud") || json.contains("\\uD"))
    else {
        return Cow::Borrowed(json);
    };
    escape.replace_all(json, |found: &Captures<'_>| {
        let written = &found[0];
        match (found.name("first"), found.name("second")) {
            (Some(_), _) if found.name("pair").is_some() => written.to_owned(),
            (Some(first), _) if found.name("end").is_some() => {
                *half = u16::from_str_radix(first.as_str(), 16).ok();
                "\"".to_owned()
            }
            (None, Some(_)) => match half.take() {
                Some(first) => format!("\\u{first:04x}{written}"),
                None => ALONE.to_owned(),
            },
            (Some(_), _) => ALONE.to_owned(),
            (None, None) => written.to_owned(),
        }
    })
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
                let read: String =
                    serde_json::from_str(&join_surrogates(event, &mut half)).unwrap();
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
            join_surrogates(text, &mut None);
        }
    }
}
