//! What one saved file costs: a look at that file, whatever else the base holds.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kb_agent::kb::{Changes, KnowledgeBase, SearchMode, SkipReason, UpdateReport, Watch, Woken};
use tokio_util::sync::CancellationToken;

use crate::kb::{Bench, files_below, update};

const FILES: usize = 150;

fn base_of_many() -> (Bench, KnowledgeBase) {
    let bench = Bench::new(&[(".gitignore", "ignored/\n*.log\n")]);
    for n in 0..FILES {
        let text = format!("# Note {n}\n\nThis is note number{n} of them.\n");
        bench.write(&format!("d{}/{n}.md", n % 7), text);
    }
    let base = bench.indexed();
    (bench, base)
}

/// As the watch has it done.
fn changed(base: &KnowledgeBase, bench: &Bench, names: &[&str]) -> UpdateReport {
    let docs = bench.docs.path().canonicalize().unwrap();
    let paths: Vec<PathBuf> = names.iter().map(|name| docs.join(name)).collect();
    let cancel = CancellationToken::new();
    base.update_changed(&Changes::Files(paths), &|_| {}, &cancel)
        .unwrap()
}

fn first(base: &KnowledgeBase, query: &str) -> Option<String> {
    let hits = base.search(SearchMode::Lexical, query, 1).unwrap();
    hits.into_iter().next().map(|hit| hit.source)
}

#[test]
fn r26_a_saved_file_costs_a_look_at_itself() {
    let (bench, base) = base_of_many();
    let journal = || -> (PathBuf, u64) {
        let files = files_below(bench.home.path()).into_iter();
        let mut files = files.filter(|(path, _)| path.extension().is_some_and(|end| end == "bin"));
        let (path, bytes) = files.next().unwrap();
        assert!(files.next().is_none());
        (path, bytes.len() as u64)
    };
    let (path, before) = journal();
    bench.write("d3/3.md", "# Three\n\nA heron stands in the reeds.\n");
    let report = changed(&base, &bench, &["d3/3.md"]);
    assert_eq!((report.looked_at, report.changed), (1, 1));
    assert_eq!((report.documents, report.unchanged), (FILES, FILES - 1));
    assert_eq!(first(&base, "heron").as_deref(), Some("d3/3.md"));
    assert_eq!(first(&base, "number3"), None);
    let (same, after) = journal();
    assert_eq!(
        path, same,
        "what is known of the others is not written again"
    );
    assert!(after > before && after - before < 1024, "{before} {after}");

    bench.write("d3/new.md", "# New\n\nA kingfisher dives.\n");
    fs::remove_file(bench.path("d1/1.md")).unwrap();
    let report = changed(&base, &bench, &["d3/new.md", "d1/1.md"]);
    assert_eq!((report.looked_at, report.added, report.removed), (2, 1, 1));
    assert_eq!(first(&base, "kingfisher").as_deref(), Some("d3/new.md"));
    assert_eq!(first(&base, "number1"), None);
    // A file that says what it said.
    let report = changed(&base, &bench, &["d3/new.md"]);
    assert_eq!((report.looked_at, report.unchanged), (1, FILES));
    // Another process takes over what was written, as one that opens it does.
    let other = bench.open();
    let all = update(&other);
    assert_eq!(all.looked_at, FILES);
    assert_eq!(all.documents, FILES);
    assert_eq!(all.added + all.changed + all.removed, 0, "{all:?}");
    bench.write("d3/3.md", "# Three\n\nThe heron is gone, an egret came.\n");
    changed(&base, &bench, &["d3/3.md"]);
    other.refresh().unwrap();
    assert_eq!(first(&other, "egret").as_deref(), Some("d3/3.md"));
    assert_eq!(other.status(), base.status());
}

#[test]
fn r26_where_a_path_does_not_tell_what_changed_everything_is_looked_at() {
    let (bench, base) = base_of_many();
    // What the rules leave out, and what is hidden.
    for name in ["ignored/a.md", "d1/noise.log", "d1/.hidden.md"] {
        bench.write(name, "# Left out\n\nA bittern booms.\n");
        let report = changed(&base, &bench, &[name]);
        assert_eq!((report.looked_at, report.added), (1, 0), "{name}");
    }
    assert_eq!(first(&base, "bittern"), None);
    // A folder that came, one that went, one that is called otherwise.
    fs::create_dir(bench.path("e")).unwrap();
    bench.write("e/a.md", "# A\n\nA grebe.\n");
    let report = changed(&base, &bench, &["e"]);
    assert_eq!((report.looked_at, report.added), (FILES + 1, 1));
    fs::rename(bench.path("e"), bench.path("f")).unwrap();
    let report = changed(&base, &bench, &["e"]);
    assert_eq!((report.looked_at, report.moved), (FILES + 1, 1));
    fs::remove_dir_all(bench.path("f")).unwrap();
    let report = changed(&base, &bench, &["f/a.md"]);
    assert_eq!((report.looked_at, report.removed), (FILES, 1));
    // The first update of a process knows nothing yet.
    drop(base);
    let base = bench.open();
    let report = changed(&base, &bench, &["d1/8.md"]);
    assert_eq!(report.looked_at, FILES);
    let report = changed(&base, &bench, &["d1/8.md"]);
    assert_eq!(report.looked_at, 1);
}

