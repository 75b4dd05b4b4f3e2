//! How each meaning looks.
//!
//! Themes are data in `assets/themes`. A colour is given twice, for terminals with all colours
//! and for those with sixteen, because a colour chosen by hand from sixteen looks better than one
//! computed. The background is left to the terminal.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use serde::Deserialize;

use super::TuiError;
use super::ink::{Ink, Piece, Row};

/// The themes a person can choose.
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
    /// In the order in which help lists them.
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

    /// Settles `Auto` by `COLORFGBG`, in which some terminals tell their background.
    #[must_use]
    pub fn resolve(self, colorfgbg: Option<&str>) -> Self {
        if self != Self::Auto {
            return self;
        }
        let background = colorfgbg
            .and_then(|value| value.rsplit(';').next())
            .and_then(|value| value.parse::<u8>().ok());
        match background {
            Some(7 | 15) => Self::Light,
            _ => Self::Dark,
        }
    }
}

impl fmt::Display for ThemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// Any RGB value.
    True,
    /// The sixteen that the terminal names.
    Sixteen,
}

impl ColorDepth {
    /// By what terminals say of themselves in `COLORTERM` and `TERM`.
    pub fn of(colorterm: &str, term: &str) -> Self {
        let says = |value: &str, words: &[&str]| words.iter().any(|word| value.contains(word));
        if says(colorterm, &["truecolor", "24bit"])
            || says(term, &["direct", "kitty", "ghostty", "alacritty", "foot"])
        {
            Self::True
        } else {
            Self::Sixteen
        }
    }
}

/// A style for each ink.
#[derive(Debug, Clone)]
pub struct Theme {
    styles: [Style; Ink::COUNT],
}

impl Theme {
    /// The theme from the assets.
    pub fn load(name: ThemeName, depth: ColorDepth) -> Result<Self, TuiError> {
        let source = match name {
            ThemeName::Auto | ThemeName::Dark => include_str!("../../assets/themes/dark.toml"),
            ThemeName::Light => include_str!("../../assets/themes/light.toml"),
            ThemeName::HighContrast => include_str!("../../assets/themes/high-contrast.toml"),
            ThemeName::Mono => include_str!("../../assets/themes/mono.toml"),
        };
        Self::parse(source, depth).map_err(|reason| TuiError::Asset {
            name: format!("themes/{name}.toml"),
            reason,
        })
    }

    fn parse(source: &str, depth: ColorDepth) -> Result<Self, String> {
        let sheet: BTreeMap<Ink, Look> =
            toml::from_str(source).map_err(|error| error.to_string())?;
        let mut styles = [Style::new(); Ink::COUNT];
        for (ink, look) in sheet {
            styles[ink as usize] = look.style(depth)?;
        }
        Ok(Self { styles })
    }

    /// How this meaning looks.
    pub fn style(&self, ink: Ink) -> Style {
        self.styles[ink as usize]
    }

    /// A row with its looks.
    pub fn line(&self, row: &Row) -> Line<'static> {
        row.pieces.iter().map(|piece| self.span(piece)).collect()
    }

    fn span(&self, piece: &Piece) -> Span<'static> {
        let mut style = self.style(piece.ink);
        for (wanted, modifier) in [
            (piece.emphasis.bold, Modifier::BOLD),
            (piece.emphasis.italic, Modifier::ITALIC),
            (piece.emphasis.struck, Modifier::CROSSED_OUT),
        ] {
            if wanted {
                style = style.add_modifier(modifier);
            }
        }
        Span::styled(piece.text.clone(), style)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // as the file spells them
struct Look {
    /// All colours, then sixteen.
    fg: Option<[String; 2]>,
    bg: Option<[String; 2]>,
    #[serde(default)]
    bold: bool,
    #[serde(default)]
    dim: bool,
    #[serde(default)]
    italic: bool,
    #[serde(default)]
    underlined: bool,
    #[serde(default)]
    reversed: bool,
}

impl Look {
    fn style(&self, depth: ColorDepth) -> Result<Style, String> {
        let color = |pair: &[String; 2]| {
            let word = match depth {
                ColorDepth::True => &pair[0],
                ColorDepth::Sixteen => &pair[1],
            };
            Color::from_str(word).map_err(|_| format!("'{word}' is no colour"))
        };
        let mut style = Style::new();
        style.fg = self.fg.as_ref().map(color).transpose()?;
        style.bg = self.bg.as_ref().map(color).transpose()?;
        for (wanted, modifier) in [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.italic, Modifier::ITALIC),
            (self.underlined, Modifier::UNDERLINED),
            (self.reversed, Modifier::REVERSED),
        ] {
            if wanted {
                style = style.add_modifier(modifier);
            }
        }
        Ok(style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_loads_at_both_depths() {
        for name in ThemeName::ALL {
            for depth in [ColorDepth::True, ColorDepth::Sixteen] {
                Theme::load(name, depth).unwrap();
            }
            assert_eq!(ThemeName::parse(name.as_str()), Some(name));
        }
    }

    #[test]
    fn mono_has_no_colour_and_tells_selection_by_reversing() {
        let mono = Theme::load(ThemeName::Mono, ColorDepth::True).unwrap();
        assert!(
            mono.styles
                .iter()
                .all(|style| style.fg.is_none() && style.bg.is_none())
        );
        assert!(
            mono.style(Ink::Selected)
                .add_modifier
                .contains(Modifier::REVERSED)
        );
    }

    #[test]
    fn auto_follows_the_terminal() {
        assert_eq!(ThemeName::Auto.resolve(Some("0;15")), ThemeName::Light);
        assert_eq!(ThemeName::Auto.resolve(Some("15;0")), ThemeName::Dark);
        assert_eq!(ThemeName::Auto.resolve(None), ThemeName::Dark);
        assert_eq!(ThemeName::Mono.resolve(Some("0;15")), ThemeName::Mono);
    }
}
