//! Quality of routing as people get it: each question goes to the engine that the settings name,
//! as the first of a conversation.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::confusion::{ClassFigures, ConfusionMatrix};
use super::records::{progress_bar, read, record};
use super::small_talk::SmallTalk;
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_text};
use crate::config::Settings;
use crate::domain::{Complexity, QueryType};
use crate::engine::Router;
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
    let router = Router::open(settings)?;
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
