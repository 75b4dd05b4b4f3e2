//! The grades in a reply (R17, R18).
//!
//! A wrong number is worse than none, since none is answered with an honest 0.5: so the numbers
//! must be recognisable as the reply. A list that stands alone or in an object under `scores` is;
//! among words, `[1]` or `[1, 2]` is what a citation looks like, and is passed over.

use serde_json::Value;

use super::json::{FoundJson, find_all, first_of, meaning, unquoted};
use crate::agent::ports::{Caveat, UnreadableGrades};
use crate::text::one_line;

/// The fields of an object that hold its grade, and those that hold the number of its item.
#[rustfmt::skip]
const SCORES: [&str; 6] = ["score", "relevance", "relevance_score", "value", "grade", "rating"];
const IDS: [&str; 5] = ["id", "n", "index", "item", "number"];

/// Reads the numbers of a reply, as they are: out of range or of the wrong count is for the agent to
/// judge. Of several lists the last one of the expected length wins, then the last one.
pub fn read(reply: &str, expected: usize) -> Result<Vec<f64>, UnreadableGrades> {
    let is_expected = |numbers: &Vec<f64>| numbers.len() == expected;
    find_all(reply)
        .iter()
        .filter_map(numbers_of)
        .max_by_key(|list| (list.is_ok(), list.as_ref().is_ok_and(is_expected)))
        .unwrap_or_else(|| Err("the reply holds no list of numbers".to_owned()))
        .map_err(UnreadableGrades)
}

/// Puts grades from 0 to 10, or to 100, between 0 and 1, and tells so. Only a list that cannot be meant otherwise: none is
/// negative or a fraction of one, one is 2 or more, and they are no ranks.
pub fn rescale(grades: &mut [f64]) -> Option<Caveat> {
    let highest = grades.iter().copied().fold(0.0, f64::max);
    let scale = match highest {
        2.0..=10.0 => 10.0,
        10.0..=100.0 => 100.0,
        _ => return None,
    };
    let are_of_scale = grades.iter().all(|grade| *grade == 0.0 || *grade >= 1.0);
    let mut ranks = (1_u32..).map(f64::from).take(grades.len());
    let are_ranks = grades.len() > 1 && ranks.all(|rank| grades.contains(&rank));
    if !are_of_scale || are_ranks {
        return None;
    }
    for grade in grades.iter_mut() {
        *grade /= scale;
    }
    let message =
        format!("the model graded from 0 to {scale} instead of 0 to 1: divided by {scale}");
    Some(Caveat::new("grades_rescaled", message))
}

/// The numbers in the order of their items, or why they cannot be read; nothing where this is not about
/// grades at all.
fn numbers_of(found: &FoundJson) -> Option<Result<Vec<f64>, String>> {
    if !found.stands_alone && is_citation(&found.value) {
        return None;
    }
    let entries = entries_of(&found.value)?;
    if entries.is_empty() {
        return Some(Err("the list of scores is empty".to_owned()));
    }
    let numbers = entries.into_iter().enumerate().map(|(at, (id, score))| {
        let number = number_in(&score).ok_or_else(|| {
            let given = one_line(&score.to_string(), 40);
            format!("score {} is {given}, not a number", at + 1)
        })?;
        Ok((id.unwrap_or(at as u64), number))
    });
    Some(numbers.collect::<Result<_, _>>().and_then(in_order))
}

