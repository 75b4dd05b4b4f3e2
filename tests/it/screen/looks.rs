//! Themes, colour depths, signs, and the inks of code.

use std::path::PathBuf;

use kb_agent::protocol::{DocumentPart, DocumentText, Timestamp, Update};
use kb_agent::tui::{
    Background, ColorDepth, Glyphs, Msg, OwnFiles, Screen, Setup, TerminalLooks, ThemeName,
};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;

use super::{KeyCode, KeyModifiers, press, strike, tap};
use super::{play, runs};
use crate::support::Said;

/// On a terminal whose ground is for the theme that is wanted.
pub fn on(setup: Setup, depth: ColorDepth, glyphs: Glyphs) -> Screen {
    let background = match setup.theme {
        ThemeName::AUTO => None,
        ThemeName::LIGHT => Some(Background::Light),
        _ => Some(Background::Dark),
    };
    on_ground(setup, depth, glyphs, background)
}

fn on_ground(
    setup: Setup,
    depth: ColorDepth,
    glyphs: Glyphs,
    background: Option<Background>,
) -> Screen {
    let terminal = TerminalLooks {
        depth,
        glyphs,
        background,
        answers: true,
    };
    let mut screen = Screen::on_terminal(setup, terminal).unwrap();
    play(&mut screen, runs::complex());
    screen
}

fn themed(theme: ThemeName) -> Screen {
    let setup = Setup {
        theme,
        ..Setup::default()
    };
    on(setup, ColorDepth::True, Glyphs::Unicode)
}

/// Where each ink of a buffer begins, as `row.column colour on colour modifiers`.
fn painted(buffer: &Buffer) -> String {
    let look = |cell: &Cell| (cell.fg, cell.bg, cell.modifier);
    let mut lines = Vec::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut last = None;
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            if last != Some(look(cell)) {
                last = Some(look(cell));
                let modifier = if cell.modifier.is_empty() {
                    String::new()
                } else {
                    format!(" {:?}", cell.modifier)
                };
                line.push_str(&format!("⟦{} {}{modifier}⟧", cell.fg, cell.bg));
            }
            line.push_str(cell.symbol());
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[test]
fn each_theme_paints_the_screen() {
    for theme in ["dark", "light", "high-contrast", "mono"] {
        let mut screen = themed(ThemeName::parse(theme).unwrap());
        press(&mut screen, KeyCode::Char('3'), KeyModifiers::ALT);
        for (width, height) in [(160, 45), (60, 20)] {
            insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
                insta::assert_snapshot!(
                    format!("theme_{theme}_{width}x{height}"),
                    painted(&screen.render(width, height))
                );
            });
        }
    }
}

#[test]
fn each_depth_has_its_own_colours() {
    let colours = |depth| {
        let setup = Setup {
            theme: ThemeName::DARK,
            ..Setup::default()
        };
        let mut screen = on(setup, depth, Glyphs::Unicode);
        let buffer = screen.render(160, 45);
        let cells = buffer.content.clone();
        cells.into_iter().map(|cell| cell.fg).collect::<Vec<_>>()
    };
    let any = |depth, is: fn(&Color) -> bool| colours(depth).iter().any(is);
    let is_rgb = |color: &Color| matches!(color, Color::Rgb(..));
    let is_indexed = |color: &Color| matches!(color, Color::Indexed(_));
    assert!(any(ColorDepth::True, is_rgb));
    assert!(any(ColorDepth::Indexed, is_indexed) && !any(ColorDepth::Indexed, is_rgb));
    assert!(!any(ColorDepth::Sixteen, is_rgb) && !any(ColorDepth::Sixteen, is_indexed));
    assert!(any(ColorDepth::Sixteen, |color| *color == Color::LightCyan));
    assert!(!any(ColorDepth::None, |color| *color != Color::Reset));
}

