//! The user's own themes and keys: which are read, and what is wrong with them.

use crate::cli::own_files::own_files;
use crate::config::Settings;
use crate::engine::doctor::Check;
use crate::tui::{check_keymap, check_theme};

const AREA: &str = "own files";

/// One check for each file that there is.
pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let own = own_files(settings);
    let wrong = |what: String| Check::note(AREA, "unused", what, "correct that file, or remove it");
    let mut checks: Vec<Check> = own.unreadable.into_iter().map(wrong).collect();
    let (mut read, mut mistakes) = (Vec::new(), Vec::new());
    for (name, source) in &own.themes {
        match check_theme(source) {
            Ok(()) => read.push(format!("themes/{name}.toml")),
            Err(why) => mistakes.push(format!("themes/{name}.toml: {why}")),
        }
    }
    match own.keymap.as_deref().map(check_keymap) {
        Some(Ok(())) => read.push("keymap.toml".to_owned()),
        Some(Err(why)) => mistakes.push(why),
        None => {}
    }
    checks.extend(mistakes.into_iter().map(wrong));
    if !read.is_empty() {
        checks.push(Check::ok(AREA, "read", read.join(", ")));
    }
    checks
}
