//! A run that begins again at a node of another one, and what its events tell of the state there.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Event, EventBody, EvidenceItem, PriorGrade, QuestionPlace, RunId};
use crate::domain::{
    Complexity, EvidenceId, GradedBy, GraderAction, NodeName, PlannedCall, RoutingPlan, Score,
    ToolRecord,
};
use crate::text::plural;

/// A run begins with the state that another one had at a node, as it was or changed by hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rerun {
    /// The run whose state it takes over.
    pub of: RunId,
    /// The node at which it begins; where that was visited several times, the last visit.
    pub from: NodeName,
    /// Items that were taken out of the context by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<EvidenceId>,
    /// Items that had been graded too low and were put back by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<EvidenceId>,
    /// Grades that were set by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graded: Vec<GradeByHand>,
    /// What a model was told besides, in the calls of the node at which the run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
}

/// A grade that was set by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeByHand {
    /// The item.
    pub id: EvidenceId,
    /// Its grade.
    pub grade: Score,
}

/// A run that is to begin again.
#[derive(Debug, Clone, PartialEq)]
pub struct RerunRequest {
    /// Where it begins, and what is changed.
    pub rerun: Rerun,
    /// The question.
    pub query: String,
    /// The route the user chose, if any.
    pub route: Option<Complexity>,
    /// Where the question stands in the conversation.
    pub place: QuestionPlace,
    /// The events of the run whose state it takes over.
    pub events: Vec<Arc<Event>>,
}

/// How many runs may have begun each with the state of the one before.
const LONGEST_CHAIN: usize = 100;

impl RerunRequest {
    /// The events of a run. Where it began at a node of another one, those of that one up to the node come
    /// first, as far as `events_of` knows them.
    pub fn with_earlier(
        mut events: Vec<Arc<Event>>,
        mut events_of: impl FnMut(&RunId) -> Vec<Arc<Event>>,
    ) -> Vec<Arc<Event>> {
        for _ in 0..LONGEST_CHAIN {
            let begin = events.first().map(|event| &event.body);
            let Some(EventBody::RunStarted {
                rerun: Some(rerun), ..
            }) = begin
            else {
                break;
            };
            let mut before = events_of(&rerun.of);
            let entered = before.iter().rposition(|event| enters(event, rerun.from));
            let Some(entered) = entered else {
                break;
            };
            before.truncate(entered);
            before.append(&mut events);
            events = before;
        }
        events
    }
}

fn enters(event: &Event, node: NodeName) -> bool {
    matches!(&event.body, EventBody::NodeEntered { node: entered, .. } if *entered == node)
}

impl Rerun {
    /// The run begins at that node with the state as it was.
    pub fn unchanged(of: RunId, from: NodeName) -> Self {
        Self {
            of,
            from,
            ..Self::default()
        }
    }

    /// Where it begins and what was changed: `again from grade_evidence · 2 passages dropped`.
    pub fn in_words(&self) -> String {
        let changes = self
            .changes_in_words()
            .map(|changes| format!(" · {changes}"));
        format!("again from {}{}", self.from, changes.unwrap_or_default())
    }

    /// What was changed: `2 passages dropped · instruction added`; `None` where nothing was.
    pub fn changes_in_words(&self) -> Option<String> {
        let mut changes = Vec::new();
        for (count, noun, verb) in [
            (self.dropped.len(), "passage", "dropped"),
            (self.restored.len(), "passage", "restored"),
            (self.graded.len(), "grade", "set"),
        ] {
            if count > 0 {
                changes.push(format!("{} {verb}", plural(count, noun)));
            }
        }
        if self.instruction.is_some() {
            changes.push("instruction added".to_owned());
        }
        (!changes.is_empty()).then(|| changes.join(" · "))
    }
}

/// What a run knew when it entered a node, as far as its events tell: of a passage its place and
/// beginning, and not the whole text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedState {
    /// What the analysis came to.
    pub plan: Option<RoutingPlan>,
    /// Tool calls that had been made, in the order of their plans.
    pub tool_history: Vec<ToolRecord>,
    /// The calls that were made in this visit, where the node makes them.
    pub pending: Vec<PlannedCall>,
    /// The evidence in force.
    pub context: Vec<EvidenceItem>,
    /// What had been graded too low.
    pub discarded: Vec<EvidenceItem>,
    /// The last grade of each item, those of this visit among them.
    pub grades: HashMap<EvidenceId, PriorGrade>,
    /// What the last grading before had said.
    pub action: Option<GraderAction>,
    /// Gradings made before.
    pub iteration: u32,
}

