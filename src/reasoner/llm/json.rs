//! The JSON in a reply, wherever it is and however it is written, and what stands in it.

use std::collections::HashMap;
use std::sync::LazyLock;

use heck::ToSnakeCase;
use jsonrepair_rs::jsonrepair;
use serde_json::{Deserializer, Map, Value};

use super::think::without_thoughts;
use crate::domain::ToolName;

/// A bracket that opens nothing is tried and given up; a reply made of such is given up as well.
const MAX_TRIES: usize = 500;
/// Objects that are not JSON and may be repaired, and bytes of one: no plan is longer.
const MAX_REPAIRS: usize = 8;
const MAX_REPAIRED: usize = 64 * 1024;

/// A list or an object that was found in a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundJson {
    /// What it holds, the names of its fields in the spelling of the wire format.
    pub value: Value,
    /// Whether it was meant as the reply: alone, or in a fence. False between words of prose.
    pub stands_alone: bool,
}

/// Every outermost list and object of the reply, in its order, thoughts left out.
///
/// What is not JSON but nearly is repaired, and read as a whole: a list inside it was not meant to stand for the
/// reply.
pub fn find_all(reply: &str) -> Vec<FoundJson> {
    let text = without_thoughts(reply);
    // Some models write the reply as a text that holds it.
    let quoted = serde_json::from_str::<String>(text.trim()).ok();
    let text = quoted.as_deref().unwrap_or(&text);
    let mut found = Vec::new();
    let mut at = 0;
    let mut repairs = 0;
    for _ in 0..MAX_TRIES {
        let Some(start) = text[at..].find(['[', '{']).map(|offset| at + offset) else {
            break;
        };
        let rest = &text[start..];
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let read = match values.next() {
            Some(Ok(value)) => Some((value, values.byte_offset())),
            _ if repairs < MAX_REPAIRS && begins_alone(&text[..start], rest) => {
                repairs += 1;
                repaired(rest)
            }
            _ => None,
        };
        if let Some((value, length)) = read {
            at = start + length;
            found.push(FoundJson {
                value: with_plain_names(value),
                stands_alone: stands_alone(&text[..start], &text[at..]),
            });
        } else {
            at = start + 1;
        }
    }
    found
}

/// The text of a judgement: what a model said, or, where that holds no JSON, the first of the other texts of its reply
/// (calls of functions, thoughts) that is JSON and nothing else. Thoughts in prose are no judgement.
pub fn judgement<'a>(said: &'a str, others: &[&'a str]) -> &'a str {
    let is_json = |text: &&str| matches!(&find_all(text)[..], [only] if only.stands_alone);
    if find_all(said).is_empty() {
        others.iter().copied().find(is_json).unwrap_or(said)
    } else {
        said
    }
}

/// The list or object behind a value that is text holding one.
pub fn unquoted(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let value = serde_json::from_str(text).ok();
    let value = value.or_else(|| Some(repaired(text)?.0))?;
    Some(with_plain_names(value))
}

fn stands_alone(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end(), after.trim_start());
    let alone = before.is_empty() && after.is_empty();
    let opening = before.lines().next_back().unwrap_or_default().trim();
    alone || (opening.starts_with("```") && after.starts_with("```"))
}

/// Whether a text that is no JSON may be meant as some: an object is, and a list of other things than words where nothing
/// is said before it. In the midst of a sentence brackets are most often a citation.
fn begins_alone(before: &str, text: &str) -> bool {
    let opening = before.trim_end().lines().next_back().unwrap_or_default();
    let opening = opening.trim();
    let first = text[1..].trim_start().chars().next();
    let begins = opening.is_empty() || opening.starts_with("```");
    text.starts_with('{') || begins && !first.is_some_and(char::is_alphabetic)
}

