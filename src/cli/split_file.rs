//! Where the borders between panes stood the last time, in the data folder.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::files::{read_text_bounded, write_atomic};
use crate::tui::Split;

const LARGEST: u64 = 4096;

fn path(settings: &Settings) -> PathBuf {
    Path::new(&settings.data_dir).join("screen.json")
}

/// As they stood, or as they stand at first: a file that cannot be read is no reason not to start.
pub(super) fn split(settings: &Settings) -> Split {
    let text = read_text_bounded(&path(settings), LARGEST).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Remembers them.
pub(super) fn remember(settings: &Settings, split: Split) {
    let written = serde_json::to_vec(&split)
        .map_err(std::io::Error::from)
        .and_then(|json| write_atomic(&path(settings), &json));
    if let Err(error) = written {
        tracing::warn!("where the panes stand is not remembered: {error}");
    }
}
