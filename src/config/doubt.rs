//! Who else may write a file. What another user may change tomorrow is not trusted today.

use std::fs::Metadata;
use std::path::Path;

#[cfg(unix)]
use crate::text::one_line;

/// Why a file with such metadata is not only the user's, what stands around it looked at too: who
/// may write a folder can put another file in its place. One line that says what to do.
pub(super) fn of_file_in_folder(path: &Path, meta: &Metadata) -> Option<String> {
    let Ok(real) = path.canonicalize() else {
        return Some("it is gone".to_owned());
    };
    if real.to_str().is_none() || path.to_str().is_none() {
        return Some("its path is not UTF-8".to_owned());
    }
    let folders = [path.parent(), real.parent()].into_iter().flatten();
    of_file(path, meta).or_else(|| folders.into_iter().find_map(of_folder))
}

#[cfg(unix)]
pub(super) fn of_file(path: &Path, meta: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    if is_of_another(meta) {
        return Some(format!(
            "{} belongs to another user; give it with --env-file, or make it yours",
            display_path(path)
        ));
    }
    (meta.mode() & 0o022 != 0).then(|| writable(path, meta.mode()))
}

#[cfg(unix)]
fn of_folder(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    /// Where only the owner of a file may rename it, as in `/tmp`.
    const STICKY: u32 = 0o1000;
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) => return Some(format!("{}: {error}", display_path(path))),
    };
    if is_of_another(&meta) {
        return Some(format!(
            "its folder {} belongs to another user; give it with --env-file",
            display_path(path)
        ));
    }
    let is_open = meta.mode() & 0o022 != 0 && meta.mode() & STICKY == 0;
    is_open.then(|| writable(path, meta.mode()))
}

/// The system's own user can do anything anyway.
#[cfg(unix)]
fn is_of_another(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.uid() != 0 && meta.uid() != rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn writable(path: &Path, mode: u32) -> String {
    let path = display_path(path);
    format!(
        "others may write {path} (mode {:o}); chmod go-w '{path}', or give it with --env-file",
        mode & 0o7777
    )
}

#[cfg(unix)]
fn display_path(path: &Path) -> String {
    const PATH_CHARS: usize = 300;
    one_line(&path.to_string_lossy(), PATH_CHARS)
}

#[cfg(not(unix))]
pub(super) fn of_file(_: &Path, _: &Metadata) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn of_folder(_: &Path) -> Option<String> {
    None
}
