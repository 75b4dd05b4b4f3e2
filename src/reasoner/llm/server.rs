//! What servers do differently and what their tokens cost, as rows of tables that users can add to.
//!
//! The table says how a server is first spoken to. It may be wrong about a version or a gateway:
//! what a server then refuses is given up by [`super::request`], so that a wrong row costs one
//! request and never an answer.

use std::collections::{HashMap, HashSet};

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::domain::Usage;
use crate::files::read_tables;
use crate::text::one_line;

const BUILT_IN: &str = include_str!("../../../assets/llm/servers.toml");

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

// What tokens cost.
//
// A price is either known or not: nothing is guessed from a name that looks alike, because a
// wrong cost is worse than none. What a server says it charged goes before the list.

const PRICES: &str = include_str!("../../../assets/llm/prices.toml");
/// Dollars for a million tokens are thousands of billionths for one.
const NANO_PER_TOKEN: f64 = 1_000.0;

/// The price list, the user's own entries first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    #[serde(default)]
    price: Vec<Price>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    server: String,
    model: String,
    input: f64,
    #[serde(default)]
    cached: Option<f64>,
    output: f64,
}

impl Prices {
    /// The built-in list behind the entries of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let prices: Self = read_tables(own, PRICES)?;
        if let Some(wrong) = prices.price.iter().find(|price| !price.is_money()) {
            let model = one_line(&wrong.model, 60);
            return Err(format!("the price of '{model}' is no amount of money"));
        }
        Ok(prices)
    }

    /// Sets what a call cost, where its price is known and the server has not said what it charged.
    pub fn set_cost(&self, usage: &mut Usage, server: &str, model: &str) {
        if usage.priced_calls == 0
            && let Some(price) = self.find(server, model)
        {
            usage.nano_usd = price.nano(usage).round() as u64;
            usage.priced_calls = usage.calls;
        }
    }

    fn find(&self, server: &str, model: &str) -> Option<&Price> {
        self.price.iter().find(|price| {
            (price.server == "*" || price.server == server) && fits(&price.model, model)
        })
    }
}

impl Price {
    fn nano(&self, usage: &Usage) -> f64 {
        let sent = usage.prompt_tokens.unwrap_or(0);
        let cached = usage.cached_tokens.unwrap_or(0).min(sent);
        let got = usage.completion_tokens.unwrap_or(0);
        let dollars = (sent - cached) as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + got as f64 * self.output;
        dollars * NANO_PER_TOKEN
    }

    fn is_money(&self) -> bool {
        let mut amounts = [self.input, self.cached.unwrap_or_default(), self.output].into_iter();
        amounts.all(|dollars| (0.0..f64::INFINITY).contains(&dollars))
    }
}

/// A dated version of a model, `gpt-4.1-2025-04-14`, costs what the model does.
fn fits(pattern: &str, model: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        return model.starts_with(start);
    }
    let is_date = |rest: &str| {
        rest.starts_with('-')
            && rest.len() > 8
            && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    let rest = model.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || is_date(rest))
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

#[cfg(test)]
mod price_tests {
    use super::*;

    const COUNT: Usage = Usage {
        prompt_tokens: Some(1_000_000),
        completion_tokens: Some(100_000),
        cached_tokens: Some(400_000),
        ..Usage::ONE_CALL
    };

    fn cost(own: Option<&str>, server: &str, model: &str, mut usage: Usage) -> Option<f64> {
        let prices = Prices::with_user_rows(own).unwrap();
        prices.set_cost(&mut usage, server, model);
        usage.cost_usd()
    }

    #[test]
    fn what_was_read_from_a_cache_costs_less() {
        assert_eq!(
            cost(None, "openai", "gpt-4.1", COUNT),
            Some(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 8.0)
        );
        assert_eq!(cost(None, "openai", "gpt-4.1-2025-04-14", COUNT), Some(2.2));
    }

    #[test]
    fn what_is_not_listed_is_unknown() {
        for (server, model) in [
            ("openai", "gpt-9"),
            ("ollama", "gpt-4.1"),
            ("openai", "gpt-4.1-long"),
            // Variants with prices of their own.
            ("openai", "gpt-4o-mini-realtime-preview"),
            ("openai", "o4-mini-deep-research"),
            ("openai", "gpt-5-pro"),
        ] {
            assert_eq!(cost(None, server, model, COUNT), None, "{server} {model}");
        }
    }

    #[test]
    fn a_dated_version_costs_what_its_model_does_unless_it_is_listed_itself() {
        let dollars = |model| cost(None, "openai", model, COUNT);
        assert!(dollars("gpt-5-mini").is_some());
        assert_eq!(dollars("gpt-5-mini-2025-08-07"), dollars("gpt-5-mini"));
        assert_eq!(dollars("gpt-4o-2024-11-20"), dollars("gpt-4o"));
        assert_eq!(dollars("gpt-4o-2024-05-13"), Some(5.0 + 0.1 * 15.0));
    }

    #[test]
    fn every_built_in_price_says_where_it_was_listed_and_when() {
        let entries: Vec<&str> = PRICES.split("\n[[price]]").collect();
        let (last, before) = entries.split_last().unwrap();
        assert!(last.contains("output = "));
        for above in before {
            let line = above.lines().last().unwrap();
            let dated = line.rsplit(' ').next().is_some_and(is_month);
            assert!(line.starts_with("# https://") && dated, "{line}");
        }
    }

    fn is_month(date: &str) -> bool {
        let date = date.trim_end_matches('.');
        date.len() == 7 && date.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    }

    #[test]
    fn what_the_server_charged_goes_first_and_own_prices_before_the_list() {
        let charged = Usage {
            nano_usd: 12_500_000,
            priced_calls: 1,
            ..COUNT
        };
        assert_eq!(cost(None, "openrouter", "any", charged), Some(0.0125));
        let own = "[[price]]\nserver = '*'\nmodel = '*'\ninput = 1\noutput = 0\n";
        assert_eq!(cost(Some(own), "openai", "gpt-4.1", COUNT), Some(1.0));
    }

    #[test]
    fn a_broken_list_is_one_line() {
        for own in [
            "[[price]]\nserver='x'",
            "[[price]]\nserver='x'\nmodel='y'\ninput=-1\noutput=0",
            "=",
        ] {
            let line = Prices::with_user_rows(Some(own)).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
