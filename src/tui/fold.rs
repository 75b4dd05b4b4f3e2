//! What the panes draw: folds over the stream of events.
//!
//! A fold takes one event after the other and knows nothing else, so a recorded run looks as the
//! live one did, and stepping back is folding fewer events.

mod evidence;
mod run;
mod step;
mod trail;

pub use evidence::{EvidenceFold, EvidenceRow, Grade, Standing};
pub use run::RunView;
pub use step::{Finish, NodeState, NodeView, TakenEdge};
pub use trail::{AuditRow, Level};
