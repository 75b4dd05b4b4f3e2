use super::super::language::{Phrases, Token};
use super::span::Span;

/// A side of more tokens is no name.
const LONGEST: usize = 16;

/// The two sides of a comparison, as they are called.
///
/// They stand on both sides of a joint that compares by itself ("versus"), or of any joint beside a word that compares:
/// "the difference between A and B", "how do A and B differ".
pub fn sides_of(clause: Span<'_>) -> Option<(String, String)> {
    let table = clause.table;
    let lists = [
        (&table.side_joints, &table.side_joints),
        (&table.comparing, &table.between_sides),
        (&table.comparatives, &table.between_choices),
    ];
    let has = |(said, _): &(&Phrases, _)| clause.find(said).is_some();
    let (_, joints) = lists.into_iter().find(has)?;
    (1..clause.tokens.len())
        .filter(|at| !clause.is_kept(*at))
        .find_map(|at| {
            let length = joints.longest(clause.tokens, at)?;
            names_of_sides(clause.slice(..at), clause.slice(at + length..))
        })
}

/// Both sides without what asks.
fn names_of_sides(left: Span<'_>, right: Span<'_>) -> Option<(String, String)> {
    let end = right.tokens.iter().position(Token::is_mark);
    let right = right.slice(..end.unwrap_or(right.tokens.len()));
    let first = &right.tokens.first()?.word;
    // "More than 5" compares nothing.
    let is_number = first.starts_with(|c: char| c.is_ascii_digit());
    if is_number || right.table.asks_at(right.tokens, 0).is_some() {
        return None;
    }
    let from = left.tokens.iter().rposition(Token::is_mark);
    let left = left.slice(from.map_or(0, |at| at + 1)..).subject();
    let right = right.subject();
    let is_name = |side: Span<'_>| side.tokens.len() <= LONGEST && side.has_terms();
    let (first, second) = (left.as_written(), right.as_written());
    let same = first.to_lowercase() == second.to_lowercase();
    let are_names = is_name(left) && is_name(right) && !same;
    are_names.then(|| (first.to_owned(), second.to_owned()))
}

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
            ("Which is better, tabs or spaces?", "tabs", "spaces"),
            (
                "Compare the retention of logs and backups",
                "retention of logs",
                "backups",
            ),
            ("混合检索和向量检索有什么区别？", "混合检索", "向量检索"),
            ("比较甲方与乙方", "甲方", "乙方"),
            ("日志和备份的保留期有什么不同", "日志", "备份的保留期"),
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
            "Does the airline allow more than one bag?",
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
