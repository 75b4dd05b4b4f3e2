use super::earlier::with_subject;
use super::sides::sides_of;
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
    pieces
        .filter_map(|piece| Some(with_subject(*piece, topic?)))
        .collect()
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
    let joint = piece
        .table
        .part_joints
        .longest(piece.tokens, 0)
        .unwrap_or(0);
    let end = piece.tokens.iter().rposition(|token| !token.is_mark());
    piece.slice(joint..end.map_or(joint, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

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
