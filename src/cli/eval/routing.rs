//! Quality of routing as people get it: each question goes to the engine that the settings name,
//! as the first of a conversation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calibration::{Cut, Interval, JudgedProbability, THRESHOLDS, cut, intervals, share};
use super::records::{progress_bar, read, record};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_text};
use crate::config::Settings;
use crate::domain::{Complexity, QueryType};
use crate::engine::StepRunner;
use crate::text::sanitize;

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "complexity": "simple"}"#;

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
    small_talk: Option<SmallTalk>,
    #[serde(skip)]
    by_type: bool,
    #[serde(skip)]
    engine: String,
    #[serde(skip)]
    unreadable: usize,
    #[serde(skip)]
    wrong: Vec<String>,
}

/// Measures and prints the figures.
pub(super) fn run(routing: &Routing, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = read(&routing.file, "not found", labelled)?;
    let report = interruptible(async |cancel| {
        tokio::select! {
            report = measure(&questions, settings) => report,
            () = cancel.cancelled() => Err(CommandFailure::interrupted()),
        }
    })?;
    if routing.json {
        print_json(&report)?;
    } else {
        if routing.wrong && !report.wrong.is_empty() {
            let rows = report.wrong.concat();
            print_text(format!("judged by\texpected\tgot\tquestion\n{rows}\n"))?;
        }
        print_text(report.as_text())?;
    }
    Ok(())
}

/// One line of the file; at least one of the lists holds a label.
struct Labelled {
    query: String,
    complexity: Vec<String>,
    query_type: Vec<String>,
}

