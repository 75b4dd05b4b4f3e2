//! What an answer says of its own around what it quotes: a table a language.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Language;

static FRAMES: LazyLock<HashMap<Language, Frames>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/language/frames.toml")).unwrap_or_default()
});
static NONE: LazyLock<Frames> = LazyLock::new(Frames::default);

/// The sentences of one language. In those with `{}` a name or a number takes its place.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frames {
    pub(super) nothing: String,
    pub(super) never_said: String,
    pub(super) nearest: String,
    pub(super) see_also: String,
    pub(super) about: String,
    pub(super) missing: String,
    pub(super) more_lines: String,
    pub(super) one_more_line: String,
    pub(super) untranslated: String,
    pub(super) one_document: String,
    pub(super) documents: String,
    pub(super) first_documents: String,
}

impl Frames {
    pub(super) fn for_language(language: Language) -> &'static Self {
        FRAMES.get(&language).unwrap_or(&NONE)
    }

    /// The line that says how many lines are left out.
    pub(super) fn more_lines(&self, count: usize) -> String {
        match count {
            1 => self.one_more_line.clone(),
            _ => filled(&self.more_lines, count),
        }
    }
}

/// A sentence with what takes the place of its gap.
pub(super) fn filled(frame: &str, with: impl Display) -> String {
    frame.replacen("{}", &with.to_string(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_every_language_has_its_frames() {
        for language in [Language::En, Language::Zh, Language::De] {
            let frames = Frames::for_language(language);
            assert!(!frames.nothing.is_empty(), "{language:?}");
            for frame in [
                &frames.never_said,
                &frames.about,
                &frames.more_lines,
                &frames.documents,
            ] {
                assert_eq!(frame.matches("{}").count(), 1, "{language:?}: {frame}");
            }
        }
    }
}
