//! A theme as it is written: inks by name, each with its colours.

use std::fmt;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::themes::{theme_names, theme_source};
use crate::tui::background::Background;
use crate::tui::error::toml_error;
use crate::tui::ink::Ink;

use super::colours::{ColorDepth, color};

/// What a theme says.
pub struct ThemeFile {
    /// Each ink that it names.
    pub inks: Vec<(Ink, Style)>,
    /// What is behind it all.
    pub ground: Option<Color>,
    /// The same where the terminal's own ground is not one that the inks are for.
    pub elsewhere: Option<Style>,
    /// The background that the inks are read on; without it they are read on any, or the theme has its own.
    pub made_for: Option<Background>,
}

/// Reads a theme; the error is one line.
pub fn read(source: &str, depth: ColorDepth) -> Result<ThemeFile, String> {
    let table: toml::Table = toml::from_str(source).map_err(|error| toml_error(source, &error))?;
    let mut sheet = ThemeFile {
        inks: Vec::new(),
        ground: None,
        elsewhere: None,
        made_for: None,
    };
    for (name, value) in table {
        if name == "base" {
            continue;
        }
        if name == "made-for" {
            sheet.made_for = match value.as_str() {
                Some("dark") => Some(Background::Dark),
                Some("light") => Some(Background::Light),
                _ => return Err(format!("{name}: neither 'dark' nor 'light'")),
            };
            continue;
        }
        let look: StyleSpec = value
            .try_into()
            .map_err(|error: toml::de::Error| format!("{name}: {}", error.message()))?;
        let style = look
            .style(depth)
            .map_err(|error| format!("{name}: {error}"))?;
        if name == "ground" {
            sheet.ground = style.bg;
            continue;
        }
        if name == "ground-elsewhere" {
            sheet.elsewhere = Some(style);
            continue;
        }
        let ink = Ink::from_name(&name).ok_or_else(|| format!("'{name}' is no ink"))?;
        sheet.inks.push((ink, style));
    }
    Ok(sheet)
}

/// Returns the built-in theme that the file extends, where it names one.
pub fn base(source: &str) -> Result<Option<ThemeName>, String> {
    let table: toml::Table = toml::from_str(source).map_err(|error| toml_error(source, &error))?;
    let Some(name) = table.get("base") else {
        return Ok(None);
    };
    let known = name.as_str().and_then(ThemeName::parse);
    let names: Vec<_> = ThemeName::all().map(ThemeName::as_str).collect();
    let names = names.join(", ");
    let name = name.as_str().unwrap_or("…");
    known
        .map(Some)
        .ok_or_else(|| format!("base '{name}' is none of {names}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // as the file spells them
struct StyleSpec {
    fg: Option<Colours>,
    bg: Option<Colours>,
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

/// One colour, or two: of all colours, and of the sixteen.
#[derive(Deserialize)]
#[serde(untagged)]
enum Colours {
    One(String),
    Two([String; 2]),
}

impl Colours {
    fn color_at(&self, depth: ColorDepth) -> Result<Option<Color>, String> {
        let word = match (self, depth) {
            (Self::Two([_, word]), ColorDepth::Sixteen)
            | (Self::One(word) | Self::Two([word, _]), _) => word,
        };
        color(word, depth)
    }
}

impl StyleSpec {
    fn style(&self, depth: ColorDepth) -> Result<Style, String> {
        let color = |colours: &Option<Colours>| match colours {
            Some(colours) => colours.color_at(depth),
            None => Ok(None),
        };
        let mut style = Style::new();
        style.fg = color(&self.fg)?;
        style.bg = color(&self.bg)?;
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
