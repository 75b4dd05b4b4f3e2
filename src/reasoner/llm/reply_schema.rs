//! What a reply looks like, taken from the domain types themselves.
//!
//! The schema that a server holds a reply to, the form that the prompt shows and the words that
//! the parser knows come from one place: an example of the type, written by serde, and the names
//! that serde reads. A field or a word that the domain gains is in all three at once; one that
//! only some of them know cannot be written.

use serde::Deserialize;
use serde::de::value::Error as Unread;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};

use super::server::SchemaBounds;
use crate::domain::{Complexity, QueryType, RoutingPlan, ToolCall, ToolName};

/// A reply's form: its name for servers, its schema, and an example for the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    /// As servers want it: letters and underscores.
    pub name: &'static str,
    /// JSON Schema, in the subset that strict servers take: every field required, none beside; with
    /// all bounds.
    schema: Value,
    /// How many items it is about, where it is about some.
    pub items: usize,
}

/// Parts of a question, and calls of a plan; prompts ask for as many at most.
const PARTS: usize = 6;
const PART_CHARS: usize = 240;
const KEYWORDS: usize = 8;
const KEYWORD_CHARS: usize = 80;
const REPLY_CHARS: usize = 500;
/// llama.cpp makes a rule of each character that is allowed, and refuses 2,000.
const ARGUMENT_CHARS: usize = 300;
/// A list is bounded by this times a power of two where the exact number would make a schema of
/// every question, compiled anew each time.
const FEWEST: usize = 8;

/// The keywords of JSON Schema that bound a reply.
const OF_TEXT: [&str; 1] = ["maxLength"];
const OF_LISTS: [&str; 2] = ["maxItems", "minItems"];

impl ReplySchema {
    /// The schema with as much of its bounds as the server takes.
    pub fn schema(&self, bounds: SchemaBounds) -> Value {
        let mut schema = self.schema.clone();
        loosen(&mut schema, bounds);
        schema
    }
}

fn loosen(schema: &mut Value, bounds: SchemaBounds) {
    match schema {
        Value::Object(fields) => {
            match bounds {
                SchemaBounds::All => return,
                SchemaBounds::Lists => {
                    fields
                        .retain(|name, _| !OF_TEXT.contains(&name.as_str()) && name != "minItems");
                    if let Some(most) = fields.get_mut("maxItems") {
                        let items = most.as_u64().unwrap_or_default() as usize;
                        *most = items.max(FEWEST).next_power_of_two().into();
                    }
                }
                SchemaBounds::None => fields.retain(|name, value| {
                    let bounds =
                        OF_TEXT.contains(&name.as_str()) || OF_LISTS.contains(&name.as_str());
                    !(bounds && value.is_number())
                }),
            }
            fields.values_mut().for_each(|inner| loosen(inner, bounds));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| loosen(inner, bounds)),
        _ => {}
    }
}

fn text(most: usize) -> Value {
    json!({"type": "string", "maxLength": most})
}

fn list(of: &Value, most: usize) -> Value {
    json!({"type": "array", "items": of, "maxItems": most})
}

/// The routing plan, and the reply to chitchat beside it.
pub fn analysis() -> ReplySchema {
    let mut fields = fields_of_plan();
    let reply = json!({"type": ["string", "null"], "maxLength": REPLY_CHARS});
    fields.insert("reply".to_owned(), reply);
    ReplySchema {
        name: "routing_plan",
        schema: object(&fields),
        items: 0,
    }
}

/// Tool calls.
pub fn plan() -> ReplySchema {
    let calls: Vec<Value> = ToolName::ALL.into_iter().map(schema_of_call).collect();
    ReplySchema {
        name: "tool_calls",
        schema: object(&fields([("calls", list(&json!({"anyOf": calls}), PARTS))])),
        items: 0,
    }
}

/// One number for each item: exactly as many where the server compiles schemas by itself.
pub fn grades(items: usize) -> ReplySchema {
    let mut scores = list(&json!({"type": "number"}), items.max(1));
    scores["minItems"] = items.max(1).into();
    ReplySchema {
        name: "grades",
        schema: object(&fields([("scores", scores)])),
        items,
    }
}

