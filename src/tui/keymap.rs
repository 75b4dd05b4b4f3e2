//! Which key does what: data in `assets/keymap.toml`.
//!
//! The help overlay and the hints in the last line are made from the same table that is asked
//! when a key arrives, so they cannot disagree with it.

mod action;

use std::collections::HashMap;

use crossterm::event::KeyEvent;
use serde::Deserialize;

use super::error::{TuiError, toml_error};

pub use super::keys::Key;
pub use action::{Action, KeyContext};

/// What the last line of the screen says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint<'a> {
    /// The key.
    pub key: String,
    /// What it does, in a word.
    pub word: &'a str,
    /// The same as an action.
    pub action: Action,
}

/// The table, ours with what the user's changes of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keymap {
    #[serde(default)]
    titles: HashMap<KeyContext, String>,
    #[serde(default, rename = "key")]
    bindings: Vec<Binding>,
}

/// One line of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The keys, the one to show first; a user's may be none, which takes them away.
    #[serde(rename = "on")]
    pub keys: Vec<Key>,
    /// The action that the keys cause.
    #[serde(rename = "do")]
    pub action: Action,
    /// The context in which the keys hold.
    #[serde(rename = "where")]
    pub place: KeyContext,
    /// The word in the last line of the screen.
    pub hint: Option<String>,
    /// The line in help; an empty one is listed with another key, and a user's may be that of ours.
    pub help: Option<String>,
}

impl Binding {
    /// The line in help.
    pub fn help(&self) -> &str {
        self.help.as_deref().unwrap_or_default()
    }
}

impl Keymap {
    /// The table from the assets.
    pub fn load() -> Result<Self, TuiError> {
        Self::read(include_str!("../../assets/keymap.toml")).map_err(|reason| TuiError::Asset {
            name: "keymap.toml".to_owned(),
            reason,
        })
    }

    fn read(source: &str) -> Result<Self, String> {
        toml::from_str(source).map_err(|error| toml_error(source, &error))
    }

    /// Puts the user's own keys in the place of ours; where they cannot be read, one line says why.
    pub fn put_own(&mut self, source: &str) -> Result<(), String> {
        let own =
            Self::read(source).map_err(|why| format!("keymap.toml: {why}; it is not used."))?;
        own.bindings.into_iter().for_each(|entry| self.bind(entry));
        Ok(())
    }

    /// What help calls a place.
    pub fn title(&self, place: KeyContext) -> &str {
        self.titles.get(&place).map_or("", String::as_str)
    }

    /// A key does one thing in a place: what was bound to it before is not any more.
    fn bind(&mut self, mut entry: Binding) {
        for binding in &mut self.bindings {
            if binding.place == entry.place {
                binding.keys.retain(|key| !entry.keys.contains(key));
            }
        }
        let is_same = |one: &Binding| (one.action, one.place) == (entry.action, entry.place);
        let at = self.bindings.iter().position(is_same);
        let known = self.bindings.iter().find(|one| one.action == entry.action);
        if let Some(ours) = at.map(|at| &self.bindings[at]).or(known) {
            entry.hint = entry.hint.or_else(|| ours.hint.clone());
            entry.help = entry.help.or_else(|| ours.help.clone());
        }
        // Ours may stand there twice, under keys of two kinds.
        let (action, place) = (entry.action, entry.place);
        self.bindings
            .retain(|one| (one.action, one.place) != (action, place));
        let at = at.map_or(self.bindings.len(), |at| at.min(self.bindings.len()));
        self.bindings.insert(at, entry);
        self.bindings.retain(|binding| !binding.keys.is_empty());
    }

    /// What the key does in the first of these places that knows it.
    pub fn action(&self, event: KeyEvent, places: &[KeyContext]) -> Option<Action> {
        let key = Key::from(event);
        places.iter().find_map(|place| {
            self.bindings
                .iter()
                .find(|binding| binding.place == *place && binding.keys.contains(&key))
                .map(|binding| binding.action)
        })
    }

