use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::domain::{Complexity, NodeName, Outcome};
use crate::protocol::{CostDetails, Event, EventBody, RunId, SCHEMA, Timestamp};

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

/// Every run in these parts whose process is no longer there, oldest first, with the `run_finished` that
/// says so and is to be written.
///
/// A run of a process that is still going on is left alone. Lines that cannot be read are passed
/// over.
pub(super) fn interrupted_runs(
    path: &Path,
    parts: &[PathBuf],
) -> Result<Vec<(InterruptedRun, Event)>, ReadError> {
    let mut open = BTreeMap::new();
    for_each_event(
        parts,
        &["\"run_started\"", "\"run_finished\""],
        |event| match event.body {
            EventBody::RunStarted { session, query, .. } => {
                open.insert(event.run, (session, query));
            }
            EventBody::RunFinished { .. } => {
                open.remove(&event.run);
            }
            _ => {}
        },
    )?;
    let mut alive = HashMap::new();
    open.retain(|_, (session, _)| {
        let is_alive = alive
            .entry(session.clone())
            .or_insert_with(|| Session::is_alive(path, session));
        !*is_alive
    });
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let courses = courses_of(parts, &open)?.into_iter();
    let ends = courses.filter_map(|(run, course)| {
        let end = course.end(&run);
        let (_, query) = open.remove(&run)?;
        Some((InterruptedRun { run, query }, end))
    });
    Ok(ends.collect())
}

/// What happened in each of these runs, from one reading of the log.
fn courses_of<T>(
    parts: &[PathBuf],
    runs: &BTreeMap<RunId, T>,
) -> Result<BTreeMap<RunId, Course>, ReadError> {
    let mut courses: BTreeMap<RunId, Course> = BTreeMap::new();
    let is_wanted = |run: &str| runs.contains_key(&RunId(run.into()));
    for_each_event_of(parts, is_wanted, |event| {
        courses.entry(event.run.clone()).or_default().take(&event);
    })?;
    Ok(courses)
}

/// What a run came to, read from its own events.
#[derive(Debug, Default)]
struct Course {
    begun: Option<Timestamp>,
    last: Option<(u64, Timestamp)>,
    complexity: Option<Complexity>,
    path: Vec<NodeName>,
    iterations: u32,
    calls: u32,
    saved: u32,
    prompt: u64,
    completion: u64,
}

impl Course {
    fn take(&mut self, event: &Event) {
        self.begun.get_or_insert(event.ts);
        self.last = Some((event.seq, event.ts));
        match &event.body {
            EventBody::RoutingPlan { plan, .. } => self.complexity = Some(plan.complexity),
            EventBody::NodeEntered { node, .. } => self.path.push(*node),
            EventBody::EvidenceGraded { by, .. } => {
                self.iterations = self.iterations.saturating_add(1);
                self.saved = self.saved.saturating_add(by.calls_saved());
            }
            EventBody::FastPathHit { path_type, .. } => {
                self.saved = self.saved.saturating_add(path_type.calls_saved());
            }
            EventBody::NodeFinished {
                reasoning_calls,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                self.calls = self.calls.saturating_add(*reasoning_calls);
                self.prompt = self.prompt.saturating_add(prompt_tokens.unwrap_or(0));
                let received = completion_tokens.unwrap_or(0);
                self.completion = self.completion.saturating_add(received);
            }
            _ => {}
        }
    }

    /// What the run would have said of itself.
    fn end(self, run: &RunId) -> Event {
        let now = Timestamp::now();
        let (seq, last) = self.last.unwrap_or((0, now));
        let begun = self.begun.unwrap_or(last);
        Event {
            schema: SCHEMA,
            ts: now,
            run: run.clone(),
            seq: seq.saturating_add(1),
            body: EventBody::RunFinished {
                outcome: Outcome::Failed,
                complexity: self.complexity,
                path: self.path,
                iterations: self.iterations,
                reasoning_calls: self.calls,
                calls_saved: self.saved,
                prompt_tokens: self.prompt,
                completion_tokens: self.completion,
                spent: CostDetails::default(),
                ms: last.0.saturating_sub(begun.0) as f64,
                error: Some("interrupted".to_owned()),
            },
        }
    }
}
