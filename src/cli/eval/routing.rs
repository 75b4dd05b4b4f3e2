//! Quality of routing as people get it: each question goes to the engine that the settings name,
//! as the first of a conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calibration::{Calibration, share};
use super::records::{listed, measured, one_or_many, progress_bar, read, record};
use crate::cli::output::{CommandFailure, print_result, table};
use crate::config::Settings;
use crate::domain::{Complexity, QueryType};
use crate::engine::StepRunner;
use crate::text::{one_line, sanitize};

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "complexity": "simple"}"#;
/// What is judged.
const FIELDS: [&str; 2] = ["complexity", "query_type"];
/// Edges of the calibration table: most messages are surely small talk, or surely none.
const EDGES: [f64; 9] = [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0];

/// Arguments of `eval routing`.
#[derive(Debug, Args)]
pub(super) struct Routing {
    /// One JSON object a line: {"query", "complexity"?, "query_type"?}, at least one of the two;
    /// complexity is chitchat, simple or complex; query_type is exact, conceptual, relational,
    /// file_discovery or chitchat; each may be a list of acceptable ones
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also print each question that got another label than it should
    #[arg(long, conflicts_with = "json")]
    wrong: bool,
}

/// What is printed. The figures are those of the complexity, or of the query type when no line has
/// a complexity; when lines have both, those of the query type stand beside them.
#[derive(Debug, Serialize)]
struct RoutingReport {
    #[serde(flatten)]
    figures: ClassFigures,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_type: Option<ClassFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    small_talk: Option<Calibration>,
    #[serde(skip)]
    title: String,
    #[serde(skip)]
    unreadable: usize,
    #[serde(skip)]
    wrong: Vec<String>,
}

/// Measures and prints the figures.
pub(super) fn run(routing: &Routing, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = read(&routing.file, labelled)?;
    let report = measured(measure(&questions, settings))?;
    let text = || report.as_text(routing.wrong);
    Ok(print_result(routing.json, &report, text)?)
}

/// One line of the file, with the acceptable labels of each of [`FIELDS`]; one of them has some.
struct Labelled {
    query: String,
    labels: [Vec<String>; 2],
}

async fn measure(
    questions: &[Labelled],
    settings: &Settings,
) -> Result<RoutingReport, CommandFailure> {
    let router = StepRunner::open(settings)?;
    let bar = progress_bar(questions.len());
    let mut matrices = [ConfusionMatrix::default(), ConfusionMatrix::default()];
    let (mut judged, mut wrong, mut unreadable) = (Vec::new(), Vec::new(), 0);
    for Labelled { query, labels } in questions {
        let analysis = router.route(query).await?;
        unreadable += usize::from(!analysis.warnings.is_empty());
        let plan = analysis.plan;
        let got = [name_of(&plan.complexity), name_of(&plan.query_type)];
        for (at, (acceptable, got)) in labels.iter().zip(&got).enumerate() {
            matrices[at].add(acceptable, got);
            if !acceptable.is_empty() && !acceptable.contains(got) {
                let (field, query) = (FIELDS[at], one_line(query, 2000));
                let expected = acceptable.join("|");
                wrong.push(format!("{field}\t{expected}\t{got}\t{query}\n"));
            }
        }
        if let (Some(probability), [only, ..]) = (analysis.small_talk, &labels[0][..]) {
            judged.push((probability, only == Complexity::Chitchat.as_str()));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let [complexity, types] = matrices.map(ConfusionMatrix::figures);
    let (what, figures, query_type) = match (complexity, types) {
        (Some(figures), types) => ("complexity", figures, types),
        (None, types) => ("query type", types.unwrap_or_default(), None),
    };
    let engine = router.identity().model;
    Ok(RoutingReport {
        figures,
        query_type,
        small_talk: (!judged.is_empty()).then(|| Calibration::measure(&judged, &EDGES)),
        title: format!("{what}, engine {}", sanitize(&engine)),
        unreadable,
        wrong,
    })
}

#[derive(Deserialize)]
struct RoutingLine {
    query: String,
    #[serde(default)]
    complexity: Value,
    #[serde(default)]
    query_type: Value,
}

fn labelled(line: &str) -> Result<Labelled, String> {
    let line: RoutingLine = record(line, FORM)?;
    if line.query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    let labels = [
        labels::<Complexity>(FIELDS[0], &line.complexity)?,
        labels::<QueryType>(FIELDS[1], &line.query_type)?,
    ];
    if labels.iter().all(Vec::is_empty) {
        return Err("neither complexity nor query_type is given".to_owned());
    }
    let query = line.query;
    Ok(Labelled { query, labels })
}

/// The acceptable labels; none when the field is missing or null.
fn labels<T: DeserializeOwned + Serialize>(
    field: &str,
    value: &Value,
) -> Result<Vec<String>, String> {
    if value.as_array().is_some_and(Vec::is_empty) {
        return Err(format!("{field} is an empty list"));
    }
    let known: Vec<T> = one_or_many(field, value)?;
    Ok(known.iter().map(name_of).collect())
}

/// The word of the wire format.
fn name_of(label: &impl Serialize) -> String {
    json!(label).as_str().unwrap_or_default().to_owned()
}

impl RoutingReport {
    fn as_text(&self, lists_wrong: bool) -> String {
        let wrong = if lists_wrong { &self.wrong[..] } else { &[] };
        let mut text = listed("judged by\texpected\tgot\tquestion", wrong);
        text.push_str(&format!("{}\n{}", self.title, self.figures.as_text()));
        if let Some(types) = &self.query_type {
            text.push_str(&format!("\nquery type\n{}", types.as_text()));
        }
        if let Some(small_talk) = &self.small_talk {
            let small_talk = small_talk.as_text("small talk");
            text.push_str(&format!("\nsmall talk\n{small_talk}"));
        }
        if self.unreadable > 0 {
            text.push_str(&format!(
                "\n  unreadable replies, taken as a run would take them: {}\n",
                self.unreadable
            ));
        }
        text
    }
}

// How predicted labels stand to expected ones.

/// Counts by expected and predicted label.
///
/// Where several labels are acceptable, the one that was predicted counts as the expected one, and
/// the first of them when none was: so that every question is in exactly one row.
#[derive(Debug, Default)]
pub(crate) struct ConfusionMatrix {
    rows: BTreeMap<String, BTreeMap<String, usize>>,
}

/// The figures of a confusion; the names are fixed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ClassFigures {
    /// Questions.
    pub n: usize,
    /// Share whose predicted label is acceptable.
    pub accuracy: f64,
    /// The figures of each label, also of those that were only predicted.
    pub classes: BTreeMap<String, LabelFigures>,
    /// Counts by expected label, and within that by predicted label.
    pub confusion: BTreeMap<String, BTreeMap<String, usize>>,
}

/// One label.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LabelFigures {
    /// Questions that should get it.
    pub n: usize,
    /// Share of those that got it which should; 0 when none got it.
    pub precision: f64,
    /// Share of those that should get it which did; 0 when none should.
    pub recall: f64,
}

