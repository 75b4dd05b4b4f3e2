//! Opening the log's file: only one of ours, or a new one.
//!
//! The setting may name any file, and others may have put a link or a pipe in its place. So what
//! is opened is looked at before a byte is written and before its mode is changed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::files::{create_private_dir, private, refuse_link, regular, unlinked};

use super::lines::LONGEST_LINE;

/// How often the file may appear and vanish between the looks.
const TRIES: usize = 8;

/// What every event has, of this version and of those before and after.
#[derive(Deserialize)]
#[allow(dead_code, reason = "whether they are there is what is asked")]
struct AnyEvent {
    schema: u32,
    ts: String,
    run: String,
    seq: u64,
    event: String,
}

/// Opens the log to read and to append, for its owner alone; makes it where there is none.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    // The user may have named it through a link.
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        create_private_dir(folder)?;
    }
    for _ in 0..TRIES {
        refuse_link(path)?;
        match unlinked().append(true).open(path) {
            Ok(file) => return ours(regular(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match private(unlinked().append(true).create_new(true)).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
    }
    Err(io::Error::other("it appears and vanishes"))
}

fn ours(file: File) -> io::Result<File> {
    refuse_foreign(&file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Says no to a regular file whose first line is none of our events, or what a crash left of one.
pub(super) fn refuse_foreign(file: &File) -> io::Result<()> {
    let (first, is_ended) = line_at(file, 0)?;
    let is_ours = match (first.as_slice(), is_ended) {
        ([], false) => true,
        (line, false) => is_event(line) || is_torn_event(line),
        // It was ended by the line of ours that follows.
        (line, true) if is_torn_event(line) => is_event(&line_at(file, line.len() as u64 + 1)?.0),
        (line, true) => is_event(line),
    };
    if is_ours {
        return Ok(());
    }
    let why = "it is no audit log: its first line is none of our events; nothing was changed";
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// The line that begins at `at`, and whether a line feed ends it. What does not begin as an event
/// does is not read to its end.
fn line_at(mut file: &File, at: u64) -> io::Result<(Vec<u8>, bool)> {
    file.seek(SeekFrom::Start(at))?;
    let mut line = Vec::new();
    let mut piece = [0; 4096];
    let mut is_ended = false;
    while !is_ended && line.len() <= LONGEST_LINE {
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', &piece[..read]);
        is_ended = end.is_some();
        line.extend_from_slice(&piece[..end.unwrap_or(read)]);
        if !line.starts_with(b"{\"") {
            break;
        }
    }
    Ok((line, is_ended))
}

pub(super) fn is_event(line: &[u8]) -> bool {
    serde_json::from_slice::<AnyEvent>(line).is_ok()
}

/// All that a crash left of a log's first line.
fn is_torn_event(line: &[u8]) -> bool {
    const FIRST_FIELDS: [&str; 8] = [
        "action",
        "args",
        "calls_saved",
        "citations",
        "code",
        "complexity",
        "event",
        "schema",
    ];
    let begins = |field: &&str| line.starts_with(format!("{{\"{field}\"").as_bytes());
    begins_an_event(line) && FIRST_FIELDS.iter().any(begins)
}

/// Whether the line ends within an object that begins as an event does, whose fields are in order
/// of the alphabet. Some file systems fill up with zeros what was not written.
pub(super) fn begins_an_event(line: &[u8]) -> bool {
    let written = line.iter().rposition(|byte| *byte != 0);
    let line = &line[..written.map_or(0, |last| last + 1)];
    let Some(fields) = line.strip_prefix(b"{\"") else {
        return b"{\"".starts_with(line);
    };
    let name = fields.split(|byte| *byte == b'"').next().unwrap_or(fields);
    let is_first = name <= b"event".as_slice() || b"schema".starts_with(name);
    is_first && serde_json::from_slice::<AnyEvent>(line).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_every_beginning_of_an_event_is_known_and_nothing_else() {
        let line = br#"{"by":"llm","event":"x","noted":{"lines":3},"run":"a","schema":1,"seq":0,"ts":"t"}"#;
        assert!(is_event(line));
        for end in 0..line.len() {
            assert!(begins_an_event(&line[..end]), "{end}");
            let filled = [&line[..end], &[0; 7]].concat();
            assert!(begins_an_event(&filled), "{end}");
        }
        for foreign in [
            "text",
            "{}",
            "{\"theme\": \"da",
            "{\"event\": x",
            "[",
            " ",
            "{\"run\": \"",
        ] {
            assert!(!begins_an_event(foreign.as_bytes()), "{foreign}");
        }
    }
}
