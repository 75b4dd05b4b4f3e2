use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::judged::{JudgedRoute, JudgedRuns, NOTHING_LABELLED};
use crate::audit::Mask;
use crate::cli::output::{CommandFailure, print_notice, print_text};
use crate::config::Settings;
use crate::domain::{Complexity, LabelTarget, Outcome};
use crate::engine::{document_reader, mask_of};
use crate::files::{create_private_dir, write_atomic};
use crate::kb::DocumentReader;
use crate::protocol::{EvidenceItem, EvidenceRecord, RunRecord};
use crate::text::{one_line, plural};

/// The files, each for the command that reads it.
const FILES: [(&str, &str); 3] = [
    ("routing.jsonl", "eval routing"),
    ("grading.jsonl", "eval grading"),
    ("questions.jsonl", "eval run"),
];

/// Arguments of `labels export`.
#[derive(Debug, Args)]
pub(super) struct ExportLabels {
    /// The folder of the test sets [default: the one you are in]
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    dir: PathBuf,
    /// Replace test sets that are there already
    #[arg(long)]
    force: bool,
}

/// Writes one test set for each of the measuring commands; what nobody judged has none.
pub(super) fn run(
    export: &ExportLabels,
    judged: &JudgedRuns,
    settings: &Settings,
) -> Result<(), CommandFailure> {
    if judged.labels.is_empty() {
        return Err(CommandFailure::failed(NOTHING_LABELLED));
    }
    let is_there = |(name, _): &&(&str, &str)| export.dir.join(name).symlink_metadata().is_ok();
    if let Some((name, _)) = FILES.iter().find(is_there).filter(|_| !export.force) {
        let path = export.dir.join(name);
        return Err(CommandFailure::failed(format!(
            "{} is there already: give another folder, or --force to replace it",
            path.display()
        )));
    }
    let mut texts = PassageTexts::from_settings(settings);
    let sets = [
        routing(judged),
        grading(judged, &mut texts),
        questions(judged),
    ];
    let cannot = |path: &Path, what: &str, error: io::Error| {
        CommandFailure::failed(format!("{} cannot be {what}: {error}", path.display()))
    };
    create_private_dir(&export.dir).map_err(|error| cannot(&export.dir, "written", error))?;
    for ((name, reader), lines) in FILES.iter().zip(sets) {
        let path = export.dir.join(name);
        let shown = path.display();
        if !lines.is_empty() {
            let lines_of_text = lines.iter().map(|line| format!("{line}\n"));
            let text = lines_of_text.collect::<Vec<_>>().concat();
            let written = write_atomic(&path, text.as_bytes());
            written.map_err(|error| cannot(&path, "written", error))?;
            let questions = plural(lines.len(), "question");
            print_text(format!("{shown}: {questions}, for kb-agent {reader}\n"))?;
            continue;
        }
        // With --force alone it can be there: of an earlier export, whose labels were taken back.
        match fs::remove_file(&path) {
            Ok(()) => print_notice(&format!(
                "{shown} is removed: no label is for kb-agent {reader} any more"
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(&path, "removed", error)),
        }
    }
    if texts.shortened > 0 {
        let passages = plural(texts.shortened, "passage");
        print_notice(&format!(
            "{passages} in grading.jsonl only as they begin: the documents changed or are not in this \
             knowledge base; give --kb as when it was asked"
        ));
    }
    Ok(())
}

/// Questions with their right route, or the acceptable ones, as `eval routing` reads them.
fn routing(judged: &JudgedRuns) -> Vec<Value> {
    let question = |route: &JudgedRoute<'_>| {
        let complexity = match route.expected.as_slice() {
            [one] => json!(one),
            many => json!(many),
        };
        json!({"query": route.query, "complexity": complexity})
    };
    judged.routes().iter().map(question).collect()
}

/// Questions with their judged passages, as `eval grading` reads them.
fn grading(judged: &JudgedRuns, texts: &mut PassageTexts) -> Vec<Value> {
    let mut sets: Vec<(&RunRecord, Vec<(String, bool)>)> = Vec::new();
    for run in &judged.runs {
        for (known, is_good) in judged_passages(run) {
            let asked = |set: &(&RunRecord, _)| set.0.summary.question == run.summary.question;
            let at = sets.iter().position(asked).unwrap_or_else(|| {
                sets.push((run, Vec::new()));
                sets.len() - 1
            });
            let (text, passages) = (texts.text_of(&known.item), &mut sets[at].1);
            // The same passage in a later run of the question: the last word holds.
            passages.retain(|(known, _)| *known != text);
            passages.push((text, is_good));
        }
    }
    let lines = sets.into_iter().map(|(run, passages)| {
        let passages = passages.into_iter();
        let passages = passages.map(|(text, good)| json!({"text": text, "relevant": good}));
        let mut line = json!({
            "query": run.summary.question, "passages": passages.collect::<Vec<_>>(),
        });
        let parts = sub_questions(run);
        if !parts.is_empty() {
            line["sub_questions"] = json!(parts);
        }
        line
    });
    lines.collect()
}

