//! The knowledge base over real folders and a real index.

mod changes;

#[cfg(unix)]
use crate::workplace::pipe;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kb_agent::agent::ports::{EmbedError, Embedder, ToolError};
use kb_agent::kb::{
    Extraction, KbError, KnowledgeBase, Phase, SearchMode, SkipReason, UpdateReport, chunk,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Hashed words, normalised: alike where words are alike, and always the same.
#[derive(Default)]
pub struct WordEmbedder {
    /// Texts embedded so far.
    pub count: AtomicUsize,
    /// Whether every call fails.
    pub broken: AtomicBool,
    /// The model's name.
    pub model: String,
}

impl Embedder for WordEmbedder {
    fn model_id(&self) -> &str {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(EmbedError("on purpose".into()));
        }
        self.count.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector_of(text)).collect())
    }

    fn knows(&self, _word: &str) -> bool {
        false
    }
}

fn vector_of(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; 128];
    let folded = text.to_lowercase();
    for word in folded.split(|c: char| !c.is_alphanumeric()) {
        if word.len() > 2 {
            let hash = word.bytes().fold(17_u64, |hash, byte| {
                hash.wrapping_mul(1_099_511_628_211) ^ u64::from(byte)
            });
            vector[(hash % 128) as usize] += 1.0;
        }
    }
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in &mut vector {
            *value /= norm;
        }
    } else {
        vector[0] = 1.0;
    }
    vector
}

/// A folder with documents and a place for its index.
pub struct Bench {
    pub docs: TempDir,
    pub home: TempDir,
    pub embedder: Arc<WordEmbedder>,
}

impl Bench {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self {
            docs: tempfile::tempdir().unwrap(),
            home: tempfile::tempdir().unwrap(),
            embedder: Arc::default(),
        };
        for (path, text) in files {
            bench.write(path, text);
        }
        bench
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.docs.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn open(&self) -> KnowledgeBase {
        self.open_roots(&[self.docs.path().to_owned()])
    }

    pub fn open_roots(&self, roots: &[PathBuf]) -> KnowledgeBase {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        KnowledgeBase::open(roots, self.home.path(), embedder).unwrap()
    }

    pub fn indexed(&self) -> KnowledgeBase {
        let base = self.open();
        update(&base);
        base
    }

    /// Two readers look again and again for as long as the writing takes.
    fn read_while(&self, look: impl Fn(&KnowledgeBase) + Sync, write: impl FnOnce()) {
        let cancel = CancellationToken::new();
        std::thread::scope(|scope| {
            // Also where the writing fails.
            let _ends_the_reading = cancel.drop_guard_ref();
            for _ in 0..2 {
                scope.spawn(|| {
                    let reader = self.open();
                    while !cancel.is_cancelled() {
                        reader.refresh().unwrap();
                        look(&reader);
                    }
                });
            }
            write();
        });
    }
}

pub fn update(base: &KnowledgeBase) -> UpdateReport {
    base.update(&|_| {}, &CancellationToken::new()).unwrap()
}

fn sources(base: &KnowledgeBase, mode: SearchMode, query: &str) -> Vec<String> {
    base.search(mode, query, 10)
        .unwrap()
        .into_iter()
        .map(|hit| hit.source)
        .collect()
}

fn counts(report: &UpdateReport) -> [usize; 5] {
    [
        report.added,
        report.changed,
        report.removed,
        report.unchanged,
        report.embedded,
    ]
}

