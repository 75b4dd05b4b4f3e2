//! How fast a model reads and writes: what its server reports, and what is remembered of it.
//!
//! A rate of reading is remembered because servers that read a prompt at once report nothing until
//! they have read it: what is left of the wait can then only be told from an earlier call.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::agent::ports::{Caveat, PromptProgress};
use crate::domain::tokens_a_second;

/// A model that writes fewer tokens in a second is named.
const SLOW: f64 = 2.0;
/// Fewer tokens, or a shorter time, are no measure.
const ENOUGH_TOKENS: u64 = 8;
const ENOUGH_TIME: Duration = Duration::from_secs(4);

/// How far the prompt is read, where a chunk of llama.cpp's says so.
pub fn prompt_progress(chunk: &Value) -> Option<PromptProgress> {
    let told = chunk.get("prompt_progress")?;
    let count = |field: &str| told[field].as_u64();
    Some(PromptProgress {
        total: count("total")?,
        cached: count("cache").unwrap_or_default(),
        done: count("processed")?,
        spent: Duration::from_millis(count("time_ms").unwrap_or_default()),
    })
}

/// How many tokens are written in a second by what the server measured, where a chunk of llama.cpp's
/// says so.
pub fn measured_rate(chunk: &Value) -> Option<f64> {
    let timings = chunk.get("timings")?;
    let time = timings["predicted_ms"].as_f64()?.max(0.0) / 1000.0;
    let time = Duration::try_from_secs_f64(time).ok()?;
    writing_rate(timings["predicted_n"].as_u64()?, time)
}

/// How many tokens are written in a second, where that is enough to tell.
pub fn writing_rate(tokens: u64, time: Duration) -> Option<f64> {
    let is_enough = tokens >= ENOUGH_TOKENS && time >= ENOUGH_TIME;
    is_enough.then(|| tokens as f64 / time.as_secs_f64())
}

/// How fast the models of one server are, as far as replies have shown.
#[derive(Debug, Default)]
pub struct ModelPaces(Mutex<HashMap<String, ModelPace>>);

#[derive(Debug, Default)]
struct ModelPace {
    /// Tokens of a prompt in a second.
    reads: Option<f64>,
    /// Whether it was said that it is slow.
    is_named: bool,
}

impl ModelPaces {
    /// How many tokens of a prompt this model reads in a second, by the last call that showed it.
    pub fn reading_rate(&self, model: &str) -> Option<f64> {
        self.with(model, |pace| pace.reads)
    }

    /// Remembers the rates of a reply. Returns a warning the first time that the model is slow.
    pub fn note(&self, model: &str, reads: Option<f64>, writes: Option<f64>) -> Option<Caveat> {
        let rate = writes.filter(|rate| *rate < SLOW);
        let is_new = self.with(model, |pace| {
            pace.reads = reads.or(pace.reads);
            let is_new = rate.is_some() && !pace.is_named;
            pace.is_named |= is_new;
            is_new
        });
        let rate = tokens_a_second(rate.filter(|_| is_new)?);
        let message = format!(
            "{model} writes {rate} here; what helps: built-in decisions \
             (KB_AGENT_LLM_DECIDES=built-in), fewer tokens of evidence (KB_AGENT_EVIDENCE_TOKENS), \
             or a smaller model"
        );
        Some(Caveat::new("model_slow", message))
    }

    fn with<T>(&self, model: &str, change: impl FnOnce(&mut ModelPace) -> T) -> T {
        change(self.0.lock().entry(model.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        assert_eq!(prompt_progress(&chunk), Some(progress));
        for other in [
            json!({}),
            json!({"prompt_progress": null}),
            json!({"prompt_progress": {"total": 5}}),
            json!({"prompt_progress": {"total": -5, "processed": "x"}}),
        ] {
            assert_eq!(prompt_progress(&other), None, "{other}");
        }
    }

    #[test]
    fn a_rate_of_writing_needs_enough_tokens_and_time() {
        let timings = |tokens, ms| json!({"timings": {"predicted_n": tokens, "predicted_ms": ms}});
        for (chunk, rate) in [
            (timings(8, 4_000.0), Some(2.0)),
            (timings(7, 9_000.0), None),
            (timings(99, 3_999.0), None),
            (json!({"timings": {"predicted_n": 8}}), None),
            (
                json!({"timings": {"predicted_n": 8, "predicted_ms": 1e300}}),
                None,
            ),
        ] {
            assert_eq!(measured_rate(&chunk), rate, "{chunk}");
        }
    }

    #[test]
    fn a_slow_model_is_named_once_with_what_helps() {
        let paces = ModelPaces::default();
        assert_eq!(paces.note("a", Some(50.0), Some(2.0)), None);
        assert_eq!(paces.note("a", None, None), None);
        let named = paces.note("a", None, Some(1.44)).unwrap();
        assert_eq!(named.code, "model_slow");
        assert!(named.message.starts_with("a writes 1.4 tok/s here; "));
        for help in [
            "KB_AGENT_LLM_DECIDES=built-in",
            "KB_AGENT_EVIDENCE_TOKENS",
            "a smaller model",
        ] {
            assert!(named.message.contains(help), "{}", named.message);
        }
        assert_eq!(paces.note("a", None, Some(0.9)), None);
        assert!(paces.note("b", None, Some(0.9)).is_some());
        assert_eq!(paces.reading_rate("a"), Some(50.0));
        assert_eq!(paces.reading_rate("c"), None);
    }
}
