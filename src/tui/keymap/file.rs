//! The table as it is written, ours and the user's.

use serde::Deserialize;

use crate::tui::error::toml_error;

use super::action::{Action, Binding};
use super::{Key, KeyContext};

/// One line of a table.
pub struct KeymapEntry {
    /// The keys; a user's may be none, which takes them away.
    pub keys: Vec<Key>,
    /// The action that the keys cause.
    pub action: Action,
    /// The context in which the keys hold.
    pub place: KeyContext,
    /// The word in the last line of the screen.
    pub hint: Option<String>,
    /// The line in help; a user's may be that of ours.
    pub help: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeymapFile {
    #[serde(default)]
    key: Vec<KeyTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyTable {
    on: Vec<String>,
    r#do: Action,
    r#where: KeyContext,
    hint: Option<String>,
    help: Option<String>,
}

/// Reads a table; the error is one line.
pub fn read(source: &str) -> Result<Vec<KeymapEntry>, String> {
    let file: KeymapFile = toml::from_str(source).map_err(|error| toml_error(source, &error))?;
    let entry = |written: KeyTable| {
        let keys = written.on.iter();
        let keys = keys.map(|name| Key::parse(name).ok_or_else(|| format!("'{name}' is no key")));
        Ok(KeymapEntry {
            keys: keys.collect::<Result<Vec<_>, String>>()?,
            action: written.r#do,
            place: written.r#where,
            hint: written.hint,
            help: written.help,
        })
    };
    file.key.into_iter().map(entry).collect()
}

impl KeymapEntry {
    /// Converts an entry of the built-in keymap, which must have its line in help.
    pub fn into_binding(self) -> Result<Binding, String> {
        let Some(help) = self.help else {
            return Err(format!("{:?} has no help", self.action));
        };
        Ok(Binding {
            keys: self.keys,
            action: self.action,
            place: self.place,
            hint: self.hint,
            help,
        })
    }
}
