//! The tool calls in a reply (R11).

use serde_json::{Map, Value, json};

use super::json::{
    KEYWORD_BORDERS, LONGEST_KEYWORD, MOST_KEYWORDS, find_all, first_of, is_longer, texts,
    tool_named, unquoted,
};
use crate::agent::ports::{Caveat, PlannedCalls};
use crate::domain::{Argument, ArgumentKind, ToolCall, ToolName};
use crate::text::one_line;

const LISTS: [&str; 5] = ["calls", "tool_calls", "tools", "plan", "actions"];
const NAMES: [&str; 3] = ["tool", "name", "tool_name"];
const ARGUMENTS: [&str; 4] = ["args", "arguments", "parameters", "input"];
/// The names by which models give an argument, its own first. Those of a query may be another argument
/// elsewhere.
#[rustfmt::skip]
const SYNONYMS: [&[&str]; 8] = [
    &["query", "semantic_query", "q", "question", "text", "pattern", "keywords", "keyword", "regex"],
    &["semantic_query", "query", "q", "question", "text"],
    &["exact_keywords", "keywords", "grep_keywords"],
    &["k", "top_k"],
    &["path", "file", "file_path", "source", "folder", "glob"],
    &["start_line", "start"],
    &["end_line", "end"],
    &["entity_id", "entity", "id", "document", "path", "query"],
];
/// Characters of an argument; what is longer was written by a model that did not find its end.
const LONGEST_ARGUMENT: usize = 2_000;

/// The fields of a call.
type Fields = Map<String, Value>;

/// Reads the calls of a reply. What cannot be called is dropped, with a caveat each; a reply without
/// any plan has one caveat of its own. Costs are not known here.
pub fn read(reply: &str) -> PlannedCalls {
    let mut planned = PlannedCalls::default();
    let Some(calls) = calls_in(reply) else {
        let unreadable = Caveat::new("plan_unreadable", "the plan could not be read");
        planned.warnings.push(unreadable);
        return planned;
    };
    for fields in calls {
        match read_call(&fields) {
            Ok(call) => planned.calls.push(call.into()),
            Err(why) => {
                let message = format!("a planned call was dropped: {why}");
                planned.warnings.push(Caveat::new("call_dropped", message));
            }
        }
    }
    planned
}

/// The first list of calls; where there are only single ones, one after the other, all of them.
fn calls_in(reply: &str) -> Option<Vec<Fields>> {
    let found = find_all(reply);
    let mut found: Vec<_> = found
        .iter()
        .filter_map(|found| calls_within(&found.value))
        .collect();
    let list = found.iter().position(|calls| calls.len() != 1);
    match list {
        Some(at) => Some(found.swap_remove(at)),
        None => Some(found.concat()).filter(|calls| !calls.is_empty()),
    }
}

/// The calls of a value, wherever in it they stand; nothing where it is no plan, not even an empty one.
fn calls_within(value: &Value) -> Option<Vec<Fields>> {
    match value {
        Value::Array(items) if items.is_empty() => Some(Vec::new()),
        Value::Array(items) => joined(items.iter()),
        Value::Object(fields) => {
            let name = name_of(fields);
            // The whole plan may be the argument of one call.
            let is_wrapper = |calls: &Vec<Fields>| {
                let is_tool = |call: &Fields| name_of(call).and_then(tool_named).is_some();
                let is_list = fields.len() == 1 || first_of(fields, &LISTS).is_some();
                calls.iter().any(is_tool) || name.is_none() && (is_list || !calls.is_empty())
            };
            let within = joined(fields.values()).filter(is_wrapper);
            within.or_else(|| name.map(|_| vec![fields.clone()]))
        }
        text => calls_within(&unquoted(text)?),
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> Option<Vec<Fields>> {
    let calls: Vec<_> = values.filter_map(calls_within).collect();
    (!calls.is_empty()).then(|| calls.concat())
}

fn name_of(fields: &Fields) -> Option<&str> {
    first_of(fields, &NAMES)?.as_str()
}

/// The call, each argument under whichever of its names it was given.
fn read_call(fields: &Fields) -> Result<ToolCall, String> {
    let name = name_of(fields).unwrap_or_default();
    let tool = tool_named(name).ok_or_else(|| format!("no tool '{}'", one_line(name, 60)))?;
    let given = arguments(tool, fields)?;
    let mut args = Map::new();
    for &argument in tool.descriptor().arguments {
        let own = [argument.name];
        let mut rows = SYNONYMS.into_iter();
        let names = rows.find(|names| names[0] == argument.name);
        let value = first_of(&given, names.unwrap_or(&own));
        let value = coerce(value, argument).map_err(|why| format!("{tool} {why}"))?;
        if value.is_null() && !argument.is_optional {
            return Err(format!("{tool} lacks '{}'", argument.name));
        }
        args.insert(argument.name.to_owned(), value);
    }
    let call = serde_json::from_value(json!({"tool": tool, "args": args}));
    call.map_err(|why| format!("{tool}: {why}"))
}

/// The arguments of a call, wherever and however they were given.
fn arguments(tool: ToolName, fields: &Fields) -> Result<Fields, String> {
    let Some(given) = first_of(fields, &ARGUMENTS) else {
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
            let needed = needed.map(|it| (it.name.to_owned(), given.clone()));
            Ok(needed.collect())
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
                let given = one_line(&given, 40);
                Err(format!("has '{name}' {given}, not a count"))
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
            let planned = read(reply);
            assert_eq!(calls_of(&planned), [vector("routing", Some(5))], "{reply}");
            assert_eq!(planned.warnings, vec![], "{reply}");
        }
    }

    fn calls_of(planned: &PlannedCalls) -> Vec<ToolCall> {
        planned
            .calls
            .iter()
            .map(|planned| planned.call.clone())
            .collect()
    }

    #[test]
    fn r11_every_tool_is_read_with_its_arguments() {
        let planned = read(
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
        let wire = serde_json::to_value(calls_of(&planned)).unwrap();
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
            let planned = read(&format!("[{dropped}, {kept}]"));
            assert_eq!(calls_of(&planned), [vector("kept", None)], "{dropped}");
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
            let planned = read(&json!([call, kept]).to_string());
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
            let planned = read(reply);
            assert_eq!(planned.calls, vec![], "{reply}");
            assert_eq!(planned.warnings.len(), 1, "{reply}");
            assert_eq!(planned.warnings[0].code, "plan_unreadable", "{reply}");
        }
        assert_eq!(read("[]"), PlannedCalls::default());
    }
}
