//! The real program, killed while it indexes folders that change.
//!
//! The moments are drawn from a seed, in turns: at any time after the start, right when a commit
//! shows on disk, and right when vectors do. After every kill what is there must open and agree
//! with itself; in the end the index must answer exactly like one that was never disturbed.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kb_agent::agent::ports::{EmbedError, Embedder};
use kb_agent::embed::BuiltInModel;
use kb_agent::kb::{KnowledgeBase, SearchMode};
use serde_json::Value;

use crate::workplace::{Workplace, text};

const KILLS: usize = 50;

/// Numbers that are the same in every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// The model's name without the model: what is on disk is looked at, nothing is embedded.
struct NoEmbedder;

impl Embedder for NoEmbedder {
    fn model_id(&self) -> &str {
        BuiltInModel::English.id()
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError("nothing embeds".into()))
    }
}

struct Tree {
    place: Workplace,
    random: Seeded,
    written: usize,
    /// How long the last run took that was not killed; moments are drawn from this.
    usual: Duration,
}

impl Tree {
    fn new() -> Self {
        let mut tree = Self {
            place: Workplace::empty(),
            random: Seeded(0x5EED),
            written: 0,
            usual: Duration::from_millis(250),
        };
        for _ in 0..16 {
            tree.write();
        }
        tree
    }

    fn docs(&self) -> PathBuf {
        self.place.path().join("docs")
    }

    /// Adds a document or writes another text into one.
    fn write(&mut self) {
        const WORDS: [&str; 12] = [
            "router", "harbour", "lantern", "grade", "violin", "engine", "meadow", "copper",
            "signal", "winter", "ledger", "canyon",
        ];
        self.written += 1;
        let name = format!("d{}/f{:02}.md", self.random.below(3), self.random.below(14));
        let mut body = format!("# Note {}\n\nCommon text", self.written);
        for _ in 0..3 + self.random.below(5) {
            body.push(' ');
            body.push_str(WORDS[self.random.below(WORDS.len())]);
        }
        self.place.file(&format!("docs/{name}"), body + ".\n");
    }

    fn change(&mut self) {
        self.write();
        if self.random.below(2) == 0 {
            self.write();
        }
        let files = files_below(&self.docs(), "md");
        let one = &files[self.random.below(files.len())];
        match self.random.below(5) {
            0 if files.len() > 10 => fs::remove_file(one).unwrap(),
            1 => fs::rename(one, one.with_file_name(format!("m{}.md", self.written))).unwrap(),
            2 if files.len() > 16 => {
                let folder = format!("docs/d{}", self.random.below(3));
                let _ = fs::remove_dir_all(self.place.path().join(folder));
            }
            _ => {}
        }
        if files_below(&self.docs(), "md").len() < 8 {
            self.write();
        }
    }

    fn run(&self, data: &str, args: &[&str]) -> Output {
        let mut command = self.place.command(args);
        command.arg("--kb").arg(self.docs());
        command.arg("--data-dir").arg(self.place.path().join(data));
        command.output().unwrap()
    }

