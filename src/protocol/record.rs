use serde::Serialize;

use super::{Event, EventBody, EvidenceItem, ItemScore, NumberedItem, RunLabels, RunSummary};
use crate::domain::{
    Citation, Complexity, Confidence, Cue, EvidenceId, GradedBy, GraderAction, KEEP_FROM, NodeName,
    PathType, RouteReason, RoutingLimits, RoutingPlan, Score, SearchedBase, ToolCall,
};

/// One run as its events tell it: a fold over them that keeps what a reader wants to know later.
///
/// Its serde form is a run of `export --format json`. Texts are as recorded, not made safe to show.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunRecord {
    /// Beginning and end.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The settings that routed.
    pub settings: Option<RoutingLimits>,
    /// The knowledge base that was searched; older logs lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<SearchedBase>,
    /// Every visit of a node, in order.
    pub path: Vec<Step>,
    /// Folders and documents that the question names to be kept within.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// The filters of the question, as they are written in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// Every item that was found, in the order in which it was found.
    pub evidence: Vec<EvidenceRecord>,
    /// The answer, where there is one.
    pub answer: Option<String>,
    /// How likely it is right, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// What its marks stand for.
    pub citations: Vec<Citation>,
    /// What was not as it should be.
    pub warnings: Vec<WarningRecord>,
    /// What people said of it, which no event tells.
    #[serde(skip_serializing_if = "RunLabels::is_empty")]
    pub labels: RunLabels,
}

/// One visit of a node, and what it came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Step {
    /// Which node.
    pub node: NodeName,
    /// Gradings made before.
    pub iteration: u32,
    /// How long it took, milliseconds; `None` where it did not end.
    pub ms: Option<f64>,
    /// Reasoning calls it made; `None` where it did not end.
    pub calls: Option<u32>,
    /// Tokens sent, where they were counted.
    pub prompt_tokens: Option<u64>,
    /// Tokens received, where they were counted.
    pub completion_tokens: Option<u64>,
    /// What the analysis came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<RoutingPlan>,
    /// What decided the route, where the engine could tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Cue>,
    /// Why a model took the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the built-in router would have decided, where a model did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_in: Option<Complexity>,
    /// What it went by there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub built_in_because: Vec<Cue>,
    /// Tool calls that ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRun>,
    /// The short cut that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_path: Option<FastPath>,
    /// The verdict on the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Where the run went next, where that was decided, and why.
    pub route: Option<Route>,
}

/// A tool call that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolRun {
    /// Which, with what.
    #[serde(flatten)]
    pub call: ToolCall,
    /// How many items it found.
    pub items: usize,
    /// How well each of them matched.
    #[serde(skip)]
    pub scores: Vec<Score>,
    /// How long it took, milliseconds.
    pub ms: f64,
    /// Why it failed.
    pub error: Option<String>,
}

/// A short cut.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FastPath {
    /// Which kind.
    pub path_type: PathType,
    /// Name of the rule that approved the evidence.
    pub rule_name: String,
}

/// The verdict on the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// How many items it spoke of.
    pub items: usize,
    /// How many of them it did not look at.
    pub not_looked_at: usize,
    /// The mean over what remained; `None` where nothing did.
    pub average: Option<f64>,
    /// What followed.
    pub action: GraderAction,
    /// Who said so.
    pub by: GradedBy,
}

/// A decision between edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Route {
    /// The node that came next.
    pub to: NodeName,
    /// Why.
    pub reason: RouteReason,
}

/// An item, where its numbers came from, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceRecord {
    /// Its number in prompt and answer; `None` where it was not sent.
    pub n: Option<usize>,
    /// The item; its `score` is how well it matched, by the measure of its `tool`.
    #[serde(flatten)]
    pub item: EvidenceItem,
    /// Its grade; `None` where it was not graded.
    pub grade: Option<Score>,
    /// Where the grade came from; of an item without one, who did not look at it.
    pub graded_by: Option<GradedBy>,
    /// Whether it is in the context.
    pub standing: EvidenceStanding,
    /// The item that holds it, where it is within another.
    pub held_by: Option<EvidenceId>,
    /// Whether the answer refers to it.
    pub cited: bool,
}

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStanding {
    /// It is in the context.
    Kept,
    /// It was graded too low.
    Dropped,
    /// It was, and came back because nothing better was left.
    Low,
    /// Another item grew over it, and counts for both.
    Within,
}

/// Something that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WarningRecord {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
}

