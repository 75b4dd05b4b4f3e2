//! The JSON in a reply, wherever it is.

use serde_json::{Deserializer, Value};

use crate::reasoner::llm::think::without_thoughts;

/// A bracket that opens nothing is tried and given up; a reply made of such is given up as well.
const MAX_TRIES: usize = 500;
/// No plan is longer; an object that is not closed by then is taken not to be one.
const MAX_OBJECT: usize = 64 * 1024;

/// A list or an object that was found in a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundJson {
    /// What it holds.
    pub value: Value,
    /// Whether it was meant as the reply: alone, or in a fence. False between words of prose.
    pub stands_alone: bool,
}

/// Every outermost list and object of the reply, in its order, thoughts left out.
///
/// An object that is closed but does not parse is passed over as a whole: a list inside it was not
/// meant to stand for the reply.
pub fn find_all(reply: &str) -> Vec<FoundJson> {
    let text = without_thoughts(reply);
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_TRIES {
        let Some(start) = text[at..].find(['[', '{']).map(|offset| at + offset) else {
            break;
        };
        let rest = &text[start..];
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            let end = start + values.byte_offset();
            found.push(FoundJson {
                value,
                stands_alone: stands_alone(&text[..start], &text[end..]),
            });
            at = end;
        } else if rest.starts_with('{') {
            at = start + closing(rest).map_or(1, |end| end + 1);
        } else {
            at = start + 1;
        }
    }
    found
}

/// The list behind a value that is one, or that is text holding one.
pub fn unquoted(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    text.starts_with(['[', '{'])
        .then(|| serde_json::from_str(text).ok())?
}

fn stands_alone(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end(), after.trim_start());
    let alone = before.is_empty() && after.is_empty();
    let opening = before.lines().next_back().unwrap_or_default().trim();
    alone || (opening.starts_with("```") && after.starts_with("```"))
}

/// Where the object that begins the text ends, by counting braces outside of strings.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().take(MAX_OBJECT).enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
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
            ("{\"scores\": [0.5, NaN], \"ids\": [1, 2]}", vec![]),
            (
                "{\"a\": [0.5], \"b\": \"cut of",
                vec![(json!([0.5]), false)],
            ),
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

    #[test]
    fn a_reply_made_of_brackets_is_given_up() {
        assert_eq!(find_all(&"[{\"".repeat(200_000)), vec![]);
    }
}
