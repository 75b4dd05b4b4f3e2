//! The routing plan in a reply (R1–R4).
//!
//! Models fence their JSON, wrap it in prose and spell words their own way; all of that is read. What is
//! still not there is told, one caveat each, and never made up.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::json::{
    KEYWORD_BORDERS, LONGEST_KEYWORD, MOST_KEYWORDS, find_all, is_longer, meaning, texts,
    tool_named, unquoted,
};
use super::reply_schema::analysis_fields;
use crate::agent::ports::{Analysis, Caveat};
use crate::domain::{Complexity, QueryType, RoutingPlan, ToolName};
use crate::text::one_line;

/// Characters of a part of the question; more is a model's that does not find its end.
const LONGEST_PART: usize = 1_000;
/// Characters of a reason.
const LONGEST_REASON: usize = 120;

/// Reads the plan of a reply; the fallback with a caveat where there is none (R4). Costs are not known here.
pub fn read(reply: &str) -> Analysis {
    let mut found = find_all(reply).into_iter();
    let Some(fields) = found.find_map(|found| plan_in(found.value)) else {
        let message = "the analysis could not be read; searching on the question as it is";
        return Analysis {
            plan: RoutingPlan::fallback(),
            warnings: vec![Caveat::new("analysis_unreadable", message)],
            ..Analysis::default()
        };
    };
    let mut warnings = Vec::new();
    let complexity = word(&fields, "complexity", &mut warnings).unwrap_or_default();
    let is_talk = complexity == Complexity::Chitchat;
    // A type that was left out contradicts nothing.
    let default_type = if is_talk {
        QueryType::Chitchat
    } else {
        QueryType::default()
    };
    let plan = RoutingPlan {
        complexity,
        query_type: word(&fields, "query_type", &mut warnings).unwrap_or(default_type),
        sub_questions: bounded(
            &fields,
            "sub_questions",
            &['\n'],
            LONGEST_PART,
            &mut warnings,
        ),
        suggested_tools: tools(&fields, &mut warnings),
        grep_keywords: bounded(
            &fields,
            "grep_keywords",
            &KEYWORD_BORDERS,
            LONGEST_KEYWORD,
            &mut warnings,
        ),
        ..RoutingPlan::default()
    };
    let reason = phrase(&fields, "reason").map(|reason| one_line(reason, LONGEST_REASON));
    let reply = phrase(&fields, "reply").filter(|_| is_talk);
    Analysis {
        plan,
        reply: reply.map(str::to_owned),
        reason,
        warnings,
        ..Analysis::default()
    }
}

/// The object that has a plan's fields: the value itself, or the first one within.
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
    let word = meaning(name, &text).unwrap_or(&spelled);
    let value = serde_json::from_value(word.into()).ok();
    if value.is_none() {
        let message = format!("the analysis gives {name} as '{}'", one_line(&text, 60));
        warnings.push(Caveat::new("analysis_value_unknown", message));
    }
    value
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

/// The texts of a list, without endless ones and an endless number of them.
fn bounded(
    fields: &Map<String, Value>,
    name: &str,
    borders: &[char],
    longest: usize,
    warnings: &mut Vec<Caveat>,
) -> Vec<String> {
    let given = texts(fields.get(name), borders);
    let kept = given.iter().filter(|text| !is_longer(text, longest));
    let kept: Vec<_> = kept.take(MOST_KEYWORDS).cloned().collect();
    if kept.len() == given.len() {
        return kept;
    }
    let (dropped, count) = (given.len() - kept.len(), given.len());
    // A part that is missing would make the others another question.
    let (kept, left_out) = match name {
        "sub_questions" => (Vec::new(), "the question is taken whole"),
        _ => (kept, "they are left out"),
    };
    let message =
        format!("{dropped} of {count} {name} of the analysis are too long or too many: {left_out}");
    warnings.push(Caveat::new("analysis_endless", message));
    kept
}

