//! The embedding, beside onnxruntime with the ONNX file that the model is made of, in the same run.
//!
//! `cargo bench --bench embedding [-- --python PATH]`. Passages of 200 tokens on all cores, and a
//! query of 22 tokens. The other side is `benches/embedding.py`; it needs `onnxruntime`, `numpy` and
//! the ONNX file (assets/embedding/NOTICE), and is left out where they are not there. Both sides take
//! turns and show their best.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kb_agent::agent::ports::Embedder;
use kb_agent::embed::{BuiltInModel, SentenceEmbedding, WordPiece};

const PASSAGES: usize = 64;
const PASSAGE_TOKENS: usize = 200;
const QUERY_TOKENS: usize = 22;
const ROUNDS: usize = 3;

fn main() {
    let mut args = std::env::args().skip_while(|arg| arg != "--python").skip(1);
    let python = args.next().unwrap_or_else(|| "python3".to_owned());
    let tokens = WordPiece::bert_uncased();
    let words = words();
    let passages: Vec<String> = (0..PASSAGES)
        .map(|n| text_of(&words, n * 97, PASSAGE_TOKENS, &tokens))
        .collect();
    let query = text_of(&words, 11, QUERY_TOKENS, &tokens);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let ids: Vec<_> = passages
        .iter()
        .map(|text| tokens.encode(text, 256))
        .collect();
    let job = serde_json::json!({
        "model": Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("assets/embedding/all-minilm-l6-v2-int8.onnx"),
        "threads": threads,
        "passages": ids,
        "query": tokens.encode(&query, 256),
    });
    file.write_all(job.to_string().as_bytes()).unwrap();

    let embedder = SentenceEmbedding::new(BuiltInModel::English);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    embedder.embed(&passages[..4]).unwrap();
    let (mut all, mut one) = (Duration::MAX, Vec::new());
    let mut other: Option<[f64; 2]> = None;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        embedder.embed(&passages).unwrap();
        all = all.min(begun.elapsed());
        for _ in 0..100 {
            let begun = Instant::now();
            embedder.embed(&[&query]).unwrap();
            one.push(begun.elapsed());
        }
        if let Some([rate, latency]) = onnxruntime(&python, file.path()) {
            let best = other.unwrap_or([0.0, f64::INFINITY]);
            other = Some([best[0].max(rate), best[1].min(latency)]);
        }
    }
    one.sort_unstable();
    let rate = PASSAGES as f64 / all.as_secs_f64();
    let latency = one[one.len() / 2].as_secs_f64() * 1e3;
    let best = one[0].as_secs_f64() * 1e3;
    println!("{PASSAGE_TOKENS}-token passages, {threads} threads: {rate:.1} a second");
    println!("a query of {QUERY_TOKENS} tokens: median {latency:.2} ms, best {best:.2} ms");
    match other {
        Some([others, query]) => println!(
            "onnxruntime: {others:.1} a second, query at best {query:.2} ms; share of its throughput {:.2}",
            rate / others
        ),
        None => {
            println!(
                "onnxruntime is not measured: `{python} -c 'import onnxruntime, numpy'` fails, or the ONNX file is not there"
            );
        }
    }
}

/// Of the bundled knowledge base.
fn words() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo-kb");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    files.sort();
    let texts = files.iter().filter(|path| path.is_file());
    texts
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Words from there on that make that many tokens, both marks included.
fn text_of(words: &[String], from: usize, count: usize, tokens: &WordPiece) -> String {
    let mut text = String::new();
    for word in words.iter().cycle().skip(from) {
        let longer = format!("{text} {word}");
        if tokens.encode(&longer, 512).len() > count {
            break;
        }
        text = longer;
    }
    text
}

/// Passages a second and a query's milliseconds, both at their best.
fn onnxruntime(python: &str, job: &Path) -> Option<[f64; 2]> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/embedding.py");
    let output = Command::new(python).arg(script).arg(job).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??])
}