#[test]
fn what_cannot_be_read_is_listed_and_never_stops_the_rest() {
    let bench = Bench::new(&[
        ("good.md", "# Good\n\nA plain document.\n"),
        (".hidden.md", "# Hidden\n"),
        ("ignored.log", "noise\n"),
        (".gitignore", "*.log\n"),
        ("empty.txt", ""),
    ]);
    bench.write("image.png", b"\x89PNG\0\0\0data");
    bench.write(
        "latin.txt",
        b"d\xe9j\xe0 vu, caf\xe9, gar\xe7on, \xe9t\xe9".as_slice(),
    );
    bench.write("slip.txt", b"one broken byte \xff in a text".as_slice());
    bench.write("huge.txt", "x".repeat(10 * 1024 * 1024 + 1));
    let base = bench.open();
    let report = update(&base);
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|s| (s.path.as_str(), s.reason.clone()))
        .collect();
    assert_eq!(
        skipped,
        vec![
            ("huge.txt", SkipReason::LargeText(10 * 1024 * 1024 + 1)),
            ("image.png", SkipReason::Picture),
        ]
    );
    assert_eq!(report.documents, 4);
    assert_eq!(
        sources(&base, SearchMode::Hybrid, "broken byte")[0],
        "slip.txt"
    );
    assert_eq!(
        sources(&base, SearchMode::Grep, "garçon"),
        ["latin.txt"],
        "in another encoding"
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_loops_end() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "secret words\n").unwrap();
    let bench = Bench::new(&[("folder/a.md", "# A\n\nhello\n"), ("locked.md", "locked\n")]);
    let root = bench.docs.path();
    symlink(root, root.join("folder/loop")).unwrap();
    symlink(outside.path().join("secret.md"), root.join("leak.md")).unwrap();
    symlink(outside.path(), root.join("leaks")).unwrap();
    fs::set_permissions(root.join("locked.md"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything, so the lock shows only for other users.
    let locked = usize::from(fs::read(root.join("locked.md")).is_err());
    let base = bench.open();
    let report = update(&base);
    assert_eq!(report.documents, 2 - locked);
    assert_eq!(report.skipped.len(), 2 + locked);
    assert!(
        base.search(SearchMode::Grep, "secret", 10)
            .unwrap()
            .is_empty()
    );
    for path in ["leak.md", "leaks/secret.md", "../x.md"] {
        assert!(
            matches!(base.resolve(path), Err(ToolError::OutsideRoots { .. })),
            "{path}: {:?}",
            base.resolve(path)
        );
    }
    let absolute = outside.path().join("secret.md");
    let asked = absolute.to_str().unwrap();
    assert!(matches!(
        base.resolve(asked),
        Err(ToolError::OutsideRoots { .. })
    ));
    let inside = root.join("folder/../folder/loop/folder/a.md");
    assert!(
        base.resolve(inside.to_str().unwrap())
            .unwrap()
            .ends_with("folder/a.md")
    );
    assert!(matches!(
        base.resolve("no.md"),
        Err(ToolError::NotFound { .. })
    ));
}

#[test]
fn what_is_hidden_or_ignored_cannot_be_named_either() {
    let bench = Bench::new(&[
        (".env", "KEY=1\n"),
        (".gitignore", "private/\n"),
        ("private/a.md", "x\n"),
        ("b.md", "x\n"),
    ]);
    let base = bench.open();
    for path in [".env", "private/a.md", ".gitignore"] {
        assert!(
            matches!(base.resolve(path), Err(ToolError::NotFound { .. })),
            "{path}"
        );
    }
    assert!(base.resolve("b.md").is_ok());
}

#[test]
fn a_missing_root_is_one_line() {
    let bench = Bench::new(&[]);
    let embedder = Arc::clone(&bench.embedder) as Arc<dyn Embedder>;
    let roots = [bench.docs.path().join("nowhere")];
    let Err(error) = KnowledgeBase::open(&roots, bench.home.path(), embedder) else {
        panic!("opened a folder that does not exist");
    };
    assert!(matches!(error, KbError::Root { .. }));
    let line = error.to_string();
    assert!(line.contains("nowhere") && !line.contains('\n'), "{line}");
}

#[test]
fn an_empty_folder_is_a_base_that_finds_nothing() {
    let base = Bench::new(&[]).indexed();
    assert_eq!(base.status().documents, 0);
    for mode in [SearchMode::Vector, SearchMode::Grep, SearchMode::Hybrid] {
        assert!(base.search(mode, "anything", 10).unwrap().is_empty());
        assert!(matches!(
            base.search(mode, "  ", 10),
            Err(KbError::BadQuery(_))
        ));
    }
}

#[test]
fn only_what_changed_is_read_and_embedded_again() {
    let bench = Bench::new(&[
        ("a.md", "# A\n\nalpha text\n\n## Part\n\nsecond part\n"),
        ("b.md", "# B\n\nbeta text\n"),
        ("c.md", "# C\n\ngamma text\n"),
    ]);
    let base = bench.open();
    assert_eq!(counts(&update(&base)), [3, 0, 0, 0, 4]);
    assert_eq!(counts(&update(&base)), [0, 0, 0, 3, 0]);
    // One section changed, one file gone, one moved: only new text is embedded.
    bench.write("a.md", "# A\n\nalpha text\n\n## Part\n\nother words here\n");
    fs::remove_file(bench.docs.path().join("b.md")).unwrap();
    fs::rename(
        bench.docs.path().join("c.md"),
        bench.docs.path().join("d.md"),
    )
    .unwrap();
    let report = update(&base);
    assert_eq!((counts(&report), report.moved), ([0, 1, 1, 0, 1], 1));
    assert!(
        sources(&base, SearchMode::Hybrid, "beta")
            .iter()
            .all(|s| s != "b.md")
    );
    assert_eq!(sources(&base, SearchMode::Hybrid, "gamma text")[0], "d.md");
    // The same text with another time is no change.
    bench.write("d.md", "# C\n\ngamma text\n");
    assert_eq!(counts(&update(&base)), [0, 0, 0, 2, 0]);
    let report = base.rebuild(&|_| {}, &CancellationToken::new()).unwrap();
    assert_eq!(counts(&report), [2, 0, 0, 0, 3]);
    let reopened = bench.open();
    assert_eq!(reopened.status(), base.status());
    assert_eq!(counts(&update(&reopened)), [0, 0, 0, 2, 0]);
}

#[test]
fn a_stopped_embedding_goes_on_where_it_was() {
    let files: Vec<(String, String)> = (0..40)
        .map(|n| {
            (
                format!("f{n:02}.md"),
                format!("# Doc {n}\n\nbody{n} word\n"),
            )
        })
        .collect();
    let bench = Bench::new(&[]);
    for (path, text) in &files {
        bench.write(path, text);
    }
    let base = bench.open();
    let cancel = CancellationToken::new();
    let halt = |progress: kb_agent::kb::Progress| {
        if progress.phase == Phase::Embedding && progress.done > 0 {
            cancel.cancel();
        }
    };
    let report = base.update(&halt, &cancel).unwrap();
    assert!((1..40).contains(&report.embedded), "{report:?}");
    assert_eq!(base.status().pending, 40 - report.embedded);
    drop(base);
    // The words are there at once, the rest follows without doing anything twice.
    let base = bench.open();
    assert_eq!(base.status().pending, 40 - report.embedded);
    assert_eq!(sources(&base, SearchMode::Hybrid, "body39")[0], "f39.md");
    assert_eq!(counts(&update(&base)), [0, 0, 0, 40, 40 - report.embedded]);
    assert_eq!(base.status().pending, 0);
    assert_eq!(bench.embedder.count.load(Ordering::Relaxed), 40 + 1);
}

#[test]
fn a_failing_embedding_leaves_the_words_searchable() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    bench.embedder.broken.store(true, Ordering::Relaxed);
    let base = bench.open();
    let error = base.update(&|_| {}, &CancellationToken::new()).unwrap_err();
    assert!(matches!(error, KbError::Embed(_)), "{error}");
    assert_eq!(sources(&base, SearchMode::Hybrid, "alpha"), ["a.md"]);
    assert!(base.search(SearchMode::Vector, "alpha", 10).is_err());
}

