//! The routing plan in a reply (R1–R4).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent::ports::{Analysis, Caveat};
use crate::domain::{Complexity, QueryType, RoutingPlan, ToolName};
use crate::text::one_line;

use super::json::{find_all, unquoted};
use super::lists::{KEYWORD_BORDERS, LONGEST_KEYWORD, MOST_KEYWORDS, is_longer, texts, tool_named};
use crate::reasoner::llm::reply_schema::analysis_fields;

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

#[cfg(test)]
mod tests {
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
