//! The part of a text in which certain words stand.

use super::one_line;

/// How much of the text stands before the first of the words, characters.
const BEFORE: usize = 24;

/// The text on one line of at most `length` characters, from a little before the first of these words
/// that it holds, in either case; where it holds none, from its beginning.
pub fn excerpt_around<'a>(
    text: &str,
    words: impl IntoIterator<Item = &'a str>,
    length: usize,
) -> String {
    let lower = text.to_lowercase();
    let places = words
        .into_iter()
        .filter_map(|word| lower.find(&word.to_lowercase()));
    let at = places.min().unwrap_or(0);
    // Lower case may have other lengths: characters are counted.
    let skipped = lower[..at].chars().count().saturating_sub(BEFORE);
    let rest: String = text.chars().skip(skipped).take(2 * length).collect();
    let sign = if skipped > 0 { "…" } else { "" };
    one_line(&format!("{sign}{rest}"), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_begins_a_little_before_the_words() {
        let text = "It was a dark and stormy night; the\nrain fell in torrents over London.";
        let around = |words: &[&str]| excerpt_around(text, words.iter().copied(), 40);
        assert_eq!(
            around(&["RAIN", "london"]),
            "…k and stormy night; the rain fell in t…"
        );
        assert_eq!(
            around(&["snow"]),
            "It was a dark and stormy night; the rai…"
        );
        assert_eq!(excerpt_around("", ["a"], 40), "");
    }
}
