//! How large a model is: by what its server says, else by its name.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

const SIZES: &str = include_str!("../../assets/llm/model_sizes.toml");

#[derive(Deserialize)]
struct Sizes {
    model: Vec<KnownSize>,
}

#[derive(Deserialize)]
struct KnownSize {
    begins: Vec<String>,
    billions: f64,
}

#[expect(
    clippy::expect_used,
    reason = "the file is part of the program, and a test reads it"
)]
static KNOWN: LazyLock<Vec<KnownSize>> = LazyLock::new(|| {
    let sizes: Sizes = toml::from_str(SIZES).expect("the built-in table");
    sizes.model
});

/// A size within a name: `8b`, `1.5B`, `8x7b`, `135m`, `e4b`. Of a mixture, `30b-a3b`, the whole counts.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant, and a test uses it"
)]
static IN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[-_:/. ]|[-_:]e)(?:(?<experts>\d+)x)?(?<number>\d+(?:\.\d+)?)(?<unit>[bm])(?:$|[-_:. @])")
        .expect("a pattern of the program")
});

/// Billions of parameters as the server states them: llama.cpp as a number, Ollama as `8.0B`.
pub(super) fn stated_billions(model: &Value) -> Option<f64> {
    let counted = model["meta"]["n_params"].as_f64().map(|count| count / 1e9);
    let written = || {
        let text = model["details"]["parameter_size"].as_str()?;
        size_in(text)
    };
    counted.or_else(written).filter(|billions| *billions > 0.0)
}

/// Billions of parameters of a model of that name; `None` where nothing tells.
pub fn billions_by_name(name: &str) -> Option<f64> {
    size_in(name).or_else(|| {
        let name = name.to_lowercase();
        let name = name.rsplit('/').next().unwrap_or_default();
        let rows = KNOWN.iter();
        let beginnings = rows.flat_map(|row| row.begins.iter().map(|it| (it, row.billions)));
        let fitting = beginnings.filter(|(begin, _)| name.starts_with(begin.as_str()));
        let longest = fitting.max_by_key(|(begin, _)| begin.len());
        longest.map(|(_, billions)| billions)
    })
}

fn size_in(name: &str) -> Option<f64> {
    let name = name.to_lowercase();
    let sizes = IN_NAME.captures_iter(&name).filter_map(|found| {
        let number: f64 = found["number"].parse().ok()?;
        let experts = found
            .name("experts")
            .and_then(|it| it.as_str().parse().ok());
        let unit = if &found["unit"] == "m" { 1e-3 } else { 1.0 };
        Some(number * experts.unwrap_or(1.0) * unit)
    });
    sizes.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn llm_the_size_of_a_model_is_read_from_its_listing_or_its_name() {
        for (name, billions) in [
            ("qwen2.5-coder-1.5b", Some(1.5)),
            ("qwen3:8b", Some(8.0)),
            ("Qwen/Qwen3-30B-A3B-Instruct", Some(30.0)),
            ("mixtral:8x7b", Some(56.0)),
            ("smollm2:135m", Some(0.135)),
            ("gemma3n:e4b", Some(4.0)),
            ("models/Llama-3.2-3B-Instruct-Q4_K_M.gguf", Some(3.0)),
            ("llama3.2:latest", Some(3.8)),
            ("qwen2.5-coder:latest", Some(7.0)),
            ("phi4-mini", Some(3.8)),
            ("gpt-4o-mini", None),
            ("claude-sonnet-4", None),
            ("deepseek-chat", None),
        ] {
            assert_eq!(billions_by_name(name), billions, "{name}");
        }
        let counted = json!({"id": "a", "meta": {"n_params": 1_543_714_304_u64}});
        assert!((stated_billions(&counted).unwrap() - 1.54).abs() < 0.01);
        let written = json!({"name": "a", "details": {"parameter_size": "8.0B"}});
        assert_eq!(stated_billions(&written), Some(8.0));
        assert_eq!(stated_billions(&json!({"id": "a"})), None);
    }
}
