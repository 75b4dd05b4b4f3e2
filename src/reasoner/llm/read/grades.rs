//! The grades in a reply (R17, R18).
//!
//! A wrong number is worse than none, since none is answered with an honest 0.5: so the numbers
//! must be recognisable as the reply. A list that stands alone or in an object under `scores` is;
//! among words, `[1]` or `[1, 2]` is what a citation looks like, and is passed over.

use serde_json::{Map, Value};

use crate::agent::ports::{Caveat, UnreadableGrades};

use super::json::{FoundJson, find_all, unquoted};

/// The numbers of the reply, as they are: out of range or of the wrong count is for the agent to
/// judge. Of several lists the last one of the expected length wins, then the last one.
pub fn grades(reply: &str, expected: usize) -> Result<Vec<f64>, UnreadableGrades> {
    let mut lists = Vec::new();
    let mut reason = None;
    for found in find_all(reply) {
        match numbers_of(&found) {
            Some(Ok(numbers)) => lists.push(numbers),
            Some(Err(why)) => reason = Some(why),
            None => {}
        }
    }
    lists
        .iter()
        .rposition(|numbers| numbers.len() == expected)
        .or(lists.len().checked_sub(1))
        .map(|chosen| lists.swap_remove(chosen))
        .ok_or_else(|| {
            UnreadableGrades(
                reason.unwrap_or_else(|| "the reply holds no list of numbers".to_owned()),
            )
        })
}

/// Puts grades from 0 to 10, or to 100, between 0 and 1, and says so. Only a list that cannot be meant otherwise: none is
/// negative or a fraction of one, one is 2 or more, and they are no ranks.
pub fn rescale(grades: &mut [f64]) -> Option<Caveat> {
    let highest = grades.iter().copied().fold(0.0, f64::max);
    let scale = match highest {
        2.0..=10.0 => 10.0,
        10.0..=100.0 => 100.0,
        _ => return None,
    };
    let are_of_scale = grades.iter().all(|grade| *grade == 0.0 || *grade >= 1.0);
    let mut ranks = grades.to_vec();
    ranks.sort_by(f64::total_cmp);
    let counted = (1_u32..).map(f64::from).take(ranks.len());
    let are_ranks = ranks.len() > 1 && counted.eq(ranks);
    if !are_of_scale || are_ranks {
        return None;
    }
    for grade in grades.iter_mut() {
        *grade /= scale;
    }
    Some(Caveat {
        code: "grades_rescaled",
        message: format!(
            "the model graded from 0 to {scale} instead of 0 to 1: divided by {scale}"
        ),
    })
}

/// The numbers, or why they are none; nothing when this is not about grades at all.
fn numbers_of(found: &FoundJson) -> Option<Result<Vec<f64>, String>> {
    match &found.value {
        Value::Array(items) if !found.stands_alone && is_citation(items) => None,
        value => numbers_in(value),
    }
}

fn numbers_in(value: &Value) -> Option<Result<Vec<f64>, String>> {
    match value {
        Value::Array(items) => match &items[..] {
            [only @ Value::Object(_)] => numbers_in(only).or_else(|| Some(numbers(items))),
            _ => Some(numbers(items)),
        },
        Value::Object(fields) => {
            let scores = fields.get("scores").filter(|scores| !scores.is_number());
            if let Some(scores) = scores {
                return numbers_in(scores).or(Some(Err("the list of scores is empty".to_owned())));
            }
            if score_of(value).is_some() {
                return Some(numbers(std::slice::from_ref(value)));
            }
            if let Some(scored) = map_of_scores(fields) {
                return Some(scored.and_then(in_order));
            }
            let mut inner = fields.values().filter(|inner| holds_several(inner));
            let only = inner.next().filter(|_| inner.next().is_none())?;
            numbers_in(only)
        }
        text => numbers_in(&unquoted(text)?),
    }
}

fn holds_several(value: &Value) -> bool {
    value.is_array() || value.is_object() || unquoted(value).is_some()
}

/// `{"1": 0.9, "2": 0.1}`, or an object each, as `{"1": {"score": 0.9}}`.
fn map_of_scores(fields: &Map<String, Value>) -> Option<Result<Vec<(u64, f64)>, String>> {
    let ids: Option<Vec<u64>> = fields.keys().map(|key| id_in(key)).collect();
    let ids = ids.filter(|ids| !ids.is_empty())?;
    let scored = fields.values().zip(ids).map(|(value, id)| {
        let score = score_of(value).unwrap_or(value);
        let score = number(score).ok_or_else(|| not_a_number(id as usize - 1, score))?;
        Ok((id, score))
    });
    Some(scored.collect())
}

/// The number in `1`, `item 1`, `[1]`, `e1`.
fn id_in(key: &str) -> Option<u64> {
    let digits = key.trim_matches(|c: char| !c.is_ascii_digit());
    digits.parse().ok().filter(|id| *id > 0)
}

