//! What could concern the base, decided from a path alone and before the updating thread is woken; and what
//! does, decided by the rules of the walk.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::DirEntry;
use notify::EventKind;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use parking_lot::Mutex;

use crate::kb::extract::SkipReason;
use crate::kb::source::{Included, Roots, walk};

/// The most folders that are checked against the rules; events in more of them are all kept.
const FOLDERS: usize = 64;

/// The base's places, and those within them that are none of its business.
#[derive(Debug, Default)]
pub(super) struct WatchScope {
    roots: Vec<WatchedRoot>,
    apart: Vec<PathBuf>,
}

#[derive(Debug)]
struct WatchedRoot {
    path: PathBuf,
    is_file: bool,
    included: Included,
}

/// A place that the system is asked to watch.
#[derive(Debug, PartialEq)]
pub(super) struct WatchedPlace {
    pub path: PathBuf,
    pub recursive: bool,
}

/// The role of a path in the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathRole {
    None,
    File,
    /// A file with rules for what belongs to the base.
    Rules,
    Root,
}

impl WatchScope {
    pub fn new(roots: &Roots, home: &Path, apart: &[PathBuf]) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let watched: Vec<WatchedRoot> = roots
            .paths()
            .map(|path| WatchedRoot {
                path: path.to_owned(),
                is_file: path.is_file(),
                included: roots.included(),
            })
            .collect();
        let mut all: Vec<PathBuf> = apart.iter().map(|path| real(path)).collect();
        all.push(real(home));
        // A base that lies within such a folder is a base all the same.
        all.retain(|apart| watched.iter().all(|root| !root.path.starts_with(apart)));
        Self {
            roots: watched,
            apart: all,
        }
    }

    /// A single file is watched by way of its folder: editors put another file in its place.
    pub fn places(&self) -> Vec<WatchedPlace> {
        self.roots
            .iter()
            .map(|root| match root.path.parent() {
                Some(folder) if root.is_file => WatchedPlace {
                    path: folder.to_owned(),
                    recursive: false,
                },
                _ => WatchedPlace {
                    path: root.path.clone(),
                    recursive: true,
                },
            })
            .collect()
    }

    /// The role of a path, decided from the path alone.
    pub fn role_of(&self, path: &Path) -> PathRole {
        if self.apart.iter().any(|apart| path.starts_with(apart)) {
            return PathRole::None;
        }
        let within = self.roots.iter().find_map(|root| {
            let below = path.strip_prefix(&root.path).ok()?;
            Some((root, below))
        });
        let Some((root, below)) = within else {
            // The folder of a single file, when it is itself removed.
            let is_home = |root: &WatchedRoot| root.is_file && root.path.parent() == Some(path);
            return if self.roots.iter().any(is_home) {
                PathRole::Root
            } else {
                PathRole::None
            };
        };
        if below.as_os_str().is_empty() {
            return if root.is_file {
                PathRole::File
            } else {
                PathRole::Root
            };
        }
        let is_rules = below.ends_with(".gitignore")
            || below.ends_with(".ignore")
            || below.ends_with(".git/info/exclude");
        let hidden = |part: &std::ffi::OsStr| part.as_encoded_bytes().starts_with(b".");
        let above = below.parent().unwrap_or(Path::new(""));
        if is_rules && (below.ends_with(".git/info/exclude") || !above.iter().any(hidden)) {
            PathRole::Rules
        } else if below.iter().any(hidden)
            && !root.included.fits(below)
            && !root.included.leads_to_named(path)
        {
            PathRole::None
        } else {
            PathRole::File
        }
    }

    /// The paths that the walk may come by, and the folders that it does not look into.
    pub fn sift(&self, paths: BTreeSet<PathBuf>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut asked: HashMap<PathBuf, bool> = HashMap::new();
        let mut ignored = Vec::new();
        let mut kept = Vec::new();
        for path in paths {
            if ignored.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            let folder = path.parent().unwrap_or(&path).to_owned();
            let is_known = asked.contains_key(&folder);
            if !is_known && asked.len() < FOLDERS {
                let passed_over = self.passed_over(&folder);
                asked.insert(folder.clone(), passed_over.is_none());
                ignored.extend(passed_over);
            }
            if asked.get(&folder).copied().unwrap_or(true) {
                kept.push(path);
            }
        }
        (kept, ignored)
    }

    /// The folders at and below this one that the walk looks into, and those in which its rules are
    /// kept.
    pub fn folders(&self, from: &Path) -> Vec<PathBuf> {
        let holds = |root: &&WatchedRoot| !root.is_file && from.starts_with(&root.path);
        let Some(root) = self.roots.iter().find(holds) else {
            return Vec::new();
        };
        // Not looked into, but watched for when its rules can be read again.
        let unruly: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
        let (aside, goal, apart) = (Arc::clone(&unruly), from.to_owned(), self.apart.clone());
        let is_wanted = move |entry: &DirEntry| {
            let path = entry.path();
            let is_on_the_way = goal.starts_with(path) || path.starts_with(&goal);
            let is_apart = apart.iter().any(|apart| path.starts_with(apart));
            walk::is_dir(entry) && is_on_the_way && !is_apart
        };
        let aside = move |path: &Path, reason| {
            if matches!(reason, SkipReason::BadRules(_)) {
                aside.lock().push(path.to_owned());
            }
        };
        let Ok(builder) = walk::builder(&root.path, &root.included, is_wanted, aside) else {
            return vec![root.path.clone()];
        };
        let entries = builder.build().filter_map(Result::ok);
        let mut folders: Vec<PathBuf> = entries.map(DirEntry::into_path).collect();
        folders.append(&mut unruly.lock());
        folders.retain(|folder| folder.starts_with(from));
        let rules = folders.iter().map(|folder| folder.join(".git/info"));
        let rules: Vec<PathBuf> = rules.filter(|rules| rules.is_dir()).collect();
        folders.extend(rules);
        folders
    }

    /// Whether documents of the base may lie in this folder.
    pub fn may_hold(&self, folder: &Path) -> bool {
        self.role_of(folder) != PathRole::None && self.passed_over(folder).is_none()
    }

    /// The first folder on the way to this one that exists and is left out by some rule.
    fn passed_over(&self, folder: &Path) -> Option<PathBuf> {
        let root = self
            .roots
            .iter()
            .find(|root| !root.is_file && folder.starts_with(&root.path))?;
        let mut way: Vec<&Path> = folder
            .ancestors()
            .take_while(|above| *above != root.path)
            .collect();
        way.reverse();
        way.into_iter()
            .take_while(|folder| folder.is_dir())
            .find(|folder| !walk::lists(&root.path, &root.included, folder))
            .map(Path::to_owned)
    }
}

