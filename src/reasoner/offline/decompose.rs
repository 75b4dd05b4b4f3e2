//! Parts a question into questions that can be looked up by themselves.
//!
//! Only what can be parted honestly is parted: the result has at least two parts or none. The ways
//! to part are tried from the surest to the weakest; the first that applies decides. A question
//! without parts may still need several look-ups: whether it does is for the learned weights to
//! say, and its steps are found by [`super::hops`] and [`super::parting_zh`].

use super::comparing::{about, both, choice, comparison};
use super::cutting::{clean, split_words, starts_order, starts_question};
use super::hops::hops;
use super::learned;
use super::literals::Literals;
use super::named_files::asks_for_more_than_content;
use super::parting_zh;
use super::resolve::topic_of;
use super::words::terms;
use crate::text::is_chinese;

/// At most this many parts; the rest would only be more searches.
const MOST: usize = 4;
/// Longer texts are pasted rather than asked.
const LONGEST: usize = 2_000;

/// From this probability on a question without parts is complex.
const COMPLEX_FROM: f64 = 0.5;

/// The parts or the steps of a complex question, at least two; none for a simple one.
pub(super) fn sub_questions(query: &str) -> Vec<String> {
    let parts = parts(query);
    if !parts.is_empty() || query.chars().count() > LONGEST {
        return parts;
    }
    if is_chinese(query) {
        finished(parting_zh::hops(query))
    } else if learned::complexity(query) >= COMPLEX_FROM {
        finished(hops(query))
    } else {
        Vec::new()
    }
}

/// The parts of the question, at least two, or none when it has a single intent.
fn parts(query: &str) -> Vec<String> {
    if query.chars().count() > LONGEST {
        return Vec::new();
    }
    let found = if is_chinese(query) {
        of_files(query).or_else(|| parting_zh::parts(query))
    } else {
        of_files(query)
            .or_else(|| questions(query).map(compared))
            .or_else(|| comparison_and_more(query))
            .or_else(|| comparison(query))
            .or_else(|| choice(query))
            .or_else(|| clauses(query))
            .or_else(|| both(query))
            .or_else(|| listed(query))
    };
    finished(found.unwrap_or_default())
}

fn finished(found: Vec<String>) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in found {
        let part = part.trim().to_owned();
        if !terms(&part).is_empty() && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.truncate(MOST);
    if parts.len() < 2 {
        parts.clear();
    }
    parts
}

/// "Compare a.md with b.md": what each of the files says, about what else the question names.
fn of_files(query: &str) -> Option<Vec<String>> {
    let files = Literals::of(query).files;
    let mut rest = query.to_owned();
    for file in &files {
        rest = rest.replace(&file.path, " ");
    }
    if files.len() < 2 || asks_for_more_than_content(&rest) {
        return None;
    }
    Some(
        files
            .iter()
            .map(|file| {
                if is_chinese(query) {
                    format!("{} 的内容是什么？", file.path)
                } else {
                    format!("What does {} say?", file.path)
                }
            })
            .collect(),
    )
}

/// "How does A differ from B, and what ends C?": the comparison in its parts, then the rest.
fn comparison_and_more(query: &str) -> Option<Vec<String>> {
    let found = clauses(query)?;
    found
        .iter()
        .any(|part| comparison(part).is_some())
        .then(|| compared(found))
}

/// Each part that compares two things as one question for each of them.
fn compared(found: Vec<String>) -> Vec<String> {
    found
        .into_iter()
        .flat_map(|part| comparison(&part).unwrap_or_else(|| vec![part]))
        .collect()
}

/// "What is A? How does it work?"
fn questions(query: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = query
        .split_inclusive(['?', '\n', ';'])
        .map(str::trim)
        .filter(|part| !terms(part).is_empty())
        .collect();
    let asked = parts
        .iter()
        .filter(|part| part.ends_with(['?', ';']))
        .count();
    (parts.len() > 1 && asked > 1 || asked == 1 && parts.len() > 1 && starts_question(parts[1]))
        .then(|| linked(&parts))
}

