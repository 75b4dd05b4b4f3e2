//! What servers that speak the same protocol spell differently.

use serde_json::Value;

/// The names of the models in a listing: `{"data":[{"id"}]}`, `{"models":[{"name"}]}` or a bare
/// list.
pub fn models(listing: &Value) -> Vec<&str> {
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
        .filter_map(|model| match key_of(model) {
            Some(key) => model[key].as_str(),
            None => model.as_str(),
        })
        .filter(|name| !name.is_empty())
        .collect()
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
            assert_eq!(models(&listing), names, "{listing}");
        }
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
