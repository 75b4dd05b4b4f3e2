use std::io::{IsTerminal, stdin, stdout};

/// Whether a terminal is no place for the screen, so that plain mode takes its place.
pub(in crate::cli) fn is_needed() -> bool {
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    !has_terminal || cfg!(unix) && is_dumb()
}

/// Whether the terminal cannot move its cursor, by what it says.
fn is_dumb() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    // The names that terminfo knows without an address for the cursor.
    let names = [
        "",
        "dumb",
        "unknown",
        "emacs",
        "glasstty",
        "lpr",
        "printer",
        "network",
        "ethernet",
        "dialup",
        "plugboard",
        "switch",
    ];
    names.contains(&term.as_str()) || term.starts_with("dumb-")
}
