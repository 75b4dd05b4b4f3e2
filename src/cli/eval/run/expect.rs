//! Questions with what is expected of their runs: one row for each field of a question.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::trial::Trial;
use crate::cli::eval::docs::{ends_with_path, refuse_bare, strip_layout};
use crate::cli::eval::frame::{load_lines, one_or_many, refuse_blank, refuse_known};
use crate::cli::output::CommandFailure;
use crate::domain::{AutoApproveRule, Complexity, Outcome, ToolName};

const FORM: &str =
    r#"{"query": "…", "route": "simple", "sources": ["a.md"], "answer_contains": ["…"]}"#;
/// What is expected where nothing is, such as of `rule` where no rule approves the evidence.
const NONE: &str = "none";

/// What can be as expected in a run: the name of the check in the result of a question, its name in the
/// summary, and the option that limits the share of questions for which it holds.
pub(super) const CHECKS: [[&str; 3]; 4] = [
    ["route_right", "route", "--min-route"],
    ["sources_found", "sources", "--min-sources"],
    ["answer_right", "answers", "--min-answers"],
    ["path_right", "path", "--min-path"],
];

/// The fields of a question, each with the check that it counts in.
const FIELDS: [(&str, &str); 10] = [
    ("route", "route_right"),
    ("sources", "sources_found"),
    ("answer_contains", "answer_right"),
    ("answer_lacks", "answer_right"),
    ("outcome", "answer_right"),
    ("query_type", "path_right"),
    ("rule", "path_right"),
    ("tools", "path_right"),
    ("calls", "path_right"),
    ("rounds", "path_right"),
];

/// Refuses a value of a field that no run can have.
fn refuse_value(field: &str, value: &Value) -> Result<(), String> {
    let word = value.as_str().unwrap_or_default();
    let known = match field {
        "calls" | "rounds" if value.is_u64() => return Ok(()),
        "calls" | "rounds" => return Err(format!("{value} is no whole number")),
        "sources" => return refuse_blank("text", word),
        "answer_contains" | "answer_lacks" => return refuse_bare(word),
        "route" => Complexity::ALL.map(Complexity::as_str).to_vec(),
        "outcome" => Outcome::ALL.map(Outcome::as_str).to_vec(),
        "tools" => ToolName::ALL.map(ToolName::as_str).to_vec(),
        "rule" => {
            let rules = AutoApproveRule::ALL.map(AutoApproveRule::as_str);
            [&rules[..], &[NONE]].concat()
        }
        _ => "exact conceptual relational file_discovery chitchat"
            .split(' ')
            .collect(),
    };
    if known.contains(&word) {
        return Ok(());
    }
    Err(format!("{value} is none of {}", known.join(", ")))
}

/// Says what of a run is not as these values of a field, a line each. `result` is the run as JSON, whose
/// names are those of the fields.
fn find_wrong(field: &str, values: &[Value], run: &Trial, result: &Value) -> Vec<String> {
    let texts = || values.iter().filter_map(Value::as_str);
    let answer = || strip_layout(run.answer.as_deref().unwrap_or_default());
    let (what, wrong): (_, Vec<&str>) = match field {
        "sources" => {
            let evidence = run.evidence.iter().map(|found| &found.source);
            let found: Vec<&String> = evidence.chain(&run.cited).collect();
            let is_found = |path: &&str| found.iter().any(|it| ends_with_path(it, path));
            let missing = texts().filter(|path| !is_found(path));
            ("not among the evidence", missing.collect())
        }
        "answer_contains" => {
            let lacking = texts().filter(|phrase| !answer().contains(&strip_layout(phrase)));
            ("the answer lacks", lacking.collect())
        }
        "answer_lacks" => {
            let held = texts().filter(|phrase| answer().contains(&strip_layout(phrase)));
            ("the answer holds", held.collect())
        }
        "tools" => {
            let is_called = |tool: &&str| run.tools.iter().any(|it| it.as_str() == *tool);
            (
                "not called",
                texts().filter(|tool| !is_called(tool)).collect(),
            )
        }
        _ => {
            let none = json!(NONE);
            let is = Some(&result[field])
                .filter(|it| !it.is_null())
                .unwrap_or(&none);
            if values.contains(is) {
                return Vec::new();
            }
            let shown = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            let (is, expected) = (shown(is), values.iter().map(shown).collect::<Vec<_>>());
            return vec![format!("{field} {is}, should be {}", expected.join(" or "))];
        }
    };
    wrong.iter().map(|text| format!("{what}: {text}")).collect()
}

