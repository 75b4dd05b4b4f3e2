//! The demo knowledge base that the binary carries.

use std::fs;
use std::io;
use std::path::Path;

use include_dir::{Dir, include_dir};

static DEMO: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/demo-kb");

/// One question for each route, true of the demo knowledge base.
pub const SAMPLES: &[(&str, &str)] = &[
    ("chitchat", "hello"),
    ("simple", "What are the four rules?"),
    ("complex · rule", "Compare rules.md with thresholds.md"),
    ("complex · graded", "Compare vector_search with grep_search"),
    ("refine", "How does local_file_qa differ from flatScan?"),
    ("re-retrieve", "maxIterations vs vectorScoreThreshold"),
    (
        "not found",
        "How do I bake bread, and how long does it rise?",
    ),
];

/// Lays the demo out under `folder`, so that it is read like anybody's files.
///
/// Files that are already right are left alone, so that a second start re-indexes nothing; files
/// of an earlier version are replaced, and those it no longer has are removed.
pub(super) fn lay_out(folder: &Path) -> io::Result<()> {
    let mut wanted = Vec::new();
    write(&DEMO, folder, &mut wanted)?;
    remove_others(folder, &wanted)
}

fn write(dir: &Dir<'_>, folder: &Path, wanted: &mut Vec<std::path::PathBuf>) -> io::Result<()> {
    fs::create_dir_all(folder.join(dir.path()))?;
    for file in dir.files() {
        let path = folder.join(file.path());
        if fs::read(&path).ok().as_deref() != Some(file.contents()) {
            let unfinished = path.with_extension("part");
            fs::write(&unfinished, file.contents())?;
            fs::rename(&unfinished, &path)?;
        }
        wanted.push(path);
    }
    for inner in dir.dirs() {
        write(inner, folder, wanted)?;
    }
    Ok(())
}

fn remove_others(folder: &Path, wanted: &[std::path::PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
