//! The files of a log: their names, and their opening.
//!
//! The setting may name any file, and others may have put a link or a pipe in its place. So what
//! is opened is looked at before a byte is written and before its mode is changed. When the log has
//! grown too large it is put aside as a part, under a name that holds an id.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use uuid::Uuid;

use crate::files::{
    create_private_dir, folder_of, open_unlinked, private, refuse_link, regular, sync_dir,
    try_lock, unlinked, wait_for,
};
use crate::protocol::new_id;

use super::error::AuditError;
use super::read::{LONGEST_LINE, Lines};

/// A log larger than this is put aside, unless less is to be kept.
const ROTATE_AT_BYTES: u64 = 64 << 20;
/// What is kept is at least so many parts, so that not all goes at once.
const FEWEST_PARTS: u64 = 4;
/// What an event may begin with, of this version and of those before.
const FIRST_FIELDS: &str = "action after args because built_in by cached_tokens call calls_saved \
    citations code completion_tokens complexity edit_of event schema";

/// Opens the log to read and to append, for its owner alone; makes it where there is none, and refuses what
/// is no audit log.
pub(super) fn open_log(path: &Path) -> Result<File, AuditError> {
    let file = open_to_append(path).map_err(AuditError::open(path))?;
    refuse_foreign(&file, path)?;
    close_to_others(&file).map_err(AuditError::open(path))?;
    Ok(file)
}

#[cfg(unix)]
fn close_to_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &File) -> io::Result<()> {
    Ok(())
}

/// Opens a file to read and to append; makes it, and its folder, for its owner alone where there is none.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    let folder = folder_of(path);
    // The user may have named it through a link.
    if !folder.is_dir() {
        create_private_dir(folder)?;
    }
    refuse_link(path)?;
    let file = private(unlinked().append(true).create(true)).open(path)?;
    Ok(regular(file)?)
}

/// Appends a line to a file that is locked, in one write. What a crash left of the last line stays a
/// line of its own; what a failure leaves of this one does not stay.
pub(super) fn append_line(mut file: &File, line: &str) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let ending = if last == [b'\n'] { "" } else { "\n" };
    let written = file.write_all(format!("{ending}{line}\n").as_bytes());
    if written.is_err() {
        let _ = file.set_len(length);
    }
    written
}

/// Waits until no other process has the lock on the file; `doing` tells what it is held for.
pub(super) fn lock(file: &File, patience: Duration, doing: &str) -> io::Result<()> {
    let take = || try_lock(file).map(|is_taken| is_taken.then_some(()));
    wait_for(patience, take)?.ok_or_else(|| {
        let seconds = patience.as_secs();
        let why = format!("another kb-agent has been {doing} it for more than {seconds} s");
        io::Error::new(io::ErrorKind::WouldBlock, why)
    })
}

/// Says no to a regular file whose first line is none of our events, or what a crash left of one.
pub(super) fn refuse_foreign(file: &File, path: &Path) -> Result<(), AuditError> {
    if is_log(file).map_err(AuditError::open(path))? {
        return Ok(());
    }
    Err(AuditError::NotALog {
        path: path.to_owned(),
    })
}

fn is_log(mut file: &File) -> io::Result<bool> {
    file.rewind()?;
    // A longer line is one that is cut short.
    let mut lines = Lines::new(file.take(LONGEST_LINE as u64));
    Ok(match lines.next_line()? {
        None => true,
        Some(first) if is_event(first) => true,
        // It is the last one, or was ended by the line of ours that follows.
        Some(first) if begins_an_event(first) => {
            !first.ends_with(b"\n") || lines.next_line()?.is_some_and(is_event)
        }
        Some(_) => false,
    })
}

/// Whether the line has what every event has, of this version and of those before and after.
fn is_event(line: &[u8]) -> bool {
    let fields = ["event", "run", "schema", "seq", "ts"];
    let has_all = |line: Value| fields.iter().all(|field| line.get(*field).is_some());
    serde_json::from_slice(line).is_ok_and(has_all)
}

