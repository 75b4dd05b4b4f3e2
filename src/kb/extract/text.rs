//! Formats that are text, and what text is written in.

pub(in crate::kb::extract) mod agenda;
pub(in crate::kb::extract) mod decode;
pub(in crate::kb::extract) mod html;
pub(in crate::kb::extract) mod json;
pub(in crate::kb::extract) mod mail;
pub(in crate::kb::extract) mod markdown;
pub(in crate::kb::extract) mod notebook;
pub(in crate::kb::extract) mod outline;
pub(in crate::kb::extract) mod rich;
pub(in crate::kb::extract) mod subtitles;

pub(in crate::kb) use decode::utf_16_by_pattern;
