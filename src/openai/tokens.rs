//! How many tokens a text is, roughly.
//!
//! Every model cuts differently and none of their vocabularies is here, so this is an estimate and
//! is called one wherever it is shown. Four ASCII characters a token is the rule of thumb that
//! model vendors give for English; a Chinese, Japanese or Korean character is about one, other
//! letters about half.

use crate::text::is_cjk;

/// Quarters of a token.
pub fn weight(c: char) -> usize {
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
