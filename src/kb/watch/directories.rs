//! Which folders the system watches.
//!
//! A folder is watched with all that lies below it where the system does that. Where it watches
//! folder by folder, it is asked for those that the walk looks into and for no others: one
//! `node_modules` that the rules leave out has more folders than may be watched. One that is barred
//! is left out, and what appears is added as it appears.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use notify::{ErrorKind, RecursiveMode, Watcher, WatcherKind};

use super::scope::WatchedPlace;

/// The watched folders, and those that cannot be watched.
#[derive(Debug, Default)]
pub(super) struct WatchedDirectories {
    /// The places, and whether with all that lies below them.
    places: HashMap<PathBuf, bool>,
    /// Folders that are watched without what lies below them: that is watched for itself.
    single: HashSet<PathBuf>,
    /// Folders that cannot be watched, and what the system says.
    barred: BTreeMap<PathBuf, String>,
}

/// The folders at and below one that the walk looks into, those above before those below.
pub(super) type Folders<'a> = &'a dyn Fn(&Path) -> Vec<PathBuf>;

/// How watching a place came out.
#[derive(Debug)]
pub(super) enum WatchOutcome {
    /// The place is watched now and was not before.
    New,
    /// The place was watched before.
    Known,
    /// The place does not exist.
    Missing,
}

impl WatchedDirectories {
    /// Watches a place if it is not watched yet; `folders` says which folders the walk looks into
    /// from there. An error says that the system cannot watch it, or no more folders at all.
    pub fn watch<W: Watcher>(
        &mut self,
        system: &mut W,
        place: &WatchedPlace,
        folders: Folders<'_>,
    ) -> Result<WatchOutcome, notify::Error> {
        let known = self.places.get(&place.path);
        if known.is_some_and(|all| *all || !place.recursive) {
            return Ok(WatchOutcome::Known);
        }
        let _ = system.unwatch(&place.path);
        let refused = if place.recursive {
            self.below(system, &place.path, folders)
        } else {
            system.watch(&place.path, RecursiveMode::NonRecursive)
        };
        match refused {
            // Also where it vanished in between.
            _ if !place.path.exists() => Ok(WatchOutcome::Missing),
            Ok(()) if self.barred.contains_key(&place.path) => {
                let why = self.barred.remove(&place.path).unwrap_or_default();
                Err(notify::Error::generic(&why))
            }
            Ok(()) => {
                self.places.insert(place.path.clone(), place.recursive);
                Ok(WatchOutcome::New)
            }
            Err(error) => Err(error),
        }
    }

    /// Watches the folders among these that the system does not watch by itself: new ones, and
    /// those that were barred and may not be any more. An error says that no more can be watched.
    pub fn appeared<W: Watcher>(
        &mut self,
        system: &mut W,
        paths: &[PathBuf],
        folders: Folders<'_>,
    ) -> Result<(), notify::Error> {
        let each_for_itself = W::kind() == WatcherKind::Inotify;
        let mut last: Option<&Path> = None;
        for path in paths {
            let is_done = last.is_some_and(|last| path.starts_with(last));
            let is_ours = each_for_itself
                || self.barred.contains_key(path)
                || path
                    .parent()
                    .is_some_and(|above| self.single.contains(above));
            if !is_done && is_ours && !self.places.contains_key(path) && is_folder(path) {
                self.below(system, path, folders)?;
                last = Some(path);
            }
        }
        Ok(())
    }

    /// Forgets that any place is watched: where one was deleted and made again, the system watches the
    /// folder that it was, not the name.
    pub fn forget(&mut self) {
        self.places.clear();
    }

    /// The folders that cannot be watched, and why.
    pub fn barred(&self) -> impl Iterator<Item = (&Path, &str)> {
        let barred = self.barred.iter();
        barred.map(|(path, why)| (path.as_path(), why.as_str()))
    }

