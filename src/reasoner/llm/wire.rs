//! The chat protocol's own words, in the one shape we send and the many that servers send back.
//!
//! Every field of a reply is optional and every unknown one is ignored: what a server leaves out
//! is decided by the reading code, not by a parse error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

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

/// The messages with what the system message says before the first question, and neighbours of one
/// role as one message: some models' templates know no other order.
pub fn without_system(messages: &[Message]) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) => {
                last.content.push_str("\n\n");
                last.content.push_str(&message.content);
            }
            None => merged.push(Message::user(message.content.clone())),
        }
    }
    merged
}

/// The body of a request.
#[derive(Debug, Serialize)]
pub struct ChatRequest<'a> {
    pub model: &'a str,
    pub messages: Cow<'a, [Message]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Under the name that this server knows; empty where it knows none.
    #[serde(flatten)]
    pub limit: BTreeMap<&'static str, u32>,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
}

/// Asks for the token counts at the end of a stream.
#[derive(Debug, Serialize)]
pub struct StreamOptions {
    pub include_usage: bool,
}

/// A whole completion, or one chunk of a streamed one: they differ in where the text is.
#[derive(Debug, Default, Deserialize)]
pub struct StreamChunk {
    #[serde(default, deserialize_with = "or_default")]
    pub choices: Vec<Choice>,
    #[serde(default, deserialize_with = "if_readable")]
    pub usage: Option<TokenCount>,
    #[serde(default)]
    pub error: Option<Value>,
}

impl StreamChunk {
    /// The text of the first choice beyond what it `said` before; reasoning fields are not text. A
    /// refusal is what the model says in place of content. Some servers repeat the whole message
    /// beside or after its pieces.
    pub fn text(&self, said: &str) -> String {
        let Some(choice) = self.choices.first() else {
            return String::new();
        };
        let of = |part: &Option<ReplyMessage>| {
            let part = part.as_ref()?;
            let content = part.content.as_ref().map(MessageContent::text);
            content
                .filter(|text| !text.is_empty())
                .or_else(|| part.refusal.clone())
        };
        let piece = of(&choice.delta).filter(|text| !text.is_empty());
        let is_whole = piece.is_none() && choice.message.is_some();
        let text = piece
            .or_else(|| of(&choice.message))
            .or_else(|| choice.text.clone())
            .unwrap_or_default();
        match text.strip_prefix(said) {
            Some(more) if is_whole => more.to_owned(),
            _ if is_whole && choice.delta.is_some() => String::new(),
            Some("") if choice.finish_reason.is_some() && said.len() > SHORT => String::new(),
            _ => text,
        }
    }

    /// Leaves out all answers but the one that came first.
    pub fn keep_choice(&mut self, first: &mut Option<u64>) {
        self.choices.retain(|choice| {
            let index = choice.index.or(*first).unwrap_or_default();
            *first.get_or_insert(index) == index
        });
    }

    /// What the model thought, in the first of these fields that holds some.
    pub fn thought(&self, fields: &[String]) -> &str {
        self.choices
            .iter()
            .take(1)
            .flat_map(|choice| [&choice.delta, &choice.message])
            .flatten()
            .flat_map(|said| {
                fields
                    .iter()
                    .filter_map(|field| said.other.get(field)?.as_str())
            })
            .find(|thought| !thought.is_empty())
            .unwrap_or_default()
    }

    /// Adds the calls of functions that the first choice makes, each as its name and arguments: they come in pieces, as
    /// text does. Returns the bytes added.
    pub fn add_calls(&self, calls: &mut BTreeMap<u64, (String, String)>) -> usize {
        let choice = self.choices.first();
        let said = choice.map(|choice| [&choice.delta, &choice.message]);
        let mut bytes = 0;
        for said in said.into_iter().flatten().flatten() {
            let listed = said.other.get("tool_calls").and_then(Value::as_array);
            let single = said.other.get("function_call");
            for (at, call) in (0..).zip(listed.into_iter().flatten().chain(single)) {
                let function = call.get("function").unwrap_or(call);
                let (name, arguments) = calls
                    .entry(call["index"].as_u64().unwrap_or(at))
                    .or_default();
                if let Some(said) = function["name"].as_str().filter(|name| !name.is_empty()) {
                    said.clone_into(name);
                }
                let before = arguments.len();
                match &function["arguments"] {
                    Value::String(piece) => arguments.push_str(piece),
                    Value::Object(whole) => {
                        arguments.push_str(&Value::from(whole.clone()).to_string());
                    }
                    _ => {}
                }
                bytes += arguments.len() - before;
            }
        }
        bytes
    }

