//! A file of the base, open.
//!
//! What a path leads to may be another thing at each look at it. So a file is opened once, below
//! its root and through no link; its size, its format and its text all come from what was opened.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::files::{self, Unreadable};

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
