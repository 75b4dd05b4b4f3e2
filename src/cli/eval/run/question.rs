use std::collections::BTreeSet;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::eval::docs::refuse_bare;
use crate::cli::eval::records::{one_or_many, read, record};
use crate::cli::output::CommandFailure;
use crate::domain::{Complexity, Outcome};

/// What a line looks like, for who wrote another one.
const FORM: &str =
    r#"{"query": "…", "route": "simple", "sources": ["a.md"], "answer_contains": ["…"]}"#;

/// A question and what is expected of its run; what is empty is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ExpectedRun {
    /// What it is called.
    pub id: String,
    /// The question.
    pub query: String,
    /// Routes of which any is right.
    pub route: Vec<Complexity>,
    /// Documents that must all be among the evidence.
    pub sources: Vec<String>,
    /// Phrases that the answer must all hold.
    pub answer_contains: Vec<String>,
    /// Phrases of which it must hold none.
    pub answer_lacks: Vec<String>,
    /// Ends of which any is right.
    pub outcome: Vec<Outcome>,
}

impl ExpectedRun {
    /// Whether anything is expected of the answer.
    pub(super) fn judges_answer(&self) -> bool {
        let phrases = self.answer_contains.len() + self.answer_lacks.len();
        phrases > 0 || !self.outcome.is_empty()
    }
}

/// The questions of a file; what is wrong with it is wrong usage, as a gate must not pass for a typing
/// mistake.
pub(super) fn read_questions(path: &Path) -> Result<Vec<ExpectedRun>, CommandFailure> {
    let mut questions = read(path, parse).map_err(CommandFailure::into_usage)?;
    let mut known = BTreeSet::new();
    for (question, number) in questions.iter_mut().zip(1..) {
        if question.id.is_empty() {
            question.id = format!("q{number}");
        }
        if !known.insert(question.id.clone()) {
            let what = format!("two questions have the id '{}'", question.id);
            return Err(CommandFailure::of_file(path, what).into_usage());
        }
    }
    Ok(questions)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionLine {
    query: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    route: Value,
    #[serde(default)]
    complexity: Value,
    #[serde(default)]
    sources: Value,
    #[serde(default)]
    answer_contains: Value,
    #[serde(default)]
    answer_lacks: Value,
    #[serde(default)]
    outcome: Value,
    /// The route of files for `eval routing`.
    #[serde(default, rename = "query_type")]
    _query_type: Option<IgnoredAny>,
}

fn parse(line: &str) -> Result<ExpectedRun, String> {
    let line: QuestionLine = record(line, FORM)?;
    if line.query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    let route = match (&line.route, &line.complexity) {
        (Value::Null, complexity) => one_or_many("complexity", complexity)?,
        (route, Value::Null) => one_or_many("route", route)?,
        _ => return Err("route and complexity are the same: give one of them".to_owned()),
    };
    let phrases = |field, value| -> Result<Vec<String>, String> {
        let phrases: Vec<String> = one_or_many(field, value)?;
        if phrases.iter().any(|phrase| phrase.trim().is_empty()) {
            return Err(format!("{field} holds an empty text"));
        }
        Ok(phrases)
    };
    let of_answer = |field, value| -> Result<Vec<String>, String> {
        let phrases = phrases(field, value)?;
        refuse_bare(&phrases, field)?;
        Ok(phrases)
    };
    Ok(ExpectedRun {
        route,
        sources: phrases("sources", &line.sources)?,
        answer_contains: of_answer("answer_contains", &line.answer_contains)?,
        answer_lacks: of_answer("answer_lacks", &line.answer_lacks)?,
        outcome: one_or_many("outcome", &line.outcome)?,
        id: line.id.trim().to_owned(),
        query: line.query,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_of_eval_routing_or_tells_more() {
        let short =
            parse(r#"{"query": "a", "complexity": ["simple", "complex"], "query_type": "exact"}"#);
        assert_eq!(
            short.unwrap().route,
            [Complexity::Simple, Complexity::Complex]
        );
        let long = parse(
            r#"{"query": "a", "id": "x", "route": "simple", "sources": "a.md", "outcome": "not_found"}"#,
        )
        .unwrap();
        assert_eq!(
            (&*long.id, &long.sources[..]),
            ("x", &["a.md".to_owned()][..])
        );
        assert!(long.judges_answer());
        for (line, said) in [
            (r#"{"query": "a", "sourcs": []}"#, "unknown field `sourcs`"),
            (
                r#"{"query": "a", "route": "short"}"#,
                "route: unknown variant `short`",
            ),
            (
                r#"{"query": "a", "sources": [""]}"#,
                "sources holds an empty text",
            ),
            (r#"{"query": "a", "outcome": 1}"#, "outcome: "),
            (
                r#"{"query": "a", "route": "simple", "complexity": "simple"}"#,
                "give one of them",
            ),
            (r#"{"query": " "}"#, "the query is empty"),
            (
                r#"{"query": "a", "answer_contains": ["red", "[1]"]}"#,
                "answer_contains: '[1]' holds nothing that can be compared",
            ),
            (
                r#"{"query": "a", "answer_lacks": "**"}"#,
                "answer_lacks: '**' holds nothing that can be compared",
            ),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
