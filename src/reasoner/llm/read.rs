//! What a model wrote, read with good will and without guessing.
//!
//! Models fence their JSON, wrap it in prose, think aloud before it and spell fields their own
//! way; all of that is read. What is still not there is said, one caveat each, and never made up.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::json::{
    FoundJson, KEYWORD_BORDERS, LONGEST_KEYWORD, MOST_KEYWORDS, find_all, is_longer, texts,
    tool_named, unquoted,
};
use super::prompt::Prompts;
use super::reply_schema::analysis_fields;
use crate::agent::ports::{Analysis, Caveat, PlanJob, PlannedCalls, UnreadableGrades};
use crate::domain::{
    Argument, ArgumentKind, Complexity, Language, PlannedCall, QueryType, RoutingPlan, ToolCall,
    ToolName, Turn,
};
use crate::reasoner::offline;
use crate::text::{is_cjk, one_line};

// The routing plan in a reply (R1–R4).

/// Characters of a part of the question; more is a model's that does not find its end.
const LONGEST_PART: usize = 1_000;

/// The plan of the reply; the fallback with a caveat when there is none (R4). Costs are not known
/// here.
pub fn analysis(reply: &str) -> Analysis {
    let mut analysis = Analysis::default();
    let warnings = &mut analysis.warnings;
    let mut found = find_all(reply).into_iter();
    let Some(fields) = found.find_map(|found| plan_in(found.value)) else {
        let message = "the analysis could not be read; searching on the question as it is";
        warnings.push(Caveat::new("analysis_unreadable", message));
        analysis.plan = RoutingPlan::fallback();
        return analysis;
    };
    let complexity = word(&fields, "complexity", warnings).unwrap_or_default();
    let is_talk = complexity == Complexity::Chitchat;
    // A type that was left out contradicts nothing.
    let unsaid = if is_talk {
        QueryType::Chitchat
    } else {
        QueryType::default()
    };
    analysis.plan = RoutingPlan {
        complexity,
        query_type: word(&fields, "query_type", warnings).unwrap_or(unsaid),
        sub_questions: sub_questions(&fields, warnings),
        suggested_tools: tools(&fields, warnings),
        grep_keywords: keywords(&fields, warnings),
        ..RoutingPlan::default()
    };
    analysis.reply = small_talk(&fields).filter(|_| is_talk);
    analysis
}

/// The object that has a plan's fields: itself, or the first within.
fn plan_in(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) if analysis_fields().any(|it| fields.contains_key(it)) => {
            Some(fields)
        }
        Value::Object(fields) => fields.into_values().find_map(plan_in),
        Value::Array(items) => items.into_iter().find_map(plan_in),
        other => plan_in(unquoted(&other)?),
    }
}

/// The value that a word stands for; an unknown word stands for none, with a caveat.
fn word<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    name: &str,
    warnings: &mut Vec<Caveat>,
) -> Option<T> {
    let text = match fields.get(name)? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let spelled = text.trim().to_lowercase().replace([' ', '-'], "_");
    let value = serde_json::from_value(spelled.into()).ok();
    if value.is_none() {
        let message = format!("the analysis gives {name} as '{}'", one_line(&text, 60));
        warnings.push(Caveat::new("analysis_value_unknown", message));
    }
    value
}

/// The parts of the question; none where a model did not find the end of one, because all later prompts
/// would be full of it and the others alone would not be the question.
fn sub_questions(fields: &Map<String, Value>, warnings: &mut Vec<Caveat>) -> Vec<String> {
    let parts = texts(fields.get("sub_questions"), &['\n']);
    if !parts.iter().any(|part| is_longer(part, LONGEST_PART)) {
        return parts;
    }
    let message = format!(
        "the analysis gives a part of over {LONGEST_PART} characters; the question is taken whole"
    );
    warnings.push(Caveat::new("analysis_endless", message));
    Vec::new()
}

