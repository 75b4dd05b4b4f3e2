use super::super::language::{Phrases, Token, tokens};
use super::span::Span;

/// The two sides of a comparison, as they are called.
///
/// They stand on both sides of a joint that compares by itself ("versus"), or of any joint beside a word
/// that compares: behind it ("the difference between A and B"), in front of it ("how do A and B differ")
/// or around it ("A differs from B").
pub fn sides_of(clause: Span<'_>) -> Option<(String, String)> {
    let table = clause.table;
    if let Some((at, length)) = clause.find(&table.side_joints) {
        return names_of_sides(clause.slice(..at), clause.slice(at + length..));
    }
    let comparing = clause.find(&table.comparing);
    let (at, length) = comparing.or_else(|| clause.find(&table.comparatives))?;
    let (joints, reach) = match comparing {
        Some(_) => (&table.between_sides, 1),
        None => (&table.between_choices, BEYOND),
    };
    let behind = at + length;
    let beyond = (behind..behind + reach)
        .find_map(|place| Some(place + table.beyond.at(clause.tokens, place)?));
    beyond
        .and_then(|from| names_of_sides(clause.slice(..at), clause.slice(from..)))
        .or_else(|| sides_of_joint(clause.slice(behind..), joints))
        .or_else(|| sides_of_joint(clause.slice(..at), joints))
}

/// What is compared of two things: what is left where their names, and what compares and asks, are gone.
pub fn aspect(rest: &str) -> Option<String> {
    let tokens = tokens(rest);
    let span = Span::new(rest, &tokens);
    let table = span.table;
    let lists = [
        &table.comparing,
        &table.comparatives,
        &table.stop,
        &table.generic,
        &table.between_sides,
        &table.side_joints,
        &table.starts,
    ];
    let lists: Vec<&Phrases> = lists.into_iter().chain(table.asks.values()).collect();
    let places = table.uncovered(&lists, span.tokens).into_iter();
    let words: Vec<&str> = places.map(|at| span.slice(at..=at).as_written()).collect();
    let space = if span.is_unspaced() { "" } else { " " };
    (!words.is_empty()).then(|| words.join(space))
}

/// Tokens behind a comparative: "has more members than".
const BEYOND: usize = 6;
/// A side of more tokens is no name.
const LONGEST: usize = 16;

/// The sides of the first joint that has something in front of it.
fn sides_of_joint(span: Span<'_>, joints: &Phrases) -> Option<(String, String)> {
    let joint = (1..span.tokens.len()).find_map(|at| {
        let length = joints.at(span.tokens, at)?;
        let is_joint = !span.is_kept(at) && span.slice(..at).subject().has_terms();
        is_joint.then_some((at, length))
    });
    let (at, length) = joint?;
    names_of_sides(span.slice(..at), span.slice(at + length..))
}

/// Both sides without what asks; what is said of one side for both is said of the other too.
fn names_of_sides(left: Span<'_>, right: Span<'_>) -> Option<(String, String)> {
    let table = left.table;
    let end = right.tokens.iter().position(Token::is_mark);
    let right = right.slice(..end.unwrap_or(right.tokens.len()));
    let first = right.tokens.first()?;
    let has_article = table.stop.has(&first.word);
    // "More than 5" compares nothing.
    let is_number = first.word.starts_with(|c: char| c.is_ascii_digit())
        || table.numerals.at(right.tokens, 0).is_some();
    if is_number || table.asks_at(right.tokens, 0).is_some() {
        return None;
    }
    let from = left.tokens.iter().rposition(Token::is_mark);
    let left = left.slice(from.map_or(0, |at| at + 1)..).subject();
    let right = right.subject();
    let is_long = left.tokens.len().max(right.tokens.len()) > LONGEST;
    if is_long || !left.has_terms() || !right.has_terms() {
        return None;
    }
    let link = |side: Span<'_>| {
        let places = 1..side.tokens.len();
        let mut links = places.filter_map(|at| Some((at, table.links.at(side.tokens, at)?)));
        links.next()
    };
    let (mut first, mut second) = (left.as_written().to_owned(), right.as_written().to_owned());
    match (link(left), link(right)) {
        // "The retention of logs and backups".
        (Some((at, length)), None) if table.head_first && !has_article => {
            second = format!("{} {second}", left.slice(..at + length).as_written());
        }
        (None, Some((at, _))) if !table.head_first => {
            first.push_str(right.slice(at..).as_written());
        }
        _ => {}
    }
    (first.to_lowercase() != second.to_lowercase()).then_some((first, second))
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
