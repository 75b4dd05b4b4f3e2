//! What an answer says of its own, around what it quotes: a table a language.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Language;

static FRAMES: LazyLock<HashMap<Language, Frames>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/language/frames.toml")).unwrap_or_default()
});
static NONE: LazyLock<Frames> = LazyLock::new(Frames::default);

/// The sentences of one language; in those with `{}` a name or a number takes its place.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frames {
    pub(super) nothing: String,
    pub(super) nearest: String,
    pub(super) missing: String,
    pub(super) both: String,
    pub(super) understood: String,
    pub(super) uncertain: String,
    pub(super) untranslated: String,
    pub(super) one_document: String,
    pub(super) documents: String,
    pub(super) first_documents: String,
    pub(super) cut: String,
}

impl Frames {
    pub(super) fn of(language: Language) -> &'static Self {
        FRAMES.get(&language).unwrap_or(&NONE)
    }
}

/// The frame with what it is about.
pub(super) fn filled(frame: &str, with: impl std::fmt::Display) -> String {
    frame.replacen("{}", &with.to_string(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_frames() {
        for language in [Language::En, Language::Zh, Language::De] {
            let frames = Frames::of(language);
            assert!(!frames.nothing.is_empty(), "{language:?}");
            for frame in [&frames.missing, &frames.understood, &frames.documents] {
                assert_eq!(frame.matches("{}").count(), 1, "{language:?}: {frame}");
            }
        }
    }
}
