//! Opening and writing files that others may have made, or may change while we look.
//!
//! A path says nothing about what is behind it at the moment of the opening: a pipe waits for a
//! writer, a device never ends, a link leads elsewhere. So a file is opened without waiting, and
//! what was *opened* is asked what it is. Every reading has a bound.

mod certificates;
mod draft;
mod lock;
mod own_rows;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Component, Path};

use tempfile::NamedTempFile;

pub use certificates::read_certificates;
pub use draft::Draft;
pub use lock::{try_lock, try_lock_shared, wait_for};
pub use own_rows::{read_own_file, read_tables};

/// How the names of files in the making begin and end.
const UNFINISHED: (&str, &str) = (".kb-agent-", ".tmp");
/// Letters between the two.
const RANDOM: usize = 8;

/// Why a file was not read; one line, without the path.
#[derive(Debug)]
pub enum Unreadable {
    /// A pipe, a device, a folder: nothing that is read as a file.
    NotRegular,
    /// Larger than the reader allows.
    TooLarge {
        /// What is allowed, in bytes.
        limit: u64,
    },
    /// Not UTF-8.
    NotText,
    /// Anything else that the system says.
    Io(io::Error),
}

impl Unreadable {
    /// Whether there simply is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::TooLarge { limit } if *limit >= 1 << 20 => {
                write!(f, "it is larger than {} MB", limit >> 20)
            }
            Self::TooLarge { limit } => write!(f, "it is larger than {} kB", limit >> 10),
            Self::NotText => f.write_str("it is not UTF-8 text"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Unreadable> for io::Error {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Io(error) => error,
            other => Self::new(io::ErrorKind::InvalidInput, other),
        }
    }
}

/// Opens a regular file for reading; follows links, and waits for nothing.
pub fn open_regular(path: &Path) -> Result<File, Unreadable> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(without_waiting().bits().cast_signed());
    }
    regular(options.open(path)?)
}

/// [`open_regular`] that refuses a link in the file's place. Links on the way are followed.
pub fn open_unlinked(path: &Path) -> Result<File, Unreadable> {
    refuse_link(path)?;
    regular(unlinked().open(path)?)
}

/// Opens a file that is only there to be locked, and makes it for its owner alone where there is
/// none; what it holds stays. A link in its place is refused.
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    let file = private(unlinked().write(true).create(true).truncate(false)).open(path)?;
    Ok(regular(file)?)
}

/// Opens a regular file, which is there, to be written at some place; what it holds stays. A link in
/// its place is refused.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    Ok(regular(unlinked().write(true).open(path)?)?)
}

/// Says no to a link: it leads to a file or folder that is not ours to write to.
pub fn refuse_link(path: &Path) -> io::Result<()> {
    // With a separator at its end, it would be the folder behind the link.
    match fs::symlink_metadata(path.components().as_path()) {
        Ok(meta) if meta.is_symlink() => {
            let link = format!("{} is a link, and links are not followed", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, link))
        }
        _ => Ok(()),
    }
}

/// Reads, waits for no pipe, and follows no link in the file's place.
pub fn unlinked() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = without_waiting() | OFlags::NOFOLLOW;
        options.custom_flags(flags.bits().cast_signed());
    }
    options
}

/// What is made with these is for its owner alone (mode 0600).
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

#[cfg(unix)]
fn without_waiting() -> rustix::fs::OFlags {
    rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY
}

/// Says no to an open pipe, device or folder.
pub fn regular(file: File) -> Result<File, Unreadable> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Unreadable::NotRegular)
    }
}

/// Opens the regular file `relative` below `root`, following no link on the way from the root on:
/// what is opened lies below it, whatever is renamed or linked meanwhile.
///
/// The root itself is taken as it is named, so give it in its canonical form. An empty `relative`
/// means the root, which then is a file.
pub fn open_beneath(root: &Path, relative: &Path) -> Result<File, Unreadable> {
    let escapes = |part: Component<'_>| !matches!(part, Component::Normal(_));
    if relative.components().any(escapes) {
        let why = "it lies outside the folder";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why).into());
    }
    regular(open_without_links(root, relative)?)
}

#[cfg(unix)]
fn open_without_links(root: &Path, relative: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // All at once where the system knows how; whatever it says otherwise, folder by folder.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let path = if relative.as_os_str().is_empty() {
            root.to_owned()
        } else {
            root.join(relative)
        };
        if let Ok(opened) = openat2(CWD, &path, file, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            return Ok(opened.into());
        }
    }
    let mut parts = relative.iter().peekable();
    if parts.peek().is_none() {
        return Ok(openat(CWD, root, file, Mode::empty())?.into());
    }
    let mut at = openat(CWD, root, folder, Mode::empty())?;
    while let Some(part) = parts.next() {
        let kind = if parts.peek().is_some() { folder } else { file };
        at = openat(&at, part, kind, Mode::empty())?;
    }
    Ok(at.into())
}

#[cfg(not(unix))]
fn open_without_links(root: &Path, relative: &Path) -> io::Result<File> {
    let path = root.join(relative);
    if path.canonicalize()? != path {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a link stands on the way",
        ));
    }
    File::open(path)
}

/// All bytes of a regular file of at most `limit` bytes.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    read_all(&open_regular(path)?, limit)
}

