//! The tool calls in a reply (R11).

use serde_json::{Map, Value, json};

use crate::agent::ports::{Caveat, PlannedCalls};
use crate::domain::{Argument, ArgumentKind, ToolCall, ToolName};
use crate::text::one_line;

use super::json::{find_all, unquoted};
use super::lists::{KEYWORD_BORDERS, LONGEST_KEYWORD, MOST_KEYWORDS, is_longer, texts, tool_named};

const LISTS: [&str; 5] = ["calls", "tool_calls", "tools", "plan", "actions"];
const NAMES: [&str; 3] = ["tool", "name", "tool_name"];
const ARGUMENTS: [&str; 4] = ["args", "arguments", "parameters", "input"];
/// The names by which models give an argument, its own first. Those of a query may be another argument
/// elsewhere.
const SYNONYMS: [&str; 8] = [
    "query semantic_query q question text pattern keywords keyword regex",
    "semantic_query query q question text",
    "exact_keywords keywords grep_keywords",
    "k top_k",
    "path file file_path source folder glob",
    "start_line start",
    "end_line end",
    "entity_id entity id document path query",
];
/// Characters of an argument; what is longer was written by a model that did not find its end.
const LONGEST_ARGUMENT: usize = 2_000;

/// The calls of the reply. What cannot be called is dropped, with a caveat each; a reply without
/// any plan has one caveat of its own. Costs are not known here.
pub fn plan(reply: &str) -> PlannedCalls {
    let mut planned = PlannedCalls::default();
    let warnings = &mut planned.warnings;
    let Some(calls) = calls_in(reply) else {
        let message = "the plan could not be read";
        warnings.push(Caveat::new("plan_unreadable", message));
        return planned;
    };
    for fields in calls {
        match call(&fields) {
            Ok(call) => planned.calls.push(call),
            Err(why) => {
                let message = format!("a planned call was dropped: {why}");
                warnings.push(Caveat::new("call_dropped", message));
            }
        }
    }
    planned
}

/// The first list of calls; without any, all the calls that stand for themselves.
fn calls_in(reply: &str) -> Option<Vec<Map<String, Value>>> {
    let found = find_all(reply);
    let list = found.iter().find_map(|found| list_of_calls(&found.value));
    list.or_else(|| {
        let single = found.iter().filter_map(|found| as_call(&found.value));
        Some(single.collect()).filter(|single: &Vec<_>| !single.is_empty())
    })
}

fn list_of_calls(value: &Value) -> Option<Vec<Map<String, Value>>> {
    match value {
        Value::Array(items) => {
            let calls: Vec<_> = items.iter().filter_map(as_call).collect();
            // The whole plan may be the argument of one call, or be wrapped.
            let within = match (&calls[..], &items[..]) {
                ([call], _) => given_to(call).and_then(list_of_calls),
                ([], [only]) => list_of_calls(only),
                _ => None,
            };
            within
                .filter(|calls| !calls.is_empty())
                .or((!calls.is_empty() || items.is_empty()).then_some(calls))
        }
        Value::Object(fields) => {
            let mut listed = LISTS.into_iter().filter_map(|key| fields.get(key));
            match fields.values().next() {
                // Looked into once: twice at each level would never come to an end.
                Some(only) if fields.len() == 1 => list_of_calls(only),
                _ => listed.find_map(list_of_calls),
            }
        }
        other => list_of_calls(&unquoted(other)?),
    }
}

/// The fields of a call, unwrapped from `{"function": {…}}`.
fn as_call(value: &Value) -> Option<Map<String, Value>> {
    let fields = value.as_object()?;
    let fields = match fields.get("function") {
        Some(Value::Object(inner)) => inner,
        _ => fields,
    };
    name_of(fields).map(|_| fields.clone())
}

fn name_of(fields: &Map<String, Value>) -> Option<&str> {
    NAMES.into_iter().find_map(|key| fields.get(key)?.as_str())
}

/// What a call has in place of arguments.
fn given_to(call: &Map<String, Value>) -> Option<&Value> {
    ARGUMENTS.into_iter().find_map(|key| call.get(key))
}

/// The call, each argument under whichever of its names it was given.
fn call(fields: &Map<String, Value>) -> Result<ToolCall, String> {
    let name = name_of(fields).unwrap_or_default();
    let tool = tool_named(name).ok_or_else(|| format!("no tool '{}'", one_line(name, 60)))?;
    let given = arguments(tool, fields)?;
    let mut args = Map::new();
    for &argument in tool.descriptor().arguments {
        let name = argument.name;
        let names = SYNONYMS
            .into_iter()
            .find(|names| names.split(' ').next() == Some(name));
        let value = names
            .unwrap_or(name)
            .split(' ')
            .find_map(|name| given.get(name).filter(|value| !value.is_null()));
        let value = coerce(value, argument).map_err(|why| format!("{tool} {why}"))?;
        if value.is_null() && !argument.is_optional {
            return Err(format!("{tool} lacks '{name}'"));
        }
        args.insert(name.to_owned(), value);
    }
    serde_json::from_value(json!({"tool": tool, "args": args}))
        .map_err(|why| format!("{tool}: {why}"))
}