fn tools(fields: &Map<String, Value>, warnings: &mut Vec<Caveat>) -> Vec<ToolName> {
    let mut tools = Vec::new();
    for name in texts(fields.get("suggested_tools"), &[',', ' ', '\n']) {
        match tool_named(&name) {
            Some(tool) if tools.contains(&tool) => {}
            Some(tool) => tools.push(tool),
            None => {
                let name = one_line(&name, 60);
                let message = format!("the analysis suggests '{name}', no such tool");
                warnings.push(Caveat::new("tool_unknown", message));
            }
        }
    }
    tools
}

/// The words to be found literally, without endless ones and an endless number of them.
fn keywords(fields: &Map<String, Value>, warnings: &mut Vec<Caveat>) -> Vec<String> {
    let mut keywords = texts(fields.get("grep_keywords"), &KEYWORD_BORDERS);
    let given = keywords.len();
    keywords.retain(|keyword| !is_longer(keyword, LONGEST_KEYWORD));
    keywords.truncate(MOST_KEYWORDS);
    let dropped = given - keywords.len();
    if dropped > 0 {
        let message =
            format!("{dropped} of {given} keywords of the analysis dropped: too long or too many");
        warnings.push(Caveat::new("analysis_endless", message));
    }
    keywords
}

/// A reply that says something; models write null in quotation marks, too.
fn small_talk(fields: &Map<String, Value>) -> Option<String> {
    let text = fields.get("reply")?.as_str()?.trim();
    let is_null = ["", "null", "none"].contains(&text.to_lowercase().as_str());
    (!is_null).then(|| text.to_owned())
}

// Whether a question that a model took for small talk is (R2).
//
// A question about the base that is answered as small talk is answered out of nothing, and small
// models send most of them there. So their word needs a second one: that of the offline engine, whose
// classifier was trained to tell the two apart, or of the rest of the plan.

/// Makes small talk a simple question where it seems not to be small talk. `offline` is what the offline engine
/// makes of the same question, where it can tell.
pub fn check_small_talk(analysis: &mut Analysis, offline: Option<Analysis>) {
    let plan = &mut analysis.plan;
    let contradiction = contradiction(plan);
    let is_talk = match &offline {
        Some(offline) => offline.plan.complexity == Complexity::Chitchat,
        None => contradiction.is_none(),
    };
    if is_talk {
        return;
    }
    if let Some(offline) = offline
        && plan.suggested_tools.is_empty()
    {
        *plan = offline.plan;
    }
    plan.complexity = Complexity::Simple;
    analysis.reply = None;
    let why = contradiction.unwrap_or("it reads like a question about the knowledge base");
    let message = format!("the model took the question for small talk, but {why}: it is looked up");
    let doubt = Caveat::new("small_talk_doubted", message);
    analysis.warnings.push(doubt);
}

/// What in a plan says that its question is not small talk.
fn contradiction(plan: &RoutingPlan) -> Option<&'static str> {
    let has_other_type = plan.query_type != QueryType::Chitchat;
    let said = [
        (has_other_type, "gave it another type"),
        (!plan.suggested_tools.is_empty(), "suggested tools for it"),
        (!plan.grep_keywords.is_empty(), "named words to look for"),
        (!plan.sub_questions.is_empty(), "divided it into parts"),
    ];
    let mut said = said.into_iter();
    said.find_map(|(is_said, what)| is_said.then_some(what))
}

// The grades in a reply (R17, R18).
//
// A wrong number is worse than none, since none is answered with an honest 0.5: so the numbers
// must be recognisable as the reply. A list that stands alone or in an object under `scores` is;
// among words, `[1]` or `[1, 2]` is what a citation looks like, and is passed over.

/// The fields of an object that hold its grade, and those that hold the number of its item.
#[rustfmt::skip]
const SCORES: [&str; 6] = ["score", "relevance", "relevance_score", "value", "grade", "rating"];
const IDS: [&str; 5] = ["id", "n", "index", "item", "number"];

