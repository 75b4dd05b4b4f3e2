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
pub struct Frames {
    pub nothing: String,
    pub never_said: String,
    pub nearest: String,
    pub see_also: String,
    pub about: String,
    pub missing: String,
    pub more_lines: String,
    pub one_more_line: String,
    pub untranslated: String,
    pub one_document: String,
    pub documents: String,
    pub first_documents: String,
}

impl Frames {
    pub fn for_language(language: Language) -> &'static Self {
        FRAMES.get(&language).unwrap_or(&NONE)
    }

    /// The line that says how many lines are left out.
    pub fn more_lines(&self, count: usize) -> String {
        match count {
            1 => self.one_more_line.clone(),
            _ => filled(&self.more_lines, count),
        }
    }
}

/// A sentence with what takes the place of its gap.
pub fn filled(frame: &str, with: impl Display) -> String {
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
