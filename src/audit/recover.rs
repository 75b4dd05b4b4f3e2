use std::collections::HashMap;
use std::path::Path;

use crate::domain::Outcome;
use crate::protocol::{
    CostDetails, Event, EventBody, RunId, RunRecord, RunSummary, SCHEMA, Step, Timestamp,
};

use super::lookup::Lookup;
use super::read::ReadError;
use super::session::Session;

/// A run that was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedRun {
    /// The run that was interrupted.
    pub run: RunId,
    /// What had been asked.
    pub query: String,
}

/// Every run of the log whose process is no longer there, oldest first, with the `run_finished` that
/// says so and is to be written.
///
/// A run of a process that is still going on is left alone.
pub(super) fn interrupted_runs(log: &Path) -> Result<Vec<(InterruptedRun, Event)>, ReadError> {
    let lookup = Lookup::open(log)?;
    let mut alive: HashMap<&str, bool> = HashMap::new();
    let mut open: Vec<&RunSummary> = Vec::new();
    for run in lookup.runs().iter().filter(|run| run.outcome.is_none()) {
        let is_alive = alive
            .entry(&run.session)
            .or_insert_with(|| Session::is_alive(log, &run.session));
        if !*is_alive {
            open.push(run);
        }
    }
    let events = lookup.events(&open)?;
    let runs = events.chunk_by(|one, next| one.run == next.run);
    Ok(runs.filter_map(end_of_run).collect())
}

/// What the run of these events would have said of itself.
fn end_of_run(events: &[Event]) -> Option<(InterruptedRun, Event)> {
    let last = events.last()?;
    let mut record = events.iter().find_map(RunRecord::begin)?;
    for event in events {
        record.apply(event);
    }
    let RunRecord { summary, path, .. } = record;
    let calls = |of: fn(&Step) -> u32| path.iter().map(of).fold(0, u32::saturating_add);
    let tokens = |of: fn(&Step) -> Option<u64>| {
        let counted = path.iter().filter_map(of);
        counted.fold(0, u64::saturating_add)
    };
    let body = EventBody::RunFinished {
        outcome: Outcome::Failed,
        complexity: path
            .iter()
            .rev()
            .find_map(|step| Some(step.plan.as_ref()?.complexity)),
        path: path.iter().map(|step| step.node).collect(),
        iterations: calls(|step| u32::from(step.verdict.is_some())),
        reasoning_calls: calls(|step| step.calls.unwrap_or(0)),
        calls_saved: calls(|step| {
            let short_cut = step.fast_path.as_ref();
            let by_rule = step
                .verdict
                .as_ref()
                .map_or(0, |verdict| verdict.by.calls_saved());
            by_rule + short_cut.map_or(0, |taken| taken.path_type.calls_saved())
        }),
        prompt_tokens: tokens(|step| step.prompt_tokens),
        completion_tokens: tokens(|step| step.completion_tokens),
        spent: CostDetails::default(),
        ms: last.ts.0.saturating_sub(summary.time.0) as f64,
        error: Some("interrupted".to_owned()),
    };
    let end = Event {
        schema: SCHEMA,
        ts: Timestamp::now(),
        run: summary.id.clone(),
        seq: last.seq.saturating_add(1),
        body,
    };
    let run = InterruptedRun {
        run: summary.id,
        query: summary.question,
    };
    Some((run, end))
}