/// The numbers of the reply, as they are: out of range or of the wrong count is for the agent to
/// judge. Of several lists the last one of the expected length wins, then the last one.
pub fn grades(reply: &str, expected: usize) -> Result<Vec<f64>, UnreadableGrades> {
    let is_expected = |numbers: &Vec<f64>| numbers.len() == expected;
    find_all(reply)
        .iter()
        .filter_map(numbers_of)
        .max_by_key(|list| (list.is_ok(), list.as_ref().is_ok_and(is_expected)))
        .unwrap_or_else(|| Err("the reply holds no list of numbers".to_owned()))
        .map_err(UnreadableGrades)
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
        let number = score.as_f64().ok_or_else(|| {
            let given = one_line(&score.to_string(), 40);
            format!("score {} is {given}, not a number", at + 1)
        })?;
        Ok((id.unwrap_or(at as u64), number))
    });
    Some(numbers.collect::<Result<_, _>>().and_then(in_order))
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
    if let Some(score) = score_of(value) {
        let id = IDS.into_iter().find_map(|name| fields.get(name));
        // One that cannot be read is out of order.
        let id = id.map(|id| id.as_u64().or_else(|| id_in(id.as_str()?)));
        let id = id.map(|id| id.unwrap_or(u64::MAX));
        return Some(vec![(id, score.clone())]);
    }
    let ids: Option<Vec<u64>> = fields.keys().map(|key| id_in(key)).collect();
    if let Some(ids) = ids.filter(|ids| !ids.is_empty()) {
        let scores = fields.values().map(|it| score_of(it).unwrap_or(it).clone());
        return Some(ids.into_iter().map(Some).zip(scores).collect());
    }
    let mut within = fields.values().filter_map(entries_of);
    within.next().filter(|_| within.next().is_none())
}

fn score_of(item: &Value) -> Option<&Value> {
    let mut scores = SCORES.into_iter().filter_map(|name| item.get(name));
    scores.find(|score| !score.is_array() && !score.is_object())
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

/// Whole numbers from 1, rising: `[1]`, `[2, 5]`.
fn is_citation(value: &Value) -> bool {
    let items = value.as_array().into_iter().flatten();
    let numbers: Option<Vec<u64>> = items.map(Value::as_u64).collect();
    numbers.is_some_and(|it| it.first() >= Some(&1) && it.is_sorted_by(|a, b| a < b))
}

// The tool calls in a reply (R11).

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
            Ok(call) => planned.calls.push(call.into()),
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
        let mut rows = SYNONYMS.into_iter();
        let names = rows.find(|names| names.split(' ').next() == Some(name));
        let mut names = names.unwrap_or(name).split(' ');
        let value = names.find_map(|name| given.get(name).filter(|it| !it.is_null()));
        let value = coerce(value, argument).map_err(|why| format!("{tool} {why}"))?;
        if value.is_null() && !argument.is_optional {
            return Err(format!("{tool} lacks '{name}'"));
        }
        args.insert(name.to_owned(), value);
    }
    let call = serde_json::from_value(json!({"tool": tool, "args": args}));
    call.map_err(|why| format!("{tool}: {why}"))
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

// A question that was written anew.

/// Characters of a question that is searched at most.
const LONGEST_REWRITING: usize = 300;

