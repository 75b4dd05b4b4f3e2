use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::question::ExpectedRun;
use crate::cli::eval::docs::without_layout;
use crate::cli::output::CommandFailure;
use crate::domain::{Complexity, Outcome};
use crate::engine::{Engine, EngineError, RunRequest};
use crate::protocol::{
    EventBody, EvidenceRecord, EvidenceStanding, Mode, RunEnd, RunId, RunRecord,
};

/// What came of one question under one of the settings. Texts are as they were answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Trial {
    /// Its run in the log; `None` where none began.
    pub run: Option<RunId>,
    pub route: Option<Complexity>,
    /// `None` where it has no end.
    pub outcome: Option<Outcome>,
    /// Passages in the context.
    pub evidence: Vec<FoundPassage>,
    /// Documents of passages that the answer cites.
    pub cited: Vec<String>,
    pub answer: Option<String>,
    #[serde(flatten)]
    pub cost: TrialCost,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub checks: Checks,
    /// What was expected and is not so, a line each.
    pub failures: Vec<String>,
    #[serde(skip)]
    pub mode: Mode,
    /// What went wrong beside the run, such as a log that cannot be written.
    #[serde(skip)]
    pub complaint: Option<String>,
}

/// A passage in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FoundPassage {
    pub source: String,
    /// Where in it, as a person looks it up.
    pub place: String,
}

/// What one run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct TrialCost {
    pub calls: u32,
    pub ms: f64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// US dollars; `None` without a known price.
    pub cost_usd: Option<f64>,
}

/// Which expectations hold; `None` of what nothing is expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Checks {
    pub route_right: Option<bool>,
    pub sources_found: Option<bool>,
    pub answer_right: Option<bool>,
}

