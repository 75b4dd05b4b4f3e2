//! The folder of everything that is kept, for its owner alone.

use std::fs;
use std::io;
use std::path::Path;

#[cfg(unix)]
use crate::audit::{check_is_log, is_part};
use crate::files::create_private_dir;
#[cfg(unix)]
use crate::kb::holds_an_index;

/// What is kept there: files …
#[cfg(unix)]
const FILES: [&str; 4] = [
    "audit.jsonl",
    "audit.jsonl.head",
    "audit.jsonl.sessions",
    "trusted.json",
];
/// … and folders, the last of which earlier versions laid out.
#[cfg(unix)]
const FOLDERS: [&str; 7] = [
    "audit.jsonl.live",
    "index",
    "logs",
    "demo",
    "eval",
    "exports",
    "demo-kb",
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

/// Whether everything in it is named as we name it, and something in it was written by us.
#[cfg(unix)]
fn holds_only_ours(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let log = path.join("audit.jsonl");
    let is_ours = |entry: &fs::DirEntry| {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            return false;
        };
        let is_known = |names: &[&str]| names.contains(&name.as_str());
        (kind.is_dir() && is_known(&FOLDERS))
            || (kind.is_file() && (is_known(&FILES) || is_part(&log, &name)))
    };
    let all = entries
        .into_iter()
        .all(|entry| entry.is_ok_and(|entry| is_ours(&entry)));
    let log = check_is_log(&log).ok().flatten();
    let has_log = log.is_some_and(|meta| meta.len() > 0);
    all && (has_log || holds_an_index(&path.join("index")))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn trust_an_earlier_data_folder_is_closed_and_no_other() {
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let event = r#"{"event":"x","run":"a","schema":1,"seq":0,"ts":"t"}"#;
        let index = "index/0123456789abcdef/v5-1/lexical/meta.json";
        let part = "audit.01938d2e-0000-7000-8000-000000000001.jsonl";
        for (name, entries, becomes) in [
            ("ours", &["audit.jsonl", "logs/a.log", part][..], 0o700),
            ("indexed", &[index, "audit.jsonl.live/gate"], 0o700),
            ("shared", &["audit.jsonl", "notes.md"], 0o755),
            ("shares", &["audit.jsonl", "audit.mine.jsonl"], 0o755),
            ("begins", &["audit.jsonl", "indexes/a"], 0o755),
            ("file", &["audit.jsonl", "index"], 0o755),
            ("site", &["index/page.html", "logs/a.log"], 0o755),
            ("empty", &[], 0o755),
        ] {
            let folder = home.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            for entry in entries {
                let path = folder.join(entry);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, event).unwrap();
            }
            prepare_data_folder(&folder).unwrap();
            assert_eq!(mode(&folder), becomes, "{name}");
        }
        let fresh = home.path().join("a/b");
        prepare_data_folder(&fresh).unwrap();
        assert_eq!(mode(&fresh), 0o700);
    }
}