/// The rewritten question in a reply that was asked for nothing else; `None` where the reply is no rewriting: it adds
/// nothing, repeats what was said, says what nobody said, drops what is asked for, or is in another language.
pub fn rewriting(reply: &str, query: &str, history: &[Turn]) -> Option<String> {
    let line = reply.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_matches(['"', '“', '”', '`', '*', ' ']);
    if line.is_empty() || is_longer(line, LONGEST_REWRITING) {
        return None;
    }
    let said = || {
        history
            .iter()
            .flat_map(|turn| [turn.question.as_str(), &turn.answer])
    };
    let known: HashSet<String> = said().chain([query]).flat_map(words_of).collect();
    let words: Vec<String> = words_of(line).collect();
    let held = words.iter().filter(|word| known.contains(*word)).count();
    let adds = words
        .iter()
        .any(|word| words_of(query).all(|known| known != *word));
    let repeats = said().any(|text| text.to_lowercase().contains(&line.to_lowercase()));
    let [asked, new] = [query, line].map(|text| offline::read(text, &[]));
    let keeps = asked.terms.is_empty() || asked.terms.iter().any(|term| new.terms.contains(term));
    let is_rewriting = adds && !repeats && keeps && asked.language == new.language;
    (is_rewriting && 2 * held > words.len()).then(|| one_line(line, LONGEST_REWRITING))
}

// Queries that are none of the question (R11).

/// Puts the question in the place of a query that the model took from its prompt, or that has no word of the question,
/// its parts, the conversation or the evidence kept: small models copy and make up. Of a model that is not small only
/// identifiers are looked at so.
pub fn replace_stray_queries(
    planned: &mut PlannedCalls,
    job: &PlanJob<'_>,
    prompts: &Prompts,
    is_small: bool,
) {
    let known = known_words(job);
    let asked = job.query.to_lowercase();
    let is_stray = |query: &str| {
        let is_translated = job.question.language != Language::EN;
        let is_known = words_of(query).any(|word| known.contains(&word));
        // A single word of the prompt may well be the model's own.
        let is_copied = query.split_whitespace().nth(1).is_some()
            && prompts.holds_in_plan(query)
            && !asked.contains(&query.to_lowercase());
        // A large model knows other words for the same, but no identifier that nobody has named.
        let is_identifier = !query.contains(' ') && query.contains(|c: char| c.is_ascii_digit());
        is_copied || !is_known && (is_identifier || is_small && !is_translated)
    };
    let mut replaced = Vec::new();
    for PlannedCall { call, .. } in &mut planned.calls {
        let (query, keywords) = match call {
            ToolCall::VectorSearch { query, .. }
            | ToolCall::GrepSearch { query }
            | ToolCall::LocalFileQa { query, .. } => (query, None),
            ToolCall::HybridSearch {
                semantic_query,
                exact_keywords,
            } => (semantic_query, Some(exact_keywords)),
            ToolCall::ReadFile { .. } | ToolCall::GraphRelated { .. } => continue,
        };
        if let Some(keywords) = keywords {
            keywords.retain(|keyword| !is_stray(keyword));
        }
        if is_stray(query) {
            replaced.push(one_line(query, 60));
            job.query.clone_into(query);
        }
    }
    if !replaced.is_empty() {
        let queries = replaced.join("', '");
        let message = format!(
            "the model planned a search for '{queries}', which is none of the question: the question \
             is searched instead"
        );
        planned
            .warnings
            .push(Caveat::new("query_replaced", message));
    }
}

fn known_words(job: &PlanJob<'_>) -> HashSet<String> {
    let turns = job
        .history
        .iter()
        .flat_map(|turn| [&turn.question, &turn.answer]);
    let evidence = job.context.iter().map(|item| &item.text);
    let texts = turns.chain(evidence).chain(&job.routing.sub_questions);
    let words = texts.flat_map(|text| words_of(text));
    words_of(job.query).chain(words).collect()
}

/// The words of a text in lower case, by their first letters, so that forms of one word are one; of scripts without
/// spaces the characters.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(|run| {
        if run.chars().any(is_cjk) {
            run.chars().map(String::from).collect()
        } else {
            let start: String = run.to_lowercase().chars().take(STEM).collect();
            vec![start]
        }
    })
    .filter(|word| !word.is_empty())
}

/// Letters by which words are compared.
const STEM: usize = 5;

