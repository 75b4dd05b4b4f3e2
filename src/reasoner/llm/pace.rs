//! How fast a model reads and writes, as far as is remembered of it.
//!
//! A rate of reading is remembered because servers that read a prompt at once report nothing until
//! they have read it: what is left of the wait can then only be told from an earlier call.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::agent::ports::Caveat;
use crate::domain::tokens_a_second;

/// A model that writes fewer tokens in a second is named.
const SLOW: f64 = 2.0;

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
    use super::*;

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
