//! Every setting, read once and checked (R26).
//!
//! Settings come from flags, the environment, and `.env` files: the user's own, and that of the working
//! folder, which may say all only where the user trusts it. The result is a plain value that the engine takes apart: no other room knows where a setting came
//! from, and no other part holds the whole.

mod address;
mod dotenv;
mod doubt;
mod endpoint;
mod environment;
mod error;
mod folders;
mod listing;
mod llm_variables;
mod restated;
mod settings;
mod shown;
mod trust;
mod unknown;
mod values;
mod variable;
mod variables;

pub use endpoint::{EndpointConfig, JobConfig};
pub use environment::{Environment, Origin};
pub use error::SettingError;
pub use listing::{IneffectiveSetting, ListedSetting, Survey, survey, survey_of};
pub use restated::StartSettings;
pub use settings::{
    DEFAULT_LOG_FILTER, EmbeddingSettings, Overrides, Settings, StoreSettings, is_theme_name,
};
pub use trust::{TrustAnswer, TrustRequest, admit, distrust};
pub use unknown::UnknownSetting;
pub use variable::{Class, Variable};
pub use variables::{GROUPS, variables};
