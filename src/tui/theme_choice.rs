//! Which theme is shown: the wish, what the terminal can, and what its background is.

use std::collections::HashMap;
use std::sync::LazyLock;

use ratatui::buffer::Buffer;

use super::background::Background;
use super::error::TuiError;
use super::model::Setup;
use super::theme::{ColorDepth, Theme, ThemeName};

/// What the terminal says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalLooks {
    /// How many colours it has.
    pub depth: ColorDepth,
    /// Which signs.
    pub glyphs: Glyphs,
    /// Its background, where it has reported that without being asked.
    pub background: Option<Background>,
    /// Whether it can be asked for its background.
    pub answers: bool,
}

impl TerminalLooks {
    /// Reads the terminal's looks from the environment.
    pub fn of_environment() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let [all, ctype, lang, term] = ["LC_ALL", "LC_CTYPE", "LANG", "TERM"].map(variable);
        let depth = ColorDepth::from_variables(&variable("COLORTERM"), &term);
        Self {
            depth,
            glyphs: Glyphs::from_locale(&all, &ctype, &lang, &term),
            background: Background::of_colorfgbg(&variable("COLORFGBG")),
            answers: cfg!(unix) && depth != ColorDepth::None && term != "linux",
        }
    }

    /// A dark terminal that shows everything and answers nothing.
    pub fn of_all() -> Self {
        Self {
            depth: ColorDepth::True,
            glyphs: Glyphs::Unicode,
            background: Some(Background::Dark),
            answers: false,
        }
    }
}

/// The theme and where it comes from.
#[derive(Debug)]
pub struct ThemeChoice {
    theme: Theme,
    /// Which of ours it is, if it is one.
    ours: Option<ThemeName>,
    wanted: String,
    own: Vec<(String, String)>,
    no_color: bool,
    terminal: TerminalLooks,
}

impl ThemeChoice {
    /// The theme that is wanted; where it cannot be shown another, and one line that says why.
    pub fn new(setup: &Setup, terminal: TerminalLooks) -> Result<(Self, Option<String>), TuiError> {
        let wanted = match &setup.own.theme {
            Some(own) => own.clone(),
            None => setup.theme.as_str().to_owned(),
        };
        let mut looks = Self {
            theme: Theme::load(ThemeName::DARK, terminal.depth)?,
            ours: Some(ThemeName::DARK),
            wanted,
            own: setup.own.themes.clone(),
            no_color: setup.no_color,
            terminal,
        };
        let wanted = looks.wanted.clone();
        let problem = looks.choose(&wanted).err();
        if problem.is_some() {
            looks.show_ours(ThemeName::AUTO)?;
            ThemeName::AUTO.as_str().clone_into(&mut looks.wanted);
            looks.settle_ground();
        }
        Ok((looks, problem))
    }

    /// What is drawn with.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Puts the theme's ground behind what is drawn, and the terminal's signs in the place of ours.
    pub fn finish(&self, buffer: &mut Buffer) {
        self.theme.fill_background(buffer);
        use_text_presentation(buffer);
        self.terminal.glyphs.apply(buffer);
    }

    /// The names that can be chosen: ours, and then the user's.
    pub fn names(&self) -> Vec<String> {
        let ours = ThemeName::all().map(|name| name.as_str().to_owned());
        let own = self.own.iter().map(|(name, _)| name.clone());
        let own = own.filter(|name| ThemeName::parse(name).is_none());
        ours.chain(own).collect()
    }

    /// Shows the theme of that name from now on, and says which that is; where that cannot be, one
    /// line says why.
    pub fn choose(&mut self, name: &str) -> Result<String, String> {
        if self.no_color && name != self.wanted {
            return Err("NO_COLOR is set: no theme has colours.".to_owned());
        }
        let ours = ThemeName::parse(name);
        let resolved = ours.map(|ours| self.resolved(ours));
        let file = resolved.map_or_else(|| name.to_owned(), |ours| ours.as_str().to_owned());
        let own = self.own.iter().find(|(own, _)| *own == file);
        let shown = match (own, resolved) {
            _ if self.no_color => self.show_ours(ThemeName::MONO),
            (Some((_, source)), base) => {
                let base = base.unwrap_or_else(|| self.resolved(ThemeName::AUTO));
                let own = Theme::own(source, base, self.terminal.depth);
                self.theme =
                    own.map_err(|why| format!("themes/{file}.toml: {why}; it is not used."))?;
                self.ours = None;
                Ok(())
            }
            (None, Some(ours)) => self.show_ours(ours),
            (None, None) => {
                let names = self.names().join(", ");
                return Err(format!("There is no theme '{name}'; there are {names}."));
            }
        };
        shown.map_err(|error| error.to_string())?;
        name.clone_into(&mut self.wanted);
        self.settle_ground();
        Ok(file)
    }

    /// Whether what is shown depends on the terminal's background, and the terminal can be asked.
    pub fn asks_for_background(&self) -> bool {
        let depends = self.theme.made_for.is_some() && self.theme.ground.is_none();
        depends && !self.no_color && self.terminal.answers
    }

