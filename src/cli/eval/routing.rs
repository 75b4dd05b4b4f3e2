//! Quality of routing as people get it: each question goes to the engine that the settings name, as
//! the first of a conversation.

use std::path::PathBuf;

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::figures::{JudgedProbability, calibrate, confuse, sweep};
use super::frame::{Measure, load_lines, one_or_many, print_measured, refuse_blank};
use crate::cli::interruption::unless_cancelled;
use crate::cli::output::CommandFailure;
use crate::config::Settings;
use crate::domain::{Complexity, QueryType};
use crate::engine::StepRunner;

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
    #[arg(long)]
    wrong: bool,
}

#[derive(Deserialize)]
struct RoutingLine {
    query: String,
    #[serde(default)]
    complexity: Value,
    #[serde(default)]
    query_type: Value,
}

/// A question with the acceptable labels of each of [`FIELDS`]; one of them has some.
struct LabelledQuestion {
    query: String,
    labels: [Vec<String>; 2],
}

/// Measures and prints the figures.
pub(super) fn run(routing: &Routing, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = load_lines(&routing.file, FORM, |line: RoutingLine| {
        refuse_blank("query", &line.query)?;
        let labels = [
            read_labels::<Complexity>(FIELDS[0], line.complexity)?,
            read_labels::<QueryType>(FIELDS[1], line.query_type)?,
        ];
        if labels.iter().all(Vec::is_empty) {
            return Err("neither complexity nor query_type is given".to_owned());
        }
        let query = line.query;
        Ok(LabelledQuestion { query, labels })
    })?;
    print_measured(&questions, routing.json, async |_| {
        Ok(RoutingMeasure {
            router: StepRunner::open(settings)?,
            lists_wrong: routing.wrong,
            decided: [Vec::new(), Vec::new()],
            small_talk: Vec::new(),
            wrong: Vec::new(),
            unreadable: 0,
        })
    })
}

fn read_labels<T: DeserializeOwned + Serialize>(
    field: &str,
    value: Value,
) -> Result<Vec<String>, String> {
    if value.as_array().is_some_and(Vec::is_empty) {
        return Err(format!("{field} is an empty list"));
    }
    let labels: Vec<T> = one_or_many(field, value)?;
    Ok(labels.iter().map(wire_name).collect())
}

/// The word of the wire format.
fn wire_name(label: &impl Serialize) -> String {
    json!(label).as_str().unwrap_or_default().to_owned()
}

struct RoutingMeasure {
    router: StepRunner,
    lists_wrong: bool,
    /// Acceptable labels and the decided one, for each of [`FIELDS`].
    decided: [Vec<(Vec<String>, String)>; 2],
    small_talk: Vec<JudgedProbability>,
    wrong: Vec<Value>,
    unreadable: usize,
}

impl Measure for RoutingMeasure {
    type Line = LabelledQuestion;

    async fn add(
        &mut self,
        question: &LabelledQuestion,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure> {
        let LabelledQuestion { query, labels } = question;
        let routed = unless_cancelled(cancel, self.router.route(query)).await??;
        self.unreadable += usize::from(!routed.warnings.is_empty());
        let got = [
            wire_name(&routed.plan.complexity),
            wire_name(&routed.plan.query_type),
        ];
        for (at, (acceptable, got)) in labels.iter().zip(got).enumerate() {
            if self.lists_wrong && !acceptable.is_empty() && !acceptable.contains(&got) {
                let expected = acceptable.join(" or ");
                self.wrong.push(json!({
                    "judged_by": FIELDS[at], "expected": expected, "got": got, "question": query,
                }));
            }
            self.decided[at].push((acceptable.clone(), got));
        }
        if let (Some(probability), [only, ..]) = (routed.small_talk, &labels[0][..]) {
            let is_small_talk = only == Complexity::Chitchat.as_str();
            self.small_talk.push((probability, is_small_talk));
        }
        Ok(())
    }

    /// The figures are those of the complexity, or of the query type when no line has a complexity; when
    /// lines have both, those of the query type stand beside them.
    async fn figures(self) -> Result<Value, CommandFailure> {
        let [complexity, query_type] = self.decided.map(confuse);
        let has_complexity = complexity.is_some();
        let mut figures = complexity.or(query_type.clone()).unwrap_or_default();
        figures["engine"] = json!(self.router.identity().model);
        if let Some(query_type) = query_type.filter(|_| has_complexity) {
            figures["query_type"] = query_type;
        }
        if !self.small_talk.is_empty() {
            figures["small_talk"] = json!({
                "calibration": calibrate(&self.small_talk, &EDGES),
                "sweep": sweep(&self.small_talk),
            });
        }
        // A run takes such a reply as it is taken here.
        figures["unreadable_replies"] = json!(self.unreadable);
        if self.lists_wrong {
            figures["wrong"] = json!(self.wrong);
        }
        Ok(figures)
    }
}
