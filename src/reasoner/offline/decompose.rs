//! Parts a question into questions that can be looked up by themselves.
//!
//! Only what can be parted honestly is parted: the result has at least two parts or none. The ways
//! to part are tried from the surest to the weakest; the first that applies decides.

use super::parting_zh;
use super::resolve::topic_of;
use super::words::{is_stop, plain_words, terms};
use crate::text::is_chinese;

/// At most this many parts; the rest would only be more searches.
const MOST: usize = 4;

/// The parts of the question, at least two, or none when it has a single intent.
pub(super) fn parts(query: &str) -> Vec<String> {
    if query.chars().count() > 2_000 {
        return Vec::new();
    }
    let found = if is_chinese(query) {
        parting_zh::parts(query)
    } else {
        questions(query)
            .or_else(|| comparison(query))
            .or_else(|| choice(query))
            .or_else(|| clauses(query))
            .or_else(|| both(query))
            .or_else(|| listed(query))
            .or_else(|| hops(query))
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

/// "Compare A with B", "the difference between A and B", "A vs B", "how does A differ from B".
fn comparison(query: &str) -> Option<Vec<String>> {
    let lower = query.to_ascii_lowercase();
    let after = |cue: &str| find_words(&lower, cue).map(|at| &query[at + cue.len()..]);
    let joined = [
        (
            "compare",
            &[
                " with ",
                " to ",
                " against ",
                " and ",
                " versus ",
                " vs. ",
                " vs ",
                ", ",
            ][..],
        ),
        ("comparison of", &[" with ", " and ", " to "]),
        ("comparison between", &[" and "]),
        ("difference between", &[" and ", " versus ", " vs "]),
        ("differences between", &[" and ", " versus ", " vs "]),
        ("distinction between", &[" and "]),
        ("distinguish between", &[" and "]),
        ("distinguish", &[" from "]),
        ("distinguishes", &[" from "]),
        ("similarities between", &[" and "]),
        ("similarities of", &[" and "]),
        ("relationship between", &[" and "]),
        ("choose between", &[" and ", " or "]),
        ("in common between", &[" and "]),
        ("contrast", &[" with ", " and "]),
    ];
    for (cue, joints) in joined {
        if let Some(rest) = after(cue).filter(|rest| !rest.trim().is_empty()) {
            return pair(rest, joints);
        }
    }
    if let Some(rest) = find_words(&lower, "differ from") {
        let head = strip_lead(&query[..rest]);
        return about(&[head, &query[rest + "differ from".len()..]]);
    }
    if let Some(at) = find_words(&lower, "have in common").or_else(|| find_words(&lower, "differ"))
    {
        return pair(strip_lead(&query[..at]), &[" and ", " or "]);
    }
    for cue in [
        " versus ",
        " vs. ",
        " vs ",
        " compared to ",
        " compared with ",
        " as opposed to ",
        " in contrast to ",
    ] {
        if let Some(at) = lower.find(cue) {
            return about(&[strip_lead(&query[..at]), &query[at + cue.len()..]]);
        }
    }
    None
}

/// "Which was released first, A or B?" and "Are A and B both …?"
fn choice(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    if let Some((head, tail)) = body
        .split_once([',', ':', '-'].as_slice())
        .filter(|(head, _)| {
            plain_words(head).iter().any(|word| {
                matches!(
                    word.as_str(),
                    "which" | "who" | "what" | "whose" | "between" | "where"
                )
            })
        })
    {
        let (a, b) = split_words(tail, " or ")?;
        if name_like(a) && name_like(b) {
            return Some(vec![
                format!("{}: {}?", clean(a), clean(head)),
                format!("{}: {}?", clean(b), clean(head)),
            ]);
        }
    }
    let words = plain_words(body);
    let first = words.first().map(String::as_str)?;
    let yes_no = matches!(
        first,
        "are" | "were" | "is" | "was" | "do" | "did" | "does" | "have" | "can"
    );
    let equal = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "both" | "same" | "either" | "neither" | "different" | "similar"
        )
    });
    if yes_no && equal {
        let rest = body.split_once(' ')?.1;
        let (a, tail) = split_words(rest, " and ")?;
        let cut = [
            " both ",
            " the same ",
            " same ",
            " from ",
            " located ",
            " in the ",
            " in ",
            " of ",
            " members ",
        ]
        .iter()
        .filter_map(|stop| tail.find(stop))
        .min()
        .unwrap_or(tail.len());
        let (b, predicate) = tail.split_at(cut);
        let a = clean(a).trim_start_matches("both ");
        return Some(vec![
            format!("{a}{predicate}?"),
            format!("{}{predicate}?", clean(b)),
        ]);
    }
    if yes_no && let Some((head, b)) = split_words(body, " or ") {
        let a = head.split_once(' ')?.1;
        return about(&[a, b]);
    }
    let (head, b) = split_words(body, " or ")?;
    let (rest, a) = head.rsplit_once(", ")?;
    (name_like(a) && name_like(b) && starts_question(rest))
        .then(|| about(&[a, b]))
        .flatten()
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

