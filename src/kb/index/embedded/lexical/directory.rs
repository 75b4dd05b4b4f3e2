//! The index's files, as they are read.
//!
//! Tantivy maps its files into memory, and a mapped file that is cut off ends the process by
//! a signal at the next search. So files are read instead: those that every search goes through
//! once, when they are opened, and the long ones, of which a search needs little, piece by piece.
//! What is missing then is a failure to read, and so is a pipe or a link in a file's place. Writing and locking are tantivy's
//! own.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::files::{Unreadable, open_unlinked};

/// Files of up to this many bytes are read as a whole.
const LITTLE: u64 = 64 << 10;

/// A folder of an index.
#[derive(Clone)]
pub(super) struct SafeDirectory {
    writing: MmapDirectory,
    folder: PathBuf,
    /// The extensions of the files that are read piece by piece.
    long: &'static [&'static str],
    /// The open files: a commit opens the same ones again.
    open: Arc<Mutex<HashMap<PathBuf, Weak<Handle>>>>,
}

impl SafeDirectory {
    /// Opens a folder that exists, to read files with these extensions piece by piece.
    pub fn open(folder: &Path, long: &'static [&'static str]) -> tantivy::Result<Self> {
        Ok(Self {
            writing: MmapDirectory::open(folder)?,
            folder: folder.to_owned(),
            long,
            open: Arc::default(),
        })
    }

    fn handle(&self, path: &Path) -> io::Result<Arc<Handle>> {
        let mut open = self.open.lock();
        if let Some(known) = open.get(path).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let handle = Arc::new(Handle::open(&self.folder.join(path), self.long)?);
        open.retain(|_, handle| handle.strong_count() > 0);
        open.insert(path.to_owned(), Arc::downgrade(&handle));
        Ok(handle)
    }
}

impl fmt::Debug for SafeDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeDirectory({})", self.folder.display())
    }
}

/// An open file, which is never written again.
#[derive(Debug)]
enum Handle {
    Whole(OwnedBytes),
    #[cfg(unix)]
    Pieces {
        file: File,
        len: usize,
        name: String,
    },
}

impl Handle {
    fn open(path: &Path, long: &[&str]) -> io::Result<Self> {
        let file = opened(path)?;
        let len = file.metadata()?.len();
        let ending = path.extension().unwrap_or_default();
        #[cfg(unix)]
        if len > LITTLE && long.iter().any(|long| ending == *long) {
            return Ok(Self::Pieces {
                file,
                len: len as usize,
                name: path.display().to_string(),
            });
        }
        let mut bytes = Vec::with_capacity(len as usize);
        io::Read::read_to_end(&mut io::Read::take(file, len), &mut bytes)?;
        Ok(Self::Whole(OwnedBytes::new(bytes)))
    }
}

/// Opens a file. A link or a pipe in its place is reported as damage. A folder is not, since its
/// files may belong to the user.
fn opened(path: &Path) -> io::Result<File> {
    open_unlinked(path).map_err(|error| match error {
        Unreadable::Io(error) => error,
        Unreadable::NotRegular if path.is_dir() => io::ErrorKind::IsADirectory.into(),
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    })
}

fn failed(path: &Path) -> impl Fn(io::Error) -> OpenReadError {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(error, path.to_owned()),
    }
}

impl HasLen for Handle {
    fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            #[cfg(unix)]
            Self::Pieces { len, .. } => *len,
        }
    }
}

impl FileHandle for Handle {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match self {
            Self::Whole(bytes) => Ok(bytes.slice(range)),
            #[cfg(unix)]
            Self::Pieces { file, name, .. } => {
                use std::os::unix::fs::FileExt;
                let mut bytes = vec![0; range.len()];
                match file.read_exact_at(&mut bytes, range.start as u64) {
                    Ok(()) => Ok(OwnedBytes::new(bytes)),
                    Err(error) => Err(io::Error::new(error.kind(), format!("{name}: {error}"))),
                }
            }
        }
    }
}

impl Directory for SafeDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(self.handle(path).map_err(failed(path))?)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.writing.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.writing.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.writing.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let read = opened(&self.folder.join(path)).and_then(|mut file| {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut file, &mut bytes)?;
            Ok(bytes)
        });
        read.map_err(failed(path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.writing.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.writing.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        // Tantivy would wait for a reader of the pipe.
        let path = self.folder.join(&lock.filepath);
        match opened(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let line = format!("{}: {error}", path.display());
                Err(LockError::wrap_io_error(io::Error::new(error.kind(), line)))
            }
            _ => self.writing.acquire_lock(lock),
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.writing.watch(callback)
    }
}
