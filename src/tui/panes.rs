//! The panes: each a function of the model to rows of ink.

pub mod asked;
pub mod audit;
pub mod chat;
pub mod citations;
pub mod compare;
pub mod detail;
pub mod evidence;
pub mod fences;
pub mod foot;
pub mod found;
pub mod graph;
pub mod gutter;
pub mod node;
pub mod page;
pub mod path;
pub mod savings;
pub mod score;
pub mod source;
pub mod statistics;
pub mod trace;
pub mod turn_rows;
pub mod waiting;
pub mod waterfall;
pub mod welcome;
pub mod what_if;
pub mod why;
