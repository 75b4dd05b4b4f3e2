//! What the panes draw: folds over the stream of events.
//!
//! A fold takes one event after the other and knows nothing else, so a recorded run looks as the
//! live one did, and stepping back is folding fewer events.

mod evidence;
mod exchange;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod run;
mod step;
mod timeline;
mod trail;

pub use evidence::{ContextState, EvidenceFold, EvidenceRow, Grade};
pub use exchange::Exchange;
pub use run::RunView;
pub use step::{
    Grading, NodeState, NodeView, PendingCall, RunResult, TakenEdge, ToolUse, Visit, why,
};
pub use timeline::{AuditLine, AuditTrail, group_summary};
pub use trail::{AuditRow, Level};
