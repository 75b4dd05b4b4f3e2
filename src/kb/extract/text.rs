//! Formats that are text, and what text is written in.

pub(in crate::kb::extract) mod decode;
mod dos;
pub(in crate::kb::extract) mod html;
pub(in crate::kb::extract) mod json;
pub(in crate::kb::extract) mod mail;
pub(in crate::kb::extract) mod markdown;
pub(in crate::kb::extract) mod notebook;

pub(in crate::kb) use decode::utf_16_by_pattern;
