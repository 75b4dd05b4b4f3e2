use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::domain::Outcome;
use crate::protocol::{CostDetails, Event, EventBody, RunId, RunRecord, SCHEMA, Step, Timestamp};

use super::log_reader::{ReadError, for_each_event, for_each_event_of};
use super::session::Session;

/// A run that was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedRun {
    /// The run that was interrupted.
    pub run: RunId,
    /// What had been asked.
    pub query: String,
}

/// Every run in these files whose process is no longer there, oldest first, with the `run_finished`
/// that says so and is to be written.
///
/// A run of a process that is still going on is left alone. Lines that cannot be read are passed
/// over.
pub(super) fn interrupted_runs(
    log: &Path,
    files: &[PathBuf],
) -> Result<Vec<(InterruptedRun, Event)>, ReadError> {
    let mut open: BTreeMap<RunId, OpenRun> = BTreeMap::new();
    let needles = ["\"run_started\"", "\"run_finished\""];
    for_each_event(files, &needles, &AtomicBool::new(false), |event| {
        if let Some(record) = RunRecord::begin(&event) {
            let (last_seq, last) = (event.seq, event.ts);
            open.insert(
                event.run,
                OpenRun {
                    record,
                    last_seq,
                    last,
                },
            );
        } else if matches!(event.body, EventBody::RunFinished { .. }) {
            open.remove(&event.run);
        }
    })?;
    let mut alive = HashMap::new();
    open.retain(|_, run| {
        let session = &run.record.summary.session;
        let is_alive = alive
            .entry(session.clone())
            .or_insert_with(|| Session::is_alive(log, session));
        !*is_alive
    });
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: HashSet<RunId> = open.keys().cloned().collect();
    let is_wanted = |run: &str| wanted.contains(&RunId(run.into()));
    for_each_event_of(files, is_wanted, |event| {
        if let Some(run) = open.get_mut(&event.run) {
            run.record.apply(&event);
            (run.last_seq, run.last) = (event.seq, event.ts);
        }
    })?;
    let ends = open.into_values().map(|run| {
        let summary = &run.record.summary;
        let (id, query) = (summary.id.clone(), summary.question.clone());
        (InterruptedRun { run: id, query }, run.end())
    });
    Ok(ends.collect())
}

/// A run without an end.
struct OpenRun {
    record: RunRecord,
    /// Number and time of its last event.
    last_seq: u64,
    last: Timestamp,
}

impl OpenRun {
    /// What the run would have said of itself.
    fn end(self) -> Event {
        let steps = self.record.path.iter();
        let mut plans = steps.clone().filter_map(|step| step.plan.as_ref());
        let verdicts = steps.clone().filter_map(|step| step.verdict.as_ref());
        let short_cuts = steps.clone().filter_map(|step| step.fast_path.as_ref());
        let saved_by_rules = verdicts.clone().map(|verdict| verdict.by.calls_saved());
        let saved = short_cuts.map(|taken| taken.path_type.calls_saved());
        let tokens = |counted: fn(&Step) -> Option<u64>| {
            let counted = self.record.path.iter().filter_map(counted);
            counted.fold(0, u64::saturating_add)
        };
        let begun = self.record.summary.time;
        Event {
            schema: SCHEMA,
            ts: Timestamp::now(),
            run: self.record.summary.id.clone(),
            seq: self.last_seq.saturating_add(1),
            body: EventBody::RunFinished {
                outcome: Outcome::Failed,
                complexity: plans.next_back().map(|plan| plan.complexity),
                path: steps.clone().map(|step| step.node).collect(),
                iterations: verdicts.count() as u32,
                reasoning_calls: add(steps.filter_map(|step| step.calls)),
                calls_saved: add(saved.chain(saved_by_rules)),
                prompt_tokens: tokens(|step| step.prompt_tokens),
                completion_tokens: tokens(|step| step.completion_tokens),
                spent: CostDetails::default(),
                ms: self.last.0.saturating_sub(begun.0) as f64,
                error: Some("interrupted".to_owned()),
            },
        }
    }
}

fn add(calls: impl Iterator<Item = u32>) -> u32 {
    calls.fold(0, u32::saturating_add)
}