impl RunRecord {
    /// The run that this event begins; `None` when it begins none.
    pub fn begin(event: &Event) -> Option<Self> {
        let summary = RunSummary::begin(event)?;
        let EventBody::RunStarted {
            settings,
            base,
            within,
            filters,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            summary,
            settings: Some(**settings),
            base: base.clone(),
            within: within.clone(),
            filters: filters.clone(),
            ..Self::default()
        })
    }

    /// Takes the next event of this run.
    pub fn apply(&mut self, event: &Event) {
        self.summary.apply(event);
        match &event.body {
            EventBody::NodeEntered { node, iteration } => self.path.push(Step {
                node: *node,
                iteration: *iteration,
                ..Step::default()
            }),
            EventBody::EvidenceAdded { items } => items.iter().for_each(|item| self.add(item)),
            EventBody::EvidenceRemoved { id, .. } => {
                if let Some(known) = self.item_mut(id) {
                    known.standing = EvidenceStanding::Dropped;
                }
            }
            EventBody::EvidenceNumbered { items } => self.number(items),
            EventBody::AnswerFinished {
                text,
                citations,
                confidence,
                ..
            } => {
                self.answer = Some(text.clone());
                self.confidence = *confidence;
                self.cite(citations);
            }
            EventBody::Warning { code, message } => self.warnings.push(WarningRecord {
                code: code.clone(),
                message: message.clone(),
            }),
            body => {
                if let EventBody::EvidenceGraded { scores, by, .. } = body {
                    self.grade(scores, *by);
                }
                if let Some(step) = self.path.last_mut() {
                    step.apply(body);
                }
            }
        }
    }

    fn item_mut(&mut self, id: &EvidenceId) -> Option<&mut EvidenceRecord> {
        self.evidence.iter_mut().find(|known| known.item.id == *id)
    }

    fn add(&mut self, item: &EvidenceItem) {
        // An item that has grown over others holds them from now on (R14).
        for other in &mut self.evidence {
            let is_in_context = matches!(
                other.standing,
                EvidenceStanding::Kept | EvidenceStanding::Low
            );
            if is_in_context && item.takes_in(&other.item) {
                other.standing = EvidenceStanding::Within;
                other.held_by = Some(item.id.clone());
            }
        }
        let standing = if item.low {
            EvidenceStanding::Low
        } else {
            EvidenceStanding::Kept
        };
        let Some(known) = self.item_mut(&item.id) else {
            self.evidence.push(EvidenceRecord::new(item, standing));
            return;
        };
        // A grade speaks of the text that was graded; a grown passage has none yet.
        let (grade, graded_by) = if known.item.lines == item.lines {
            (known.grade, known.graded_by)
        } else {
            (None, None)
        };
        *known = EvidenceRecord {
            grade,
            graded_by,
            ..EvidenceRecord::new(item, standing)
        };
    }

    fn grade(&mut self, scores: &[ItemScore], by: GradedBy) {
        for graded in scores {
            if let Some(known) = self.item_mut(&graded.id) {
                known.grade = graded.grade();
                known.graded_by = Some(by);
            }
        }
    }

    fn number(&mut self, items: &[NumberedItem]) {
        for numbered in items {
            if let Some(known) = self.item_mut(&numbered.id) {
                known.n = Some(numbered.n);
            }
        }
    }

    fn cite(&mut self, citations: &[Citation]) {
        self.citations = citations.to_vec();
        for citation in citations {
            if let Some(known) = self.item_mut(&citation.id) {
                known.cited = true;
                // Older logs do not tell of numbers elsewhere.
                known.n.get_or_insert(citation.n);
            }
        }
    }
}

impl EvidenceRecord {
    fn new(item: &EvidenceItem, standing: EvidenceStanding) -> Self {
        Self {
            n: None,
            item: item.clone(),
            grade: item.known_grade.map(|known| known.grade),
            graded_by: item.known_grade.map(|known| known.by),
            standing,
            held_by: None,
            cited: false,
        }
    }
}

impl Step {
    fn apply(&mut self, body: &EventBody) {
        match body {
            EventBody::NodeFinished {
                ms,
                reasoning_calls,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                self.ms = Some(*ms);
                self.calls = Some(*reasoning_calls);
                self.prompt_tokens = *prompt_tokens;
                self.completion_tokens = *completion_tokens;
            }
            EventBody::RouteDecided { to, reason, .. } => {
                self.route = Some(Route {
                    to: *to,
                    reason: *reason,
                });
            }
            EventBody::RoutingPlan {
                plan,
                because,
                reason,
                built_in,
                built_in_because,
            } => {
                self.plan = Some(plan.clone());
                self.because.clone_from(because);
                self.reason.clone_from(reason);
                self.built_in = *built_in;
                self.built_in_because.clone_from(built_in_because);
            }
            EventBody::ToolFinished {
                call,
                items,
                scores,
                ms,
                error,
                ..
            } => self.tools.push(ToolRun {
                call: call.clone(),
                items: *items,
                scores: scores.clone(),
                ms: *ms,
                error: error.clone(),
            }),
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => {
                self.fast_path = Some(FastPath {
                    path_type: *path_type,
                    rule_name: rule_name.clone(),
                });
            }
            EventBody::EvidenceGraded {
                scores,
                average,
                action,
                by,
            } => {
                let remains = scores.iter().any(|item| item.score.value() >= KEEP_FROM);
                self.verdict = Some(Verdict {
                    items: scores.len(),
                    not_looked_at: scores.iter().filter(|item| item.not_looked_at).count(),
                    average: remains.then_some(*average),
                    action: *action,
                    by: *by,
                });
            }
            _ => {}
        }
    }
}
