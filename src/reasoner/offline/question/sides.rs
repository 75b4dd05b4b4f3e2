use super::super::language::{Phrases, number_at, tokens};
use super::spans::Span;

/// The two sides of a comparison, as they are called.
///
/// They stand on both sides of a joint that compares by itself ("versus"), or of any joint beside a word
/// that compares: behind it ("the difference between A and B"), in front of it ("how do A and B differ")
/// or around it ("A differs from B").
pub(super) fn sides_of(clause: Span<'_>) -> Option<(String, String)> {
    let count = clause.tokens.len();
    let (table, joints) = (clause.table, &clause.table.joints);
    if let Some((at, length)) = clause.first(&joints.sides) {
        return named(clause.part(0..at), clause.part(at + length..count));
    }
    let comparing = clause
        .first(&table.comparing)
        .map(|found| (found, &joints.between, 1));
    let choosing = || Some((clause.first(&table.comparatives)?, &joints.choice, BEYOND));
    let ((at, length), between, reach) = comparing.or_else(choosing)?;
    let behind = at + length;
    let beyond = (behind..behind + reach)
        .find_map(|place| Some((place, joints.beyond.at(clause.tokens, place)?)));
    let around = beyond
        .and_then(|(place, length)| named(clause.part(0..at), clause.part(place + length..count)));
    around
        .or_else(|| parted(clause.part(behind..count), between))
        .or_else(|| parted(clause.part(0..at), between))
}

/// What is compared of two things: what is left where their names, and what compares and asks, are gone.
pub(super) fn aspect(rest: &str) -> Option<String> {
    let tokens = tokens(rest);
    let span = Span::of(rest, &tokens);
    let table = span.table;
    let mut kept: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < span.tokens.len() {
        let lists = [
            &table.comparing,
            &table.comparatives,
            &table.stop,
            &table.generic,
            &table.joints.between,
            &table.joints.sides,
            &table.starts,
        ];
        let asks = table.asks.at(span.tokens, at).map(|(length, _)| length);
        let length = lists
            .iter()
            .filter_map(|list| list.at(span.tokens, at))
            .max()
            .max(asks);
        if length.is_none() && !span.tokens[at].is_mark() {
            kept.push(span.part(at..at + 1).written());
        }
        at += length.unwrap_or(1);
    }
    let joint = if span.is_dense() { "" } else { " " };
    (!kept.is_empty()).then(|| kept.join(joint))
}

/// "Has more members than": so far behind a comparative.
const BEYOND: usize = 6;

/// What stands on both sides of the first joint that has something on both.
fn parted(span: Span<'_>, joints: &Phrases) -> Option<(String, String)> {
    let count = span.tokens.len();
    let joint = (1..count).find_map(|at| {
        let length = joints.at(span.tokens, at)?;
        let says = !span.is_kept(at) && span.part(0..at).subject().says();
        says.then_some((at, length))
    })?;
    named(span.part(0..joint.0), span.part(joint.0 + joint.1..count))
}

/// Both sides without what asks; what is said of one side for both is said of the other too.
fn named(left: Span<'_>, right: Span<'_>) -> Option<(String, String)> {
    let table = left.table;
    let marks = right
        .tokens
        .iter()
        .position(super::super::language::Token::is_mark);
    let right = right.part(0..marks.unwrap_or(right.tokens.len()));
    let bare = right
        .tokens
        .first()
        .is_some_and(|token| !table.stop.has(&token.word));
    // "More than 5" compares nothing.
    let asks = table.asks.at(right.tokens, 0).is_some();
    if asks || number_at(right.tokens, 0, right.language).is_some() {
        return None;
    }
    let from = left
        .tokens
        .iter()
        .rposition(super::super::language::Token::is_mark);
    let from = from.map_or(0, |at| at + 1);
    let left = left.part(from..left.tokens.len()).subject();
    let right = right.subject();
    if !left.says() || !right.says() || left.tokens.len().max(right.tokens.len()) > LONGEST {
        return None;
    }
    let link = |side: Span<'_>| table.links.first(side.tokens).filter(|(at, _)| *at > 0);
    let (mut first, mut second) = (left.written().to_owned(), right.written().to_owned());
    match (link(left), link(right)) {
        (Some((at, length)), None) if table.head_first && bare => {
            second = format!("{} {second}", left.part(0..at + length).written());
        }
        (None, Some((at, _))) if !table.head_first => {
            first.push_str(right.part(at..right.tokens.len()).written());
        }
        _ => {}
    }
    (first.to_lowercase() != second.to_lowercase()).then_some((first, second))
}

/// A side of more tokens is no name.
const LONGEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::domain::Parts;

    #[test]
    fn r03_a_comparison_has_two_sides() {
        for (text, left, right) in [
            (
                "Compare the index pipeline with the query engine",
                "index pipeline",
                "query engine",
            ),
            (
                "What is the difference between Redis and Kafka?",
                "Redis",
                "Kafka",
            ),
            (
                "How do hybrid search and grep differ?",
                "hybrid search",
                "grep",
            ),
            (
                "How does REFINE differ from RE_RETRIEVE?",
                "REFINE",
                "RE_RETRIEVE",
            ),
            ("soft limit vs. hard limit", "soft limit", "hard limit"),
            ("Is the cache faster than the disk?", "cache", "disk"),
            ("Does the pool have more rooms than the gym?", "pool", "gym"),
            ("Which is better, tabs or spaces?", "tabs", "spaces"),
            (
                "Compare the retention of logs and backups",
                "retention of logs",
                "retention of backups",
            ),
            ("混合检索和向量检索有什么区别？", "混合检索", "向量检索"),
            ("比较甲方与乙方", "甲方", "乙方"),
            (
                "日志和备份的保留期有什么不同",
                "日志的保留期",
                "备份的保留期",
            ),
            (
                "Was ist der Unterschied zwischen Miete und Pacht?",
                "Miete",
                "Pacht",
            ),
            ("Ist Bahn schneller als Bus?", "Bahn", "Bus"),
        ] {
            let sides = Parts::Sides {
                left: left.to_owned(),
                right: right.to_owned(),
            };
            assert_eq!(read(text, &[]).parts, sides, "{text}");
        }
    }

    #[test]
    fn r03_what_only_looks_like_a_comparison_is_one_question() {
        for text in [
            "Can I bring more than 5 guests?",
            "Tell me more about logs and backups",
            "Where is the difference stored?",
            "Who wrote Pride and Prejudice?",
            "Different ways to spell it in French",
            "屏幕对比度和亮度在哪调",
            "会议和培训的时间是几点",
        ] {
            assert_eq!(read(text, &[]).parts, Parts::One, "{text}");
        }
    }
}
