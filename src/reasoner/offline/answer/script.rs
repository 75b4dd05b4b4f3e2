//! Which script a text is mostly written in.

use crate::text::{is_chinese, is_cjk};

/// Whether a text is in Chinese rather than one that holds Chinese names; names in other letters are
/// common in Chinese texts.
pub(super) fn is_mostly_chinese(text: &str) -> bool {
    let han = text.chars().filter(|c| is_cjk(*c)).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    is_chinese(text) && 4 * han > letters
}
