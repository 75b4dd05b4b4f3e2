//! What a recorded run would have done within other limits.
//!
//! Every grading is decided again by the functions that routed it, on what was recorded of it. Up to
//! the first decision that differs both runs are the same; what comes after it was never looked
//! for, asked or graded, so nothing is said of it.

use super::{
    AutoApproveRule, Complexity, GradedBy, GraderAction, NodeName, RouteReason, RouterThresholds,
    RoutingLimits, RuleGrounds, Score, edge, route_after_grade,
};

/// A grading, with all that was recorded of what it was founded on.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedRound {
    /// Gradings made before.
    pub round: u32,
    /// What the rules ask of the evidence that was graded.
    pub grounds: RuleGrounds,
    /// The grades, in the order of the context; `None` of an item that was not looked at.
    pub grades: Vec<Option<Score>>,
    /// Where the grades came from.
    pub by: GradedBy,
    /// Why the next node came next; `None` where that was not recorded.
    pub reason: Option<RouteReason>,
    /// Whether it was not recorded how well each item matched that the searches gave.
    pub lacks_scores: bool,
}

/// A question as it was routed, with the probabilities over which thresholds decide; `None` where something else
/// decided, or where it was not measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoutedQuestion {
    /// The route that it took.
    pub taken: Complexity,
    /// How likely small talk.
    pub chitchat: Option<f64>,
    /// How likely a question that needs several look-ups.
    pub complex: Option<f64>,
}

impl RoutedQuestion {
    /// The route within these thresholds; `None` where what decides was not measured.
    fn route_within(&self, thresholds: &RouterThresholds) -> Option<Complexity> {
        let reaches = |probability: Option<f64>, from: Option<f64>| Some(probability? >= from?);
        if reaches(self.chitchat, thresholds.chitchat) == Some(true) {
            return Some(Complexity::Chitchat);
        }
        match reaches(self.complex, thresholds.complex) {
            Some(true) => Some(Complexity::Complex),
            Some(false) => Some(Complexity::Simple),
            None if self.taken == Complexity::Chitchat && self.chitchat.is_some() => None,
            None => Some(self.taken),
        }
    }
}

/// A decision on the evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The grader or the rule that decided.
    pub by: GradedBy,
    /// The mean of the grades that stay; `None` where nothing was measured or nothing stays.
    pub average: Option<f64>,
    /// What the evidence is good for.
    pub action: GraderAction,
    /// Why the next node comes next.
    pub reason: RouteReason,
    /// Which items stay, in the order of the context.
    pub kept: Vec<bool>,
}

impl Decision {
    /// How many items stay.
    pub fn kept_count(&self) -> usize {
        self.kept.iter().filter(|kept| **kept).count()
    }

    /// The node that comes next.
    pub fn next(&self) -> Option<NodeName> {
        edge(NodeName::GradeEvidence, Some(self.reason)).and_then(|edge| edge.to)
    }
}

/// A decision, as far as it can be known.
#[derive(Debug, Clone, PartialEq)]
pub enum Forecast {
    /// It would be this one.
    Decided(Decision),
    /// It cannot be known.
    Unknown(Unknown),
}

/// Why a decision cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// A rule had approved the evidence, so that the grader was not asked.
    NotGraded,
    /// The log does not hold what the decision needs.
    NotRecorded,
}

/// A grading as it was decided, and as it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Gradings made before.
    pub round: u32,
    /// How many items it spoke of.
    pub items: usize,
    /// The decision that the run took.
    pub taken: Decision,
    /// The decision under the changed limits.
    pub would: Forecast,
}

/// What would be different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing would differ.
    Nothing,
    /// The same way with the same evidence, decided by another rule or without a call.
    Decider,
    /// The same way with the same evidence, for another reason.
    Reason,
    /// The same way so far, with other evidence.
    Evidence,
    /// The run would take another way.
    Route,
    /// It cannot be known.
    Unknown(Unknown),
}

/// What a run would have done.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The route, where it would be another one.
    pub route: Option<Complexity>,
    /// Its gradings, up to the first that makes a difference to what follows.
    pub rounds: Vec<Round>,
    /// What would be different.
    pub change: Change,
}

