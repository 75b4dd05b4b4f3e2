//! What servers that speak the same protocol spell differently.

use serde_json::Value;

/// The name of the first model in a listing: `{"data":[{"id"}]}`, `{"models":[{"name"}]}` or a
/// bare list.
pub fn first_model(listing: &Value) -> Option<&str> {
    let models = match listing {
        Value::Array(models) => models,
        Value::Object(fields) => fields
            .get("data")
            .or_else(|| fields.get("models"))?
            .as_array()?,
        _ => return None,
    };
    let first = models.first()?;
    ["id", "model", "name"]
        .into_iter()
        .find_map(|key| first.get(key)?.as_str())
        .or_else(|| first.as_str())
        .filter(|name| !name.is_empty())
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
    fn the_first_model_is_found_in_every_shape() {
        for (listing, name) in [
            (json!({"data": [{"id": "a"}, {"id": "b"}]}), Some("a")),
            (json!({"models": [{"name": "c"}]}), Some("c")),
            (json!([{"id": "d"}]), Some("d")),
            (json!({"data": []}), None),
            (json!({"data": null}), None),
            (json!("x"), None),
        ] {
            assert_eq!(first_model(&listing), name, "{listing}");
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