    /// Watches this folder with what belongs to it, and ends the watch of what does not any more.
    fn below<W: Watcher>(
        &mut self,
        system: &mut W,
        folder: &Path,
        folders: Folders<'_>,
    ) -> Result<(), notify::Error> {
        let within = |known: &PathBuf| known.starts_with(folder);
        let before: Vec<PathBuf> = self.single.extract_if(within).collect();
        self.barred.retain(|known, _| !known.starts_with(folder));
        if W::kind() != WatcherKind::Inotify {
            match system.watch(folder, RecursiveMode::Recursive) {
                Ok(()) => return Ok(()),
                Err(error) if is_limit(&error) => return Err(error),
                Err(_) => {}
            }
        }
        // A folder that appears between the walk and the watch of the folder above it is in neither:
        // the walk is repeated until it finds no folder that was not tried.
        let mut tried = HashSet::new();
        loop {
            let mut found = folders(folder);
            found.retain(|each| tried.insert(each.clone()));
            if found.is_empty() {
                break;
            }
            for each in found {
                self.watch_one(system, each)?;
            }
        }
        for left in before.iter().filter(|left| !self.single.contains(*left)) {
            let _ = system.unwatch(left);
        }
        Ok(())
    }

    /// Watches one folder without those below it. An error says that no more can be watched.
    fn watch_one<W: Watcher>(
        &mut self,
        system: &mut W,
        folder: PathBuf,
    ) -> Result<(), notify::Error> {
        match system.watch(&folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.single.insert(folder);
            }
            Err(error) if is_limit(&error) => return Err(error),
            // It was there a moment ago: nothing is missed.
            Err(error) if !is_folder(&folder) => {
                tracing::debug!(%error, "a folder vanished before it was watched");
            }
            Err(error) => {
                self.barred.insert(folder, reason(&error));
            }
        }
        Ok(())
    }
}

/// The reason of an error in words for people.
pub(super) fn reason(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the system's limit of watched folders is reached".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::Generic(why) => why.clone(),
        _ => error.to_string(),
    }
}

fn is_limit(error: &notify::Error) -> bool {
    matches!(error.kind, ErrorKind::MaxFilesWatch)
}

