//! What a base that PostgreSQL keeps costs, beside the index in the data folder, in one run.
//!
//! `cargo bench --bench store -- [--sizes 50000,250000] [--beside]` over the server that
//! `tests/store-server/serve_store.sh` starts. Corpora and vectors are made up; queries are embedded
//! for real in the rows of hybrid search. Each size fills a space of its own and leaves it there, with
//! vectors of its own, or with `--beside` among those of the sizes before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "retrieval/corpus.rs"]
mod corpus;

use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corpus::{Seeded, Vocabulary};
use kb_agent::agent::ports::{EmbedError, Embedder};
use kb_agent::embed::{DIMENSIONS, SentenceEmbedding};
use kb_agent::kb::{KnowledgeBase, SearchMode, Sources, StoreAccess, StoreAdministration};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

const QUERIES: usize = 200;
const PASSAGE_WORDS: usize = 110;
const PASSAGES_A_DOCUMENT: usize = 10;

fn main() {
    let mut sizes = vec![50_000, 250_000];
    let mut is_beside = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        is_beside |= arg == "--beside";
        if arg == "--sizes" {
            let list = args
                .next()
                .expect("--sizes needs a list such as 50000,250000");
            sizes = list
                .split(',')
                .map(|size| size.parse().expect("a whole number"))
                .collect();
        }
    }
    let Some(access) = access() else {
        println!("no server: see tests/store-server/serve_store.sh");
        return;
    };
    StoreAdministration::new(&access)
        .unwrap()
        .prepare(&CancellationToken::new())
        .unwrap();
    let words = Vocabulary::new(60_000);
    for size in sizes {
        let mut model = "made up".to_owned();
        if !is_beside {
            model = format!("{model} {size} {}", std::process::id());
        }
        measure(size, &words, &access, model);
    }
}

fn access() -> Option<StoreAccess> {
    let set = |name: &str| std::env::var(name).ok();
    let space = format!("bench-{}", std::process::id());
    Some(StoreAccess {
        url: format!(
            "{}?sslmode=require&space={space}",
            set("KB_AGENT_TEST_STORE_URL")?
        )
        .into(),
        password: Some(set("KB_AGENT_TEST_STORE_PASSWORD")?.into()),
        ca: set("KB_AGENT_TEST_STORE_CA").map(PathBuf::from),
        space: None,
    })
}

fn measure(size: usize, words: &Vocabulary, access: &StoreAccess, model_id: String) {
    let place = tempfile::tempdir().unwrap();
    let docs = place.path().join("docs");
    let texts = write(&docs, size, words);
    let access = StoreAccess {
        url: format!("{}-{size}", access.url.expose_secret()).into(),
        ..access.clone()
    };
    let made_up_model = Arc::new(MadeUpEmbedder {
        model_id,
        ..MadeUpEmbedder::default()
    });
    let model = || Arc::clone(&made_up_model) as Arc<dyn Embedder>;
    let home = |name: &str| {
        let home = place.path().join(name);
        fs::create_dir_all(&home).unwrap();
        home
    };
    let embedded = KnowledgeBase::open(from_ref(&docs), &home("a"), model()).unwrap();
    let stored = KnowledgeBase::open_shared(from_ref(&docs), &home("b"), model(), &access).unwrap();
    let queries = queries(&texts);
    println!(
        "\n{size} chunks\n{:44}{:>14}{:>14}{:>9}",
        "", "data folder", "store", "ratio"
    );
    let row = |name: &str, a: f64, b: f64| println!("{name:44}{a:>14.1}{b:>14.1}{:>9.2}", b / a);
    let bases = [&embedded, &stored];
    let [a, b] = bases.map(|base| {
        let begun = Instant::now();
        let report = base
            .update_words(&|_| {}, &CancellationToken::new())
            .unwrap();
        report.chunks as f64 / begun.elapsed().as_secs_f64()
    });
    row("words indexed, chunks/s", a, b);
    let [a, b] = bases.map(|base| {
        let begun = Instant::now();
        let report = base
            .embed_pending(&|_| {}, &CancellationToken::new())
            .unwrap();
        report.embedded as f64 / begun.elapsed().as_secs_f64()
    });
    row("made-up vectors taken up, chunks/s", a, b);
    for (name, mode, real, others) in [
        ("lexical", SearchMode::Lexical, false, Others::None),
        (
            "dense, vector given",
            SearchMode::Vector,
            false,
            Others::None,
        ),
        (
            "hybrid, query embedded",
            SearchMode::Hybrid,
            true,
            Others::None,
        ),
        (
            "hybrid beside another reader",
            SearchMode::Hybrid,
            true,
            Others::Reader,
        ),
        (
            "hybrid beside a writer and another reader",
            SearchMode::Hybrid,
            true,
            Others::ReaderAndWriter,
        ),
    ] {
        made_up_model.real.store(real, Ordering::Relaxed);
        let [a, b] = bases.map(|base| {
            let measured = || times(base, mode, &queries);
            beside(others, (base, &docs), measured, &queries)
        });
        for (at, percent) in [(0, 50), (1, 99)] {
            row(&format!("{name}, p{percent}, ms"), a[at], b[at]);
        }
    }
    made_up_model.real.store(false, Ordering::Relaxed);
    let [a, b] = bases.map(|base| {
        let saved = docs.join("d0").join("0.md");
        let took = (0..20).map(|n| {
            fs::write(&saved, format!("# Saved {n}\n\n{}\n", texts[n])).unwrap();
            let begun = Instant::now();
            let changes = kb_agent::kb::Changes::Files(vec![saved.canonicalize().unwrap()]);
            base.update_changed(&changes, &|_| {}, &CancellationToken::new())
                .unwrap();
            begun.elapsed()
        });
        percentile(&took.collect::<Vec<_>>(), 50)
    });
    row("one saved file, its words, p50, ms", a, b);
    let reader = KnowledgeBase::open_shared(Sources::default(), &home("c"), model(), &access);
    println!(
        "{:44}{:>28.1}",
        "refreshed and found elsewhere, worst of 20, ms",
        visible(&stored, &reader.unwrap(), &docs)
    );
}