/// The number that a grade is, as a number, as text with a point or a comma, or as yes or no.
fn number_in(score: &Value) -> Option<f64> {
    let text = match score {
        Value::String(text) => text.trim().replace(',', "."),
        other => other.to_string(),
    };
    match meaning("grade", &text) {
        Some("yes") => Some(1.0),
        Some(_) => Some(0.0),
        None => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// What should be a grade, each with the number of its item where one is given: in a list, under
/// `scores`, by number as in `{"1": 0.9}`, with a number as in `{"id": 1, "score": 0.9}`, or in the only
/// field that holds any of these.
fn entries_of(value: &Value) -> Option<Vec<(Option<u64>, Value)>> {
    let fields = match value {
        Value::Array(items) => {
            // An object that holds no grade is none.
            let no_grade = || vec![(None, Value::Null)];
            let entries = items.iter().flat_map(|item| match item {
                Value::Object(_) => entries_of(item).unwrap_or_else(no_grade),
                score => vec![(None, score.clone())],
            });
            return Some(entries.collect());
        }
        Value::Object(fields) => fields,
        text => return entries_of(&unquoted(text)?),
    };
    if let Some(scores) = fields.get("scores").filter(|scores| !scores.is_number()) {
        return Some(entries_of(scores).unwrap_or_default());
    }
    let is_single = |value: &&Value| !value.is_array() && !value.is_object();
    let score_of = |item: &Value| {
        first_of(item.as_object()?, &SCORES)
            .filter(is_single)
            .cloned()
    };
    if let Some(score) = score_of(value) {
        // A number that cannot be read is out of order.
        let id = first_of(fields, &IDS).map(|id| id_in(&id.to_string()).unwrap_or(u64::MAX));
        return Some(vec![(id, score)]);
    }
    let ids: Option<Vec<u64>> = fields.keys().map(|key| id_in(key)).collect();
    if let Some(ids) = ids.filter(|ids| !ids.is_empty()) {
        let scores = fields.values();
        let scores = scores.map(|item| score_of(item).unwrap_or_else(|| item.clone()));
        return Some(ids.into_iter().map(Some).zip(scores).collect());
    }
    let mut within = fields.values().filter_map(entries_of);
    within.next().filter(|_| within.next().is_none())
}

/// The number in `1`, `item 1`, `[1]`, `e1`.
fn id_in(key: &str) -> Option<u64> {
    key.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// The grades in the order of their items, which are numbered without a gap.
fn in_order(mut numbered: Vec<(u64, f64)>) -> Result<Vec<f64>, String> {
    numbered.sort_by_key(|(id, _)| *id);
    let first = numbered.first().map_or(0, |(id, _)| *id);
    let ids = numbered.iter().map(|(id, _)| *id);
    if first > 1 || !ids.eq(first..first + numbered.len() as u64) {
        return Err("the ids of the scores are not 1, 2, 3 …".to_owned());
    }
    Ok(numbered.into_iter().map(|(_, score)| score).collect())
}

/// Whether it is whole numbers from 1, rising: `[1]`, `[2, 5]`.
fn is_citation(value: &Value) -> bool {
    let items = value.as_array().into_iter().flatten();
    let numbers: Option<Vec<u64>> = items.map(Value::as_u64).collect();
    numbers.is_some_and(|it| it.first() >= Some(&1) && it.is_sorted_by(|a, b| a < b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_numbers_are_read_in_every_wrapping() {
        for reply in [
            "[0.9, 0.1]",
            "```json\n[0.9, 0.1]\n```",
            "{\"scores\": [0.9, 0.1]}",
            "{\"scores\": \"[0.9, 0.1]\"}",
            "{\"scores\": [\"0.9\", \"0,1\"]}",
            "{\"relevance\": [0.9, 0.1], \"note\": \"x\"}",
            "{\"scores\": [{\"id\": 2, \"score\": 0.1}, {\"id\": 1, \"score\": 0.9}]}",
            "[{\"score\": 0.9}, {\"score\": 0.1}]",
            "{\"1\": 0.9, \"2\": 0.1}",
            "{\"0\": 0.9, \"1\": 0.1}",
            "{\"grades\": [0.9, 0.1], \"notes\": {\"why\": \"x\"}, \"model\": \"y\"}",
            "{\"scores\": {\"2\": 0.1, \"1\": 0.9}}",
            "{\"scores\": {\"item 1\": 0.9, \"item 2\": 0.1}}",
            "{\"1\": {\"score\": 0.9}, \"2\": {\"score\": 0.1}}",
            "[{\"1\": 0.9}, {\"2\": 0.1}]",
            "{\"results\": [{\"id\": \"e1\", \"relevance_score\": 0.9}, {\"id\": \"e2\", \"relevance_score\": 0.1}]}",
            "{\"result\": {\"scores\": [0.9, 0.1]}}",
            "{\"Scores\": [0.9, 0.1,]}",
            r#"[{"id": "call_1", "type": "function", "function": {"name": "grades", "arguments": "{\"scores\": [0.9, 0.1]}"}}]"#,
            "\"[0.9, 0.1]\"",
            "The scores are [0.9, 0.1], as [1] fits.",
            "draft [0.5, 0.5]\nfinal [0.9, 0.1]",
            "[0.9, 0.1] from [0.3, 0.2, 0.1]",
            "<think>[0.5, 0.5]</think>[0.9, 0.1]",
            "hm [0.5, 0.5]</think>[0.9, 0.1]",
        ] {
            assert_eq!(read(reply, 2), Ok(vec![0.9, 0.1]), "{reply}");
        }
        for (reply, expected, numbers) in [
            ("[1, 0]", 2, &[1.0, 0.0][..]),
            ("[\"oui\", \"non\"]", 2, &[1.0, 0.0]),
            (
                "{\"scores\": [\"Nein.\", true, \"是\", \"No\"]}",
                4,
                &[0.0, 1.0, 1.0, 0.0],
            ),
            ("[1]", 1, &[1.0]),
            ("{\"scores\": {\"id\": 1, \"score\": 0.9}}", 1, &[0.9]),
            ("[1] fits. Scores: [0.9]", 1, &[0.9]),
            // What the agent has to judge is passed on raw.
            ("[1.7, -0.2]", 2, &[1.7, -0.2]),
            ("[0.9]", 2, &[0.9]),
            ("[0.9, 0.8, 0.7]", 2, &[0.9, 0.8, 0.7]),
            ("[90, 1e300]", 2, &[90.0, 1e300]),
        ] {
            assert_eq!(read(reply, expected).as_deref(), Ok(numbers), "{reply}");
        }
    }

    #[test]
    fn r18_what_holds_no_numbers_is_unreadable_with_the_reason() {
        let no_list = "the reply holds no list of numbers";
        let is_empty = "the list of scores is empty";
        for (reply, reason) in [
            ("", no_list),
            ("Both are relevant.", no_list),
            ("Items [1] and [2] fit.", no_list),
            ("Only [1, 2] fit.", no_list),
            ("<think>[0.9, 0.1]</think>", no_list),
            ("<think>[0.9, 0.1]", no_list),
            ("[1e999, 0.1]", no_list),
            ("0.9", no_list),
            ("[]", is_empty),
            ("{\"scores\": []}", is_empty),
            ("{\"scores\": null}", is_empty),
            ("[0.9, null]", "score 2 is null, not a number"),
            (
                "{\"scores\": [\"high\"], \"ids\": [1, 2]}",
                "score 1 is \"high\", not a number",
            ),
            ("[\"NaN\", 0.1]", "score 1 is \"NaN\", not a number"),
            ("[[0.9, 0.1]]", "score 1 is [0.9,0.1], not a number"),
            ("[0.9, NaN]", "score 2 is null, not a number"),
            (
                "{\"scores\": [0.9, NaN], \"ids\": [1, 2]}",
                "score 2 is null, not a number",
            ),
            (
                "[{\"id\": 1, \"score\": 0.9}, {\"id\": 7, \"score\": 0.1}]",
                "the ids of the scores are not 1, 2, 3 …",
            ),
            ("[{\"id\": 1}]", "score 1 is null, not a number"),
        ] {
            let unreadable = UnreadableGrades(reason.to_owned());
            assert_eq!(read(reply, 2), Err(unreadable), "{reply}");
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
            let warning = rescale(&mut given);
            assert_eq!(given, rescaled);
            let message = scale.map(|scale| {
                format!("the model graded from 0 to {scale} instead of 0 to 1: divided by {scale}")
            });
            assert_eq!(warning.map(|it| it.message), message, "{rescaled:?}");
        }
    }
}