/// A question and what is expected of its run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct ExpectedRun {
    /// What it is called.
    pub id: String,
    pub query: String,
    /// What is expected, by field; what is empty is not measured.
    #[serde(flatten)]
    expected: BTreeMap<&'static str, Vec<Value>>,
}

impl ExpectedRun {
    /// The fields that count in this check.
    pub(super) fn fields(check: &str) -> Vec<&'static str> {
        let counting = FIELDS.iter().filter(|(_, counts_in)| *counts_in == check);
        counting.map(|(field, _)| *field).collect()
    }

    /// Whether something is expected that counts in this check.
    pub(super) fn expects(&self, check: &str) -> bool {
        let mut fields = Self::fields(check).into_iter();
        fields.any(|field| !self.expected[field].is_empty())
    }

    /// Says what of the run is as expected, and what is not.
    pub(super) fn check(&self, trial: &mut Trial) {
        let trouble = trial.trouble().map(|why| format!("the run failed: {why}"));
        let has_failed = trouble.is_some();
        trial.failures = trouble.into_iter().collect();
        trial.checks = CHECKS.iter().map(|[check, ..]| (*check, None)).collect();
        let result = json!(trial);
        for (field, check) in FIELDS {
            let expected = &self.expected[field];
            if expected.is_empty() {
                continue;
            }
            // Why a run failed is said once.
            let is_lost = has_failed && ["answer_right", "path_right"].contains(&check);
            let wrong = find_wrong(field, expected, trial, &result);
            let held = trial.checks.entry(check).or_default();
            *held = Some(held.unwrap_or(true) && !is_lost && wrong.is_empty());
            trial
                .failures
                .extend(wrong.into_iter().filter(|_| !is_lost));
        }
    }
}

/// The questions of a file; what is wrong with it is wrong usage, as a gate must not pass for a typing
/// mistake.
pub(super) fn read_questions(path: &Path) -> Result<Vec<ExpectedRun>, CommandFailure> {
    let (mut known, mut number) = (BTreeSet::new(), 0);
    let questions = load_lines(path, FORM, |line| {
        number += 1;
        let mut question = read_question(line)?;
        if question.id.is_empty() {
            question.id = format!("q{number}");
        }
        refuse_known(&mut known, &question.id)?;
        Ok(question)
    });
    questions.map_err(CommandFailure::into_usage)
}

