//! A file of the base: open, and how it looks from outside.
//!
//! What a path leads to may be another thing at each look at it. So a file is opened once, below
//! its root and through no link; its size, its format and its text all come from what was opened.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::files;
use crate::files::Unreadable;

/// An open regular file that lies below a root.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    path: PathBuf,
    meta: Metadata,
}

impl Opened {
    /// Opens `path`, which is `root` or lies below it; both in their canonical form.
    pub fn beneath(root: &Path, path: &Path) -> Result<Self, Unreadable> {
        let outside = |_| {
            let why = "it lies outside the folder";
            Unreadable::Io(io::Error::new(io::ErrorKind::PermissionDenied, why))
        };
        let file = files::open_beneath(root, path.strip_prefix(root).map_err(outside)?)?;
        let meta = file.metadata()?;
        Ok(Self {
            file,
            path: path.to_owned(),
            meta,
        })
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its metadata when it was opened.
    pub fn meta(&self) -> &Metadata {
        &self.meta
    }

    /// Its size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.meta.len()
    }

    /// The file, at whatever position it was left: seek first.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads at most `bytes` bytes from the beginning.
    pub fn head(&self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.rewound()?.take(bytes as u64).read_to_end(&mut head)?;
        Ok(head)
    }

    /// The file, positioned at its first byte.
    pub fn rewound(&self) -> io::Result<&File> {
        (&self.file).seek(SeekFrom::Start(0))?;
        Ok(&self.file)
    }
}

/// What a file looks like from outside: when all of it is as before, so is the text, unless the
/// file was changed within a tick of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// When its text was written, in nanoseconds since 1970.
    pub modified: u64,
    /// When anything about it was changed, which no program can set; 0 where there is no such thing.
    pub changed: u64,
    /// Which file it is; 0 where there is no such thing.
    pub inode: u64,
}

impl Stamp {
    /// Clocks of file systems tick as slowly as this.
    const TICK: Duration = Duration::from_secs(2);

    /// Reads the stamp from a file's metadata.
    pub fn from_metadata(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let stamp = Self {
            size: meta.len(),
            modified: since.map_or(0, |since| since.as_nanos() as u64),
            ..Self::default()
        };
        #[cfg(unix)]
        let stamp = {
            use std::os::unix::fs::MetadataExt;
            Self {
                changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
                inode: meta.ino(),
                ..stamp
            }
        };
        stamp
    }

    /// Whether a change from now on is sure to give another stamp.
    pub fn mtime_is_reliable(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let last = u128::from(self.modified.max(self.changed));
        last + Self::TICK.as_nanos() < now
    }
}

/// Since 1970, as far as such a number can say.
#[cfg(unix)]
fn nanoseconds(seconds: i64, more: i64) -> u64 {
    let all = seconds.saturating_mul(1_000_000_000).saturating_add(more);
    all.max(0) as u64
}

// Files of cloud folders whose contents are not on this machine.
//
// What is known of them is kept, and none is asked for: reading one would load it.

/// The file that a placeholder stands for: iCloud leaves `.report.pdf.icloud` for `report.pdf`.
pub(crate) fn placeholder_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix('.')?.strip_suffix(".icloud")?;
    (!name.is_empty()).then(|| path.with_file_name(name))
}

/// Whether a placeholder stands where this file was.
pub(crate) fn has_placeholder(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| path.with_file_name(format!(".{name}.icloud")).is_file())
}

/// Whether the system keeps only the name of this file and loads the rest when it is read.
pub(crate) fn is_dataless(meta: &Metadata) -> bool {
    #[cfg(target_os = "macos")]
    {
        use std::os::darwin::fs::MetadataExt;
        const SF_DATALESS: u32 = 0x4000_0000;
        meta.st_flags() & SF_DATALESS != 0
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::MetadataExt;
        const RECALL_ON_DATA_ACCESS: u32 = 0x0040_0000;
        meta.file_attributes() & RECALL_ON_DATA_ACCESS != 0
    }
    #[cfg(not(any(target_os = "macos", windows)))]
    {
        let _ = meta;
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn trust_a_file_of_any_time_has_a_stamp() {
        assert_eq!(nanoseconds(2, 5), 2_000_000_005);
        assert_eq!(nanoseconds(i64::MAX, 999_999_999), i64::MAX as u64);
        assert_eq!(nanoseconds(i64::MIN, 0), 0);
    }
}

#[cfg(test)]
mod tests_of_cloud {
    use super::*;

    #[test]
    fn a_placeholder_names_its_file() {
        let of = |name: &str| placeholder_of(Path::new(name));
        assert_eq!(
            of("a/.report.pdf.icloud"),
            Some(PathBuf::from("a/report.pdf"))
        );
        assert_eq!(of("a/report.icloud"), None);
        assert_eq!(of("a/..icloud"), None);
    }
}
