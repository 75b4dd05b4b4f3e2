//! The ways in which a Chinese question can be parted; see [`super::decompose`].

use super::resolve::topic_of;

/// The parts, when there is more than one intent.
pub(super) fn parts(query: &str) -> Option<Vec<String>> {
    comparison(query).or_else(|| clauses(query))
}

/// What two things are joined by.
const JOINTS: &[&str] = &[
    "和", "与", "跟", "同", "以及", "、", "对比", "相比", "vs", "VS", "还是",
];
/// What follows the second thing.
const TAILS: &[&str] = &[
    "的架构",
    "的主要",
    "之间",
    "的区别",
    "的差异",
    "的不同",
    "的异同",
    "的差别",
    "的关系",
    "的优缺点",
    "的共同",
    "有什么",
    "有何",
    "有哪些",
    "哪个",
    "哪一个",
    "相比",
    "区别",
    "差异",
    "不同",
    "差别",
    "分别",
    "各",
    "一样",
    "，",
    "？",
    "?",
    "。",
    "的",
];

fn comparison(query: &str) -> Option<Vec<String>> {
    let cued = [
        "比较",
        "对比",
        "区别",
        "差异",
        "不同",
        "异同",
        "差别",
        "相比",
        "还是",
        "分别",
        "优缺点",
        "vs",
        "VS",
    ]
    .iter()
    .any(|cue| query.contains(cue));
    if !cued {
        return None;
    }
    let mut body = query.trim();
    for lead in [
        "请问",
        "请",
        "帮我",
        "比较一下",
        "对比一下",
        "比较",
        "对比",
        "解释一下",
        "解释",
        "说明",
        "什么是",
        "，",
    ] {
        body = body.trim_start().strip_prefix(lead).unwrap_or(body);
    }
    let (a, rest) = JOINTS
        .iter()
        .filter_map(|joint| body.find(joint).map(|at| (at, *joint)))
        .filter(|(at, _)| *at > 0)
        .min_by_key(|(at, _)| *at)
        .map(|(at, joint)| (&body[..at], &body[at + joint.len()..]))?;
    let end = TAILS
        .iter()
        .filter_map(|tail| rest.find(tail))
        .filter(|at| *at > 0)
        .min()
        .unwrap_or(rest.len());
    let (a, b) = (clean(a), clean(&rest[..end]));
    (!a.is_empty() && !b.is_empty()).then(|| vec![format!("{a}是什么？"), format!("{b}是什么？")])
}

/// Cut where a new question begins; what then lacks a subject gets that of the first.
fn clauses(query: &str) -> Option<Vec<String>> {
    let mut pieces: Vec<&str> = query
        .split(['？', '?', '；', '\n'])
        .flat_map(|piece| split_before(piece, "以及"))
        .flat_map(|piece| split_before(piece, "，并且"))
        .flat_map(|piece| split_before(piece, "，还有"))
        .flat_map(|piece| piece.split('，'))
        .map(clean)
        .filter(|piece| !piece.is_empty())
        .collect();
    pieces.retain(|piece| asks(piece));
    let (first, others) = pieces.split_first()?;
    if others.is_empty() {
        return None;
    }
    let topic = topic_of(first);
    let mut parts = vec![format!("{first}？")];
    for piece in others {
        let piece = piece
            .trim_start_matches("它们")
            .trim_start_matches('它')
            .trim_start_matches('其');
        let alone = topic_of(piece).chars().count() >= 3;
        parts.push(if alone || topic.is_empty() {
            format!("{piece}？")
        } else {
            format!("{topic}{piece}？")
        });
    }
    Some(parts)
}

fn split_before<'a>(text: &'a str, joint: &str) -> Vec<&'a str> {
    match text.split_once(joint) {
        Some((head, tail)) if asks(tail) => vec![head, tail],
        _ => vec![text],
    }
}

fn asks(text: &str) -> bool {
    [
        "什么",
        "怎么",
        "怎样",
        "如何",
        "为何",
        "哪",
        "几",
        "多少",
        "是否",
        "吗",
        "谁",
        "能不能",
        "呢",
        "何时",
        "解释",
        "说明",
    ]
    .iter()
    .any(|word| text.contains(word))
}

fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "，。？！、；：,?!“”".contains(c))
}
