use std::collections::BTreeMap;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::cli::output::CommandFailure;
use crate::domain::{Complexity, NodeName, Outcome, PathType, QueryType, ToolName};
use crate::engine::{Engine, EngineError, RunRequest};
use crate::protocol::{EvidenceRecord, EvidenceStanding, Mode, RunEnd, RunId, RunRecord};

/// What came of one question under one of the settings. Texts are as they were answered; the serde form
/// is a result of `eval run --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Trial {
    /// The name of the settings.
    pub settings: String,
    /// Its run in the log; `None` where none began.
    pub run: Option<RunId>,
    pub route: Option<Complexity>,
    pub query_type: Option<QueryType>,
    /// The rule that approved the evidence.
    pub rule: Option<String>,
    /// Tools that were called, each once, in the order of their first call.
    pub tools: Vec<ToolName>,
    /// Rounds of retrieval.
    pub rounds: usize,
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
    /// Which expectations hold; `None` of what nothing is expected.
    #[serde(flatten)]
    pub checks: BTreeMap<&'static str, Option<bool>>,
    /// What was expected and is not so, a line each.
    pub failures: Vec<String>,
    /// What a question came to that was asked several times.
    #[serde(flatten)]
    pub repeats: Option<Repeats>,
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

impl TrialCost {
    /// Tokens both ways.
    pub(super) fn tokens(self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

/// The runs of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Repeats {
    pub runs: usize,
    /// The most runs of the same route, end and checks.
    pub agreed: usize,
}

impl Trial {
    /// Asks the question, as the first of a conversation. A run that fails is a trial all the same.
    pub(super) async fn run(
        engine: &Engine,
        query: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, CommandFailure> {
        let request = RunRequest {
            query: query.to_owned(),
            ..RunRequest::default()
        };
        let mut run = match engine.stream(request, cancel.child_token()).await {
            Ok(run) => run,
            Err(EngineError::Run(why)) => {
                return Ok(Self {
                    error: Some(why.to_string()),
                    ..Self::default()
                });
            }
            Err(error) => return Err(error.into()),
        };
        let mut record: Option<RunRecord> = None;
        let mut cost = TrialCost::default();
        while let Some(event) = run.next_event().await {
            match &mut record {
                Some(record) => record.apply(&event),
                None => record = RunRecord::begin(&event),
            }
            if let Some(end) = RunEnd::from_body(&event.body) {
                cost = TrialCost {
                    calls: end.calls,
                    ms: end.ms,
                    prompt_tokens: end.sent,
                    completion_tokens: end.received,
                    cost_usd: end.spent.cost_usd,
                };
            }
        }
        let complaint = run.complaint().map(str::to_owned);
        // The events have told how it ended.
        let _ = run.answer(None).await;
        Ok(Self {
            cost,
            complaint,
            ..record.map_or_else(Self::default, Self::from_record)
        })
    }

    fn from_record(record: RunRecord) -> Self {
        let is_in_context = |item: &&EvidenceRecord| {
            matches!(
                item.standing,
                EvidenceStanding::Kept | EvidenceStanding::Low
            )
        };
        let mut evidence: Vec<_> = record.evidence.iter().filter(is_in_context).collect();
        evidence.sort_by_key(|item| item.n.unwrap_or(usize::MAX));
        let evidence = evidence.iter().map(|item| FoundPassage {
            source: item.item.source.clone(),
            place: item.item.location(),
        });
        let steps = || record.path.iter();
        let cuts = steps().filter_map(|step| step.fast_path.as_ref());
        let mut rules = cuts.filter(|cut| cut.path_type == PathType::RuleAutoApprove);
        let called = steps().flat_map(|step| step.tools.iter().map(|tool| tool.call.tool()));
        let cited = record.citations.iter().map(|cited| cited.source.clone());
        Self {
            query_type: steps().find_map(|step| Some(step.plan.as_ref()?.query_type)),
            rule: rules.next().map(|cut| cut.rule_name.clone()),
            tools: without_repeats(called),
            rounds: steps()
                .filter(|step| step.node == NodeName::ToolExec)
                .count(),
            evidence: evidence.collect(),
            cited: without_repeats(cited),
            answer: record.answer,
            run: Some(record.summary.id),
            route: record.summary.route,
            outcome: record.summary.outcome,
            error: record.summary.error,
            mode: record.summary.mode,
            ..Self::default()
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

    /// Joins the runs of one question. The first that is not as expected stands for them, and a check
    /// holds that holds in every run.
    pub(super) fn join(runs: &[Self]) -> Self {
        let first = runs.iter().find(|run| !run.failures.is_empty());
        let mut joined = first.or(runs.first()).cloned().unwrap_or_default();
        if runs.len() < 2 {
            return joined;
        }
        for (check, holds) in &mut joined.checks {
            *holds = holds.map(|_| runs.iter().all(|run| run.checks[check] == Some(true)));
        }
        let failures = runs.iter().flat_map(|run| &run.failures);
        let failures = without_repeats(failures).into_iter().map(|line| {
            let count = runs.iter().filter(|run| run.failures.contains(line));
            format!("{line} ({} of {} runs)", count.count(), runs.len())
        });
        joined.failures = failures.collect();
        let alike = |one: &Self| {
            let is_alike = |other: &&Self| {
                let same_way = (one.route, one.outcome) == (other.route, other.outcome);
                same_way && one.checks == other.checks
            };
            runs.iter().filter(is_alike).count()
        };
        joined.repeats = Some(Repeats {
            runs: runs.len(),
            agreed: runs.iter().map(alike).max().unwrap_or(0),
        });
        joined
    }
}

/// Each item once, in the order of its first place.
fn without_repeats<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for item in items {
        if !known.contains(&item) {
            known.push(item);
        }
    }
    known
}
