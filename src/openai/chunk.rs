//! A chunk of a reply, as far as it is read.
//!
//! Gateways send a field in several spellings at once and in other types than they should: each spelling
//! is a field of its own, and what cannot be read is left out instead of costing the whole chunk.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::waits::PromptProgress;
use crate::domain::Usage;

/// A last piece that is all that came before, and longer than this, is no piece.
const SHORT: usize = 16;
/// No count is larger: so many tokens no model has read in its life, and sums of them stay numbers
/// that every reader of JSON can hold.
const MOST_TOKENS: u64 = 1 << 48;

/// A chunk, or a whole completion.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chunk {
    choices: Lenient<Vec<Choice>>,
    usage: Lenient<Option<Counts>>,
    /// How far the prompt is read, as llama.cpp tells it.
    prompt_progress: Lenient<Option<Progress>>,
    /// What llama.cpp has measured.
    timings: Lenient<Option<Timings>>,
}

/// One answer of a completion, whole or in pieces: the two differ in where the text is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Choice {
    index: Lenient<Option<u64>>,
    delta: Lenient<Option<Message>>,
    message: Lenient<Option<Message>>,
    text: Text,
    finish_reason: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Text,
    /// What the model says in place of content.
    refusal: Text,
    tool_calls: Lenient<Vec<Call>>,
    function_call: Lenient<Option<Call>>,
    /// Thoughts among them, in fields that depend on the server.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A call, or the function in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call {
    index: Lenient<Option<u64>>,
    function: Lenient<Option<Box<Call>>>,
    name: Lenient<String>,
    arguments: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: Lenient<Details>,
    completion_tokens_details: Lenient<Details>,
    /// DeepSeek's.
    prompt_cache_hit_tokens: Count,
    /// US dollars, as OpenRouter says it.
    cost: Lenient<Option<f64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Count,
    reasoning_tokens: Count,
}

#[derive(Debug, Deserialize)]
struct Progress {
    total: u64,
    processed: u64,
    #[serde(default)]
    cache: Lenient<u64>,
    #[serde(default)]
    time_ms: Lenient<u64>,
}

#[derive(Debug, Deserialize)]
struct Timings {
    predicted_n: u64,
    predicted_ms: f64,
}

/// A field, or its default where it is of another type.
#[derive(Debug, Default)]
struct Lenient<T>(T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(T::deserialize(value).unwrap_or_default()))
    }
}

/// Text, or a list of parts of which some are text.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
struct Text(String);

impl From<Value> for Text {
    fn from(value: Value) -> Self {
        Self(match value {
            Value::String(text) => text,
            Value::Array(parts) => parts.iter().filter_map(|it| it["text"].as_str()).collect(),
            _ => String::new(),
        })
    }
}

/// A count however it is written; one beyond all bounds is the bound, one that cannot be read is none,
/// because the reply is worth more than its price.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
struct Count(Option<u64>);

impl From<Value> for Count {
    fn from(value: Value) -> Self {
        // As a conversion of numbers does it: what is too large is the largest.
        let whole = |number: f64| (number >= 0.0).then_some(number as u64);
        let number = match &value {
            Value::String(digits) => digits.trim().parse().ok(),
            number => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        };
        Self(number.map(|number| number.min(MOST_TOKENS)))
    }
}

/// Functions that were called, each as its name and arguments, by their place.
pub type Calls = BTreeMap<u64, (String, String)>;

impl Chunk {
    /// Reads what can be read of some JSON.
    pub fn read(json: &Value) -> Self {
        Self::deserialize(json).unwrap_or_default()
    }

    /// The choice of the number that came first, where the chunk holds one of it. Only one answer is
    /// asked for; `first` keeps its number.
    pub fn choice(&self, first: &mut Option<u64>) -> Option<&Choice> {
        self.choices.0.iter().find(|choice| {
            let index = choice.index.0.or(*first).unwrap_or_default();
            *first.get_or_insert(index) == index
        })
    }

    /// What the server counted and charged, where the chunk says it.
    pub fn usage(&self) -> Option<Usage> {
        let counts = self.usage.0.as_ref()?;
        let charged = counts.cost.0.filter(|dollars| *dollars >= 0.0);
        let cached = counts.prompt_tokens_details.0.cached_tokens.0;
        Some(Usage {
            prompt_tokens: counts.prompt_tokens.0,
            completion_tokens: counts.completion_tokens.0,
            cached_tokens: cached.or(counts.prompt_cache_hit_tokens.0),
            reasoning_tokens: counts.completion_tokens_details.0.reasoning_tokens.0,
            nano_usd: charged.map_or(0, |dollars| (dollars * 1e9).round() as u64),
            priced_calls: u32::from(charged.is_some()),
            ..Usage::ONE_CALL
        })
    }

    /// How far the prompt is read, where the chunk says so.
    pub fn progress(&self) -> Option<PromptProgress> {
        self.prompt_progress.0.as_ref().map(|told| PromptProgress {
            total: told.total,
            cached: told.cache.0,
            done: told.processed,
            spent: Duration::from_millis(told.time_ms.0),
        })
    }

