//! What keeping an index up to date costs, beside making it.
//!
//! `cargo bench --bench upkeep -- [--files 100000] [--saves 60]`. The files are small, made up and
//! the same in every run. In one run: the first pass over all of them, a pass that finds nothing
//! changed, one saved file (the update alone, and from the save until a search finds it, with the
//! watch and its pause), and searches with nothing else going on and while the model embeds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "retrieval/corpus.rs"]
mod corpus;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use corpus::{Seeded, Vocabulary};
use kb_agent::agent::ports::{BulkPriority, EmbedError, Embedder};
use kb_agent::embed::{BuiltInModel, DIMENSIONS, SentenceEmbedding};
use kb_agent::engine::{Upkeep, keep_up_to_date};
use kb_agent::kb::{Changes, KnowledgeBase, SearchMode, Watch};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

const WORDS_A_FILE: usize = 60;
const FILES_A_FOLDER: usize = 100;
const SEARCHES: usize = 1_000;
/// Enough that the searches end before the embedding does.
const TO_EMBED: usize = 6_000;
const PATIENCE: Duration = Duration::from_mins(1);

fn main() {
    let (mut files, mut saves) = (100_000, 60);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok()).expect("a number");
        match arg.as_str() {
            "--files" => files = number(),
            "--saves" => saves = number(),
            _ => {}
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let docs = dir.path().join("docs");
    let words = Vocabulary::new(60_000);
    let mut random = Seeded::new(7);
    let path = |n: usize| docs.join(format!("d{:04}/{n:06}.md", n / FILES_A_FOLDER));
    let write = |n: usize, random: &mut Seeded, more: &str| {
        let (title, said) = (
            words.paragraph(4, random),
            words.paragraph(WORDS_A_FILE, random),
        );
        fs::create_dir_all(path(n).parent().unwrap()).unwrap();
        fs::write(path(n), format!("# {title}\n\n{more}{said}\n")).unwrap();
        path(n)
    };
    for n in 0..files {
        write(n, &mut random, "");
    }
    let embedder = Arc::new(Voices::default());
    let index = dir.path().join("index");
    let roots = std::slice::from_ref(&docs);
    let base = KnowledgeBase::open(roots, &index, Arc::clone(&embedder) as Arc<dyn Embedder>);
    let (base, cancel) = (base.unwrap(), CancellationToken::new());

    let full = Cost::of(|| assert_eq!(base.update_words(&|_| {}, &cancel).unwrap().added, files));
    println!("{files} files of {WORDS_A_FILE} words, none indexed: {full}");
    base.embed_pending(&|_| {}, &cancel).unwrap();
    base.status();
    // Until all of them are older than a tick of the clock.
    base.update_words(&|_| {}, &cancel).unwrap();
    let unchanged =
        Cost::of(|| assert_eq!(base.update_words(&|_| {}, &cancel).unwrap().changed, 0));
    println!("a pass over all of them, nothing changed: {unchanged}");

    let mut times = Vec::new();
    let paths: Vec<PathBuf> = (0..saves)
        .map(|n| write(n * 997 % files, &mut random, &format!("alone{n} ")))
        .collect();
    let mut paths = paths.into_iter();
    let many = Cost::of(|| {
        for path in paths.by_ref() {
            let begun = Instant::now();
            let report = base.update_changed(&Changes::Files(vec![path]), &|_| {}, &cancel);
            assert_eq!(report.unwrap().looked_at, 1);
            times.push(begun.elapsed());
        }
    });
    let one = many.each(saves);
    println!(
        "one saved file, its update alone: {one}, {}",
        spread(&times)
    );
    println!(
        "  that is {:.2} % of the first pass by the clock, {:.2} % of its processor time",
        100.0 * one.wall.as_secs_f64() / full.wall.as_secs_f64(),
        100.0 * one.cpu / full.cpu
    );

    let times = watched(&base, saves, |n| {
        write(n * 499 % files, &mut random, &format!("watched{n} "));
        format!("watched{n}")
    });
    println!("from a save until a search finds it: {}", spread(&times));

    embedder.real.store(true, Ordering::Relaxed);
    let queries: Vec<String> = (0..SEARCHES)
        .map(|_| words.paragraph(5, &mut random))
        .collect();
    for mode in [SearchMode::Lexical, SearchMode::Hybrid] {
        beside_embedding(&base, mode, &queries, || {
            for n in 0..TO_EMBED {
                write(files + n, &mut random, "");
            }
        });
    }
}