/// Whether a path is a folder, and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io;

    use notify::{Config, EventHandler};

    use super::*;

    /// Refuses as a system does that watches folder by folder: at the first that it may not read.
    #[derive(Debug, Default)]
    struct Refusing {
        refused: BTreeSet<PathBuf>,
        most: Option<usize>,
        watched: BTreeMap<PathBuf, bool>,
    }

    impl Refusing {
        fn add(&mut self, path: &Path, recursive: bool) -> notify::Result<()> {
            if self.refused.contains(path) {
                return Err(notify::Error::io(io::ErrorKind::PermissionDenied.into()));
            }
            if self.most.is_some_and(|most| self.watched.len() >= most) {
                return Err(notify::Error::new(ErrorKind::MaxFilesWatch));
            }
            self.watched.insert(path.to_owned(), recursive);
            if !recursive {
                return Ok(());
            }
            let mut folders: Vec<PathBuf> = fs::read_dir(path)?
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| is_folder(path))
                .collect();
            folders.sort();
            folders.iter().try_for_each(|folder| self.add(folder, true))
        }
    }

    impl Watcher for Refusing {
        fn new<F: EventHandler>(_: F, _: Config) -> notify::Result<Self> {
            Ok(Self::default())
        }

        fn watch(&mut self, path: &Path, mode: RecursiveMode) -> notify::Result<()> {
            self.add(path, mode == RecursiveMode::Recursive)
        }

        fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
            self.watched.retain(|known, _| !known.starts_with(path));
            Ok(())
        }

        fn kind() -> WatcherKind {
            WatcherKind::Inotify
        }
    }

    fn all_folders(folder: &Path) -> Vec<PathBuf> {
        let mut found = vec![folder.to_owned()];
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if is_folder(&entry.path()) {
                found.extend(all_folders(&entry.path()));
            }
        }
        found
    }

    struct Tree {
        root: tempfile::TempDir,
        system: Refusing,
        watched: WatchedDirectories,
    }

    impl Tree {
        fn with(folders: &[&str], refused: &[&str]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for folder in folders {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            let refused = refused.iter().map(|path| root.path().join(path)).collect();
            Self {
                system: Refusing {
                    refused,
                    ..Refusing::default()
                },
                root,
                watched: WatchedDirectories::default(),
            }
        }

        fn watch_all(&mut self) -> Result<WatchOutcome, notify::Error> {
            let place = WatchedPlace {
                path: self.root.path().to_owned(),
                recursive: true,
            };
            self.watched.watch(&mut self.system, &place, &all_folders)
        }

        fn watched(&self) -> Vec<String> {
            let below = |path: &PathBuf| {
                let below = path.strip_prefix(self.root.path()).unwrap();
                below.to_string_lossy().into_owned()
            };
            self.system.watched.keys().map(below).collect()
        }

        fn appeared(&mut self, names: &[&str]) {
            let paths: Vec<PathBuf> = names.iter().map(|n| self.root.path().join(n)).collect();
            self.watched
                .appeared(&mut self.system, &paths, &all_folders)
                .unwrap();
        }

        fn barred(&self) -> Vec<PathBuf> {
            self.watched
                .barred()
                .map(|(path, _)| path.to_owned())
                .collect()
        }
    }

    #[test]
    fn a_barred_folder_costs_itself_and_not_the_whole() {
        let mut tree = Tree::with(&["a/b", "c/barred", "c/d/e", "f"], &["c/barred"]);
        assert!(matches!(tree.watch_all(), Ok(WatchOutcome::New)));
        assert_eq!(tree.watched(), ["", "a", "a/b", "c", "c/d", "c/d/e", "f"]);
        let barred = tree.root.path().join("c/barred");
        assert_eq!(tree.barred(), std::slice::from_ref(&barred));
        assert!(matches!(tree.watch_all(), Ok(WatchOutcome::Known)));
        // A folder where the system would not add one by itself, and one within another.
        fs::create_dir_all(tree.root.path().join("c/new/deep")).unwrap();
        tree.appeared(&["c/new", "c/new/deep"]);
        assert!(tree.watched().contains(&"c/new/deep".to_owned()));
        // It can be read now.
        tree.system.refused.clear();
        tree.appeared(&["c/barred"]);
        assert!(tree.system.watched.contains_key(&barred));
        assert!(tree.barred().is_empty());
    }

    #[test]
    fn a_tree_that_appears_with_a_barred_folder_in_it_is_watched_all_the_same() {
        let mut tree = Tree::with(&["a"], &["new/barred"]);
        assert!(matches!(tree.watch_all(), Ok(WatchOutcome::New)));
        fs::create_dir_all(tree.root.path().join("new/barred")).unwrap();
        fs::create_dir_all(tree.root.path().join("new/deep/er")).unwrap();
        tree.appeared(&["new"]);
        assert_eq!(tree.watched(), ["", "a", "new", "new/deep", "new/deep/er"]);
        assert_eq!(tree.barred(), [tree.root.path().join("new/barred")]);
    }

    #[test]
    fn a_folder_that_appears_while_the_others_are_being_watched_is_watched_too() {
        let mut tree = Tree::with(&["a"], &[]);
        let late = tree.root.path().join("late/deep");
        let folders = |folder: &Path| {
            let found = all_folders(folder);
            fs::create_dir_all(&late).unwrap();
            found
        };
        let place = WatchedPlace {
            path: tree.root.path().to_owned(),
            recursive: true,
        };
        tree.watched
            .watch(&mut tree.system, &place, &folders)
            .unwrap();
        assert_eq!(tree.watched(), ["", "a", "late", "late/deep"]);
    }

    #[test]
    fn what_does_not_belong_any_more_is_watched_no_more() {
        let mut tree = Tree::with(&["a", "b/c"], &[]);
        assert!(matches!(tree.watch_all(), Ok(WatchOutcome::New)));
        assert_eq!(tree.watched(), ["", "a", "b", "b/c"]);
        let kept = |folder: &Path| -> Vec<PathBuf> {
            let all = all_folders(folder).into_iter();
            all.filter(|path| !path.ends_with("c")).collect()
        };
        tree.watched.forget();
        let place = WatchedPlace {
            path: tree.root.path().to_owned(),
            recursive: true,
        };
        tree.system.watched.clear();
        tree.watched.watch(&mut tree.system, &place, &kept).unwrap();
        assert_eq!(tree.watched(), ["", "a", "b"]);
    }

    #[test]
    fn what_cannot_be_watched_at_all_is_an_error() {
        let mut tree = Tree::with(&["a"], &[""]);
        let why = reason(&tree.watch_all().unwrap_err());
        assert!(why.contains("permission denied"), "{why}");
        assert!(tree.barred().is_empty());
        let mut tree = Tree::with(&["a/b", "barred", "c"], &["barred"]);
        tree.system.most = Some(3);
        assert!(is_limit(&tree.watch_all().unwrap_err()));
        let mut tree = Tree::with(&["a"], &[]);
        fs::remove_dir_all(tree.root.path()).unwrap();
        assert!(matches!(tree.watch_all(), Ok(WatchOutcome::Missing)));
    }
}
