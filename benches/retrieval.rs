//! What indexing and searching cost, beside what they could cost at least.
//!
//! `cargo bench --bench retrieval -- [--sizes 1000,10000,100000] [--scan-1m]`. The corpora are
//! made up and the same in every run. Documents get made-up vectors, because embedding a hundred
//! thousand passages measures the embedding; queries are embedded for real where that is said.
//! Ratios are taken within one run, alternating, from the best of several rounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "retrieval/corpus.rs"]
mod corpus;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corpus::{Seeded, Vocabulary};
use ignore::{WalkBuilder, WalkState};
use kb_agent::agent::ports::{EmbedError, Embedder};
use kb_agent::embed::{BuiltInModel, DIMENSIONS, SentenceEmbedding};
use kb_agent::kb::{Extraction, KnowledgeBase, SearchMode, chunk};
use tantivy::schema::{STORED, Schema, TEXT};
use tantivy::{Index, IndexWriter, doc};
use tokio_util::sync::CancellationToken;

const QUERIES: usize = 300;
const K: usize = 10;
const ROUNDS: usize = 3;
/// Words that make about 200 tokens of a usual text.
const PASSAGE_WORDS: usize = 150;
const PASSAGES_A_DOCUMENT: usize = 10;
/// The budget of an index writer's thread, the same on both sides.
const WRITER_BYTES: usize = 48_000_000;

fn main() {
    let mut sizes = vec![1_000, 10_000, 100_000];
    let mut scan = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--sizes" => {
                let list = args
                    .next()
                    .expect("--sizes needs a list such as 1000,10000");
                let parse = |size: &str| size.parse().expect("a size is a whole number");
                sizes = list.split(',').map(parse).collect();
            }
            "--scan-1m" => scan = true,
            _ => {}
        }
    }
    let words = Vocabulary::new(60_000);
    unchanged(&words);
    let figures: Vec<Figures> = sizes.iter().map(|size| measure(*size, &words)).collect();
    let mut table: Vec<(&str, Vec<f64>)> = Vec::new();
    for (name, of) in COLUMNS {
        table.push((name, figures.iter().map(of).collect()));
    }
    println!(
        "\n{:34}{}",
        "chunks",
        cells(&sizes.iter().map(|s| *s as f64).collect::<Vec<_>>())
    );
    for (name, values) in &table {
        println!("{name:34}{}", cells(values));
    }
    println!("\ngrowth from each size to the next (the chunks grow as in the first line)");
    println!(
        "{:34}{}",
        "chunks",
        growth(&sizes.iter().map(|s| *s as f64).collect::<Vec<_>>())
    );
    for (name, values) in &table {
        println!("{name:34}{}", growth(values));
    }
    if scan {
        million(&words);
    }
}

struct Figures {
    ours: f64,
    plain: f64,
    open: f64,
    first_vector: f64,
    lexical: [f64; 2],
    vector: [f64; 2],
    hybrid: [f64; 2],
    query: f64,
    ask_mb: f64,
    disk_mb: f64,
}

