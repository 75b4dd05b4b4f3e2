//! Which key of a US keyboard a letter of another keyboard stands on.
//!
//! A terminal sends the letter that is typed, so that Ctrl+C on a Russian keyboard arrives as Ctrl+С.
//! The place of the key says what is meant. One table, `assets/keyboards.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crossterm::event::{KeyCode, KeyEvent};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyboardsFile {
    us: String,
    /// The letters of each at the places of `us`.
    keyboards: Vec<String>,
}

/// Stands where a key has no letter of its own.
const NO_LETTER: char = '_';

static PLACES: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let source = include_str!("../../assets/keyboards.toml");
    // A test reads it too.
    let file: KeyboardsFile = toml::from_str(source).unwrap_or_default();
    let mut places = HashMap::new();
    for keys in &file.keyboards {
        for (letter, latin) in keys.chars().zip(file.us.chars()) {
            if letter != NO_LETTER {
                places.entry(letter).or_insert(latin);
            }
        }
    }
    places
});

/// The same key on a US keyboard; `None` where the letter is Latin, or on no keyboard of the table.
pub fn on_us_keyboard(event: KeyEvent) -> Option<KeyEvent> {
    let KeyCode::Char(letter) = event.code else {
        return None;
    };
    if letter.is_ascii() {
        return None;
    }
    let place = |letter: char| PLACES.get(&letter).copied();
    let latin = place(letter).or_else(|| {
        let mut lower = letter.to_lowercase();
        let latin = place(lower.next()?)?;
        lower.next().is_none().then(|| latin.to_ascii_uppercase())
    })?;
    Some(KeyEvent {
        code: KeyCode::Char(latin),
        ..event
    })
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn every_keyboard_has_a_letter_or_none_for_each_key() {
        let source = include_str!("../../assets/keyboards.toml");
        let file: KeyboardsFile = toml::from_str(source).unwrap();
        let count = file.us.chars().count();
        assert!(file.us.is_ascii() && file.keyboards.len() > 3);
        for keys in file.keyboards {
            assert_eq!(keys.chars().count(), count, "{keys}");
        }
    }

    #[test]
    fn letters_stand_for_the_keys_at_their_places() {
        let latin = |letter| {
            let event = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
            let found = on_us_keyboard(event)?;
            assert_eq!(found.modifiers, KeyModifiers::CONTROL);
            Some(found.code)
        };
        for (letter, key) in [
            ('с', 'c'),
            ('С', 'C'),
            ('з', 'p'),
            ('і', 's'),
            ('ψ', 'c'),
            ('Σ', 'S'),
            ('ב', 'c'),
            ('ؤ', 'c'),
            ('ㅊ', 'c'),
            ('ც', 'c'),
            ('แ', 'c'),
        ] {
            assert_eq!(latin(letter), Some(KeyCode::Char(key)), "{letter}");
        }
        assert_eq!(latin('c'), None);
        assert_eq!(latin('é'), None);
        assert_eq!(latin('字'), None);
    }
}
