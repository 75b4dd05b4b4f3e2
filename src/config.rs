//! Every setting, read once and checked (R26).
//!
//! Settings come from the environment and a `.env` file; a real environment variable wins. The
//! result is a plain value that the engine takes apart: no other room knows where a setting came
//! from, and nobody holds the whole.

mod address;
mod endpoint;
mod environment;
mod listing;
mod settings;
mod unknown;

pub use endpoint::{EndpointSettings, JobSettings};
pub use environment::{Environment, Origin};
pub use listing::{Idle, Listed, Survey, survey, survey_of};
pub use settings::{
    DEFAULT_LOG_FILTER, EmbeddingSettings, Overrides, SettingError, Settings, Variable, variables,
};
pub use unknown::Unknown;