impl TrialCost {
    /// Tokens both ways.
    pub(super) fn tokens(self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl Trial {
    /// Asks the question, as the first of a conversation. A run that fails is a trial all the same.
    pub(super) async fn run(
        engine: &Engine,
        question: &ExpectedRun,
        cancel: &CancellationToken,
    ) -> Result<Self, CommandFailure> {
        let request = RunRequest {
            query: question.query.clone(),
            ..RunRequest::default()
        };
        let mut trial = match engine.stream(request, cancel.child_token()).await {
            Ok(mut run) => {
                let mut record: Option<RunRecord> = None;
                let mut trial = Self::default();
                while let Some(event) = run.next_event().await {
                    match &mut record {
                        Some(record) => record.apply(&event),
                        None => record = RunRecord::begin(&event),
                    }
                    trial.end(&event.body);
                }
                trial.complaint = run.complaint().map(str::to_owned);
                // The events have told how it ended.
                let _ = run.answer(None).await;
                match record {
                    Some(record) => trial.with_record(&record),
                    None => trial,
                }
            }
            Err(EngineError::Run(why)) => Self {
                error: Some(why),
                ..Self::default()
            },
            Err(error) => return Err(error.into()),
        };
        trial.check(question);
        Ok(trial)
    }

    fn end(&mut self, body: &EventBody) {
        let Some(end) = RunEnd::from_body(body) else {
            return;
        };
        self.cost = TrialCost {
            calls: end.calls,
            ms: end.ms,
            prompt_tokens: end.sent,
            completion_tokens: end.received,
            cost_usd: end.spent.cost_usd,
        };
    }

    fn with_record(self, record: &RunRecord) -> Self {
        let summary = &record.summary;
        let mut evidence: Vec<&EvidenceRecord> = record.evidence.iter().collect();
        evidence.retain(|item| {
            let standing = item.standing;
            matches!(standing, EvidenceStanding::Kept | EvidenceStanding::Low)
        });
        evidence.sort_by_key(|item| item.n.unwrap_or(usize::MAX));
        let found = |item: &&EvidenceRecord| FoundPassage {
            source: item.item.source.clone(),
            place: item.item.location(),
        };
        let mut cited: Vec<String> = Vec::new();
        for citation in &record.citations {
            if !cited.contains(&citation.source) {
                cited.push(citation.source.clone());
            }
        }
        Self {
            run: Some(summary.id.clone()),
            route: summary.route,
            outcome: summary.outcome,
            evidence: evidence.iter().map(found).collect(),
            cited,
            answer: record.answer.clone(),
            error: summary.error.clone(),
            mode: summary.mode,
            ..self
        }
    }

    /// Whether the run went its whole way.
    pub(super) fn is_complete(&self) -> bool {
        self.outcome.is_some_and(Outcome::is_complete)
    }

    /// Why the run failed, where it did.
    pub(super) fn trouble(&self) -> Option<&str> {
        let trouble = self.error.as_deref().unwrap_or("it has no end");
        (!self.is_complete()).then_some(trouble)
    }

    fn check(&mut self, question: &ExpectedRun) {
        let wrong_route = self.wrong_route(question);
        let missing: Vec<String> = self.missing_sources(question);
        let wrong_answer = self.wrong_answer(question);
        let trouble = self.trouble().map(|why| format!("the run failed: {why}"));
        let answer_is_wrong = trouble.is_some() || !wrong_answer.is_empty();
        let holds = |is_expected: bool, is_wrong: bool| is_expected.then_some(!is_wrong);
        self.checks = Checks {
            route_right: holds(!question.route.is_empty(), wrong_route.is_some()),
            sources_found: holds(!question.sources.is_empty(), !missing.is_empty()),
            answer_right: holds(question.judges_answer(), answer_is_wrong),
        };
        self.failures.extend(trouble);
        self.failures.extend(wrong_route);
        self.failures.extend(missing);
        self.failures.extend(wrong_answer);
    }

    fn wrong_route(&self, question: &ExpectedRun) -> Option<String> {
        if question.route.is_empty() || self.route.is_some_and(|it| question.route.contains(&it)) {
            return None;
        }
        let expected: Vec<&str> = question.route.iter().map(|route| route.as_str()).collect();
        let taken = self.route.map_or("undecided", Complexity::as_str);
        Some(format!(
            "route {taken}, should be {}",
            expected.join(" or ")
        ))
    }

    fn missing_sources(&self, question: &ExpectedRun) -> Vec<String> {
        let found = |wanted: &String| {
            let end = format!("/{}", wanted.replace('\\', "/"));
            let is_it = |source: &str| format!("/{}", source.replace('\\', "/")).ends_with(&end);
            let of_evidence = self.evidence.iter().map(|found| found.source.as_str());
            of_evidence
                .chain(self.cited.iter().map(String::as_str))
                .any(is_it)
        };
        let missing = question.sources.iter().filter(|wanted| !found(wanted));
        missing
            .map(|wanted| format!("not among the evidence: {wanted}"))
            .collect()
    }

    fn wrong_answer(&self, question: &ExpectedRun) -> Vec<String> {
        let mut wrong = Vec::new();
        // Why a run failed is said once.
        if !self.is_complete() {
            return wrong;
        }
        let text = without_layout(self.answer.as_deref().unwrap_or_default());
        let holds = |phrase: &&String| text.contains(&without_layout(phrase));
        let lacking = question
            .answer_contains
            .iter()
            .filter(|phrase| !holds(phrase));
        wrong.extend(lacking.map(|phrase| format!("the answer lacks: {phrase}")));
        let holding = question.answer_lacks.iter().filter(holds);
        wrong.extend(holding.map(|phrase| format!("the answer holds: {phrase}")));
        let ended = self.outcome.filter(|it| !question.outcome.contains(it));
        if let Some(ended) = ended.filter(|_| !question.outcome.is_empty()) {
            let expected: Vec<&str> = question.outcome.iter().map(|end| end.as_str()).collect();
            wrong.push(format!(
                "{}, should be {}",
                ended.as_str(),
                expected.join(" or ")
            ));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> ExpectedRun {
        ExpectedRun {
            id: "q".to_owned(),
            query: "How?".to_owned(),
            route: vec![Complexity::Simple],
            sources: vec!["guide/a.md".to_owned()],
            answer_contains: vec!["Red valve".to_owned()],
            answer_lacks: vec!["blue".to_owned()],
            outcome: vec![Outcome::Answered],
        }
    }

    fn trial(route: Complexity, evidence: &str, answer: &str, outcome: Outcome) -> Trial {
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
        trial.check(&question());
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
        let all = Some(true);
        let checks = (right.checks.route_right, right.checks.sources_found);
        assert_eq!((checks, right.checks.answer_right), ((all, all), all));
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
        assert_eq!(failed.checks.answer_right, Some(false));
        assert!(
            failed
                .failures
                .contains(&"the run failed: it has no end".to_owned())
        );
    }
}
