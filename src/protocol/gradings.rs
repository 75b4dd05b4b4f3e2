//! The decisions of a recorded run, with all that they were founded on.

use super::{Event, EventBody, ItemScore, RecordedState};
use crate::domain::{
    Complexity, GradedRound, NodeName, RoutedQuestion, RoutingLimits, RuleGrounds, WhatIf,
    measure_of, what_if,
};

/// The gradings of one run, as its events tell them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedGradings {
    /// The limits that it kept to.
    pub limits: RoutingLimits,
    /// How its question was routed at first.
    pub routed: Option<RoutedQuestion>,
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
        what_if(self.routed, &self.rounds, &self.limits, wanted)
    }
}

#[derive(Default)]
struct GradingsReader {
    gradings: RecordedGradings,
    state: RecordedState,
    lacks_scores: bool,
    /// It begins at a node: what the rules ask for is in the log of another run.
    is_rerun: bool,
}

impl GradingsReader {
    fn take(&mut self, body: &EventBody) {
        self.state.take(body);
        match body {
            EventBody::RunStarted {
                settings, rerun, ..
            } => {
                self.gradings.limits = **settings;
                self.is_rerun = rerun.is_some();
            }
            EventBody::RoutingPlan { plan, because, .. } => {
                let probability = |route| measure_of(because, route).map(|(measured, _)| measured);
                self.gradings.routed.get_or_insert(RoutedQuestion {
                    taken: plan.complexity,
                    chitchat: probability(Complexity::Chitchat),
                    complex: probability(Complexity::Complex),
                });
            }
            EventBody::ToolFinished { items, scores, .. } => {
                self.lacks_scores |= *items != scores.len();
            }
            EventBody::EvidenceGraded { scores, by, .. } if !self.is_rerun => {
                let state = &self.state;
                let item = |graded: &ItemScore| state.items().find(|item| item.id == graded.id);
                let items = scores.iter().filter_map(item);
                let items = items.map(|item| (item.tool, item.score, item.by));
                let round = state.iteration;
                self.gradings.rounds.push(GradedRound {
                    round,
                    grounds: RuleGrounds::from_items(items, &state.tool_history, round),
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
}
