//! What a list of recorded runs and their statistics cost over a long audit log, which is read anew each time.
//!
//! `cargo bench --bench runs -- [MB]` writes a log of so many megabytes (1024) into a temporary folder,
//! from the runs of a test, and prints milliseconds.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use kb_agent::audit::{Lookup, history};
use kb_agent::protocol::SessionSummary;
use tokio_util::sync::CancellationToken;

const RECORDED: &str = include_str!("../tests/it/fixtures/picture.jsonl");

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // As a test, which all targets are, it only has to work.
    let usual = if words.iter().any(|word| word == "--bench") {
        1024
    } else {
        4
    };
    let megabytes: Option<u64> = words.iter().find_map(|word| word.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let runs = write(&log, megabytes.unwrap_or(usual) << 20);
    println!(
        "{runs} runs in {} MB",
        fs::metadata(&log).unwrap().len() >> 20
    );
    for _ in 0..3 {
        let begun = Instant::now();
        let lookup = Lookup::open(&log).unwrap();
        let sessions = SessionSummary::group_runs(lookup.runs()).len();
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        println!("list: {took:.0} ms, {sessions} sessions");
        let begun = Instant::now();
        let events = lookup.events(&[&lookup.runs()[runs / 2]]).unwrap().len();
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        println!("  one run of {events} events: {took:.1} ms");
        let begun = Instant::now();
        let counted = history(&log, &CancellationToken::new()).unwrap().total.runs;
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        println!("  statistics of {counted} runs: {took:.0} ms");
    }
}

/// The same runs again and again, each with ids of its own.
fn write(log: &Path, bytes: u64) -> usize {
    let first: serde_json::Value = RECORDED
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap();
    let run = first["run"].as_str().unwrap();
    let session = first["session"].as_str().unwrap();
    let mut file = BufWriter::new(File::create(log).unwrap());
    let (mut written, mut runs) = (0, 0);
    while written < bytes {
        let text = RECORDED
            .replace(run, &format!("01a2b3c4-0000-7000-8000-{runs:012x}"))
            .replace(
                session,
                &format!("01a2b3c4-ffff-7000-8000-{:012x}", runs / 4),
            );
        file.write_all(text.as_bytes()).unwrap();
        written += text.len() as u64;
        runs += 1;
    }
    file.flush().unwrap();
    runs
}