#[test]
fn a_terminal_without_utf_8_gets_ascii_and_nothing_moves() {
    for theme in [ThemeName::DARK, ThemeName::MONO] {
        let setup = Setup {
            theme,
            ..Setup::default()
        };
        let mut plain = on(setup.clone(), ColorDepth::Sixteen, Glyphs::Ascii);
        let mut signs = on(setup, ColorDepth::Sixteen, Glyphs::Unicode);
        for (width, height) in [(160, 45), (60, 20)] {
            let (text, as_is) = (plain.text(width, height), signs.text(width, height));
            assert!(text.is_ascii(), "{text}");
            assert!(text.contains("analyze_and_route") || width < 100, "{text}");
            let widths = |text: &str| {
                let lines = text.lines();
                lines.map(|line| line.chars().count()).collect::<Vec<_>>()
            };
            assert_eq!(widths(&text), widths(&as_is));
        }
        press(&mut plain, KeyCode::F(1), KeyModifiers::NONE);
        assert!(plain.text(160, 45).is_ascii());
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        let mut plain = on(Setup::default(), ColorDepth::None, Glyphs::Ascii);
        insta::assert_snapshot!("ascii_160x45", plain.text(160, 45));
        let mut console = on(Setup::default(), ColorDepth::Sixteen, Glyphs::Console);
        insta::assert_snapshot!("console_100x30", console.text(100, 30));
    });
}

#[test]
fn auto_asks_and_follows_the_answer() {
    let mut auto = themed(ThemeName::AUTO);
    assert!(auto.asks_for_background());
    let (dark, light) = (
        painted(&themed(ThemeName::DARK).render(100, 30)),
        painted(&themed(ThemeName::LIGHT).render(100, 30)),
    );
    assert_eq!(painted(&auto.render(100, 30)), dark);
    auto.handle(Msg::Background(Background::Light));
    assert_eq!(painted(&auto.render(100, 30)), light);
    // What a theme of one kind looks like depends on it too.
    assert!(themed(ThemeName::LIGHT).asks_for_background());
    assert!(!themed(ThemeName::parse("high-contrast").unwrap()).asks_for_background());
    assert!(!themed(ThemeName::MONO).asks_for_background());
}

