//! What changes in the folders, and what the index makes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use kb_agent::kb::{Hit, KnowledgeBase, SearchMode, SkipReason, UpdateReport};
use tokio_util::sync::CancellationToken;

use super::{Bench, counts, sources, update};

impl Bench {
    /// Where a file of that name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.docs.path().join(name)
    }
}

fn added_changed_moved_removed(report: &UpdateReport) -> [usize; 4] {
    [report.added, report.changed, report.moved, report.removed]
}

#[test]
fn an_edit_of_the_same_size_within_a_tick_of_the_clock_is_seen() {
    let bench = Bench::new(&[("a.md", "# A\n\nword0000\n"), ("b.md", "# B\n\nother\n")]);
    let base = bench.indexed();
    for n in 1..20 {
        let before = fs::metadata(bench.path("a.md"))
            .unwrap()
            .modified()
            .unwrap();
        bench.write("a.md", format!("# A\n\nword{n:04}\n"));
        // Also where the editor puts the old time back.
        let file = fs::File::options().write(true).open(bench.path("a.md"));
        file.unwrap().set_modified(before).unwrap();
        assert_eq!(counts(&update(&base)), [0, 1, 0, 1, 1], "edit {n}");
        let hits = base
            .search(SearchMode::Hybrid, &format!("word{n:04}"), 1)
            .unwrap();
        assert!(hits[0].text.contains(&format!("word{n:04}")), "edit {n}");
    }
}

#[test]
fn a_document_that_no_one_waited_for_stays_as_it_was_and_is_read_next_time() {
    let page = |word: &str, rows: usize| {
        let row = "<tr><td>one</td><td>two</td></tr>".repeat(rows);
        format!("<html><body><p>The word is {word}.</p><table>{row}</table></body></html>")
    };
    let bench = Bench::new(&[("a.md", "alpha\n"), ("slow.html", &page("heron", 1))]);
    let base = bench.indexed();
    bench.write("a.md", "beta\n");
    bench.write("slow.html", page("magpie", 20_000));
    let cancel = CancellationToken::new();
    // The first of the two is read, and the other takes much longer.
    let report = base.update_words(
        &|progress| {
            if progress.done > 0 {
                cancel.cancel();
            }
        },
        &cancel,
    );
    let report = report.unwrap();
    assert_eq!(report.changed, 1);
    assert_eq!(report.removed, 0);
    assert_eq!(report.documents, 2);
    assert_eq!(report.skipped, []);
    let first = |word| sources(&base, SearchMode::Lexical, word).into_iter().next();
    assert_eq!(first("heron").as_deref(), Some("slow.html"));
    let report = base
        .update_words(&|_| {}, &CancellationToken::new())
        .unwrap();
    assert_eq!((report.changed, report.documents), (1, 2));
    assert_eq!(first("magpie").as_deref(), Some("slow.html"));
}

#[test]
fn a_moved_document_is_reported_and_not_embedded_again() {
    let bench = Bench::new(&[
        ("old/a.md", "# A\n\nalpha text\n"),
        ("old/b.md", "# B\n\nbeta text\n"),
        ("c.md", "# C\n\ngamma text\n"),
    ]);
    let base = bench.indexed();
    fs::rename(bench.path("old"), bench.path("new")).unwrap();
    // One more of the same is a new document.
    bench.write("copy.md", "# A\n\nalpha text\n");
    let report = update(&base);
    assert_eq!(added_changed_moved_removed(&report), [1, 0, 2, 0]);
    assert_eq!((report.embedded, report.documents), (0, 4));
    assert_eq!(sources(&base, SearchMode::Hybrid, "beta")[0], "new/b.md");
    let mut found = sources(&base, SearchMode::Vector, "alpha text");
    found.truncate(2);
    assert_eq!(found, ["copy.md", "new/a.md"]);
}

#[test]
fn a_rule_file_takes_documents_out_and_brings_them_back() {
    let bench = Bench::new(&[
        ("sub/a.md", "# A\n\nalpha text\n"),
        ("sub/a.log", "alpha log\n"),
        ("b.log", "beta log\n"),
    ]);
    let base = bench.indexed();
    bench.write("sub/.gitignore", "*.log\n");
    assert_eq!(added_changed_moved_removed(&update(&base)), [0, 0, 0, 1]);
    bench.write(".ignore", "b.log\n");
    assert_eq!(added_changed_moved_removed(&update(&base)), [0, 0, 0, 1]);
    assert_eq!(base.status().documents, 1);
    fs::remove_file(bench.path("sub/.gitignore")).unwrap();
    assert_eq!(added_changed_moved_removed(&update(&base)), [1, 0, 0, 0]);
}

