//! The themes that come with the program.

use std::fmt;

/// The themes that come with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThemeName {
    /// Dark, unless the terminal says that it is light.
    #[default]
    Auto,
    /// For dark backgrounds.
    Dark,
    /// For light backgrounds.
    Light,
    /// Black and white with few strong colours.
    HighContrast,
    /// No colour at all.
    Mono,
}

impl ThemeName {
    /// All themes in the order in which help lists them.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Dark,
        Self::Light,
        Self::HighContrast,
        Self::Mono,
    ];

    /// The word of the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::HighContrast => "high-contrast",
            Self::Mono => "mono",
        }
    }

    /// The theme of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.as_str() == name)
    }

    /// What the file of the assets says.
    pub fn source(self) -> &'static str {
        match self {
            Self::Auto | Self::Dark => include_str!("../../../assets/themes/dark.toml"),
            Self::Light => include_str!("../../../assets/themes/light.toml"),
            Self::HighContrast => include_str!("../../../assets/themes/high-contrast.toml"),
            Self::Mono => include_str!("../../../assets/themes/mono.toml"),
        }
    }
}

impl fmt::Display for ThemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