    /// Why the server stopped, once it has.
    pub fn finish_reason(&self) -> Option<&str> {
        let reason = self.choices.first()?.finish_reason.as_deref();
        reason.filter(|reason| !reason.is_empty())
    }
}

/// A last piece that is all that came before, and longer than this, is no piece.
const SHORT: usize = 16;

/// One of the answers; we ask for one.
#[derive(Debug, Default, Deserialize)]
pub struct Choice {
    #[serde(default, deserialize_with = "if_readable")]
    pub index: Option<u64>,
    #[serde(default, deserialize_with = "if_readable")]
    pub delta: Option<ReplyMessage>,
    #[serde(default, deserialize_with = "if_readable")]
    pub message: Option<ReplyMessage>,
    #[serde(default, deserialize_with = "if_readable")]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "if_readable")]
    pub finish_reason: Option<String>,
}

/// What was said.
#[derive(Debug, Default, Deserialize)]
pub struct ReplyMessage {
    #[serde(default)]
    pub content: Option<MessageContent>,
    #[serde(default, deserialize_with = "if_readable")]
    pub refusal: Option<String>,
    /// Among them the reasoning, under the name that the server has for it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Text, or a list of parts of which some are text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
    Other(serde::de::IgnoredAny),
}

impl MessageContent {
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
pub struct ContentPart {
    #[serde(default)]
    pub text: Option<String>,
}

/// What the server counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct TokenCount {
    #[serde(default, deserialize_with = "count")]
    pub prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "if_readable")]
    pub prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "if_readable")]
    pub completion_tokens_details: Option<CompletionDetails>,
    /// As DeepSeek says it.
    #[serde(default, deserialize_with = "count")]
    pub prompt_cache_hit_tokens: Option<u64>,
    /// What was charged, US dollars, as OpenRouter says it.
    #[serde(default, deserialize_with = "if_readable")]
    pub cost: Option<f64>,
}

/// Of what was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct PromptDetails {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: Option<u64>,
}

/// Of what came back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct CompletionDetails {
    #[serde(default, deserialize_with = "count")]
    pub reasoning_tokens: Option<u64>,
}

impl TokenCount {
    /// Tokens of the prompt that were read from a cache.
    pub fn cached(&self) -> Option<u64> {
        let details = self.prompt_tokens_details.and_then(|of| of.cached_tokens);
        details.or(self.prompt_cache_hit_tokens)
    }

    /// Tokens of the reply that were thoughts.
    pub fn reasoning(&self) -> Option<u64> {
        self.completion_tokens_details
            .and_then(|of| of.reasoning_tokens)
    }
}

/// No count is larger: so many tokens no model has read in its life, and sums of them stay numbers
/// that every reader of JSON can hold.
const MOST_TOKENS: u64 = 1 << 48;

/// A count however it is written; one beyond all bounds is the bound, and what is none is left out.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Number(number) => number
            .as_u64()
            // As a conversion of numbers does it: what is too large is the largest.
            .or_else(|| number.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64)),
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    };
    Ok(number.map(|number| number.min(MOST_TOKENS)))
}

