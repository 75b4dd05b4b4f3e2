//! Every setting, read once and checked (R26).
//!
//! Settings come from flags, the environment, and `.env` files: the user's own, and that of the working
//! folder, of which only settings of the screen and of routing count. The result is a plain value that the
//! engine takes apart: no other room knows where a setting came from, and no other part holds the whole.

mod environment;
mod error;
mod listing;
mod own_file;
mod settings;
mod shown;
mod variables;

pub use environment::{Environment, Origin, Overrides, line_of};
pub use error::SettingError;
pub use listing::{IneffectiveSetting, ListedSetting, Survey, ignored, survey};
pub use own_file::set_in_own_file;
pub use settings::{
    DEFAULT_LOG_FILTER, EmbeddingSettings, EndpointConfig, JobConfig, Settings, StartSettings,
    StoreSettings, UnknownSetting, is_theme_name,
};
pub use variables::{GROUPS, Variable, variables};
