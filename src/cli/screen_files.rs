//! What the screen is set up by: the user's own themes and keys, in the configuration folder, and where the borders
//! between panes stood the last time, in the data folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::files::{read_text_bounded, write_atomic};
use crate::text::one_line;
use crate::tui::{OwnFiles, Split, ThemeName};

/// The folder of themes, and the file of keys.
const THEMES: &str = "themes";
const KEYMAP: &str = "keymap.toml";
/// How large a file may be, and how many themes are looked at.
const LARGEST: u64 = 256 * 1024;
const MOST_THEMES: usize = 200;
/// How large the file of the borders may be.
const LARGEST_SPLIT: u64 = 4096;

/// The user's themes and keys; what cannot be read is reported, and nothing else is missed.
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

fn split_path(settings: &Settings) -> PathBuf {
    settings.data_dir.join("screen.json")
}

/// Where the borders between panes stood the last time; where they stand at first if the file cannot be read, which is no
/// reason not to start.
pub(super) fn read_split(settings: &Settings) -> Split {
    let text = read_text_bounded(&split_path(settings), LARGEST_SPLIT).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Remembers where the borders between panes stand.
pub(super) fn remember_split(settings: &Settings, split: Split) {
    let written = serde_json::to_vec(&split)
        .map_err(std::io::Error::from)
        .and_then(|json| write_atomic(&split_path(settings), &json));
    if let Err(error) = written {
        tracing::warn!("where the panes stand is not remembered: {error}");
    }
}