#[test]
fn r26_what_cannot_be_read_elsewhere_is_still_known() {
    let (bench, base) = base_of_many();
    bench.write("torn.pdf", "%PDF-1.7\nand no more");
    let names = |report: &UpdateReport| -> Vec<String> {
        let skipped = report.skipped.iter();
        skipped.map(|skipped| skipped.path.clone()).collect()
    };
    assert_eq!(names(&update(&base)), ["torn.pdf"]);
    bench.write("d1/1.md", "# One\n\nOne more.\n");
    let report = changed(&base, &bench, &["d1/1.md"]);
    assert_eq!(report.looked_at, 1);
    assert_eq!(names(&report), vec!["torn.pdf".to_owned()]);
    assert!(matches!(report.skipped[0].reason, SkipReason::Damaged(_)));
    fs::remove_file(bench.path("torn.pdf")).unwrap();
    let report = changed(&base, &bench, &["torn.pdf"]);
    assert_eq!((report.looked_at, report.skipped.len()), (1, 0));
}

#[test]
fn r26_many_saves_leave_an_index_like_a_fresh_one_and_a_short_journal() {
    let (bench, base) = base_of_many();
    let cancel = CancellationToken::new();
    let mut seed = 7_usize;
    for round in 0..60 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let n = (seed >> 33) % 20;
        let name = format!("d{}/{n}.md", n % 7);
        if round % 5 == 4 {
            let _ = fs::remove_file(bench.path(&name));
        } else {
            // Some say the same.
            let text = format!("# Note\n\ncommon words, number{}\n", (seed >> 40) % 12);
            bench.write(&name, text);
        }
        changed(&base, &bench, &[&name]);
        if round % 3 == 0 {
            base.embed_pending(&|_| {}, &cancel).unwrap();
        }
        if round % 10 == 0 {
            let other = bench.open();
            assert_eq!(other.status(), base.status(), "round {round}");
        }
    }
    base.embed_pending(&|_| {}, &cancel).unwrap();
    assert_eq!(base.status().pending, 0);
    let fresh = tempfile::tempdir().unwrap();
    let roots = [bench.docs.path().to_owned()];
    let embedder = std::sync::Arc::clone(&bench.embedder);
    let other = KnowledgeBase::open(&roots, fresh.path(), embedder).unwrap();
    update(&other);
    assert_eq!(other.status(), base.status());
    for mode in [SearchMode::Lexical, SearchMode::Vector, SearchMode::Hybrid] {
        for query in ["common words", "number5", "note"] {
            let ask = |base: &KnowledgeBase| format!("{:?}", base.search(mode, query, 30).unwrap());
            assert_eq!(ask(&base), ask(&other), "{query}");
        }
    }
}

/// What the watch says next.
fn next(watch: &Watch) -> Changes {
    match watch.next(Some(Duration::from_mins(1))) {
        Woken::Changed(changes) => changes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn r26_the_watch_hands_on_what_has_changed() {
    let (bench, base) = base_of_many();
    let watch = Watch::new();
    watch.begin(&base, &[]);
    assert_eq!(watch.notice(), None);
    let docs = bench.docs.path().canonicalize().unwrap();
    bench.write("d3/3.md", "# Three\n\nA heron stands in the reeds.\n");
    assert_eq!(next(&watch), Changes::Files(vec![docs.join("d3/3.md")]));
    // New rules say anew what belongs to the base; what they leave out is heard of no more.
    bench.write("d3/.gitignore", "3.md\n");
    assert_eq!(next(&watch), Changes::Everything);
    bench.write("web/node_modules/a/b.md", "# B\n\nin a package\n");
    bench.write("web/.gitignore", "node_modules\n");
    next(&watch);
    bench.write("web/node_modules/a/c.md", "# C\n\nin a package\n");
    bench.write("d2/2.md", "# Two\n\nanother\n");
    loop {
        match next(&watch) {
            Changes::Everything => {}
            Changes::Files(files) => {
                let ours = |path: &PathBuf| !path.to_string_lossy().contains("node_modules");
                assert!(files.iter().all(ours), "{files:?}");
                if files.contains(&docs.join("d2/2.md")) {
                    break;
                }
            }
        }
    }
}