#[test]
fn another_model_gets_its_own_vectors() {
    let mut bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    bench.indexed();
    bench.embedder = Arc::new(WordEmbedder {
        model: "another".to_owned(),
        ..WordEmbedder::default()
    });
    let base = bench.open();
    assert_eq!(base.status().pending, 1);
    assert_eq!(counts(&update(&base)), [0, 0, 0, 1, 1]);
}

#[test]
fn a_second_writer_is_reported_and_goes_on_reading() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let (first, second) = (bench.open(), bench.open());
    let seen = AtomicBool::new(false);
    let while_writing = |progress: kb_agent::kb::Progress| {
        if progress.phase == Phase::Embedding && !seen.swap(true, Ordering::Relaxed) {
            let error = second
                .update(&|_| {}, &CancellationToken::new())
                .unwrap_err();
            assert!(matches!(error, KbError::Locked), "{error}");
            assert_eq!(sources(&second, SearchMode::Hybrid, "alpha"), ["a.md"]);
        }
    };
    first
        .update(&while_writing, &CancellationToken::new())
        .unwrap();
    assert!(seen.load(Ordering::Relaxed));
    assert_eq!(counts(&update(&second)), [0, 0, 0, 1, 0]);
    assert_eq!(second.status().pending, 0);
}

#[test]
fn a_broken_index_is_made_anew() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let index = bench.index();
    fs::write(index.join("lexical/meta.json"), "{ not json").unwrap();
    let base = bench.indexed();
    assert_eq!(sources(&base, SearchMode::Hybrid, "alpha"), ["a.md"]);
    drop(base);
    for entry in fs::read_dir(&index).unwrap().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("documents-")
        {
            fs::write(entry.path(), "[").unwrap();
        }
    }
    let base = bench.open();
    assert_eq!(counts(&update(&base))[0], 1);
    assert_eq!(sources(&base, SearchMode::Hybrid, "alpha"), ["a.md"]);
}

