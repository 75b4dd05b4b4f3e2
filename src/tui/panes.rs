//! The panes: each a function of the model to rows of ink.

pub mod audit;
pub mod chat;
pub mod compare;
pub mod detail;
pub mod evidence;
pub mod node;
pub mod path;
pub mod rerun;
pub mod run_history;
pub mod turn_rows;
pub mod welcome;
pub mod what_if;
pub mod wording;
