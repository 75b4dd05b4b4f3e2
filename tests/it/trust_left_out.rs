//! What a folder holds and the knowledge base does not: files of secrets, and whatever rules hide
//! that cannot be read.

use std::fs;
use std::sync::Arc;

use kb_agent::agent::ports::{Embedder, ToolError, Toolbox};
use kb_agent::domain::ToolCall;
use kb_agent::globs::Inclusion;
use kb_agent::kb::{KnowledgeBase, SearchMode, SkipReason, Sources};
use kb_agent::tools::KbToolbox;

use crate::kb::{Bench, update};
use crate::support::Said;

const SECRETS: [&str; 6] = [
    "secret.env",
    "tls/server.pem",
    "id_ed25519",
    "config/credentials.json",
    "infra/terraform.tfstate",
    ".env",
];

const NOTES: [&str; 4] = [
    "secrets-management.md",
    "id_card.md",
    "notes/environment.md",
    "id_ed25519.pub",
];

fn bench() -> Bench {
    let secrets = SECRETS.map(|path| (path, "zebra\n"));
    let notes = NOTES.map(|path| (path, "zebra\n"));
    Bench::new(&[&secrets[..], &notes[..]].concat())
}

fn open(bench: &Bench, sources: Sources) -> KnowledgeBase {
    let embedder = Arc::clone(&bench.embedder) as Arc<dyn Embedder>;
    KnowledgeBase::open(sources, bench.home.path(), embedder).unwrap()
}

