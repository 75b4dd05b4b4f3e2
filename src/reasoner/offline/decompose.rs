//! Parts a question into questions that can be looked up by themselves.
//!
//! Only what can be parted honestly is parted: the result has at least two parts or none. The ways
//! to part are tried from the surest to the weakest; the first that applies decides. A question
//! without parts may still need several look-ups: whether it does is for the learned weights to
//! say, and its steps are found by [`super::hops`] and [`super::hops_zh`].

use super::comparing::{about, both, choice, comparison};
use super::cutting::{clean, find_words, split_words, starts_order, starts_question};
use super::ends::sentences;
use super::hops::{asks_behind_a_clause, asks_behind_a_role, hops};
use super::hops_zh;
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
/// And from this one when it tells what it is about in a clause: the questions learned from are
/// long, those asked of a knowledge base are not.
const POSSIBLE_FROM: f64 = 0.15;

/// The parts or the steps of a complex question, at least two; none for a simple one.
pub(super) fn sub_questions(query: &str) -> Vec<String> {
    let parts = parts(query);
    if !parts.is_empty() || query.chars().count() > LONGEST {
        return parts;
    }
    let asked = asked_sentence(query);
    if is_chinese(query) {
        finished(hops_zh::hops(query))
    } else if is_complex(&asked) {
        finished(hops(&asked))
    } else {
        Vec::new()
    }
}

/// The one sentence that asks, behind others that tell what it is about; else the whole.
fn asked_sentence(query: &str) -> String {
    let mut found = sentences(query);
    let last = found.pop().filter(|_| !found.is_empty());
    last.filter(|last| starts_question(last) && terms(last).len() > 1)
        .unwrap_or_else(|| query.to_owned())
}

fn is_complex(query: &str) -> bool {
    let learned = learned::complexity(query);
    learned >= COMPLEX_FROM
        || learned >= POSSIBLE_FROM && asks_behind_a_clause(query)
        || asks_behind_a_role(query)
}

/// The parts of the question, at least two, or none when it has a single intent.
fn parts(query: &str) -> Vec<String> {
    parted(query).map_or_else(Vec::new, |(_, parts)| finished(parts))
}

/// By which rule the question is parted, as a person would call it; `None` where none applies.
pub(super) fn parting_rule(query: &str) -> Option<&'static str> {
    let (rule, parts) = parted(query)?;
    (!finished(parts).is_empty()).then_some(rule)
}