/// "What is set by both A and B?"
fn both(query: &str) -> Option<Vec<String>> {
    let lower = query.to_ascii_lowercase();
    let at = find_words(&lower, "both")?;
    let (head, rest) = (
        &query[..at],
        query[at + 4..].trim_end_matches(['?', '.', ' ']),
    );
    let (a, b) = split_words(rest, " and ")?;
    Some(vec![
        format!("{}{}?", head, clean(a)),
        format!("{}{}?", head, clean(b)),
    ])
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

/// "Who directed the film that stars A?": first which film, then the whole question.
fn hops(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let words: Vec<&str> = body.split_whitespace().collect();
    let bare = |at: usize| {
        words[at]
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let relative = (3..words.len().saturating_sub(2)).find(|at| {
        let before = bare(at - 1);
        match bare(*at).as_str() {
            "that" | "who" | "whose" | "which" | "where" => {
                !is_stop(&before) && !words[*at - 1].ends_with(['.', '?', '!'])
            }
            "directed" | "written" | "founded" | "owned" | "created" | "produced" | "starring"
            | "featuring" | "named" | "called" | "based" | "known" | "developed" | "published"
            | "introduced" | "described" | "mentioned" | "set" => {
                !is_stop(&before) && words.len() >= 12
            }
            _ => false,
        }
    })?;
    let mut from = relative;
    while from > 1 && from + 4 > relative && !is_stop(&bare(from - 1)) {
        from -= 1;
    }
    let noun = words[from..relative].join(" ");
    let clause = match bare(relative).as_str() {
        "that" | "who" | "which" => words[relative + 1..].join(" "),
        _ => words[relative..].join(" "),
    };
    // "Who is the man that …" asks for the man himself: one hop.
    let leads_on = from > 1 && !terms(&words[..from].join(" ")).is_empty();
    let noun = if matches!(
        bare(from - 1).as_str(),
        "a" | "an" | "the" | "this" | "same"
    ) {
        format!("Which {}", clean(&noun))
    } else {
        "What".to_owned()
    };
    (leads_on && terms(&clause).len() >= 2)
        .then(|| vec![format!("{noun} {clause}?"), format!("{body}?")])
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

fn pair(rest: &str, joints: &[&str]) -> Option<Vec<String>> {
    let (a, b) = joints.iter().find_map(|joint| split_words(rest, joint))?;
    about(&[a, b])
}

fn about(names: &[&str]) -> Option<Vec<String>> {
    let names: Vec<&str> = names.iter().map(|name| subject(name)).collect();
    names.iter().all(|name| !name.is_empty()).then(|| {
        names
            .iter()
            .map(|name| format!("What is {name}?"))
            .collect()
    })
}

/// The name at the beginning of what follows a joint.
fn subject(text: &str) -> &str {
    let text = clean(text);
    let lower = text.to_ascii_lowercase();
    let end = [
        " in terms of ",
        " regarding ",
        " with respect to ",
        " when ",
        ", ",
        " and what ",
        " and how ",
        "? ",
        "; ",
    ]
    .iter()
    .filter_map(|stop| lower.find(stop))
    .filter(|at| *at > 0)
    .min()
    .unwrap_or(text.len());
    let text = clean(&text[..end]);
    text.strip_prefix("the difference between ").unwrap_or(text)
}

fn strip_lead(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.len() < text.len()
            && matches!(
                word.to_ascii_lowercase().as_str(),
                "how"
                    | "what"
                    | "do"
                    | "does"
                    | "did"
                    | "is"
                    | "are"
                    | "which"
                    | "explain"
                    | "describe"
                    | "the"
                    | "when"
                    | "should"
                    | "i"
                    | "use"
                    | "to"
                    | "why"
                    | "better"
                    | "please"
            )
        {
            text = text[word.len()..].trim_start();
        } else {
            return text;
        }
    }
}

fn starts_question(text: &str) -> bool {
    let first = plain_words(&text.chars().take(40).collect::<String>());
    let first: Vec<&str> = first.iter().map(String::as_str).take(2).collect();
    match first.as_slice() {
        [
            "what" | "which" | "who" | "whose" | "when" | "where" | "why" | "how",
            ..,
        ] => true,
        [
            "is" | "are" | "does" | "do" | "did" | "can" | "should" | "was" | "were",
            next,
        ] => *next != "not",
        _ => false,
    }
}

fn starts_order(text: &str) -> bool {
    [
        "explain ",
        "describe ",
        "list ",
        "summarize ",
        "summarise ",
        "show ",
        "compare ",
        "name ",
        "tell me ",
    ]
    .iter()
    .any(|order| text.starts_with(order))
}

fn name_like(text: &str) -> bool {
    (1..=8).contains(&text.split_whitespace().count())
}

fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '?' | '.' | '!'))
}

/// Where the words stand in the text, at word borders.
fn find_words(lower: &str, words: &str) -> Option<usize> {
    lower.match_indices(words).map(|(at, _)| at).find(|at| {
        let before = lower[..*at].chars().next_back();
        let after = lower[at + words.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

fn split_words<'a>(text: &'a str, joint: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(joint)?;
    let (a, b) = (&text[..at], &text[at + joint.len()..]);
    (!clean(a).is_empty() && !clean(b).is_empty()).then_some((a, b))
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
