//! The audit log: one append-only file of events, one JSON object a line.
//!
//! One thread owns the file. Events pass *through* it on their way to the screen: an event is
//! written first and forwarded then, so that a process that is killed has lost no line that
//! a user saw. The file is a log for people who were not there: secrets and card numbers are
//! masked before they reach it, and runs that a kill cut short are closed at the next start.

mod error;
mod file;
mod labels;
mod log;
mod lookup;
mod mask;
mod read;
mod recover;
mod session;

pub use error::AuditError;
pub use file::is_part;
pub use labels::Labels;
pub use log::{AuditLog, LogSettings, check_is_log};
pub use lookup::{Lookup, events_of, history};
pub use mask::Mask;
pub use read::ReadError;
pub use recover::InterruptedRun;
pub use session::{Session, SessionNotes};