/// Searches with nothing else going on, and while what `write_some` writes is embedded.
fn beside_embedding(
    base: &KnowledgeBase,
    mode: SearchMode,
    queries: &[String],
    write_some: impl FnOnce(),
) {
    let cancel = CancellationToken::new();
    let search = || -> Vec<Duration> {
        let ask = |query: &String| {
            let begun = Instant::now();
            base.search(mode, query, 10).unwrap();
            begun.elapsed()
        };
        queries.iter().map(ask).collect()
    };
    search();
    let idle = search();
    write_some();
    base.update_words(&|_| {}, &cancel).unwrap();
    let begun = base.status().pending;
    let busy = thread::scope(|scope| {
        let embedding = scope.spawn(|| base.embed_some(&|_| {}, &cancel, &cancel));
        while base.status().pending == begun {
            thread::sleep(Duration::from_millis(5));
        }
        let busy = search();
        assert!(base.status().pending > 0, "the embedding ended too soon");
        cancel.cancel();
        embedding.join().unwrap().unwrap();
        busy
    });
    println!(
        "{mode:?} search, nothing else going on: {}; while {begun} passages are embedded: {}: \
         {:.1} times the p99",
        spread(&idle),
        spread(&busy),
        percentile(&busy, 99) / percentile(&idle, 99)
    );
}

/// How long it takes from each save until it can be searched, while the index is kept up to date.
fn watched(
    base: &KnowledgeBase,
    saves: usize,
    mut save: impl FnMut(usize) -> String,
) -> Vec<Duration> {
    let watch = Watch::new();
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    thread::scope(|scope| {
        scope.spawn(|| {
            keep_up_to_date(base, &watch, &[], &|upkeep| {
                let _ = match upkeep {
                    Upkeep::Words(_) => sender.lock().send(true),
                    Upkeep::Idle => sender.lock().send(false),
                    _ => Ok(()),
                };
            });
        });
        let wait_for = |words: bool| while receiver.recv_timeout(PATIENCE).unwrap() != words {};
        wait_for(false);
        let times = (0..saves).map(|n| {
            let word = save(n);
            let begun = Instant::now();
            while base
                .search(SearchMode::Lexical, &word, 1)
                .unwrap()
                .is_empty()
            {
                wait_for(true);
            }
            let took = begun.elapsed();
            wait_for(false);
            took
        });
        let times = times.collect();
        watch.close();
        times
    })
}

#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Seconds of all threads.
    cpu: f64,
}

impl Cost {
    fn of(work: impl FnOnce()) -> Self {
        let (cpu, begun) = (processor_seconds(), Instant::now());
        work();
        Self {
            wall: begun.elapsed(),
            cpu: processor_seconds() - cpu,
        }
    }

    fn each(self, count: usize) -> Self {
        Self {
            wall: self.wall / count as u32,
            cpu: self.cpu / count as f64,
        }
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (wall, cpu) = (self.wall.as_secs_f64() * 1e3, self.cpu * 1e3);
        write!(f, "{wall:.0} ms, {cpu:.0} ms of processor time")
    }
}

/// Of this process, to a hundredth of a second.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|n| n.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(12) + ticks(13)) / 100.0
}

fn spread(times: &[Duration]) -> String {
    let (middle, high) = (percentile(times, 50), percentile(times, 99));
    format!("p50 {middle:.1} ms, p99 {high:.1} ms")
}

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)].as_secs_f64() * 1e3
}

/// Made-up vectors until the model is wanted.
#[derive(Default)]
struct Voices {
    real: AtomicBool,
    model: SentenceEmbedding,
}

impl Embedder for Voices {
    fn model_id(&self) -> &str {
        BuiltInModel::English.id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.real.load(Ordering::Relaxed) {
            return self.model.embed(texts);
        }
        Ok(texts.iter().map(|text| made_up(text)).collect())
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if self.real.load(Ordering::Relaxed) {
            return self.model.embed_unless(texts, priority, cancel);
        }
        self.embed(texts).map(Some)
    }

    fn is_cpu_bound(&self) -> bool {
        self.model.is_cpu_bound()
    }
}

fn made_up(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(17_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    let mut random = Seeded::new(seed);
    let raw: Vec<f32> = (0..DIMENSIONS)
        .map(|_| (random.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0)
        .collect();
    let norm = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.into_iter().map(|value| value / norm).collect()
}