type Column = (&'static str, fn(&Figures) -> f64);

const COLUMNS: [Column; 14] = [
    ("words indexed, chunks/s", |f| f.ours),
    ("plain tantivy, chunks/s", |f| f.plain),
    ("share of plain", |f| f.ours / f.plain),
    ("open, ms", |f| f.open),
    ("first vector search, ms", |f| f.first_vector),
    ("lexical p50, ms", |f| f.lexical[0]),
    ("lexical p99, ms", |f| f.lexical[1]),
    ("vector p50, ms (query given)", |f| f.vector[0]),
    ("vector p99, ms", |f| f.vector[1]),
    ("hybrid p50, ms (query embedded)", |f| f.hybrid[0]),
    ("hybrid p99, ms", |f| f.hybrid[1]),
    ("of that, embedding p50, ms", |f| f.query),
    ("peak memory of ask, MB", |f| f.ask_mb),
    ("index on disk, MB", |f| f.disk_mb),
];

fn cells(values: &[f64]) -> String {
    let cells: Vec<String> = values
        .iter()
        .map(|value| format!("{value:>12.2}"))
        .collect();
    cells.concat()
}

fn growth(values: &[f64]) -> String {
    let factors = values.windows(2).map(|pair| pair[1] / pair[0]);
    let cells: Vec<String> = factors.map(|factor| format!("{factor:>11.1}×")).collect();
    cells.concat()
}

fn measure(size: usize, words: &Vocabulary) -> Figures {
    let place = Place::new();
    let texts = place.write(size, PASSAGES_A_DOCUMENT, words);
    println!(
        "{size} chunks in {} files",
        size.div_ceil(PASSAGES_A_DOCUMENT)
    );
    let (mut ours, mut plain) = (Duration::MAX, Duration::MAX);
    let mut base = None;
    for _ in 0..ROUNDS {
        drop(base.take());
        plain = plain.min(plain_tantivy(&texts));
        let home = place.data.join("index");
        let _ = fs::remove_dir_all(&home);
        let opened = place.open();
        let begun = Instant::now();
        let report = opened
            .update_words(&|_| {}, &CancellationToken::new())
            .unwrap();
        ours = ours.min(begun.elapsed());
        assert_eq!(report.chunks, texts.len());
        base = Some(opened);
    }
    let base = base.unwrap();
    base.embed_pending(&|_| {}, &CancellationToken::new())
        .unwrap();
    assert_eq!(base.status().pending, 0);
    drop(base);
    let open = median((0..9).map(|_| {
        let begun = Instant::now();
        let base = place.open();
        let took = begun.elapsed();
        assert!(base.status().documents == size.div_ceil(PASSAGES_A_DOCUMENT));
        took
    }));
    let base = place.open();
    let mut random = Seeded::new(5);
    let queries: Vec<String> = (0..QUERIES)
        .map(|_| {
            let text: Vec<&str> = texts[random.below(texts.len())]
                .split_whitespace()
                .collect();
            let at = random.below(text.len() - 8);
            text[at..at + 4 + random.below(4)].join(" ")
        })
        .collect();
    let ask = |mode: SearchMode, voice: Voice, queries: &[String]| {
        place.embedder.voice.store(voice as u8, Ordering::Relaxed);
        let times = queries.iter().map(|query| {
            let begun = Instant::now();
            let hits = base.search(mode, query, K).unwrap();
            assert!(!hits.is_empty());
            begun.elapsed()
        });
        times.collect::<Vec<_>>()
    };
    let first_vector = ms(ask(SearchMode::Vector, Voice::MadeUp, &queries[..1])[0]);
    let both = |mode: SearchMode, voice: Voice| {
        ask(mode, voice, &queries[..QUERIES / 4]);
        let times = ask(mode, voice, &queries);
        [percentile(&times, 50), percentile(&times, 99)]
    };
    let lexical = both(SearchMode::Hybrid, Voice::None);
    let vector = both(SearchMode::Vector, Voice::MadeUp);
    let hybrid = both(SearchMode::Hybrid, Voice::Real);
    let embedding: Vec<Duration> = queries
        .iter()
        .map(|query| {
            let begun = Instant::now();
            place.embedder.real.embed(&[query]).unwrap();
            begun.elapsed()
        })
        .collect();
    drop(base);
    Figures {
        ours: texts.len() as f64 / ours.as_secs_f64(),
        plain: texts.len() as f64 / plain.as_secs_f64(),
        open,
        first_vector,
        lexical,
        vector,
        hybrid,
        query: percentile(&embedding, 50),
        ask_mb: place.peak_of_ask(&queries[0]),
        disk_mb: size_of_folder(&place.data.join("index")) as f64 / 1e6,
    }
}

/// The same texts with tantivy's own tokenizer, stored, by as many threads.
fn plain_tantivy(texts: &[String]) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let mut schema = Schema::builder();
    let text = schema.add_text_field("text", TEXT | STORED);
    let index = Index::create_in_dir(dir.path(), schema.build()).unwrap();
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let begun = Instant::now();
    let mut writer: IndexWriter = index
        .writer_with_num_threads(threads, threads * WRITER_BYTES)
        .unwrap();
    for passage in texts {
        writer.add_document(doc!(text => passage.as_str())).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    begun.elapsed()
}

/// Ten thousand files of which none has changed, beside a walk that only looks at them.
fn unchanged(words: &Vocabulary) {
    const FILES: usize = 10_000;
    let place = Place::new();
    place.write(FILES, 1, words);
    // Until the clock of the file system has moved on, unchanged files are read again.
    thread::sleep(Duration::from_millis(2_100));
    let base = place.open();
    let update = || {
        base.update_words(&|_| {}, &CancellationToken::new())
            .unwrap()
    };
    assert_eq!(update().added, FILES);
    let (mut ours, mut walked) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 * ROUNDS {
        let begun = Instant::now();
        assert_eq!(update().unchanged, FILES);
        ours = ours.min(begun.elapsed());
        let begun = Instant::now();
        let seen = AtomicUsize::new(0);
        WalkBuilder::new(&place.docs).build_parallel().run(|| {
            Box::new(|entry| {
                let meta = entry.unwrap().metadata().unwrap();
                if meta.is_file() {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
                WalkState::Continue
            })
        });
        walked = walked.min(begun.elapsed());
        assert_eq!(seen.load(Ordering::Relaxed), FILES);
    }
    println!(
        "{FILES} unchanged files: {:.1} ms; bare parallel walk with stat {:.1} ms; ratio {:.2}",
        ms(ours),
        ms(walked),
        ours.as_secs_f64() / walked.as_secs_f64()
    );
    // One saved file.
    let file = place.docs.join("d42/0042.md");
    let mut times = Vec::new();
    for n in 0..9 {
        fs::write(&file, format!("# Saved\n\nAgain, for the {n}th time.\n")).unwrap();
        let begun = Instant::now();
        let report = base
            .update_words(&|_| {}, &CancellationToken::new())
            .unwrap();
        times.push(begun.elapsed());
        assert_eq!(report.changed, 1);
    }
    println!(
        "one saved file of {FILES}, until it can be found: median {:.1} ms",
        median(times)
    );
}

/// A million rows of one vector each.
fn million(words: &Vocabulary) {
    const ROWS: usize = 1_000_000;
    const ROWS_A_DOCUMENT: usize = 2_000;
    let place = Place::new();
    let mut random = Seeded::new(9);
    for document in 0..ROWS / ROWS_A_DOCUMENT {
        let mut text = String::new();
        for n in 0..ROWS_A_DOCUMENT {
            let said = words.paragraph(8, &mut random);
            text.push_str(&format!("## {document} {n}\n\n{said}\n\n"));
        }
        fs::write(place.docs.join(format!("{document}.md")), text).unwrap();
    }
    let base = place.open();
    let report = base.update(&|_| {}, &CancellationToken::new()).unwrap();
    let begun = Instant::now();
    base.search(SearchMode::Vector, "first", K).unwrap();
    let first = begun.elapsed();
    let times: Vec<Duration> = (0..60)
        .map(|n| {
            let begun = Instant::now();
            base.search(SearchMode::Vector, &format!("query {n}"), K)
                .unwrap();
            begun.elapsed()
        })
        .collect();
    println!(
        "{} rows of {DIMENSIONS}: vector search p50 {:.1} ms, p99 {:.1} ms, the first {:.0} ms",
        report.chunks,
        percentile(&times, 50),
        percentile(&times, 99),
        ms(first)
    );
}

/// Documents and an index, both gone in the end.
struct Place {
    _dir: tempfile::TempDir,
    docs: PathBuf,
    data: PathBuf,
    embedder: Arc<Voices>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (docs, data) = (dir.path().join("docs"), dir.path().join("data"));
        fs::create_dir_all(&docs).unwrap();
        Self {
            _dir: dir,
            docs,
            data,
            embedder: Arc::default(),
        }
    }

    /// Writes documents of so many passages and returns all chunks as they are indexed.
    fn write(&self, passages: usize, a_document: usize, words: &Vocabulary) -> Vec<String> {
        let mut random = Seeded::new(passages as u64);
        let mut texts = Vec::with_capacity(passages);
        for number in 0..passages.div_ceil(a_document) {
            let count = a_document.min(passages - number * a_document);
            let paragraphs: Vec<String> = (0..count)
                .map(|_| words.paragraph(PASSAGE_WORDS, &mut random))
                .collect();
            let title = words.paragraph(4, &mut random);
            let text = format!("# {title}\n\n{}\n", paragraphs.join("\n\n"));
            let name = format!("d{:02}/{number:04}.md", number % 100);
            let path = self.docs.join(&name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &text).unwrap();
            let (_, chunks) = chunk(&name, &Extraction::of_text(&name, text));
            texts.extend(chunks.iter().map(kb_agent::kb::Chunk::indexed_text));
        }
        texts
    }

    fn open(&self) -> KnowledgeBase {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        KnowledgeBase::open(
            std::slice::from_ref(&self.docs),
            &self.data.join("index"),
            embedder,
        )
        .unwrap()
    }

    /// In megabytes, of the real program answering one question over this index.
    fn peak_of_ask(&self, question: &str) -> f64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kb-agent"))
            .args(["ask", "--route", "simple", "--kb"])
            .arg(&self.docs)
            .arg("--data-dir")
            .arg(&self.data)
            .arg(question)
            .env("KB_AGENT_LLM_BASE_URL", "")
            .current_dir(self.docs.parent().unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0.0_f64;
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(kb.unwrap_or(0.0) / 1024.0);
            thread::sleep(Duration::from_millis(1));
        }
        peak
    }
}

/// Who embeds.
#[derive(Clone, Copy)]
enum Voice {
    /// Numbers drawn from the text's hash.
    MadeUp,
    /// The model.
    Real,
    /// Nothing: a hybrid search then is a lexical one.
    None,
}

#[derive(Default)]
struct Voices {
    voice: AtomicU8,
    real: SentenceEmbedding,
}

impl Embedder for Voices {
    fn model_id(&self) -> &str {
        BuiltInModel::English.id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self.voice.load(Ordering::Relaxed) {
            voice if voice == Voice::Real as u8 => self.real.embed(texts),
            voice if voice == Voice::None as u8 => Err(EmbedError("no embedding".into())),
            _ => Ok(texts.iter().map(|text| made_up(text)).collect()),
        }
    }

    fn is_cpu_bound(&self) -> bool {
        self.real.is_cpu_bound()
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

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(times: impl IntoIterator<Item = Duration>) -> f64 {
    percentile(&times.into_iter().collect::<Vec<_>>(), 50)
}

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    ms(sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)])
}

fn size_of_folder(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size_of_folder(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
