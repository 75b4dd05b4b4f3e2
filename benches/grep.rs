//! Grep against ripgrep: the same patterns over the same files, run in turn.
//!
//! `cargo bench --bench grep` makes folders of 1 000 and 10 000 files and one with a log of
//! 120 MB, from a fixed seed, and prints medians. `rg` has `-i -n -C10`, the same ignore rules and
//! `/dev/null` to write to; its time holds the start of its process, which is printed for itself.
//! Ours holds all that the tool does: the walk, the search, the ranking and reading the ten best
//! passages. The files are in the system's cache for both.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kb_agent::agent::ports::{EmbedError, Embedder};
use kb_agent::kb::{KnowledgeBase, SearchMode};

const RUNS: usize = 15;

/// What is measured: its name, our query, the same for `rg`.
const PATTERNS: &[(&str, &str, &[&str])] = &[
    ("rare word", "zymurgy", &["zymurgy"]),
    ("common word", "system", &["system"]),
    ("two words", "zymurgy threshold", &["zymurgy", "threshold"]),
    (
        "literal in any case",
        "\"Quota Exceeded\"",
        &["Quota Exceeded"],
    ),
    ("regex", r"err(or)?-\d{4}", &[r"err(or)?-\d{4}"]),
    ("no match", "qqqxyzzy", &["qqqxyzzy"]),
];

fn main() {
    let rg = start_of_rg();
    match rg {
        Some(start) => println!("rg found; starting it takes {}", ms(start)),
        None => println!("rg is not installed: nothing to compare with"),
    }
    let home = tempfile::tempdir().unwrap();
    let mut medians: Vec<Vec<Duration>> = Vec::new();
    for files in [1000, 10_000] {
        let root = home.path().join(format!("tree-{files}"));
        let bytes = make_tree(&root, files);
        println!("\n{files} files, {} MB", bytes / 1_000_000);
        medians.push(measure(&root, home.path(), rg));
    }
    println!("\nours at 10 000 files as a multiple of ours at 1 000");
    for ((name, ..), pair) in PATTERNS.iter().zip(medians[0].iter().zip(&medians[1])) {
        println!(
            "{name:<22} {:>8.1}",
            pair.1.as_secs_f64() / pair.0.as_secs_f64()
        );
    }
    let root = home.path().join("log");
    let bytes = make_log(&root);
    println!("\n1 log, {} MB", bytes / 1_000_000);
    measure(&root, home.path(), rg);
}

/// Prints a line a pattern; gives the medians of ours.
fn measure(root: &Path, home: &Path, rg: Option<Duration>) -> Vec<Duration> {
    println!(
        "{:<22} {:>9} {:>9} {:>8} {:>14}",
        "", "ours", "rg", "ratio", "without start"
    );
    let base =
        KnowledgeBase::open(&[root.to_owned()], &home.join("index"), Arc::new(Mute)).unwrap();
    PATTERNS
        .iter()
        .map(|(name, query, patterns)| {
            let mut ours = Vec::new();
            let mut theirs = Vec::new();
            for _ in 0..=RUNS {
                ours.push(timed(|| {
                    black_box(base.search(SearchMode::Grep, query, 10).unwrap());
                }));
                if rg.is_some() {
                    theirs.push(timed(|| run_rg(root, patterns)));
                }
            }
            let own = median(&mut ours);
            match rg {
                Some(start) => {
                    let other = median(&mut theirs);
                    let ratio = |other: Duration| own.as_secs_f64() / other.as_secs_f64();
                    println!(
                        "{name:<22} {:>9} {:>9} {:>8.2} {:>14.2}",
                        ms(own),
                        ms(other),
                        ratio(other),
                        ratio(other.saturating_sub(start)),
                    );
                }
                None => println!("{name:<22} {:>9}", ms(own)),
            }
            own
        })
        .collect()
}

