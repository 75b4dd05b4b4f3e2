//! The demo knowledge base that the binary carries.
//!
//! It is laid out in a folder named by the hash of what is in it, so that another version has
//! another folder and nothing is ever cleaned: what a person put beside it, or wrote into one of
//! its files, stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use include_dir::{Dir, File, include_dir};

use crate::files;

/// The folder of all versions, and the demo's own name.
const HOME: &str = "demo";
const NAME: &str = "demo-kb";

static DEMO: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/demo-kb");

/// The vectors of all passages of the demo, so that the first answers need not wait for them.
pub(super) static VECTORS: &[u8] = include_bytes!("../../assets/embedding/demo-kb.vectors");

/// One question for each route, true of the demo knowledge base.
pub const SAMPLES: &[(&str, &str)] = &[
    ("chitchat", "hello"),
    ("simple", "What are the four rules?"),
    ("complex · rule", "Compare rules.md with thresholds.md"),
    (
        "complex · graded",
        "What is the difference between REFINE and RE_RETRIEVE?",
    ),
    ("refine", "How do the settings and the thresholds differ?"),
    (
        "re-retrieve",
        "What is the capital of France, and how does it compare with Berlin?",
    ),
    (
        "not found",
        "How do I bake bread, and how long does it rise?",
    ),
];

/// Where this version's demo belongs, below the data folder. Its last part is what people see.
pub(super) fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(HOME).join(hash()).join(NAME)
}

/// Lays the demo out below the data folder, so that it is read like any files, and says
/// where. Only what is missing is written; no link is followed on the way.
pub(super) fn lay_out(data_dir: &Path) -> io::Result<PathBuf> {
    files::create_private_dir(data_dir)?;
    let mut at = data_dir.to_owned();
    for part in [HOME, &hash(), NAME] {
        at.push(part);
        make_folder(&at)?;
    }
    for file in files_of(&DEMO) {
        let mut inner = at.clone();
        for part in file.path().parent().into_iter().flatten() {
            inner.push(part);
            make_folder(&inner)?;
        }
        let path = at.join(file.path());
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                files::write_atomic(&path, file.contents())?;
            }
            Err(error) => return Err(error),
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(in_the_way(&path, "file")),
        }
    }
    Ok(at)
}

/// What other versions laid out; a person may have put notes there, so that it is only named.
pub(super) fn of_other_versions(data_dir: &Path) -> Vec<PathBuf> {
    let home = data_dir.join(HOME);
    let own = hash();
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let mut others = vec![data_dir.join(NAME)];
    if is_folder(&home)
        && let Ok(entries) = fs::read_dir(&home)
    {
        let names = entries.flatten().map(|entry| entry.file_name());
        others.extend(
            names
                .filter(|name| *name != *own)
                .map(|name| home.join(name)),
        );
    }
    others.retain(|path| is_folder(path));
    others.sort_unstable();
    others
}

fn make_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::create_private_dir(path),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(in_the_way(path, "folder")),
    }
}

fn in_the_way(path: &Path, wanted: &str) -> io::Error {
    let is_link = path.is_symlink();
    let what = if is_link {
        "is a link, which is not followed"
    } else {
        "stands in the way"
    };
    io::Error::other(format!(
        "{} {what}: the demo's {wanted} belongs there",
        path.display()
    ))
}

/// Hashes names and contents of the demo's files, to tell whether a folder holds this version's
/// demo.
fn hash() -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files_of(&DEMO) {
        for part in [file.path().as_os_str().as_encoded_bytes(), file.contents()] {
            hasher
                .update(&(part.len() as u64).to_le_bytes())
                .update(part);
        }
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

fn files_of(dir: &'static Dir<'static>) -> Vec<&'static File<'static>> {
    let mut files: Vec<&File<'_>> = dir.files().collect();
    files.extend(dir.dirs().flat_map(files_of));
    files.sort_unstable_by_key(|file| file.path());
    files
}