#[test]
fn a_manifest_without_its_commit_does_not_count() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    // What a kill between the two writes leaves behind.
    fs::write(bench.index().join("documents-2.bin"), "orphan").unwrap();
    let base = bench.open();
    assert_eq!(base.status().documents, 1);
    bench.write("b.md", "# B\n\nbeta text\n");
    assert_eq!(counts(&update(&base)), [1, 0, 0, 1, 1]);
    assert_eq!(bench.open().status().documents, 2);
}

#[test]
fn identifiers_and_chinese_are_found_by_their_words() {
    let bench = Bench::new(&table![
        "zh.md", "# 路由\n\n快速路径可以跳过评分节点。\n";
        "ids.md", "# Settings\n\nSee PROJ-123 about max_retry_count and HttpServer.\n";
        "other.md", "# Other\n\nPROJ-124 is about gardens and 苹果。\n";
    ]);
    let base = bench.indexed();
    for (query, source) in [
        ("快速路径", "zh.md"),
        ("评分", "zh.md"),
        ("PROJ-123", "ids.md"),
        ("max_retry_count", "ids.md"),
        ("retry", "ids.md"),
        ("httpserver", "ids.md"),
        ("server", "ids.md"),
    ] {
        let hits = base.search(SearchMode::Hybrid, query, 10).unwrap();
        assert_eq!(hits[0].source, source, "{query}");
        assert_eq!(hits[0].measured.lexical_rank, Some(1), "{query}");
    }
    assert_eq!(
        sources(&base, SearchMode::Grep, "什么是快速路径")[0],
        "zh.md"
    );
}

