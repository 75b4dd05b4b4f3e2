//! The form of a reply: the JSON schema that a server holds it to.
//!
//! They keep to the subset that strict servers take: every field is required and no other is allowed. That of an
//! analysis is a file in `assets/llm/schemas/`, which the prompt shows and the parser reads too; that of a plan is made
//! of the tools' descriptions.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::domain::{Argument, ArgumentKind, RoutingPlan, TOOLS, ToolDescriptor};
use crate::openai::SchemaBounds;

static ANALYSIS: LazyLock<Value> = LazyLock::new(|| {
    let file = include_str!("../../../assets/llm/schemas/analysis.json");
    let mut schema: Value = serde_json::from_str(file).unwrap_or_default();
    let tools = &mut schema["properties"]["suggested_tools"];
    tools["items"]["enum"] = TOOLS.iter().map(|tool| tool.word).collect();
    tools["maxItems"] = TOOLS.len().into();
    schema
});

/// Most calls of a plan.
const MOST_CALLS: usize = 6;
/// Characters of a text that a call looks for, and of one word of a list.
const LONGEST_TEXT: usize = 300;
const LONGEST_WORD: usize = 80;
const MOST_WORDS: usize = 8;

/// A reply's form, as a server is asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    /// Name of the schema; servers allow letters and underscores.
    pub name: &'static str,
    /// The schema with all its bounds.
    schema: Value,
    /// How many items it is about, where it is about some.
    pub items: usize,
}

/// A list is bounded by this times a power of two where the exact number would make a schema of
/// every question, compiled anew each time.
const FEWEST: usize = 8;

impl ReplySchema {
    fn new(name: &'static str, schema: Value, items: usize) -> Self {
        Self {
            name,
            schema,
            items,
        }
    }

    /// The schema with as much of its bounds as the server takes.
    pub fn schema(&self, bounds: SchemaBounds) -> Value {
        let mut schema = self.schema.clone();
        match bounds {
            SchemaBounds::All => {}
            SchemaBounds::Lists => loosen(&mut schema, &["maxLength", "minItems"]),
            SchemaBounds::None => loosen(&mut schema, &["maxLength", "minItems", "maxItems"]),
        }
        schema
    }
}

/// Removes those bounds, and rounds up the ones of lists that stay.
fn loosen(schema: &mut Value, dropped: &[&str]) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| !dropped.contains(&name.as_str()));
            if let Some(most) = fields.get_mut("maxItems") {
                let items = most.as_u64().unwrap_or_default() as usize;
                *most = items.max(FEWEST).next_power_of_two().into();
            }
            fields.values_mut().for_each(|inner| loosen(inner, dropped));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| loosen(inner, dropped)),
        _ => {}
    }
}

/// The routing plan, and the reply to chitchat beside it.
pub fn analysis() -> ReplySchema {
    ReplySchema::new("routing_plan", ANALYSIS.clone(), 0)
}

/// The schema of a plan: a list of tool calls.
pub fn plan() -> ReplySchema {
    let calls: Vec<Value> = TOOLS.iter().map(call_of).collect();
    let calls = json!({"type": "array", "items": {"anyOf": calls}, "maxItems": MOST_CALLS});
    ReplySchema::new("tool_calls", strict_object([("calls", calls)]), 0)
}

/// The schema of a call of this tool.
fn call_of(tool: &ToolDescriptor) -> Value {
    let arguments = tool.arguments.iter();
    let arguments = strict_object(arguments.map(|argument| (argument.name, value_of(*argument))));
    let word = json!({"type": "string", "enum": [tool.word]});
    strict_object([("tool", word), ("args", arguments)])
}

fn value_of(argument: Argument) -> Value {
    // Strict servers know no optional field: it may be null instead.
    let or_null = |name| {
        if argument.is_optional {
            json!([name, "null"])
        } else {
            json!(name)
        }
    };
    match argument.kind {
        ArgumentKind::Text => json!({"type": or_null("string"), "maxLength": LONGEST_TEXT}),
        ArgumentKind::Count => json!({"type": or_null("integer")}),
        ArgumentKind::List => {
            let word = json!({"type": "string", "maxLength": LONGEST_WORD});
            json!({"type": or_null("array"), "items": word, "maxItems": MOST_WORDS})
        }
    }
}

/// The schema of an object that has all these fields and no other.
fn strict_object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut names = Vec::new();
    let mut properties = Map::new();
    for (name, schema) in fields {
        names.push(name);
        properties.insert(name.to_owned(), schema);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": names,
        "properties": properties,
    })
}

/// One number for each item: exactly as many where the server compiles schemas by itself.
pub fn grades(items: usize) -> ReplySchema {
    let count = items.max(1);
    let numbers = json!({"type": "number"});
    let scores = json!({"type": "array", "items": numbers, "minItems": count, "maxItems": count});
    ReplySchema::new("grades", strict_object([("scores", scores)]), items)
}

/// The form of an analysis as the prompt shows it: each field with the words that it takes, or with an
/// example.
pub fn analysis_form() -> String {
    let example = serde_json::to_value(RoutingPlan::fallback()).unwrap_or_default();
    let lines = words_in(&ANALYSIS["required"]).map(|field| {
        let words = words_in(&ANALYSIS["properties"][field]["enum"]).collect::<Vec<_>>();
        match example.get(field) {
            _ if !words.is_empty() => format!("  \"{field}\": \"{}\"", words.join(" | ")),
            Some(value) => format!("  \"{field}\": {value}"),
            None if ANALYSIS["properties"][field]["type"] == "string" => {
                format!("  \"{field}\": \"…\"")
            }
            None => format!("  \"{field}\": null"),
        }
    });
    format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
}