/// How long after a commit another base that refreshes itself finds what it brought, in ms; the worst of
/// twenty.
fn visible(writer: &KnowledgeBase, reader: &KnowledgeBase, docs: &Path) -> f64 {
    let waits = (0..20).map(|n| {
        let (file, word) = (docs.join("d0").join("0.md"), format!("zyqwv{n}"));
        fs::write(&file, format!("# Saved {n}\n\n{word}\n")).unwrap();
        let changes = kb_agent::kb::Changes::Files(vec![file.canonicalize().unwrap()]);
        writer
            .update_changed(&changes, &|_| {}, &CancellationToken::new())
            .unwrap();
        let begun = Instant::now();
        let is_found = || {
            reader.refresh().unwrap();
            let hits = reader.search(SearchMode::Lexical, &word, 1).unwrap();
            hits.iter().any(|hit| hit.text.contains(&word))
        };
        while !is_found() {
            thread::yield_now();
        }
        begun.elapsed().as_secs_f64() * 1000.0
    });
    waits.fold(0.0, f64::max)
}

/// Median and 99th percentile, in ms.
fn times(base: &KnowledgeBase, mode: SearchMode, queries: &[String]) -> [f64; 2] {
    let ask = |queries: &[String]| -> Vec<Duration> {
        let times = queries.iter().map(|query| {
            let begun = Instant::now();
            base.search(mode, query, 10).unwrap();
            begun.elapsed()
        });
        times.collect()
    };
    ask(&queries[..QUERIES / 4]);
    let times = ask(queries);
    [percentile(&times, 50), percentile(&times, 99)]
}

/// Who else is at the base, without a pause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    Reader,
    ReaderAndWriter,
}

/// While others search, and save files that are indexed.
fn beside(
    others: Others,
    (base, docs): (&KnowledgeBase, &Path),
    measured: impl FnOnce() -> [f64; 2],
    queries: &[String],
) -> [f64; 2] {
    let cancel = CancellationToken::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while others == Others::ReaderAndWriter && !cancel.is_cancelled() {
                n += 1;
                let file = docs.join("d0").join(format!("{}.md", n % 50));
                fs::write(&file, format!("# Saved {n}\n\n{}\n", queries[n % QUERIES])).unwrap();
                let changes = kb_agent::kb::Changes::Files(vec![file.canonicalize().unwrap()]);
                base.update_changed(&changes, &|_| {}, &CancellationToken::new())
                    .unwrap();
            }
        });
        scope.spawn(|| {
            for query in queries.iter().cycle() {
                if others == Others::None || cancel.is_cancelled() {
                    break;
                }
                base.search(SearchMode::Hybrid, query, 10).unwrap();
            }
        });
        let times = measured();
        cancel.cancel();
        times
    })
}

fn queries(texts: &[String]) -> Vec<String> {
    let mut random = Seeded::new(5);
    let query = |_| {
        let text: Vec<&str> = texts[random.below(texts.len())]
            .split_whitespace()
            .collect();
        let at = random.below(text.len() - 8);
        text[at..at + 4 + random.below(4)].join(" ")
    };
    (0..QUERIES).map(query).collect()
}

/// Documents of ten passages each; returns what the passages say.
fn write(docs: &Path, size: usize, words: &Vocabulary) -> Vec<String> {
    let mut random = Seeded::new(3);
    let texts: Vec<String> = (0..size)
        .map(|_| words.paragraph(PASSAGE_WORDS, &mut random))
        .collect();
    for (n, of_document) in texts.chunks(PASSAGES_A_DOCUMENT).enumerate() {
        let folder = docs.join(format!("d{}", n / 1000));
        fs::create_dir_all(&folder).unwrap();
        let sections = of_document.iter().enumerate();
        let sections: Vec<String> = sections
            .map(|(at, text)| format!("## Part {at}\n\n{text}\n\n"))
            .collect();
        let text = sections.concat();
        fs::write(folder.join(format!("{}.md", n % 1000)), text).unwrap();
    }
    texts
}

#[derive(Default)]
struct MadeUpEmbedder {
    model_id: String,
    real: AtomicBool,
    model: SentenceEmbedding,
}

impl Embedder for MadeUpEmbedder {
    fn model_id(&self) -> &str {
        &self.model_id
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.real.load(Ordering::Relaxed) {
            return self.model.embed(texts);
        }
        Ok(texts.iter().map(|text| made_up(text)).collect())
    }

    fn is_cpu_bound(&self) -> bool {
        self.model.is_cpu_bound()
    }

    fn batch(&self) -> usize {
        256
    }
}

/// One of a thousand topics with something of its own.
fn made_up(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(17_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    let numbers = |seed: u64| {
        let mut random = Seeded::new(seed);
        (0..DIMENSIONS).map(move |_| (random.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0)
    };
    let both = numbers(seed % 1000)
        .zip(numbers(seed))
        .map(|(topic, own)| topic + 0.7 * own);
    let raw: Vec<f32> = both.collect();
    let norm = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.into_iter().map(|value| value / norm).collect()
}

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len() - 1);
    sorted[at].as_secs_f64() * 1e3
}
