use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::{GradedBy, Outcome, PathType};
use crate::protocol::{Event, EventBody, RunId, SCHEMA, Spent, Timestamp};

use super::log::AuditLog;
use super::read::{ReadError, events_of_run, for_each_event};
use super::session::Session;

/// A run that was cut short and is closed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// Which.
    pub run: RunId,
    /// What had been asked.
    pub query: String,
}

/// Ends every run in the log whose process is no longer there with a `run_finished` that says so.
///
/// A run of a process that is still going on is left alone. Returns the runs closed, oldest first.
pub(super) fn close_interrupted_runs(
    path: &Path,
    log: &mut AuditLog,
) -> Result<Vec<Interrupted>, ReadError> {
    let mut open: BTreeMap<RunId, (String, String)> = BTreeMap::new();
    for_each_event(path, "\"run_started\"", |event| {
        if let EventBody::RunStarted { session, query, .. } = event.body {
            open.insert(event.run, (session, query));
        }
    })?;
    for_each_event(path, "\"run_finished\"", |event| {
        if matches!(event.body, EventBody::RunFinished { .. }) {
            open.remove(&event.run);
        }
    })?;
    let mut closed = Vec::new();
    for (run, (session, query)) in open {
        if Session::is_alive(path, &session) {
            continue;
        }
        let events = events_of_run(path, &run.0)?;
        if let Some(last) = closing_event(&run, &events) {
            if let Err(error) = log.append(&last) {
                tracing::error!(%error, %run, "an interrupted run could not be closed");
                continue;
            }
            closed.push(Interrupted { run, query });
        }
    }
    Ok(closed)
}

/// What the run would have said of itself, told from its own events.
fn closing_event(run: &RunId, events: &[Event]) -> Option<Event> {
    let (first, last) = (events.first()?, events.last()?);
    let mut complexity = None;
    let mut path = Vec::new();
    let (mut iterations, mut calls, mut saved) = (0, 0, 0);
    let (mut prompt, mut completion) = (0, 0);
    for event in events {
        match &event.body {
            EventBody::RoutingPlan(plan) => complexity = Some(plan.complexity),
            EventBody::NodeEntered { node, .. } => path.push(*node),
            EventBody::EvidenceGraded { by, .. } => {
                iterations += 1;
                saved += u32::from(*by == GradedBy::NoEvidence);
            }
            EventBody::FastPathHit { path_type, .. } => {
                saved += match path_type {
                    PathType::Chitchat => 2,
                    PathType::SimpleSkipGrading | PathType::RuleAutoApprove => 1,
                }
            }
            EventBody::NodeFinished {
                reasoning_calls,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                calls += reasoning_calls;
                prompt += prompt_tokens.unwrap_or(0);
                completion += completion_tokens.unwrap_or(0);
            }
            _ => {}
        }
    }
    Some(Event {
        schema: SCHEMA,
        ts: Timestamp::now(),
        run: run.clone(),
        seq: last.seq + 1,
        body: EventBody::RunFinished {
            outcome: Outcome::Failed,
            complexity,
            path,
            iterations,
            reasoning_calls: calls,
            calls_saved: saved,
            prompt_tokens: prompt,
            completion_tokens: completion,
            spent: Spent::default(),
            ms: last.ts.0.saturating_sub(first.ts.0) as f64,
            error: Some("interrupted".to_owned()),
        },
    })
}
