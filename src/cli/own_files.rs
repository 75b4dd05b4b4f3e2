//! The user's own themes and keys, in the configuration folder.

use std::fs;
use std::path::Path;

use crate::config::Settings;
use crate::files::read_text_bounded;
use crate::text::one_line;
use crate::tui::{OwnFiles, ThemeName};

/// The folder of themes, and the file of keys.
const THEMES: &str = "themes";
const KEYMAP: &str = "keymap.toml";
/// How large a file may be, and how many themes are looked at.
const LARGEST: u64 = 256 * 1024;
const MOST_THEMES: usize = 200;

/// What there is; what cannot be read is reported, and nothing else is missed.
pub(super) fn own_files(settings: &Settings) -> OwnFiles {
    let mut own = OwnFiles {
        theme: ThemeName::parse(&settings.theme)
            .is_none()
            .then(|| settings.theme.clone()),
        ..OwnFiles::default()
    };
    let Some(folder) = &settings.config_dir else {
        return own;
    };
    own.keymap = read(&folder.join(KEYMAP), KEYMAP, &mut own.unreadable);
    for name in names(&folder.join(THEMES)) {
        let shown = format!("{THEMES}/{name}.toml");
        let source = read(&folder.join(&shown), &shown, &mut own.unreadable);
        own.themes.extend(source.map(|source| (name, source)));
    }
    own
}

fn read(path: &Path, shown: &str, unreadable: &mut Vec<String>) -> Option<String> {
    match read_text_bounded(path, LARGEST) {
        Ok(text) => Some(text),
        Err(error) if error.is_missing() => None,
        Err(error) => {
            unreadable.push(format!("{shown}: {}", one_line(&error.to_string(), 200)));
            None
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".toml")?.to_owned())
        })
        .filter(|name| crate::config::is_theme_name(name))
        .take(MOST_THEMES)
        .collect();
    names.sort();
    names
}
