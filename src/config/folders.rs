//! The folders that the platform has for data and configuration.

use std::path::{Path, PathBuf};

use etcetera::AppStrategy;

use super::error::SettingError;

pub(super) fn platform_data_dir() -> Result<PathBuf, SettingError> {
    let path = platform().map(|strategy| strategy.data_dir());
    path.filter(|path| path != Path::new(""))
        .ok_or(SettingError::NoHome)
}

/// The platform's folder for settings. `None` without a home folder, which is no error: the
/// built-in values hold.
pub(super) fn platform_config_dir() -> Option<PathBuf> {
    let path = platform().map(|strategy| strategy.config_dir());
    path.filter(|path| path != Path::new(""))
}

fn platform() -> Option<impl AppStrategy> {
    etcetera::choose_app_strategy(etcetera::AppStrategyArgs {
        top_level_domain: String::new(),
        author: String::new(),
        app_name: "kb-agent".to_owned(),
    })
    .ok()
}
