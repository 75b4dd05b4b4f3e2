//! What masking costs on the way to the audit log.
//!
//! `cargo bench --bench masking` prints the median for the lines of the demo together, and for one
//! event with five excerpts of it. The rules are compiled before.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use kb_agent::audit::Mask;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

#[divan::bench]
fn lines_of_text(bencher: Bencher) {
    let (mask, text) = (Mask::default(), demo());
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines {
        divan::black_box(mask.mask_text(line));
    }
    bencher.counter(ItemsCount::new(lines.len())).bench(|| {
        let masked = lines.iter().map(|line| mask.mask_text(line).len());
        masked.sum::<usize>()
    });
}

#[divan::bench]
fn event_with_five_excerpts(bencher: Bencher) {
    let text = demo();
    let lines: Vec<&str> = text.lines().filter(|line| line.len() > 60).collect();
    let item = |(at, line): (usize, &&str)| {
        json!({"id": format!("e{at}"), "source": "assets/demo-kb/retrieval/hybrid.md",
            "lines": [at, at + 8], "tool": "hybrid_search", "score": 0.75, "excerpt": line})
    };
    let items: Vec<Value> = lines.iter().take(5).enumerate().map(item).collect();
    let event = json!({"event": "evidence_added", "seq": 7, "items": items});
    let mut mask = Mask::default();
    mask.mask_event(&mut event.clone());
    bencher
        .with_inputs(|| event.clone())
        .bench_local_values(|mut event| {
            mask.mask_event(&mut event);
            event
        });
}

/// The documents of the demo, one after the other.
fn demo() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo-kb");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}
