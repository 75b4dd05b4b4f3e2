//! How many tokens a text is, roughly.
//!
//! Every model cuts differently and none of their vocabularies is here, so this is an estimate and
//! is called one wherever it is shown. Four ASCII characters a token is the rule of thumb that
//! model vendors give for English; a Chinese, Japanese or Korean character is about one, other
//! letters about half.

use crate::text::is_cjk;

/// Quarters of a token.
fn weight(c: char) -> usize {
    match c {
        c if c.is_ascii() => 1,
        c if is_cjk(c) => 4,
        _ => 2,
    }
}

/// About how many tokens the text is.
pub fn estimate(text: &str) -> usize {
    let weight: usize = text.chars().map(weight).sum();
    weight.div_ceil(4)
}

/// The beginning of the text that is about so many tokens; `None` when that is all of it.
pub fn beginning(text: &str, tokens: usize) -> Option<&str> {
    // Also the longest text of so few characters would fit.
    if text.len() <= tokens {
        return None;
    }
    let mut left = tokens * 4;
    for (at, c) in text.char_indices() {
        match left.checked_sub(weight(c)) {
            Some(rest) => left = rest,
            None => return Some(&text[..at]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_measured_and_cut_by_the_same_rule() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("word"), 1);
        assert_eq!(estimate("words"), 2);
        assert_eq!(estimate("路由"), 2);
        assert_eq!(estimate("äöüß"), 2);
        assert_eq!(beginning("words and", 1), Some("word"));
        assert_eq!(beginning("路由规则", 3), Some("路由规"));
        assert_eq!(beginning("路由", 2), None);
        assert_eq!(beginning("", 0), None);
        assert_eq!(beginning("a", 0), Some(""));
    }
}