#[test]
fn several_roots_have_names_of_their_own() {
    let bench = Bench::new(&[
        ("one/docs/a.md", "alpha one\n"),
        ("two/docs/a.md", "alpha two\n"),
        ("single.md", "alpha three\n"),
    ]);
    let at = |path: &str| bench.docs.path().join(path);
    let roots = [
        at("one/docs"),
        at("two/docs"),
        at("single.md"),
        at("one/docs/a.md"),
    ];
    let base = bench.open_roots(&roots);
    update(&base);
    let mut found = sources(&base, SearchMode::Hybrid, "alpha");
    found.sort();
    assert_eq!(found, ["docs-2/a.md", "docs/a.md", "single.md"]);
    for source in &found {
        let path = base.resolve(source).unwrap();
        assert_eq!(base.source_of(&path).as_ref(), Some(source));
    }
    assert!(matches!(
        base.resolve("../single.md"),
        Err(ToolError::OutsideRoots { .. }) | Ok(_)
    ));
    let alone = bench.open_roots(&[at("single.md")]);
    update(&alone);
    assert_eq!(sources(&alone, SearchMode::Hybrid, "alpha"), ["single.md"]);
    assert!(Path::new(&alone.resolve("single.md").unwrap()).ends_with("single.md"));
}

#[test]
fn r14_every_hit_is_exactly_its_lines() {
    let text = "# Title\r\n\r\nFirst paragraph about routing.\r\n\r\n```\ncode here\n```\n\n## Next\n\nrouting again\n";
    let bench = Bench::new(&[("a.md", text)]);
    let base = bench.indexed();
    let lines: Vec<&str> = text.lines().collect();
    for mode in [SearchMode::Vector, SearchMode::Grep, SearchMode::Hybrid] {
        let hits = base.search(mode, "routing", 10).unwrap();
        assert!(!hits.is_empty());
        for hit in hits {
            assert_eq!(
                hit.text,
                lines[hit.lines.start - 1..hit.lines.end].join("\n")
            );
        }
    }
    let document = Extraction::of_text("a.md", text.to_owned());
    assert_eq!(chunk("a.md", &document).1.len(), 2);
}

impl Bench {
    /// Where the only index of this bench is.
    fn index(&self) -> PathBuf {
        let home = fs::read_dir(self.home.path()).unwrap().next().unwrap();
        let entries = fs::read_dir(home.unwrap().path()).unwrap().flatten();
        let mut folders = entries.map(|e| e.path()).filter(|path| path.is_dir());
        folders.next().unwrap()
    }

    fn try_open(&self) -> Result<KnowledgeBase, KbError> {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        KnowledgeBase::open(&[self.docs.path().to_owned()], self.home.path(), embedder)
    }
}

/// Every file below a folder with what it holds.
pub fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn what_the_system_refuses_is_one_line_and_costs_nothing() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    // A folder where a file should be is refused to everybody, root included.
    let meta = bench.index().join("lexical/meta.json");
    let aside = bench.index().join("lexical/aside");
    fs::rename(&meta, &aside).unwrap();
    fs::create_dir(&meta).unwrap();
    let before = files_below(&bench.index());
    let Err(error) = bench.try_open() else {
        panic!("opened an index that cannot be read");
    };
    assert!(matches!(error, KbError::Io { .. }), "{error:?}");
    let line = error.to_string();
    assert!(
        line.contains("lexical/meta.json") && !line.contains('\n'),
        "{line}"
    );
    assert_eq!(files_below(&bench.index()), before);
    fs::remove_dir(&meta).unwrap();
    fs::rename(&aside, &meta).unwrap();
    assert_eq!(counts(&update(&bench.open())), [0, 0, 0, 1, 0]);
    // The same for the list of the documents.
    let manifest = files_below(&bench.index())
        .into_iter()
        .map(|(path, _)| path)
        .find(|path| {
            path.extension().is_some_and(|end| end == "bin")
                && path.parent() == Some(&bench.index())
        })
        .unwrap();
    fs::rename(&manifest, &aside).unwrap();
    fs::create_dir(&manifest).unwrap();
    assert!(matches!(bench.try_open(), Err(KbError::Io { .. })));
    fs::remove_dir(&manifest).unwrap();
    fs::rename(&aside, &manifest).unwrap();
    assert_eq!(counts(&update(&bench.open())), [0, 0, 0, 1, 0]);
}