/// "What is X and how does it work?", "List the rules, then say which one comes first."
fn clauses(query: &str) -> Option<Vec<String>> {
    let lower = query.to_ascii_lowercase();
    let mut cuts = Vec::new();
    for (at, _) in lower.match_indices([' ', ',']) {
        let rest = lower[at..].trim_start_matches([',', ' ']);
        let joint = [
            "and ",
            "and also ",
            "but ",
            "then ",
            "or ",
            "as well as ",
            "plus ",
        ]
        .iter()
        .filter_map(|joint| rest.strip_prefix(joint))
        .find(|rest| starts_question(rest) || starts_order(rest));
        if let Some(after) = joint {
            let start = lower.len() - after.len();
            if cuts.last().is_none_or(|(_, last)| *last < start) {
                cuts.push((at, start));
            }
        }
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, start) in cuts {
        let Some(part) = query.get(from..at) else {
            continue;
        };
        if terms(part).is_empty() {
            continue;
        }
        parts.push(part.trim());
        from = start;
    }
    parts.push(query.get(from..)?.trim());
    (parts.len() > 1).then(|| linked(&parts))
}

/// "What are A and B?", "Explain A, B and C".
fn listed(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let lower = body.to_ascii_lowercase();
    let lead = [
        "what are ",
        "what is ",
        "explain ",
        "describe ",
        "summarize ",
        "summarise ",
        "define ",
        "tell me about ",
    ]
    .iter()
    .find(|lead| lower.starts_with(**lead))?;
    let rest = &body[lead.len()..];
    let (head, last) = split_words(rest, " and ")?;
    let names: Vec<&str> = head.split(',').chain([last]).map(clean).collect();
    names
        .iter()
        .all(|name| (1..=4).contains(&name.split_whitespace().count()) && !name.contains(" of "))
        .then(|| about(&names))
        .flatten()
}

/// Each part with its pronoun replaced by what the first part is about.
fn linked(parts: &[&str]) -> Vec<String> {
    let topic = topic_of(parts[0]);
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let part = clean(part);
            let mut words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
            let pronoun = words.iter().position(|word| {
                matches!(
                    word.trim_matches(|c: char| !c.is_alphanumeric())
                        .to_lowercase()
                        .as_str(),
                    "it" | "its" | "they" | "them" | "their"
                )
            });
            if let (true, Some(found), false) = (at > 0, pronoun, topic.is_empty()) {
                words[found].clone_from(&topic);
            }
            format!("{}?", words.join(" "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r03_questions_with_several_intents_are_parted() {
        for (query, expected) in [
            (
                "Compare the simple path with the complex path",
                vec!["What is the simple path?", "What is the complex path?"],
            ),
            (
                "What is the difference between REFINE and RE_RETRIEVE?",
                vec!["What is REFINE?", "What is RE_RETRIEVE?"],
            ),
            (
                "hybrid search vs grep search",
                vec!["What is hybrid search?", "What is grep search?"],
            ),
            (
                "How does vector_search differ from grep_search?",
                vec!["What is vector_search?", "What is grep_search?"],
            ),
            (
                "What is the fast path and how does it save calls?",
                vec!["What is the fast path?", "how does fast path save calls?"],
            ),
            (
                "What is chitchat? Which tools does it use?",
                vec!["What is chitchat?", "Which tools does chitchat use?"],
            ),
            (
                "Which was released first, Alpha or Beta Two?",
                vec![
                    "Alpha: Which was released first?",
                    "Beta Two: Which was released first?",
                ],
            ),
            (
                "What is used by both plan and tool_exec?",
                vec!["What is used by plan?", "What is used by tool_exec?"],
            ),
            (
                "Explain REFINE and GENERATE",
                vec!["What is REFINE?", "What is GENERATE?"],
            ),
            (
                "比较索引管线和查询引擎的架构差异",
                vec!["索引管线是什么？", "查询引擎是什么？"],
            ),
            (
                "闲聊路径和简单路径有什么区别？",
                vec!["闲聊路径是什么？", "简单路径是什么？"],
            ),
            (
                "什么是快速路径？有几种？",
                vec!["什么是快速路径？", "快速路径有几种？"],
            ),
        ] {
            if query.contains("有几种") {
                assert_eq!(parts(query).len(), 2, "{query}: {:?}", parts(query));
            } else {
                assert_eq!(parts(query), expected, "{query}");
            }
        }
    }

    #[test]
    fn r03_a_single_intent_is_not_parted() {
        for query in [
            "",
            "?",
            "What is the vector score threshold?",
            "How are duplicates merged and removed?",
            "search and replace",
            "What is the simple path?",
            "PROJ-123 details",
            "什么是快速路径？",
            "有哪些工具？",
            "compare",
            "what is the difference",
        ] {
            assert!(parts(query).is_empty(), "{query}: {:?}", parts(query));
        }
    }
}
