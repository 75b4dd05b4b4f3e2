//! Formats that are text, and what text is written in.

pub(crate) mod agenda;
pub(crate) mod decode;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod mail;
pub(crate) mod markdown;
pub(crate) mod notebook;
pub(crate) mod outline;
pub(crate) mod rich;
pub(crate) mod subtitles;

pub(crate) use decode::utf_16_by_pattern;
