//! The gradings of a recorded run, with all that they were founded on.

use std::collections::HashMap;

use super::{Event, EventBody, ItemScore};
use crate::domain::{
    Complexity, DecidedBy, EvidenceId, GradedRound, NodeName, RoutingLimits, RuleGrounds, Score,
    ToolCall, ToolName, ToolRecord, WhatIf, what_if,
};

/// The gradings of one run, as its events tell them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedGradings {
    /// The limits that it kept to.
    pub limits: RoutingLimits,
    /// The way it went, once that is known.
    pub complexity: Option<Complexity>,
    /// The gradings of the run in their order.
    pub rounds: Vec<GradedRound>,
}

impl RecordedGradings {
    /// Reads the gradings from the events of one run.
    pub fn from_events<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut reading = GradingsReader::default();
        for event in events {
            reading.take(&event.body);
        }
        reading.gradings
    }

    /// What the run would have done within other limits.
    pub fn what_if(&self, wanted: &RoutingLimits) -> WhatIf {
        what_if(&self.rounds, &self.limits, wanted)
    }
}

#[derive(Default)]
struct GradingsReader {
    gradings: RecordedGradings,
    /// Gradings made before the node at work.
    round: u32,
    /// Which tool found each item, how well it matched, and whose call that was.
    items: HashMap<EvidenceId, (ToolName, Score, Option<DecidedBy>)>,
    history: Vec<ToolRecord>,
    lacks_scores: bool,
    /// It begins at a node: what the rules ask for is in the log of another run.
    is_rerun: bool,
}

impl GradingsReader {
    fn take(&mut self, body: &EventBody) {
        match body {
            EventBody::RunStarted {
                settings, rerun, ..
            } => {
                self.gradings.limits = **settings;
                self.is_rerun = rerun.is_some();
            }
            EventBody::RoutingPlan { plan, .. } => {
                self.gradings.complexity = Some(plan.complexity);
            }
            EventBody::NodeEntered { iteration, .. } => self.round = *iteration,
            EventBody::ToolCalled { call, by } => self.history.push(ToolRecord {
                call: call.clone(),
                round: self.round,
                scores: Vec::new(),
                error: None,
                is_breakdown: false,
                by: *by,
            }),
            EventBody::ToolFinished {
                call,
                items,
                scores,
                error,
                ..
            } => {
                self.lacks_scores |= *items != scores.len();
                if let Some(record) = self.last_call(call) {
                    record.scores.clone_from(scores);
                    record.error.clone_from(error);
                }
            }
            EventBody::EvidenceAdded { items } => {
                let known = items.iter();
                let known = known.map(|item| (item.id.clone(), (item.tool, item.score, item.by)));
                self.items.extend(known);
            }
            EventBody::EvidenceGraded { scores, by, .. } if !self.is_rerun => {
                let known = scores.iter().filter_map(|item| self.items.get(&item.id));
                self.gradings.rounds.push(GradedRound {
                    round: self.round,
                    grounds: RuleGrounds::from_items(known.copied(), &self.history, self.round),
                    grades: scores.iter().map(ItemScore::grade).collect(),
                    by: *by,
                    reason: None,
                    lacks_scores: self.lacks_scores,
                });
            }
            EventBody::RouteDecided { from, reason, .. } if *from == NodeName::GradeEvidence => {
                if let Some(last) = self.gradings.rounds.last_mut() {
                    last.reason = Some(*reason);
                }
            }
            _ => {}
        }
    }

    /// A call is made once in a run.
    fn last_call(&mut self, call: &ToolCall) -> Option<&mut ToolRecord> {
        self.history.iter_mut().rfind(|record| record.call == *call)
    }
}
