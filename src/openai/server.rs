//! What servers do differently, as rows of a table that users can add to.
//!
//! The table says how a server is first spoken to. It may be wrong about a version or a gateway:
//! what a server then refuses is left out of later requests, so that a wrong row costs one request
//! and never an answer.

use std::collections::{HashMap, HashSet};

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::files::read_tables;
use crate::text::one_line;

const BUILT_IN: &str = include_str!("../../assets/llm/servers.toml");

/// One kind of server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What the setting calls it.
    pub name: String,
    at: Vec<String>,
    /// The header that takes the bare key; none where it is a bearer token.
    #[serde(default, rename = "auth", deserialize_with = "key_header")]
    pub key_header: Option<HeaderName>,
    /// The same for the listing of models, where it is another.
    #[serde(default, rename = "listing_auth", deserialize_with = "key_header")]
    pub listing_key_header: Option<HeaderName>,
    /// What every request says beside the protocol's own headers.
    #[serde(default, deserialize_with = "headers")]
    pub headers: HeaderMap,
    #[serde(default = "chat_completions")]
    path: String,
    /// Where the token limit goes.
    #[serde(default)]
    pub limit: LimitField,
    /// How a stream comes to end with token counts.
    #[serde(default)]
    pub usage: UsageInStream,
    /// Fields of a reply that hold reasoning.
    #[serde(default = "thought_fields")]
    pub thoughts: Vec<String>,
    /// The highest rung of the ladder.
    #[serde(default)]
    pub structured: Structured,
    /// How far a schema may bound a reply.
    #[serde(default)]
    pub bounds: SchemaBounds,
    /// Whether it drops the beginning of a long prompt without saying so.
    #[serde(default)]
    pub cuts_prompts: bool,
    /// What a person calls it; the setting's name where there is no other.
    #[serde(default)]
    title: Option<String>,
    /// Where it listens on this machine unless told otherwise.
    #[serde(default)]
    local_port: Option<u16>,
    /// The field that asks for how far the prompt is read.
    #[serde(default)]
    pub progress: Option<String>,
    /// Where all this is from.
    #[serde(default, rename = "docs")]
    _docs: Option<String>,
}

/// The name of the token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    /// The name that most servers use.
    #[default]
    MaxTokens,
    /// The name that OpenAI uses since its reasoning models.
    MaxCompletionTokens,
    /// The server takes no token limit.
    None,
}

impl LimitField {
    /// The word of the wire format.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::MaxTokens => Some("max_tokens"),
            Self::MaxCompletionTokens => Some("max_completion_tokens"),
            Self::None => None,
        }
    }
}

/// How a stream comes to end with token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageInStream {
    /// When asked by `stream_options`.
    #[default]
    Asked,
    /// Always, and `stream_options` may not be known.
    Unasked,
}

/// How far a schema may bound a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaBounds {
    /// The length of lists and of texts.
    #[default]
    All,
    /// The length of lists.
    Lists,
    /// No length is bounded.
    None,
}

/// The rungs of the ladder, from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// The reply is held to a schema.
    #[default]
    JsonSchema,
    /// The reply is held to JSON.
    JsonObject,
    /// The reply is asked for in words.
    Prompt,
}

impl Structured {
    /// The word of the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::JsonObject => "json_object",
            Self::Prompt => "prompt",
        }
    }

    /// The next rung down.
    pub fn below(self) -> Option<Self> {
        match self {
            Self::JsonSchema => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::Prompt),
            Self::Prompt => None,
        }
    }
}

impl Server {
    /// The path below the root, in its segments.
    pub fn path(&self) -> Vec<&str> {
        let parts = self.path.split('/');
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// What a person calls it.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    fn fits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let port = url.port();
        self.at.iter().any(|place| match place.split_once(':') {
            Some((name, number)) => is_named(name, host) && number.parse().ok() == port,
            None => is_named(place, host),
        })
    }
}

/// The table, the user's own rows first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    #[serde(default)]
    server: Vec<Server>,
}

impl Servers {
    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        read_tables(own, BUILT_IN)
    }

    /// The servers that have a usual port on this machine, with that port. The first row of a name
    /// decides, so that a user's row moves the port or takes it away; no port is named twice.
    pub fn with_local_ports(&self) -> Vec<(&Server, u16)> {
        let (mut names, mut ports) = (HashSet::new(), HashSet::new());
        let rows = self.server.iter().filter(|row| names.insert(&row.name));
        let rows = rows.filter_map(|row| Some((row, row.local_port?)));
        rows.filter(|(_, port)| ports.insert(*port)).collect()
    }

    /// The field that asks for progress, of a server that calls itself by the name of a row.
    pub fn progress_of(&self, name: &str) -> Option<&str> {
        let row = self.server.iter().find(|row| row.name == name)?;
        row.progress.as_deref()
    }

    /// The row of that name; without a name the first that fits the address.
    pub fn find(&self, name: Option<&str>, url: &Url) -> Result<&Server, String> {
        let is_wanted = |row: &&Server| match name {
            Some(name) => row.name.eq_ignore_ascii_case(name),
            None => row.fits(url),
        };
        self.server.iter().find(is_wanted).ok_or_else(|| {
            let known: Vec<_> = self.server.iter().map(|row| row.name.as_str()).collect();
            format!(
                "KB_AGENT_LLM_SERVER is '{}': it must be one of {}",
                one_line(name.unwrap_or_default(), 60),
                known.join(", ")
            )
        })
    }
}

