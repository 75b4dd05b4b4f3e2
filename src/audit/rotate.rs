use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use crate::files::{open_unlinked, sync_dir};

use super::chain::{Head, LogPart, line_before};
use super::file::refuse_foreign;
use super::log_parts;
use super::tail::Tail;

/// A log larger than this is put aside, unless less is to be kept.
const ROTATE_AT_BYTES: u64 = 64 << 20;
/// What is kept is at least so many parts, so that not all goes at once.
const PARTS: u64 = 4;

/// Renames an overgrown log to a part; `head` says so afterwards. The file must be locked, and hold
/// what `head` says.
pub(super) fn put_aside(file: &File, to: &Destination, head: &mut Head) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length <= ROTATE_AT_BYTES.min(to.keep_bytes / PARTS) {
        return Ok(false);
    }
    let path = &to.path;
    head.advance(file, Tail::read_after(file, head.mark())?.end)?;
    // A process that starts after a kill between the two finds the chain's end here.
    head.write(path)?;
    let part = log_parts::next_name(path);
    fs::rename(path, &part)?;
    if let Some(folder) = part.parent().filter(|at| !at.as_os_str().is_empty()) {
        sync_dir(folder)?;
    }
    head.parts.push(LogPart {
        name: name(&part),
        lines: head.lines,
        last: head.last,
    });
    (head.lines, head.bytes, head.is_recounted) = (0, 0, false);
    head.write(path)?;
    Ok(true)
}

/// Removes the oldest parts until the rest is within bounds; `head` says behind which the chain
/// begins then.
pub(super) fn keep_within(to: &Destination, head: &mut Head) -> io::Result<()> {
    let path = &to.path;
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut parts = log_parts::put_aside(path);
    let mut total = size(path) + parts.iter().map(size).sum::<u64>();
    parts.reverse();
    while total > to.keep_bytes
        && let Some(oldest) = parts.pop()
    {
        let file = open_unlinked(&oldest)?;
        let noted = head.parts.iter().find(|part| part.name == name(&oldest));
        if noted.is_none() && refuse_foreign(&file).is_err() {
            continue;
        }
        let noted = noted.map(|part| part.last);
        let length = file.metadata()?.len();
        total = total.saturating_sub(length);
        if length > 0 {
            head.removed = Some(LogPart {
                name: name(&oldest),
                lines: 0,
                last: match noted {
                    Some(last) => last,
                    None => line_before(&file, length)?.0,
                },
            });
        }
        head.parts.retain(|part| part.name != name(&oldest));
        // Noted first: a part that is still there after a kill is passed over by who verifies.
        head.write(path)?;
        fs::remove_file(&oldest)?;
    }
    Ok(())
}

fn name(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Which file, and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The log.
    pub path: PathBuf,
    /// Together with the parts that were put aside it holds about so much.
    pub keep_bytes: u64,
    /// Whether it holds what was sent to a model and what came back.
    pub prompts: bool,
}
