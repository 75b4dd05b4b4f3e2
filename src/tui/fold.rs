//! What the panes draw: folds over the stream of events.
//!
//! A fold takes one event after the other and knows nothing else, so a recorded run looks as the
//! live one did, and stepping back is folding fewer events.

mod evidence;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod run;
mod trail;

pub use evidence::{ContextState, EvidenceFold, EvidenceRow, Grade};
pub use run::{
    Exchange, Grading, NodeState, NodeView, PendingCall, RunResult, RunView, TakenEdge, ToolUse,
    Visit, outcome_word, why,
};
pub use trail::{AuditLine, AuditRow, Level, audit_lines, group_summary};
