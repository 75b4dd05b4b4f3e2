//! Cells as SVG.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
const GROUND: &str = "#10141f";
const INK: &str = "#c8d3e6";

/// A picture of one screen.
pub fn still(buffer: &Buffer, title: &str) -> String {
    let mut svg = opening(buffer.area, title);
    for y in 0..buffer.area.height {
        svg.push_str(&row(buffer, y));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Pictures one after the other, each with the seconds that it stays, round and round. A line that
/// stays the same over several of them is drawn once.
pub fn moving(frames: &[(Buffer, f64)], title: &str) -> String {
    let area = frames[0].0.area;
    let mut svg = opening(area, title);
    let whole: f64 = frames.iter().map(|(_, seconds)| seconds).sum();
    let _ = writeln!(
        svg,
        "<rect width=\"0\" height=\"0\"><animate id=\"loop\" attributeName=\"x\" values=\"0\" \
         dur=\"{whole:.2}s\" begin=\"0s;loop.end\"/></rect>"
    );
    for y in 0..area.height {
        let (mut begin, mut now) = (0.0, 0.0);
        let mut drawn = row(&frames[0].0, y);
        for (buffer, seconds) in frames {
            let next = row(buffer, y);
            if next != drawn {
                shown_for(&mut svg, &drawn, begin, now, whole);
                (begin, drawn) = (now, next);
            }
            now += seconds;
        }
        shown_for(&mut svg, &drawn, begin, now, whole);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A line that is seen from one second of the loop to another.
fn shown_for(svg: &mut String, drawn: &str, begin: f64, end: f64, whole: f64) {
    if begin == 0.0 && end >= whole {
        svg.push_str(drawn);
    } else if !drawn.is_empty() {
        let _ = write!(
            svg,
            "<g visibility=\"hidden\"><set attributeName=\"visibility\" to=\"visible\" \
             begin=\"loop.begin+{begin:.2}s\" dur=\"{:.2}s\"/>\n{drawn}</g>\n",
            end - begin
        );
    }
}

fn opening(area: Rect, title: &str) -> String {
    let width = f64::from(area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(area.height) * CELL.1 + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.1}\" height=\"{height:.1}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"'JetBrains Mono','DejaVu Sans Mono','SF Mono',Menlo,Consolas,monospace\" \
         font-size=\"14\" xml:space=\"preserve\">\n"
    )
}

/// Each run of equal cells is one text element whose length is fixed, so that columns meet in any
/// monospaced font.
fn row(buffer: &Buffer, y: u16) -> String {
    let mut svg = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        let first = &buffer[(x, y)];
        let mut text = String::new();
        let start = x;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            let wide = cell.symbol().width().max(1) as u16;
            if look(cell) != look(first)
                || (x > start && (wide > 1 || is_drawing(cell) || is_drawing(first)))
            {
                break;
            }
            text.push_str(cell.symbol());
            x += wide;
            if wide > 1 {
                break;
            }
        }
        run(&mut svg, first, (start, y), x - start, &text);
    }
    svg
}

fn look(cell: &Cell) -> (Color, Color, Modifier) {
    (cell.fg, cell.bg, cell.modifier)
}

/// Lines, bars and signs are placed one by one; a font may not hold them all.
fn is_drawing(cell: &Cell) -> bool {
    cell.symbol()
        .chars()
        .any(|c| matches!(c, '\u{2190}'..='\u{27bf}'))
}

fn run(svg: &mut String, cell: &Cell, (x, y): (u16, u16), cells: u16, text: &str) {
    let left = MARGIN + f64::from(x) * CELL.0;
    let top = MARGIN + f64::from(y) * CELL.1;
    let length = f64::from(cells) * CELL.0;
    if let Some(ground) = hex(cell.bg) {
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{ground}\"/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let fill = hex(cell.fg).unwrap_or_else(|| INK.to_owned());
    if let Some(path) = line(text, left, top) {
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" stroke=\"{fill}\" stroke-width=\"1.2\" fill=\"none\"/>"
        );
        return;
    }
    let mut style = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if cell.modifier.contains(modifier) {
            style.push_str(attribute);
        }
    }
    let shown = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{style}>{shown}</text>",
        top + 13.5
    );
}

/// Box drawing as strokes from edge to edge, so that lines have no gaps.
fn line(text: &str, left: f64, top: f64) -> Option<String> {
    let mut chars = text.chars();
    let (Some(sign), None) = (chars.next(), chars.next()) else {
        return None;
    };
    let arms = match sign {
        '─' => "lr",
        '│' => "ud",
        '┌' => "rd",
        '┐' => "ld",
        '└' => "ru",
        '┘' => "lu",
        '├' => "udr",
        '┤' => "udl",
        '┬' => "lrd",
        '┴' => "lru",
        '┼' => "lrud",
        _ => return None,
    };
    let (x, y) = (left + CELL.0 / 2.0, top + CELL.1 / 2.0);
    let ends = arms.chars().map(|arm| match arm {
        'l' => (left, y),
        'r' => (left + CELL.0, y),
        'u' => (x, top),
        _ => (x, top + CELL.1),
    });
    Some(ends.fold(String::new(), |mut path, (to_x, to_y)| {
        let _ = write!(path, "M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}");
        path
    }))
}

fn hex(color: Color) -> Option<String> {
    match color {
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        _ => None,
    }
}
