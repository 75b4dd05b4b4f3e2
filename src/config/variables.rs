//! All settings: the table of `assets/settings.toml`, and the names that the code asks for.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

/// A text of the table, which lives until the program ends. Spelled as a reference, serde would take
/// it for a part of what is being read.
type Kept = &'static str;

/// A setting. Help, `doctor`, `.env.example` and the reference page are made from it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The environment variable.
    #[serde(deserialize_with = "leaked")]
    pub name: Kept,
    /// What values it takes, to be read after "must be".
    #[serde(deserialize_with = "leaked")]
    pub allowed: Kept,
    /// Whether `.env` of the working folder may set it: settings of the screen and of routing.
    #[serde(default)]
    pub folder: bool,
    /// Its value while it is not set, as it could be set; `None` where there is none.
    #[serde(default, deserialize_with = "leaked_option")]
    pub default: Option<Kept>,
    /// What it means that it is not set, where it has no default.
    #[serde(default, deserialize_with = "leaked_option")]
    pub unset: Option<Kept>,
    /// What it does, in sentences.
    #[serde(deserialize_with = "leaked")]
    pub help: Kept,
}

/// The table is read once and kept until the program ends.
fn leaked<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    Ok(String::deserialize(from)?.leak())
}

fn leaked_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static str>, D::Error> {
    leaked(from).map(Some)
}

/// The settings by what they are about, each group with its title.
pub static GROUPS: LazyLock<Vec<(String, Vec<Variable>)>> = LazyLock::new(|| {
    #[derive(Default, Deserialize)]
    struct SettingsFile {
        group: Vec<Group>,
    }
    #[derive(Deserialize)]
    struct Group {
        title: String,
        setting: Vec<Variable>,
    }
    let source = include_str!("../../assets/settings.toml");
    // A test reads it too.
    let file: SettingsFile = toml::from_str(source).unwrap_or_default();
    let groups = file.group.into_iter();
    groups.map(|group| (group.title, group.setting)).collect()
});

/// Every setting there is.
pub fn variables() -> impl Iterator<Item = Variable> {
    let groups = GROUPS.iter();
    groups.flat_map(|(_, variables)| variables.iter().copied())
}

/// The setting of that name.
pub(super) fn variable(name: &str) -> Variable {
    let found = variables().find(|variable| variable.name == name);
    found.unwrap_or_default()
}

/// How the name of every setting begins.
pub(super) const PREFIX: &str = "KB_AGENT_";
pub(super) const LLM_BASE_URL: &str = "KB_AGENT_LLM_BASE_URL";
pub(super) const LLM_API_KEY: &str = "KB_AGENT_LLM_API_KEY";
pub(super) const LLM_DISCOVER: &str = "KB_AGENT_LLM_DISCOVER";
pub(super) const LLM_MODEL: &str = "KB_AGENT_LLM_MODEL";
pub(super) const LLM_DECIDES: &str = "KB_AGENT_LLM_DECIDES";
pub(super) const EVIDENCE_TOKENS: &str = "KB_AGENT_EVIDENCE_TOKENS";
pub(super) const LLM_CA: &str = "KB_AGENT_LLM_CA";
/// The jobs of a model, as the names of their settings end.
pub(super) const JOBS: [&str; 4] = ["ANALYZE", "PLAN", "GRADE", "SYNTHESIZE"];
pub(super) const EMBEDDING: &str = "KB_AGENT_EMBEDDING";
pub(super) const EMBEDDING_BASE_URL: &str = "KB_AGENT_EMBEDDING_BASE_URL";
pub(super) const EMBEDDING_API_KEY: &str = "KB_AGENT_EMBEDDING_API_KEY";
pub(super) const EMBEDDING_MODEL: &str = "KB_AGENT_EMBEDDING_MODEL";
pub(super) const EMBEDDING_QUERY_PREFIX: &str = "KB_AGENT_EMBEDDING_QUERY_PREFIX";
pub(super) const EMBEDDING_PASSAGE_PREFIX: &str = "KB_AGENT_EMBEDDING_PASSAGE_PREFIX";
/// What is for an embedding endpoint alone.
pub(super) const OF_EMBEDDING: [&str; 4] = [
    EMBEDDING_MODEL,
    EMBEDDING_API_KEY,
    EMBEDDING_QUERY_PREFIX,
    EMBEDDING_PASSAGE_PREFIX,
];
/// Settings whose values are taken with the spaces at their ends.
pub(super) const WITH_SPACES: [&str; 2] = [EMBEDDING_QUERY_PREFIX, EMBEDDING_PASSAGE_PREFIX];
pub(super) const PLAIN_HTTP_HOSTS: &str = "KB_AGENT_PLAIN_HTTP_HOSTS";
pub(super) const SOURCE: &str = "KB_AGENT_SOURCE";
pub(super) const INCLUDE: &str = "KB_AGENT_INCLUDE";
pub(super) const OCR: &str = "KB_AGENT_OCR";
pub(super) const DATA_DIR: &str = "KB_AGENT_DATA_DIR";
pub(super) const CONFIG_DIR: &str = "KB_AGENT_CONFIG_DIR";
pub(super) const STORE_URL: &str = "KB_AGENT_STORE_URL";
pub(super) const STORE_PASSWORD: &str = "KB_AGENT_STORE_PASSWORD";
pub(super) const STORE_CA: &str = "KB_AGENT_STORE_CA";
pub(super) const OTLP_ENDPOINT: &str = "KB_AGENT_OTLP_ENDPOINT";
pub(super) const MCP_TOKEN: &str = "KB_AGENT_MCP_TOKEN";
pub(super) const AUDIT_LOG: &str = "KB_AGENT_AUDIT_LOG";
pub(super) const LOG: &str = "KB_AGENT_LOG";
pub(super) const THEME: &str = "KB_AGENT_THEME";
pub(super) const MOUSE: &str = "KB_AGENT_MOUSE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        toml::from_str::<toml::Table>(include_str!("../../assets/settings.toml")).unwrap();
        assert!(variables().count() > 40);
        for name in [LLM_CA, OCR, DATA_DIR, STORE_CA, MOUSE]
            .into_iter()
            .chain(OF_EMBEDDING)
        {
            assert_eq!(variable(name).name, name);
        }
    }
}
