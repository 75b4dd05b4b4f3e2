//! What tools take; the comments here are the descriptions of their schemas.
//!
//! Numbers come in every form that clients write them in, what is wrong is said with the name of the
//! argument, and an argument that a tool does not have is refused.

use std::sync::Arc;

use clap::ValueEnum;
use rmcp::model::JsonObject;
use rmcp::schemars::generate::SchemaSettings;
use rmcp::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::cli::ask::{LONGEST_QUESTION, RouteOption};
use crate::cli::search::Tool;
use crate::text::one_line;

/// The most that a line of a document can be; clients say the largest number for its end.
const MOST_LINES: usize = u32::MAX as usize;

/// What `search` takes.
#[derive(Debug, JsonSchema)]
#[schemars(crate = "rmcp::schemars", deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// What to search for: a question, words, or for grep a regular expression. @FOLDER/ or @FILE,
    /// "these words", -word, file:, type:, after:, before: and tag: limit it
    pub(super) query: String,
    /// How many passages; 10 unless given
    #[schemars(range(min = 1, max = 100))]
    pub(super) k: Option<usize>,
    /// How to search: by words and meaning (hybrid), by meaning alone (vector), or for the words or
    /// the regular expression as the files have them now (grep)
    #[schemars(default, schema_with = "schema_of_choice::<Tool>")]
    pub(super) tool: Tool,
}

/// What `read` takes.
#[derive(Debug, JsonSchema)]
#[schemars(crate = "rmcp::schemars", deny_unknown_fields)]
pub(super) struct ReadRequest {
    /// The document: the source or the uri of a passage, a citation or a listed document
    pub(super) path: String,
    /// The first line, from 1
    #[schemars(range(min = 1))]
    pub(super) start_line: Option<usize>,
    /// The last line; at most 400 lines come at once
    #[schemars(range(min = 1))]
    pub(super) end_line: Option<usize>,
}

/// What `ask` takes.
#[derive(Debug, JsonSchema)]
#[schemars(crate = "rmcp::schemars", deny_unknown_fields)]
pub(super) struct AskRequest {
    /// The question, complete in itself; @FOLDER/ or @FILE in it keeps it within these
    pub(super) question: String,
    /// The way to go instead of the one that the analysis chooses: simple is quick, complex grades
    /// the evidence and searches again where it is poor
    #[schemars(default, schema_with = "schema_of_choice::<RouteOption>")]
    pub(super) route: RouteOption,
}

/// What `list_documents` takes.
#[derive(Debug, JsonSchema)]
#[schemars(crate = "rmcp::schemars", deny_unknown_fields)]
pub(super) struct ListRequest {
    /// What the paths begin with, such as a folder
    #[schemars(default)]
    pub(super) prefix: String,
    /// next_cursor of the page before
    pub(super) cursor: Option<String>,
    /// How many documents; 100 unless given
    #[schemars(range(min = 1, max = 1000))]
    pub(super) limit: Option<usize>,
}

impl SearchRequest {
    pub(super) fn parse(given: JsonObject) -> Result<Self, String> {
        let mut given = Arguments(given);
        let request = Self {
            query: given.question("query")?,
            k: given.count("k", 100)?,
            tool: given.choice("tool")?,
        };
        given.end(request)
    }
}

impl ReadRequest {
    pub(super) fn parse(given: JsonObject) -> Result<Self, String> {
        let mut given = Arguments(given);
        // Who counts from 0 means the first line.
        if given.0.get("start_line").and_then(Value::as_u64) == Some(0) {
            given.0.remove("start_line");
        }
        let path = given.text("path")?;
        let request = Self {
            path: path.ok_or("path is missing: name a document")?,
            start_line: given.count("start_line", MOST_LINES)?,
            end_line: given.count("end_line", MOST_LINES)?,
        };
        given.end(request)
    }
}

impl AskRequest {
    pub(super) fn parse(given: JsonObject) -> Result<Self, String> {
        let mut given = Arguments(given);
        let request = Self {
            question: given.question("question")?,
            route: given.choice("route")?,
        };
        given.end(request)
    }
}