fn read_question(mut fields: Map<String, Value>) -> Result<ExpectedRun, String> {
    let mut text = |field: &str| match fields.remove(field) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.trim().to_owned()),
        Some(_) => Err(format!("{field} is no text")),
    };
    let (query, id) = (text("query")?, text("id")?);
    refuse_blank("query", &query)?;
    // Files for `eval routing` have the route so.
    if let Some(route) = fields.remove("complexity").filter(|route| !route.is_null())
        && fields
            .insert("route".to_owned(), route)
            .is_some_and(|it| !it.is_null())
    {
        return Err("route and complexity are the same: give one of them".to_owned());
    }
    let mut expected = BTreeMap::new();
    for (field, _) in FIELDS {
        let wrong = |why| format!("{field}: {why}");
        let values: Vec<Value> = one_or_many(field, fields.remove(field).unwrap_or_default())?;
        for value in &values {
            refuse_value(field, value).map_err(wrong)?;
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
    use crate::domain::QueryType;

    fn read_line(line: &str) -> Result<ExpectedRun, String> {
        read_question(serde_json::from_str(line).unwrap())
    }

    #[test]
    fn a_line_is_one_of_eval_routing_or_tells_more() {
        let short = read_line(
            r#"{"query": "a", "complexity": ["simple", "complex"], "query_type": "exact"}"#,
        );
        let short = short.unwrap();
        assert_eq!(short.expected["route"], ["simple", "complex"]);
        assert_eq!(short.expected["query_type"], ["exact"]);
        let long = read_line(
            r#"{"query": "a", "id": "x", "route": "simple", "sources": "a.md", "outcome": "not_found"}"#,
        )
        .unwrap();
        assert_eq!(
            (&*long.id, &long.expected["sources"]),
            ("x", &vec![json!("a.md")])
        );
        assert!(long.expects("answer_right"));
        for (line, said) in [
            (r#"{"query": "a", "sourcs": []}"#, "unknown field `sourcs`"),
            (
                r#"{"query": "a", "route": "short"}"#,
                "route: \"short\" is none of chitchat, simple, complex",
            ),
            (
                r#"{"query": "a", "sources": [""]}"#,
                "sources: the text is empty",
            ),
            (
                r#"{"query": "a", "outcome": 1}"#,
                "outcome: 1 is none of answered, not_found",
            ),
            (
                r#"{"query": "a", "rule": "few"}"#,
                "rule: \"few\" is none of local_file_qa, ",
            ),
            (
                r#"{"query": "a", "calls": [3, 1.5]}"#,
                "calls: 1.5 is no whole number",
            ),
            (
                r#"{"query": "a", "tools": "search"}"#,
                "tools: \"search\" is none of ",
            ),
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
            let error = read_line(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    fn trial(route: Complexity, evidence: &str, answer: &str, outcome: Outcome) -> Trial {
        let question = read_line(
            r#"{"query": "How?", "route": "simple", "sources": "guide/a.md", "answer_contains": "Red valve",
                "answer_lacks": "blue", "outcome": "answered", "query_type": ["exact", "conceptual"],
                "rule": "none", "tools": "grep_search", "calls": [2, 3], "rounds": 1}"#,
        );
        let mut trial = Trial {
            route: Some(route),
            evidence: vec![FoundPassage {
                source: evidence.to_owned(),
                place: "1-3".to_owned(),
            }],
            answer: Some(answer.to_owned()),
            outcome: Some(outcome),
            query_type: Some(QueryType::Exact),
            tools: vec![ToolName::GrepSearch],
            rounds: 1,
            ..Trial::default()
        };
        trial.cost.calls = 3;
        if route == Complexity::Complex {
            trial.query_type = Some(QueryType::Relational);
            trial.rule = Some("few_context".to_owned());
            trial.tools = vec![ToolName::ReadFile];
            (trial.rounds, trial.cost.calls) = (2, 5);
        }
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
                "outcome not_found, should be answered",
                "query_type relational, should be exact or conceptual",
                "rule few_context, should be none",
                "not called: grep_search",
                "calls 5, should be 2 or 3",
                "rounds 2, should be 1",
            ]
        );
        // Asked twice, it holds where it held both times.
        let joined = Trial::join(&[right.clone(), wrong, right]);
        assert_eq!(joined.checks["route_right"], Some(false));
        assert_eq!(
            joined.failures[0],
            "route complex, should be simple (1 of 3 runs)"
        );
        let repeats = joined.repeats.unwrap();
        assert_eq!((repeats.runs, repeats.agreed), (3, 2));
    }

    #[test]
    fn of_a_failed_run_nothing_that_was_expected_holds() {
        let failed = trial(Complexity::Simple, "x", "", Outcome::Failed);
        assert_eq!(failed.checks["answer_right"], Some(false));
        assert_eq!(failed.failures[0], "the run failed: it has no end");
        assert_eq!(failed.failures.len(), 2, "{:?}", failed.failures);
    }
}