    fn start(&self) -> Child {
        let mut command = self.place.command(&["index", "--kb"]);
        command.arg(self.docs());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Waits for a moment that is drawn, and kills; says whether there was still something to
    /// kill.
    fn kill(&mut self, mut child: Child, turn: usize) {
        let begun = Instant::now();
        let before = self.on_disk();
        let usual = self.usual.as_micros() as usize;
        let late = Duration::from_micros(self.random.below(usual / 6) as u64);
        let early = Duration::from_micros(self.random.below(usual) as u64);
        let is_due = |now: [u64; 2], elapsed: Duration| match turn % 5 {
            0 | 3 => elapsed > early,
            1 => now[0] != before[0],
            _ => now[1] != before[1],
        };
        while child.try_wait().unwrap().is_none() {
            if is_due(self.on_disk(), begun.elapsed()) {
                if turn % 5 > 2 {
                    // Somewhere within the next batches.
                    thread::sleep(late);
                }
                child.kill().unwrap();
                break;
            }
            thread::yield_now();
        }
        let killed = !child.wait().unwrap().success();
        if !killed {
            self.usual = begun.elapsed().max(Duration::from_millis(1));
        }
    }

    /// What the commits and the vectors look like: their names and lengths, summed up.
    fn on_disk(&self) -> [u64; 2] {
        let index = self.place.data().join("index");
        ["bin", "keys"].map(|extension| {
            let files = files_below(&index, extension);
            let sums = files.iter().map(|path| {
                let name: u64 = path.to_string_lossy().bytes().map(u64::from).sum();
                let number = name.wrapping_mul(31) + fs::metadata(path).map_or(0, |m| m.len());
                number.wrapping_mul(0x9E37_79B9)
            });
            sums.fold(0, u64::wrapping_add)
        })
    }

    /// What is on disk agrees with itself.
    fn check(&self, turn: usize) {
        let home = self.place.data().join("index");
        let base = KnowledgeBase::open(&[self.docs()], &home, Arc::new(NoEmbedder)).unwrap();
        let status = base.status();
        let documents = crate::support::documents(&base);
        assert_eq!(documents.len(), status.documents, "turn {turn}");
        assert!(status.pending <= status.chunks, "turn {turn}");
        if status.documents > 0 {
            // Every passage has this word.
            let hits = base.search(SearchMode::Hybrid, "common", 1000).unwrap();
            assert_eq!(hits.len(), status.chunks, "turn {turn}");
            for document in &documents {
                let own = hits.iter().filter(|hit| hit.source == document.source);
                assert_eq!(own.count(), 1, "turn {turn}: {}", document.source);
            }
        }
    }

    fn index(&self, data: &str) -> Value {
        let output = self.run(data, &["index", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Everything that two indexes of the same folders must have in common.
    fn answers(&self, data: &str) -> Vec<String> {
        let report = self.index(data);
        assert_eq!(report["embedded"], 0, "{report}");
        let home = self.place.path().join(data).join("index");
        let base = KnowledgeBase::open(&[self.docs()], &home, Arc::new(NoEmbedder)).unwrap();
        assert_eq!(base.status().pending, 0);
        let mut answers = vec![format!("{} {}", report["documents"], report["chunks"])];
        for query in [
            "copper lantern",
            "common text",
            "what plays music in winter",
        ] {
            for tool in ["hybrid", "vector", "grep"] {
                let output = self.run(data, &["search", "--tool", tool, "--json", query]);
                assert!(output.status.success(), "{}", text(&output.stderr));
                answers.push(text(&output.stdout));
            }
            // The words alone.
            let hits = base.search(SearchMode::Hybrid, query, 20).unwrap();
            answers.push(format!("{hits:?}"));
        }
        answers
    }
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn fifty_kills_while_the_folders_change_leave_an_index_like_an_undisturbed_one() {
    let mut tree = Tree::new();
    for turn in 0..KILLS {
        let child = tree.start();
        tree.kill(child, turn);
        tree.check(turn);
        if turn % 10 == 9 {
            let output = tree.run("data", &["search", "--json", "common text"]);
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(!output.stdout.is_empty());
        }
        tree.change();
    }
    tree.index("data");
    tree.index("undisturbed");
    assert_eq!(tree.answers("data"), tree.answers("undisturbed"));
}

#[test]
fn two_processes_at_once_leave_one_whole_index() {
    let tree = Tree::new();
    let mut both = [tree.start(), tree.start()];
    // A third one reads what is there, and gets an error if it must.
    let output = tree.run("data", &["search", "--json", "common"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let codes = both.each_mut().map(|child| child.wait().unwrap().code());
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))));
    tree.index("data");
    tree.index("undisturbed");
    assert_eq!(tree.answers("data"), tree.answers("undisturbed"));
}