fn run_rg(root: &Path, patterns: &[&str]) {
    let mut command = Command::new("rg");
    command.args([
        "--no-config",
        "--no-ignore-parent",
        "--no-ignore-global",
        "--no-require-git",
        "-i",
        "-n",
        "-C10",
    ]);
    for pattern in patterns {
        command.args(["-e", pattern]);
    }
    command.arg(root).stdout(Stdio::null());
    let status = command.status().unwrap();
    assert!(status.code().is_some_and(|code| code < 2), "rg failed");
}

/// How long `rg` takes to say its version; `None` when it is not there.
fn start_of_rg() -> Option<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        let mut command = Command::new("rg");
        command.arg("--version").stdout(Stdio::null());
        command.status().ok().filter(ExitStatus::success)?;
        times.push(started.elapsed());
    }
    Some(median(&mut times))
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// Without the first, which warms up.
fn median(times: &mut [Duration]) -> Duration {
    let times = &mut times[1..];
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Notes, pages, source and logs of 1 to 60 KB, most of them small, in folders of 50.
fn make_tree(root: &Path, files: usize) -> u64 {
    let mut random = Random(7);
    let mut written = 0;
    for n in 0..files {
        let folder = root.join(format!("area-{}/part-{}", n / 500, n / 50));
        fs::create_dir_all(&folder).unwrap();
        let extension = ["md", "md", "txt", "rs", "log"][random.below(5)];
        let size = 1000 << random.below(6);
        let size = size + random.below(size);
        let mut text = String::with_capacity(size + 100);
        while text.len() < size {
            line(&mut random, &mut text);
        }
        // In some ten files, however many there are.
        if n % (files / 10) == 3 {
            text.push_str("the zymurgy of it\nQuota exceeded for now\nfailed with err-4711\n");
        }
        written += text.len() as u64;
        fs::write(folder.join(format!("note-{n}.{extension}")), text).unwrap();
    }
    written
}

fn make_log(root: &Path) -> u64 {
    fs::create_dir_all(root).unwrap();
    let mut random = Random(11);
    let mut text = String::with_capacity(121_000_000);
    let mut n = 0;
    while text.len() < 120_000_000 {
        n += 1;
        text.push_str(&format!("2026-01-01T00:00:00.{n:09} INFO "));
        line(&mut random, &mut text);
        if n % 200_000 == 100_000 {
            text.push_str("the zymurgy of it\nQuota exceeded for now\nfailed with err-4711\n");
        }
    }
    let path: PathBuf = root.join("service.log");
    fs::write(path, &text).unwrap();
    text.len() as u64
}

/// A line of 4 to 15 words, few of them often.
fn line(random: &mut Random, text: &mut String) {
    const WORDS: &[&str] = &[
        "the",
        "a",
        "of",
        "to",
        "and",
        "in",
        "is",
        "for",
        "that",
        "with",
        "it",
        "system",
        "request",
        "value",
        "index",
        "document",
        "search",
        "question",
        "answer",
        "file",
        "error",
        "state",
        "result",
        "service",
        "threshold",
        "worker",
        "evidence",
        "retrieval",
        "ranking",
        "context",
        "latency",
        "replica",
        "snapshot",
        "grading",
        "deadline",
        "Quotient",
        "exceeds",
        "harbour",
    ];
    let count = 4 + random.below(12);
    for n in 0..count {
        if n > 0 {
            text.push(' ');
        }
        // The smaller of two: the first words come most often.
        let at = random.below(WORDS.len()).min(random.below(WORDS.len()));
        text.push_str(WORDS[at]);
        if random.below(4) == 0 {
            text.push_str(&format!("{}", random.below(5000)));
        }
    }
    text.push('\n');
}

/// Marsaglia's xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Grep needs no embedding.
struct Mute;

impl Embedder for Mute {
    fn model_id(&self) -> &'static str {
        "none"
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError("nothing is embedded here".into()))
    }
}