async fn measure(
    questions: &[Labelled],
    settings: &Settings,
) -> Result<RoutingReport, CommandFailure> {
    let router = StepRunner::open(settings)?;
    let bar = progress_bar(questions.len());
    let (mut complexities, mut types) = (ConfusionMatrix::default(), ConfusionMatrix::default());
    let mut judged = Vec::new();
    let mut wrong = Vec::new();
    let mut unreadable = 0;
    for question in questions {
        let answer = router.route(&question.query).await?;
        unreadable += usize::from(!answer.warnings.is_empty());
        let complexity = answer.plan.complexity.as_str();
        let query_type = name_of(answer.plan.query_type);
        for (field, acceptable, got, confusion) in [
            (
                "complexity",
                &question.complexity,
                complexity,
                &mut complexities,
            ),
            (
                "query_type",
                &question.query_type,
                query_type.as_str(),
                &mut types,
            ),
        ] {
            if acceptable.is_empty() {
                continue;
            }
            confusion.add(acceptable, got);
            if !acceptable.iter().any(|label| label == got) {
                let query = sanitize(&question.query).replace(['\n', '\t'], " ");
                let expected = acceptable.join("|");
                wrong.push(format!("{field}\t{expected}\t{got}\t{query}\n"));
            }
        }
        if let (Some(probability), [only, ..]) = (answer.small_talk, &question.complexity[..]) {
            judged.push((probability, only == Complexity::Chitchat.as_str()));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let by_type = complexities.is_empty();
    let (first, second) = if by_type {
        (types, None)
    } else {
        (complexities, Some(types).filter(|types| !types.is_empty()))
    };
    let identity = router.identity();
    Ok(RoutingReport {
        figures: first.figures(),
        query_type: second.map(ConfusionMatrix::figures),
        small_talk: (!judged.is_empty()).then(|| SmallTalk::measure(&judged)),
        by_type,
        engine: identity.model,
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
    let question = Labelled {
        query: line.query,
        complexity: labels::<Complexity>("complexity", &line.complexity)?,
        query_type: labels::<QueryType>("query_type", &line.query_type)?,
    };
    if question.complexity.is_empty() && question.query_type.is_empty() {
        return Err("neither complexity nor query_type is given".to_owned());
    }
    Ok(question)
}

/// The acceptable labels; none when the field is missing or null.
fn labels<T: for<'de> Deserialize<'de>>(field: &str, value: &Value) -> Result<Vec<String>, String> {
    let values = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(values) if !values.is_empty() => values.as_slice(),
        Value::Array(_) => return Err(format!("{field} is an empty list")),
        one => std::slice::from_ref(one),
    };
    let label = |value: &Value| {
        let known = T::deserialize(value).map_err(|error| format!("{field}: {error}"))?;
        drop(known);
        Ok(value.as_str().unwrap_or_default().to_owned())
    };
    values.iter().map(label).collect()
}

/// The word of the wire format.
fn name_of(query_type: QueryType) -> String {
    serde_json::to_value(query_type)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

impl RoutingReport {
    fn as_text(&self) -> String {
        let what = if self.by_type {
            "query type"
        } else {
            "complexity"
        };
        let mut text = format!(
            "{what}, engine {}\n{}",
            sanitize(&self.engine),
            self.figures.as_text()
        );
        if let Some(types) = &self.query_type {
            text.push_str(&format!("\nquery type\n{}", types.as_text()));
        }
        if let Some(small_talk) = &self.small_talk {
            text.push_str(&format!("\nsmall talk\n{}", small_talk.as_text()));
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
    /// Counts one question. `acceptable` is not empty.
    pub fn add(&mut self, acceptable: &[String], predicted: &str) {
        let expected = if acceptable.iter().any(|label| label == predicted) {
            predicted
        } else {
            acceptable.first().map_or("", String::as_str)
        };
        let row = self.rows.entry(expected.to_owned()).or_default();
        *row.entry(predicted.to_owned()).or_default() += 1;
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn figures(self) -> ClassFigures {
        let labels: Vec<&String> = self
            .rows
            .keys()
            .chain(self.rows.values().flat_map(BTreeMap::keys))
            .collect();
        let mut classes = BTreeMap::new();
        let (mut n, mut right) = (0, 0);
        for label in labels {
            let row = self.rows.get(label);
            let hits = row.and_then(|row| row.get(label)).copied().unwrap_or(0);
            let expected: usize = row.map_or(0, |row| row.values().sum());
            let got: usize = self.rows.values().filter_map(|row| row.get(label)).sum();
            let class = LabelFigures {
                n: expected,
                precision: share(hits, got),
                recall: share(hits, expected),
            };
            if classes.insert(label.clone(), class).is_none() {
                n += expected;
                right += hits;
            }
        }
        ClassFigures {
            n,
            accuracy: share(right, n),
            classes,
            confusion: self.rows,
        }
    }
}

impl ClassFigures {
    /// A table with expected labels down and predicted ones across.
    pub fn as_text(&self) -> String {
        let width = self
            .classes
            .keys()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max(9);
        let mut text = format!(
            "  accuracy {:.3} of {}\n\n  {:width$}",
            self.accuracy, self.n, "expected"
        );
        for label in self.classes.keys() {
            text.push_str(&format!("  {label:>width$}"));
        }
        text.push_str("          n  precision     recall\n");
        for (label, class) in &self.classes {
            text.push_str(&format!("  {label:width$}"));
            for predicted in self.classes.keys() {
                let count = self.confusion.get(label).and_then(|row| row.get(predicted));
                text.push_str(&format!("  {:>width$}", count.unwrap_or(&0)));
            }
            let LabelFigures {
                n,
                precision,
                recall,
            } = class;
            text.push_str(&format!("  {n:>9}  {precision:>9.3}  {recall:>9.3}\n"));
        }
        text
    }
}

// Whether the probability of small talk means what it says, and what another threshold would do.

/// Edges of the calibration table.
const EDGES: [f64; 9] = [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0];

/// The two tables.
#[derive(Debug, Serialize)]
pub(super) struct SmallTalk {
    /// One row for each interval of probabilities that is not empty.
    pub calibration: Vec<Interval>,
    /// One row for each threshold.
    pub sweep: Vec<SmallTalkThreshold>,
}

/// What taking everything from `threshold` on for small talk would come to.
#[derive(Debug, Serialize)]
pub(super) struct SmallTalkThreshold {
    #[serde(rename = "threshold")]
    pub from: f64,
    pub precision: f64,
    pub recall: f64,
    /// Share of the other messages that would be taken for small talk.
    pub false_positives: f64,
}

impl SmallTalk {
    /// Measures the probability of each message and whether it is small talk.
    pub fn measure(judged: &[JudgedProbability]) -> Self {
        let at = |from: f64| {
            let Cut {
                taken,
                hits,
                right,
                n,
            } = cut(judged, from);
            SmallTalkThreshold {
                from,
                precision: share(hits, taken),
                recall: share(hits, right),
                false_positives: share(taken - hits, n - right),
            }
        };
        Self {
            calibration: intervals(judged, &EDGES),
            sweep: THRESHOLDS.map(at).into(),
        }
    }

    pub fn as_text(&self) -> String {
        let mut text = "  probability       n       mean  small talk\n".to_owned();
        for Interval {
            from,
            to,
            n,
            mean,
            share,
        } in &self.calibration
        {
            text.push_str(&format!(
                "  {from:.2}-{to:.2}  {n:>8}  {mean:>9.3}  {share:>10.3}\n"
            ));
        }
        text.push_str("\n  threshold  precision     recall  false positives\n");
        for at in &self.sweep {
            let SmallTalkThreshold {
                from,
                precision,
                recall,
                false_positives,
            } = at;
            text.push_str(&format!(
                "  {from:>9.1}  {precision:>9.3}  {recall:>9.3}  {false_positives:>15.4}\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod confusion_tests {
    use super::*;

    #[test]
    fn an_acceptable_label_counts_as_the_expected_one() {
        let mut confusion = ConfusionMatrix::default();
        let label = |name: &str| name.to_owned();
        confusion.add(&[label("a"), label("b")], "b");
        confusion.add(&[label("a"), label("b")], "c");
        confusion.add(&[label("c")], "c");
        confusion.add(&[label("c")], "a");
        let figures = confusion.figures();
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
    }
}

#[cfg(test)]
mod small_talk_tests {
    use super::*;

    #[test]
    fn every_message_is_in_one_interval_and_the_sweep_counts() {
        let judged = [
            (0.0, false),
            (0.02, false),
            (0.72, true),
            (0.74, false),
            (1.0, true),
        ];
        let tables = SmallTalk::measure(&judged);
        let counted: usize = tables.calibration.iter().map(|interval| interval.n).sum();
        assert_eq!(counted, judged.len());
        let at = |wanted: f64| {
            tables
                .sweep
                .iter()
                .find(|at| (at.from - wanted).abs() < 1e-9)
        };
        let (low, high) = (at(0.7).unwrap(), at(0.9).unwrap());
        assert!((low.precision - 2.0 / 3.0).abs() < 1e-9);
        assert!((low.recall - 1.0).abs() < 1e-9);
        assert!((low.false_positives - 1.0 / 3.0).abs() < 1e-9);
        assert!((high.recall - 0.5).abs() < 1e-9 && high.false_positives == 0.0);
        let interval = &tables.calibration[1];
        assert!((interval.mean - 0.73).abs() < 1e-9 && (interval.share - 0.5).abs() < 1e-9);
        let none = SmallTalk::measure(&[]);
        assert!(none.calibration.is_empty() && none.sweep[0].precision == 0.0);
    }
}
