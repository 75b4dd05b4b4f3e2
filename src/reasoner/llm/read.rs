//! What a model wrote, read with good will and without guessing.
//!
//! Models fence their JSON, wrap it in prose, think aloud before it and spell fields their own
//! way; all of that is read. What is still not there is said, one caveat each, and never made up.

mod analysis;
mod grades;
mod json;
mod lists;
mod planned_calls;
mod small_talk;

pub use analysis::analysis;
pub use grades::{grades, rescale};
pub use json::judgement;
pub use planned_calls::plan;
pub use small_talk::check_small_talk;