impl ConfusionMatrix {
    /// Counts one question, where something is acceptable.
    pub fn add(&mut self, acceptable: &[String], predicted: &str) {
        let is_right = acceptable.iter().any(|label| label == predicted);
        if let Some(first) = acceptable.first() {
            let expected = if is_right { predicted } else { first.as_str() };
            let row = self.rows.entry(expected.to_owned()).or_default();
            *row.entry(predicted.to_owned()).or_default() += 1;
        }
    }

    /// What it comes to; nothing where nothing was counted.
    pub fn figures(self) -> Option<ClassFigures> {
        let predicted = self.rows.values().flat_map(BTreeMap::keys);
        let labels: BTreeSet<&String> = self.rows.keys().chain(predicted).collect();
        let classes = labels.into_iter().map(|label| {
            let row = self.rows.get(label);
            let hits = row.and_then(|row| row.get(label)).copied();
            let n = row.map_or(0, |row| row.values().sum());
            let got = self.rows.values().filter_map(|row| row.get(label)).sum();
            let class = LabelFigures {
                n,
                precision: share(hits.unwrap_or(0), got),
                recall: share(hits.unwrap_or(0), n),
            };
            (label.clone(), class)
        });
        let classes: BTreeMap<String, LabelFigures> = classes.collect();
        let n = classes.values().map(|class| class.n).sum();
        let hits = self.rows.iter().filter_map(|(label, row)| row.get(label));
        let accuracy = share(hits.sum(), n);
        (n > 0).then_some(ClassFigures {
            n,
            accuracy,
            classes,
            confusion: self.rows,
        })
    }
}

impl ClassFigures {
    /// A table with expected labels down and predicted ones across.
    pub fn as_text(&self) -> String {
        let labels: Vec<&str> = self.classes.keys().map(String::as_str).collect();
        let rows = self.classes.iter().map(|(label, class)| {
            let row = self.confusion.get(label);
            let counts = labels.iter().map(|predicted| {
                let count = row.and_then(|row| row.get(*predicted));
                count.unwrap_or(&0).to_string()
            });
            let shares = [class.precision, class.recall].map(|share| format!("{share:.3}"));
            let cells = [label.clone()].into_iter().chain(counts);
            cells.chain([class.n.to_string()]).chain(shares).collect()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let titles = format!("expected|{}|n|precision|recall", labels.join("|"));
        let table = table(&titles, &rows);
        format!("  accuracy {:.3} of {}\n\n{table}", self.accuracy, self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acceptable_label_counts_as_the_expected_one() {
        let mut confusion = ConfusionMatrix::default();
        let label = |name: &str| name.to_owned();
        confusion.add(&[label("a"), label("b")], "b");
        confusion.add(&[label("a"), label("b")], "c");
        confusion.add(&[label("c")], "c");
        confusion.add(&[label("c")], "a");
        confusion.add(&[], "a");
        let figures = confusion.figures().unwrap();
        assert_eq!(figures.n, 4);
        assert!((figures.accuracy - 0.5).abs() < 1e-9);
        let class = |name: &str| {
            let class = &figures.classes[name];
            (class.n, class.precision, class.recall)
        };
        assert_eq!(class("a"), (1, 0.0, 0.0));
        assert_eq!(class("b"), (1, 1.0, 1.0));
        assert_eq!(class("c"), (2, 0.5, 0.5));
        assert_eq!(figures.confusion["a"]["c"], 1);
        let text = figures.as_text();
        assert!(text.contains("accuracy 0.500 of 4"), "{text}");
        assert!(
            text.contains("c         1  0  1  2      0.500   0.500\n"),
            "{text}"
        );
        assert!(ConfusionMatrix::default().figures().is_none());
    }
}