#[test]
fn a_damaged_lexical_index_is_made_anew_and_keeps_its_vectors() {
    type Damage = fn(&Path);
    let damages: [Damage; 5] = [
        |lexical| fs::write(lexical.join("meta.json"), "{ not json").unwrap(),
        |lexical| fs::write(lexical.join(".managed.json"), "[").unwrap(),
        |lexical| fs::remove_file(lexical.join("meta.json")).unwrap(),
        |lexical| segments(lexical, |path| fs::remove_file(path).unwrap()),
        |lexical| segments(lexical, |path| fs::write(path, "short").unwrap()),
    ];
    for (n, damage) in damages.into_iter().enumerate() {
        let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n"), ("b.md", "# B\n\nbeta\n")]);
        drop(bench.indexed());
        damage(&bench.index().join("lexical"));
        let base = bench.open();
        assert_eq!(counts(&update(&base)), [2, 0, 0, 0, 0], "damage {n}");
        assert_eq!(sources(&base, SearchMode::Hybrid, "alpha")[0], "a.md");
        assert_eq!(sources(&base, SearchMode::Vector, "beta")[0], "b.md");
    }
}

fn segments(lexical: &Path, damage: fn(&Path)) {
    for (path, _) in files_below(lexical) {
        if path
            .extension()
            .is_some_and(|end| end != "json" && end != "lock")
        {
            damage(&path);
        }
    }
}

#[test]
fn a_rebuild_works_where_the_index_cannot_be_opened() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let meta = bench.index().join("lexical/meta.json");
    fs::remove_file(&meta).unwrap();
    fs::create_dir(&meta).unwrap();
    let roots = [bench.docs.path().to_owned()];
    let embedder = || Arc::clone(&bench.embedder) as Arc<dyn Embedder>;
    assert!(KnowledgeBase::open(&roots, bench.home.path(), embedder()).is_err());
    let base = KnowledgeBase::open_for_rebuild(&roots, bench.home.path(), embedder()).unwrap();
    let report = base.rebuild(&|_| {}, &CancellationToken::new()).unwrap();
    assert_eq!(counts(&report), [1, 0, 0, 0, 1]);
    assert_eq!(
        sources(&bench.open(), SearchMode::Hybrid, "alpha"),
        ["a.md"]
    );
    // Where it can be opened, opening for a rebuild loses nothing.
    drop(base);
    let base = KnowledgeBase::open_for_rebuild(&roots, bench.home.path(), embedder()).unwrap();
    assert_eq!((base.status().documents, base.status().pending), (1, 0));
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_are_listed_and_never_opened() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n"), ("sub/b.md", "alpha\n")]);
    let root = bench.docs.path();
    pipe(&root.join("pipe.md"));
    pipe(&root.join("sub/.gitignore"));
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.md")).unwrap();
    let base = bench.open();
    let report = update(&base);
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| (skipped.path.as_str(), skipped.reason.clone()))
        .collect();
    assert_eq!(
        skipped,
        [
            ("pipe.md", SkipReason::NotRegular),
            ("socket.md", SkipReason::NotRegular),
            ("sub/.gitignore", SkipReason::NotRegular),
        ]
    );
    let mut found = sources(&base, SearchMode::Grep, "alpha");
    found.sort();
    assert_eq!(found, ["a.md", "sub/b.md"]);
    let piped = base.resolve("pipe.md").and_then(|path| base.read(&path));
    assert!(matches!(piped, Err(ToolError::Failed(_))), "{piped:?}");
    // A file that becomes a pipe after it was indexed.
    fs::remove_file(root.join("a.md")).unwrap();
    pipe(&root.join("a.md"));
    assert_eq!(counts(&update(&base)), [0, 0, 1, 1, 0]);
    let only = [root.join("pipe.md")];
    let embedder = Arc::clone(&bench.embedder) as Arc<dyn Embedder>;
    assert!(KnowledgeBase::open(&only, bench.home.path(), embedder).is_err());
}

