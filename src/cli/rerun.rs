//! `ask --from`: a run begins at a node of a recorded one, with its state as it was or changed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::output::CommandFailure;
use crate::audit::{Lookup, ReadError};
use crate::domain::{EvidenceId, NodeName, Score};
use crate::engine::RunRequest;
use crate::protocol::{
    Event, EventBody, GradeByHand, QuestionPlace, RecordedState, Rerun, RerunRequest, RunId,
    RunSummary,
};
use crate::text::one_line;

/// Where a run begins, and what is changed.
#[derive(Debug, Args)]
pub(super) struct RerunArgs {
    /// Begin at a node of a recorded run with the state that it had there, such as last:synthesize
    #[arg(long, value_name = "RUN:NODE", conflicts_with_all = ["question", "route"])]
    from: Option<String>,
    /// Take a passage out of the context, such as e2
    #[arg(long = "drop", value_name = "ID")]
    dropped: Vec<String>,
    /// Put a passage back that was graded too low
    #[arg(long = "restore", value_name = "ID")]
    restored: Vec<String>,
    /// Set a grade, from 0 to 1, such as e1=0.9; decides in `grade_evidence`
    #[arg(long = "grade", value_name = "ID=GRADE")]
    graded: Vec<String>,
    /// Extra instruction for the model, in the calls of that node
    #[arg(long, value_name = "TEXT")]
    instruct: Option<String>,
}

impl RerunArgs {
    /// What the run is asked for; `None` where it begins as every run does.
    pub(super) fn request(&self, log: &Path) -> Result<Option<RunRequest>, CommandFailure> {
        let usage = |line: String| CommandFailure::usage(line);
        let Some(from) = &self.from else {
            let changes = [
                ("--drop", &self.dropped),
                ("--restore", &self.restored),
                ("--grade", &self.graded),
            ];
            let given = changes.iter().find(|(_, given)| !given.is_empty());
            let given = given.map(|(option, _)| *option);
            return match given.or(self.instruct.as_ref().map(|_| "--instruct")) {
                Some(option) => Err(usage(format!("{option} goes with --from RUN:NODE"))),
                None => Ok(None),
            };
        };
        let (name, node) = from.rsplit_once(':').ok_or_else(|| {
            let from = one_line(from, 80);
            usage(format!("'{from}' is no RUN:NODE, such as last:synthesize"))
        })?;
        let node = node_called(node).map_err(usage)?;
        let lookup = Lookup::open(log)?;
        let run = lookup.run(name)?;
        let events = events_with_earlier(&lookup, run)?;
        let state = RecordedState::at_node(&events, node).ok_or_else(|| {
            let run = one_line(&run.id.0, 40);
            usage(match node {
                NodeName::AnalyzeAndRoute => {
                    format!("every run begins at {node}: ask the question again")
                }
                node => {
                    format!("run {run} did not reach {node}: 'kb-agent graph {run}' shows its way")
                }
            })
        })?;
        let rerun = self.rerun(&run.id, node, &state).map_err(usage)?;
        let first = run.retry_of.clone().unwrap_or_else(|| run.id.clone());
        let place = QuestionPlace::retry_of(first);
        let request = RerunRequest {
            rerun,
            query: run.question.clone(),
            route: run.forced_route,
            place: place.clone(),
            events,
        };
        Ok(Some(RunRequest {
            query: request.query.clone(),
            route: request.route,
            place,
            rerun: Some(Box::new(request)),
            ..RunRequest::default()
        }))
    }

