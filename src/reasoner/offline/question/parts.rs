use super::earlier::with_subject;
use super::sides::sides_of;
use super::spans::Span;
use crate::domain::{Parts, QuestionKind};

/// At most this many parts; the rest would only be more searches.
const MOST: usize = 4;
/// Longer texts are pasted rather than asked, in tokens.
const LONGEST: usize = 400;

/// What a question is made of.
pub(super) fn parts_of(asked: Span<'_>) -> Parts {
    if asked.tokens.len() > LONGEST {
        return Parts::One;
    }
    several(asked)
        .or_else(|| sides_of(asked).map(|(left, right)| Parts::Sides { left, right }))
        .unwrap_or_default()
}

/// Questions asked in one breath. What asks nothing belongs to the question behind it, else to the one
/// in front of it.
fn several(asked: Span<'_>) -> Option<Parts> {
    let mut pieces: Vec<Span<'_>> = Vec::new();
    let mut from = 0;
    for end in clause_ends(asked) {
        let piece = asked.part(from..end);
        if piece.says() && asks(piece) {
            pieces.push(piece);
            from = end;
        }
    }
    pieces.truncate(MOST);
    let [first, _, ..] = pieces.as_slice() else {
        return None;
    };
    let topic = first.subject().before_verb();
    let questions = pieces.iter().enumerate().map(|(at, piece)| {
        let piece = without_joint(*piece);
        if at == 0 {
            question(piece)
        } else {
            with_subject(piece, topic).unwrap_or_else(|| question(piece))
        }
    });
    Some(Parts::Several {
        questions: questions.collect(),
    })
}

/// Where clauses end that could be questions of their own: behind a mark, and in front of a joint or a
/// comma behind which another question begins. The last is the end.
fn clause_ends(asked: Span<'_>) -> Vec<usize> {
    let count = asked.tokens.len();
    let table = asked.table;
    let mut ends = Vec::new();
    for at in 1..count {
        let mark = asked.tokens[at - 1].word.as_str();
        let hard = matches!(
            mark,
            "?" | "？" | "!" | "！" | "。" | "." | ";" | "；" | "\n"
        );
        let soft = matches!(mark, "," | "，");
        let joint = table.joints.parts.at(asked.tokens, at);
        let begins = at + joint.unwrap_or(0);
        let clause = soft && !table.asks_in_front;
        let tells = table.relatives.at(asked.tokens, begins).is_some()
            || table.relatives.at(asked.tokens, at - 1).is_some();
        if hard
            || clause
            || joint.is_some() && begins_question(asked, begins, true)
            || soft && !tells && begins_question(asked, begins, false)
        {
            ends.push(at);
        }
    }
    ends.push(count);
    ends
}

/// Whether a question begins here; behind a mere comma a single word that asks may only go on.
fn begins_question(asked: Span<'_>, at: usize, joined: bool) -> bool {
    use QuestionKind::{Other, When, Where, Who};
    let table = asked.table;
    let at = at + table.frames.front.at(asked.tokens, at).unwrap_or(0);
    let behind_link = table.links.at(asked.tokens, at).unwrap_or(0);
    match table.asks.at(asked.tokens, at + behind_link) {
        Some((length, kind)) => joined || length > 1 || !matches!(kind, When | Where | Who | Other),
        None => false,
    }
}

/// Whether a clause asks or orders something.
fn asks(piece: Span<'_>) -> bool {
    let piece = without_joint(piece).unframed();
    let count = piece.tokens.len();
    if piece.table.asks_in_front {
        let marked = piece.tokens.last().is_some_and(|token| token.word == "?");
        let starts = piece.table.starts.at(piece.tokens, 0).is_some();
        return marked || starts || begins_question(piece, 0, true);
    }
    (0..count).any(|at| piece.table.asks.at(piece.tokens, at).is_some())
}

fn without_joint(piece: Span<'_>) -> Span<'_> {
    let marks = piece
        .tokens
        .iter()
        .take_while(|token| token.is_mark())
        .count();
    let joint = piece
        .table
        .joints
        .parts
        .at(piece.tokens, marks)
        .unwrap_or(0);
    let end = piece
        .tokens
        .iter()
        .rposition(|token| !token.is_mark())
        .map_or(0, |at| at + 1);
    piece.part(marks + joint..end.max(marks + joint))
}

fn question(piece: Span<'_>) -> String {
    format!(
        "{}{}",
        piece.written(),
        if piece.is_dense() { '？' } else { '?' }
    )
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
                "Who owns the portal, and when was the cache cleared?",
                ["Who owns the portal?", "when was the cache cleared?"],
            ),
            (
                "什么是混合检索，默认端口是多少？",
                ["什么是混合检索？", "默认端口是多少（混合检索）？"],
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
