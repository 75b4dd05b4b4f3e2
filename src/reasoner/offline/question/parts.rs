use super::super::language::{Phrases, Token};
use super::span::{Span, ends_sentence};
use crate::domain::{Parts, QuestionKind};

/// Most parts of one question; more would only be more searches.
const MOST: usize = 4;
/// Longer texts are pasted rather than asked, in tokens.
const LONGEST: usize = 400;

/// What a question is made of.
pub fn parts_of(asked: Span<'_>) -> Parts {
    if asked.tokens.len() > LONGEST {
        return Parts::One;
    }
    let questions = several(asked);
    if questions.len() > 1 {
        return Parts::Several { questions };
    }
    let sides = sides_of(asked).map(|(left, right)| Parts::Sides { left, right });
    sides.unwrap_or_default()
}

/// Questions asked in one breath. What asks nothing belongs to the question behind it, else to the one
/// in front of it.
fn several(asked: Span<'_>) -> Vec<String> {
    let mut pieces: Vec<Span<'_>> = Vec::new();
    let mut from = 0;
    for end in clause_ends(asked) {
        let piece = without_joint(asked.slice(from..end));
        if piece.has_terms() && is_question(piece) {
            pieces.push(piece);
            from = end;
        }
    }
    let topic = pieces.first().map(|first| first.subject());
    let pieces = pieces.iter().take(MOST);
    let pieces = pieces.filter_map(|piece| Some(with_subject(*piece, topic?)));
    pieces.collect()
}

/// Where clauses end that could be questions of their own: behind a mark, and in front of a joint or a
/// comma behind which another question begins. The last is the end.
fn clause_ends(asked: Span<'_>) -> Vec<usize> {
    let (table, tokens) = (asked.table, asked.tokens);
    let ends = |at: &usize| {
        let before = &tokens[at - 1];
        let is_comma = matches!(before.word.as_str(), "," | "，");
        let joint = table.part_joints.longest(tokens, *at);
        let begins = at + joint.unwrap_or(0);
        ends_sentence(before)
            || is_comma && asked.is_chinese()
            || (is_comma || joint.is_some()) && begins_question(asked, begins, joint.is_some())
    };
    let ends = (1..tokens.len()).filter(ends);
    ends.chain([tokens.len()]).collect()
}

/// Whether a question begins at a token; behind a mere comma a single word that asks may only go on.
fn begins_question(asked: Span<'_>, at: usize, is_joined: bool) -> bool {
    use QuestionKind::{Other, When, Where, Who};
    let (table, tokens) = (asked.table, asked.tokens);
    let at = at + table.polite_front.longest(tokens, at).unwrap_or(0);
    let at = at + table.links.longest(tokens, at).unwrap_or(0);
    table.asks_at(tokens, at).is_some_and(|(length, kind)| {
        is_joined || length > 1 || !matches!(kind, When | Where | Who | Other)
    })
}

/// Whether a clause asks or orders something.
fn is_question(clause: Span<'_>) -> bool {
    let clause = clause.without_frames();
    let starts = || clause.table.starts.longest(clause.tokens, 0).is_some();
    if clause.is_chinese() {
        clause.asks()
    } else {
        starts() || begins_question(clause, 0, true)
    }
}

