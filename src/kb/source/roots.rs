//! What belongs to the knowledge base, and what its files are called.
//!
//! A root is kept in its canonical form, and so is every path that is compared with it: symlinks
//! and `..` are resolved first and the question "inside?" is asked afterwards, never the other
//! way round. Names that leave this module (`Evidence.source`) are relative, with `/`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::files;
use crate::files::Unreadable;
use crate::globs::Inclusion;
use crate::kb::error::KbError;
use crate::kb::opened::Opened;

/// What a knowledge base is made of, as the user names it.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Folders and files.
    pub paths: Vec<PathBuf>,
    /// Files that are read although they are hidden or hold secrets by their names.
    pub include: Inclusion,
}

impl<P: AsRef<[PathBuf]> + ?Sized> From<&P> for Sources {
    fn from(paths: &P) -> Self {
        Self {
            paths: paths.as_ref().to_vec(),
            ..Self::default()
        }
    }
}

impl From<&Self> for Sources {
    fn from(sources: &Self) -> Self {
        sources.clone()
    }
}

/// The folders and files of one knowledge base.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    all: Vec<Root>,
    include: Inclusion,
    /// Files that were named although a folder that was named holds them.
    named: Arc<[PathBuf]>,
}

#[derive(Debug, Clone)]
struct Root {
    path: PathBuf,
    is_file: bool,
    /// Which disk it was on, where the system tells.
    device: Option<u64>,
    /// What its files' names begin with; empty when it is the only root.
    label: String,
}

impl Roots {
    /// Checks that each exists and can be read. A folder within another is dropped; a file within one is
    /// read with it, whatever the rules of that folder say.
    pub fn open(given: impl Into<Sources>) -> Result<Self, KbError> {
        let roots = Self::inspect(given.into(), false)?;
        if roots.all.is_empty() {
            return Err(KbError::NoRoots);
        }
        Ok(roots)
    }

    /// The same for an index that is shared: names of files begin with that of their root also where
    /// it is the only one, and there may be none.
    pub fn open_shared(given: impl Into<Sources>) -> Result<Self, KbError> {
        Self::inspect(given.into(), true)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn inspect(given: Sources, is_shared: bool) -> Result<Self, KbError> {
        let mut paths: Vec<(PathBuf, bool)> = Vec::new();
        let mut named = Vec::new();
        for path in &given.paths {
            let (canonical, is_file) = inspect(path).map_err(|source| KbError::Root {
                path: path.clone(),
                source,
            })?;
            if is_file {
                named.push(canonical.clone());
            }
            if !paths.iter().any(|(known, _)| canonical.starts_with(known)) {
                paths.retain(|(known, _)| !known.starts_with(&canonical));
                paths.push((canonical, is_file));
            }
        }
        named.retain(|file| paths.iter().all(|(root, _)| root != file));
        named.sort();
        named.dedup();
        let alone = paths.len() == 1 && !is_shared;
        let mut taken = HashSet::new();
        let roots = paths
            .into_iter()
            .map(|(path, is_file)| {
                let label = if alone {
                    String::new()
                } else {
                    unique(&base_name(&path), &mut taken)
                };
                Root {
                    device: device(&path),
                    path,
                    is_file,
                    label,
                }
            })
            .collect();
        Ok(Self {
            all: roots,
            include: given.include,
            named: named.into(),
        })
    }

    /// What of every root is read in any case.
    pub fn included(&self) -> Included {
        Included {
            patterns: self.include.clone(),
            named: Arc::clone(&self.named),
        }
    }

    /// The patterns that included no file so far.
    pub fn unused_patterns(&self) -> Vec<String> {
        self.include.unused().map(str::to_owned).collect()
    }

    /// The name of the corpus that this set of roots is, in whatever order they were given: on this
    /// machine, for it is made of their paths.
    pub fn corpus(&self) -> String {
        let mut paths: Vec<&Path> = self.paths().collect();
        paths.sort();
        let mut hasher = blake3::Hasher::new();
        for path in paths {
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
        }
        for path in self.named.iter() {
            hasher.update(&[1]);
            hasher.update(path.as_os_str().as_encoded_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The canonical paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|root| root.path.as_path())
    }

    /// The canonical paths, and what the names of their files begin with; empty where there is only
    /// one.
    pub fn labelled(&self) -> impl Iterator<Item = (&Path, &str)> {
        let roots = self.all.iter();
        roots.map(|root| (root.path.as_path(), root.label.as_str()))
    }

    /// Whether the root that this path lies in is gone as a whole, and not merely what it held: a
    /// folder that is not there or that is the empty place where a disk was, a file whose folder
    /// is not there.
    pub fn is_away(&self, path: &Path) -> bool {
        let root = self.all.iter().find(|root| path.starts_with(&root.path));
        root.is_some_and(Root::is_away)
    }

    /// What to call the whole: the folders' names.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.paths().map(base_name).collect();
        names.join(", ")
    }

    /// The name under which a canonical path appears as evidence; `None` outside the roots.
    pub fn source_of(&self, canonical: &Path) -> Option<String> {
        self.all.iter().find_map(|root| {
            let relative = canonical.strip_prefix(&root.path).ok()?;
            let mut source = if !root.label.is_empty() {
                root.label.clone()
            } else if root.is_file {
                base_name(&root.path)
            } else {
                String::with_capacity(relative.as_os_str().len())
            };
            for part in relative.components() {
                if !source.is_empty() {
                    source.push('/');
                }
                source.push_str(&part.as_os_str().to_string_lossy());
            }
            Some(source)
        })
    }

    /// Opens a file of the base by its canonical path, through no link below its root: what is
    /// opened lies within the base, whatever was put in the place of the path meanwhile.
    pub fn open_file(&self, canonical: &Path) -> Result<Opened, Unreadable> {
        let root = self.paths().find(|root| canonical.starts_with(root));
        Opened::beneath(root.unwrap_or(Path::new("")), canonical)
    }

    pub(crate) fn candidates(&self, asked: &str) -> Vec<PathBuf> {
        if Path::new(asked).is_absolute() {
            return vec![PathBuf::from(asked)];
        }
        let asked = asked.strip_prefix("./").unwrap_or(asked);
        let mut found = Vec::new();
        for root in &self.all {
            let (first, rest) = asked.split_once('/').unwrap_or((asked, ""));
            if !root.label.is_empty() && root.label == first {
                found.push(if rest.is_empty() {
                    root.path.clone()
                } else {
                    root.path.join(rest)
                });
            }
        }
        for root in &self.all {
            if !root.is_file {
                found.push(root.path.join(asked));
            } else if base_name(&root.path) == asked {
                found.push(root.path.clone());
            } else if let Some(folder) = root.path.parent() {
                found.push(folder.join(asked));
            }
        }
        // What was found while other folders were part of the base, too, has the name of its own.
        if let ([root], Some((first, rest))) = (&*self.all, asked.split_once('/'))
            && base_name(&root.path) == first
        {
            found.push(root.path.join(rest));
        }
        found
    }

    /// For paths that do not exist, so that asking never tells what lies outside.
    pub(crate) fn contains_lexically(&self, path: &Path) -> bool {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        self.all.iter().any(|root| {
            let home = if root.is_file {
                root.path.parent().unwrap_or(&root.path)
            } else {
                &root.path
            };
            plain.starts_with(home)
        })
    }
}

impl Root {
    fn is_away(&self) -> bool {
        let place = match self.path.parent() {
            Some(folder) if self.is_file => folder,
            _ => &self.path,
        };
        match place.metadata() {
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            Ok(_) => {
                !self.is_file
                    && device(place) != self.device
                    && place
                        .read_dir()
                        .is_ok_and(|mut entries| entries.next().is_none())
            }
        }
    }
}

#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|meta| meta.dev())
}

