//! Questions with what is expected of their runs: one row for each field of a question.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::trial::Trial;
use crate::cli::eval::docs::{without_layout, without_letters};
use crate::cli::eval::records::{one_or_many, read, record};
use crate::cli::output::CommandFailure;
use crate::domain::{Complexity, Outcome};

/// What a line looks like, for who wrote another one.
const FORM: &str =
    r#"{"query": "…", "route": "simple", "sources": ["a.md"], "answer_contains": ["…"]}"#;

/// What holds of a run, by the names that its result has for it.
pub(super) const ROUTE: &str = "route_right";
pub(super) const SOURCES: &str = "sources_found";
pub(super) const ANSWER: &str = "answer_right";

/// Something that a question can expect of its run.
struct Expectation {
    /// The field of a question that says it.
    field: &'static str,
    /// What holds where all that counts in it is as expected.
    check: &'static str,
    /// What is wrong with a value of the field.
    refused: fn(&str) -> Option<String>,
    /// What is not as expected, a line each.
    wrong: fn(&[String], &Trial) -> Vec<String>,
}

const fn expectation(
    field: &'static str,
    check: &'static str,
    refused: fn(&str) -> Option<String>,
    wrong: fn(&[String], &Trial) -> Vec<String>,
) -> Expectation {
    Expectation {
        field,
        check,
        refused,
        wrong,
    }
}

static EXPECTATIONS: [Expectation; 5] = [
    // Any of them is right.
    expectation("route", ROUTE, unknown::<Complexity>, wrong_route),
    // All must be among the evidence.
    expectation("sources", SOURCES, blank, missing_sources),
    // The answer must hold all of the former, and none of the latter.
    expectation("answer_contains", ANSWER, without_letters, lacking),
    expectation("answer_lacks", ANSWER, without_letters, holding),
    // Any of them is right.
    expectation("outcome", ANSWER, unknown::<Outcome>, wrong_outcome),
];

/// What is wrong with a word that must be one of these.
fn unknown<T: DeserializeOwned>(word: &str) -> Option<String> {
    let known = serde_json::from_value::<T>(json!(word));
    known.err().map(|error| error.to_string())
}

fn blank(text: &str) -> Option<String> {
    text.trim().is_empty().then(|| "a text is empty".to_owned())
}

fn wrong_route(expected: &[String], trial: &Trial) -> Vec<String> {
    let taken = trial.route.map_or("undecided", Complexity::as_str);
    other_than(expected, "route ", taken)
}

fn wrong_outcome(expected: &[String], trial: &Trial) -> Vec<String> {
    other_than(
        expected,
        "",
        trial.outcome.map_or("no end", Outcome::as_str),
    )
}

fn other_than(expected: &[String], what: &str, is: &str) -> Vec<String> {
    if expected.iter().any(|one| one == is) {
        return Vec::new();
    }
    vec![format!("{what}{is}, should be {}", expected.join(" or "))]
}

fn missing_sources(expected: &[String], trial: &Trial) -> Vec<String> {
    let path = |source: &str| format!("/{}", source.replace('\\', "/"));
    let evidence = trial.evidence.iter().map(|found| &found.source);
    let found: Vec<String> = evidence.chain(&trial.cited).map(|it| path(it)).collect();
    let is_missing = |wanted: &&String| !found.iter().any(|it| it.ends_with(&path(wanted)));
    let missing = expected.iter().filter(is_missing);
    missing
        .map(|wanted| format!("not among the evidence: {wanted}"))
        .collect()
}

fn lacking(expected: &[String], trial: &Trial) -> Vec<String> {
    let lacking = expected.iter().filter(|phrase| !holds(trial, phrase));
    let lines = lacking.map(|phrase| format!("the answer lacks: {phrase}"));
    lines.collect()
}

fn holding(expected: &[String], trial: &Trial) -> Vec<String> {
    let holding = expected.iter().filter(|phrase| holds(trial, phrase));
    let lines = holding.map(|phrase| format!("the answer holds: {phrase}"));
    lines.collect()
}

fn holds(trial: &Trial, phrase: &str) -> bool {
    let answer = without_layout(trial.answer.as_deref().unwrap_or_default());
    answer.contains(&without_layout(phrase))
}

/// A question and what is expected of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct ExpectedRun {
    /// What it is called.
    pub id: String,
    /// The question.
    pub query: String,
    /// What is expected, by field; what is empty is not measured.
    #[serde(flatten)]
    expected: BTreeMap<&'static str, Vec<String>>,
}

impl ExpectedRun {
    fn values(&self, field: &str) -> &[String] {
        self.expected.get(field).map_or(&[], Vec::as_slice)
    }