/// What a run that was routed so, with these gradings, made within the limits `recorded`, would have done
/// within `wanted`.
pub fn what_if(
    routed: Option<RoutedQuestion>,
    gradings: &[GradedRound],
    recorded: &RoutingLimits,
    wanted: &RoutingLimits,
) -> WhatIf {
    let mut rounds = Vec::new();
    let mut change = Change::Nothing;
    if let Some(routed) = routed.filter(|_| recorded.router != wanted.router) {
        let route = routed.route_within(&wanted.router);
        if route != Some(routed.taken) {
            let change = route.map_or(Change::Unknown(Unknown::NotRecorded), |_| Change::Route);
            return WhatIf {
                route,
                rounds,
                change,
            };
        }
    }
    for grading in gradings {
        let taken = recorded_decision(grading, recorded);
        let would = decide(grading, recorded, wanted);
        change = difference(&taken, &would);
        rounds.push(Round {
            round: grading.round,
            items: grading.grades.len(),
            taken,
            would,
        });
        if change != Change::Nothing {
            break;
        }
    }
    WhatIf {
        route: None,
        rounds,
        change,
    }
}

fn difference(taken: &Decision, would: &Forecast) -> Change {
    let would = match would {
        Forecast::Unknown(why) => return Change::Unknown(*why),
        Forecast::Decided(would) => would,
    };
    if would.next() != taken.next() {
        Change::Route
    } else if would.kept != taken.kept {
        Change::Evidence
    } else if would.reason != taken.reason {
        Change::Reason
    } else if would.by != taken.by {
        Change::Decider
    } else {
        Change::Nothing
    }
}

/// The decision as it was recorded.
fn recorded_decision(grading: &GradedRound, limits: &RoutingLimits) -> Decision {
    let decided = match grading.by {
        GradedBy::Rule(_) => approved(grading, grading.by),
        GradedBy::Grader | GradedBy::Fallback | GradedBy::NoEvidence | GradedBy::Hand => {
            graded(grading, limits)
        }
    };
    Decision {
        reason: grading.reason.unwrap_or(decided.reason),
        ..decided
    }
}

/// The decision as it would be, in the order in which a run decides.
fn decide(grading: &GradedRound, recorded: &RoutingLimits, wanted: &RoutingLimits) -> Forecast {
    if grading.grounds.items != grading.grades.len() {
        return Forecast::Unknown(Unknown::NotRecorded);
    }
    let rule = grading.grounds.approving_rule(wanted);
    match rule.map(GradedBy::Rule) {
        Some(by) if grading.lacks_scores && is_guess(by, grading, recorded, wanted) => {
            Forecast::Unknown(Unknown::NotRecorded)
        }
        Some(by) => Forecast::Decided(approved(grading, by)),
        None if matches!(grading.by, GradedBy::Rule(_)) => Forecast::Unknown(Unknown::NotGraded),
        None => Forecast::Decided(graded(grading, wanted)),
    }
}

/// Whether a rule may have approved only because scores that it asks for were not recorded. It
/// did not where it had approved within limits that were no lower.
fn is_guess(
    by: GradedBy,
    grading: &GradedRound,
    recorded: &RoutingLimits,
    wanted: &RoutingLimits,
) -> bool {
    let asks_for_scores = by == GradedBy::Rule(AutoApproveRule::HighVectorScore);
    let was_sure =
        grading.by == by && wanted.vector_score_threshold <= recorded.vector_score_threshold;
    asks_for_scores && !was_sure
}

fn approved(grading: &GradedRound, by: GradedBy) -> Decision {
    Decision {
        by,
        average: None,
        action: GraderAction::Generate,
        reason: RouteReason::Generate,
        kept: vec![true; grading.grades.len()],
    }
}

fn graded(grading: &GradedRound, limits: &RoutingLimits) -> Decision {
    let thresholds = limits.thresholds;
    let average = thresholds.average_of_kept(grading.grades.iter().flatten().copied());
    let action = thresholds.action_for(average);
    Decision {
        by: grading.by,
        average,
        action,
        reason: route_after_grade(action, grading.round.saturating_add(1), limits),
        kept: grading
            .grades
            .iter()
            .map(|grade| grade.is_some_and(|grade| thresholds.keeps(grade)))
            .collect(),
    }
}
