//! Every setting, read once and checked (R26).
//!
//! Settings come from flags, the environment, and `.env` files: the user's own, and that of the working
//! folder, of which only settings of the screen and of routing count. The result is a plain value that the
//! engine takes apart: no other room knows where a setting came from, and no other part holds the whole.
//! A setting is a row of `table` and a field of `settings`.

mod environment;
mod error;
mod ineffective;
mod own_file;
mod resolve;
mod setting;
mod settings;
mod survey;
mod table;

pub use environment::{Environment, Origin, Overrides, line_of};
pub use error::SettingError;
pub use ineffective::{IneffectiveSetting, ignored, unknown_in_one_line};
pub use own_file::set_in_own_file;
pub use setting::{Setting, Unset, is_theme_name};
pub use settings::{EmbeddingSettings, EndpointConfig, JobConfig, Settings, StoreSettings};
pub use survey::{ListedSetting, Survey, survey};
pub use table::{GROUPS, Group, settings};
