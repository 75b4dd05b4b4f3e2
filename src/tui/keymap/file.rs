//! The table as it is written, ours and the user's.

use serde::Deserialize;

use crate::tui::mistake::of_toml;

use super::action::{Action, Binding};
use super::{Key, Place};

/// One line of a table.
pub struct Entry {
    /// The keys; a user's may be none, which takes them away.
    pub keys: Vec<Key>,
    /// What they do.
    pub action: Action,
    /// Where.
    pub place: Place,
    /// The word in the last line of the screen.
    pub hint: Option<String>,
    /// The line in help; a user's may be that of ours.
    pub help: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    key: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    on: Vec<String>,
    r#do: Action,
    r#where: Place,
    hint: Option<String>,
    help: Option<String>,
}

/// Reads a table; the error is one line.
pub fn read(source: &str) -> Result<Vec<Entry>, String> {
    let file: File = toml::from_str(source).map_err(|error| of_toml(source, &error))?;
    let entry = |written: Written| {
        let keys = written.on.iter();
        let keys = keys.map(|name| Key::parse(name).ok_or_else(|| format!("'{name}' is no key")));
        Ok(Entry {
            keys: keys.collect::<Result<Vec<_>, String>>()?,
            action: written.r#do,
            place: written.r#where,
            hint: written.hint,
            help: written.help,
        })
    };
    file.key.into_iter().map(entry).collect()
}

impl Entry {
    /// As ours must be: with its line in help.
    pub fn whole(self) -> Result<Binding, String> {
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