/// The form of an analysis as the prompt shows it: each field with the words that it takes.
pub fn analysis_form() -> String {
    let plan = serde_json::to_value(RoutingPlan::fallback()).unwrap_or_default();
    let mut lines: Vec<String> = names_of::<RoutingPlan>()
        .iter()
        .map(|&field| {
            let words = words_of_field(field);
            let value = if plan[field].is_array() {
                plan[field].to_string()
            } else {
                format!("\"{}\"", words.join(" | "))
            };
            format!("  \"{field}\": {value}")
        })
        .collect();
    lines.push("  \"reply\": null".to_owned());
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// The fields that make an object a routing plan.
pub fn analysis_fields() -> Vec<&'static str> {
    let mut fields = names_of::<RoutingPlan>().to_vec();
    fields.push("reply");
    fields
}

/// The value of that word, in the spelling of the wire format.
pub fn value_of<T: for<'de> Deserialize<'de>>(word: &str) -> Option<T> {
    serde_json::from_value(Value::from(word)).ok()
}

/// The arguments of a tool, in the order of the domain; those that may be left out are marked.
pub fn arguments_of(tool: ToolName) -> Vec<(String, bool)> {
    let example = example_of(tool);
    let Some(args) = example["args"].as_object() else {
        return Vec::new();
    };
    args.keys()
        .map(|name| {
            let mut without = example.clone();
            if let Some(args) = without["args"].as_object_mut() {
                args.remove(name);
            }
            let optional = serde_json::from_value::<ToolCall>(without).is_ok();
            (name.clone(), optional)
        })
        .collect()
}

/// A call with every argument given. A new tool or argument does not compile before it is here.
pub fn example_call(tool: ToolName) -> ToolCall {
    let query = || "which words to look for".to_owned();
    match tool {
        ToolName::VectorSearch => ToolCall::VectorSearch {
            query: query(),
            k: Some(10),
        },
        ToolName::GrepSearch => ToolCall::GrepSearch { query: query() },
        ToolName::HybridSearch => ToolCall::HybridSearch {
            semantic_query: query(),
            exact_keywords: vec!["PROJ-123".to_owned()],
        },
        ToolName::ReadFile => ToolCall::ReadFile {
            path: "guide/setup.md".to_owned(),
            start_line: Some(1),
            end_line: Some(80),
        },
        ToolName::LocalFileQa => ToolCall::LocalFileQa {
            query: query(),
            path: Some("docs/*.md".to_owned()),
            field: Some("status".to_owned()),
            value: Some("open".to_owned()),
        },
        ToolName::GraphRelated => ToolCall::GraphRelated {
            entity_id: "PROJ-123".to_owned(),
        },
    }
}

/// The same as JSON.
pub fn example_of(tool: ToolName) -> Value {
    serde_json::to_value(example_call(tool)).unwrap_or_default()
}

fn schema_of_call(tool: ToolName) -> Value {
    let example = example_of(tool);
    let args = arguments_of(tool).into_iter().map(|(name, optional)| {
        let kind = match (&example["args"][&name], optional) {
            // An empty list stands for one that was left out.
            (Value::Array(_), _) => list(&text(KEYWORD_CHARS), KEYWORDS),
            (Value::Number(_), true) => json!({"type": ["integer", "null"]}),
            (Value::Number(_), false) => json!({"type": "integer"}),
            (_, true) => json!({"type": ["string", "null"], "maxLength": ARGUMENT_CHARS}),
            (_, false) => text(ARGUMENT_CHARS),
        };
        (name, kind)
    });
    let args = object(&args.collect());
    object(&fields([
        ("tool", json!({"type": "string", "enum": [tool.as_str()]})),
        ("args", args),
    ]))
}

