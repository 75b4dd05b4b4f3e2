//! The plan of the house, held as data: imports point down.

mod circles;

use std::fs;
use std::path::{Path, PathBuf};

/// Which rooms a room may name. A room may always name itself; `main.rs` only the library.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("domain", &["text"]),
    // What the two endpoints share, below the rooms that use them.
    ("openai", &["domain", "files", "text"]),
    // Files that others may have made or may change: bounded, without waiting, without links.
    ("files", &["text"]),
    // What the fuzz targets beside each reader share; in no build of the program.
    ("fuzz", &[]),
    ("protocol", &["domain", "text"]),
    ("agent", &["protocol", "domain", "text"]),
    // The vectors of texts, behind the port.
    (
        "embed",
        &[
            "agent::ports",
            "domain",
            "files",
            "openai",
            "threads",
            "text",
        ],
    ),
    // How many threads searches and embeddings take, for both of them.
    ("threads", &[]),
    // The files of the built-in themes: settings check their names, the screen reads them.
    ("themes", &[]),
    // Patterns of files, refused where the crate behind them would panic.
    ("globs", &[]),
    (
        "config",
        &["domain", "files", "globs", "openai", "text", "themes"],
    ),
    // What the ports name, the rooms behind them may name: run ids and modes are part of a port.
    (
        "reasoner",
        &[
            "agent::ports",
            "protocol",
            "domain",
            "files",
            "openai",
            "text",
        ],
    ),
    (
        "kb",
        &[
            "agent::ports",
            "domain",
            // The curves of the built-in embedding are for no other.
            "embed::BuiltInModel",
            "files",
            "fuzz",
            "globs",
            "text",
            "threads",
        ],
    ),
    ("tools", &["kb", "agent::ports", "domain", "text"]),
    (
        "audit",
        &["agent::ports", "protocol", "domain", "files", "text"],
    ),
    // Recorded runs as documents, for the command line and for the screen's engine.
    ("report", &["protocol", "domain", "text"]),
    // Recorded runs as traces, for the command line and for who collects them.
    ("telemetry", &["openai", "protocol", "domain", "text"]),
    (
        "tui",
        // The question, while the person's editor has it.
        &["protocol", "domain", "files::Draft", "text", "themes"],
    ),
    (
        "engine",
        &[
            "config",
            "reasoner",
            "tools",
            "kb",
            "embed",
            "audit",
            "agent",
            "report",
            "telemetry",
            "protocol",
            "domain",
            "files",
            "text",
        ],
    ),
    (
        "cli",
        &[
            "tui",
            "engine",
            "config",
            "kb",
            "audit",
            "report",
            "telemetry",
            "protocol",
            "domain",
            "files",
            "text",
        ],
    ),
];

/// Crates that stay out of a room, because the room must not touch what they touch.
const MUST_NOT_USE: &[(&str, &[&str])] = &[
    ("text", &["tokio", "serde", "ratatui", "std::fs"]),
    ("domain", &["tokio", "reqwest", "ratatui", "std::fs"]),
    ("protocol", &["tokio", "reqwest", "ratatui", "std::fs"]),
    (
        "agent",
        &["reqwest", "ratatui", "crossterm", "std::fs", "tantivy"],
    ),
    ("tui", &["reqwest", "std::fs", "tantivy"]),
    ("reasoner", &["ratatui", "crossterm", "tantivy"]),
];

/// Rooms that may print: no one else owns the terminal.
const MAY_PRINT: &[&str] = &["cli", "main", "tui"];

struct Source {
    room: String,
    path: PathBuf,
    lines: Vec<String>,
}

