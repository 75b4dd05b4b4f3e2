use std::path::PathBuf;

use super::variables::{AUDIT_LOG, CONFIG_DIR, DATA_DIR, INCLUDE, SOURCE};
use super::{Environment, Overrides};

/// What has to be said again so that another start in the same folder comes to the same knowledge
/// base and the same audit log.
///
/// That is what the command line says, and what the process's environment says, which may have
/// been there for one command only. A `.env` file is found again by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartSettings {
    /// Variables that no option stands for.
    pub variables: Vec<(&'static str, String)>,
    /// `--kb`.
    pub sources: Vec<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
}

impl StartSettings {
    /// Collects what the command line and the environment of this start set.
    pub fn from_start(environment: &Environment, overrides: &Overrides) -> Self {
        let said = |name: &str| environment.of_process(name);
        let without_option = [CONFIG_DIR, AUDIT_LOG, INCLUDE].into_iter();
        let variables = without_option.filter_map(|variable| {
            let value = said(variable.name)?.to_owned();
            Some((variable.name, value))
        });
        let sources = match overrides.sources.as_slice() {
            [] => said(SOURCE.name)
                .map(|paths| std::env::split_paths(paths).collect())
                .unwrap_or_default(),
            given => given.to_vec(),
        };
        Self {
            variables: variables.collect(),
            sources,
            data_dir: overrides
                .data_dir
                .clone()
                .or_else(|| said(DATA_DIR.name).map(PathBuf::from)),
        }
    }

    /// The same over the bundled demo, whatever sources are set.
    #[must_use]
    pub fn over_demo(mut self, environment: &Environment) -> Self {
        self.sources.clear();
        if environment.get(SOURCE.name).is_some() {
            self.variables.push((SOURCE.name, String::new()));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_is_found_again_and_all_else_is_restated() {
        let process = [
            ("KB_AGENT_SOURCE", "a:b c"),
            ("KB_AGENT_AUDIT_LOG", "log"),
            ("KB_AGENT_LLM_API_KEY", "sk-secret"),
            ("KB_AGENT_DATA_DIR", " "),
        ];
        let environment =
            Environment::from_pairs(process).with_folder(".env", [("KB_AGENT_INCLUDE", "*.env")]);
        let restated = StartSettings::from_start(&environment, &Overrides::default());
        let expected = StartSettings {
            variables: vec![("KB_AGENT_AUDIT_LOG", "log".to_owned())],
            sources: vec![PathBuf::from("a"), PathBuf::from("b c")],
            data_dir: None,
        };
        assert_eq!(restated, expected);
        let given = Overrides {
            sources: vec![PathBuf::from("x")],
            data_dir: Some(PathBuf::from("d")),
            ..Overrides::default()
        };
        let restated = StartSettings::from_start(&environment, &given);
        assert_eq!(restated.sources, given.sources);
        assert_eq!(restated.data_dir, given.data_dir);
        let demo = restated.over_demo(&environment);
        assert_eq!(demo.sources, Vec::<PathBuf>::new());
        assert_eq!(demo.variables[1], ("KB_AGENT_SOURCE", String::new()));
    }
}
