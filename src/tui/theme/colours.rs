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

#[cfg(test)]
mod contrast_tests {
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Modifier, Style};

    use super::*;
    use crate::tui::background::{Background, is_light, ratio};
    use crate::tui::ink::Ink;
    use crate::tui::theme::ThemeName;
    use crate::tui::theme::colours::{ColorDepth, VGA, of_index};
    use crate::tui::theme::{Theme, theme_file};

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
        for name in ThemeName::all() {
            let file = theme_file::read(name.source(), ColorDepth::True).unwrap();
            assert_eq!(file.inks.len(), Ink::COUNT, "{name} names every ink");
        }
        let file = theme_file::read(ThemeName::DARK.source(), ColorDepth::True).unwrap();
        let inks = file.inks.into_iter().map(|(ink, _)| ink);
        inks.filter(|ink| !matches!(ink, Ink::Border | Ink::Selected))
            .collect()
    }

    #[test]
    fn every_text_is_read_in_every_theme_and_depth_and_on_the_selected_row() {
        let mut faint = Vec::new();
        for name in ThemeName::all() {
            for depth in ColorDepth::ALL {
                let theme = Theme::load(name, depth).unwrap();
                for terminal in terminals(theme.made_for()) {
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
                let elsewhere = match theme.made_for() {
                    Some(Background::Dark) => Some(Background::Light),
                    Some(Background::Light) => Some(Background::Dark),
                    None => continue,
                };
                theme.set_elsewhere(true);
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