#[test]
fn imports_point_down() {
    let mut broken = Vec::new();
    for source in sources() {
        for (number, line) in code(&source) {
            for named in rooms_named(line) {
                let allowed = allowed_for(&source.room);
                let fits = |one: &&str| named == **one || named.starts_with(&format!("{one}::"));
                let own = named.split("::").next() == Some(source.room.as_str());
                if !own && !allowed.iter().any(fits) {
                    broken.push(format!(
                        "{}:{number}: {} may not import {named}",
                        source.path.display(),
                        source.room
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn rooms_keep_their_hands_off_what_is_not_theirs() {
    let mut broken = Vec::new();
    for source in sources() {
        let kept_out = MUST_NOT_USE
            .iter()
            .find(|(room, _)| *room == source.room)
            .map_or(&[] as &[&str], |(_, crates)| crates);
        for (number, line) in code(&source) {
            for name in kept_out {
                if line.contains(&format!("{name}::")) || line.contains(&format!("use {name}")) {
                    broken.push(format!(
                        "{}:{number}: {} may not use {name}",
                        source.path.display(),
                        source.room
                    ));
                }
            }
            let prints = ["println!", "eprintln!", "print!("]
                .iter()
                .any(|p| line.contains(p));
            if prints && !MAY_PRINT.contains(&source.room.as_str()) {
                broken.push(format!("{}:{number}: prints", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn files_follow_the_house_rules() {
    let mut broken = Vec::new();
    for source in sources() {
        let path = source.path.display();
        if source.path.ends_with("mod.rs") {
            broken.push(format!("{path}: name the file after its module"));
        }
        for (number, line) in code(&source) {
            let line = line.trim();
            if line.starts_with("use ") && line.contains('*') && line != "use super::*;" {
                broken.push(format!("{path}:{number}: glob import"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The checks above must be able to fail.
#[test]
fn the_scanner_sees_what_it_must() {
    assert_eq!(
        rooms_named("use crate::kb::index::Index;"),
        ["kb::index::Index"]
    );
    assert_eq!(
        rooms_named("let x = crate::tui::run(crate::domain::Score::ZERO);"),
        ["tui::run", "domain::Score::ZERO"]
    );
    assert_eq!(
        rooms_named("use crate::{domain, tui};"),
        ["{grouped import}"]
    );
    let rooms: Vec<_> = sources().into_iter().map(|source| source.room).collect();
    for (room, _) in MAY_IMPORT {
        assert!(rooms.iter().any(|known| known == room), "no file in {room}");
    }
}

fn allowed_for(room: &str) -> &'static [&'static str] {
    if room == "lib" {
        return &[];
    }
    MAY_IMPORT
        .iter()
        .find(|(name, _)| *name == room)
        .unwrap_or_else(|| panic!("the room {room} is not in the plan of the house"))
        .1
}

/// The paths after `crate::` on a line. A group at the root would hide rooms, so it is refused.
fn rooms_named(line: &str) -> Vec<String> {
    line.match_indices("crate::")
        .map(|(at, found)| {
            let rest = &line[at + found.len()..];
            if rest.starts_with('{') {
                return "{grouped import}".to_owned();
            }
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                .unwrap_or(rest.len());
            rest[..end].trim_end_matches(':').to_owned()
        })
        .collect()
}

/// Lines of code outside the test module, numbered from 1, comments left out.
fn code(source: &Source) -> Vec<(usize, &str)> {
    let end = source
        .lines
        .windows(2)
        .position(|two| two[0] == "#[cfg(test)]" && two[1].starts_with("mod tests"));
    source.lines[..end.unwrap_or(source.lines.len())]
        .iter()
        .enumerate()
        .map(|(at, line)| (at + 1, line.as_str()))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .collect()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found.retain(|source| source.room != "main");
    assert!(found.len() > 20, "the sources were not found");
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let inside = path.strip_prefix(root).unwrap();
            let first = inside.iter().next().unwrap().to_string_lossy();
            found.push(Source {
                room: first.trim_end_matches(".rs").to_owned(),
                lines: fs::read_to_string(&path)
                    .unwrap()
                    .lines()
                    .map(str::to_owned)
                    .collect(),
                path: inside.to_owned(),
            });
        }
    }
}