fn numbers(items: &[Value]) -> Result<Vec<f64>, String> {
    if items.is_empty() {
        return Err("the list of scores is empty".to_owned());
    }
    if items.iter().all(Value::is_object) {
        return by_id(items);
    }
    items
        .iter()
        .enumerate()
        .map(|(at, item)| number(item).ok_or_else(|| not_a_number(at, item)))
        .collect()
}

/// `{"id": 1, "score": 0.5}` or `{"1": 0.5}` each; the ids, when given, tell the order.
fn by_id(items: &[Value]) -> Result<Vec<f64>, String> {
    let mut scored = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        if let Some(pairs) = item.as_object().and_then(map_of_scores) {
            scored.extend(pairs?);
            continue;
        }
        let score = score_of(item).unwrap_or(&Value::Null);
        let score = number(score).ok_or_else(|| not_a_number(at, score))?;
        let id = ["id", "n", "index", "item", "number"]
            .into_iter()
            .find_map(|key| item.get(key));
        let id = match id {
            None => at as u64,
            Some(id) => id
                .as_u64()
                .or_else(|| id_in(id.as_str()?))
                .ok_or_else(|| format!("score {} has the id {id}", at + 1))?,
        };
        scored.push((id, score));
    }
    in_order(scored)
}

fn score_of(item: &Value) -> Option<&Value> {
    [
        "score",
        "relevance",
        "relevance_score",
        "value",
        "grade",
        "rating",
    ]
    .into_iter()
    .find_map(|key| {
        item.get(key)
            .filter(|score| !score.is_array() && !score.is_object())
    })
}