#[cfg(test)]
mod analysis_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r04_what_finds_no_end_is_left_out() {
        let read = |part: &str, keyword: &str| {
            analysis(
                &json!({
                    "complexity": "complex", "query_type": "conceptual",
                    "sub_questions": ["What is a?", part], "suggested_tools": [],
                    "grep_keywords": ["kept", keyword],
                })
                .to_string(),
            )
        };
        let kept = read(&"x".repeat(LONGEST_PART), &"y".repeat(LONGEST_KEYWORD));
        assert_eq!(kept.plan.sub_questions.len(), 2);
        assert_eq!(kept.plan.grep_keywords.len(), 2);
        assert_eq!(kept.warnings, []);
        let cut = read(
            &"x".repeat(LONGEST_PART + 1),
            &"y".repeat(LONGEST_KEYWORD + 1),
        );
        assert_eq!(cut.plan.sub_questions, [""; 0]);
        assert_eq!(cut.plan.grep_keywords, ["kept"]);
        let messages: Vec<&str> = cut.warnings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "the analysis gives a part of over 1000 characters; the question is taken whole",
                "1 of 2 keywords of the analysis dropped: too long or too many",
            ]
        );
    }

    const WHOLE: &str = r#"{"query_type": "relational", "complexity": "complex",
        "sub_questions": ["a?", "b?"], "suggested_tools": ["graph_related", "hybrid_search"],
        "grep_keywords": ["PROJ-123"]}"#;

    #[test]
    fn r01_the_plan_is_read_in_every_wrapping() {
        let plan = RoutingPlan {
            query_type: QueryType::Relational,
            complexity: Complexity::Complex,
            sub_questions: vec!["a?".to_owned(), "b?".to_owned()],
            suggested_tools: vec![ToolName::GraphRelated, ToolName::HybridSearch],
            grep_keywords: vec!["PROJ-123".to_owned()],
            ..RoutingPlan::default()
        };
        for reply in [
            WHOLE.to_owned(),
            format!("```json\n{WHOLE}\n```"),
            format!(
                "<think>simple? {{\"complexity\": \"simple\"}}</think>\nHere it is: {WHOLE}\nDone."
            ),
            format!("{{\"routing_plan\": {WHOLE}}}"),
            format!("[{WHOLE}]"),
            format!("{{\"result\": [{WHOLE}]}}"),
            json!({"result": WHOLE}).to_string(),
            json!(WHOLE).to_string(),
            json!([{"function": {"name": "routing_plan", "arguments": WHOLE}}]).to_string(),
            WHOLE.replace('"', "'").replace('}', ",}"),
            WHOLE.trim_end_matches('}').to_owned(),
            WHOLE.replace("query_type", "Query Type"),
            WHOLE
                .replace("\"complex\"", "\"Complex\"")
                .replace("relational", "Relational"),
            WHOLE.replace(
                "[\"graph_related\", \"hybrid_search\"]",
                "\"graph_related, hybrid-search\"",
            ),
            WHOLE.replace("[\"PROJ-123\"]", "\"PROJ-123\""),
        ] {
            let analysis = analysis(&reply);
            assert_eq!(analysis.plan, plan, "{reply}");
            assert_eq!(analysis.warnings, vec![], "{reply}");
        }
    }

    #[test]
    fn r02_chitchat_carries_its_reply_and_nothing_else_does() {
        for (reply, said) in [
            (
                r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": " Hello! "}"#,
                Some("Hello!"),
            ),
            (r#"{"complexity": "chitchat", "reply": ""}"#, None),
            (r#"{"complexity": "chitchat", "reply": null}"#, None),
            (r#"{"complexity": "chitchat", "reply": "null"}"#, None),
            (r#"{"complexity": "chitchat", "reply": "None"}"#, None),
            (r#"{"complexity": "chitchat"}"#, None),
            (r#"{"complexity": "simple", "reply": "It is 0.8."}"#, None),
        ] {
            assert_eq!(analysis(reply).reply.as_deref(), said, "{reply}");
        }
    }

    #[test]
    fn r04_missing_or_unknown_complexity_is_complex() {
        for (reply, warnings) in [
            (r#"{"query_type": "exact"}"#, 0),
            (r#"{"query_type": "exact", "complexity": null}"#, 0),
            (r#"{"query_type": "exact", "complexity": "medium"}"#, 1),
            (r#"{"query_type": "exact", "complexity": 3}"#, 1),
        ] {
            let analysis = analysis(reply);
            assert_eq!(analysis.plan.complexity, Complexity::Complex, "{reply}");
            assert_eq!(analysis.plan.query_type, QueryType::Exact, "{reply}");
            assert_eq!(analysis.warnings.len(), warnings, "{reply}");
        }
    }

    #[test]
    fn r04_what_cannot_be_read_falls_back_with_a_caveat() {
        for reply in [
            "",
            "I think this is simple.",
            "{\"complexity\": \"simple\", \"query_type\": \"ex",
            "<think>{\"complexity\": \"simple\"}</think>",
            "<think>{\"complexity\": \"simple\"}",
            "[1, 2]",
            "{}",
            "{\"answer\": 42}",
        ] {
            let analysis = analysis(reply);
            assert_eq!(analysis.plan, RoutingPlan::fallback(), "{reply}");
            assert_eq!(analysis.warnings.len(), 1, "{reply}");
            assert_eq!(analysis.warnings[0].code, "analysis_unreadable", "{reply}");
        }
    }

    #[test]
    fn r05_a_rewriting_keeps_what_is_asked_and_says_only_what_was_said() {
        let turn = Turn {
            question: "What is the threshold of the gate?".to_owned(),
            answer: "Its threshold is seven.".to_owned(),
        };
        let query = "And which colour has it?";
        let read = |reply: &str| rewriting(reply, query, std::slice::from_ref(&turn));
        for (reply, rewritten) in [
            (
                "Which colour has the gate?",
                Some("Which colour has the gate?"),
            ),
            (
                "\n \"Which colour has the gate?\"\nNote: …",
                Some("Which colour has the gate?"),
            ),
            // It adds nothing, repeats what was said, drops what is asked for, makes it up, or translates it.
            (query, None),
            ("What is the threshold of the gate?", None),
            ("Its threshold is seven.", None),
            ("What is the gate and its threshold?", None),
            (
                "Which colour do dragons on the old tower of Babel have?",
                None,
            ),
            ("Welche colour hat das Tor und der Turm?", None),
            ("", None),
        ] {
            assert_eq!(read(reply).as_deref(), rewritten, "{reply}");
        }
    }

    #[test]
    fn unknown_words_are_dropped_with_a_caveat() {
        let analysis = analysis(
            r#"{"complexity": "simple", "query_type": "odd",
                "suggested_tools": ["web_search", "grep_search", "grep_search", null, 7]}"#,
        );
        assert_eq!(analysis.plan.query_type, QueryType::Conceptual);
        assert_eq!(analysis.plan.suggested_tools, vec![ToolName::GrepSearch]);
        let said: Vec<_> = analysis
            .warnings
            .iter()
            .map(|caveat| (caveat.code, caveat.message.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                (
                    "analysis_value_unknown",
                    "the analysis gives query_type as 'odd'"
                ),
                (
                    "tool_unknown",
                    "the analysis suggests 'web_search', no such tool"
                ),
                ("tool_unknown", "the analysis suggests '7', no such tool"),
            ]
        );
    }

    #[test]
    fn one_text_is_a_list_of_one() {
        let analysis = analysis(
            r#"{"complexity": "complex", "sub_questions": "What is a, and b?\nWhat is c?",
                "grep_keywords": "a, b、c", "suggested_tools": "[\"read_file\"]"}"#,
        );
        assert_eq!(
            analysis.plan.sub_questions,
            ["What is a, and b?", "What is c?"]
        );
        assert_eq!(analysis.plan.grep_keywords, ["a", "b", "c"]);
        assert_eq!(analysis.plan.suggested_tools, [ToolName::ReadFile]);
    }
}

#[cfg(test)]
mod small_talk_tests {
    use super::*;
    use crate::domain::ToolName;

    fn small_talk() -> Analysis {
        Analysis {
            plan: RoutingPlan {
                complexity: Complexity::Chitchat,
                query_type: QueryType::Chitchat,
                ..RoutingPlan::default()
            },
            reply: Some("It is 42.".to_owned()),
            ..Analysis::default()
        }
    }

    fn offline(complexity: Complexity) -> Analysis {
        Analysis {
            plan: RoutingPlan {
                suggested_tools: vec![ToolName::GrepSearch],
                complexity,
                ..RoutingPlan::default()
            },
            ..Analysis::default()
        }
    }

    #[test]
    fn r02_a_plan_that_contradicts_small_talk_is_simple() {
        let agreeing = small_talk();
        let with = |change: fn(&mut RoutingPlan)| {
            let mut analysis = small_talk();
            change(&mut analysis.plan);
            analysis
        };
        for (analysis, why) in [
            (
                with(|plan| plan.query_type = QueryType::Exact),
                "gave it another type",
            ),
            (
                with(|plan| plan.suggested_tools.push(ToolName::ReadFile)),
                "suggested tools for it",
            ),
            (
                with(|plan| plan.grep_keywords.push("a".to_owned())),
                "named words to look for",
            ),
            (
                with(|plan| plan.sub_questions.push("What is a?".to_owned())),
                "divided it into parts",
            ),
        ] {
            for second in [None, Some(offline(Complexity::Complex))] {
                let mut settled = analysis.clone();
                check_small_talk(&mut settled, second);
                assert_eq!(settled.plan.complexity, Complexity::Simple, "{why}");
                assert_eq!(settled.reply, None);
                let message = format!(
                    "the model took the question for small talk, but {why}: it is looked up"
                );
                assert_eq!(settled.warnings[0].message, message);
            }
            // A model that contradicts itself whatever it is asked does so for a greeting, too.
            let mut settled = analysis.clone();
            check_small_talk(&mut settled, Some(offline(Complexity::Chitchat)));
            assert_eq!(settled, analysis);
        }
        let mut settled = agreeing.clone();
        check_small_talk(&mut settled, None);
        assert_eq!(settled, agreeing);
    }

    #[test]
    fn r02_small_talk_needs_the_word_of_the_offline_engine() {
        let mut settled = small_talk();
        check_small_talk(&mut settled, Some(offline(Complexity::Chitchat)));
        assert_eq!(settled, small_talk());
        check_small_talk(&mut settled, Some(offline(Complexity::Complex)));
        assert_eq!(settled.plan.complexity, Complexity::Simple);
        assert_eq!(settled.plan.suggested_tools, [ToolName::GrepSearch]);
        assert_eq!(settled.reply, None);
    }
}

#[cfg(test)]
mod grades_tests {
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
            ("{\"0\": 0.9, \"1\": 0.1}", 2, vec![0.9, 0.1]),
            (
                "{\"grades\": [0.9, 0.1], \"notes\": {\"why\": \"x\"}, \"model\": \"y\"}",
                2,
                vec![0.9, 0.1],
            ),
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
            ("[\"0.9\", 0.1]", "score 1 is \"0.9\", not a number"),
            (
                "{\"scores\": [\"high\"], \"ids\": [1, 2]}",
                "score 1 is \"high\", not a number",
            ),
            ("[[0.9, 0.1]]", "score 1 is [0.9,0.1], not a number"),
            ("[true]", "score 1 is true, not a number"),
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

#[cfg(test)]
mod planned_calls_tests {
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
            let planned = plan(&format!("[{dropped}, {kept}]"));
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
