//! What lies outside the knowledge base is never read, and nothing that is no file is waited for,
//! whatever is put in the place of a file while it is read.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kb_agent::kb::{KnowledgeBase, SearchMode};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tokio_util::sync::CancellationToken;

use crate::kb::{Bench, update};
use crate::workplace::pipe;

const ROUNDS: usize = 150;

/// Swaps two paths again and again while `look` looks.
fn while_swapped(one: &Path, other: &Path, look: impl Fn()) {
    let (cancel, swaps) = (CancellationToken::new(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !cancel.is_cancelled() {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also where an assertion fails.
        let _ends_the_swapping = cancel.drop_guard_ref();
        for _ in 0..ROUNDS {
            look();
        }
        assert!(swaps.load(Ordering::Relaxed) > ROUNDS / 10);
    });
}

fn look_everywhere(base: &KnowledgeBase, path: &str) {
    for hit in base.search(SearchMode::Grep, "zebra", 10).unwrap() {
        assert!(!hit.text.contains("outside"), "{hit:?}");
    }
    if let Ok(resolved) = base.resolve(path)
        && let Ok(read) = base.read(&resolved)
    {
        assert!(!read.text.contains("outside"), "{}", read.text);
    }
}

fn pair(inside: &str) -> (Bench, tempfile::TempDir) {
    let bench = Bench::new(&[
        (inside, "zebra inside\n"),
        ("other.md", "nothing of interest\n"),
    ]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.md"), "zebra outside\n").unwrap();
    (bench, outside)
}

#[test]
fn trust_a_file_swapped_with_a_link_to_outside_gives_out_nothing() {
    let (bench, outside) = pair("a.md");
    let base = bench.indexed();
    let root = bench.docs.path();
    symlink(outside.path().join("a.md"), root.join(".link")).unwrap();
    while_swapped(&root.join("a.md"), &root.join(".link"), || {
        look_everywhere(&base, "a.md");
    });
}

#[test]
fn trust_a_folder_swapped_with_a_link_to_outside_gives_out_nothing() {
    let (bench, outside) = pair("sub/a.md");
    let base = bench.indexed();
    let root = bench.docs.path();
    symlink(outside.path(), root.join(".link")).unwrap();
    while_swapped(&root.join("sub"), &root.join(".link"), || {
        look_everywhere(&base, "sub/a.md");
    });
}

#[test]
fn trust_the_index_takes_up_nothing_from_outside_while_files_are_swapped() {
    let (bench, outside) = pair("a.md");
    let base = bench.indexed();
    let root = bench.docs.path();
    symlink(outside.path().join("a.md"), root.join(".link")).unwrap();
    let rounds = AtomicUsize::new(0);
    while_swapped(&root.join("a.md"), &root.join(".link"), || {
        if !rounds.fetch_add(1, Ordering::Relaxed).is_multiple_of(15) {
            return;
        }
        update(&base);
        for hit in base.search(SearchMode::Lexical, "zebra", 10).unwrap() {
            assert!(!hit.text.contains("outside"), "{hit:?}");
        }
    });
}

#[test]
fn ends_a_search_while_files_are_swapped_with_pipes() {
    let (bench, _) = pair("a.md");
    let base = bench.indexed();
    let root = bench.docs.path();
    pipe(&root.join(".pipe"));
    while_swapped(&root.join("a.md"), &root.join(".pipe"), || {
        look_everywhere(&base, "a.md");
    });
}
