//! What the built-in judge looks at, of questions with labelled passages: assets/judge/fit.py fits its
//! weights on this.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::collection::record;
use super::judged::{bar, read};
use crate::cli::output::CommandFailure;
use crate::engine::{Given, Looking, signal_names};

/// What a line looks like, for who wrote another one.
const FORM: &str =
    r#"{"query": "…", "set": "…", "group": "…", "passages": [{"text": "…", "label": "…"}]}"#;

/// Arguments of `eval signals`.
#[derive(Debug, Args)]
pub(super) struct Signals {
    /// One JSON object a line: {"query", "set", "group", "passages": [{"text" | "title" and
    /// "sentences", "label", "answers"?}]}, answers being sentences, counted from 0
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write: the names of the signals, and then a line for each question
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Deserialize)]
struct QuestionSignals {
    query: String,
    set: String,
    group: String,
    passages: Vec<PassageSignals>,
}

#[derive(Debug, Deserialize)]
struct PassageSignals {
    label: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    sentences: Vec<String>,
    #[serde(default)]
    answers: Vec<usize>,
}

/// Writes the file.
pub(super) fn run(signals: &Signals) -> Result<(), CommandFailure> {
    let questions = read(&signals.file, "not found", |line| {
        record::<QuestionSignals>(line, FORM)
    })?;
    let cannot = |error: &std::io::Error| cannot(&signals.out, error);
    let mut out = BufWriter::new(File::create(&signals.out).map_err(|error| cannot(&error))?);
    let [units, passages] = signal_names();
    writeln!(out, "{}", json!({"units": units, "passages": passages})).map_err(|e| cannot(&e))?;
    let looking = Looking::new();
    let bar = bar(questions.len());
    for question in &questions {
        writeln!(out, "{}", look(&looking, question)?).map_err(|error| cannot(&error))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    out.flush().map_err(|error| cannot(&error))
}

fn look(looking: &Looking, question: &QuestionSignals) -> Result<Value, CommandFailure> {
    let sentences: Vec<Vec<&str>> = question
        .passages
        .iter()
        .map(|p| p.sentences.iter().map(String::as_str).collect())
        .collect();
    let given = question
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
    let found = looking.at(&question.query, &given.collect::<Vec<_>>())?;
    let passages = question.passages.iter().enumerate().map(|(at, passage)| {
        let units = found.units[at].iter().enumerate();
        let units = units.map(
            |(unit, row)| json!({"answers": passage.answers.contains(&unit), "row": rounded(row)}),
        );
        json!({
            "label": passage.label,
            "named_by": found.named_by[at],
            "row": rounded(&found.passages[at]),
            "units": units.collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "set": question.set,
        "group": question.group,
        "passages": passages.collect::<Vec<_>>(),
    }))
}

fn rounded(row: &[f64]) -> Vec<f64> {
    row.iter()
        .map(|value| (value * 1e5).round() / 1e5)
        .collect()
}

fn cannot(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::failed(format!("{}: {error}", path.display()))
}