impl RecordedState {
    /// The state at the last visit of the node; `None` where it was not entered, or is the one at which
    /// every run begins.
    pub fn at_node(events: &[Arc<Event>], node: NodeName) -> Option<Self> {
        let entered = events.iter().rposition(|event| enters(event, node))?;
        if node == NodeName::AnalyzeAndRoute {
            return None;
        }
        let mut state = Self::default();
        for event in &events[..=entered] {
            state.take(&event.body);
        }
        for event in &events[entered + 1..] {
            match &event.body {
                EventBody::ToolCalled { call, by } => state.pending.push(PlannedCall {
                    call: call.clone(),
                    by: *by,
                }),
                EventBody::EvidenceGraded { .. } => state.grade(&event.body),
                EventBody::NodeFinished { .. } => break,
                _ => {}
            }
        }
        Some(state)
    }

    /// All items that are known, those in force first.
    pub(super) fn items(&self) -> impl Iterator<Item = &EvidenceItem> {
        self.context.iter().chain(&self.discarded)
    }

    /// The largest number that an item is named by.
    pub fn last_evidence_number(&self) -> usize {
        let items = self.items();
        let numbers = items.filter_map(|item| item.id.0.strip_prefix('e')?.parse().ok());
        numbers.max().unwrap_or(0)
    }

    /// The state with these changes.
    #[must_use]
    pub fn changed(mut self, rerun: &Rerun) -> Self {
        for set in &rerun.graded {
            let (grade, by) = (set.grade, GradedBy::Hand);
            self.grades.insert(set.id.clone(), PriorGrade { grade, by });
        }
        let is_dropped = |item: &EvidenceItem| rerun.dropped.contains(&item.id);
        let is_restored = |item: &EvidenceItem| rerun.restored.contains(&item.id);
        let dropped = self.context.extract_if(.., |item| is_dropped(item));
        let dropped: Vec<EvidenceItem> = dropped.collect();
        let restored = self.discarded.extract_if(.., |item| is_restored(item));
        self.context.extend(restored);
        self.discarded.extend(dropped);
        self
    }

    /// Takes the next event of the run.
    pub(super) fn take(&mut self, body: &EventBody) {
        match body {
            EventBody::NodeEntered { iteration, .. } => self.iteration = *iteration,
            EventBody::RoutingPlan { plan, .. } => self.plan = Some(plan.clone()),
            // As the run itself has them: in the order of the plan, whichever ends first.
            EventBody::ToolCalled { call, by } => self.tool_history.push(ToolRecord {
                call: call.clone(),
                round: self.iteration,
                scores: Vec::new(),
                error: None,
                is_breakdown: false,
                by: *by,
            }),
            EventBody::ToolFinished {
                call,
                scores,
                error,
                is_breakdown,
                ..
            } => {
                // A call is made once in a run.
                let mut calls = self.tool_history.iter_mut();
                if let Some(record) = calls.rfind(|record| record.call == *call) {
                    record.scores.clone_from(scores);
                    record.error.clone_from(error);
                    record.is_breakdown = *is_breakdown;
                }
            }
            EventBody::EvidenceAdded { items } => items.iter().for_each(|item| self.add(item)),
            EventBody::EvidenceGraded { action, .. } => {
                self.action = Some(*action);
                self.grade(body);
            }
            EventBody::EvidenceRemoved { id, .. } => {
                let removed = self.context.extract_if(.., |item| item.id == *id);
                self.discarded.extend(removed);
            }
            _ => {}
        }
    }

    fn grade(&mut self, body: &EventBody) {
        if let EventBody::EvidenceGraded { scores, by, .. } = body {
            let by = *by;
            let grades = scores.iter().filter_map(|item| {
                let grade = item.grade()?;
                Some((item.id.clone(), PriorGrade { grade, by }))
            });
            self.grades.extend(grades);
        }
    }

    /// An item that has grown over others holds them from now on (R14), and has no grade any more.
    fn add(&mut self, item: &EvidenceItem) {
        self.discarded.retain(|known| known.id != item.id);
        self.context.retain(|known| !item.takes_in(known));
        if let Some(grade) = item.known_grade {
            self.grades.insert(item.id.clone(), grade);
        }
        match self.context.iter_mut().find(|known| known.id == item.id) {
            Some(known) => {
                if known.lines != item.lines {
                    self.grades.remove(&item.id);
                }
                known.clone_from(item);
            }
            None => self.context.push(item.clone()),
        }
    }
}
