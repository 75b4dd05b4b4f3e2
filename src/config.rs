//! Every setting, read once and checked (R26).
//!
//! Settings come from flags, the environment, and `.env` files: the user's own, and that of the working
//! folder, of which only settings of the screen and of routing count. The result is a plain value that the
//! engine takes apart: no other room knows where a setting came from, and no other part holds the whole.

mod check;
mod environment;
mod error;
mod ineffective;
mod listing;
mod own_file;
mod settings;
mod shown;
mod variables;

pub use check::is_theme_name;
pub use environment::{Environment, Origin, Overrides, line_of};
pub use error::SettingError;
pub use ineffective::{IneffectiveSetting, ignored};
pub use listing::{ListedSetting, Survey, survey};
pub use own_file::set_in_own_file;
pub use settings::{
    EmbeddingSettings, EndpointConfig, JobConfig, Settings, StartSettings, StoreSettings,
};
pub use variables::{GROUPS, Group, Variable, variables};
