//! Listings of models, and the message of an error, in the shapes in which servers write them.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelUse {
    /// A model that chats.
    Chat,
    /// A model that embeds text.
    Embedding,
    /// It does something else.
    Other,
}

/// A model of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// What requests call it.
    pub name: String,
    /// What it is for, by what the server says and else by its name.
    pub purpose: ModelUse,
    /// How many tokens it reads, where the server says.
    pub context: Option<usize>,
    /// Billions of parameters, where the server or the name says.
    pub billions: Option<f64>,
}

impl ListedModel {
    /// A model that chats of which only the name is known.
    pub fn from_name(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            purpose: ModelUse::Chat,
            context: None,
            billions: billions_by_name(name),
        }
    }
}

/// What is known of models by their names.
#[derive(Deserialize)]
struct ModelTables {
    kind: Vec<OtherKind>,
    model: Vec<KnownSize>,
}

/// A kind of model that does not chat.
#[derive(Deserialize)]
struct OtherKind {
    name: String,
    parts: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads them"))]
    examples: Vec<String>,
}

/// Models whose names do not tell how large they are.
#[derive(Deserialize)]
struct KnownSize {
    begins: Vec<String>,
    billions: f64,
}

#[expect(
    clippy::expect_used,
    reason = "the files are part of the program, and a test reads them"
)]
static TABLES: LazyLock<ModelTables> = LazyLock::new(|| {
    let tables = concat!(
        include_str!("../../assets/llm/other_models.toml"),
        "\n",
        include_str!("../../assets/llm/model_sizes.toml"),
    );
    toml::from_str(tables).expect("the built-in tables")
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

/// The models in a listing: `{"data":[{"id"}]}`, `{"models":[{"name"}]}` or a bare list.
pub fn models(listing: &Value) -> Vec<ListedModel> {
    let rows = listing.get("data").or_else(|| listing.get("models"));
    let rows = rows.unwrap_or(listing).as_array().into_iter().flatten();
    let listed = rows.filter_map(|model| {
        let mut keys = ["id", "model", "name"].into_iter();
        let name = keys.find_map(|key| model[key].as_str()).or(model.as_str());
        let name = name.filter(|name| !name.is_empty())?;
        Some(ListedModel {
            name: name.to_owned(),
            purpose: stated_use(model).unwrap_or_else(|| use_by_name(name)),
            context: context(model),
            billions: stated_billions(model).or_else(|| billions_by_name(name)),
        })
    });
    listed.collect()
}

/// What a listing says of a model: LM Studio and Together in `type`, Xinference in `model_type`, GitHub in
/// `task`, Mistral in `capabilities`.
fn stated_use(model: &Value) -> Option<ModelUse> {
    let kinds = ["type", "model_type", "task"].iter();
    let mut kinds = kinds.filter_map(|key| Some(model[key].as_str()?.to_lowercase()));
    let stated =
        kinds.find_map(|kind| match &*kind {
            "llm" | "vlm" | "chat" | "chat-completion" | "language" | "code"
            | "text-generation" => Some(ModelUse::Chat),
            "audio" | "image" | "moderation" | "rerank" | "stt" | "tts" | "transcribe"
            | "video" => Some(ModelUse::Other),
            kind => kind.contains("embed").then_some(ModelUse::Embedding),
        });
    let can_chat = model["capabilities"]["completion_chat"].as_bool();
    stated.or(can_chat
        .filter(|can_chat| *can_chat)
        .map(|_| ModelUse::Chat))
}

fn use_by_name(name: &str) -> ModelUse {
    let name = name.to_lowercase();
    let is_of = |kind: &&OtherKind| kind.parts.iter().any(|part| name.contains(part.as_str()));
    match TABLES.kind.iter().find(is_of) {
        None => ModelUse::Chat,
        Some(kind) if kind.name == "embedding" => ModelUse::Embedding,
        Some(_) => ModelUse::Other,
    }
}

/// Reads a model's context length from the fields of llama.cpp, vLLM, OpenRouter and LM Studio.
fn context(model: &Value) -> Option<usize> {
    let stated = [
        &model["meta"]["n_ctx"],
        &model["n_ctx"],
        &model["max_model_len"],
        &model["loaded_context_length"],
        &model["context_length"],
        &model["context_window"],
    ];
    let tokens = stated.into_iter().find_map(Value::as_u64)?;
    usize::try_from(tokens).ok().filter(|tokens| *tokens > 0)
}

/// Billions of parameters as the server states them: llama.cpp as a number, Ollama as `8.0B`.
fn stated_billions(model: &Value) -> Option<f64> {
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
        let rows = TABLES.model.iter();
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

/// What a server says went wrong, in any of the shapes in use.
pub fn error_message(error: &Value) -> Option<String> {
    match error {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Object(fields) => ["error", "message", "detail", "msg"]
            .into_iter()
            .find_map(|key| error_message(fields.get(key)?)),
        Value::Array(errors) => errors.first().and_then(error_message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_found_in_every_shape() {
        for (listing, names) in [
            (json!({"data": [{"id": "a"}, {"id": "b"}]}), &["a", "b"][..]),
            (json!({"models": [{"name": "c"}]}), &["c"]),
            (json!([{"id": "d"}, "e", 7, {"id": ""}]), &["d", "e"]),
            (json!({"data": []}), &[]),
            (json!({"data": null}), &[]),
            (json!("x"), &[]),
        ] {
            let listed = models(&listing);
            let listed: Vec<&str> = listed.iter().map(|model| model.name.as_str()).collect();
            assert_eq!(listed, names, "{listing}");
        }
    }

    #[test]
    fn a_model_is_for_what_the_server_says_or_its_name() {
        for kind in &TABLES.kind {
            for example in &kind.examples {
                let found = use_by_name(example);
                let is_embedding = kind.name == "embedding";
                assert_eq!(found == ModelUse::Embedding, is_embedding, "{example}");
                assert_ne!(found, ModelUse::Chat, "{example}");
            }
        }
        for name in [
            "qwen3-8b",
            "gpt-4o-mini",
            "claude-sonnet-4",
            "llama3.1:8b",
            "gemini-2.5-flash",
        ] {
            assert_eq!(use_by_name(name), ModelUse::Chat, "{name}");
        }
        let listing = json!({"data": [
            {"id": "own-embed-chat", "type": "llm", "loaded_context_length": 8192},
            {"id": "own", "type": "embeddings"},
            {"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 131_072}},
            {"id": "multilingual-e5-large", "object": "model", "type": "embedding"},
            {"id": "m", "type": "model", "task": "Embeddings"},
            {"id": "flux", "type": "image"},
        ]});
        let listed = models(&listing);
        let uses: Vec<_> = listed
            .iter()
            .map(|model| (model.purpose, model.context))
            .collect();
        assert_eq!(
            uses,
            [
                (ModelUse::Chat, Some(8192)),
                (ModelUse::Embedding, None),
                (ModelUse::Chat, Some(2048)),
                (ModelUse::Embedding, None),
                (ModelUse::Embedding, None),
                (ModelUse::Other, None),
            ]
        );
    }

    #[test]
    fn error_messages_are_found_in_every_shape() {
        for (error, message) in [
            (json!({"error": {"message": "a", "code": 400}}), Some("a")),
            (json!({"error": "b"}), Some("b")),
            (json!({"object": "error", "message": "c"}), Some("c")),
            (json!({"detail": [{"msg": "d"}]}), Some("d")),
            (json!([{"error": {"message": "e"}}]), Some("e")),
            (json!({"error": {}}), None),
            (json!(null), None),
        ] {
            assert_eq!(error_message(&error).as_deref(), message, "{error}");
        }
    }

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
