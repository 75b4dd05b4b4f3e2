//! The words and inks of routes, reasons, ends and tools: the same in every pane.

use crate::domain::{Complexity, ConfidenceLevel, RouteReason, ToolName};
use crate::text::duration;
use crate::tui::fold::NodeState;
use crate::tui::ink::{Ink, Row};

/// The ink of a route.
pub fn route_ink(complexity: Complexity) -> Ink {
    match complexity {
        Complexity::Chitchat => Ink::Chitchat,
        Complexity::Simple => Ink::Simple,
        Complexity::Complex => Ink::Complex,
    }
}

/// The ink of a reason.
pub fn reason_ink(reason: Option<RouteReason>) -> Ink {
    match reason {
        Some(RouteReason::Chitchat) => Ink::Chitchat,
        Some(RouteReason::Simple) => Ink::Simple,
        Some(RouteReason::Complex) => Ink::Complex,
        Some(RouteReason::Generate) => Ink::Strong,
        Some(RouteReason::Refine | RouteReason::ReRetrieve | RouteReason::MaxIterations) => {
            Ink::Weak
        }
        Some(RouteReason::Forced) | None => Ink::Text,
    }
}

/// How sure an answer is: a sign and a word.
pub fn certainty(level: ConfidenceLevel) -> Row {
    let (ink, sign) = match level {
        ConfidenceLevel::Sure => (Ink::Strong, "✓"),
        ConfidenceLevel::Likely => (Ink::Weak, "≈"),
        ConfidenceLevel::Unsure => (Ink::Warning, "?"),
    };
    Row::new(ink, format!("{sign} {}", level.advice()))
}

/// How a visit ended that did not come to its end.
pub fn broken_off(state: NodeState, ms: f64) -> String {
    let how = match state {
        NodeState::Failed => "failed",
        _ => "stopped",
    };
    format!("{how} after {}", duration(ms))
}

/// The tool in at most six letters.
pub fn short_tool(tool: ToolName) -> &'static str {
    tool.descriptor().label
}

/// One frame of the sign of something at work.
pub fn spinner(frame: usize) -> &'static str {
    ["◐", "◓", "◑", "◒"][frame % 4]
}