#[test]
fn a_root_that_is_not_there_keeps_its_documents_and_a_file_that_is_not_does_not() {
    let bench = Bench::new(&[
        ("one/a.md", "alpha\n"),
        ("two/a.md", "beta\n"),
        ("c.md", "gamma\n"),
    ]);
    let roots = ["one", "two", "c.md"].map(|name| bench.path(name));
    let base = bench.open_roots(&roots);
    update(&base);
    fs::rename(bench.path("one"), bench.path("away")).unwrap();
    fs::remove_file(bench.path("two/a.md")).unwrap();
    fs::remove_file(bench.path("c.md")).unwrap();
    let report = update(&base);
    assert_eq!((report.removed, report.documents), (2, 1));
    let skipped = report.skipped.iter();
    let away: Vec<_> = skipped.filter(|s| s.reason == SkipReason::Away).collect();
    assert_eq!(away.len(), 1, "{:?}", report.skipped);
    assert!(away[0].path.ends_with("/one"), "{}", away[0].path);
    assert_eq!(sources(&base, SearchMode::Lexical, "alpha"), ["one/a.md"]);
    bench.write("away/a.md", "delta\n");
    fs::rename(bench.path("away"), bench.path("one")).unwrap();
    let report = update(&base);
    assert_eq!((report.changed, report.documents), (1, 1));
    let mut skipped = report.skipped.iter();
    assert!(skipped.all(|s| s.reason != SkipReason::Away));
    assert_eq!(sources(&base, SearchMode::Lexical, "delta"), ["one/a.md"]);
}

/// A passage is found with the same scores, ranks and order whatever the index went through.
#[test]
fn an_index_that_saw_many_changes_answers_like_a_fresh_one() {
    let bench = Bench::new(&[]);
    let text = |n: usize, version: usize| {
        let words = ["router", "grade", "evidence", "plan", "graph", "index"];
        let said: Vec<&str> = (0..6 + (n * 7 + version) % 9)
            .map(|at| words[(n + at * version + at * at) % words.len()])
            .collect();
        format!(
            "# Doc {n}\n\n{}\n\n## More\n\n{} shared words\n",
            said.join(" "),
            words[n % 6]
        )
    };
    for n in 0..60 {
        bench.write(&format!("f{n:02}.md"), text(n, 1));
    }
    let base = bench.indexed();
    for version in 2..14 {
        for n in (version % 5..60).step_by(5) {
            bench.write(&format!("f{n:02}.md"), text(n, version));
        }
        let _ = fs::remove_file(bench.path(&format!("f{:02}.md", version * 4)));
        bench.write(&format!("g{version:02}.md"), text(version, 3));
        update(&base);
    }
    let fresh = Bench {
        docs: tempfile::tempdir().unwrap(),
        home: tempfile::tempdir().unwrap(),
        embedder: bench.embedder.clone(),
    };
    let other = fresh.open_roots(&[bench.docs.path().to_owned()]);
    update(&other);
    assert_eq!(base.status(), other.status());
    let ask = |base: &KnowledgeBase, mode, query: &str| -> Vec<Hit> {
        base.search(mode, query, 20).unwrap()
    };
    for mode in [SearchMode::Hybrid, SearchMode::Vector] {
        for query in [
            "router",
            "evidence plan",
            "shared words graph index",
            "doc 7",
        ] {
            assert_eq!(ask(&base, mode, query), ask(&other, mode, query), "{query}");
        }
    }
}

#[test]
fn many_small_changes_do_not_leave_many_segments() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let base = bench.indexed();
    for n in 0..40 {
        bench.write(&format!("f{}.md", n % 7), format!("# F\n\nversion {n}\n"));
        update(&base);
    }
    let segments = files_with(&bench.index(), "store");
    assert!(segments < 10, "{segments} segments");
    assert_eq!(files_with(&bench.index(), "bin"), 1);
}

fn files_with(folder: &Path, extension: &str) -> usize {
    let files = super::files_below(folder).into_iter();
    files
        .filter(|(path, _)| path.extension().is_some_and(|end| end == extension))
        .count()
}

#[test]
fn short_documents_are_embedded_before_long_ones() {
    let sections = |n: usize| -> String {
        let parts: Vec<String> = (0..n)
            .map(|at| format!("## Part {at}\n\nline {at} of {n}\n"))
            .collect();
        parts.join("\n")
    };
    let bench = Bench::new(&[
        ("a-log.md", &sections(60)),
        ("z-note.md", "# Note\n\nomega words\n"),
    ]);
    let base = bench.open();
    let cancel = CancellationToken::new();
    let halt = |progress: kb_agent::kb::Progress| {
        if progress.phase == kb_agent::kb::Phase::Embedding && progress.done > 0 {
            cancel.cancel();
        }
    };
    base.update(&halt, &cancel).unwrap();
    assert_eq!(
        sources(&base, SearchMode::Vector, "omega words")[0],
        "z-note.md"
    );
    assert!(base.status().pending > 0);
}