fn found(base: &KnowledgeBase, mode: SearchMode) -> Vec<String> {
    let hits = base.search(mode, "zebra", 30).unwrap();
    let mut found: Vec<String> = hits.into_iter().map(|hit| hit.source).collect();
    found.sort();
    found.dedup();
    found
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

#[tokio::test]
async fn trust_files_of_secrets_are_left_out_of_everything_and_said() {
    let bench = bench();
    let base = Arc::new(bench.open());
    let report = update(&base);
    let said: Vec<String> = report
        .skipped
        .iter()
        .filter(|skipped| matches!(skipped.reason, SkipReason::HoldsSecrets(_)))
        .map(|skipped| skipped.path.clone())
        .collect();
    assert_eq!(said, sorted(&SECRETS));
    let line = report.skipped[0].reason.to_string();
    assert!(line.contains("KB_AGENT_INCLUDE"), "{line}");
    for mode in [SearchMode::Grep, SearchMode::Lexical] {
        assert_eq!(found(&base, mode), sorted(&NOTES), "{mode:?}");
    }
    let tools = KbToolbox::new(Arc::clone(&base));
    for path in SECRETS {
        assert!(matches!(
            base.resolve(path),
            Err(ToolError::NotFound { .. })
        ));
        for call in [
            ToolCall::ReadFile {
                path: path.to_owned(),
                start_line: None,
                end_line: None,
            },
            ToolCall::LocalFileQa {
                query: "zebra".to_owned(),
                path: Some(path.to_owned()),
                field: None,
                value: None,
            },
        ] {
            let found = tools.run(&call, None).await;
            let leaks = found
                .as_ref()
                .is_ok_and(|found| found.iter().any(|item| item.source == path));
            assert!(!leaks, "{call:?}: {found:?}");
        }
    }
}

#[test]
fn trust_a_file_of_secrets_is_read_where_the_user_says_so() {
    let bench = bench();
    let root = bench.docs.path().to_owned();
    let base = open(
        &bench,
        Sources {
            paths: vec![root.clone()],
            include: Inclusion::new(["*.env", "tls/*.pem"]).unwrap(),
        },
    );
    update(&base);
    let mut expected = NOTES.to_vec();
    expected.extend(["secret.env", "tls/server.pem", ".env"]);
    for mode in [SearchMode::Grep, SearchMode::Lexical] {
        assert_eq!(found(&base, mode), sorted(&expected), "{mode:?}");
    }
    // Named for itself.
    let base = open(&bench, (&[root.join("id_ed25519")]).into());
    assert!(update(&base).skipped.is_empty());
    assert_eq!(found(&base, SearchMode::Lexical), ["id_ed25519"]);
}

/// The base without what lies in `sub`, whose rules cannot be known, and the line that says so.
fn assert_not_looked_into(bench: &Bench, what: &str) {
    let base = bench.open();
    let report = update(&base);
    let said: Vec<&str> = report.skipped.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(said, ["sub"], "{what}");
    let line = report.skipped[0].reason.to_string();
    assert!(line.contains(".gitignore"), "{what}: {line}");
    for mode in [SearchMode::Grep, SearchMode::Lexical] {
        assert_eq!(found(&base, mode), ["a.md", "z/b.md"], "{what}");
    }
    assert!(base.resolve("sub/private.md").is_err(), "{what}");
    assert!(base.resolve("z/b.md").is_ok(), "{what}");
}

fn with_rules_in_sub() -> Bench {
    Bench::new(&[
        ("a.md", "zebra\n"),
        ("sub/private.md", "zebra\n"),
        ("sub/deeper/c.md", "zebra\n"),
        ("z/b.md", "zebra\n"),
    ])
}

#[test]
fn trust_a_folder_whose_rules_cannot_be_known_is_not_looked_into() {
    let large = "a".repeat(600_000);
    let many = "a\n".repeat(10_001);
    let nested = "{a,".repeat(100_000) + "b" + &"}".repeat(100_000);
    let deep = "{a,".repeat(280) + "b" + &"}".repeat(280);
    for (what, rules) in [
        ("not text", "private.md\n\0".as_bytes()),
        ("too many", many.as_bytes()),
        ("too large", large.as_bytes()),
        ("too complicated", nested.as_bytes()),
        ("nested", deep.as_bytes()),
    ] {
        let bench = with_rules_in_sub();
        bench.write("sub/.gitignore", rules);
        assert_not_looked_into(&bench, what);
    }
    // What could be looked into before is not searched any more.
    let bench = with_rules_in_sub();
    let base = bench.indexed();
    assert!(found(&base, SearchMode::Lexical).contains(&"sub/private.md".to_owned()));
    bench.write("sub/.gitignore", [0]);
    drop(base);
    assert_not_looked_into(&bench, "later");
}

#[cfg(unix)]
#[test]
fn trust_rules_that_may_not_be_read_hide_all_they_could() {
    let bench = with_rules_in_sub();
    let rules = bench.docs.path().join("sub/.gitignore");
    std::os::unix::fs::symlink(".gitignore", &rules).unwrap();
    assert_not_looked_into(&bench, "a link to itself");
    fs::remove_file(&rules).unwrap();
    // 6 GB of nothing.
    let hole = fs::File::create(&rules).unwrap();
    hole.set_len(6 << 30).unwrap();
    assert_not_looked_into(&bench, "a hole");
}

#[cfg(unix)]
#[test]
fn ends_a_pipe_in_the_place_of_rules_holds_none() {
    let bench = with_rules_in_sub();
    for name in [".ignore", "sub/.gitignore"] {
        crate::workplace::pipe(&bench.docs.path().join(name));
    }
    fs::create_dir(bench.docs.path().join("z/.ignore")).unwrap();
    bench.write("z/.git", "gitdir: ../sub\n");
    crate::workplace::pipe(&bench.docs.path().join("sub/commondir"));
    let base = bench.open();
    let report = update(&base);
    let said: Vec<&str> = report.skipped.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(said, [".ignore", "sub/.gitignore", "sub/commondir"]);
    assert_eq!(
        found(&base, SearchMode::Lexical),
        ["a.md", "sub/deeper/c.md", "sub/private.md", "z/b.md"]
    );
}

#[test]
fn rules_hide_what_the_ignore_crate_says_they_hide() {
    let bench = Bench::new(&[
        (
            ".gitignore",
            "\u{feff}*.log\n/only-here.md\nbuild/\n# note\n\n!.kept.md\n[z-a\n",
        ),
        (".git/info/exclude", "local.md\n"),
        ("sub/.gitignore", "!keep.log\ndeep/x.md\n*.tmp\n"),
        ("sub/.ignore", "!y.tmp\nk.log\n"),
        ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
        ("main/.git/worktrees/tree/commondir", "../..\n"),
        ("main/.git/info/exclude", "scratch.md\n"),
    ]);
    for path in [
        "a.md",
        "a.log",
        "only-here.md",
        "local.md",
        ".hidden.md",
        ".kept.md",
        "build/a.md",
        "sub/only-here.md",
        "sub/keep.log",
        "sub/k.log",
        "sub/other.log",
        "sub/local.md",
        "sub/deep/x.md",
        "sub/deep/y.md",
        "sub/x.tmp",
        "sub/y.tmp",
        "sub/deep/keep.log",
        "sub/build/b.md",
        "sub/.kept.md",
        ".dir/a.md",
        "main/scratch.md",
        "main/a.md",
        "tree/a.md",
    ] {
        bench.write(path, "zebra\n");
    }
    let expected: Vec<String> = ignore::WalkBuilder::new(bench.docs.path())
        .parents(false)
        .git_global(false)
        .require_git(false)
        .build()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let below = entry.path().strip_prefix(bench.docs.path()).unwrap();
            below.to_str().unwrap().to_owned()
        })
        .collect();
    let base = bench.indexed();
    let mut expected = expected;
    expected.sort();
    let documents = crate::support::documents(&base);
    let known: Vec<&str> = documents.iter().map(|one| one.source.as_str()).collect();
    assert_eq!(known, expected);
    assert_eq!(found(&base, SearchMode::Grep), expected);
    for path in &known {
        assert!(base.resolve(path).is_ok(), "{path}");
    }
    // And the other way about: what a work tree's repository hides for itself.
    bench.write("tree/scratch.md", "zebra\n");
    assert!(base.resolve("tree/scratch.md").is_err());
}