    fn rerun(&self, of: &RunId, from: NodeName, state: &RecordedState) -> Result<Rerun, String> {
        let ids = |named: &[String], among: &[&[EvidenceId]]| -> Result<Vec<EvidenceId>, String> {
            let found = named.iter().map(|name| {
                let mut all = among.iter().copied().flatten();
                let found = all.find(|id| id.0 == *name).cloned();
                found.ok_or_else(|| {
                    let all: Vec<&str> = among.iter().copied().flatten().map(|id| &*id.0).collect();
                    let there = match all.join(", ") {
                        none if none.is_empty() => "there is none".to_owned(),
                        all => format!("there are {all}"),
                    };
                    let name = one_line(name, 40);
                    format!("'{name}' is no such passage before {from}: {there}")
                })
            });
            found.collect()
        };
        let kept: Vec<EvidenceId> = state.context.iter().map(|item| item.id.clone()).collect();
        let discarded = state.discarded.iter().map(|item| item.id.clone());
        let discarded: Vec<EvidenceId> = discarded.collect();
        let graded = self.graded.iter().map(|set| {
            let wrong = || format!("'{}' is no ID=GRADE, such as e1=0.9", one_line(set, 40));
            let (name, grade) = set.split_once('=').ok_or_else(wrong)?;
            let grade: f64 = grade.parse().map_err(|_| wrong())?;
            if !(0.0..=1.0).contains(&grade) {
                return Err(format!(
                    "the grade of {} is not from 0 to 1",
                    one_line(name, 40)
                ));
            }
            let mut id = ids(&[name.to_owned()], &[&kept, &discarded])?;
            let grade = Score::clamped(grade);
            Ok(GradeByHand {
                id: id.remove(0),
                grade,
            })
        });
        let graded: Vec<GradeByHand> = graded.collect::<Result<_, String>>()?;
        if !graded.is_empty() && from != NodeName::GradeEvidence {
            return Err(format!(
                "--grade decides nothing from {from} on, only in grade_evidence"
            ));
        }
        Ok(Rerun {
            dropped: ids(&self.dropped, &[&kept])?,
            restored: ids(&self.restored, &[&discarded])?,
            graded,
            instruction: self.instruct.clone(),
            ..Rerun::unchanged(of.clone(), from)
        })
    }
}

/// Refuses to begin over other documents than the run searched, as far as its log tells which.
pub(super) fn refuse_other_base(
    again: &RerunRequest,
    searched: &[PathBuf],
) -> Result<(), CommandFailure> {
    let base = again
        .events
        .iter()
        .rev()
        .find_map(|event| match &event.body {
            EventBody::RunStarted { base, .. } => Some(base.as_ref()),
            _ => None,
        });
    let Some(base) = base.flatten() else {
        return Ok(());
    };
    let is: BTreeSet<_> = searched.iter().map(|path| path.to_string_lossy()).collect();
    let was: BTreeSet<_> = base.sources.iter().map(Cow::from).collect();
    if was == is {
        return Ok(());
    }
    let (run, name) = (one_line(&again.rerun.of.0, 40), one_line(&base.name, 80));
    let paths = base
        .sources
        .iter()
        .map(|path| format!("--kb {}", one_line(path, 200)));
    let paths: Vec<String> = paths.collect();
    let next = match &*paths.join(" ") {
        "" => "name a knowledge base by --kb".to_owned(),
        paths => format!("give {paths}, or --kb of the one to begin over"),
    };
    Err(CommandFailure::usage(format!(
        "run {run} searched another knowledge base, {name}: {next}"
    )))
}

/// The events of a run and, where it began at a node of another one, of those before it.
fn events_with_earlier(
    lookup: &Lookup<'_>,
    run: &RunSummary,
) -> Result<Vec<Arc<Event>>, ReadError> {
    let read = |run: &RunSummary| -> Result<Vec<Arc<Event>>, ReadError> {
        let events = lookup.events(&[run])?;
        Ok(events.into_iter().map(Arc::new).collect())
    };
    let mut failure = None;
    let events = RerunRequest::with_earlier(read(run)?, |id| {
        let found = lookup.runs().iter().find(|run| run.id == *id);
        let events = found.map(read).transpose().unwrap_or_else(|error| {
            failure = Some(error);
            None
        });
        events.unwrap_or_default()
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(events),
    }
}

fn node_called(name: &str) -> Result<NodeName, String> {
    let found = NodeName::ALL.into_iter().find(|node| node.as_str() == name);
    found.ok_or_else(|| {
        let all = NodeName::ALL.map(NodeName::as_str).join(", ");
        format!("'{}' is no node: {all}", one_line(name, 40))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_log_that_cannot_be_read_is_not_taken_for_a_run_without_events() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let begin = r#"{"event":"run_started","run":"r","schema":1,"seq":0,"ts":"2026-01-02T03:04:05.000Z","session":"s","query":"q","mode":"offline","model":"m","settings":{"max_iterations":3,"vector_score_threshold":0.8,"auto_approve_max_items":2}}"#;
        fs::write(&log, format!("{begin}\n")).unwrap();
        let lookup = Lookup::open(&log).unwrap();
        let run = lookup.run("last").unwrap();
        assert_eq!(events_with_earlier(&lookup, run).unwrap().len(), 1);
        fs::remove_file(&log).unwrap();
        fs::create_dir(&log).unwrap();
        let failure = events_with_earlier(&lookup, run).unwrap_err();
        assert!(failure.to_string().contains("cannot be read"), "{failure}");
    }
}