/// A text that says something.
fn phrase<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = fields.get(name)?.as_str()?.trim();
    Some(text).filter(|text| meaning("nothing", text).is_none())
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
    let contradiction = [
        (
            plan.query_type != QueryType::Chitchat,
            "gave it another type",
        ),
        (!plan.suggested_tools.is_empty(), "suggested tools for it"),
        (!plan.grep_keywords.is_empty(), "named words to look for"),
        (!plan.sub_questions.is_empty(), "divided it into parts"),
    ];
    let contradiction = contradiction.iter().find(|(contradicts, _)| *contradicts);
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
    // It is the reason for another route.
    analysis.reason = None;
    let why = contradiction.map_or("it reads like a question about the knowledge base", |it| {
        it.1
    });
    let message = format!("the model took the question for small talk, but {why}: it is looked up");
    let doubt = Caveat::new("small_talk_doubted", message);
    analysis.warnings.push(doubt);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(warnings: &[Caveat]) -> Vec<&str> {
        warnings.iter().map(|it| it.message.as_str()).collect()
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
        let tools = "[\"graph_related\", \"hybrid_search\"]";
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
            WHOLE.replace("\"complex\"", "\"Complex\""),
            WHOLE.replace("\"complex\"", "\"复杂。\""),
            WHOLE.replace("\"complex\"", "\"Komplex\""),
            WHOLE.replace("relational", "Relational"),
            WHOLE.replace("relational", "关系"),
            WHOLE.replace(tools, "\"graph_related, hybrid-search\""),
            WHOLE.replace(tools, "\"[\\\"graph_related\\\", \\\"hybrid_search\\\"]\""),
            WHOLE.replace("[\"a?\", \"b?\"]", "\"a?\\nb?\""),
            WHOLE.replace("[\"PROJ-123\"]", "\"PROJ-123\""),
        ] {
            let analysis = read(&reply);
            assert_eq!(analysis.plan, plan, "{reply}");
            assert_eq!(analysis.warnings, [], "{reply}");
        }
    }

    /// The reply to small talk and the reason of the route, in words that say something.
    #[test]
    fn r02_chitchat_carries_its_reply_and_every_route_its_reason() {
        for (reply, text, reason) in [
            (
                r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": " Hello! ", "reason": "a greeting"}"#,
                Some("Hello!"),
                Some("a greeting"),
            ),
            (r#"{"complexity": "chitchat", "reply": ""}"#, None, None),
            (
                r#"{"complexity": "chitchat", "reply": null, "reason": null}"#,
                None,
                None,
            ),
            (r#"{"complexity": "闲聊", "reply": "null"}"#, None, None),
            (
                r#"{"complexity": "chitchat", "reply": "None", "reason": "无"}"#,
                None,
                None,
            ),
            (
                r#"{"complexity": "einfach", "reply": "It is 0.8.", "reason": "one\nfact"}"#,
                None,
                Some("one fact"),
            ),
        ] {
            let analysis = read(reply);
            assert_eq!(analysis.reply.as_deref(), text, "{reply}");
            assert_eq!(analysis.reason.as_deref(), reason, "{reply}");
            assert_eq!(analysis.warnings, [], "{reply}");
        }
    }

    #[test]
    fn r04_what_cannot_be_read_is_told_and_falls_back() {
        let unreadable = "the analysis could not be read; searching on the question as it is";
        for reply in [
            "",
            "I think this is simple.",
            "{\"complexity\": \"simple\", \"query_type\": \"ex",
            "<think>{\"complexity\": \"simple\"}</think>",
            "<think>{\"complexity\": \"simple\"}",
            "[1, 2]",
            "{}",
            "{\"answer\": 42, \"reason\": \"why not\"}",
        ] {
            let analysis = read(reply);
            assert_eq!(analysis.plan, RoutingPlan::fallback(), "{reply}");
            assert_eq!(messages(&analysis.warnings), [unreadable], "{reply}");
        }
        for (reply, told) in [
            (r#"{"query_type": "exact"}"#, &[][..]),
            (
                r#"{"query_type": "exact", "complexity": null, "grep_keywords": "keine", "sub_questions": "无"}"#,
                &[],
            ),
            (
                r#"{"query_type": "exact", "complexity": "medium"}"#,
                &["the analysis gives complexity as 'medium'"],
            ),
            (
                r#"{"query_type": "exact", "complexity": 3, "suggested_tools": ["web_search", null, 7]}"#,
                &[
                    "the analysis gives complexity as '3'",
                    "the analysis suggests 'web_search', no such tool",
                    "the analysis suggests '7', no such tool",
                ],
            ),
        ] {
            let analysis = read(reply);
            assert_eq!(analysis.plan.complexity, Complexity::Complex, "{reply}");
            assert_eq!(analysis.plan.query_type, QueryType::Exact, "{reply}");
            assert_eq!(analysis.plan.grep_keywords, [""; 0], "{reply}");
            assert_eq!(analysis.plan.sub_questions, [""; 0], "{reply}");
            assert_eq!(messages(&analysis.warnings), told, "{reply}");
        }
    }

    #[test]
    fn r04_what_finds_no_end_is_left_out() {
        let with = |part: usize, keyword: usize| {
            let parts = ["What is a?".to_owned(), "x".repeat(part)];
            let keywords = ["kept".to_owned(), "y".repeat(keyword)];
            let plan =
                json!({"complexity": "complex", "sub_questions": parts, "grep_keywords": keywords});
            read(&plan.to_string())
        };
        let kept = with(LONGEST_PART, LONGEST_KEYWORD);
        assert_eq!(kept.plan.sub_questions.len(), 2);
        assert_eq!(kept.plan.grep_keywords.len(), 2);
        assert_eq!(kept.warnings, []);
        let cut = with(LONGEST_PART + 1, LONGEST_KEYWORD + 1);
        assert_eq!(cut.plan.sub_questions, [""; 0]);
        assert_eq!(cut.plan.grep_keywords, ["kept"]);
        let told = [
            "1 of 2 sub_questions of the analysis are too long or too many: the question is taken whole",
            "1 of 2 grep_keywords of the analysis are too long or too many: they are left out",
        ];
        assert_eq!(messages(&cut.warnings), told);
    }

    fn small_talk(change: impl FnOnce(&mut RoutingPlan)) -> Analysis {
        let mut analysis =
            read(r#"{"complexity": "chitchat", "reply": "It is 42.", "reason": "a greeting"}"#);
        change(&mut analysis.plan);
        analysis
    }

    #[test]
    fn r02_small_talk_needs_a_second_word() {
        let offline = |complexity| Analysis {
            plan: RoutingPlan {
                suggested_tools: vec![ToolName::GrepSearch],
                complexity,
                ..RoutingPlan::default()
            },
            ..Analysis::default()
        };
        let (talk, question) = (offline(Complexity::Chitchat), offline(Complexity::Complex));
        let plain = small_talk(|_| ());
        for (analysis, second, why) in [
            (plain.clone(), None, None),
            // A model that contradicts itself whatever it is asked does so for a greeting, too.
            (
                small_talk(|plan| plan.query_type = QueryType::Exact),
                Some(&talk),
                None,
            ),
            (
                plain,
                Some(&question),
                Some("it reads like a question about the knowledge base"),
            ),
            (
                small_talk(|plan| plan.query_type = QueryType::Exact),
                None,
                Some("gave it another type"),
            ),
            (
                small_talk(|plan| plan.suggested_tools.push(ToolName::ReadFile)),
                Some(&question),
                Some("suggested tools for it"),
            ),
            (
                small_talk(|plan| plan.grep_keywords.push("a".to_owned())),
                None,
                Some("named words to look for"),
            ),
            (
                small_talk(|plan| plan.sub_questions.push("What is a?".to_owned())),
                Some(&question),
                Some("divided it into parts"),
            ),
        ] {
            let mut settled = analysis.clone();
            check_small_talk(&mut settled, second.cloned());
            let Some(why) = why else {
                assert_eq!(settled, analysis);
                continue;
            };
            assert_eq!(settled.plan.complexity, Complexity::Simple, "{why}");
            assert_eq!((settled.reply, settled.reason), (None, None));
            let has_tools = second.is_some() || !analysis.plan.suggested_tools.is_empty();
            assert_eq!(settled.plan.suggested_tools.is_empty(), !has_tools);
            let message =
                format!("the model took the question for small talk, but {why}: it is looked up");
            assert_eq!(messages(&settled.warnings), [message]);
        }
    }
}