#[test]
fn trust_the_index_lists_what_it_left_out_and_the_setting_includes_it() {
    let dir = tempfile::tempdir().unwrap();
    let docs = dir.path().join("docs");
    fs::create_dir(&docs).unwrap();
    for name in ["a.md", "secret.env", "server.key"] {
        fs::write(docs.join(name), "zebra\n").unwrap();
    }
    let run = |include: Option<&str>, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kb-agent"));
        command
            .args(args)
            .current_dir(dir.path())
            .env_clear()
            .env("HOME", dir.path())
            .env("KB_AGENT_DATA_DIR", dir.path().join("data"))
            .envs(include.map(|value| ("KB_AGENT_INCLUDE", value)));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, said) = run(None, &["index", "--kb", "docs"]);
    assert_eq!(code, Some(0), "{said}");
    for name in ["secret.env", "server.key"] {
        let line = said.lines().find(|line| line.contains(name));
        assert!(line.is_some_and(|line| line.contains("skipped ")), "{said}");
    }
    let (_, said) = run(Some("*.env"), &["index", "--kb", "docs"]);
    said.must_lack("secret.env");
    said.must_hold("server.key");
    let search = ["search", "--kb", "docs", "--tool", "grep", "zebra"];
    let places = |said: &str| {
        let is_found = |name: &str| said.lines().any(|line| line.contains(&format!("{name}:1")));
        ["a.md", "secret.env", "server.key"].map(is_found)
    };
    let (_, said) = run(Some("*.env"), &search);
    assert_eq!(places(&said), [true, true, false], "{said}");
    let (_, said) = run(None, &search);
    assert_eq!(places(&said), [true, false, false], "{said}");
    let (code, said) = run(Some("[a"), &search);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("KB_AGENT_INCLUDE is '[a'"), "{said}");
}

/// Hidden, ignored by a rule, in a folder that is hidden or ignored as a whole, and of secrets.
const NAMED: [&str; 5] = [
    ".plan.md",
    "draft.md",
    ".private/diary.md",
    "build/notes/readme.md",
    "secret.env",
];

#[tokio::test]
async fn trust_a_file_that_is_named_beside_its_folder_is_read() {
    let others = [
        ".other.md",
        ".private/letters.md",
        "build/notes/other.md",
        "build/log.md",
    ];
    let files: Vec<(&str, &str)> = NAMED
        .iter()
        .chain(&others)
        .chain(&["open.md"])
        .map(|path| (*path, "zebra\n"))
        .chain([(".gitignore", "draft.md\nbuild/\n")])
        .collect();
    let bench = Bench::new(&files);
    let root = bench.docs.path().to_owned();
    let mut paths = vec![root.clone()];
    paths.extend(NAMED.map(|name| root.join(name)));
    // In whatever order they are named.
    for _ in 0..2 {
        let base = Arc::new(open(&bench, paths.as_slice().into()));
        update(&base);
        let expected = sorted(&[&NAMED[..], &["open.md"]].concat());
        for mode in [SearchMode::Grep, SearchMode::Lexical] {
            assert_eq!(found(&base, mode), expected, "{mode:?}");
        }
        for name in NAMED {
            assert_eq!(
                base.resolve(name).unwrap(),
                root.join(name).canonicalize().unwrap()
            );
        }
        for name in others {
            assert!(base.resolve(name).is_err(), "{name}");
        }
        paths.reverse();
    }
    // The folder alone is another base.
    let base = open(&bench, (&[root]).into());
    update(&base);
    assert_eq!(found(&base, SearchMode::Lexical), ["open.md"]);
}
