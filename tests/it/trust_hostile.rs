//! Some two hundred files that were made to break what reads them, beside good ones: all of them
//! are reported, in bounded time and memory, and every good one is found.

#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kb_agent::kb::KnowledgeBase;
use serde_json::Value;

use crate::kb::WordEmbedder;
use crate::workplace::{Workplace, json_lines, text};

/// Of a processor, for the whole corpus; without optimisation too.
const SECONDS: f64 = 60.0;
const MEGABYTES: u64 = 600;
/// A machine with other things to do takes longer by the clock.
const PATIENCE: Duration = Duration::from_mins(10);

fn stat(process: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let rest = stat.rsplit(") ").next().unwrap_or_default();
    rest.split(' ').map(str::to_owned).collect()
}

/// What a process and those that it has waited for have used of a processor.
fn seconds(process: u32) -> f64 {
    let ticks = stat(process);
    let ticks = ticks.iter().skip(11).take(4);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// What a process and its children hold together; what they share counts once.
fn megabytes(process: u32) -> u64 {
    let held = |process: u32| {
        let held = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        let held = held.lines().find_map(|line| line.strip_prefix("Pss:"));
        held.and_then(|held| held.trim().strip_suffix(" kB")?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let all = fs::read_dir("/proc").unwrap();
    let children = all
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|other| stat(*other).get(1) == Some(&process.to_string()));
    (held(process) + children.map(held).sum::<u64>()) / 1024
}

/// Every file below the folder, by its name from there.
fn files(root: &Path, folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let below = entries.flat_map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            return files(root, &entry.path());
        }
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_str();
        name.map(str::to_owned).into_iter().collect()
    });
    below.collect()
}

fn corpus(place: &Workplace) -> PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile/make_corpus.py");
    let corpus = place.path().join("corpus");
    let made = Command::new("python3")
        .args([Path::new(script), &corpus])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    corpus
}

#[test]
fn trust_hostile_files_are_reported_and_the_good_ones_beside_them_are_found() {
    let place = Workplace::empty();
    let corpus = corpus(&place);
    let output = place.file("out.json", "");
    let mut index = place
        .command(&["index", "--json", "--kb", "corpus"])
        // Nothing is embedded: what the corpus says is long, and not what this is about.
        .env("KB_AGENT_EMBEDDING_BASE_URL", "http://127.0.0.1:9")
        .env("KB_AGENT_EMBEDDING_MODEL", "m")
        .stdout(fs::File::create(&output).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut peak, mut used, begun) = (0, 0.0_f64, Instant::now());
    loop {
        peak = peak.max(megabytes(index.id()));
        used = used.max(seconds(index.id()));
        if index.try_wait().unwrap().is_some() {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(used < SECONDS, "{used} s");
    assert!(peak < MEGABYTES, "{peak} MB");

    let report: Value = serde_json::from_slice(&fs::read(&output).unwrap()).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let skipped = report["skipped"].as_array().unwrap().iter();
    let skipped: BTreeMap<String, String> = skipped
        .map(|skipped| (word(&skipped["path"]), word(&skipped["reason"])))
        .collect();
    let embedder = Arc::new(WordEmbedder::default());
    let home = place.data().join("index");
    let base = KnowledgeBase::open(std::slice::from_ref(&corpus), &home, embedder).unwrap();
    let documents = crate::support::documents(&base);
    let documents: BTreeSet<&str> = documents.iter().map(|d| d.source.as_str()).collect();

    // Each file is in the index or is reported, with why.
    let mut hostile = 0;
    for name in files(&corpus, &corpus) {
        let is_odd = name.starts_with("odd/") || name.contains("rules/");
        hostile += usize::from(!name.starts_with("good/"));
        let is_reported = skipped.get(&name).is_some_and(|reason| !reason.is_empty());
        assert!(
            is_odd || is_reported || documents.contains(name.as_str()),
            "nothing is said of {name}"
        );
        assert!(
            !is_reported || !name.starts_with("good/"),
            "{name} is left out"
        );
    }
    assert!(hostile >= 80, "{hostile}");
    for (name, reason) in table![
        "text/maps.ipynb", "takes more than 384 MB of memory to read";
        "odd/pipe.pdf", "not a regular file";
        "odd/line\\nbreak.md", "its name is not plain text";
        "odd/passwd.md", "a link out of the knowledge base is not followed";
        "office/encrypted.docx", "protected by a password";
    ] {
        let given = skipped.get(name).map(String::as_str);
        assert_eq!(given, Some(reason), "{name}");
    }

    for name in files(&corpus, &corpus.join("good")) {
        let own = Path::new(&name).file_stem().unwrap().to_str().unwrap();
        let query = format!("lighthouse keeper {own}");
        let found = place.run(&[
            "search", "--json", "--tool", "grep", "-k", "3", "--kb", "corpus", &query,
        ]);
        let hits = json_lines(&found.stdout);
        let is_found = hits.iter().any(|hit| hit["source"] == *name);
        assert!(is_found, "{name}: {}", text(&found.stdout));
    }
}