#[test]
fn pieces_of_one_line_are_one_hit_in_the_order_of_the_line() {
    let part = |word: &str| format!("{word} {}. ", "filler words of a long line ".repeat(36));
    let line = [part("alpha"), part("beta"), part("gamma"), part("delta")].concat();
    let bench = Bench::new(&[
        ("long.txt", &line),
        ("other.txt", "beta in a short file\n"),
        ("twice.txt", &part("omega").repeat(3)),
    ]);
    let base = bench.indexed();
    for mode in [SearchMode::Vector, SearchMode::Hybrid] {
        let hits = base.search(mode, "delta beta filler", 10).unwrap();
        let long: Vec<_> = hits.iter().filter(|hit| hit.source == "long.txt").collect();
        assert_eq!(long.len(), 1, "{mode:?}");
        assert_eq!((long[0].lines.start, long[0].lines.end), (1, 1));
        let at = |word| long[0].text.find(word).unwrap();
        assert!(at("beta") < at("delta"), "{mode:?}");
        assert!(long[0].text.len() <= 4000, "{mode:?}");
        let ranks: Vec<_> = hits.iter().map(|hit| hit.rank).collect();
        assert_eq!(ranks, (1..=hits.len()).collect::<Vec<_>>());
    }
    // What a line repeats is said once.
    let hits = base.search(SearchMode::Hybrid, "omega", 10).unwrap();
    let twice = hits.iter().find(|hit| hit.source == "twice.txt").unwrap();
    assert_eq!(twice.text.matches("omega").count(), 1);
}

#[test]
fn a_second_process_sees_what_the_first_has_indexed() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let (writer, reader) = (bench.open(), bench.open());
    assert!(sources(&reader, SearchMode::Hybrid, "alpha").is_empty());
    let seen = AtomicBool::new(false);
    let meanwhile = |progress: kb_agent::kb::Progress| {
        if progress.phase == Phase::Embedding && !seen.swap(true, Ordering::Relaxed) {
            reader.refresh().unwrap();
            assert_eq!(reader.status().pending, 1);
            assert_eq!(sources(&reader, SearchMode::Hybrid, "alpha"), ["a.md"]);
            assert!(sources(&reader, SearchMode::Vector, "alpha").is_empty());
        }
    };
    writer
        .update(&meanwhile, &CancellationToken::new())
        .unwrap();
    assert!(seen.load(Ordering::Relaxed));
    reader.refresh().unwrap();
    assert_eq!(reader.status(), writer.status());
    assert_eq!(sources(&reader, SearchMode::Vector, "alpha"), ["a.md"]);
    // As many vectors as before, of something else, and a number that may come again.
    bench.write("a.md", "# A\n\nomega words\n");
    writer.rebuild(&|_| {}, &CancellationToken::new()).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.status().pending, 0);
    assert_eq!(sources(&reader, SearchMode::Vector, "omega"), ["a.md"]);
    drop(writer);
    fs::write(bench.index().join("lexical/meta.json"), "broken").unwrap();
    bench.write("a.md", "# A\n\nkappa words\n");
    bench.indexed();
    reader.refresh().unwrap();
    assert_eq!(reader.status().pending, 0);
    assert_eq!(sources(&reader, SearchMode::Hybrid, "kappa"), ["a.md"]);
}

#[test]
fn a_reader_never_sees_documents_of_another_commit() {
    let bench = Bench::new(&[("a.md", "# A\n\nword0 here\n")]);
    let writer = bench.indexed();
    let look = |reader: &KnowledgeBase| {
        let status = reader.status();
        assert_eq!((status.documents, status.chunks), (1, 1));
        // Its key leads from the documents to the words only within one commit.
        assert_eq!(crate::support::documents(reader).len(), 1);
        assert_eq!(sources(reader, SearchMode::Hybrid, "here"), ["a.md"]);
    };
    bench.read_while(look, || {
        for n in 1..12 {
            bench.write("a.md", format!("# A\n\nword{n} here {}\n", "x".repeat(n)));
            update(&writer);
        }
    });
}

