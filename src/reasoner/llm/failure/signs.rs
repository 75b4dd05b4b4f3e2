//! By which words, in lower case, servers tell what went wrong: they have no codes in common.

use serde_json::Value;

/// That more was sent than the model can read.
pub const OVERFLOW: &[&str] = &[
    "context length",
    "context size",
    "context_length",
    "context window",
    "exceed_context",
    "context the overflows",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "input is too long",
    "too large for model with",
];
/// That the server's rules forbid the answer.
pub const FILTERED: &[&str] = &[
    "content_filter",
    "content filter",
    "content management policy",
    "responsibleai",
    "moderation",
];
/// That there is nothing left to pay with.
pub const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "exceeded your current quota",
];
/// That the model is not there; see also [`names_a_missing_model`].
pub const NO_MODEL: &[&str] = &[
    "model_not_found",
    "model not found",
    "model not exist",
    "model does not exist",
    "invalid model",
    "unknown model",
    "no such model",
    "not a valid model",
    "deploymentnotfound",
];

/// Everything an error says, in lower case: its message, and the codes and types beside it.
pub fn words_of(error: &Value, body: &[u8]) -> String {
    let text = match error {
        Value::Null => String::from_utf8_lossy(body).into_owned(),
        error => error.to_string(),
    };
    text.to_lowercase()
}

/// `model 'x' not found`, `The model "x" does not exist`: with the name in between.
pub fn names_a_missing_model(words: &str) -> bool {
    words.match_indices("model").any(|(at, _)| {
        let end = (at + 160).min(words.len());
        let after = &words[at..words.floor_char_boundary(end)];
        [
            "not found",
            "does not exist",
            "doesn't exist",
            "is not available",
        ]
        .iter()
        .any(|sign| after.contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_model_is_distinguished_from_another_missing_thing() {
        for (said, missing) in [
            ("model 'qwen9' not found", true),
            (
                "the model `gpt-9` does not exist or you do not have access to it",
                true,
            ),
            ("file not found", false),
            ("the model is loading", false),
        ] {
            assert_eq!(names_a_missing_model(said), missing, "{said}");
        }
    }
}
