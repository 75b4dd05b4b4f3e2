//! What the built-in judge looks at, of questions with labelled passages or over a knowledge base:
//! assets/judge/fit.py fits its weights on this.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::collection::record;
use super::judged::{bar, read};
use crate::cli::interruption::interruptible;
use crate::cli::output::CommandFailure;
use crate::config::Settings;
use crate::domain::Evidence;
use crate::engine::{Given, SignalReader, Signals, signal_names};

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "passages": [{"text": "…", "label": "…"}]}"#;

/// Arguments of `eval signals`.
#[derive(Debug, Args)]
pub(super) struct SignalArgs {
    /// One JSON object a line: {"query", "passages": [{"text" | "title" and "sentences", "label"}]}; without
    /// passages the knowledge base is searched. Other fields are copied
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write: the names of the signals with the embedding that is set, and then a line for each question
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Deserialize)]
struct LabelledQuestion {
    query: String,
    #[serde(default)]
    passages: Vec<LabelledPassage>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct LabelledPassage {
    label: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    sentences: Vec<String>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

/// Writes the file.
pub(super) fn run(args: &SignalArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = read(&args.file, "not found", |line| {
        record::<LabelledQuestion>(line, FORM)
    })?;
    let searched = questions
        .iter()
        .filter(|question| question.passages.is_empty());
    let searched: Vec<&str> = searched.map(|question| question.query.as_str()).collect();
    let found = if searched.is_empty() {
        Vec::new()
    } else {
        interruptible(async |_| Ok(SignalReader::search(settings, &searched).await?))?
    };
    let mut found = found.into_iter();
    let cannot = |error: &std::io::Error| cannot(&args.out, error);
    let mut out = BufWriter::new(File::create(&args.out).map_err(|error| cannot(&error))?);
    let head = json!({"signals": signal_names(), "embedding": settings.embedding_languages});
    writeln!(out, "{head}").map_err(|error| cannot(&error))?;
    let reader = SignalReader::new(settings);
    let bar = bar(questions.len());
    for question in &questions {
        let items = if question.passages.is_empty() {
            found.next()
        } else {
            None
        };
        let line = measured(&reader, question, &items.unwrap_or_default())?;
        writeln!(out, "{line}").map_err(|error| cannot(&error))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    out.flush().map_err(|error| cannot(&error))
}

fn measured(
    reader: &SignalReader,
    question: &LabelledQuestion,
    items: &[Evidence],
) -> Result<Value, CommandFailure> {
    let sentences: Vec<Vec<&str>> = question
        .passages
        .iter()
        .map(|passage| passage.sentences.iter().map(String::as_str).collect())
        .collect();
    let labelled = question
        .passages
        .iter()
        .zip(&sentences)
        .map(|(passage, sentences)| {
            if sentences.is_empty() {
                Given::Text(&passage.text)
            } else {
                Given::Sentences(&passage.title, sentences)
            }
        });
    let given: Vec<Given<'_>> = labelled.chain(items.iter().map(Given::Found)).collect();
    let signals = reader.read(&question.query, &given)?;
    let labels = question.passages.iter().map(|passage| {
        let mut line = Value::Object(passage.others.clone());
        line["label"] = json!(passage.label);
        line
    });
    let sources = items
        .iter()
        .map(|item| json!({"source": item.source, "score": item.score, "measured": item.measured}));
    let passages = labels
        .chain(sources)
        .zip(signals)
        .map(|(mut passage, blocks)| {
            passage["blocks"] = blocks.iter().map(block).collect();
            passage
        });
    let mut line = Value::Object(question.others.clone());
    line["query"] = json!(question.query);
    line["passages"] = passages.collect();
    Ok(line)
}

fn block(signals: &Signals) -> Value {
    let rounded = signals.row.iter().map(|value| (value * 1e5).round() / 1e5);
    json!({"lines": [signals.lines.start, signals.lines.end], "row": rounded.collect::<Vec<_>>()})
}

fn cannot(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::failed(format!("{}: {error}", path.display()))
}
