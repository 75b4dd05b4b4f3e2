//! What tools take; the comments here are the descriptions of their schemas.
//!
//! Numbers come in every form that clients write them in, and null is an argument that is not given.
//! Each argument is read alone first, so that what is wrong is said with its name.

use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cli::ask::{LONGEST_QUESTION, RouteOption};
use crate::cli::search::Tool;
use crate::text::one_line;

/// The most that a line or a character of one can be; clients say the largest number for the end.
const MOST: usize = u32::MAX as usize;

/// What `search` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars", extend("required" = ["query"]))]
#[serde(default, deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// What to search for: a question, words, or for grep a regular expression. @FOLDER/ or @FILE,
    /// "these words", -word, file:, type:, after:, before: and tag: limit it
    #[serde(deserialize_with = "question")]
    pub(super) query: String,
    /// How many passages; 10 unless given
    #[serde(deserialize_with = "count::<_, 100>")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) k: Option<usize>,
    /// How to search: by words and meaning (hybrid), by meaning alone (vector), or for the words or
    /// the regular expression as the files have them now (grep)
    pub(super) tool: Tool,
}

/// What `read` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars", extend("required" = ["path"]))]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReadRequest {
    /// The document: the source or the uri of a passage, a citation or a listed document
    pub(super) path: String,
    /// The first line, from 1
    #[serde(deserialize_with = "first")]
    #[schemars(range(min = 1))]
    pub(super) start_line: Option<usize>,
    /// The first character of that line, from 1: next_column of the part before, where a line is too
    /// long for one reply
    #[serde(deserialize_with = "first")]
    #[schemars(range(min = 1))]
    pub(super) start_column: Option<usize>,
    /// The last line; at most 400 lines come at once
    #[serde(deserialize_with = "count::<_, MOST>")]
    #[schemars(range(min = 1))]
    pub(super) end_line: Option<usize>,
}

/// What `ask` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars", extend("required" = ["question"]))]
#[serde(default, deny_unknown_fields)]
pub(super) struct AskRequest {
    /// The question, complete in itself; @FOLDER/ or @FILE in it keeps it within these
    #[serde(deserialize_with = "question")]
    pub(super) question: String,
    /// The way to go instead of the one that the analysis chooses: simple is quick, complex grades
    /// the evidence and searches again where it is poor
    pub(super) route: RouteOption,
}

/// What `list_documents` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(default, deny_unknown_fields)]
pub(super) struct ListRequest {
    /// What the paths begin with, such as a folder
    pub(super) prefix: String,
    /// next_cursor of the page before
    pub(super) cursor: Option<String>,
    /// How many documents; 100 unless given
    #[serde(deserialize_with = "count::<_, 1000>")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) limit: Option<usize>,
}

/// Reads the arguments of a call; `needed` is the one that must be there.
pub(super) fn parse<T: DeserializeOwned>(mut given: JsonObject, needed: &str) -> Result<T, String> {
    given.retain(|_, value| !value.is_null());
    for (name, value) in &given {
        let alone = JsonObject::from_iter([(name.clone(), value.clone())]);
        let read = serde_json::from_value::<T>(alone.into());
        read.map_err(|why| one_line(&format!("{name}: {why}"), 400))?;
    }
    if !needed.is_empty() && !given.contains_key(needed) {
        return Err(format!("{needed} is missing"));
    }
    serde_json::from_value(given.into()).map_err(|why| one_line(&why.to_string(), 400))
}

/// A question or query without the spaces around it.
fn question<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    match text.trim() {
        "" => Err(Error::custom("it is empty: say what to look for")),
        long if long.len() > LONGEST_QUESTION => Err(Error::custom(format!(
            "it is longer than {} kB: name a document in it with @FILE instead",
            LONGEST_QUESTION >> 10
        ))),
        text => Ok(text.to_owned()),
    }
}

