//! Signs for terminals that cannot show ours.
//!
//! Panes draw with the signs they want; at the very end each cell whose sign the terminal does not
//! have gets one that it has. A sign and its stand-in take one cell each, so nothing moves.

use std::collections::HashMap;
use std::sync::LazyLock;

use ratatui::buffer::Buffer;

/// Which signs the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// All Unicode signs.
    Unicode,
    /// Text in any script, lines and blocks, but few other signs: a console's font.
    Console,
    /// Only ASCII signs.
    Ascii,
}

impl Glyphs {
    /// Chooses the glyphs by `TERM` and by the first of the locale variables that is set. Where
    /// none is set, UTF-8 is more likely than not.
    pub fn from_locale(lc_all: &str, lc_ctype: &str, lang: &str, term: &str) -> Self {
        let set = [lc_all, lc_ctype, lang]
            .into_iter()
            .find(|value| !value.is_empty());
        let plain = set.unwrap_or("UTF-8").to_lowercase().replace('-', "");
        if !plain.contains("utf8") {
            Self::Ascii
        } else if term == "linux" {
            Self::Console
        } else {
            Self::Unicode
        }
    }

    /// The text with what the terminal has.
    pub fn in_text(self, text: &str) -> String {
        let mut signs = [0; 4];
        let shown = text
            .chars()
            .map(|c| self.sign(c.encode_utf8(&mut signs)).to_owned());
        shown.collect()
    }

    /// Replaces what the terminal does not have.
    pub fn apply(self, buffer: &mut Buffer) {
        if self == Self::Unicode {
            return;
        }
        for cell in &mut buffer.content {
            let shown = self.sign(cell.symbol());
            if shown != cell.symbol() {
                let shown = shown.to_owned();
                cell.set_symbol(&shown);
            }
        }
    }

    /// What stands for a sign. The second cell of a wide character is blank already.
    fn sign(self, sign: &str) -> &str {
        if self == Self::Unicode || sign.is_ascii() {
            return sign;
        }
        match (SIGNS.get(sign), self) {
            (Some([_, console]), Self::Console) => console,
            (Some([ascii, _]), _) => ascii,
            (None, Self::Ascii) => "?",
            (None, _) => sign,
        }
    }
}

/// Ours, what stands for it in ASCII, and for a console, as `assets/signs.txt` lists them.
static SIGNS: LazyLock<HashMap<&str, [&str; 2]>> = LazyLock::new(|| {
    let lines = include_str!("../../assets/signs.txt").lines();
    let signs = lines.filter_map(|line| {
        let mut signs = line.split(' ');
        Some((signs.next()?, [signs.next()?, signs.next()?]))
    });
    signs.collect()
});

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_locale_says_what_can_be_shown() {
        for (locale, term, glyphs) in [
            (["", "", ""], "xterm", Glyphs::Unicode),
            (["", "", "de_DE.UTF-8"], "xterm", Glyphs::Unicode),
            (["", "C.utf8", "C"], "xterm", Glyphs::Unicode),
            (["C", "", "en_US.UTF-8"], "xterm", Glyphs::Ascii),
            (["", "", "de_DE.ISO-8859-1"], "xterm", Glyphs::Ascii),
            (["", "", "C.UTF-8"], "linux", Glyphs::Console),
        ] {
            let [all, ctype, lang] = locale;
            assert_eq!(
                Glyphs::from_locale(all, ctype, lang, term),
                glyphs,
                "{locale:?} {term}"
            );
        }
    }

    #[test]
    fn a_sign_and_its_stand_in_take_one_cell_each() {
        assert_eq!(SIGNS.len(), 87);
        for (sign, [ascii, console]) in SIGNS.iter() {
            assert_eq!(sign.width(), 1, "{sign}");
            assert_eq!((ascii.width(), console.width()), (1, 1), "{sign}");
            assert!(ascii.is_ascii());
        }
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, "│é文▇ok", Style::new());
        Glyphs::Ascii.apply(&mut buffer);
        let shown: Vec<&str> = buffer
            .content
            .iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect();
        assert!(shown.iter().all(|symbol| symbol.is_ascii()), "{shown:?}");
        assert_eq!(shown.concat().replace(' ', ""), "|??#ok");
    }
}