#[cfg(unix)]
#[test]
fn names_that_nothing_could_refer_to_are_listed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new(&[("good.md", "alpha\n"), ("with space ü 中.md", "alpha\n")]);
    for name in [
        b"one\nline.md".as_slice(),
        b"esc\x1b[31m.md",
        b"bad\xff.md",
        b"bad\xfe.md",
    ] {
        fs::write(bench.docs.path().join(OsStr::from_bytes(name)), "alpha\n").unwrap();
    }
    let folder = bench.docs.path().join(OsStr::from_bytes(b"fol\xffder"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("inner.md"), "alpha\n").unwrap();
    let base = bench.open();
    let report = update(&base);
    assert_eq!((report.documents, report.skipped.len()), (2, 5));
    for skipped in &report.skipped {
        assert_eq!(skipped.reason, SkipReason::BadName, "{}", skipped.path);
        assert!(
            !skipped.path.contains(char::is_control),
            "{:?}",
            skipped.path
        );
    }
    assert_eq!(counts(&update(&base)), [0, 0, 0, 2, 0]);
    let mut found = sources(&base, SearchMode::Grep, "alpha");
    found.sort();
    assert_eq!(found, ["good.md", "with space ü 中.md"]);
    for name in ["one\nline.md", "bad\u{fffd}.md"] {
        assert!(matches!(
            base.resolve(name),
            Err(ToolError::NotFound { .. })
        ));
    }
    // A root may be called anything.
    let alone = bench.open_roots(&[bench.docs.path().join("one\nline.md"), folder]);
    update(&alone);
    let mut found = sources(&alone, SearchMode::Hybrid, "alpha");
    found.sort();
    assert_eq!(found, ["fol\u{fffd}der/inner.md", "one\u{fffd}line.md"]);
    for source in found {
        assert!(alone.resolve(&source).is_ok(), "{source}");
    }
}

#[test]
fn vectors_are_taken_over_from_a_base_that_says_the_same() {
    let bench = Bench::new(&[
        ("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/hinge.md", "# Hinge\n\nThe hinge is rusty.\n"),
        ("more/rake.md", "# Rake\n\nThe rake hangs in the shed.\n"),
    ]);
    let [kb, more] = ["kb", "more"].map(|folder| bench.docs.path().join(folder));
    let cancel = CancellationToken::new();
    let before = bench.open_roots(std::slice::from_ref(&kb));
    update(&before);
    let embedded = bench.embedder.count.load(Ordering::Relaxed);
    let both = bench.open_roots(&[kb, more]);
    both.update_words(&|_| {}, &cancel).unwrap();
    assert_eq!(both.take_vectors_of(&before, &cancel).unwrap(), 2);
    assert_eq!(both.status().pending, 1);
    let scores = |base: &KnowledgeBase| -> Vec<f64> {
        let hits = base.search(SearchMode::Vector, "rusty hinge", 2).unwrap();
        hits.iter()
            .map(|hit| hit.measured.cosine.unwrap())
            .collect()
    };
    assert_eq!(scores(&both), scores(&before));
    let asked = bench.embedder.count.load(Ordering::Relaxed);
    assert_eq!(update(&both).embedded, 1);
    assert_eq!(bench.embedder.count.load(Ordering::Relaxed), asked + 1);
    assert_eq!(embedded, 2);
    assert_eq!(both.take_vectors_of(&before, &cancel).unwrap(), 0);
    let other = KnowledgeBase::open(
        &[bench.docs.path().join("kb")],
        &bench.home.path().join("other"),
        Arc::new(WordEmbedder {
            model: "other".to_owned(),
            ..WordEmbedder::default()
        }),
    );
    let other = other.unwrap();
    other.update_words(&|_| {}, &cancel).unwrap();
    assert_eq!(other.take_vectors_of(&before, &cancel).unwrap(), 0);
}