/// The judged passages of a run, and whether each belongs to the answer.
fn judged_passages(run: &RunRecord) -> impl Iterator<Item = (&EvidenceRecord, bool)> {
    run.labels.iter().filter_map(move |(target, verdict)| {
        let LabelTarget::Passage { id } = target else {
            return None;
        };
        let known = run.evidence.iter().find(|known| known.item.id == *id)?;
        Some((known, verdict.is_good()))
    })
}

fn sub_questions(run: &RunRecord) -> Vec<String> {
    let plan = run.path.iter().rev().find_map(|step| step.plan.as_ref());
    plan.map(|plan| plan.sub_questions.clone())
        .unwrap_or_default()
}

/// What `eval run` reads: the right route, the documents that are needed, how it ends.
#[derive(Debug, Default, Serialize)]
struct JudgedQuestion {
    id: String,
    query: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    route: Vec<Complexity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

impl JudgedQuestion {
    fn needs(&mut self, source: &str) {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.to_owned());
        }
    }

    /// Adds what good labels expect of the run; bad labels expect nothing, also of documents that a good answer cites.
    fn take(&mut self, run: &RunRecord) {
        let of = |wanted: bool| {
            let passages = judged_passages(run).filter(move |(_, is_good)| *is_good == wanted);
            passages.map(|(known, _)| known.item.source.as_str())
        };
        let mut labels = run.labels.iter();
        if labels.any(|(target, verdict)| *target == LabelTarget::Answer && verdict.is_good()) {
            self.outcome = run.summary.outcome;
            let cited = run.citations.iter().map(|cited| cited.source.as_str());
            let cited = cited.filter(|source| of(false).all(|bad| bad != *source));
            cited.for_each(|source| self.needs(source));
        }
        of(true).for_each(|source| self.needs(source));
    }

    fn is_measured(&self) -> bool {
        !self.route.is_empty() || !self.sources.is_empty() || self.outcome.is_some()
    }
}

fn questions(judged: &JudgedRuns) -> Vec<Value> {
    let mut questions: Vec<JudgedQuestion> = Vec::new();
    for run in &judged.runs {
        let query = &run.summary.question;
        let at = questions.iter().position(|known| known.query == *query);
        let at = at.unwrap_or_else(|| {
            questions.push(JudgedQuestion {
                id: judged.name(&run.summary.id).to_owned(),
                query: query.clone(),
                ..JudgedQuestion::default()
            });
            questions.len() - 1
        });
        questions[at].take(run);
    }
    for route in judged.routes() {
        let is_it = |known: &&mut JudgedQuestion| known.query == route.query;
        if let Some(known) = questions.iter_mut().find(is_it) {
            known.route.clone_from(&route.expected);
        }
    }
    let measured = questions.iter().filter(|known| known.is_measured());
    measured.map(|question| json!(question)).collect()
}

/// The texts of passages, masked as the log is: the log holds only how each begins.
struct PassageTexts {
    documents: Option<DocumentReader>,
    mask: Mask,
    /// How many were not found as they were.
    shortened: usize,
}

impl PassageTexts {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            documents: document_reader(settings).ok(),
            mask: mask_of(settings),
            shortened: 0,
        }
    }

    fn text_of(&mut self, item: &EvidenceItem) -> String {
        let whole = self.read_passage(item);
        self.shortened += usize::from(whole.is_none());
        whole.unwrap_or_else(|| item.excerpt.clone())
    }

    /// The lines of the document, where they still begin as they did.
    fn read_passage(&self, item: &EvidenceItem) -> Option<String> {
        let documents = self.documents.as_ref()?;
        let cancel = CancellationToken::new();
        let document = documents.whole_document(&item.source, &cancel).ok()?;
        let (first, last) = (item.lines.start.saturating_sub(1), item.lines.end);
        let lines = document.extraction.text.lines();
        let passage: Vec<&str> = lines.take(last).skip(first).collect();
        let text = self.mask.mask_text(&passage.join("\n")).into_owned();
        let begins = one_line(&text, EvidenceItem::EXCERPT_CHARS);
        // The log is masked as a whole, what is cut off too.
        let is_same = begins == self.mask.mask_text(&item.excerpt);
        is_same.then_some(text)
    }
}
