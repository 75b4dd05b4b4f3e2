//! Every setting, read once and checked (R26).
//!
//! Settings come from the environment and a `.env` file; a real environment variable wins. The
//! result is a plain value that the engine takes apart: no other room knows where a setting came
//! from, and nobody holds the whole.

mod environment;
mod settings;

pub use environment::Environment;
pub use settings::{
    DEFAULT_LOG_FILTER, EmbeddingSettings, EndpointSettings, Overrides, SettingError, Settings,
    VARIABLES, Variable,
};