    /// The fields that count in this check.
    pub(super) fn fields(check: &str) -> Vec<&'static str> {
        let counting = EXPECTATIONS.iter().filter(|of| of.check == check);
        counting.map(|of| of.field).collect()
    }

    /// Whether something is expected that counts in this check.
    pub(super) fn expects(&self, check: &str) -> bool {
        let mut fields = Self::fields(check).into_iter();
        fields.any(|field| !self.values(field).is_empty())
    }

    /// Says what of the run is as expected, and what is not.
    pub(super) fn check(&self, trial: &mut Trial) {
        let trouble = trial.trouble().map(|why| format!("the run failed: {why}"));
        let has_failed = trouble.is_some();
        let mut failures: Vec<String> = trouble.into_iter().collect();
        let mut checks: BTreeMap<&'static str, Option<bool>> = BTreeMap::new();
        for of in &EXPECTATIONS {
            let check = checks.entry(of.check).or_default();
            let expected = self.values(of.field);
            if expected.is_empty() {
                continue;
            }
            // Why a run failed is said once.
            let is_lost = has_failed && of.check == ANSWER;
            let wrong = (of.wrong)(expected, trial);
            *check = Some(check.unwrap_or(true) && !is_lost && wrong.is_empty());
            failures.extend(wrong.into_iter().filter(|_| !is_lost));
        }
        (trial.checks, trial.failures) = (checks, failures);
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

fn parse(line: &str) -> Result<ExpectedRun, String> {
    let mut fields: Map<String, Value> = record(line, FORM)?;
    let mut text = |field: &str| match fields.remove(field) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.trim().to_owned()),
        Some(_) => Err(format!("{field} is no text")),
    };
    let (query, id) = (text("query")?, text("id")?);
    if query.is_empty() {
        return Err("the query is empty".to_owned());
    }
    // Files for `eval routing` have the route so, and another label.
    let routes = [fields.remove("complexity"), fields.remove("route")];
    let route = match routes.map(|route| route.filter(|route| !route.is_null())) {
        [Some(_), Some(_)] => {
            return Err("route and complexity are the same: give one of them".to_owned());
        }
        [complexity, route] => complexity.or(route),
    };
    fields.extend(route.map(|route| ("route".to_owned(), route)));
    fields.remove("query_type");
    let mut expected = BTreeMap::new();
    for of in &EXPECTATIONS {
        let field = of.field;
        let value = fields.remove(field).unwrap_or_default();
        let values: Vec<String> = one_or_many(field, &value)?;
        if let Some(what) = values.iter().find_map(|value| (of.refused)(value)) {
            return Err(format!("{field}: {what}"));
        }
        expected.insert(field, values);
    }
    match fields.keys().next() {
        Some(unknown) => Err(format!("unknown field `{unknown}`")),
        None => Ok(ExpectedRun {
            id,
            query,
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::FoundPassage;
    use super::*;

    #[test]
    fn a_line_is_one_of_eval_routing_or_tells_more() {
        let short =
            parse(r#"{"query": "a", "complexity": ["simple", "complex"], "query_type": "exact"}"#);
        assert_eq!(short.unwrap().values("route"), ["simple", "complex"]);
        let long = parse(
            r#"{"query": "a", "id": "x", "route": "simple", "sources": "a.md", "outcome": "not_found"}"#,
        )
        .unwrap();
        assert_eq!(
            (&*long.id, long.values("sources")),
            ("x", &["a.md".to_owned()][..])
        );
        assert!(long.expects(ANSWER));
        for (line, said) in [
            (r#"{"query": "a", "sourcs": []}"#, "unknown field `sourcs`"),
            (
                r#"{"query": "a", "route": "short"}"#,
                "route: unknown variant `short`",
            ),
            (
                r#"{"query": "a", "sources": [""]}"#,
                "sources: a text is empty",
            ),
            (r#"{"query": "a", "outcome": 1}"#, "outcome: "),
            (
                r#"{"query": "a", "route": "simple", "complexity": "simple"}"#,
                "give one of them",
            ),
            (r#"{"query": " "}"#, "the query is empty"),
            (r#"{"query": "a", "id": 1}"#, "id is no text"),
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

    fn trial(route: Complexity, evidence: &str, answer: &str, outcome: Outcome) -> Trial {
        let question = parse(
            r#"{"query": "How?", "route": "simple", "sources": "guide/a.md", "answer_contains": "Red valve",
                "answer_lacks": "blue", "outcome": "answered"}"#,
        );
        let mut trial = Trial {
            route: Some(route),
            evidence: vec![FoundPassage {
                source: evidence.to_owned(),
                place: "1-3".to_owned(),
            }],
            answer: Some(answer.to_owned()),
            outcome: Some(outcome),
            ..Trial::default()
        };
        question.unwrap().check(&mut trial);
        trial
    }

    #[test]
    fn each_expectation_is_checked_by_itself_and_named_where_it_does_not_hold() {
        let right = trial(
            Complexity::Simple,
            "docs/guide/a.md",
            "The **red valve** [1].",
            Outcome::Answered,
        );
        assert!(right.failures.is_empty(), "{:?}", right.failures);
        assert!(right.checks.values().all(|holds| *holds == Some(true)));
        let wrong = trial(
            Complexity::Complex,
            "other-guide/a.md.txt",
            "The blue valve.",
            Outcome::NotFound,
        );
        assert_eq!(
            wrong.failures,
            [
                "route complex, should be simple",
                "not among the evidence: guide/a.md",
                "the answer lacks: Red valve",
                "the answer holds: blue",
                "not_found, should be answered",
            ]
        );
    }

    #[test]
    fn of_a_failed_run_nothing_that_was_expected_holds() {
        let failed = trial(Complexity::Simple, "x", "", Outcome::Failed);
        assert_eq!(failed.checks[ANSWER], Some(false));
        assert_eq!(failed.failures[0], "the run failed: it has no end");
        assert_eq!(failed.failures.len(), 2, "{:?}", failed.failures);
    }
}