/// By WCAG 2, of two colours that are given as such.
fn contrast(cell: &Cell) -> f64 {
    let luminance = |color| {
        let Color::Rgb(r, g, b) = color else {
            panic!("{color} is that of the terminal: {cell:?}");
        };
        let linear = |value: u8| match f64::from(value) / 255.0 {
            value if value <= 0.040_45 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    };
    let (fg, bg) = (luminance(cell.fg), luminance(cell.bg));
    (fg.max(bg) + 0.05) / (fg.min(bg) + 0.05)
}

fn choose(screen: &mut Screen, theme: &str) {
    for c in format!("/theme {theme}").chars() {
        tap(screen, KeyCode::Char(c));
    }
    tap(screen, KeyCode::Enter);
    let text = screen.text(160, 45);
    assert!(text.contains(&format!("Theme {theme}.")), "{text}");
}

#[test]
fn ui_a_theme_is_read_on_the_ground_that_is_drawn_whatever_the_terminals_is() {
    let is_text = |cell: &Cell| cell.symbol().chars().any(char::is_alphanumeric);
    for (theme, grounds) in [
        ("light", [Some(Background::Dark), None]),
        ("dark", [Some(Background::Light), None]),
    ] {
        for ground in grounds {
            let all = (ColorDepth::True, Glyphs::Unicode);
            let mut screen = on_ground(Setup::default(), all.0, all.1, ground);
            choose(&mut screen, theme);
            let pane = |screen: &mut Screen, pane| {
                press(screen, KeyCode::Char(pane), KeyModifiers::ALT);
                screen.render(160, 45)
            };
            for number in ['1', '2', '3', '4'] {
                let buffer = pane(&mut screen, number);
                for cell in buffer.content.iter().filter(|cell| is_text(cell)) {
                    let contrast = contrast(cell);
                    assert!(
                        contrast >= 4.5,
                        "{theme} on {ground:?}: {contrast} {cell:?}"
                    );
                }
            }
            // Where the terminal's ground is the right one it is left to it.
            let right = match theme {
                "light" => Background::Light,
                _ => Background::Dark,
            };
            screen.handle(Msg::Background(right));
            let buffer = pane(&mut screen, '1');
            assert_eq!(buffer[(0, 0)].bg, Color::Reset);
        }
    }
}

#[test]
fn ui_themes_are_found_by_name_the_users_among_them() {
    let setup = Setup {
        own: OwnFiles {
            themes: vec![("harbour".to_owned(), "base = 'light'".to_owned())],
            ..OwnFiles::default()
        },
        ..Setup::default()
    };
    for theme in ["light", "harbour"] {
        let mut screen = on(setup.clone(), ColorDepth::True, Glyphs::Unicode);
        press(&mut screen, KeyCode::Char('p'), KeyModifiers::CONTROL);
        for c in theme.chars() {
            tap(&mut screen, KeyCode::Char(c));
        }
        let text = screen.text(160, 45);
        assert!(text.contains(&format!("/theme {theme}")), "{text}");
        tap(&mut screen, KeyCode::Enter);
        let text = screen.text(160, 45);
        assert!(text.contains(&format!("Theme {theme}.")), "{text}");
    }
    let mut screen = on(setup, ColorDepth::True, Glyphs::Unicode);
    for c in "/theme ha".chars() {
        tap(&mut screen, KeyCode::Char(c));
    }
    assert!(screen.text(160, 45).contains("▸ harbour"));
    tap(&mut screen, KeyCode::Enter);
    assert!(screen.text(160, 45).contains("Theme harbour."));
}

#[test]
fn high_contrast_brings_its_own_ground() {
    let buffer = themed(ThemeName::parse("high-contrast").unwrap()).render(160, 45);
    let is_on_black = |cell: &Cell| cell.bg == Color::Rgb(0, 0, 0);
    assert!(
        buffer
            .content
            .iter()
            .filter(|cell| is_on_black(cell))
            .count()
            > 7000
    );
    assert!(buffer.content.iter().all(|cell| cell.bg != Color::Reset));
}

#[test]
fn a_mistake_in_a_users_file_is_reported_once_and_ours_is_used() {
    let own = OwnFiles {
        theme: Some("mine".to_owned()),
        themes: vec![("mine".to_owned(), "haeding = { fg = 'red' }".to_owned())],
        ..OwnFiles::default()
    };
    let setup = Setup {
        own,
        ..Setup::default()
    };
    let mut screen = on(setup.clone(), ColorDepth::True, Glyphs::Unicode);
    let text = screen.text(160, 45);
    text.must_hold("⚠ themes/mine.toml: 'haeding' is no ink; it is not used.");
    let own = OwnFiles {
        keymap: Some("[[key]]\non = ['x']\ndo = 'fly'\nwhere = 'list'".to_owned()),
        ..OwnFiles::default()
    };
    let setup = Setup { own, ..setup };
    let mut screen = on(setup, ColorDepth::True, Glyphs::Unicode);
    let text = screen.text(160, 45);
    text.must_hold("⚠ keymap.toml: line 3: unknown variant");
    strike(&mut screen, "<Alt+4>z");
    assert!(screen.text(160, 45).contains("▸ Audit"));
}

#[test]
fn a_file_of_code_has_the_inks_of_its_language() {
    let mut screen = themed(ThemeName::DARK);
    press(&mut screen, KeyCode::Char('3'), KeyModifiers::ALT);
    screen.text(100, 30);
    let effects = tap(&mut screen, KeyCode::Enter);
    let [kb_agent::tui::Effect::Send(kb_agent::protocol::Command::ReadDocument { source, line })] =
        &effects[..]
    else {
        panic!("{effects:?}");
    };
    let mut lines: Vec<String> = (1..40).map(|n| format!("let line{n} = {n};")).collect();
    lines[11] = "fn main() { /* why".to_owned();
    lines[12] = "and */ let text = \"word\"; // 42".to_owned();
    let part = DocumentPart {
        first: 1,
        total: lines.len(),
        lines,
        places: Vec::new(),
        missing: Vec::new(),
        modified: Some(Timestamp(0)),
        path: Some(PathBuf::from("/kb/src/main.rs")),
    };
    screen.handle(Msg::Update(Update::Document(DocumentText {
        source: source.clone(),
        line: *line,
        part: Ok(part),
    })));
    let buffer = screen.render(100, 30);
    let mut colours = std::collections::HashMap::new();
    for y in 0..30 {
        let row: String = (0..100).map(|x| buffer[(x, y)].symbol()).collect();
        for word in ["main", "why", "and */", "\"word\"", "// 42"] {
            if let Some(at) = row.find(word) {
                let x = row[..at].chars().count() as u16;
                colours.insert(word, buffer[(x, y)].fg);
            }
        }
    }
    assert_eq!(colours.len(), 5, "{colours:?}");
    assert_eq!(colours["why"], colours["and */"]);
    assert_eq!(colours["why"], colours["// 42"]);
    assert_ne!(colours["main"], colours["why"]);
    assert_ne!(colours["main"], colours["\"word\""]);
}
