//! Lists of texts and names of tools, in whatever form a model gives them.

use serde_json::Value;

use crate::domain::ToolName;

use super::json::unquoted;

/// Characters of a keyword, and keywords; more is a model's that does not find its end.
pub(super) const LONGEST_KEYWORD: usize = 200;
pub(super) const MOST_KEYWORDS: usize = 40;

/// What separates keywords in one text.
pub(super) const KEYWORD_BORDERS: [char; 4] = [',', '\n', '，', '、'];

/// The tool of that name, with the prefixes and separators that models add.
pub fn tool_named(name: &str) -> Option<ToolName> {
    let name = name.trim().to_lowercase().replace(['-', ' '], "_");
    ToolName::parse(name.rsplit(['.', '/']).next().unwrap_or_default())
}

/// A list of texts, however it was written: a list, a list as text, or one text cut at `borders`.
pub fn texts(value: Option<&Value>, borders: &[char]) -> Vec<String> {
    let listed = value.and_then(unquoted);
    let pieces: Vec<String> = match listed.as_ref().filter(|listed| listed.is_array()).or(value) {
        Some(Value::Array(items)) => items.iter().filter_map(text_of).collect(),
        Some(Value::String(text)) => text.split(borders).map(str::to_owned).collect(),
        other => other.and_then(text_of).into_iter().collect(),
    };
    let pieces = pieces.iter().map(|piece| piece.trim());
    pieces
        .filter(|piece| !piece.is_empty())
        .map(str::to_owned)
        .collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(fields) => ["question", "query", "text", "tool", "name"]
            .into_iter()
            .find_map(|key| fields.get(key)?.as_str().map(str::to_owned)),
        _ => None,
    }
}

/// Whether a text has more than so many characters.
pub(super) fn is_longer(text: &str, most: usize) -> bool {
    text.chars().nth(most).is_some()
}
