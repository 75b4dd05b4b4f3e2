//! How well a colour is read on another, by WCAG 2.

use super::colours::Rgb;

/// Whether a ground is light: black is read better on it than white.
pub fn is_light(ground: Rgb) -> bool {
    ratio(ground, (0, 0, 0)) > ratio(ground, (255, 255, 255))
}

/// Contrast ratio of two colours: 1 for the same, 21 for black on white.
pub fn ratio(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(colour: Rgb) -> f64 {
    let (r, g, b) = colour;
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Modifier, Style};

    use super::*;
    use crate::tui::background::Background;
    use crate::tui::ink::Ink;
    use crate::tui::theme::colours::{ColorDepth, VGA, of_index};
    use crate::tui::theme::name::ThemeName;
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
        let sheet = theme_file::read(ThemeName::DARK.source(), ColorDepth::True).unwrap();
        assert_eq!(sheet.inks.len(), Ink::COUNT, "a theme names every ink");
        let inks = sheet.inks.into_iter().map(|(ink, _)| ink);
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