    /// What the last line says of the keys in these places; a key means what the first of them says.
    pub fn hints(&self, places: &[KeyContext]) -> Vec<Hint<'_>> {
        let mut hints: Vec<Hint<'_>> = Vec::new();
        let of = |place: &KeyContext| {
            let place = *place;
            self.bindings.iter().filter(move |b| b.place == place)
        };
        for binding in places.iter().flat_map(of) {
            if let (Some(word), Some(key)) = (&binding.hint, binding.keys.first())
                && !hints.iter().any(|known| known.key == key.glyph())
            {
                hints.push(Hint {
                    key: key.glyph(),
                    word,
                    action: binding.action,
                });
            }
        }
        hints
    }

    /// What the first key that does this is called.
    pub fn name_of(&self, action: Action) -> Option<String> {
        let binding = self
            .bindings
            .iter()
            .find(|binding| binding.action == action)?;
        Some(binding.keys.first()?.name())
    }

    /// What the first key that does this there is called.
    pub fn name_in(&self, action: Action, place: KeyContext) -> Option<String> {
        let is_it = |one: &&Binding| (one.action, one.place) == (action, place);
        Some(self.bindings.iter().find(is_it)?.keys.first()?.name())
    }

    /// What help says of a place. What a key does in a window as in the panes is listed once, and
    /// that arrows move in a list not at all.
    pub fn bindings_of(&self, place: KeyContext) -> impl Iterator<Item = &Binding> {
        let in_panes = |one: &Binding| {
            self.bindings.iter().any(|other| {
                other.place == KeyContext::List
                    && other.action == one.action
                    && other.keys.first() == one.keys.first()
            })
        };
        self.bindings
            .iter()
            .filter(move |one| one.place == place && !one.help().is_empty())
            .filter(move |one| place != KeyContext::Overlay || !in_panes(one))
            .filter(|one| one.place != KeyContext::Menu || one.hint.is_some())
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn every_place_has_a_title_and_every_key_its_line_in_help() {
        let keymap = Keymap::load().unwrap();
        for binding in &keymap.bindings {
            assert!(binding.help.is_some(), "{binding:?}");
            assert_ne!(keymap.title(binding.place), "", "{binding:?}");
        }
    }

    #[test]
    fn the_table_loads_and_no_key_is_bound_twice_in_a_place() {
        let keymap = Keymap::load().unwrap();
        let mut seen: Vec<(KeyContext, Key)> = Vec::new();
        for binding in &keymap.bindings {
            for key in &binding.keys {
                assert!(
                    !seen.contains(&(binding.place, *key)),
                    "{} twice in {:?}",
                    key.name(),
                    binding.place
                );
                seen.push((binding.place, *key));
            }
        }
    }

    #[test]
    fn keys_are_recognised_as_terminals_report_them() {
        let keymap = Keymap::load().unwrap();
        for (event, places, action) in [
            (
                KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT),
                [KeyContext::Global],
                Action::PreviousPane,
            ),
            (
                KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT),
                [KeyContext::List],
                Action::Last,
            ),
            (
                KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT),
                [KeyContext::List],
                Action::Help,
            ),
            (
                KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL),
                [KeyContext::Global],
                Action::Recall,
            ),
        ] {
            assert_eq!(keymap.action(event, &places), Some(action), "{event:?}");
        }
    }

    #[test]
    fn the_users_keys_take_the_place_of_ours() {
        let own = "[[key]]\non = ['x', 'ctrl+y']\ndo = 'copy'\nwhere = 'list'\n\
                   [[key]]\non = []\ndo = 'zoom'\nwhere = 'list'\n\
                   [[key]]\non = ['j']\ndo = 'up'\nwhere = 'list'\n";
        let mut keymap = Keymap::load().unwrap();
        keymap.put_own(own).unwrap();
        let does = |c| {
            let event = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            keymap.action(event, &[KeyContext::List])
        };
        assert_eq!(does('x'), Some(Action::Copy));
        assert_eq!((does('y'), does('z')), (None, None));
        assert_eq!(does('j'), Some(Action::Up));
        let down = KeyEvent::new(KeyCode::Down, KeyModifiers::NONE);
        assert_eq!(keymap.action(down, &[KeyContext::List]), Some(Action::Down));
    }

    #[test]
    fn a_mistake_in_the_users_keys_is_one_clear_line() {
        for (own, said) in [
            (
                "[[key]]\non = ['hyper+x']\ndo = 'copy'\nwhere = 'list'",
                "'hyper+x' is no key",
            ),
            (
                "[[key]]\non = ['x']\ndo = 'fly'\nwhere = 'list'",
                "line 3: unknown variant `fly`",
            ),
            ("[[key]]\non = 'x'\ndo = 'copy'\nwhere = 'list'", "line 2"),
            ("key = [", "line 1"),
        ] {
            let error = Keymap::load().unwrap().put_own(own).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}
