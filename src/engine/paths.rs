//! Folders and files of this machine, for the person who types a path.
//!
//! The screen reads no folder: it asks here. One that does not answer holds up nothing else, and only
//! what was typed last is looked for.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::sync::{mpsc, watch};
use tokio::task::{self, JoinHandle};

use crate::protocol::Update;
use crate::text::sanitize;

/// So many are offered; more letters find the others.
const MOST: usize = 200;
/// So many entries of a folder are looked at.
const MOST_LOOKED_AT: usize = 20_000;

/// Tells what a path may go on to.
pub(super) struct PathLister {
    typed: watch::Sender<String>,
    task: JoinHandle<()>,
}

impl PathLister {
    pub(super) fn new(updates: mpsc::Sender<Update>) -> Self {
        let (typed, mut asked) = watch::channel(String::new());
        let task = tokio::spawn(async move {
            while asked.changed().await.is_ok() {
                let typed = asked.borrow_and_update().clone();
                let begun = typed.clone();
                let listed = task::spawn_blocking(move || listed(&begun)).await;
                let paths = listed.unwrap_or_default();
                let _ = updates.send(Update::Paths { typed, paths }).await;
            }
        });
        Self { typed, task }
    }

    /// Tells what begins so.
    pub(super) fn list(&self, typed: String) {
        self.typed.send_replace(typed);
    }

    /// Waits for the end of what was begun.
    pub(super) async fn end(self) {
        drop(self.typed);
        let _ = self.task.await;
    }
}

/// The path with the home folder in the place of `~`.
pub(super) fn expanded(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").or((path == "~").then_some(""));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

fn listed(typed: &str) -> Vec<String> {
    let (folder, begun) = match typed.rfind('/') {
        Some(at) => typed.split_at(at + 1),
        None => ("", typed),
    };
    let place = match folder {
        "" => PathBuf::from("."),
        folder => expanded(folder),
    };
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let entries = entries.take(MOST_LOOKED_AT).flatten();
    let mut paths: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begun.starts_with('.');
            let is_shown = !name.contains('\n') && sanitize(&name) == name;
            if is_hidden || !is_shown || !name.starts_with(begun) {
                return None;
            }
            Some(format!("{folder}{name}{}", end_of(&entry.path())?))
        })
        .collect();
    paths.sort_unstable();
    paths.truncate(MOST);
    paths
}

/// What the path of a folder or of a file ends with; nothing else is offered.
fn end_of(path: &Path) -> Option<&'static str> {
    let meta = path.metadata().ok()?;
    match (meta.is_dir(), meta.is_file()) {
        (true, _) => Some("/"),
        (_, true) => Some(""),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_a_path_goes_on_to_folders_and_files_that_begin_so() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["house", "hut"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for file in ["hall.md", "ham\u{1b}[2J.md", ".hidden", "house/lease.md"] {
            fs::write(dir.path().join(file), "x").unwrap();
        }
        let root = format!("{}/", dir.path().to_str().unwrap());
        let names = |typed: &str| -> Vec<String> {
            let paths = listed(&format!("{root}{typed}")).into_iter();
            paths.map(|path| path[root.len()..].to_owned()).collect()
        };
        assert_eq!(names("h"), ["hall.md", "house/", "hut/"]);
        assert_eq!(names("house/"), ["house/lease.md"]);
        assert_eq!(names("."), [".hidden"]);
        assert_eq!(names("x"), [] as [&str; 0]);
        assert_eq!(listed("/no/such/folder/"), [] as [&str; 0]);
    }
}