fn parted(query: &str) -> Option<(&'static str, Vec<String>)> {
    if query.chars().count() > LONGEST {
        return None;
    }
    let by = |rule: &'static str| move |parts: Vec<String>| (rule, parts);
    let files = of_files(query).map(by("several files"));
    if is_chinese(query) {
        return files.or_else(|| parting_zh::parts(query).map(by("several parts")));
    }
    files
        .or_else(|| questions(query).map(compared).map(by("several questions")))
        .or_else(|| comparison_and_more(query).map(by("a comparison and more")))
        .or_else(|| comparison(query).map(by("a comparison")))
        .or_else(|| choice(query).map(by("a choice")))
        .or_else(|| clauses(query).map(by("several clauses")))
        .or_else(|| deeds(query).map(by("several things to do")))
        .or_else(|| both(query).map(by("both of two things")))
        .or_else(|| listed(query).map(by("a list")))
        .or_else(|| enumerated(query).map(by("an enumeration")))
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

/// "How do I create a project and invite my colleagues?": the same question of each deed.
fn deeds(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let lower = body.to_ascii_lowercase();
    let lead = [
        "how do i ",
        "how do we ",
        "how do you ",
        "how can i ",
        "how can we ",
        "how should i ",
        "how should we ",
        "how to ",
        "where do i ",
        "where can i ",
        "can i ",
        "how would i ",
    ]
    .iter()
    .find_map(|lead| {
        let lead = lead.trim_end();
        body.get(find_words(&lower, lead)?..)?.get(..lead.len())
    })?;
    let (head, tail) = [" and then ", ", then ", " and "]
        .iter()
        .find_map(|joint| split_words(body, joint).map(|(head, tail)| (head, tail, *joint)))
        .filter(|(head, tail, joint)| {
            let verb = tail
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            // "search and replace" is one deed: two have an object each.
            terms(head).len() >= 2
                && terms(tail).len() >= 2
                && (joint.contains("then") || DEEDS.contains(&verb.as_str()))
        })
        .map(|(head, tail, _)| (head, tail))?;
    Some(vec![
        format!("{}?", clean(head)),
        format!("{lead} {}?", clean(tail)),
    ])
}

/// Pairs that are one thing.
#[rustfmt::skip]
const FIXED: &[&str] = &[
    "terms and conditions", "search and replace", "find and replace", "copy and paste", "cut and paste",
    "drag and drop", "trial and error", "research and development", "health and safety", "rules and regulations",
    "policies and procedures", "point and click", "questions and answers", "command and control",
];

#[rustfmt::skip]
const DEEDS: &[&str] = &[
    "add", "apply", "approve", "archive", "assign", "attach", "back", "build", "cancel", "change", "check", "clean",
    "close", "compare", "configure", "connect", "convert", "copy", "create", "debug", "delete", "deploy", "disable",
    "download", "edit", "enable", "export", "find", "fix", "generate", "get", "import", "install", "invite", "invoke",
    "link", "list", "log", "merge", "migrate", "monitor", "move", "notify", "open", "pay", "publish", "push", "remove",
    "rename", "renew", "request", "reset", "restart", "restore", "revert", "review", "revoke", "roll", "rotate", "run",
    "schedule", "send", "set", "share", "start", "stop", "submit", "switch", "test", "track", "transfer", "turn",
    "update", "upgrade", "upload", "use", "validate", "verify", "view", "write",
];

/// "How do A, B and C work together?": three and more things in a row.
fn enumerated(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let pieces: Vec<&str> = body.split(", ").collect();
    let (first, rest) = pieces.split_first()?;
    let (last, middle) = rest.split_last()?;
    let last = last
        .strip_prefix("and ")
        .map_or_else(|| split_words(last, " and "), |b| Some(("", b)))?;
    let run = |text: &str, reversed: bool| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let says = |word: &&&str| !super::words::is_stop(&clean(word).to_lowercase());
        let mut found: Vec<&str> = if reversed {
            words
                .iter()
                .rev()
                .take_while(says)
                .take(3)
                .copied()
                .collect()
        } else {
            words.iter().take_while(says).take(2).copied().collect()
        };
        if reversed {
            found.reverse();
        }
        found.join(" ")
    };
    let mut names = vec![run(first, true)];
    names.extend(
        middle
            .iter()
            .chain([&last.0])
            .map(|name| clean(name).to_owned()),
    );
    names.push(run(last.1, false));
    names.retain(|name| !name.is_empty());
    let short = names
        .iter()
        .all(|name| name.split_whitespace().count() <= 3);
    let asks = starts_question(body) || starts_order(&body.to_ascii_lowercase());
    (names.len() > 2 && short && asks).then(|| {
        names
            .iter()
            .map(|name| format!("What is {name}?"))
            .collect()
    })
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
    if FIXED.iter().any(|pair| find_words(&lower, pair).is_some()) {
        return None;
    }
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
                "How do I create a project and invite my colleagues?",
                vec![
                    "How do I create a project?",
                    "How do I invite my colleagues?",
                ],
            ),
            (
                "How do retries, timeouts and circuit breakers work together?",
                vec![
                    "What is retries?",
                    "What is timeouts?",
                    "What is circuit breakers?",
                ],
            ),
            (
                "How is a snapshot different from a backup?",
                vec!["What is snapshot?", "What is a backup?"],
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
            "What are the terms and conditions?",
            "How do I search and replace text in all files?",
            "In Berlin, how is leave approved?",
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

    /// Questions cut off anywhere, with a sign of several bytes anywhere.
    #[test]
    fn r03_no_text_is_cut_within_a_character() {
        for question in [
            "How do I open the lock and where can I leave the key?",
            "What is the difference in price between the red box and the blue box?",
            "Could you please tell me: how much does the old mill hold compared to the new mill?",
            "Who wrote the book that the team of the director reads, and which one is it?",
            "我想知道，红盒子和蓝盒子相比，价格分别是什么？还有颜色呢",
        ] {
            let cuts: Vec<usize> = question.char_indices().map(|(at, _)| at).collect();
            for at in cuts {
                let (head, tail) = question.split_at(at);
                for sign in ["…", "\u{a0}", "“", " ", "和"] {
                    for text in [format!("{head}{sign}{tail}"), format!("{head}{sign}")] {
                        let plain = super::super::plainly::plainly(&text);
                        for text in [text, plain] {
                            let parts = sub_questions(&text);
                            assert_ne!(parts.len(), 1, "{text}");
                        }
                    }
                }
            }
        }
    }
}