#[test]
fn who_has_more_urgent_things_to_do_all_the_time_still_gets_on() {
    let notes: Vec<(String, String)> = (0..40)
        .map(|n| (format!("{n}.md"), format!("# Note\n\nnumber {n}\n")))
        .collect();
    let notes: Vec<(&str, &str)> = notes
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let bench = Bench::new(&notes);
    let base = bench.open();
    let (cancel, pause) = (CancellationToken::new(), CancellationToken::new());
    pause.cancel();
    base.update_words(&|_| {}, &cancel).unwrap();
    for left in [24, 8, 0] {
        base.embed_some(&|_| {}, &pause, &cancel).unwrap();
        assert_eq!(base.status().pending, left);
    }
}

#[test]
fn a_saved_file_need_not_wait_until_everything_is_embedded() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let (first, second) = (bench.open(), bench.open());
    let seen = AtomicBool::new(false);
    let meanwhile = |progress: kb_agent::kb::Progress| {
        if progress.phase == kb_agent::kb::Phase::Embedding && !seen.swap(true, Ordering::Relaxed) {
            bench.write("b.md", "# B\n\nbeta text\n");
            let report = second.update_words(&|_| {}, &CancellationToken::new());
            assert_eq!(report.unwrap().added, 1);
            assert_eq!(sources(&second, SearchMode::Hybrid, "beta"), ["b.md"]);
        }
    };
    let cancel = CancellationToken::new();
    let report = first.update(&meanwhile, &cancel).unwrap();
    assert!(seen.load(Ordering::Relaxed));
    // What came meanwhile is embedded too.
    assert_eq!(report.embedded, 2);
    assert_eq!((first.status().documents, first.status().pending), (2, 0));
}

#[test]
fn a_search_never_mixes_two_commits() {
    let write = |bench: &Bench, n: usize| {
        for name in ["a.md", "b.md", "c.md"] {
            bench.write(name, format!("# Doc\n\nversion token{n} in {name}\n"));
        }
    };
    let bench = Bench::new(&[]);
    write(&bench, 0);
    let writer = bench.indexed();
    let look = |reader: &KnowledgeBase| {
        let hits = reader.search(SearchMode::Hybrid, "version", 10).unwrap();
        let said: Vec<_> = hits
            .iter()
            .map(|hit| hit.text.split_whitespace().nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(said.len(), 3, "{hits:?}");
        assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
    };
    bench.read_while(look, || {
        for n in 1..15 {
            write(&bench, n);
            update(&writer);
        }
    });
}

#[test]
fn trust_what_other_versions_left_stays_and_vectors_of_unused_models_go_when_theirs_are_complete() {
    let mut bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let home = bench.index().parent().unwrap().to_owned();
    fs::create_dir(home.join("v2")).unwrap();
    fs::write(home.join("v2/documents-1.json"), "{}").unwrap();
    bench.embedder = other_model();
    let base = bench.open();
    assert_eq!(base.status().pending, 1);
    assert_eq!(files_with(&home, "keys"), 1);
    update(&base);
    assert!(home.join("v2/documents-1.json").exists());
    assert_eq!(files_with(&home, "keys"), 1);
    assert_eq!(sources(&base, SearchMode::Vector, "alpha"), ["a.md"]);
}

#[test]
fn vectors_that_somebody_uses_stay_until_no_one_does() {
    let mut bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let first = bench.indexed();
    let home = bench.index().parent().unwrap().to_owned();
    bench.embedder = other_model();
    let second = bench.indexed();
    assert_eq!(files_with(&home, "keys"), 2);
    first.refresh().unwrap();
    assert_eq!(sources(&first, SearchMode::Vector, "alpha"), ["a.md"]);
    assert_eq!((first.status().pending, second.status().pending), (0, 0));
    drop(first);
    // Nothing is left to embed, and what no one uses goes all the same.
    assert_eq!(update(&second).embedded, 0);
    assert_eq!(files_with(&home, "keys"), 1);
    assert_eq!(sources(&second, SearchMode::Vector, "alpha"), ["a.md"]);
}

#[test]
fn while_there_is_nothing_to_embed_no_vectors_of_others_go() {
    let mut bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let home = bench.index().parent().unwrap().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(bench.path("a.md"), elsewhere.path().join("a.md")).unwrap();
    bench.embedder = other_model();
    update(&bench.open());
    assert_eq!(files_with(&home, "keys"), 1);
}

fn other_model() -> std::sync::Arc<super::WordEmbedder> {
    std::sync::Arc::new(super::WordEmbedder {
        model: "another".to_owned(),
        ..super::WordEmbedder::default()
    })
}
