//! Keys by their names: as the table spells them, as help and the last line show them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMED: [(&str, &str, &str, KeyCode); 14] = [
    ("enter", "Enter", "⏎", KeyCode::Enter),
    ("esc", "Esc", "Esc", KeyCode::Esc),
    ("tab", "Tab", "⇥", KeyCode::Tab),
    ("space", "Space", "␣", KeyCode::Char(' ')),
    ("up", "↑", "↑", KeyCode::Up),
    ("down", "↓", "↓", KeyCode::Down),
    ("left", "←", "←", KeyCode::Left),
    ("right", "→", "→", KeyCode::Right),
    ("home", "Home", "Home", KeyCode::Home),
    ("end", "End", "End", KeyCode::End),
    ("pageup", "PgUp", "PgUp", KeyCode::PageUp),
    ("pagedown", "PgDn", "PgDn", KeyCode::PageDown),
    ("backspace", "Backspace", "⌫", KeyCode::Backspace),
    ("delete", "Del", "Del", KeyCode::Delete),
];

impl Key {
    /// The key of that name, as the table spells it.
    pub fn parse(name: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = name;
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            modifiers |= match word {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return None,
            };
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(only), None) => KeyCode::Char(only),
            _ => match NAMED.iter().find(|(word, ..)| *word == rest) {
                Some((.., code)) => *code,
                None => KeyCode::F(rest.strip_prefix('f')?.parse().ok()?),
            },
        };
        Some(Self { code, modifiers })
    }

    /// The key's name for help, such as `Ctrl+R`.
    pub fn name(self) -> String {
        self.spelled(["Ctrl+", "Alt+", "Shift+"], |(_, name, ..)| name)
    }

    /// `^R`, for the last line.
    pub fn glyph(self) -> String {
        self.spelled(["^", "⌥", "⇧"], |(_, _, glyph, _)| glyph)
    }

    fn spelled(
        self,
        modifiers: [&str; 3],
        word: impl Fn((&'static str, &'static str, &'static str, KeyCode)) -> &'static str,
    ) -> String {
        let mut text = String::new();
        for (modifier, spelled) in [
            KeyModifiers::CONTROL,
            KeyModifiers::ALT,
            KeyModifiers::SHIFT,
        ]
        .into_iter()
        .zip(modifiers)
        {
            if self.modifiers.contains(modifier) {
                text.push_str(spelled);
            }
        }
        match NAMED.iter().find(|(.., code)| *code == self.code) {
            Some(named) => text.push_str(word(*named)),
            None => match self.code {
                KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                    text.extend(c.to_uppercase());
                }
                KeyCode::Char(c) => text.push(c),
                KeyCode::F(n) => text.push_str(&["F", &n.to_string()].concat()),
                _ => {}
            },
        }
        text
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name).ok_or_else(|| format!("'{name}' is no key"))
    }
}

impl From<KeyEvent> for Key {
    /// Normalises an event to the keymap's spelling: terminals differ in shifted capitals and in
    /// back-tab.
    fn from(event: KeyEvent) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let mut modifiers = event.modifiers & known;
        let code = match event.code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => {
                KeyCode::Char(c.to_ascii_lowercase())
            }
            code => code,
        };
        if matches!(code, KeyCode::Char(_)) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code, modifiers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        assert_eq!(Key::parse("alt+enter").unwrap().glyph(), "⌥⏎");
        assert_eq!(Key::parse("ctrl+r").unwrap().name(), "Ctrl+R");
        assert_eq!(Key::parse("f1").unwrap().name(), "F1");
    }
}