/// [`read_bounded`] as UTF-8 text, without a byte order mark.
pub fn read_text_bounded(path: &Path, limit: u64) -> Result<String, Unreadable> {
    let text = String::from_utf8(read_bounded(path, limit)?).map_err(|_| Unreadable::NotText)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// What an open file holds from where it stands, if that is at most `limit` bytes.
///
/// The bound holds for the reading, not only for the size that the file claims: it can grow.
pub fn read_all(file: &File, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let claimed = file.metadata()?.len();
    if claimed > limit {
        return Err(Unreadable::TooLarge { limit });
    }
    let mut bytes = Vec::with_capacity(claimed as usize + 1);
    Read::take(file, limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge { limit });
    }
    Ok(bytes)
}

/// Makes a folder, and those above it, for their owner alone (mode 0700). Folders that are there
/// stay as they are; a link in its place is refused.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    refuse_link(path)?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Writes a file for its owner alone (mode 0600), all of it or nothing, also over a power cut: a
/// temporary file beside it, synced, renamed, and the folder synced. A link in its place is
/// replaced and not followed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic_by(path, |file| file.write_all(bytes))
}

/// [`write_atomic`] for what is not in memory as a whole: `write` writes it, and its error leaves
/// everything as it was.
pub fn write_atomic_by(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = write_beside(path, write)?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(path).map_err(|error| error.error)?;
    sync_dir(folder_of(path))
}

/// Writes a file for its owner alone that can be made again and tells by itself whether it is whole:
/// who reads it now finds all of it or nothing, and the disk is not waited for. A power cut may leave
/// anything in its place.
pub fn write_cache_by(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = write_beside(path, write)?;
    unfinished.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file in the folder of `path`, removed unless it is put into its place.
fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    // Made with mode 0600 by the crate, under a name that cannot be guessed.
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED.0)
        .rand_bytes(RANDOM)
        .suffix(UNFINISHED.1)
        .tempfile_in(folder_of(path))?;
    let mut writer = BufWriter::new(unfinished.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    Ok(unfinished)
}

/// Whether a file of that name is what a kill left of one in the making, and no other.
pub fn is_unfinished(name: &str) -> bool {
    let random = name.strip_prefix(UNFINISHED.0);
    let random = random.and_then(|rest| rest.strip_suffix(UNFINISHED.1));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The folder of the file of that path: the current one where the path names none.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes what was created, renamed or removed in a folder outlast a power cut.
pub fn sync_dir(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_bounded_and_loses_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "\u{feff}abc").unwrap();
        assert_eq!(read_text_bounded(&path, 6).unwrap(), "abc");
        let error = read_bounded(&path, 5).unwrap_err();
        assert!(matches!(error, Unreadable::TooLarge { limit: 5 }));
        assert!(
            read_bounded(&dir.path().join("b"), 5)
                .unwrap_err()
                .is_missing()
        );
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(
            read_text_bounded(&path, 6),
            Err(Unreadable::NotText)
        ));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            let read = read_bounded(path, 9);
            assert!(
                matches!(read, Err(Unreadable::NotRegular)),
                "{}",
                path.display()
            );
        }
        let beneath = open_beneath(dir.path(), Path::new("pipe"));
        assert!(matches!(beneath, Err(Unreadable::NotRegular)));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_opened_through_a_link_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (inside, outside) = (dir.join("in"), dir.join("out"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a"), "secret").unwrap();
        fs::write(inside.join("sub/a"), "plain").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("a"), inside.join("file")).unwrap();
        let open = |relative: &str| open_beneath(&inside, Path::new(relative));
        assert_eq!(read_all(&open("sub/a").unwrap(), 9).unwrap(), b"plain");
        for relative in ["folder/a", "file", "../out/a", "/etc/passwd"] {
            assert!(open(relative).is_err(), "{relative}");
        }
        let root = open_beneath(&inside.join("sub/a"), Path::new("")).unwrap();
        assert_eq!(read_all(&root, 9).unwrap(), b"plain");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_file_of_ours_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        drop(open_to_lock(&file).unwrap());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&file, "theirs").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        drop(open_to_lock(&file).unwrap());
        assert_eq!(
            read_all(&open_unlinked(&file).unwrap(), 9).unwrap(),
            b"theirs"
        );
        assert!(open_unlinked(&link).is_err() && open_to_lock(&link).is_err());
        assert!(unlinked().open(&link).is_err());
        assert!(matches!(
            open_unlinked(dir.path()),
            Err(Unreadable::NotRegular)
        ));
    }

    type WriteBy = fn(&Path, fn(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()>;

    #[test]
    fn a_writing_that_fails_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for write in [write_atomic_by as WriteBy, write_cache_by as WriteBy] {
            write(&path, |file| file.write_all(b"whole")).unwrap();
            let broken = write(&path, |file| {
                file.write_all(b"half")?;
                Err(io::ErrorKind::StorageFull.into())
            });
            assert_eq!(broken.unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_is_private_and_follows_no_link() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        create_private_dir(&folder).unwrap();
        assert_eq!(
            folder.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        let (path, other) = (folder.join("c"), dir.path().join("other"));
        fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write_atomic(&path, b"ours").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
