use std::collections::BTreeMap;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::cli::output::CommandFailure;
use crate::domain::{Complexity, Outcome};
use crate::engine::{Engine, EngineError, RunRequest};
use crate::protocol::{EvidenceRecord, EvidenceStanding, Mode, RunEnd, RunId, RunRecord};

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
    /// Which expectations hold; `None` of what nothing is expected.
    #[serde(flatten)]
    pub checks: BTreeMap<&'static str, Option<bool>>,
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
        let trial = record.map_or_else(Self::default, Self::of_record);
        Ok(Self {
            cost,
            complaint,
            ..trial
        })
    }

    fn of_record(record: RunRecord) -> Self {
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
        let evidence = evidence.iter().map(found).collect();
        let summary = record.summary;
        Self {
            run: Some(summary.id),
            route: summary.route,
            outcome: summary.outcome,
            evidence,
            cited,
            answer: record.answer,
            error: summary.error,
            mode: summary.mode,
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
}
