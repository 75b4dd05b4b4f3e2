//! The runs of a log and what is counted of them, from one reading of its lines.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::protocol::{EventBody, RunFigures, RunHistory, RunId, RunSummary, Timestamp};

use super::log_parts;
use super::log_reader::{ReadError, for_each_event, for_each_event_unless};

/// All runs, in the order in which they began.
pub(super) fn recorded_runs(log: &Path) -> Result<Vec<RunSummary>, ReadError> {
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut places: HashMap<RunId, usize> = HashMap::new();
    for_each_event(&log_parts::existing(log), &RunSummary::MADE_FROM, |event| {
        if let Some(at) = places.get(&event.run) {
            runs[*at].apply(&event);
        } else if let Some(run) = RunSummary::begin(&event) {
            places.insert(event.run, runs.len());
            runs.push(run);
        }
    })?;
    Ok(runs)
}

/// What all runs of the log came to, given up with [`ReadError::Stopped`] as soon as `stop` says so.
pub fn history(log: &Path, stop: &AtomicBool) -> Result<RunHistory, ReadError> {
    let mut runs: Vec<(Timestamp, RunFigures)> = Vec::new();
    let mut places: HashMap<RunId, usize> = HashMap::new();
    let words = [&["\"run_started\""][..], &RunFigures::MADE_FROM].concat();
    for_each_event_unless(&log_parts::existing(log), &words, stop, |event| {
        if let Some(at) = places.get(&event.run) {
            runs[*at].1.take(&event.body);
        } else if matches!(event.body, EventBody::RunStarted { .. }) {
            places.insert(event.run, runs.len());
            runs.push((event.ts, RunFigures::default()));
        }
    })?;
    Ok(RunHistory::from_runs(&runs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::lookup::Lookup;
    use std::fs;
    use std::path::PathBuf;

    /// The lines of a run.
    fn lines(run: u32) -> Vec<String> {
        let event = |seq: u32, name: &str, fields: &str| {
            format!(
                r#"{{"event":"{name}","run":"run-{run:05}","schema":1,"seq":{seq},"ts":"2026-01-02T03:04:05.000Z",{fields}}}"#
            )
        };
        let settings = r#""settings":{"max_iterations":3,"vector_score_threshold":0.8,"auto_approve_max_items":2}"#;
        let begin = format!(
            r#""session":"s-{}","query":"what is {run}?","mode":"offline","model":"m",{settings}"#,
            run / 3
        );
        let hit = r#""path_type":"simple_skip_grading","rule_name":"simple","query":"q""#;
        let end = r#""outcome":"answered","complexity":"simple","path":[],"iterations":0,"reasoning_calls":1,"calls_saved":1,"prompt_tokens":0,"completion_tokens":0,"ms":1.5"#;
        vec![
            event(0, "run_started", &begin),
            event(1, "fast_path_hit", hit),
            event(2, "run_finished", end),
        ]
    }

    fn whole(runs: std::ops::Range<u32>) -> Vec<String> {
        runs.flat_map(lines).collect()
    }

    /// A log of several parts, over which the first run goes, the last of which ends a run whose
    /// beginning is gone.
    fn log_of_parts(dir: &Path) -> PathBuf {
        let log = dir.join("audit.jsonl");
        let [begin, hit, end] = <[String; 3]>::try_from(lines(900)).unwrap();
        let gone = lines(950).pop().unwrap();
        for part in [
            [vec![begin], whole(0..40)].concat(),
            [vec![hit], whole(40..50)].concat(),
            [vec![gone, end], whole(50..60)].concat(),
        ] {
            if log.exists() {
                fs::rename(&log, log_parts::next_name(&log)).unwrap();
            }
            fs::write(&log, part.join("\n") + "\n").unwrap();
        }
        log
    }

    #[test]
    fn runs_are_read_across_the_parts_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = log_of_parts(dir.path());
        let lookup = Lookup::open(&log).unwrap();
        let ids: Vec<&str> = lookup.runs().iter().map(|run| &*run.id.0).collect();
        assert_eq!((ids.len(), ids[0], ids[60]), (61, "run-00900", "run-00059"));
        assert!(lookup.runs().iter().all(|run| run.outcome.is_some()));
        for run in [0, 1, 45, 60] {
            let events = lookup.events(&[&lookup.runs()[run]]).unwrap();
            let names: Vec<_> = events.iter().map(|event| event.body.name()).collect();
            assert_eq!(
                names,
                ["run_started", "fast_path_hit", "run_finished"],
                "{run}"
            );
        }
    }

    #[test]
    fn ui_stats_count_whole_runs_and_stop_where_no_one_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let log = log_of_parts(dir.path());
        let total = history(&log, &AtomicBool::new(false)).unwrap().total;
        assert_eq!((total.runs, total.outcomes.answered), (61, 61));
        assert_eq!(total.fast_path.hits, 61);
        let stopped = history(&log, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(ReadError::Stopped)));
    }
}