/// Counts that cannot be read are none: the reply is worth more than its price.
fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
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
            (
                json!({"choices": [{"delta": {"refusal": "I cannot."}}]}),
                "I cannot.",
            ),
            (
                json!({"choices": [{"delta": {"content": "e"}}], "usage": "free"}),
                "e",
            ),
            (json!({}), ""),
            (
                json!({"choices": [{"delta": {"content": "f", "refusal": 7}, "finish_reason": {"type": "stop"}, "text": []}]}),
                "f",
            ),
            (json!({"choices": [{"delta": "g", "text": "h"}]}), "h"),
        ] {
            let shown = chunk.to_string();
            let parsed: StreamChunk = serde_json::from_value(chunk).unwrap();
            assert_eq!(parsed.text(""), text, "{shown}");
        }
    }

    #[test]
    fn r23_a_message_that_is_repeated_is_said_once() {
        let whole = "The gate opens at seven.";
        for (chunk, said, text) in [
            (
                json!({"delta": {"content": " seven."}, "message": {"content": whole}}),
                "The gate opens at",
                " seven.",
            ),
            (
                json!({"delta": {"content": ""}, "message": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"message": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"delta": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"delta": {}, "message": {"content": "The gate"}}),
                whole,
                "",
            ),
            (
                json!({"message": {"content": whole}}),
                "The gate opens",
                " at seven.",
            ),
            (
                json!({"message": {"content": " seven."}}),
                "The gate opens at",
                " seven.",
            ),
            (json!({"message": {"content": whole}}), "", whole),
            (json!({"delta": {"content": "ha"}}), "ha", "ha"),
            (
                json!({"delta": {"content": "ha"}, "finish_reason": "stop"}),
                "ha",
                "ha",
            ),
        ] {
            let chunk: StreamChunk = serde_json::from_value(json!({"choices": [chunk]})).unwrap();
            assert_eq!(chunk.text(said), text, "{chunk:?}");
        }
    }

    #[test]
    fn r23_one_answer_is_kept_of_several() {
        let mut first = None;
        for (choices, kept) in [
            (
                json!([{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]),
                1,
            ),
            (json!([{"index": 1, "text": "b"}]), 0),
            (json!([{"text": "a"}]), 1),
            (json!([]), 0),
        ] {
            let mut chunk: StreamChunk =
                serde_json::from_value(json!({"choices": choices})).unwrap();
            chunk.keep_choice(&mut first);
            assert_eq!(chunk.choices.len(), kept, "{chunk:?}");
        }
    }

    #[test]
    fn thoughts_are_found_in_the_fields_of_the_server() {
        let chunk = json!({"choices": [{"delta": {"content": null, "reasoning": "hm"}}]});
        let chunk: StreamChunk = serde_json::from_value(chunk).unwrap();
        let fields = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            chunk.thought(&fields(&["reasoning_content", "reasoning"])),
            "hm"
        );
        assert_eq!(chunk.thought(&fields(&["reasoning_content"])), "");
        assert_eq!(chunk.text(""), "");
    }

    #[test]
    fn counts_are_read_in_every_shape() {
        for (usage, cached, reasoning) in [
            (json!({"prompt_tokens": 9}), None, None),
            (
                json!({"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}),
                Some(4),
                Some(5),
            ),
            (
                json!({"prompt_cache_hit_tokens": 6, "prompt_tokens_details": null}),
                Some(6),
                None,
            ),
            (json!({"prompt_tokens_details": "none"}), None, None),
            (
                json!({"prompt_tokens": "12", "prompt_tokens_details": {"cached_tokens": -4}, "completion_tokens_details": {"reasoning_tokens": 5.0}, "cost": "free"}),
                None,
                Some(5),
            ),
            (
                json!({"prompt_tokens": u64::MAX, "prompt_tokens_details": {"cached_tokens": u64::MAX}, "completion_tokens_details": {"reasoning_tokens": 1.8e19}}),
                Some(MOST_TOKENS),
                Some(MOST_TOKENS),
            ),
        ] {
            let count: TokenCount = serde_json::from_value(usage.clone()).unwrap();
            assert_eq!(
                (count.cached(), count.reasoning()),
                (cached, reasoning),
                "{usage}"
            );
        }
    }
}
