//! What the built-in judge looks at, of questions with labelled passages or over a knowledge base:
//! assets/judge/fit.py fits its weights on this.
//!
//! `cargo bench --bench judge_signals -- FILE --out OUT`. FILE holds one JSON object a line: `{"query", "passages":
//! [{"text", "label"}]}`; without passages the base of KB_AGENT_SOURCE is searched, which `kb-agent index` has indexed in
//! KB_AGENT_DATA_DIR. A passage with a `source` is read as a file of that name. Other fields are copied. OUT gets the names
//! of the signals with the embedding of KB_AGENT_EMBEDDING, and then a line for each question.
//!
//! `cargo bench --bench judge_signals -- TEXTS --tokens OUT`. TEXTS holds one JSON string a line; OUT gets the vectors of
//! the tokens of each, as assets/judge/matching/train.py reads them. With `--vectors` it gets the vector of each as a
//! question, by the model for the languages of KB_AGENT_EMBEDDING, as assets/embedding/bridge/fit.py reads them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::sync::Arc;

use kb_agent::agent::ports::{Embedder, TokensWanted, Toolbox};
use kb_agent::config::{Environment, Overrides, Settings};
use kb_agent::domain::{Evidence, Languages, ToolCall};
use kb_agent::embed::{BuiltInModel, CachedEmbedder, JudgeEmbedder, SentenceEmbedding};
use kb_agent::engine::open_knowledge;
use kb_agent::reasoner::offline::{Signals, measure_signals, read, signal_names};
use kb_agent::tools::KbToolbox;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// Tokens of a text that the judge looks at in English (src/reasoner/offline/judge/meaning.rs).
const TOKENS: usize = 64;

#[derive(Deserialize)]
struct LabelledQuestion {
    query: String,
    #[serde(default)]
    passages: Vec<LabelledPassage>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct LabelledPassage {
    text: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    // As a test, which all targets are, it gets no file.
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [file, wanted @ ("--out" | "--tokens" | "--vectors"), out] = words[..] else {
        println!("give it FILE --out OUT, TEXTS --tokens OUT or TEXTS --vectors OUT");
        return;
    };
    let environment = Environment::read(None);
    let settings = Settings::resolve(&environment, Overrides::default()).unwrap();
    let judge = JudgeEmbedder::built_in().with_fixed_model(settings.embedding_languages);
    let embedder = CachedEmbedder::new(Arc::new(judge));
    let lines = fs::read_to_string(file).unwrap();
    let mut out = BufWriter::new(File::create(out).unwrap());
    if wanted == "--tokens" {
        write_tokens(&lines, &embedder, &mut out);
        return;
    }
    if wanted == "--vectors" {
        write_vectors(&lines, settings.embedding_languages, &mut out);
        return;
    }
    let mut base = None;
    let head = json!({"signals": signal_names(), "embedding": settings.embedding_languages});
    writeln!(out, "{head}").unwrap();
    for line in lines.lines() {
        if line.trim().is_empty() {
            continue;
        }
        let question: LabelledQuestion = serde_json::from_str(line).expect(line);
        let labelled = !question.passages.is_empty();
        let items = if labelled {
            let passages = question.passages.iter().enumerate();
            passages
                .map(|(at, passage)| evidence(at + 1, passage))
                .collect()
        } else {
            let base = base.get_or_insert_with(|| {
                KbToolbox::new(Arc::new(open_knowledge(&settings).unwrap()))
            });
            search(base, &question.query).await
        };
        writeln!(out, "{}", measure(question, &items, &embedder)).unwrap();
    }
    out.flush().unwrap();
}

/// Writes of each text, a JSON string a line, how many tokens the embedding knows and then their vectors, all as 16-bit
/// integers of which the greatest is 1.
fn write_tokens(texts: &str, embedder: &dyn Embedder, out: &mut impl Write) {
    let wanted = TokensWanted {
        most: TOKENS,
        languages: Languages::English,
    };
    let cancel = CancellationToken::new();
    let integer = |number: f32| (number * f32::from(i16::MAX)).round() as i16;
    let parse = |line| serde_json::from_str(line).unwrap();
    let texts: Vec<String> = texts.lines().map(parse).collect();
    for texts in texts.chunks(256) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let made = embedder.embed_tokens(&texts, wanted, (&cancel).into());
        for text in made.unwrap().unwrap() {
            let count = i16::try_from(text.vectors.len()).unwrap();
            let numbers = text.vectors.into_iter().flatten().map(integer);
            for number in std::iter::once(count).chain(numbers) {
                out.write_all(&number.to_le_bytes()).unwrap();
            }
        }
    }
    out.flush().unwrap();
}

/// Writes the vector of each text, a JSON string a line, as 32-bit numbers.
fn write_vectors(texts: &str, languages: Option<Languages>, out: &mut impl Write) {
    let model = match languages {
        Some(Languages::All) => BuiltInModel::Multilingual,
        _ => BuiltInModel::English,
    };
    let embedder = SentenceEmbedding::new(model);
    let parse = |line| serde_json::from_str(line).unwrap();
    let texts: Vec<String> = texts.lines().map(parse).collect();
    for texts in texts.chunks(256) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for number in embedder.embed(&texts).unwrap().into_iter().flatten() {
            out.write_all(&number.to_le_bytes()).unwrap();
        }
    }
    out.flush().unwrap();
}

/// A passage as it is judged; the name of its file tells the format.
fn evidence(number: usize, passage: &LabelledPassage) -> Evidence {
    let source = passage.others.get("source").and_then(Value::as_str);
    Evidence {
        source: source.unwrap_or_default().to_owned(),
        ..Evidence::without_file(number, &passage.text)
    }
}

/// What a hybrid search of the base finds, as the plan of a run would ask it.
async fn search(base: &KbToolbox, query: &str) -> Vec<Evidence> {
    let question = read(query, &[]);
    let call = ToolCall::HybridSearch {
        semantic_query: question.search_text(),
        exact_keywords: question.literals.keywords(),
    };
    base.run(&call, None).await.unwrap()
}

/// The line of a question: what was given of it, and the signals of each block.
fn measure(question: LabelledQuestion, items: &[Evidence], embedder: &dyn Embedder) -> Value {
    let (signals, pool) = measure_signals(&question.query, items, embedder).unwrap();
    let of_search = |item: &Evidence| json!({"source": item.source, "score": item.score, "measured": item.measured});
    let passages: Vec<Value> = if question.passages.is_empty() {
        items.iter().map(of_search).collect()
    } else {
        let labelled = question.passages.into_iter();
        labelled.map(|passage| passage.others.into()).collect()
    };
    let passages = passages.into_iter().zip(signals);
    let passages = passages.map(|(mut passage, blocks)| {
        passage["blocks"] = blocks.iter().map(block).collect();
        passage
    });
    let mut line = Value::Object(question.others);
    line["query"] = json!(question.query);
    line["pool"] = pool
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    line["passages"] = passages.collect();
    line
}

fn block(signals: &Signals) -> Value {
    let rounded = signals.row.iter().map(|value| (value * 1e5).round() / 1e5);
    let row = rounded.collect::<Vec<_>>();
    json!({"lines": [signals.lines.start, signals.lines.end], "text": signals.text, "row": row})
}
