//! The chat protocol's own words, in the one shape we send and the many that servers send back.
//!
//! Every field of a reply is optional and every unknown one is ignored: what a server leaves out
//! is decided by whoever reads it, not by a parse error.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::domain::Usage;

/// Who said it, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
}

impl Message {
    pub fn system(content: impl Into<String>) -> Self {
        Self {
            role: "system",
            content: content.into(),
        }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: "user",
            content: content.into(),
        }
    }
}

/// The body of a request.
#[derive(Debug, Serialize)]
pub struct ChatRequest<'a> {
    pub model: &'a str,
    pub messages: &'a [Message],
    pub temperature: f64,
    pub stream: bool,
    pub stream_options: StreamOptions,
}

/// Asks for the token counts at the end of a stream.
#[derive(Debug, Serialize)]
pub struct StreamOptions {
    pub include_usage: bool,
}

/// A whole completion, or one chunk of a streamed one: they differ in where the text is.
#[derive(Debug, Default, Deserialize)]
pub struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    pub choices: Vec<Choice>,
    #[serde(default)]
    pub usage: Option<TokenCount>,
    #[serde(default)]
    pub error: Option<Value>,
}

impl Chunk {
    /// The text of the first choice; reasoning fields are not text.
    pub fn text(&self) -> String {
        let Some(choice) = self.choices.first() else {
            return String::new();
        };
        [&choice.delta, &choice.message]
            .into_iter()
            .flatten()
            .filter_map(|part| part.content.as_ref().map(Content::text))
            .chain(choice.text.clone())
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Why the server stopped, once it has.
    pub fn finish_reason(&self) -> Option<&str> {
        self.choices.first()?.finish_reason.as_deref()
    }
}

/// One of the answers; we ask for one.
#[derive(Debug, Default, Deserialize)]
pub struct Choice {
    #[serde(default)]
    pub delta: Option<Said>,
    #[serde(default)]
    pub message: Option<Said>,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub finish_reason: Option<String>,
}

/// What was said; `reasoning`, `reasoning_content` and the like are left out on purpose.
#[derive(Debug, Default, Deserialize)]
pub struct Said {
    #[serde(default)]
    pub content: Option<Content>,
}

/// Text, or a list of parts of which some are text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

impl Content {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .collect(),
            Self::Other(_) => String::new(),
        }
    }
}

/// A part of a message.
#[derive(Debug, Deserialize)]
pub struct Part {
    #[serde(default)]
    pub text: Option<String>,
}

/// What the server counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct TokenCount {
    #[serde(default)]
    pub prompt_tokens: Option<u64>,
    #[serde(default)]
    pub completion_tokens: Option<u64>,
}

impl TokenCount {
    /// As the cost of one call.
    pub fn of_one_call(self) -> Usage {
        Usage {
            calls: 1,
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
        }
    }
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_found_in_every_shape_and_reasoning_in_none() {
        for (chunk, text) in [
            (
                json!({"choices": [{"delta": {"role": "assistant", "content": null}}]}),
                "",
            ),
            (json!({"choices": [{"delta": {"content": "a"}}]}), "a"),
            (json!({"choices": [{"message": {"content": "b"}}]}), "b"),
            (json!({"choices": [{"text": "c"}]}), "c"),
            (
                json!({"choices": [{"delta": {"content": [{"type": "text", "text": "d"}, {"type": "x"}]}}]}),
                "d",
            ),
            (json!({"choices": [{"delta": {"content": 7}}]}), ""),
            (
                json!({"choices": [{"delta": {"reasoning_content": "hm", "content": null}}]}),
                "",
            ),
            (json!({"choices": [{"delta": {"reasoning": "hm"}}]}), ""),
            (json!({"choices": [], "usage": {"prompt_tokens": 1}}), ""),
            (json!({"choices": null}), ""),
            (json!({}), ""),
        ] {
            let shown = chunk.to_string();
            let parsed: Chunk = serde_json::from_value(chunk).unwrap();
            assert_eq!(parsed.text(), text, "{shown}");
        }
    }
}
