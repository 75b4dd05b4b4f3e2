//! The folder of everything that is kept, for its owner alone.

use std::fs;
use std::io;
use std::path::Path;

use crate::files::create_private_dir;

/// How the names of what is kept there begin.
#[cfg(unix)]
const OURS: [&str; 8] = [
    "audit.jsonl",
    "audit.",
    "index",
    "logs",
    "demo",
    "eval",
    "exports",
    "trust",
];

/// Makes the data folder where there is none. One of an earlier version, which others may look
/// into, is closed to them; a folder that holds anything else is not ours to close.
pub fn prepare_data_folder(path: &Path) -> io::Result<()> {
    create_private_dir(path)?;
    #[cfg(unix)]
    if is_open(path) && holds_only_ours(path) {
        use std::os::unix::fs::PermissionsExt;
        // Of another owner, or on a disk without rights: what is in it has its own.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    }
    Ok(())
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let meta = fs::symlink_metadata(path);
    meta.is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o077 != 0)
}

#[cfg(unix)]
fn holds_only_ours(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let is_ours = |name: &str| OURS.iter().any(|ours| name.starts_with(ours));
    let mut seen = false;
    let all = names.all(|name| {
        seen = true;
        name.is_ok_and(|name| name.to_str().is_some_and(is_ours))
    });
    seen && all
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn trust_an_earlier_data_folder_is_closed_and_no_other() {
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (name, entries, becomes) in [
            ("ours", &["audit.jsonl", "index", "logs"][..], 0o700),
            ("shared", &["index", "notes.md"], 0o755),
            ("empty", &[], 0o755),
        ] {
            let folder = home.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            for entry in entries {
                fs::write(folder.join(entry), "").unwrap();
            }
            prepare_data_folder(&folder).unwrap();
            assert_eq!(mode(&folder), becomes, "{name}");
        }
        let fresh = home.path().join("a/b");
        prepare_data_folder(&fresh).unwrap();
        assert_eq!(mode(&fresh), 0o700);
    }
}
