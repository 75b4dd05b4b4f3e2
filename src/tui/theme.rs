//! How each meaning looks.
//!
//! Themes are data in `assets/themes`, and in the user's configuration folder. A colour is given
//! twice, for terminals with all colours and for those with sixteen, because a colour chosen by hand
//! from sixteen looks better than one computed. The background is left to the terminal, unless a
//! theme says `ground`, or the terminal's is not one that the theme's inks are read on.

use std::fmt;
use std::str::FromStr;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Clear, Widget};
use serde::Deserialize;
use unicode_width::UnicodeWidthStr;

use crate::themes::{theme_names, theme_source};

use super::background::Background;
use super::error::{TuiError, toml_error};
use super::ink::{Ink, Piece, Row};

/// A style for each ink.
#[derive(Debug, Clone)]
pub struct Theme {
    styles: [Style; Ink::COUNT],
    /// What is behind it all, where that is not left to the terminal.
    pub ground: Option<Color>,
    /// What is behind it all, and written on it, where the terminal's ground is not for these inks.
    elsewhere: Option<Style>,
    /// Whether it is shown on a background that its inks are not made for.
    pub is_elsewhere: bool,
    /// The background that its inks are for; `None` where they are read on any, or have their own.
    pub made_for: Option<Background>,
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
        let base = base_of(source)?.unwrap_or(base);
        let base = Self::load(base, depth).map_err(|error| error.to_string())?;
        base.apply_file(source, depth)
    }

    /// Puts what a file says in the place of what stands; the error is one line.
    fn apply_file(mut self, source: &str, depth: ColorDepth) -> Result<Self, String> {
        let table: toml::Table =
            toml::from_str(source).map_err(|error| toml_error(source, &error))?;
        for (name, value) in table {
            if name == "base" {
                continue;
            }
            if name == "made-for" {
                self.made_for = match value.as_str() {
                    Some("dark") => Some(Background::Dark),
                    Some("light") => Some(Background::Light),
                    _ => return Err(format!("{name}: neither 'dark' nor 'light'")),
                };
                continue;
            }
            let look: StyleSpec = value
                .try_into()
                .map_err(|error: toml::de::Error| format!("{name}: {}", error.message()))?;
            let style = look.style(depth).map_err(|why| format!("{name}: {why}"))?;
            match (name.as_str(), Ink::from_name(&name)) {
                ("ground", _) => self.ground = style.bg.or(self.ground),
                ("ground-elsewhere", _) => self.elsewhere = Some(style),
                (_, Some(ink)) => self.styles[ink as usize] = style,
                (_, None) => return Err(format!("'{name}' is no ink")),
            }
        }
        Ok(self)
    }

    /// How this meaning looks.
    pub fn style(&self, ink: Ink) -> Style {
        self.styles[ink as usize]
    }

    /// How this piece looks.
    pub fn style_of(&self, piece: &Piece) -> Style {
        self.style(piece.ink).add_modifier(piece.emphasis)
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

// Colours as terminals have them: all, 256, sixteen or none.

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// Any RGB value.
    True,
    /// A cube of 216 and a ramp of 24 greys, beside the sixteen.
    Indexed,
    /// The sixteen that the terminal names.
    Sixteen,
    /// No colours.
    None,
}

/// Terminals, real ones and their likes, that show no colour.
const COLOURLESS: [&str; 6] = ["dumb", "vt52", "vt100", "vt102", "vt220", "vt320"];
/// Emulators that show all colours, whatever `COLORTERM` says.
const ALL_COLOURS: [&str; 7] = [
    "direct",
    "kitty",
    "ghostty",
    "alacritty",
    "foot",
    "wezterm",
    "contour",
];

impl ColorDepth {
    /// All depths, from most colours to none.
    pub const ALL: [Self; 4] = [Self::True, Self::Indexed, Self::Sixteen, Self::None];

    /// Detects the depth from the terminal's `COLORTERM` and `TERM`.
    pub fn from_variables(colorterm: &str, term: &str) -> Self {
        let says = |value: &str, words: &[&str]| words.iter().any(|word| value.contains(word));
        if COLOURLESS.contains(&term) || term.ends_with("-m") || term.ends_with("-mono") {
            Self::None
        } else if term == "linux" {
            Self::Sixteen
        } else if says(colorterm, &["truecolor", "24bit"]) || says(term, &ALL_COLOURS) {
            Self::True
        } else if term.contains("256") {
            Self::Indexed
        } else {
            Self::Sixteen
        }
    }
}

