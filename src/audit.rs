//! The audit log: one append-only file of events, one JSON object a line.
//!
//! One thread owns the file. Events pass *through* it on their way to the screen: an event is
//! written first and forwarded then, so that a process that is killed has lost no line that
//! a user saw. The file is a log for people who were not there: secrets and card numbers are
//! masked before they reach it, and runs that a kill cut short are closed at the next start. Each
//! line carries the hash of the line before, so that a line that was changed, removed or added
//! later is found.

mod chain;
mod file;
mod findings;
mod lines;
mod link;
mod log;
mod log_parts;
mod log_reader;
mod lookup;
mod mask;
mod notes;
mod recorded_runs;
mod recover;
mod rotate;
mod session;
mod tail;
mod verify;

pub use findings::{Break, How, LogVerification, UnwitnessedEnd};
pub use log::{AuditError, AuditLog};
pub use log_parts::is_part;
pub use log_reader::ReadError;
pub use lookup::{Lookup, events_of_run};
pub use mask::Mask;
pub use notes::SessionNotes;
pub use recorded_runs::history;
pub use recover::InterruptedRun;
pub use rotate::Destination;
pub use session::Session;
pub use verify::{look_at, verify};
