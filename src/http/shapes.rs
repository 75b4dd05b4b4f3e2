//! What servers that speak the same protocol spell differently.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::model_size::{billions_by_name, stated_billions};

const OTHER_MODELS: &str = include_str!("../../assets/llm/other_models.toml");

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
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            purpose: ModelUse::Chat,
            context: None,
            billions: billions_by_name(name),
        }
    }
}

#[derive(Deserialize)]
struct OtherModels {
    kind: Vec<OtherKind>,
}

#[derive(Deserialize)]
struct OtherKind {
    name: String,
    parts: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads them"))]
    examples: Vec<String>,
}

#[expect(
    clippy::expect_used,
    reason = "the file is part of the program, and a test reads it"
)]
static KINDS: LazyLock<Vec<OtherKind>> = LazyLock::new(|| {
    let kinds: OtherModels = toml::from_str(OTHER_MODELS).expect("the built-in table");
    kinds.kind
});

/// The models in a listing: `{"data":[{"id"}]}`, `{"models":[{"name"}]}` or a bare list.
pub fn models(listing: &Value) -> Vec<ListedModel> {
    let models = match listing {
        Value::Array(models) => Some(models),
        Value::Object(fields) => fields
            .get("data")
            .or_else(|| fields.get("models"))
            .and_then(Value::as_array),
        _ => None,
    };
    let key_of = |model: &Value| {
        let keys = ["id", "model", "name"];
        keys.into_iter().find(|key| model[key].is_string())
    };
    models
        .into_iter()
        .flatten()
        .filter_map(|model| {
            let name = match key_of(model) {
                Some(key) => model[key].as_str(),
                None => model.as_str(),
            };
            let name = name.filter(|name| !name.is_empty())?;
            Some(ListedModel {
                name: name.to_owned(),
                purpose: stated_use(model).unwrap_or_else(|| use_by_name(name)),
                context: context(model),
                billions: stated_billions(model).or_else(|| billions_by_name(name)),
            })
        })
        .collect()
}

/// What LM Studio (`type`) and Mistral (`capabilities`) say of a model.
fn stated_use(model: &Value) -> Option<ModelUse> {
    match model["type"].as_str() {
        Some("llm" | "vlm" | "chat") => return Some(ModelUse::Chat),
        Some("embeddings" | "embedding") => return Some(ModelUse::Embedding),
        _ => {}
    }
    let can_chat = model["capabilities"]["completion_chat"].as_bool();
    can_chat
        .filter(|can_chat| *can_chat)
        .map(|_| ModelUse::Chat)
}

fn use_by_name(name: &str) -> ModelUse {
    let name = name.to_lowercase();
    let is_of = |kind: &&OtherKind| kind.parts.iter().any(|part| name.contains(part.as_str()));
    match KINDS.iter().find(is_of) {
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
        for kind in KINDS.iter() {
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
}
