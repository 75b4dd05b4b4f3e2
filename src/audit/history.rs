use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::protocol::{Counting, Event, RunId, RunRecord, RunSummary, Statistics};

use super::parts;
use super::read::{ReadError, for_each_event};

/// The runs of all parts of the log, in the order in which they began. No log has no runs.
pub fn runs(log: &Path) -> Result<Vec<RunSummary>, ReadError> {
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut known: HashMap<RunId, usize> = HashMap::new();
    for_each_event(&parts::existing(log), &RunSummary::MADE_FROM, |event| {
        if let Some(at) = known.get(&event.run) {
            runs[*at].apply(&event);
        } else if let Some(run) = RunSummary::begin(&event) {
            known.insert(event.run, runs.len());
            runs.push(run);
        }
    })?;
    Ok(runs)
}

/// What all runs of the log came to.
pub fn statistics(log: &Path) -> Result<Statistics, ReadError> {
    let mut counting = Counting::default();
    for_each_event(&parts::existing(log), &Counting::MADE_FROM, |event| {
        counting.apply(&event);
    })?;
    Ok(counting.result())
}

/// All that is recorded of these runs, in the order in which they began.
pub fn records(log: &Path, wanted: &[&RunSummary]) -> Result<Vec<RunRecord>, ReadError> {
    let ids: Vec<RunId> = wanted.iter().map(|run| run.id.clone()).collect();
    let mut records: BTreeMap<RunId, RunRecord> = BTreeMap::new();
    for_each_event_of(log, &ids, |event| {
        if let Some(record) = records.get_mut(&event.run) {
            record.apply(&event);
        } else if let Some(record) = RunRecord::begin(&event) {
            records.insert(event.run, record);
        }
    })?;
    Ok(ids.iter().filter_map(|id| records.remove(id)).collect())
}

/// The events of these runs, run by run in the order given.
pub fn events_of_runs(log: &Path, wanted: &[&RunSummary]) -> Result<Vec<Event>, ReadError> {
    let ids: Vec<RunId> = wanted.iter().map(|run| run.id.clone()).collect();
    let mut events: HashMap<RunId, Vec<Event>> = HashMap::new();
    for_each_event_of(log, &ids, |event| {
        events.entry(event.run.clone()).or_default().push(event);
    })?;
    let of_run = |id: &RunId| events.remove(id).unwrap_or_default();
    Ok(ids.iter().flat_map(of_run).collect())
}

/// Calls `each` with the events of these runs, those of one run in order.
pub(super) fn for_each_event_of(
    log: &Path,
    wanted: &[RunId],
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    let ids: BTreeSet<&RunId> = wanted.iter().collect();
    let needles: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    for_each_event(&parts::existing(log), &needles, |event| {
        if ids.contains(&event.run) {
            each(event);
        }
    })
}
