//! Walks the graph: one run, five nodes, every step an event.
//!
//! The agent knows neither network nor disk nor screen. Its world is the traits in [`ports`]; its
//! law is [`crate::domain`]; its voice is the stream of [`crate::protocol::Event`]s. A run is one
//! future that owns its state, so that cancelling is dropping: every await on a port goes through
//! one guard that races the run's token, and whatever happens the last event is `run_finished`.

mod citation_marks;
mod citations;
mod context;
mod current_reasoner;
mod dialogue;
mod events;
mod nodes;
pub mod ports;
mod renumbering;
mod rerun;
mod run;
mod state;
mod support;
mod worker;

pub use citations::without_marks;
pub use current_reasoner::CurrentReasoner;
pub use dialogue::{CurrentDialogue, Dialogue};
pub use run::{Agent, RunRequest};
pub use state::AgentState;
pub use worker::{ScopedCommand, Worker};
