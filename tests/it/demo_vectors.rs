//! The demo's passages come with their vectors: the first answer waits for none of them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use kb_agent::agent::ports::{EmbedError, Embedder};
use kb_agent::embed::{BuiltInModel, DIMENSIONS, Precomputed, SentenceEmbedding};
use kb_agent::kb::KnowledgeBase;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::frozen_demo;
use crate::support::{cosine, saturates};
use crate::workplace::{Workplace, events, json_lines, text};

fn asset(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("assets")
        .join(path)
}

/// Stands in for the model and keeps the texts that it is asked for.
#[derive(Default)]
struct Texts(Mutex<Vec<String>>);

impl Embedder for Texts {
    fn model_id(&self) -> &'static str {
        BuiltInModel::English.id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut kept = self.0.lock();
        kept.extend(texts.iter().map(|text| (*text).to_owned()));
        Ok(vec![vec![1.0; DIMENSIONS]; texts.len()])
    }
}

/// What is embedded when these pages are indexed.
fn asked_of_the_model(
    pages: PathBuf,
    over: impl FnOnce(Arc<Texts>) -> Arc<dyn Embedder>,
) -> Vec<String> {
    let texts = Arc::new(Texts::default());
    let home = TempDir::new().unwrap();
    let embedder = over(texts.clone());
    let base = KnowledgeBase::open(&[pages], home.path(), embedder).unwrap();
    base.update(&|_| {}, &CancellationToken::new()).unwrap();
    assert_eq!(base.status().pending, 0);
    let mut texts = texts.0.lock().clone();
    texts.sort_unstable();
    texts.dedup();
    texts
}

#[test]
fn every_passage_of_the_demo_comes_with_the_vector_that_the_model_makes() {
    let file: &'static [u8] = fs::read(asset("embedding/demo-kb.vectors")).unwrap().leak();
    let missing = asked_of_the_model(asset("demo-kb"), |texts| {
        Arc::new(Precomputed::new(texts, file))
    });
    assert!(
        missing.is_empty(),
        "assets/embedding/NOTICE says how to write the vectors anew; {} are missing, the first: {}",
        missing.len(),
        missing[0]
    );

    let texts = asked_of_the_model(asset("demo-kb"), |texts| texts);
    let held = Precomputed::new(Arc::new(Texts::default()), file);
    assert_eq!(held.count(), texts.len(), "none of a passage that is gone");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let held = held.embed(&texts).unwrap();
    let made = SentenceEmbedding::new(BuiltInModel::English)
        .embed(&texts)
        .unwrap();
    for ((text, held), made) in texts.iter().zip(&held).zip(&made) {
        // Where the processor is another one, sums are added up in another order, or cut off.
        let least = if saturates() { 0.99 } else { 0.999 };
        let cosine = cosine(held, made);
        assert!(cosine >= least, "{cosine}: {text}");
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512vnni") {
        for (held, made) in held.iter().zip(&made) {
            let largest = made
                .iter()
                .fold(0.0, |largest: f32, number| largest.max(number.abs()));
            for (held, made) in held.iter().zip(made) {
                assert!(
                    (held - made).abs() <= largest / 127.0 / 2.0 + 1e-6,
                    "{held} {made}"
                );
            }
        }
    }
}

fn write_vectors(pages: PathBuf, file: PathBuf) {
    let texts = asked_of_the_model(pages, |texts| texts);
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = SentenceEmbedding::new(BuiltInModel::English)
        .embed(&refs)
        .unwrap();
    let held: Vec<(String, Vec<f32>)> = texts.into_iter().zip(vectors).collect();
    fs::write(file, Precomputed::file(BuiltInModel::English.id(), &held)).unwrap();
}

#[test]
#[ignore = "writes assets/embedding/demo-kb.vectors"]
fn write_the_vectors_of_the_demo() {
    write_vectors(asset("demo-kb"), asset("embedding/demo-kb.vectors"));
}

#[test]
#[ignore = "writes tests/it/fixtures/demo-kb.vectors"]
fn write_the_vectors_of_the_frozen_pages() {
    write_vectors(frozen_demo::pages(), frozen_demo::vectors());
}

#[test]
fn the_first_question_to_the_demo_misses_no_meaning() {
    let place = Workplace::empty();
    let output = place.run_well(&["ask", "--json", "What are the four rules?"]);
    assert_eq!(text(&output.stderr), "");
    let answered = json_lines(&output.stdout);
    assert!(events(&answered, "warning").is_empty());
    let by_meaning = events(&answered, "evidence_added")
        .iter()
        .flat_map(|added| added["items"].as_array().unwrap())
        .any(|item| item["vector_rank"].is_u64());
    assert!(by_meaning, "{answered:?}");
}