/// Whether a crash may have left this of an event, whose fields are in order of the alphabet.
fn begins_an_event(line: &[u8]) -> bool {
    // Some file systems leave zeros in the place of what was not written.
    let text = line.split(|byte| *byte == 0).next().unwrap_or(line);
    let text = text.trim_ascii_end();
    let begins = |field: &str| text.starts_with(format!("{{\"{field}\"").as_bytes());
    FIRST_FIELDS.split(' ').any(begins)
        && serde_json::from_slice::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// Puts an overgrown log aside and removes the oldest parts, so that all together hold about so
/// much; says whether the log was put aside. The file must be locked.
pub(super) fn keep_within(file: &File, log: &Path, keep_bytes: u64) -> io::Result<bool> {
    let longest = ROTATE_AT_BYTES.min(keep_bytes / FEWEST_PARTS);
    let is_overgrown = file.metadata()?.len() > longest;
    if is_overgrown {
        fs::rename(log, next_part(log))?;
        sync_dir(folder_of(log))?;
    }
    remove_oldest_parts(log, keep_bytes)?;
    Ok(is_overgrown)
}

fn remove_oldest_parts(log: &Path, keep_bytes: u64) -> io::Result<()> {
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut total: u64 = list_files(log).iter().map(size).sum();
    for oldest in list_older_parts(log) {
        if total <= keep_bytes {
            break;
        }
        let file = open_unlinked(&oldest)?;
        if is_log(&file)? {
            total = total.saturating_sub(file.metadata()?.len());
            fs::remove_file(&oldest)?;
        }
    }
    Ok(())
}

/// Whether the open file is the one of that name.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// An open file keeps its name here.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The parts that were put aside, oldest first, without the log itself.
///
/// A part is called like the log, with an id between stem and `.jsonl`; nothing else beside the
/// log is ours.
pub(super) fn list_older_parts(log: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<(Uuid, PathBuf)> = fs::read_dir(folder_of(log))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| Some((part_id(log, &entry.file_name())?, entry.path())))
        .collect();
    parts.sort();
    parts.into_iter().map(|(_, path)| path).collect()
}

/// All files of the log, oldest first; the last is the log itself, which may not be there.
pub(super) fn list_files(log: &Path) -> Vec<PathBuf> {
    let mut files = list_older_parts(log);
    files.push(log.to_owned());
    files
}

/// What the log is to be called when it is put aside: later in order than all parts there are,
/// whatever the clock says.
pub(super) fn next_part(log: &Path) -> PathBuf {
    let fresh = new_id();
    let last = list_older_parts(log).pop();
    let last = last.and_then(|path| part_id(log, path.file_name()?));
    let after = last.map_or(fresh, |last| {
        fresh.max(Uuid::from_u128(last.as_u128().saturating_add(1)))
    });
    log.with_extension(format!("{after}.jsonl"))
}

/// The files that may hold a run that began when its id was made: a part that was put aside before does not.
pub(super) fn list_files_since(log: &Path, run: &str) -> Vec<PathBuf> {
    let mut files = list_files(log);
    if let Some(run) = canonical(run) {
        let is_older = |file: &PathBuf| part_id(log, file.file_name()?).map(|part| part < run);
        files.retain(|file| is_older(file) != Some(true));
    }
    files
}

/// The id in a part's name; `None` where the name is not one of ours.
fn part_id(log: &Path, name: &OsStr) -> Option<Uuid> {
    let stem = log.file_stem()?.to_str()?;
    let rest = name.to_str()?.strip_prefix(stem)?.strip_prefix('.')?;
    canonical(rest.strip_suffix(".jsonl")?)
}

/// Whether a file of that name beside the log is a part of it.
pub fn is_part(log: &Path, name: &str) -> bool {
    part_id(log, OsStr::new(name)).is_some()
}

/// An id as we write it, and in no other of the forms that ids have.
pub(super) fn canonical(text: &str) -> Option<Uuid> {
    let id = Uuid::parse_str(text).ok()?;
    (id.to_string() == text).then_some(id)
}

/// The path beside the log whose name is the log's with this ending.
pub(super) fn path_beside(log: &Path, ending: &str) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    log.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_what_a_crash_left_of_an_event_is_known_and_nothing_else() {
        let line =
            br#"{"by":"x","event":"x","noted":{"lines":3},"run":"a","schema":1,"seq":0,"ts":"t"}"#;
        assert!(is_event(line) && !begins_an_event(line));
        for end in br#"{"by""#.len()..line.len() {
            let filled = [&line[..end], &[0; 7]].concat();
            let ended = [&line[..end], b"\n"].concat();
            for torn in [line[..end].to_vec(), filled, ended] {
                assert!(begins_an_event(&torn) && !is_event(&torn), "{end}");
            }
        }
        for foreign in [
            "",
            "\n",
            "text",
            "{}",
            "{\"theme\": \"da",
            "{\"event\": x",
            "{\"event\": \"none\"}",
            "{\"run\": \"",
        ] {
            let line = foreign.as_bytes();
            assert!(!begins_an_event(line) && !is_event(line), "{foreign}");
        }
    }

    #[test]
    fn trust_only_our_own_names_are_parts_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let first = next_part(&log);
        fs::write(&first, "").unwrap();
        let second = next_part(&log);
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
        assert_eq!(list_older_parts(&log), [first, second]);
    }

    #[test]
    fn trust_parts_stay_in_order_though_the_clock_goes_back() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let far = log.with_extension("f0000000-0000-7000-8000-000000000000.jsonl");
        fs::write(&far, "").unwrap();
        assert!(next_part(&log) > far);
    }
}
