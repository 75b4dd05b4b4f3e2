//! Colours as terminals have them: all, 256, sixteen or none.

use std::str::FromStr;

use ratatui::style::Color;

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

#[cfg(test)]
mod tests {
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