/// Whether an event may change a file. Opening and reading do not.
pub(super) fn changes_something(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => matches!(kind, AccessKind::Close(AccessMode::Write)),
        _ => true,
    }
}

/// Whether what happened to a root may have put something else under its name.
pub(super) fn ends_a_watch(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Remove(_) | EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_))
    )
}

#[cfg(test)]
impl WatchScope {
    pub fn of_folder(root: &str, apart: &[&str]) -> Self {
        Self {
            roots: vec![WatchedRoot {
                path: root.into(),
                is_file: false,
                included: Included::default(),
            }],
            apart: apart.iter().map(PathBuf::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_alone_tells_what_cannot_matter() {
        let scope = WatchScope::of_folder("/kb", &["/kb/data/index"]);
        for (path, weight) in [
            ("/kb", PathRole::Root),
            ("/kb/a.md", PathRole::File),
            ("/kb/sub/a.md", PathRole::File),
            ("/kb/.hidden.md", PathRole::None),
            ("/kb/.git/HEAD", PathRole::None),
            ("/kb/sub/.obsidian/a.md", PathRole::None),
            ("/kb/sub/.gitignore", PathRole::Rules),
            ("/kb/.ignore", PathRole::Rules),
            ("/kb/.git/info/exclude", PathRole::Rules),
            ("/kb/.git/.gitignore", PathRole::None),
            ("/kb/data/index/x/meta.json", PathRole::None),
            ("/kb/data/notes.md", PathRole::File),
            ("/other/a.md", PathRole::None),
        ] {
            assert_eq!(scope.role_of(Path::new(path)), weight, "{path}");
        }
    }

    #[test]
    fn a_single_file_is_watched_by_way_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::write(dir.join("a.md"), "a").unwrap();
        let roots = Roots::open(&[dir.join("a.md")]).unwrap();
        let scope = WatchScope::new(&roots, &dir.join("index"), &[]);
        let place = WatchedPlace {
            path: dir.clone(),
            recursive: false,
        };
        assert_eq!(scope.places(), [place]);
        assert_eq!(scope.role_of(&dir.join("a.md")), PathRole::File);
        assert_eq!(scope.role_of(&dir.join("b.md")), PathRole::None);
    }

    #[test]
    fn a_base_within_the_data_folder_is_not_apart() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().canonicalize().unwrap();
        for folder in ["demo-kb", "index"] {
            fs::create_dir(data.join(folder)).unwrap();
        }
        let roots = Roots::open(&[data.join("demo-kb")]).unwrap();
        let apart = [data.clone(), data.join("logs")];
        let scope = WatchScope::new(&roots, &data.join("index"), &apart);
        assert_eq!(scope.role_of(&data.join("demo-kb/a.md")), PathRole::File);
        assert_eq!(scope.role_of(&data.join("logs/a.log")), PathRole::None);
    }

    #[test]
    fn what_the_rules_leave_out_is_sifted_out_folder_by_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("target/debug/deps")).unwrap();
        fs::create_dir(root.join("notes")).unwrap();
        fs::write(root.join(".gitignore"), "target/\n").unwrap();
        let roots = Roots::open(std::slice::from_ref(&root)).unwrap();
        let scope = WatchScope::new(&roots, Path::new("/nowhere"), &[]);
        let paths = ["notes/a.md", "target/debug/deps/x.txt", "gone/b.md", "c.md"];
        let (kept, ignored) = scope.sift(paths.iter().map(|path| root.join(path)).collect());
        let expected = ["c.md", "gone/b.md", "notes/a.md"].map(|path| root.join(path));
        assert_eq!(kept, expected);
        assert_eq!(ignored, [root.join("target")]);
    }

    #[test]
    fn only_the_folders_that_the_walk_looks_into_are_watched() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [
            "web/node_modules/a/b",
            "web/src",
            ".hidden/x",
            ".git/info",
            "data",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("web/.gitignore"), "node_modules\n").unwrap();
        let roots = Roots::open(std::slice::from_ref(&root)).unwrap();
        let scope = WatchScope::new(&roots, &root.join("data"), &[]);
        let names = |from: &Path| -> Vec<String> {
            let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            let mut names: Vec<String> = scope.folders(from).into_iter().map(below).collect();
            names.sort();
            names
        };
        assert_eq!(names(&root), ["", ".git/info", "web", "web/src"]);
        assert_eq!(names(&root.join("web")), ["web", "web/src"]);
        assert!(names(&root.join("web/node_modules/a")).is_empty());
    }
}