#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

fn inspect(path: &Path) -> std::io::Result<(PathBuf, bool)> {
    let canonical = path.canonicalize()?;
    let is_file = canonical.is_file();
    if is_file {
        files::open_regular(&canonical)?;
    } else {
        std::fs::read_dir(&canonical)?;
    }
    Ok((canonical, is_file))
}

/// A root may be called anything; in names that leave here it is plain text.
fn base_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| lossy(path.as_os_str()), lossy)
        .replace(char::is_control, "\u{fffd}")
}

fn lossy(part: &OsStr) -> String {
    part.to_string_lossy().into_owned()
}

fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut n = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}-{n}");
        n += 1;
    }
    candidate
}

// What of one root is read although a rule, its name or its being hidden would leave it out: what
// the user's patterns say, and the files that the user names beside the folder they lie in.

/// What the user wants read in any case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Included {
    patterns: Inclusion,
    /// Canonical paths of the files that are named one by one.
    named: Arc<[PathBuf]>,
}

impl Included {
    /// Whether this file is read although it is hidden or holds secrets by its name.
    pub fn fits(&self, relative: &Path) -> bool {
        self.patterns.fits(relative)
    }

    /// Whether this very file was named: it is read whatever the rules say.
    pub fn names(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named == path)
    }

    /// Whether a file that was named lies below this folder.
    pub fn leads_to_named(&self, folder: &Path) -> bool {
        self.named.iter().any(|named| named.starts_with(folder))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_from_among_several_folders_is_found_in_the_one() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (one, other) = (dir.join("one"), dir.join("other"));
        for folder in [&one, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("a.md"), "a").unwrap();
        }
        let both = Roots::open(&[one.clone(), other.clone()]).unwrap();
        let alone = Roots::open(std::slice::from_ref(&one)).unwrap();
        for roots in [&both, &alone] {
            assert_eq!(roots.resolve("one/a.md").unwrap(), one.join("a.md"));
        }
        assert!(alone.resolve("other/a.md").is_err());
        // What the folder itself holds by that name comes first.
        fs::create_dir(one.join("one")).unwrap();
        fs::write(one.join("one/a.md"), "b").unwrap();
        assert_eq!(alone.resolve("one/a.md").unwrap(), one.join("one/a.md"));
    }

    #[test]
    fn a_root_is_away_when_it_is_gone_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (folder, file) = (dir.join("notes"), dir.join("papers/a.md"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(dir.join("papers")).unwrap();
        fs::write(&file, "a").unwrap();
        let mut roots = Roots::open(&[folder.clone(), file.clone()]).unwrap();
        assert!(!roots.is_away(&folder.join("b.md")) && !roots.is_away(&file));
        // Nothing is left in it, and it is still the same folder.
        fs::remove_file(&file).unwrap();
        assert!(!roots.is_away(&folder) && !roots.is_away(&file));
        fs::remove_dir(dir.join("papers")).unwrap();
        assert!(roots.is_away(&file));
        fs::remove_dir(&folder).unwrap();
        assert!(roots.is_away(&folder.join("b.md")));
        // The place where a disk was.
        fs::create_dir(&folder).unwrap();
        assert!(!roots.is_away(&folder));
        roots.all[0].device = roots.all[0].device.map(|device| device + 1);
        assert_eq!(roots.is_away(&folder), cfg!(unix));
        fs::write(folder.join("b.md"), "b").unwrap();
        assert!(!roots.is_away(&folder));
    }
}