/// `*` is any host, `*.example.com` any below it.
fn is_named(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => host.ends_with(end),
        None => host.eq_ignore_ascii_case(pattern),
    }
}

/// A header's name, or `bearer` for none of its own.
fn key_header<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HeaderName>, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name == "bearer" {
        return Ok(None);
    }
    let header = HeaderName::from_bytes(name.as_bytes()).map(Some);
    header.map_err(|_| D::Error::custom(format!("auth '{name}' is no header's name")))
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HeaderMap, D::Error> {
    let named = HashMap::<String, String>::deserialize(deserializer)?;
    HeaderMap::try_from(&named).map_err(D::Error::custom)
}

fn chat_completions() -> String {
    "chat/completions".to_owned()
}

fn thought_fields() -> Vec<String> {
    vec!["reasoning_content".to_owned(), "reasoning".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: Option<&str>, url: &str) -> Server {
        let table = Servers::with_user_rows(None).unwrap();
        table.find(name, &Url::parse(url).unwrap()).unwrap().clone()
    }

    #[test]
    fn every_server_is_known_by_its_address() {
        for (url, name) in [
            ("https://api.openai.com/v1", "openai"),
            ("https://eu.api.openai.com/v1", "openai"),
            ("https://mine.openai.azure.com/openai/v1", "azure"),
            ("http://localhost:11434/v1", "ollama"),
            ("http://10.0.0.7:11434/v1", "ollama"),
            ("http://127.0.0.1:8080/v1", "llama.cpp"),
            ("http://gpu:8000/v1", "vllm"),
            ("http://localhost:1234/v1", "lmstudio"),
            ("http://localhost:4000", "litellm"),
            ("http://localhost:1337/v1", "jan"),
            ("http://localhost:5000/v1", "text-generation-webui"),
            ("http://localhost:5001/v1", "koboldcpp"),
            ("https://openrouter.ai/api/v1", "openrouter"),
            ("https://api.deepseek.com", "deepseek"),
            ("https://api.mistral.ai/v1", "mistral"),
            ("https://api.openai.com.example/v1", "other"),
            ("https://llm.example/v1", "other"),
        ] {
            assert_eq!(found(None, url).name, name, "{url}");
        }
        assert_eq!(
            found(Some("Azure"), "https://gateway.example").name,
            "azure"
        );
    }

    #[test]
    fn the_differences_are_in_the_table() {
        let azure = found(None, "https://mine.openai.azure.com/openai/v1");
        assert_eq!(azure.key_header.as_ref().unwrap(), "api-key");
        assert_eq!(azure.limit, LimitField::MaxCompletionTokens);
        assert_eq!(
            found(None, "https://api.deepseek.com").structured,
            Structured::JsonObject
        );
        let bounds = |url: &str| found(None, url).bounds;
        assert_eq!(bounds("https://api.openai.com/v1"), SchemaBounds::Lists);
        assert_eq!(bounds("http://127.0.0.1:8080/v1"), SchemaBounds::All);
        assert_eq!(
            bounds("https://mine.openai.azure.com/openai/v1"),
            SchemaBounds::None
        );
        assert_eq!(
            found(None, "https://api.mistral.ai/v1").usage,
            UsageInStream::Unasked
        );
        let progress = |url: &str| found(None, url).progress;
        let asked = progress("http://127.0.0.1:8080/v1");
        assert_eq!(asked.as_deref(), Some("return_progress"));
        assert_eq!(progress("http://127.0.0.1:11434/v1"), None);
        let other = found(None, "https://llm.example/v1");
        assert_eq!(other.progress, None);
        assert_eq!(
            (other.key_header.as_ref(), other.limit),
            (None, LimitField::MaxTokens)
        );
        assert_eq!(other.path(), ["chat", "completions"]);
    }

    #[test]
    fn rows_of_the_users_come_first_and_bad_ones_are_one_line() {
        let own =
            "[[server]]\nname = 'mine'\nat = ['*.example']\nauth = 'x-key'\npath = 'v2/chat'\n";
        let table = Servers::with_user_rows(Some(own)).unwrap();
        let row = table
            .find(None, &Url::parse("https://llm.example").unwrap())
            .unwrap();
        assert_eq!(
            (row.name.as_str(), row.path()),
            ("mine", vec!["v2", "chat"])
        );
        for bad in [
            "[[server]]\nname = 'x'\n",
            "nonsense",
            "[[server]]\nname='x'\nat=[]\nauth='a b'\n",
        ] {
            let line = Servers::with_user_rows(Some(bad)).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
        let url = Url::parse("https://llm.example").unwrap();
        let line = table.find(Some("unknown"), &url).unwrap_err();
        assert!(
            line.starts_with("KB_AGENT_LLM_SERVER is 'unknown': it must be one of mine, openai"),
            "{line}"
        );
    }
}
