//! The panes: each a function of the model to rows of ink.

pub mod audit;
pub mod chat;
pub mod evidence;
pub mod path;
pub mod trace;
pub mod welcome;
