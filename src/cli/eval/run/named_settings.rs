use std::path::Path;

use crate::cli::output::{CommandFailure, print_notice};
use crate::config::{Environment, Origin, Overrides, SettingError, Settings, line_of, survey};

/// Settings under a name.
#[derive(Debug, Clone)]
pub(super) struct NamedSettings {
    /// The file, or `current`.
    pub(super) name: String,
    pub(super) settings: Settings,
}

impl NamedSettings {
    /// Settings that no file of `--settings` says.
    pub(super) fn current(settings: &Settings) -> Self {
        Self {
            name: "current".to_owned(),
            settings: settings.clone(),
        }
    }

    /// Reads these files, each as `--env-file` is read, and refuses names that are no setting.
    pub(super) fn read(file: &Path, overrides: &Overrides) -> Result<Self, CommandFailure> {
        let environment = Environment::read(Some(file));
        let wrong = |name: &str, why: &dyn std::fmt::Display| {
            let line = line_of(file, name)?;
            let file = file.display();
            Some(CommandFailure::usage(format!("{file}:{line}: {why}")))
        };
        let found = survey(&environment, overrides);
        let mut unknown = found.unknown.iter();
        if let Some(failure) = unknown.find_map(|one| wrong(&one.name, &one.line)) {
            return Err(failure);
        }
        let in_file = |error: SettingError| {
            let known = error.variable().and_then(|name| wrong(name, &error));
            known.unwrap_or_else(|| error.into())
        };
        for listed in &found.listed {
            if listed.origin == Origin::Environment && line_of(file, listed.name).is_some() {
                let (name, file) = (listed.name, file.display());
                print_notice(&format!(
                    "{file}: {name} is set in the environment, which wins"
                ));
            }
        }
        Ok(Self {
            name: file.display().to_string(),
            settings: Settings::resolve(&environment, overrides.clone()).map_err(in_file)?,
        })
    }

    /// The same over a log apart from that of the person's own conversations.
    pub(super) fn with_log_apart(&self) -> Settings {
        Settings {
            audit_log: self.settings.data_dir.join("eval").join("audit.jsonl"),
            eval_settings: Some(self.name.clone()),
            ..self.settings.clone()
        }
    }
}
