use serde::{Deserialize, Serialize};

use super::{Complexity, GradeThresholds, GraderAction};

/// Why an edge was taken, in the words of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RouteReason {
    /// Purely social.
    #[serde(rename = "chitchat")]
    Chitchat,
    /// One intent.
    #[serde(rename = "simple")]
    Simple,
    /// Several intents, or unknown.
    #[serde(rename = "complex")]
    Complex,
    /// The evidence suffices.
    #[serde(rename = "GENERATE")]
    Generate,
    /// Something is missing.
    #[serde(rename = "REFINE")]
    Refine,
    /// Nothing useful was found.
    #[serde(rename = "RE_RETRIEVE")]
    ReRetrieve,
    /// The largest allowed number of gradings was reached.
    #[serde(rename = "max_iterations")]
    MaxIterations,
    /// The user chose the route.
    #[serde(rename = "forced")]
    Forced,
}

words!(
    RouteReason: Chitchat "chitchat", Simple "simple", Complex "complex",
    Generate "GENERATE", Refine "REFINE", ReRetrieve "RE_RETRIEVE",
    MaxIterations "max_iterations", Forced "forced",
);

impl From<GraderAction> for RouteReason {
    fn from(action: GraderAction) -> Self {
        match action {
            GraderAction::Generate => Self::Generate,
            GraderAction::Refine => Self::Refine,
            GraderAction::ReRetrieve => Self::ReRetrieve,
        }
    }
}

impl From<Complexity> for RouteReason {
    fn from(complexity: Complexity) -> Self {
        match complexity {
            Complexity::Chitchat => Self::Chitchat,
            Complexity::Simple => Self::Simple,
            Complexity::Complex => Self::Complex,
        }
    }
}

/// The settings that decide routes; recorded with every run so that it can be judged again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoutingLimits {
    /// How many gradings a run may make, 1–10.
    pub max_iterations: u32,
    /// The lowest score, 0–1, with which results of `vector_search` need no grading.
    pub vector_score_threshold: f64,
    /// Up to how many items need no grading, 0–100.
    pub auto_approve_max_items: usize,
    /// What grades are held against.
    #[serde(flatten)]
    pub thresholds: GradeThresholds,
    /// What the probabilities of the built-in router are held against.
    #[serde(flatten)]
    pub router: RouterThresholds,
}

/// Lowest probabilities with which the built-in router takes a route; as settings `None` where the language of the
/// question decides, in a run those in effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RouterThresholds {
    /// Small talk, above 0 to 1.
    #[serde(rename = "chitchat_threshold")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chitchat: Option<f64>,
    /// A question that needs several look-ups, above 0 to 1.
    #[serde(rename = "complex_threshold")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complex: Option<f64>,
}

impl Default for RoutingLimits {
    fn default() -> Self {
        Self {
            max_iterations: 3,
            vector_score_threshold: 0.8,
            auto_approve_max_items: 2,
            thresholds: GradeThresholds::default(),
            router: RouterThresholds::default(),
        }
    }
}

/// Chitchat goes straight to the answer, everything else is planned (R7).
pub fn route_after_analyze(complexity: Complexity) -> RouteReason {
    complexity.into()
}

/// Simple skips grading, everything else is graded (R8, R9).
pub fn route_after_tool_exec(complexity: Complexity) -> RouteReason {
    match complexity {
        Complexity::Simple => RouteReason::Simple,
        Complexity::Chitchat | Complexity::Complex => RouteReason::Complex,
    }
}

/// The grader's action, unless the gradings are spent (R21, R22).
///
/// `iteration` counts the gradings made, this one included.
pub fn route_after_grade(
    action: GraderAction,
    iteration: u32,
    limits: &RoutingLimits,
) -> RouteReason {
    match action {
        GraderAction::Generate => RouteReason::Generate,
        _ if iteration >= limits.max_iterations => RouteReason::MaxIterations,
        other => other.into(),
    }
}