impl ListRequest {
    pub(super) fn parse(given: JsonObject) -> Result<Self, String> {
        let mut given = Arguments(given);
        let request = Self {
            prefix: given.text("prefix")?.unwrap_or_default(),
            cursor: given.text("cursor")?,
            limit: given.count("limit", 1000)?,
        };
        given.end(request)
    }
}

/// The arguments of a call that are not taken yet; null is none.
struct Arguments(JsonObject);

impl Arguments {
    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let other = one_line(&other.to_string(), 80);
                Err(format!("{name} is {other}: it must be text"))
            }
        }
    }

    /// A question or query without the spaces around it.
    fn question(&mut self, name: &str) -> Result<String, String> {
        let text = self.text(name)?.unwrap_or_default();
        match text.trim() {
            "" => Err(format!("{name} is empty: say what to look for")),
            long if long.len() > LONGEST_QUESTION => Err(format!(
                "{name} is longer than {} kB: name a document in it with @FILE instead",
                LONGEST_QUESTION >> 10
            )),
            text => Ok(text.to_owned()),
        }
    }

    /// A whole number from 1 to `most`, such as 3, 3.0 and "3".
    fn count(&mut self, name: &str, most: usize) -> Result<Option<usize>, String> {
        let value = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let is_count = |number: &f64| number.fract() == 0.0 && (1.0..=most as f64).contains(number);
        match number.filter(is_count) {
            Some(number) => Ok(Some(number as usize)),
            None => Err(format!(
                "{name} is {}: it must be a whole number from 1 to {most}",
                one_line(&value.to_string(), 80)
            )),
        }
    }

    /// A choice by the name that it has on the command line.
    fn choice<T: ValueEnum + Default>(&mut self, name: &str) -> Result<T, String> {
        let Some(text) = self.text(name)? else {
            return Ok(T::default());
        };
        T::from_str(&text, false).map_err(|_| {
            let names = names_of_choice::<T>().join(", ");
            format!(
                "{name} is '{}': it must be one of {names}",
                one_line(&text, 80)
            )
        })
    }

    /// The request, once nothing is left that it does not have.
    fn end<T>(self, request: T) -> Result<T, String> {
        match self.0.keys().next() {
            Some(name) => Err(format!(
                "{} is no argument of this tool",
                one_line(name, 80)
            )),
            None => Ok(request),
        }
    }
}

fn schema_of_choice<T: ValueEnum>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": names_of_choice::<T>()})
}

fn names_of_choice<T: ValueEnum>() -> Vec<String> {
    let values = T::value_variants().iter();
    let values = values.filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
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
        let given = given.as_object().cloned().unwrap();
        SearchRequest::parse(given)
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
            (json!({"query": "a", "k": 0}), "k is 0: it must be"),
            (json!({"query": "a", "k": 3.5}), "k is 3.5: it must"),
            (json!({"query": "a", "k": "x"}), "k is \"x\": it must"),
            (json!({"query": 3}), "query is 3: it must be text"),
            (json!({"query": " "}), "query is empty: say"),
            (json!({"k": 3}), "query is empty: say"),
            (
                json!({"query": "a", "tool": "web"}),
                "tool is 'web': it must be one of vector, grep",
            ),
            (json!({"query": "a", "foo": 1}), "foo is no argument"),
        ] {
            let error = search(&given).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn a_schema_has_single_types_no_formats_and_no_references() {
        let schema = Value::Object((*schema_of_request::<SearchRequest>()).clone());
        assert_eq!(schema["properties"]["k"]["type"], "integer");
        assert_eq!(schema["properties"]["k"]["maximum"], 100);
        assert_eq!(schema["required"], Value::from(vec!["query"]));
        assert_eq!(schema["additionalProperties"], false);
        let text = schema.to_string();
        assert!(!text.contains("format") && !text.contains("$ref"), "{text}");
        assert!(!text.contains("\\n"), "{text}");
    }
}