/// The fields that make an object a routing plan; a reason may be one of anything.
pub fn analysis_fields() -> impl Iterator<Item = &'static str> {
    words_in(&ANALYSIS["required"]).filter(|field| *field != "reason")
}

fn words_in(list: &'static Value) -> impl Iterator<Item = &'static str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::domain::{Complexity, QueryType, ToolCall, ToolName};
    use crate::reasoner::llm::{analysis, plan};

    /// What serde says it could have read.
    fn words_of<T: for<'de> Deserialize<'de> + std::fmt::Debug>() -> Vec<String> {
        let error = serde_json::from_str::<T>("\"?\"").unwrap_err().to_string();
        let quoted = error.split('`').skip(3).step_by(2);
        quoted.map(str::to_owned).collect()
    }

    fn words_of_field(field: &'static str) -> Vec<&'static str> {
        let schema = &ANALYSIS["properties"][field];
        words_in(&schema["enum"])
            .chain(words_in(&schema["items"]["enum"]))
            .collect()
    }

    #[test]
    fn the_schema_of_an_analysis_has_every_field_and_word_of_the_domain_and_no_other() {
        let plan = serde_json::to_value(RoutingPlan::fallback()).unwrap();
        let mut fields: Vec<_> = plan
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.push("reply");
        let mut listed: Vec<_> = analysis_fields().collect();
        fields.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, fields);
        assert_eq!(words_of_field("query_type"), words_of::<QueryType>());
        assert_eq!(words_of_field("complexity"), words_of::<Complexity>());
        assert_eq!(
            words_of_field("complexity"),
            ["chitchat", "simple", "complex"]
        );
        let tools = ToolName::ALL.map(ToolName::as_str);
        assert_eq!(words_of_field("suggested_tools"), tools);
    }

    /// A call with every argument given.
    fn example_call(tool: &ToolDescriptor) -> Value {
        let value = |argument: &Argument| match argument.kind {
            ArgumentKind::Text => json!("which words to look for"),
            ArgumentKind::Count => json!(10),
            ArgumentKind::List => json!(["PROJ-123"]),
        };
        let args = tool.arguments.iter();
        let args: Map<_, _> = args.map(|it| (it.name.to_owned(), value(it))).collect();
        json!({"tool": tool.word, "args": args})
    }

    #[test]
    fn the_schema_of_a_plan_has_every_argument_of_every_tool() {
        let schema = plan().schema(SchemaBounds::All);
        let calls = schema["properties"]["calls"]["items"]["anyOf"].as_array();
        assert_eq!(calls.unwrap().len(), TOOLS.len());
        for tool in &TOOLS {
            let call = example_call(tool);
            let parsed: ToolCall = serde_json::from_value(call.clone()).unwrap();
            assert_eq!(serde_json::to_value(parsed).unwrap(), call, "{}", tool.word);
            for argument in tool.arguments {
                let mut without = call.clone();
                let args = without["args"].as_object_mut().unwrap();
                args.remove(argument.name);
                let can_do_without = serde_json::from_value::<ToolCall>(without).is_ok();
                // An empty list stands for one that was left out.
                let is_optional = argument.is_optional || argument.kind == ArgumentKind::List;
                assert_eq!(is_optional, can_do_without, "{} {argument:?}", tool.word);
            }
        }
    }

    #[test]
    fn every_call_of_the_schema_is_read_back_as_it_was_meant() {
        for tool in &TOOLS {
            let call = example_call(tool);
            let reply = json!({"calls": [call]}).to_string();
            let planned = plan::read(&reply);
            let meant: ToolCall = serde_json::from_value(call.clone()).unwrap();
            assert_eq!(planned.calls, [meant.into()], "{reply}");
            assert_eq!(planned.warnings, vec![], "{reply}");
            // Strict servers send null for what may be left out.
            let mut bare = call;
            for argument in tool
                .arguments
                .iter()
                .filter(|argument| argument.is_optional)
            {
                bare["args"][argument.name] = Value::Null;
            }
            let planned = plan::read(&json!({"calls": [bare]}).to_string());
            assert_eq!(planned.calls.len(), 1, "{bare}");
            assert_eq!(planned.calls[0].call.tool(), tool.name);
            assert_eq!(planned.warnings, vec![], "{bare}");
        }
    }

    #[test]
    fn every_word_of_the_schema_is_read_back() {
        for complexity in words_of_field("complexity") {
            for kind in words_of_field("query_type") {
                let reply = json!({"complexity": complexity, "query_type": kind,
                    "suggested_tools": words_of_field("suggested_tools"), "reply": null});
                let analysis = analysis::read(&reply.to_string());
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
                        let required = fields["required"].as_array().unwrap();
                        assert_eq!(required.len(), properties.len());
                        assert!(
                            required
                                .iter()
                                .all(|name| properties.contains_key(name.as_str().unwrap()))
                        );
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
        for field in ["complexity", "query_type"] {
            assert!(form.contains(&words_of_field(field).join(" | ")), "{form}");
        }
        let analysis = analysis::read(&form);
        assert_eq!(analysis.plan.suggested_tools, [ToolName::HybridSearch]);
    }
}