/// A whole number from 1 to `MOST`, such as 3, 3.0 and "3".
fn count<'de, D: Deserializer<'de>, const MOST: usize>(from: D) -> Result<Option<usize>, D::Error> {
    let value = Value::deserialize(from)?;
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        number => number.as_f64(),
    };
    let is_count = |number: &f64| number.fract() == 0.0 && (1.0..=MOST as f64).contains(number);
    let number = number.filter(is_count).map(|number| number as usize);
    let wrong = || format!("{value} is no whole number from 1 to {MOST}");
    number.map(Some).ok_or_else(|| Error::custom(wrong()))
}

/// A number of what is counted from 1; who counts from 0 means the first.
fn first<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    match Value::deserialize(from)? {
        zero if zero.as_f64() == Some(0.0) => Ok(None),
        value => count::<_, MOST>(value).map_err(Error::custom),
    }
}

/// The schema of what a tool takes.
pub(super) fn schema_of_request<T: JsonSchema>() -> Arc<JsonObject> {
    tidied::<T>(SchemaSettings::draft2020_12())
}

/// The schema of what a tool brings.
pub(super) fn schema_of_reply<T: JsonSchema>() -> Arc<JsonObject> {
    tidied::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// A schema as every client reads it: without references and formats, with one type for a value and
/// one line for a description.
fn tidied<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.remove("title");
    schema.remove("description");
    Arc::new(schema)
}

fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(tidy),
        Value::Object(fields) => {
            fields.remove("format");
            fields.remove("default");
            if let Some(Value::Array(types)) = fields.get("type") {
                let first = types.first().cloned();
                fields.extend(first.map(|first| ("type".to_owned(), first)));
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = one_line(text, 2000);
            }
            fields.values_mut().for_each(tidy);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn search(given: &Value) -> Result<SearchRequest, String> {
        parse(given.as_object().cloned().unwrap(), "query")
    }

    #[test]
    fn a_number_is_read_in_every_form_and_what_is_wrong_is_named() {
        for (k, expected) in [
            (json!({"query": "a"}), None),
            (json!({"query": "a", "k": null}), None),
            (json!({"query": "a", "k": 3}), Some(3)),
            (json!({"query": "a", "k": 3.0}), Some(3)),
            (json!({"query": "a", "k": " 3 "}), Some(3)),
        ] {
            assert_eq!(search(&k).unwrap().k, expected);
        }
        for (given, why) in [
            (
                json!({"query": "a", "k": 0}),
                "k: 0 is no whole number from 1 to 100",
            ),
            (json!({"query": "a", "k": 3.5}), "k: 3.5 is no whole number"),
            (
                json!({"query": "a", "k": "x"}),
                "k: \"x\" is no whole number",
            ),
            (json!({"query": 3}), "query: invalid type: integer"),
            (json!({"query": " "}), "query: it is empty"),
            (json!({"k": 3}), "query is missing"),
            (
                json!({"query": "a", "tool": "web"}),
                "tool: unknown variant `web`, expected one of",
            ),
            (
                json!({"query": "a", "foo": 1}),
                "foo: unknown field `foo`, expected one of `query`",
            ),
        ] {
            let error = search(&given).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
        let zero = json!({"path": "a", "start_line": 0, "start_column": "2"});
        let read: ReadRequest = parse(zero.as_object().cloned().unwrap(), "path").unwrap();
        assert_eq!((read.start_line, read.start_column), (None, Some(2)));
    }

    #[test]
    fn a_schema_has_single_types_no_formats_and_no_references() {
        let schema = Value::Object((*schema_of_request::<SearchRequest>()).clone());
        assert_eq!(schema["properties"]["k"]["type"], "integer");
        assert_eq!(schema["properties"]["k"]["maximum"], 100);
        assert_eq!(schema["properties"]["tool"]["enum"][0], "vector");
        assert_eq!(schema["required"], Value::from(vec!["query"]));
        assert_eq!(schema["additionalProperties"], false);
        let text = schema.to_string();
        assert!(!text.contains("format") && !text.contains("$ref"), "{text}");
        assert!(!text.contains("\\n"), "{text}");
    }
}