    /// How many tokens were written and in which time, where the server has measured it.
    pub fn measured_speed(&self) -> Option<(u64, Duration)> {
        let timings = self.timings.0.as_ref()?;
        let seconds = timings.predicted_ms.max(0.0) / 1000.0;
        Some((
            timings.predicted_n,
            Duration::try_from_secs_f64(seconds).ok()?,
        ))
    }
}

impl Choice {
    /// The text beyond what the reply `said` before; reasoning fields are not text. Some servers repeat
    /// the whole message beside or after its pieces.
    pub fn text(&self, said: &str) -> String {
        let piece = self.delta.0.as_ref().map_or("", Message::text);
        let is_whole = piece.is_empty() && self.message.0.is_some();
        let whole = self.message.0.as_ref().map_or("", Message::text);
        let mut texts = [piece, whole, &self.text.0].into_iter();
        let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
        let text = match text.strip_prefix(said) {
            Some(more) if is_whole => more,
            _ if is_whole && self.delta.0.is_some() => "",
            Some("") if self.finish_reason().is_some() && said.len() > SHORT => "",
            _ => text,
        };
        text.to_owned()
    }

    /// What the model thought, in the first of these fields that holds some.
    pub fn thought(&self, fields: &[String]) -> &str {
        let thoughts = fields.iter().flat_map(|field| {
            let messages = self.messages();
            messages.filter_map(|message| message.others.get(field)?.as_str())
        });
        let mut thoughts = thoughts.filter(|thought| !thought.is_empty());
        thoughts.next().unwrap_or_default()
    }

    /// Adds the calls of functions, which come in pieces, as text does. Returns the bytes added.
    pub fn add_calls(&self, calls: &mut Calls) -> usize {
        let mut bytes = 0;
        for message in self.messages() {
            let calls_said = message.tool_calls.0.iter().chain(&message.function_call.0);
            for (at, call) in (0..).zip(calls_said) {
                let function = call.function.0.as_deref().unwrap_or(call);
                let (name, arguments) = calls.entry(call.index.0.unwrap_or(at)).or_default();
                if !function.name.0.is_empty() {
                    function.name.0.clone_into(name);
                }
                let piece = match &function.arguments {
                    Value::String(piece) => piece.clone(),
                    whole @ Value::Object(_) => whole.to_string(),
                    _ => String::new(),
                };
                arguments.push_str(&piece);
                bytes += piece.len();
            }
        }
        bytes
    }

    /// Why the server stopped, once it has.
    pub fn finish_reason(&self) -> Option<&str> {
        Some(self.finish_reason.0.as_str()).filter(|reason| !reason.is_empty())
    }

    /// Whether this is a whole answer, and no piece of one.
    pub fn is_whole(&self) -> bool {
        self.delta.0.is_none()
    }

    fn messages(&self) -> impl Iterator<Item = &Message> {
        self.delta.0.iter().chain(&self.message.0)
    }
}

impl Message {
    fn text(&self) -> &str {
        let texts = [&self.content.0, &self.refusal.0];
        texts
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("", String::as_str)
    }
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
            let chunk = Chunk::read(&chunk);
            let choice = chunk.choice(&mut None);
            let said = choice.map(|choice| choice.text("")).unwrap_or_default();
            assert_eq!(said, text, "{shown}");
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
            let choice = Choice::deserialize(&chunk).unwrap();
            assert_eq!(choice.text(said), text, "{chunk}");
        }
    }

    #[test]
    fn r23_one_answer_is_kept_of_several() {
        let mut first = None;
        for (choices, kept) in [
            (
                json!([{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]),
                Some("a"),
            ),
            (json!([{"index": 1, "text": "b"}]), None),
            (json!([{"text": "c"}]), Some("c")),
            (
                json!([{"index": 1, "text": "b"}, {"index": 0, "text": "d"}]),
                Some("d"),
            ),
            (json!([]), None),
        ] {
            let chunk = json!({"choices": choices});
            let read = Chunk::read(&chunk);
            let choice = read.choice(&mut first);
            let said = choice.map(|choice| choice.text(""));
            assert_eq!(said.as_deref(), kept, "{chunk}");
        }
    }

    #[test]
    fn thoughts_are_found_in_the_fields_of_the_server() {
        let chunk = json!({"choices": [{"delta": {"content": null, "reasoning": "hm"}}]});
        let chunk = Chunk::read(&chunk);
        let chunk = chunk.choice(&mut None).unwrap();
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
            let count = Chunk::read(&json!({"usage": usage})).usage().unwrap();
            assert_eq!(
                (count.cached_tokens, count.reasoning_tokens),
                (cached, reasoning),
                "{usage}"
            );
        }
    }

    #[test]
    fn progress_is_read_where_a_chunk_tells_it() {
        let told = json!({"total": 1137, "cache": 20, "processed": 532, "time_ms": 9000});
        let chunk = json!({"choices": [{"delta": {"content": null}}], "prompt_progress": told});
        let progress = PromptProgress {
            total: 1137,
            cached: 20,
            done: 532,
            spent: Duration::from_secs(9),
        };
        assert_eq!(Chunk::read(&chunk).progress(), Some(progress));
        for other in [
            json!({}),
            json!({"prompt_progress": null}),
            json!({"prompt_progress": {"total": 5}}),
            json!({"prompt_progress": {"total": -5, "processed": "x"}}),
        ] {
            assert_eq!(Chunk::read(&other).progress(), None, "{other}");
        }
    }
}
