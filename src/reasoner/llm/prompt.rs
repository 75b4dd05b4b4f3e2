//! From a job to the messages that are sent.
//!
//! The words are data, in `assets/prompts/`; here is only what is put into them. The system
//! message is the same for every call of a job, so that servers can keep it in their cache, and
//! everything that varies comes after it. Whatever users and documents wrote is fenced.

mod analyze;
mod fence;
mod grade;
mod plan;
mod synthesize;
mod template;

pub use analyze::analyze;
pub use grade::grade;
pub use plan::plan;
pub use synthesize::{chitchat, synthesize};
