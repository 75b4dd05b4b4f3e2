use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::protocol::new_id;

/// The parts of the log that were put aside, oldest first, without the log itself.
///
/// A part is called like the log, with an id between stem and `.jsonl`; nothing else beside the
/// log is ours.
pub(super) fn put_aside(log: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<(Uuid, PathBuf)> = fs::read_dir(folder(log))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| Some((id_of(log, &entry.file_name())?, entry.path())))
        .collect();
    parts.sort();
    parts.into_iter().map(|(_, path)| path).collect()
}

/// All parts, oldest first, the log itself last.
pub(super) fn all(log: &Path) -> Vec<PathBuf> {
    let mut parts = put_aside(log);
    parts.push(log.to_owned());
    parts
}

/// All parts that there are: the log itself may have yet to be begun.
pub(super) fn existing(log: &Path) -> Vec<PathBuf> {
    let mut parts = all(log);
    if fs::symlink_metadata(log).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        parts.pop();
    }
    parts
}

/// What the log is to be called when it is put aside: later in order than all parts there are,
/// whatever the clock says.
pub(super) fn next_name(log: &Path) -> PathBuf {
    let fresh = new_id();
    let last = put_aside(log).pop();
    let last = last.and_then(|path| id_of(log, path.file_name()?));
    let after = last.map_or(fresh, |last| {
        fresh.max(Uuid::from_u128(last.as_u128().saturating_add(1)))
    });
    log.with_extension(format!("{after}.jsonl"))
}

/// The id in a part's name; `None` where the name is not one of ours.
pub(super) fn id_of(log: &Path, name: &OsStr) -> Option<Uuid> {
    let stem = log.file_stem()?.to_str()?;
    let rest = name.to_str()?.strip_prefix(stem)?.strip_prefix('.')?;
    canonical(rest.strip_suffix(".jsonl")?)
}

/// Whether a file of that name beside the log is a part of it.
pub fn is_part(log: &Path, name: &str) -> bool {
    id_of(log, OsStr::new(name)).is_some()
}

/// An id as we write it, and in no other of the forms that ids have.
pub(super) fn canonical(text: &str) -> Option<Uuid> {
    let id = Uuid::parse_str(text).ok()?;
    (id.to_string() == text).then_some(id)
}

fn folder(log: &Path) -> &Path {
    match log.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_only_our_own_names_are_parts_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let first = next_name(&log);
        fs::write(&first, "").unwrap();
        let second = next_name(&log);
        fs::write(&second, "").unwrap();
        let id = Uuid::now_v7();
        for foreign in [
            "audit.mine.jsonl".to_owned(),
            format!("audit.{}.jsonl", id.simple()),
            format!("audit.{}.jsonl", id.to_string().to_uppercase()),
            format!("audit.{id}.jsonl.gz"),
            format!("audit{id}.jsonl"),
        ] {
            fs::write(dir.path().join(foreign), "").unwrap();
        }
        fs::create_dir(dir.path().join(format!("audit.{id}.jsonl"))).unwrap();
        assert_eq!(put_aside(&log), [first, second]);
    }

    #[test]
    fn trust_parts_stay_in_order_though_the_clock_goes_back() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let far = log.with_extension("f0000000-0000-7000-8000-000000000000.jsonl");
        fs::write(&far, "").unwrap();
        assert!(next_name(&log) > far);
    }
}