/// The arguments of a call, wherever and however they were given.
fn arguments(tool: ToolName, fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(given) = given_to(fields) else {
        // Some models put them beside the name.
        return Ok(fields.clone());
    };
    match (given, unquoted(given)) {
        (Value::Object(fields), _) => Ok(fields.clone()),
        (_, Some(Value::Object(fields))) => Ok(fields),
        (Value::String(text), _) if text.trim_start().starts_with('{') => {
            Err(format!("{tool} has arguments that are not JSON"))
        }
        (Value::String(_), _) => {
            // One word in place of arguments is the one that every tool needs.
            let needed = tool.descriptor().arguments.iter().take(1);
            Ok(needed
                .map(|it| (it.name.to_owned(), given.clone()))
                .collect())
        }
        _ => Err(format!("{tool} has arguments that are no object")),
    }
}

/// The value in the form that the argument has; null where nothing was given.
fn coerce(value: Option<&Value>, argument: Argument) -> Result<Value, String> {
    let name = argument.name;
    let endless = || Err(format!("has an endless '{name}'"));
    if argument.kind == ArgumentKind::List {
        let keywords = texts(value, &KEYWORD_BORDERS);
        let is_endless = |keyword: &String| is_longer(keyword, LONGEST_KEYWORD);
        if keywords.len() > MOST_KEYWORDS || keywords.iter().any(is_endless) {
            return endless();
        }
        return Ok(keywords.into());
    }
    let text = match value {
        Some(Value::String(text)) => text.trim().to_owned(),
        value => texts(value, &[]).join(" "),
    };
    if text.is_empty() {
        return Ok(Value::Null);
    }
    if argument.kind == ArgumentKind::Count {
        return match text.parse() {
            // Lines are counted from 1, and no search is for nothing: 0 is how models leave a number out.
            Ok(0.0) => Ok(Value::Null),
            Ok(count) if f64::fract(count) == 0.0 && (0.0..=1e9).contains(&count) => {
                Ok((count as u64).into())
            }
            _ => {
                let given = value.map(ToString::to_string).unwrap_or_default();
                Err(format!(
                    "has '{name}' {}, not a count",
                    one_line(&given, 40)
                ))
            }
        };
    }
    if is_longer(&text, LONGEST_ARGUMENT) {
        return endless();
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(query: &str, k: Option<usize>) -> ToolCall {
        ToolCall::VectorSearch {
            query: query.to_owned(),
            k,
        }
    }

    #[test]
    fn r11_calls_are_read_in_every_wrapping() {
        for reply in [
            r#"[{"tool": "vector_search", "args": {"query": "routing", "k": 5}}]"#,
            r#"[{"tool": "vector_search", "args": {"query": "routing", "k": "5"}}]"#,
            r#"[{"tool": "vector_search", "args": {"query": "routing", "k": 5.0}}]"#,
            r#"{"calls": [{"tool": "vector_search", "args": {"query": "routing", "k": 5}}]}"#,
            r#"{"result": [{"tool": "vector_search", "args": {"query": "routing", "k": 5}}]}"#,
            r#"{"response": {"calls": [{"tool": "vector_search", "args": {"query": "routing", "k": 5}}]}}"#,
            r#"{"Calls": [{"Tool": "vector_search", "Args": {"Query": "routing", "topK": 5}}]}"#,
            r#"[{"name": "tool_calls", "arguments": "{\"calls\": [{\"tool\": \"vector_search\", \"args\": {\"query\": \"routing\", \"k\": 5}}]}"}]"#,
            "[{'tool': 'vector_search', 'args': {'query': 'routing', 'k': 5,},},]",
            r#"{"tool_calls": [{"name": "vector_search", "arguments": {"query": "routing", "k": 5}}]}"#,
            r#"[{"type": "function", "function": {"name": "tool_calls", "arguments": "{\"calls\": [{\"tool\": \"vector_search\", \"args\": {\"query\": \"routing\", \"k\": 5}}]}"}}]"#,
            r#"[{"arguments": {"calls": [{"tool": "vector_search", "args": {"query": "routing", "k": 5}}]}}]"#,
            r#"[{"name": "vector_search", "arguments": "{\"query\": \"routing\", \"k\": 5}"}]"#,
            r#"[{"type": "function", "function": {"name": "vector_search", "arguments": "{\"query\": \"routing\", \"k\": 5}"}}]"#,
            r#"{"tool": "vector_search", "args": {"query": "routing", "k": 5}}"#,
            r#"<tool_call>{"name": "vector_search", "arguments": {"query": "routing", "k": 5}}</tool_call>"#,
            r#"[{"tool": "functions.Vector-Search", "query": "routing", "top_k": 5}]"#,
            "<think>[{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}]</think>See [1]:\n```json\n[{\"tool\": \"vector_search\", \"args\": {\"query\": \"routing\", \"k\": 5}}]\n```\nDone.",
        ] {
            let planned = plan(reply);
            assert_eq!(planned.calls, [vector("routing", Some(5))], "{reply}");
            assert_eq!(planned.warnings, vec![], "{reply}");
        }
    }

    #[test]
    fn r11_every_tool_is_read_with_its_arguments() {
        let planned = plan(
            r#"[{"tool": "vector_search", "args": {"query": "a"}},
                {"tool": "grep_search", "args": {"query": "PROJ-\\d+"}},
                {"tool": "hybrid_search", "args": {"semantic_query": "b", "exact_keywords": "c, d"}},
                {"tool": "hybrid_search", "args": {"query": "b", "exact_keywords": ["c"]}},
                {"tool": "read_file", "args": {"path": "a.md", "start_line": "3", "end_line": 9}},
                {"tool": "read_file", "args": "b.md"},
                {"tool": "local_file_qa", "args": {"query": "e", "path": "*.md"}},
                {"tool": "graph_related", "args": {"entity_id": "PROJ-123"}}]"#,
        );
        assert_eq!(planned.warnings, vec![]);
        let wire = serde_json::to_value(&planned.calls).unwrap();
        assert_eq!(
            wire,
            serde_json::json!([
                {"tool": "vector_search", "args": {"query": "a"}},
                {"tool": "grep_search", "args": {"query": "PROJ-\\d+"}},
                {"tool": "hybrid_search", "args": {"semantic_query": "b", "exact_keywords": ["c", "d"]}},
                {"tool": "hybrid_search", "args": {"semantic_query": "b", "exact_keywords": ["c"]}},
                {"tool": "read_file", "args": {"path": "a.md", "start_line": 3, "end_line": 9}},
                {"tool": "read_file", "args": {"path": "b.md"}},
                {"tool": "local_file_qa", "args": {"query": "e", "path": "*.md"}},
                {"tool": "graph_related", "args": {"entity_id": "PROJ-123"}},
            ])
        );
    }

    #[test]
    fn r11_what_cannot_be_called_is_dropped_and_the_rest_kept() {
        for (dropped, why) in [
            (
                r#"{"tool": "web_search", "args": {"query": "x"}}"#,
                "no tool 'web_search'",
            ),
            (
                r#"{"tool": "vector_search", "args": {}}"#,
                "vector_search lacks 'query'",
            ),
            (
                r#"{"tool": "vector_search", "args": {"query": " "}}"#,
                "vector_search lacks 'query'",
            ),
            (
                r#"{"tool": "vector_search", "args": {"query": {"a": 1}}}"#,
                "vector_search lacks 'query'",
            ),
            (
                r#"{"tool": "vector_search", "args": {"query": "x", "k": "many"}}"#,
                "vector_search has 'k' \"many\", not a count",
            ),
            (
                r#"{"tool": "read_file", "args": {"path": "a", "start_line": -1}}"#,
                "read_file has 'start_line' -1, not a count",
            ),
            (
                r#"{"tool": "read_file", "args": "{\"path\": "}"#,
                "read_file has arguments that are not JSON",
            ),
            (
                r#"{"tool": "read_file", "args": 7}"#,
                "read_file has arguments that are no object",
            ),
        ] {
            let kept = r#"{"tool": "vector_search", "args": {"query": "kept"}}"#;
            let planned = plan(&format!("[{dropped}, {kept}]"));
            assert_eq!(planned.calls, [vector("kept", None)], "{dropped}");
            assert_eq!(
                planned.warnings,
                [Caveat {
                    code: "call_dropped",
                    message: format!("a planned call was dropped: {why}"),
                }]
            );
        }
    }

    #[test]
    fn r11_an_endless_argument_is_dropped() {
        let endless = "the ".repeat(501);
        let many = vec!["word"; MOST_KEYWORDS + 1];
        for (call, name) in [
            (
                json!({"tool": "grep_search", "args": {"query": endless}}),
                "query",
            ),
            (
                json!({"tool": "local_file_qa", "args": {"query": "a", "path": endless}}),
                "path",
            ),
            (
                json!({"tool": "hybrid_search", "args": {"semantic_query": "a", "exact_keywords": many}}),
                "exact_keywords",
            ),
        ] {
            let kept = json!({"tool": "grep_search", "args": {"query": "the ".repeat(500)}});
            let planned = plan(&json!([call, kept]).to_string());
            assert_eq!(planned.calls.len(), 1, "{name}");
            let tool = call["tool"].as_str().unwrap();
            let message = format!("a planned call was dropped: {tool} has an endless '{name}'");
            assert_eq!(planned.warnings[0].message, message);
        }
    }

    #[test]
    fn r11_a_reply_without_a_plan_is_said_to_be_one() {
        for reply in [
            "",
            "I would search for it.",
            "[1, 2]",
            "{\"answer\": \"42\"}",
            "<think>[{\"tool\": \"read_file\", \"args\": \"a\"}]",
        ] {
            let planned = plan(reply);
            assert_eq!(planned.calls, vec![], "{reply}");
            assert_eq!(planned.warnings.len(), 1, "{reply}");
            assert_eq!(planned.warnings[0].code, "plan_unreadable", "{reply}");
        }
        assert_eq!(plan("[]"), PlannedCalls::default());
    }
}