/// A colour by its word: `#rrggbb`, a name, or `keep` for that of what lies beneath.
pub fn color(word: &str, depth: ColorDepth) -> Result<Option<Color>, String> {
    if word == "keep" || depth == ColorDepth::None {
        return Ok(None);
    }
    let color = Color::from_str(word).map_err(|_| format!("'{word}' is no colour"))?;
    Ok(Some(match (color, depth) {
        (Color::Rgb(r, g, b), ColorDepth::Indexed) => Color::Indexed(nearest_indexed((r, g, b))),
        (Color::Rgb(r, g, b), ColorDepth::Sixteen) => nearest_named((r, g, b)),
        (color, _) => color,
    }))
}

/// The steps of the cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The value of one of the 240 behind the sixteen, which are the same in every terminal.
pub fn of_index(index: u8) -> Rgb {
    if let Some(grey) = index.checked_sub(232) {
        let value = 8 + 10 * grey;
        (value, value, value)
    } else {
        let at = usize::from(index.saturating_sub(16));
        (STEPS[at / 36], STEPS[at / 6 % 6], STEPS[at % 6])
    }
}

fn nearest_indexed(wanted: Rgb) -> u8 {
    (16..=255)
        .min_by_key(|index| distance(of_index(*index), wanted))
        .unwrap_or(16)
}

/// The sixteen colours as the VGA has them.
pub const VGA: [(Color, Rgb); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (170, 0, 0)),
    (Color::Green, (0, 170, 0)),
    (Color::Yellow, (170, 85, 0)),
    (Color::Blue, (0, 0, 170)),
    (Color::Magenta, (170, 0, 170)),
    (Color::Cyan, (0, 170, 170)),
    (Color::Gray, (170, 170, 170)),
    (Color::DarkGray, (85, 85, 85)),
    (Color::LightRed, (255, 85, 85)),
    (Color::LightGreen, (85, 255, 85)),
    (Color::LightYellow, (255, 255, 85)),
    (Color::LightBlue, (85, 85, 255)),
    (Color::LightMagenta, (255, 85, 255)),
    (Color::LightCyan, (85, 255, 255)),
    (Color::White, (255, 255, 255)),
];

fn nearest_named(wanted: Rgb) -> Color {
    let nearest = VGA
        .into_iter()
        .min_by_key(|(_, rgb)| distance(*rgb, wanted));
    nearest.map_or(Color::Reset, |(color, _)| color)
}

fn distance(one: Rgb, other: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    square(one.0, other.0) + square(one.1, other.1) + square(one.2, other.2)
}

// A theme as it is written: inks by name, each with its colours.