/// A clause without the joint in front and the marks around it.
fn without_joint(piece: Span<'_>) -> Span<'_> {
    let piece = piece.slice(piece.leading_marks()..);
    let joint = piece.table.part_joints.longest(piece.tokens, 0);
    let joint = joint.unwrap_or(0);
    let end = piece.tokens.iter().rposition(|token| !token.is_mark());
    piece.slice(joint..end.map_or(joint, |at| at + 1))
}

/// A side of more tokens is no name.
const LONGEST_SIDE: usize = 16;

/// The two sides of a comparison, as they are called.
///
/// They stand on both sides of a joint that compares by itself ("versus"), or of any joint beside a word that compares:
/// "the difference between A and B", "how do A and B differ".
pub fn sides_of(clause: Span<'_>) -> Option<(String, String)> {
    let table = clause.table;
    let lists = [
        (&table.side_joints, &table.side_joints),
        (&table.comparing, &table.between_sides),
    ];
    let choices = (&table.comparatives, &table.between_choices);
    let has = |(said, _): &(&Phrases, _)| clause.find(said).is_some();
    let chooses = |it: &_| has(it) && !is_said_beside_a_question(clause, it.0);
    let found = lists.into_iter().find(has);
    let (_, joints) = found.or_else(|| Some(choices).filter(chooses))?;
    let mut places = (1..clause.tokens.len()).filter(|at| !clause.is_kept(*at));
    places.find_map(|at| {
        let length = joints.longest(clause.tokens, at)?;
        names_of_sides(clause.slice(..at), clause.slice(at + length..))
    })
}

/// Whether words that compare stand in a statement beside the question: "How high is it? I sit higher than most."
fn is_said_beside_a_question(asked: Span<'_>, comparing: &Phrases) -> bool {
    let pieces = asked
        .tokens
        .split(Token::is_mark)
        .filter(|it| !it.is_empty());
    let mut at = 0;
    let mut clauses = pieces.map(|tokens| {
        let from = at
            + asked.tokens[at..]
                .iter()
                .take_while(|it| it.is_mark())
                .count();
        at = from + tokens.len();
        asked.slice(from..at)
    });
    let compares = |clause: &Span<'_>| clause.find(comparing).is_some();
    let (said, others): (Vec<_>, Vec<_>) = clauses.by_ref().partition(compares);
    !said.iter().any(|it| is_question(*it)) && others.iter().any(|it| is_question(*it))
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
    let is_name = |side: Span<'_>| side.tokens.len() <= LONGEST_SIDE && side.has_terms();
    let (first, second) = (left.as_written(), right.as_written());
    let same = first.to_lowercase() == second.to_lowercase();
    let are_names = is_name(left) && is_name(right) && !same;
    are_names.then(|| (first.to_owned(), second.to_owned()))
}

/// A part of a question with more words of its own needs no subject from another part.
const OWN_OF_PART: usize = 1;

/// A part of a question with the subject of the whole behind it, where it says little of its own.
pub fn with_subject(part: Span<'_>, subject: Span<'_>) -> String {
    let (part_text, subject) = (part.as_written(), subject.as_written());
    let is_short = part.count_words() <= OWN_OF_PART || part.has_pronoun();
    let is_said = part_text.to_lowercase().contains(&subject.to_lowercase());
    let mark = if part.is_chinese() { "？" } else { "?" };
    if is_short && !is_said {
        format!("{part_text} ({subject}){mark}")
    } else {
        format!("{part_text}{mark}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasoner::offline::question::read;

    #[test]
    fn r03_questions_asked_in_one_breath_are_told_apart() {
        for (text, questions) in [
            (
                "What is a chunk? How long is it?",
                ["What is a chunk?", "How long is it (chunk)?"],
            ),
            (
                "Who owns the portal, and when was the old cache cleared?",
                ["Who owns the portal?", "when was the old cache cleared?"],
            ),
            (
                "什么是混合检索，默认端口是多少？",
                ["什么是混合检索？", "默认端口是多少？"],
            ),
            (
                "Was ist eine Kaution und wann wird die Miete fällig?",
                ["Was ist eine Kaution?", "wann wird die Miete fällig?"],
            ),
        ] {
            let questions = questions.map(str::to_owned).to_vec();
            assert_eq!(
                read(text, &[]).parts,
                Parts::Several { questions },
                "{text}"
            );
        }
    }

    #[test]
    fn r03_one_question_stays_one() {
        for text in [
            "How is the index built when a file changes, which is rare?",
            "What is the default port of the proxy?",
            "If the build fails, what is the next step?",
            "How do I back up and restore the database?",
            "",
            "?",
            "押金什么时候退还给租客？",
        ] {
            assert_eq!(read(text, &[]).parts, Parts::One, "{text}");
        }
    }
}

#[cfg(test)]
mod sides_tests {
    use crate::domain::Parts;
    use crate::reasoner::offline::question::read;

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
            "How high are the tables, I need to sit higher than most",
            "How do I copy a text rather than moving it?",
            "Wie lösche ich eine Zeile statt eines Wortes?",
            "Comment copier un texte plutôt que le déplacer ?",
            "屏幕对比度和亮度在哪调",
            "会议和培训的时间是几点",
        ] {
            assert_eq!(read(text, &[]).parts, Parts::One, "{text}");
        }
    }
}
