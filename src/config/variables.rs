//! All settings: the table of `assets/settings.toml`, and the names that the code asks for more than once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A setting. Help, `doctor`, `.env.example`, the reference page and the check of its value are made from it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variable {
    /// The environment variable.
    pub name: String,
    /// What its values are checked by.
    pub(super) takes: Kind,
    /// What values it takes, to be read after "must be".
    pub allowed: String,
    /// Whether `.env` of the working folder may set it: settings of the screen and of routing.
    pub folder: bool,
    /// Its value while it is not set, as it could be set; `None` where there is none.
    pub default: Option<String>,
    /// What it means that it is not set, where it has no default.
    pub unset: Option<String>,
    /// The settings of which one must be made for this one to have an effect; a secret goes to that address.
    pub(super) needs: Vec<String>,
    /// What it does, in sentences.
    pub help: String,
}

impl Variable {
    /// What holds while it is not set.
    pub fn while_unset(&self) -> &str {
        let said = self.default.as_deref().or(self.unset.as_deref());
        said.unwrap_or("not set")
    }
}

/// What a value is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    #[default]
    Text,
    /// A text whose spaces at its ends count.
    SpacedText,
    /// A whole number from the first to the second.
    Whole([u64; 2]),
    /// A number from the first to the second.
    Number([f64; 2]),
    OneOf(Vec<String>),
    /// An http or https address.
    Address,
    /// The address of a store, which may hold a password.
    Store,
    /// A value that nobody may see.
    Secret,
    /// The name of a theme.
    Theme,
    /// A filter of diagnostics.
    Filter,
    /// Patterns of files, separated as in `PATH`.
    Patterns,
    /// The languages of text that is recognised, or whether any is.
    OcrLanguages,
    /// A model that writes answers, which the built-in engine does not beside one.
    AnsweringModel,
}

impl Kind {
    /// What it takes, in words; `said` is what the table says of it.
    fn words(&self, said: &str) -> String {
        let what = |usual| if said.is_empty() { usual } else { said };
        match self {
            Self::Whole([least, most]) => {
                format!("{} from {least} to {most}", what("a whole number"))
            }
            Self::Number([least, most]) => format!("{} from {least} to {most}", what("a number")),
            Self::OneOf(words) => match words.split_last() {
                Some((last, others)) => format!("{} or {last}", others.join(", ")),
                None => said.to_owned(),
            },
            Self::Address => "an http or https address".to_owned(),
            Self::Secret => "printable ASCII without spaces".to_owned(),
            _ => said.to_owned(),
        }
    }
}

/// Settings that are about the same.
#[derive(Debug, Deserialize)]
pub struct Group {
    /// What they are about.
    pub title: String,
    /// The settings.
    pub setting: Vec<Variable>,
}

/// All settings by what they are about.
pub static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let mut groups = table().unwrap_or_default();
    for one in groups.iter_mut().flat_map(|group| &mut group.setting) {
        one.allowed = one.takes.words(&one.allowed);
    }
    groups
});

fn table() -> Result<Vec<Group>, toml::de::Error> {
    let source = include_str!("../../assets/settings.toml");
    let mut table: BTreeMap<String, Vec<Group>> = toml::from_str(source)?;
    Ok(table.remove("group").unwrap_or_default())
}

/// Every setting there is.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    GROUPS.iter().flat_map(|group| &group.setting)
}

/// The setting of that name.
pub(super) fn variable(name: &str) -> Option<&'static Variable> {
    variables().find(|one| one.name == name)
}

/// How the name of every setting begins.
pub(super) const PREFIX: &str = "KB_AGENT_";
pub(super) const LLM_BASE_URL: &str = "KB_AGENT_LLM_BASE_URL";
pub(super) const LLM_MODEL: &str = "KB_AGENT_LLM_MODEL";
pub(super) const LLM_CA: &str = "KB_AGENT_LLM_CA";
/// The jobs of a model, as the names of their settings end.
pub(super) const JOBS: [&str; 4] = ["ANALYZE", "PLAN", "GRADE", "SYNTHESIZE"];
pub(super) const EMBEDDING: &str = "KB_AGENT_EMBEDDING";
pub(super) const EMBEDDING_BASE_URL: &str = "KB_AGENT_EMBEDDING_BASE_URL";
pub(super) const PLAIN_HTTP_HOSTS: &str = "KB_AGENT_PLAIN_HTTP_HOSTS";
pub(super) const SOURCE: &str = "KB_AGENT_SOURCE";
pub(super) const INCLUDE: &str = "KB_AGENT_INCLUDE";
pub(super) const DATA_DIR: &str = "KB_AGENT_DATA_DIR";
pub(super) const CONFIG_DIR: &str = "KB_AGENT_CONFIG_DIR";
pub(super) const AUDIT_LOG: &str = "KB_AGENT_AUDIT_LOG";
pub(super) const LOG: &str = "KB_AGENT_LOG";
pub(super) const THEME: &str = "KB_AGENT_THEME";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_names_only_settings() {
        assert!(!table().unwrap().is_empty());
        assert!(variables().count() > 40);
        for one in variables() {
            assert!(!one.allowed.is_empty(), "{}", one.name);
            for needed in &one.needs {
                assert!(variable(needed).is_some(), "{} needs {needed}", one.name);
            }
        }
    }

    #[test]
    fn the_code_asks_for_no_other_name() {
        for source in [include_str!("variables.rs"), include_str!("settings.rs")] {
            let code = source.split("#[cfg(test)]").next().unwrap();
            for name in code.split('"').filter(|text| text.starts_with(PREFIX)) {
                let is_whole = name != PREFIX && !name.contains('{');
                assert!(!is_whole || variable(name).is_some(), "{name}");
            }
        }
    }
}
