//! The chat protocol's own words: the one shape that is sent, and the many that servers send back.
//!
//! A reply is read field by field out of plain JSON: what a server leaves out or writes in another
//! type is then no parse error, and the reading code decides what it means.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::domain::Usage;

/// Who said it, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
}

impl Message {
    pub fn new(role: &'static str, content: impl Into<String>) -> Self {
        let content = content.into();
        Self { role, content }
    }
}

/// One answer of a completion, whole or in pieces: the two differ in where the text is.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a>(&'a Value);

/// A last piece that is all that came before, and longer than this, is no piece.
const SHORT: usize = 16;

impl<'a> Choice<'a> {
    /// The choice of the number that came first, where the chunk holds one of it. Only one answer is
    /// asked for; `first` keeps its number.
    pub fn first_in(chunk: &'a Value, first: &mut Option<u64>) -> Option<Self> {
        let mut choices = chunk["choices"].as_array()?.iter();
        let choice = choices.find(|choice| {
            let index = choice["index"].as_u64().or(*first).unwrap_or_default();
            *first.get_or_insert(index) == index
        });
        choice.map(Self)
    }

    /// The text beyond what the reply `said` before; reasoning fields are not text. Some servers repeat
    /// the whole message beside or after its pieces.
    pub fn text(self, said: &str) -> String {
        let piece = text_of(&self.0["delta"]);
        let is_whole = piece.is_empty() && self.0["message"].is_object();
        let text = [
            piece,
            text_of(&self.0["message"]),
            plain_text(&self.0["text"]),
        ];
        let text = text.into_iter().find(|text| !text.is_empty());
        let text = text.unwrap_or_default();
        match text.strip_prefix(said) {
            Some(more) if is_whole => more.to_owned(),
            _ if is_whole && self.0["delta"].is_object() => String::new(),
            Some("") if self.finish_reason().is_some() && said.len() > SHORT => String::new(),
            _ => text,
        }
    }

    /// What the model thought, in the first of these fields that holds some.
    pub fn thought(self, fields: &[String]) -> &'a str {
        let [delta, message] = self.messages();
        let thoughts = fields
            .iter()
            .flat_map(|field| [&delta[field], &message[field]]);
        let mut thoughts = thoughts.filter_map(Value::as_str);
        thoughts
            .find(|thought| !thought.is_empty())
            .unwrap_or_default()
    }

    /// Adds the calls of functions, each as its name and arguments: they come in pieces, as text does.
    /// Returns the bytes added.
    pub fn add_calls(self, calls: &mut BTreeMap<u64, (String, String)>) -> usize {
        let mut bytes = 0;
        for message in self.messages() {
            let listed = message["tool_calls"].as_array().into_iter().flatten();
            let single = message.get("function_call");
            for (at, call) in (0..).zip(listed.chain(single)) {
                let function = call.get("function").unwrap_or(call);
                let (name, arguments) = calls
                    .entry(call["index"].as_u64().unwrap_or(at))
                    .or_default();
                if let Some(said) = function["name"].as_str().filter(|name| !name.is_empty()) {
                    said.clone_into(name);
                }
                let piece = match &function["arguments"] {
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
    pub fn finish_reason(self) -> Option<&'a str> {
        let reason = self.0["finish_reason"].as_str();
        reason.filter(|reason| !reason.is_empty())
    }

    /// Whether this is a whole answer, and no piece of one.
    pub fn is_whole(self) -> bool {
        !self.0["delta"].is_object()
    }

    fn messages(self) -> [&'a Value; 2] {
        [&self.0["delta"], &self.0["message"]]
    }
}

/// The text of a message. A refusal is what the model says in place of content.
fn text_of(message: &Value) -> String {
    let text = plain_text(&message["content"]);
    if text.is_empty() {
        return plain_text(&message["refusal"]);
    }
    text
}

/// Text, or a list of parts of which some are text.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// What the server counted and charged, where a chunk says it. A count that cannot be read is none,
/// because the reply is worth more than its price.
pub fn usage_in(chunk: &Value) -> Option<Usage> {
    let usage = chunk.get("usage").filter(|usage| usage.is_object())?;
    let count_at = |path| usage.pointer(path).and_then(count);
    // US dollars, as OpenRouter says it.
    let charged = usage["cost"].as_f64().filter(|dollars| *dollars >= 0.0);
    Some(Usage {
        prompt_tokens: count_at("/prompt_tokens"),
        completion_tokens: count_at("/completion_tokens"),
        // The second is DeepSeek's.
        cached_tokens: count_at("/prompt_tokens_details/cached_tokens")
            .or_else(|| count_at("/prompt_cache_hit_tokens")),
        reasoning_tokens: count_at("/completion_tokens_details/reasoning_tokens"),
        nano_usd: charged.map_or(0, |dollars| (dollars * 1e9).round() as u64),
        priced_calls: u32::from(charged.is_some()),
        ..Usage::ONE_CALL
    })
}

/// No count is larger: so many tokens no model has read in its life, and sums of them stay numbers
/// that every reader of JSON can hold.
const MOST_TOKENS: u64 = 1 << 48;

/// A count however it is written; one beyond all bounds is the bound.
fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::String(digits) => digits.trim().parse().ok(),
        number => number
            .as_u64()
            // As a conversion of numbers does it: what is too large is the largest.
            .or_else(|| number.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64)),
    };
    number.map(|number| number.min(MOST_TOKENS))
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
            let choice = Choice::first_in(&chunk, &mut None);
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
            let choice = Choice(&chunk);
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
            let choice = Choice::first_in(&chunk, &mut first);
            let said = choice.map(|choice| choice.text(""));
            assert_eq!(said.as_deref(), kept, "{chunk}");
        }
    }

    #[test]
    fn thoughts_are_found_in_the_fields_of_the_server() {
        let chunk = json!({"choices": [{"delta": {"content": null, "reasoning": "hm"}}]});
        let chunk = Choice::first_in(&chunk, &mut None).unwrap();
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
            let count = usage_in(&json!({"usage": usage})).unwrap();
            assert_eq!(
                (count.cached_tokens, count.reasoning_tokens),
                (cached, reasoning),
                "{usage}"
            );
        }
    }
}