/// The scores in the order of their ids, which have no gap.
fn in_order(mut scored: Vec<(u64, f64)>) -> Result<Vec<f64>, String> {
    scored.sort_by_key(|(id, _)| *id);
    let first = scored.first().map_or(0, |(id, _)| *id);
    let gapless = first <= 1
        && scored
            .iter()
            .zip(first..)
            .all(|((id, _), expected)| *id == expected);
    if gapless {
        Ok(scored.into_iter().map(|(_, score)| score).collect())
    } else {
        Err("the ids of the scores are not 1, 2, 3 …".to_owned())
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn not_a_number(at: usize, item: &Value) -> String {
    let kind = match item {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        Value::Number(_) => "no finite number",
    };
    format!("score {} is {kind}, not a number", at + 1)
}

/// Whole numbers from 1, rising: `[1]`, `[2, 5]`.
fn is_citation(items: &[Value]) -> bool {
    let numbers: Option<Vec<u64>> = items.iter().map(Value::as_u64).collect();
    numbers.is_some_and(|numbers| {
        numbers.first().is_some_and(|&first| first >= 1) && numbers.is_sorted_by(|a, b| a < b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_numbers_are_read_in_every_wrapping() {
        for (reply, expected, numbers) in [
            ("[0.9, 0.1]", 2, vec![0.9, 0.1]),
            ("[1, 0]", 2, vec![1.0, 0.0]),
            ("[1]", 1, vec![1.0]),
            ("```json\n[0.9, 0.1]\n```", 2, vec![0.9, 0.1]),
            ("{\"scores\": [0.9, 0.1]}", 2, vec![0.9, 0.1]),
            ("{\"scores\": \"[0.9, 0.1]\"}", 2, vec![0.9, 0.1]),
            (
                "{\"relevance\": [0.9, 0.1], \"note\": \"x\"}",
                2,
                vec![0.9, 0.1],
            ),
            (
                "{\"scores\": [{\"id\": 2, \"score\": 0.1}, {\"id\": 1, \"score\": 0.9}]}",
                2,
                vec![0.9, 0.1],
            ),
            ("[{\"score\": 0.9}, {\"score\": 0.1}]", 2, vec![0.9, 0.1]),
            ("{\"1\": 0.9, \"2\": 0.1}", 2, vec![0.9, 0.1]),
            ("{\"scores\": {\"2\": 0.1, \"1\": 0.9}}", 2, vec![0.9, 0.1]),
            (
                "{\"scores\": {\"item 1\": 0.9, \"item 2\": 0.1}}",
                2,
                vec![0.9, 0.1],
            ),
            (
                "{\"1\": {\"score\": 0.9}, \"2\": {\"score\": 0.1}}",
                2,
                vec![0.9, 0.1],
            ),
            ("[{\"1\": 0.9}, {\"2\": 0.1}]", 2, vec![0.9, 0.1]),
            (
                "{\"results\": [{\"id\": \"e1\", \"relevance_score\": 0.9}, {\"id\": \"e2\", \"relevance_score\": 0.1}]}",
                2,
                vec![0.9, 0.1],
            ),
            ("{\"scores\": {\"id\": 1, \"score\": 0.9}}", 1, vec![0.9]),
            ("{\"result\": {\"scores\": [0.9, 0.1]}}", 2, vec![0.9, 0.1]),
            ("{\"Scores\": [0.9, 0.1,]}", 2, vec![0.9, 0.1]),
            (
                r#"[{"id": "call_1", "type": "function", "function": {"name": "grades", "arguments": "{\"scores\": [0.9, 0.1]}"}}]"#,
                2,
                vec![0.9, 0.1],
            ),
            ("\"[0.9, 0.1]\"", 2, vec![0.9, 0.1]),
            ("The scores are [0.9, 0.1], as [1] fits.", 2, vec![0.9, 0.1]),
            ("[1] fits. Scores: [0.9]", 1, vec![0.9]),
            ("draft [0.5, 0.5]\nfinal [0.9, 0.1]", 2, vec![0.9, 0.1]),
            ("[0.9, 0.1] from [0.3, 0.2, 0.1]", 2, vec![0.9, 0.1]),
            ("<think>[0.5, 0.5]</think>[0.9, 0.1]", 2, vec![0.9, 0.1]),
            ("hm [0.5, 0.5]</think>[0.9, 0.1]", 2, vec![0.9, 0.1]),
        ] {
            assert_eq!(grades(reply, expected), Ok(numbers), "{reply}");
        }
    }

    #[test]
    fn r18_what_the_agent_has_to_judge_is_passed_on_raw() {
        for (reply, numbers) in [
            ("[1.7, -0.2]", vec![1.7, -0.2]),
            ("[0.9]", vec![0.9]),
            ("[0.9, 0.8, 0.7]", vec![0.9, 0.8, 0.7]),
            ("[90, 1e300]", vec![90.0, 1e300]),
        ] {
            assert_eq!(grades(reply, 2), Ok(numbers), "{reply}");
        }
    }

    #[test]
    fn r18_what_holds_no_numbers_is_unreadable_with_the_reason() {
        for (reply, reason) in [
            ("", "the reply holds no list of numbers"),
            ("Both are relevant.", "the reply holds no list of numbers"),
            (
                "Items [1] and [2] fit.",
                "the reply holds no list of numbers",
            ),
            ("Only [1, 2] fit.", "the reply holds no list of numbers"),
            (
                "<think>[0.9, 0.1]</think>",
                "the reply holds no list of numbers",
            ),
            ("<think>[0.9, 0.1]", "the reply holds no list of numbers"),
            ("[]", "the list of scores is empty"),
            ("{\"scores\": []}", "the list of scores is empty"),
            ("{\"scores\": null}", "the list of scores is empty"),
            ("[0.9, null]", "score 2 is null, not a number"),
            ("[\"0.9\", 0.1]", "score 1 is text, not a number"),
            (
                "{\"scores\": [\"high\"], \"ids\": [1, 2]}",
                "score 1 is text, not a number",
            ),
            ("[[0.9, 0.1]]", "score 1 is a list, not a number"),
            ("[true]", "score 1 is true or false, not a number"),
            ("[0.9, NaN]", "score 2 is null, not a number"),
            ("[1e999, 0.1]", "the reply holds no list of numbers"),
            (
                "{\"scores\": [0.9, NaN], \"ids\": [1, 2]}",
                "score 2 is null, not a number",
            ),
            (
                "[{\"id\": 1, \"score\": 0.9}, {\"id\": 7, \"score\": 0.1}]",
                "the ids of the scores are not 1, 2, 3 …",
            ),
            ("[{\"id\": 1}]", "score 1 is null, not a number"),
            ("0.9", "the reply holds no list of numbers"),
        ] {
            assert_eq!(
                grades(reply, 2),
                Err(UnreadableGrades(reason.to_owned())),
                "{reply}"
            );
        }
    }

    #[test]
    fn r18_another_scale_is_rescaled_only_where_it_is_plain() {
        for (mut given, rescaled, scale) in [
            (vec![8.0, 0.0, 10.0], vec![0.8, 0.0, 1.0], Some("10")),
            (vec![8.5, 3.0], vec![0.85, 0.3], Some("10")),
            (vec![85.0, 5.0], vec![0.85, 0.05], Some("100")),
            (vec![7.0], vec![0.7], Some("10")),
            (vec![1.0, 0.0], vec![1.0, 0.0], None),
            (vec![1.7, -0.2], vec![1.7, -0.2], None),
            (vec![0.9, 8.0], vec![0.9, 8.0], None),
            (vec![-1.0, 8.0], vec![-1.0, 8.0], None),
            (vec![2.0, 1.0, 3.0], vec![2.0, 1.0, 3.0], None),
            (vec![90.0, 1e300], vec![90.0, 1e300], None),
        ] {
            let said = rescale(&mut given);
            assert_eq!(given, rescaled);
            let message = scale.map(|scale| {
                format!("the model graded from 0 to {scale} instead of 0 to 1: divided by {scale}")
            });
            assert_eq!(said.map(|said| said.message), message, "{rescaled:?}");
        }
    }
}