/// The object or list that begins a text, where it is nearly JSON, and its length: up to its last bracket, or, where
/// that is missing, to the end of the text. What was cut within a word is not read: half a word is another one.
fn repaired(text: &str) -> Option<(Value, usize)> {
    let end = text.find("```").unwrap_or(text.len());
    let text = text.get(..end.min(MAX_REPAIRED))?.trim_end();
    let closing = if text.starts_with('{') { '}' } else { ']' };
    let closed = text.rfind(closing).map(|at| &text[..=at]);
    let is_cut = !text.ends_with(['}', ']', '"', '\'', '”', '’', '＂'])
        && !text.ends_with(|c: char| c.is_ascii_digit());
    let whole = Some(text).filter(|_| !is_cut);
    [closed, whole].into_iter().flatten().find_map(|text| {
        // As Chinese keyboards write them; the crate knows the curved ones.
        let plain = text.replace('＂', "\"").replace('：', ":");
        let value: Value = serde_json::from_str(&jsonrepair(&plain).ok()?).ok()?;
        // Words in braces become an object of nothing.
        let is_meant = match &value {
            Value::Object(fields) => fields.values().any(|value| !value.is_null()),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        is_meant.then_some((value, text.len()))
    })
}

/// The value with the names of its fields as the wire format writes them: `queryType`, `Query Type` and `QUERY-TYPE`
/// are `query_type`.
fn with_plain_names(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let plain = fields.map(|(name, value)| (name.to_snake_case(), with_plain_names(value)));
            Value::Object(plain.collect())
        }
        Value::Array(items) => items.into_iter().map(with_plain_names).collect(),
        other => other,
    }
}

// Fields, words, names of tools and lists of texts, in whatever form a model gives them.

/// Words by their field: those that are meant, each with what else is written for it.
type Words = HashMap<String, HashMap<String, Vec<String>>>;

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../assets/llm/words.toml")).unwrap_or_default()
});

/// The word of a field that a text stands for, in any language of the table.
pub fn meaning(field: &str, text: &str) -> Option<&'static str> {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '.' | '。' | '!' | '"' | '“' | '”');
    let text = text.trim_matches(is_around).to_lowercase();
    let (word, _) = WORDS
        .get(field)?
        .iter()
        .find(|(word, others)| **word == text || others.contains(&text))?;
    Some(word)
}

/// The first of these fields that an object has and that is not null.
pub fn first_of<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let mut given = names.iter().filter_map(|name| fields.get(*name));
    given.find(|value| !value.is_null())
}

/// Characters of a keyword, and keywords; more is a model's that does not find its end.
pub const LONGEST_KEYWORD: usize = 200;
pub const MOST_KEYWORDS: usize = 40;

