//! How each meaning looks.
//!
//! Themes are data in `assets/themes`, and in the user's configuration folder. A colour is given
//! twice, for terminals with all colours and for those with sixteen, because a colour chosen by hand
//! from sixteen looks better than one computed. The background is left to the terminal, unless a
//! theme says `ground`, or the terminal's is not one that the theme's inks are read on.

mod colours;
mod theme_file;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::background::Background;
use super::error::TuiError;
use super::ink::{Ink, Piece};

pub use colours::ColorDepth;
pub use theme_file::ThemeName;

/// A style for each ink.
#[derive(Debug, Clone)]
pub struct Theme {
    styles: [Style; Ink::COUNT],
    /// What is behind it all, where that is not left to the terminal.
    ground: Option<Color>,
    /// What is behind it all, and written on it, where the terminal's ground is not for these inks.
    elsewhere: Option<Style>,
    is_elsewhere: bool,
    /// The background that its inks are for; `None` where they are read on any, or have their own.
    made_for: Option<Background>,
}

impl Theme {
    /// The theme from the assets; the one without colours where the terminal has none.
    pub fn load(name: ThemeName, depth: ColorDepth) -> Result<Self, TuiError> {
        let name = match depth {
            ColorDepth::None => ThemeName::MONO,
            _ => name,
        };
        let plain = Self {
            styles: [Style::new(); Ink::COUNT],
            ground: None,
            elsewhere: None,
            is_elsewhere: false,
            made_for: None,
        };
        plain
            .apply_file(name.source(), depth)
            .map_err(|reason| TuiError::Asset {
                name: format!("themes/{name}.toml"),
                reason,
            })
    }

    /// A user's theme: what it does not say is as in one of ours, the one it names as `base`.
    pub fn own(source: &str, base: ThemeName, depth: ColorDepth) -> Result<Self, String> {
        let base = theme_file::base(source)?.unwrap_or(base);
        let base = Self::load(base, depth).map_err(|error| error.to_string())?;
        base.apply_file(source, depth)
    }

    fn apply_file(mut self, source: &str, depth: ColorDepth) -> Result<Self, String> {
        let sheet = theme_file::read(source, depth)?;
        for (ink, style) in sheet.inks {
            self.styles[ink as usize] = style;
        }
        self.ground = sheet.ground.or(self.ground);
        self.elsewhere = sheet.elsewhere.or(self.elsewhere);
        self.made_for = sheet.made_for.or(self.made_for);
        Ok(self)
    }

    /// How this meaning looks.
    pub fn style(&self, ink: Ink) -> Style {
        self.styles[ink as usize]
    }

    /// How this piece looks.
    pub fn style_of(&self, piece: &Piece) -> Style {
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
        style
    }

    /// The background that its inks are for; `None` where they are read on any, or have their own.
    pub fn made_for(&self) -> Option<Background> {
        self.made_for
    }

    /// Whether it says what is behind it, wherever it is shown.
    pub fn has_background(&self) -> bool {
        self.ground.is_some()
    }

    /// Sets whether the theme is shown on a background that its inks are not made for.
    pub fn set_elsewhere(&mut self, is_elsewhere: bool) {
        self.is_elsewhere = is_elsewhere;
    }

    /// Puts the theme's ground behind all cells that have none.
    pub fn fill_background(&self, buffer: &mut Buffer) {
        let elsewhere = self.elsewhere.filter(|_| self.is_elsewhere);
        let Some(ground) = self.ground.or(elsewhere.and_then(|style| style.bg)) else {
            return;
        };
        let text = elsewhere.and_then(|style| style.fg);
        let text = text.or(self.style(Ink::Text).fg).unwrap_or(Color::Reset);
        for cell in &mut buffer.content {
            if cell.bg == Color::Reset {
                cell.bg = ground;
            }
            if cell.fg == Color::Reset {
                cell.fg = text;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_loads_at_every_depth() {
        for name in ThemeName::all() {
            for depth in ColorDepth::ALL {
                Theme::load(name, depth).unwrap();
            }
            assert_eq!(ThemeName::parse(name.as_str()), Some(name));
        }
    }

    #[test]
    fn mono_has_no_colour_and_tells_selection_by_reversing() {
        for (name, depth) in [
            (ThemeName::MONO, ColorDepth::True),
            (ThemeName::parse("high-contrast").unwrap(), ColorDepth::None),
        ] {
            let mono = Theme::load(name, depth).unwrap();
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
    }

    #[test]
    fn a_users_theme_stands_on_one_of_ours() {
        let source = "base = 'light'\nheading = { fg = '#7a2fa0', bold = true }\n\
                      ground = { bg = '#ffffff' }\n";
        let own = Theme::own(source, ThemeName::DARK, ColorDepth::True).unwrap();
        let light = Theme::load(ThemeName::LIGHT, ColorDepth::True).unwrap();
        assert_eq!(own.style(Ink::Text), light.style(Ink::Text));
        assert_eq!(
            own.style(Ink::Heading).fg,
            Some(Color::Rgb(0x7a, 0x2f, 0xa0))
        );
        assert_eq!(own.ground, Some(Color::Rgb(255, 255, 255)));
    }

    #[test]
    fn a_mistake_in_a_users_theme_is_one_clear_line() {
        for (source, said) in [
            ("haeding = { fg = 'red' }", "'haeding' is no ink"),
            ("heading = { fg = 'rde' }", "heading: 'rde' is no colour"),
            ("heading = { bolt = true }", "heading: unknown field `bolt`"),
            ("base = 'pink'", "base 'pink' is none of auto, dark"),
            ("\n\nheading = [", "line 3"),
        ] {
            let error = Theme::own(source, ThemeName::DARK, ColorDepth::True).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}
