//! The five nodes. Each takes the run, changes its state, says what happened and returns the
//! reason for the edge to take, or `None` where only one leads on.

mod analyze_and_route;
mod grade_evidence;
mod plan;
mod synthesize;
mod tool_exec;

pub(super) use analyze_and_route::analyze_and_route;
pub(super) use grade_evidence::grade_evidence;
pub(super) use plan::plan;
pub(super) use synthesize::synthesize;
pub(super) use tool_exec::tool_exec;