/// What separates keywords in one text.
pub const KEYWORD_BORDERS: [char; 4] = [',', '\n', '，', '、'];

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
        Some(Value::String(text)) if meaning("nothing", text).is_some() => Vec::new(),
        Some(Value::String(text)) => text.split(borders).map(str::to_owned).collect(),
        other => other.and_then(text_of).into_iter().collect(),
    };
    let pieces = pieces.iter().map(|piece| piece.trim());
    let pieces = pieces.filter(|piece| !piece.is_empty());
    pieces.map(str::to_owned).collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(fields) => {
            let text = first_of(fields, &["question", "query", "text", "tool", "name"])?;
            text.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// Whether a text has more than so many characters.
pub fn is_longer(text: &str, most: usize) -> bool {
    text.chars().nth(most).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_and_objects_are_found_wherever_they_are() {
        for (reply, values) in [
            ("[0.5]", vec![(json!([0.5]), true)]),
            ("```json\n{\"a\": 1}\n```", vec![(json!({"a": 1}), true)]),
            ("Here:\n```\n[1]\n```\nDone.", vec![(json!([1]), true)]),
            (
                "see [1]: {\"a\": \"}\"} ok",
                vec![(json!([1]), false), (json!({"a": "}"}), false)],
            ),
            ("<think>[0.1]</think>[0.2]", vec![(json!([0.2]), true)]),
            ("[see [2]", vec![(json!([2]), false)]),
            (
                "{\"scores\": [0.5, NaN], \"ids\": [1, 2]}",
                vec![(json!({"scores": [0.5, null], "ids": [1, 2]}), true)],
            ),
            (
                "{\"a\": [0.5], \"b\": \"cut of",
                vec![(json!([0.5]), false)],
            ),
            ("see {the rules} there", vec![]),
            ("[1e999]", vec![]),
            ("prose", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<_> = find_all(reply)
                .into_iter()
                .map(|found| (found.value, found.stands_alone))
                .collect();
            assert_eq!(found, values, "{reply}");
        }
    }

    /// What models get wrong, each with what is meant.
    #[test]
    fn r04_json_that_is_nearly_right_is_read() {
        let meant = json!({"a": 1, "b_c": ["x", "y"]});
        for reply in [
            r#"{"a": 1, "b_c": ["x", "y",],}"#,
            "{\"a\": 1, // one\n \"b_c\": [\"x\", \"y\"]}",
            "{\"a\": 1, # one\n \"b_c\": [\"x\", \"y\"]}",
            r#"{"a": /* one */ 1, "b_c": ["x", "y"]}"#,
            "{'a': 1, 'b_c': ['x', 'y']}",
            r#"{a: 1, b_c: ["x", "y"]}"#,
            "{“a”: 1, “b_c”: [“x”, “y”]}",
            "{＂a＂: 1, ＂b_c＂: [＂x＂, ＂y＂]}",
            r#"{"a": 1, "b_c": ["x", "y"]"#,
            r#"{"a": 1, "b_c": ["x", "y""#,
            r#"{"a": 1, "b_c": ["x", "y"}"#,
            "{\"a\": 1\n \"b_c\": [\"x\" \"y\"]}",
            r#"{\"a\": 1, \"b_c\": [\"x\", \"y\"]}"#,
            r#""{\"a\": 1, \"b_c\": [\"x\", \"y\"]}""#,
            r#"{"A": 1, "bC": ["x", "y"]}"#,
            r#"{"A": 1, "B-C": ["x", "y"]}"#,
            "```json\n{'a': 1, 'b_c': ['x', 'y'],}\n```",
            "Here it is: {'a': 1, 'b_c': ['x', 'y']} Done, friend.",
        ] {
            let found = find_all(reply);
            let value = found.first().map(|found| found.value.clone());
            assert_eq!(value, Some(meant.clone()), "{reply}");
        }
        let python = find_all("{'a': True, 'b': None, 'c': 'don\\'t'}");
        assert_eq!(python[0].value, json!({"a": true, "b": null, "c": "don't"}));
        assert_eq!(find_all("[.9, .1,]")[0].value, json!([0.9, 0.1]));
        assert_eq!(find_all("[0.9, 0.1")[0].value, json!([0.9, 0.1]));
    }

    #[test]
    fn r04_a_judgement_elsewhere_is_taken_where_it_is_nothing_but_json() {
        let plan = r#"{"complexity": "simple"}"#;
        let call = r#"[{"function": {"name": "routing_plan", "arguments": "{}"}}]"#;
        for (said, others, taken) in [
            (plan, vec!["[0.1]"], plan),
            ("", vec![plan], plan),
            ("", vec!["", plan], plan),
            ("", vec![call, plan], call),
            ("Sure.", vec!["```json\n[0.1]\n```"], "```json\n[0.1]\n```"),
            (
                "",
                vec!["It may be {\"complexity\": \"simple\"}, or not."],
                "",
            ),
            ("", vec!["First [0.1], then [0.2]."], ""),
            ("", vec![], ""),
        ] {
            assert_eq!(judgement(said, &others), taken, "{said} {others:?}");
        }
    }

    #[test]
    fn r04_prose_and_half_words_are_not_repaired() {
        for reply in [
            r#"{"complexity": "simple", "query_type": "ex"#,
            r#"{"complexity": "simple", "query_t"#,
            "I think {it is simple}.",
            "The items [see above, or below] fit.",
            "f(x) = {x",
        ] {
            assert_eq!(find_all(reply), vec![], "{reply}");
        }
    }

    #[test]
    fn r04_words_of_the_table_are_lower_case_and_mean_one_thing() {
        for (field, words) in &*WORDS {
            let others: Vec<_> = words.values().flatten().collect();
            for (at, other) in others.iter().enumerate() {
                assert_eq!(**other, other.to_lowercase());
                assert!(!others[..at].contains(other), "{field}: {other}");
            }
        }
        assert_eq!(meaning("complexity", " „Einfach“"), None);
        assert_eq!(meaning("complexity", " “简单”。"), Some("simple"));
        assert_eq!(meaning("grade", "Oui!"), Some("yes"));
        assert_eq!(meaning("colour", "red"), None);
    }

    #[test]
    fn a_reply_made_of_brackets_is_given_up() {
        for piece in ["[{\"", "[", "{'a':", "{/*", "{'"] {
            assert_eq!(find_all(&piece.repeat(200_000)), vec![], "{piece}");
        }
    }
}