    /// The terminal has reported its background.
    pub fn on_background(&mut self, background: Background) {
        self.terminal.background = Some(background);
        if self.wanted == ThemeName::AUTO.as_str() {
            // What could not be shown before has been reported then.
            let _ = self.choose(ThemeName::AUTO.as_str());
        }
        self.settle_ground();
    }

    /// Inks for one ground are not read on the other: where the terminal's is not theirs, or not
    /// known, they bring their own. `auto` takes an unknown one for dark, as most are.
    fn settle_ground(&mut self) {
        let is_elsewhere = match (self.theme.made_for, self.terminal.background) {
            (None, _) => false,
            (Some(wanted), Some(there)) => wanted != there,
            (Some(_), None) => self.wanted != ThemeName::AUTO.as_str(),
        };
        self.theme.is_elsewhere = is_elsewhere;
    }

    fn resolved(&self, name: ThemeName) -> ThemeName {
        match (name, self.terminal.background) {
            (ThemeName::AUTO, Some(Background::Light)) => ThemeName::LIGHT,
            (ThemeName::AUTO, _) => ThemeName::DARK,
            (name, _) => name,
        }
    }

    fn show_ours(&mut self, name: ThemeName) -> Result<(), TuiError> {
        let ours = self.resolved(name);
        if self.ours != Some(ours) {
            self.theme = Theme::load(ours, self.terminal.depth)?;
            self.ours = Some(ours);
        }
        Ok(())
    }
}

// Signs for terminals that cannot show ours.
//
// Panes draw with the signs they want; at the very end each cell whose sign the terminal does not
// have gets one that it has. A sign and its stand-in take one cell each, so nothing moves.

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

/// Asks for the emoji in the place of the sign as text, such as ⚠️ for ⚠.
const EMOJI_VARIATION_SELECTOR: char = '\u{fe0f}';

/// Shows signs as text where emoji are asked for: some terminals draw such an emoji in two columns, others
/// in one, and everything behind it would stand a column off. The second column is blank already.
fn use_text_presentation(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        if !symbol.is_ascii() && symbol.contains(EMOJI_VARIATION_SELECTOR) {
            let letter = symbol.replace(EMOJI_VARIATION_SELECTOR, "");
            cell.set_symbol(&letter);
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
    use super::*;
    use crate::tui::ink::Ink;
    use crate::tui::model::OwnFiles;

    fn looks(theme: ThemeName, own: OwnFiles) -> (ThemeChoice, Option<String>) {
        let setup = Setup {
            theme,
            own,
            ..Setup::default()
        };
        ThemeChoice::new(&setup, TerminalLooks::of_all()).unwrap()
    }

    fn text(looks: &ThemeChoice) -> Option<ratatui::style::Color> {
        looks.theme().style(Ink::Text).fg
    }

    #[test]
    fn auto_follows_the_background_and_nothing_else_does() {
        let (mut auto, _) = looks(ThemeName::AUTO, OwnFiles::default());
        let dark = text(&auto);
        auto.on_background(Background::Light);
        assert_ne!(text(&auto), dark);
        let (mut chosen, _) = looks(ThemeName::DARK, OwnFiles::default());
        chosen.on_background(Background::Light);
        assert_eq!(text(&chosen), dark);
    }

    #[test]
    fn a_theme_comes_back_after_another() {
        let own = OwnFiles {
            themes: vec![("light".to_owned(), "text = { fg = '#ff0000' }".to_owned())],
            ..OwnFiles::default()
        };
        let (mut looks, _) = looks(ThemeName::DARK, own);
        let red = Some(ratatui::style::Color::Rgb(255, 0, 0));
        let dark = text(&looks);
        assert_ne!(dark, red);
        for (name, shown) in [
            ("light", red),
            ("dark", dark),
            ("pink", dark),
            ("light", red),
        ] {
            let _ = looks.choose(name);
            assert_eq!(text(&looks), shown, "{name}");
        }
    }

    #[test]
    fn a_users_theme_takes_the_place_of_ours_and_a_wrong_one_does_not() {
        let own = |name: &str, source: &str, theme: Option<&str>| OwnFiles {
            theme: theme.map(str::to_owned),
            themes: vec![(name.to_owned(), source.to_owned())],
            ..OwnFiles::default()
        };
        let red = Some(ratatui::style::Color::Rgb(255, 0, 0));
        let source = "text = { fg = '#ff0000' }";
        let (dark, _) = looks(ThemeName::AUTO, own("dark", source, None));
        assert_eq!(text(&dark), red);
        let (mine, _) = looks(ThemeName::AUTO, own("mine", source, Some("mine")));
        assert_eq!(text(&mine), red);
        assert_eq!(mine.names().last().map(String::as_str), Some("mine"));
        let (wrong, error) = looks(ThemeName::AUTO, own("mine", "text = 1", Some("mine")));
        assert_ne!(text(&wrong), red);
        assert!(error.is_some_and(|error| error.starts_with("themes/mine.toml: text: ")));
        let (mut ours, _) = looks(ThemeName::LIGHT, OwnFiles::default());
        let error = ours.choose("pink").unwrap_err();
        assert!(
            error.starts_with("There is no theme 'pink'; there are auto, dark"),
            "{error}"
        );
    }
}

#[cfg(test)]
mod glyphs_tests {
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