/// Returns the built-in theme that the file extends, where it names one.
pub fn base_of(source: &str) -> Result<Option<ThemeName>, String> {
    let table: toml::Table = toml::from_str(source).map_err(|error| toml_error(source, &error))?;
    let Some(name) = table.get("base") else {
        return Ok(None);
    };
    let name = name.as_str().unwrap_or("…");
    let names: Vec<_> = ThemeName::all().map(ThemeName::as_str).collect();
    let known = ThemeName::parse(name).map(Some);
    known.ok_or_else(|| format!("base '{name}' is none of {}", names.join(", ")))
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
    /// The theme without any colour.
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

// Rows into cells.

/// Writes a row into the first line of an area, cut at its edge.
pub fn draw_row(buffer: &mut Buffer, theme: &Theme, area: Rect, row: &Row) {
    if area.is_empty() {
        return;
    }
    let end = area.right().min(buffer.area.right());
    let mut x = area.x;
    for piece in &row.pieces {
        if x >= end {
            return;
        }
        let style = theme.style_of(piece);
        let room = usize::from(end - x);
        x = buffer.set_stringn(x, area.y, &piece.text, room, style).0;
    }
}

/// Empties an area; a wide character that reaches into it goes as a whole.
pub fn clear(area: Rect, buffer: &mut Buffer) {
    Clear.render(area, buffer);
    if let Some(x) = area.x.checked_sub(1) {
        for y in area.top()..area.bottom() {
            if let Some(cell) = buffer.cell_mut((x, y))
                && cell.symbol().width() > 1
            {
                cell.set_symbol(" ");
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

#[cfg(test)]
mod colours_tests {
    use super::*;

    #[test]
    fn terminals_say_how_many_colours_they_have() {
        for (colorterm, term, depth) in [
            ("truecolor", "xterm-256color", ColorDepth::True),
            ("", "xterm-kitty", ColorDepth::True),
            ("", "xterm-256color", ColorDepth::Indexed),
            ("", "tmux-256color", ColorDepth::Indexed),
            ("", "xterm", ColorDepth::Sixteen),
            ("truecolor", "linux", ColorDepth::Sixteen),
            ("", "", ColorDepth::Sixteen),
            ("truecolor", "dumb", ColorDepth::None),
            ("", "vt100", ColorDepth::None),
            ("", "xterm-mono", ColorDepth::None),
        ] {
            assert_eq!(
                ColorDepth::from_variables(colorterm, term),
                depth,
                "{colorterm} {term}"
            );
        }
    }

    #[test]
    fn a_colour_becomes_the_nearest_that_there_is() {
        let at = |depth| color("#ffd479", depth).unwrap().unwrap();
        assert_eq!(at(ColorDepth::True), Color::Rgb(0xff, 0xd4, 0x79));
        assert_eq!(at(ColorDepth::Indexed), Color::Indexed(222));
        assert_eq!(at(ColorDepth::Sixteen), Color::LightYellow);
        assert_eq!(color("#ffd479", ColorDepth::None), Ok(None));
        assert_eq!(color("keep", ColorDepth::True), Ok(None));
        assert_eq!(of_index(16), (0, 0, 0));
        assert_eq!(of_index(231), (255, 255, 255));
        assert_eq!(of_index(255), (238, 238, 238));
    }
}

#[cfg(test)]
mod contrast_tests {
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Modifier, Style};

    use super::Theme;
    use super::ThemeName;
    use super::*;
    use super::{ColorDepth, VGA, of_index};
    use crate::tui::background::{Background, is_light, ratio};
    use crate::tui::ink::Ink;

    /// What text must have.
    const ENOUGH: f64 = 4.5;

    /// Where xterm has the sixteen otherwise than the VGA.
    const XTERM: [(Color, Rgb); 16] = [
        (Color::Black, (0, 0, 0)),
        (Color::Red, (205, 0, 0)),
        (Color::Green, (0, 205, 0)),
        (Color::Yellow, (205, 205, 0)),
        (Color::Blue, (0, 0, 238)),
        (Color::Magenta, (205, 0, 205)),
        (Color::Cyan, (0, 205, 205)),
        (Color::Gray, (229, 229, 229)),
        (Color::DarkGray, (127, 127, 127)),
        (Color::LightRed, (255, 0, 0)),
        (Color::LightGreen, (0, 255, 0)),
        (Color::LightYellow, (255, 255, 0)),
        (Color::LightBlue, (92, 92, 255)),
        (Color::LightMagenta, (255, 0, 255)),
        (Color::LightCyan, (0, 255, 255)),
        (Color::White, (255, 255, 255)),
    ];

    /// A terminal: its sixteen colours, its ground, and what it writes with.
    struct Terminal {
        palette: [(Color, Rgb); 16],
        ground: Rgb,
        text: Rgb,
    }

    impl Terminal {
        fn rgb(&self, color: Option<Color>, otherwise: Rgb) -> Rgb {
            match color {
                None | Some(Color::Reset) => otherwise,
                Some(Color::Rgb(r, g, b)) => (r, g, b),
                Some(Color::Indexed(index)) => of_index(index),
                Some(named) => {
                    let found = self.palette.iter().find(|(color, _)| *color == named);
                    found.unwrap().1
                }
            }
        }

        fn contrast(&self, style: Style) -> f64 {
            let (fg, bg) = (
                self.rgb(style.fg, self.text),
                self.rgb(style.bg, self.ground),
            );
            ratio(fg, bg)
        }
    }

    fn terminals(background: Option<Background>) -> Vec<Terminal> {
        let grounds: &[(Rgb, Rgb)] = match background {
            Some(Background::Light) => &[
                ((255, 255, 255), (0, 0, 0)),
                ((250, 250, 250), (0x38, 0x3a, 0x42)),
                ((0xfd, 0xf6, 0xe3), (0x58, 0x6e, 0x75)),
            ],
            Some(Background::Dark) | None => &[
                ((0, 0, 0), (170, 170, 170)),
                ((0x10, 0x14, 0x1f), (0xc8, 0xd3, 0xe6)),
                ((0x1e, 0x1e, 0x1e), (0xd4, 0xd4, 0xd4)),
                ((0x1e, 0x1e, 0x2e), (0xcd, 0xd6, 0xf4)),
            ],
        };
        let with = |palette: [(Color, Rgb); 16]| {
            grounds.iter().map(move |(ground, text)| Terminal {
                palette,
                ground: *ground,
                text: *text,
            })
        };
        with(VGA).chain(with(XTERM)).collect()
    }

    /// All inks that are text; lines between panes are none.
    fn inks() -> Vec<Ink> {
        let named = |name: ThemeName| {
            let table: toml::Table = toml::from_str(name.source()).unwrap();
            let inks = table.keys().filter_map(|key| Ink::from_name(key));
            inks.collect::<Vec<_>>()
        };
        for name in ThemeName::all() {
            assert_eq!(named(name).len(), Ink::COUNT, "{name} names every ink");
        }
        let inks = named(ThemeName::DARK).into_iter();
        inks.filter(|ink| !matches!(ink, Ink::Border | Ink::Selected))
            .collect()
    }

    #[test]
    fn every_text_is_read_in_every_theme_and_depth_and_on_the_selected_row() {
        let mut faint = Vec::new();
        for name in ThemeName::all() {
            for depth in ColorDepth::ALL {
                let theme = Theme::load(name, depth).unwrap();
                for terminal in terminals(theme.made_for) {
                    // The sixteen are chosen for the ground that their palette has.
                    let has_ground = [(0, 0, 0), (255, 255, 255)].contains(&terminal.ground);
                    if depth == ColorDepth::Sixteen && !has_ground {
                        continue;
                    }
                    for ink in inks() {
                        let ground = Style::new().bg(theme.ground.unwrap_or(Color::Reset));
                        let plain = ground.patch(theme.style(ink));
                        let selected = plain.patch(theme.style(Ink::Selected));
                        for (where_it_is, style) in [("", plain), ("selected", selected)] {
                            let contrast = terminal.contrast(style);
                            if contrast < ENOUGH {
                                faint.push(format!(
                                    "{name} {depth:?} {ink:?} {where_it_is} on {:?}: {contrast:.2}",
                                    terminal.ground
                                ));
                            }
                        }
                    }
                }
            }
        }
        assert!(faint.is_empty(), "{}", faint.join("\n"));
    }

    #[test]
    fn ui_every_text_is_read_where_the_terminals_ground_is_for_another_theme() {
        let mut faint = Vec::new();
        for name in ThemeName::all() {
            for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
                let mut theme = Theme::load(name, depth).unwrap();
                let elsewhere = match theme.made_for {
                    Some(Background::Dark) => Some(Background::Light),
                    Some(Background::Light) => Some(Background::Dark),
                    None => continue,
                };
                theme.is_elsewhere = true;
                for (terminal, ink) in terminals(elsewhere)
                    .iter()
                    .flat_map(|terminal| inks().into_iter().map(move |ink| (terminal, ink)))
                {
                    for is_selected in [false, true] {
                        let mut buffer = Buffer::with_lines(["x"]);
                        buffer.set_style(buffer.area, theme.style(ink));
                        if is_selected {
                            buffer.set_style(buffer.area, theme.style(Ink::Selected));
                        }
                        theme.fill_background(&mut buffer);
                        let cell = &buffer[(0, 0)];
                        let contrast = terminal.contrast(Style::new().fg(cell.fg).bg(cell.bg));
                        if contrast < ENOUGH {
                            faint.push(format!("{name} {depth:?} {ink:?}: {contrast:.2}"));
                        }
                    }
                }
            }
        }
        assert!(faint.is_empty(), "{}", faint.join("\n"));
    }

    #[test]
    fn no_text_with_a_colour_is_dimmed_besides() {
        for name in ThemeName::all() {
            for depth in ColorDepth::ALL {
                let theme = Theme::load(name, depth).unwrap();
                for ink in inks() {
                    let style = theme.style(ink);
                    let is_dimmed = style.add_modifier.contains(Modifier::DIM);
                    assert!(style.fg.is_none() || !is_dimmed, "{name} {ink:?}");
                }
            }
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((ratio((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
        assert!((ratio((0x77, 0x77, 0x77), (255, 255, 255)) - 4.48).abs() < 0.01);
        assert!(is_light((255, 255, 255)) && is_light((0xfd, 0xf6, 0xe3)));
        assert!(!is_light((0x1e, 0x1e, 0x2e)) && !is_light((0x28, 0x2c, 0x34)));
    }
}

#[cfg(test)]
mod cells_tests {
    use ratatui::text::{Line, Span};

    use super::ColorDepth;
    use super::ThemeName;
    use super::*;
    use crate::tui::ink::Ink;

    #[test]
    fn ui_a_row_is_written_as_ratatui_writes_it() {
        let theme = Theme::load(ThemeName::DARK, ColorDepth::True).unwrap();
        let rows = [
            vec!["plain text"],
            vec!["│▌ · …", "文字", "x"],
            vec!["e", "\u{301}x"],
            vec!["▶\u{fe0f} play", "◼ stop ◌"],
            vec!["1234567", "文", "after"],
            vec!["12345678", "…·─"],
        ];
        for texts in rows {
            let inks = [Ink::Text, Ink::Citation, Ink::Dim];
            let row = texts
                .iter()
                .zip(inks)
                .fold(Row::default(), |row, (text, ink)| row.add(ink, *text));
            let area = Rect::new(1, 0, 8, 1);
            let mut ours = Buffer::filled(Rect::new(0, 0, 12, 2), ratatui::buffer::Cell::new("~"));
            let mut theirs = ours.clone();
            draw_row(&mut ours, &theme, area, &row);
            let spans = row.pieces.iter();
            let spans = spans.map(|piece| Span::styled(piece.text.as_str(), theme.style_of(piece)));
            theirs.set_line(area.x, area.y, &spans.collect::<Line<'_>>(), area.width);
            assert_eq!(ours, theirs, "{texts:?}");
        }
    }
}
