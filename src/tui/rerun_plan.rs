//! What of a run's state is to be changed before another one begins with it.

use std::sync::Arc;

use crate::domain::{
    GradedBy, GraderAction, NodeName, RouteReason, RoutingLimits, Score, route_after_grade,
};
use crate::protocol::{
    Event, EvidenceItem, GradeByHand, QuestionPlace, RecordedState, Rerun, RerunRequest,
};

use super::fold::Exchange;

/// How far a key moves a grade, in hundredths.
pub const STEP: i32 = 5;

/// Where a grade begins that was not given, in hundredths.
const MIDDLE: i32 = 50;

/// A run that is to begin at a node, and the changes so far.
#[derive(Debug, Clone, PartialEq)]
pub struct RerunPlan {
    request: RerunRequest,
    /// The state as it was.
    pub recorded: RecordedState,
    /// The passages: those of the context first.
    pub passages: Vec<PlannedPassage>,
    /// What the model is told besides.
    pub instruction: String,
    /// Whether that is being typed.
    pub is_typing: bool,
    limits: RoutingLimits,
}

/// A passage, and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPassage {
    /// The passage as it was recorded.
    pub item: EvidenceItem,
    /// Its grade as it was recorded.
    pub grade: Option<Score>,
    /// Whether that grade was measured; one that a run falls back to was not.
    pub is_measured: bool,
    /// Whether it was in the context.
    pub was_kept: bool,
    /// Whether it will be.
    pub is_kept: bool,
    /// The grade that was set by hand.
    pub set: Option<Score>,
}

impl RerunPlan {
    /// Nothing is changed so far; `None` where the run has no state at that node that could be taken over.
    pub fn new(
        exchange: &Exchange,
        limits: RoutingLimits,
        events: Vec<Arc<Event>>,
        from: NodeName,
    ) -> Option<Self> {
        let recorded = RecordedState::at_node(&events, from)?;
        let passage = |item: &EvidenceItem, is_kept| {
            let known = recorded.grades.get(&item.id);
            PlannedPassage {
                item: item.clone(),
                grade: known.map(|known| known.grade),
                is_measured: known.is_some_and(|known| known.by != GradedBy::Fallback),
                was_kept: is_kept,
                is_kept,
                set: None,
            }
        };
        let kept = recorded.context.iter().map(|item| passage(item, true));
        let dropped = recorded.discarded.iter().map(|item| passage(item, false));
        let passages = kept.chain(dropped).collect();
        let request = RerunRequest {
            rerun: Rerun::unchanged(exchange.id.clone(), from),
            query: exchange.query.clone(),
            route: exchange.forced,
            place: QuestionPlace::retry_of(exchange.first_run().clone()),
            events,
        };
        Some(Self {
            request,
            recorded,
            passages,
            instruction: String::new(),
            is_typing: false,
            limits,
        })
    }

    /// The node at which it begins.
    pub fn from(&self) -> NodeName {
        self.request.rerun.from
    }

    /// Whether grades decide anything from there on.
    pub fn goes_by_grades(&self) -> bool {
        self.from() == NodeName::GradeEvidence
    }

    /// Drops a passage, or restores it.
    pub fn toggle(&mut self, at: usize) {
        if let Some(passage) = self.passages.get_mut(at) {
            passage.is_kept = !passage.is_kept;
        }
    }

    /// Moves a grade by so many hundredths.
    pub fn move_grade(&mut self, at: usize, by: i32) {
        if let Some(passage) = self.passages.get_mut(at) {
            let now = passage.set.or(passage.grade);
            let now = now.map_or(MIDDLE, |grade| (grade.value() * 100.0).round() as i32);
            let moved = (now + by).clamp(0, 100);
            passage.set = Some(Score::clamped(f64::from(moved) / 100.0));
        }
    }

    /// Takes back all changes.
    pub fn reset(&mut self) {
        for passage in &mut self.passages {
            (passage.is_kept, passage.set) = (passage.was_kept, None);
        }
        self.instruction.clear();
    }

    /// Where it begins, and what is changed.
    pub fn rerun(&self) -> Rerun {
        let ids = |is_wanted: fn(&PlannedPassage) -> bool| {
            let passages = self.passages.iter().filter(|passage| is_wanted(passage));
            passages.map(|passage| passage.item.id.clone()).collect()
        };
        let set = self.passages.iter().filter_map(|passage| {
            let (id, grade) = (passage.item.id.clone(), passage.set?);
            Some(GradeByHand { id, grade })
        });
        Rerun {
            dropped: ids(|passage| passage.was_kept && !passage.is_kept),
            restored: ids(|passage| !passage.was_kept && passage.is_kept),
            graded: set.collect(),
            instruction: Some(self.instruction.trim().to_owned()).filter(|text| !text.is_empty()),
            ..self.request.rerun.clone()
        }
    }

    /// What the engine is asked for.
    pub fn request(&self) -> RerunRequest {
        RerunRequest {
            rerun: self.rerun(),
            ..self.request.clone()
        }
    }

    /// What the grades come to by the same law as in a run, where they were set by hand: the average of
    /// what they keep, and where it goes from there.
    pub fn verdict(&self) -> Option<(Option<f64>, RouteReason)> {
        let is_set = self.passages.iter().any(|passage| passage.set.is_some());
        if !self.goes_by_grades() || !is_set {
            return None;
        }
        let kept = self.passages.iter().filter(|passage| passage.is_kept);
        let grades = kept.filter_map(|passage| passage.set.or(passage.grade));
        let thresholds = self.limits.thresholds;
        let average = thresholds.average_of_kept(grades);
        let action: GraderAction = thresholds.action_for(average);
        let gradings = self.recorded.iteration.saturating_add(1);
        Some((average, route_after_grade(action, gradings, &self.limits)))
    }
}
