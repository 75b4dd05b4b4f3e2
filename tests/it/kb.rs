//! The knowledge base over real folders and a real index.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kb_agent::agent::ports::{EmbedError, Embedder, ToolError};
use kb_agent::kb::{KbError, KnowledgeBase, Phase, SearchMode, SkipReason, UpdateReport, chunk};
use tempfile::TempDir;

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
            return Err(EmbedError("told to".to_owned()));
        }
        self.count.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector_of(text)).collect())
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
}

pub fn update(base: &KnowledgeBase) -> UpdateReport {
    base.update(&|_| {}, &AtomicBool::new(false)).unwrap()
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
    bench.write("latin.txt", b"d\xe9j\xe0 vu, caf\xe9, gar\xe7on".as_slice());
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
            ("huge.txt", SkipReason::TooLarge(10 * 1024 * 1024 + 1)),
            ("image.png", SkipReason::Binary),
            ("latin.txt", SkipReason::NotUtf8),
        ]
    );
    assert_eq!(report.documents, 3);
    assert_eq!(
        sources(&base, SearchMode::Hybrid, "broken byte"),
        ["slip.txt", "good.md"]
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
    assert_eq!(counts(&update(&base)), [1, 1, 2, 0, 1]);
    assert!(
        sources(&base, SearchMode::Hybrid, "beta")
            .iter()
            .all(|s| s != "b.md")
    );
    assert_eq!(sources(&base, SearchMode::Hybrid, "gamma text")[0], "d.md");
    // The same text with another time is no change.
    bench.write("d.md", "# C\n\ngamma text\n");
    assert_eq!(counts(&update(&base)), [0, 0, 0, 2, 0]);
    let report = base.rebuild(&|_| {}, &AtomicBool::new(false)).unwrap();
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
    let stop = AtomicBool::new(false);
    let halt = |progress: kb_agent::kb::Progress| {
        if progress.phase == Phase::Embedding && progress.done > 0 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let report = base.update(&halt, &stop).unwrap();
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
    let error = base.update(&|_| {}, &AtomicBool::new(false)).unwrap_err();
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
fn a_second_writer_is_told_and_goes_on_reading() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let (first, second) = (bench.open(), bench.open());
    let seen = AtomicBool::new(false);
    let while_writing = |progress: kb_agent::kb::Progress| {
        if progress.phase == Phase::Embedding && !seen.swap(true, Ordering::Relaxed) {
            let error = second.update(&|_| {}, &AtomicBool::new(false)).unwrap_err();
            assert!(matches!(error, KbError::Locked), "{error}");
            assert_eq!(sources(&second, SearchMode::Hybrid, "alpha"), ["a.md"]);
        }
    };
    first
        .update(&while_writing, &AtomicBool::new(false))
        .unwrap();
    assert!(seen.load(Ordering::Relaxed));
    assert_eq!(counts(&update(&second)), [0, 0, 0, 1, 0]);
    assert_eq!(second.status().pending, 0);
}

#[test]
fn a_broken_index_is_made_anew() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let home = fs::read_dir(bench.home.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let index = home.path().join("v1");
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
    let home = fs::read_dir(bench.home.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    // What a kill between the two writes leaves behind.
    let orphan = home.path().join("v1/documents-2.json");
    fs::write(&orphan, r#"{"documents":[]}"#).unwrap();
    let base = bench.open();
    assert_eq!(base.status().documents, 1);
    bench.write("b.md", "# B\n\nbeta text\n");
    assert_eq!(counts(&update(&base)), [1, 0, 0, 1, 1]);
    assert_eq!(bench.open().status().documents, 2);
}

#[test]
fn identifiers_and_chinese_are_found_by_their_words() {
    let bench = Bench::new(&[
        ("zh.md", "# 路由\n\n快速路径可以跳过评分节点。\n"),
        (
            "ids.md",
            "# Settings\n\nSee PROJ-123 about max_retry_count and HttpServer.\n",
        ),
        (
            "other.md",
            "# Other\n\nPROJ-124 is about gardens and 苹果。\n",
        ),
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
        assert_eq!(hits[0].lexical_rank, Some(1), "{query}");
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
    assert_eq!(chunk("a.md", text).1.len(), 2);
}