fn fields_of_plan() -> Map<String, Value> {
    let plan = serde_json::to_value(RoutingPlan::fallback()).unwrap_or_default();
    names_of::<RoutingPlan>()
        .iter()
        .map(|&field| {
            let words = words_of_field(field);
            let (one, most) = match (words, field) {
                ([], "sub_questions") => (text(PART_CHARS), PARTS),
                ([], _) => (text(KEYWORD_CHARS), KEYWORDS),
                (words, _) => (json!({"type": "string", "enum": words}), words.len()),
            };
            let kind = if plan[field].is_array() {
                list(&one, most)
            } else {
                one
            };
            (field.to_owned(), kind)
        })
        .collect()
}

/// The words that a field of the plan takes; empty where any text will do.
fn words_of_field(field: &str) -> &'static [&'static str] {
    match field {
        "query_type" => names_of::<QueryType>(),
        "complexity" => names_of::<Complexity>(),
        "suggested_tools" => names_of::<ToolName>(),
        _ => &[],
    }
}

fn object(fields: &Map<String, Value>) -> Value {
    let names: Vec<&String> = fields.keys().collect();
    json!({
        "type": "object",
        "required": names,
        "additionalProperties": false,
        "properties": fields,
    })
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind))
        .collect()
}

/// The fields of a struct or the words of an enum, as serde reads them.
fn names_of<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Reading never succeeds: what is asked for is the answer.
    let _ = T::deserialize(AskedFields(&mut names));
    names
}

