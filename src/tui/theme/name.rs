//! The themes that come with the program, by name.

use std::fmt;

use crate::themes::{theme_names, theme_source};

/// A theme that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThemeName(&'static str);

impl ThemeName {
    /// Dark, unless the terminal says that it is light.
    pub const AUTO: Self = Self("auto");
    /// For dark backgrounds.
    pub const DARK: Self = Self("dark");
    /// For light backgrounds.
    pub const LIGHT: Self = Self("light");
    /// Without any colour.
    pub const MONO: Self = Self("mono");

    /// All themes in the order in which help lists them.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::AUTO].into_iter().chain(theme_names().map(Self))
    }

    /// The word of the settings.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The theme of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|theme| theme.as_str() == name)
    }

    /// The text of its file; `auto` has that of the dark one.
    pub fn source(self) -> &'static str {
        let name = if self == Self::AUTO { Self::DARK } else { self };
        theme_source(name.0).unwrap_or_default()
    }
}

impl Default for ThemeName {
    fn default() -> Self {
        Self::AUTO
    }
}

impl fmt::Display for ThemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