/// A source that gives nothing and remembers what it was asked for.
struct AskedFields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for AskedFields<'_> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unread> {
        Err(Unread::custom("nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Unread> {
        *self.0 = fields;
        Err(Unread::custom("nothing to read"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Unread> {
        *self.0 = words;
        Err(Unread::custom("nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasoner::llm::read;

    #[test]
    fn names_are_those_of_the_wire_format() {
        assert_eq!(names_of::<Complexity>(), ["chitchat", "simple", "complex"]);
        let tools: Vec<_> = ToolName::ALL.iter().map(|tool| tool.as_str()).collect();
        assert_eq!(names_of::<ToolName>(), tools);
        assert_eq!(
            analysis_fields(),
            [
                "query_type",
                "complexity",
                "sub_questions",
                "parts",
                "suggested_tools",
                "grep_keywords",
                "reply"
            ]
        );
    }

    #[test]
    fn every_call_of_the_schema_is_read_back_as_it_was_meant() {
        for tool in ToolName::ALL {
            let call = example_call(tool);
            let reply = json!({"calls": [call]}).to_string();
            let planned = read::plan(&reply);
            assert_eq!(planned.calls, std::slice::from_ref(&call), "{reply}");
            assert_eq!(planned.warnings, vec![], "{reply}");
            // Strict servers send null for what may be left out.
            let mut bare = serde_json::to_value(&call).unwrap();
            for (name, optional) in arguments_of(tool) {
                if optional {
                    bare["args"][&name] = Value::Null;
                }
            }
            let planned = read::plan(&json!({"calls": [bare]}).to_string());
            assert_eq!(planned.calls.len(), 1, "{bare}");
            assert_eq!(planned.calls[0].tool(), tool);
            assert_eq!(planned.warnings, vec![], "{bare}");
        }
    }

    #[test]
    fn every_word_of_the_schema_is_read_back() {
        for &complexity in names_of::<Complexity>() {
            for &kind in names_of::<QueryType>() {
                let reply = json!({"complexity": complexity, "query_type": kind,
                    "suggested_tools": names_of::<ToolName>(), "reply": null});
                let analysis = read::analysis(&reply.to_string());
                let plan = serde_json::to_value(&analysis.plan).unwrap();
                assert_eq!(plan["complexity"], complexity);
                assert_eq!(plan["query_type"], kind);
                assert_eq!(analysis.plan.suggested_tools, ToolName::ALL);
                assert_eq!(analysis.warnings, vec![]);
            }
        }
    }

    #[test]
    fn schemas_are_strict_all_the_way_down() {
        fn check(schema: &Value) {
            match schema {
                Value::Object(fields) => {
                    if fields.get("type") == Some(&Value::from("object")) {
                        assert_eq!(fields["additionalProperties"], false);
                        let properties = fields["properties"].as_object().unwrap();
                        let names: Vec<_> = properties.keys().map(String::as_str).collect();
                        assert_eq!(fields["required"], json!(names));
                    }
                    fields.values().for_each(check);
                }
                Value::Array(items) => items.iter().for_each(check),
                _ => {}
            }
        }
        for reply in [analysis(), plan(), grades(3)] {
            for bounds in [SchemaBounds::All, SchemaBounds::Lists, SchemaBounds::None] {
                let schema = reply.schema(bounds);
                assert_eq!(schema["type"], "object", "{}", reply.name);
                check(&schema);
            }
        }
    }

    #[test]
    fn ends_every_list_and_every_text_of_a_reply_is_bounded() {
        fn count(schema: &Value, found: &mut [usize; 4]) {
            let kind = &schema["type"];
            let is = |name: &str| {
                kind == name || kind.as_array().is_some_and(|k| k.contains(&name.into()))
            };
            if is("array") {
                found[0] += 1;
                found[1] += usize::from(schema["maxItems"].as_u64().is_some());
            }
            if is("string") && schema["enum"].is_null() {
                found[2] += 1;
                let most = schema["maxLength"].as_u64();
                found[3] += usize::from(most.is_some_and(|most| most < 2_000));
            }
            match schema {
                Value::Object(fields) => fields.values().for_each(|inner| count(inner, found)),
                Value::Array(items) => items.iter().for_each(|inner| count(inner, found)),
                _ => {}
            }
        }
        let counted = |bounds| {
            let mut found = [0; 4];
            for reply in [analysis(), plan(), grades(3)] {
                count(&reply.schema(bounds), &mut found);
            }
            found
        };
        let [lists, bounded, texts, short] = counted(SchemaBounds::All);
        assert!(lists >= 5 && texts >= 8, "{lists} {texts}");
        assert_eq!((bounded, short), (lists, texts));
        assert_eq!(counted(SchemaBounds::Lists), [lists, lists, texts, 0]);
        assert_eq!(counted(SchemaBounds::None), [lists, 0, texts, 0]);
    }

    #[test]
    fn ends_grades_are_as_many_as_there_are_items_or_a_schema_that_is_seldom_new() {
        let scores =
            |items: usize, bounds| grades(items).schema(bounds)["properties"]["scores"].clone();
        let exact = scores(10, SchemaBounds::All);
        assert_eq!(
            (&exact["minItems"], &exact["maxItems"]),
            (&json!(10), &json!(10))
        );
        let stable = scores(10, SchemaBounds::Lists);
        assert_eq!(
            (&stable["minItems"], &stable["maxItems"]),
            (&Value::Null, &json!(16))
        );
        assert_eq!(stable, scores(16, SchemaBounds::Lists));
        assert_ne!(stable, scores(17, SchemaBounds::Lists));
    }

    #[test]
    fn the_form_in_the_prompt_names_every_word() {
        let form = analysis_form();
        for words in [names_of::<Complexity>(), names_of::<QueryType>()] {
            assert!(form.contains(&words.join(" | ")), "{form}");
        }
        let analysis = read::analysis(&form);
        assert_eq!(analysis.plan.suggested_tools, [ToolName::HybridSearch]);
    }

    /// The one JSON example of a prompt file.
    fn example_in(prompt: &str, start: &str) -> String {
        let at = prompt.find(start).unwrap();
        let mut values = serde_json::Deserializer::from_str(&prompt[at..]).into_iter::<Value>();
        values.next().unwrap().unwrap().to_string()
    }

    #[test]
    fn the_examples_in_the_prompts_are_read_back() {
        let plan = include_str!("../../../assets/prompts/plan.md");
        let planned = read::plan(&example_in(plan, "{\"calls\""));
        assert_eq!((planned.calls.len(), planned.warnings), (1, vec![]));
        let grade = include_str!("../../../assets/prompts/grade.md");
        let grades = read::grades(&example_in(grade, "{\"scores\""), 3);
        assert_eq!(grades, Ok(vec![0.9, 0.05, 0.4]));
    }
}
