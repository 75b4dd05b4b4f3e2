use super::super::language::{Phrases, Token, tokens};
use super::literals::literals_of;
use super::span::{Span, ends_sentence};
use crate::domain::{Earlier, Literals, Parts, QuestionKind, Turn};

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
        (&table.comparatives, &table.between_choices),
    ];
    let has = |(said, _): &(&Phrases, _)| clause.find(said).is_some();
    let (_, joints) = lists.into_iter().find(has)?;
    let mut places = (1..clause.tokens.len()).filter(|at| !clause.is_kept(*at));
    places.find_map(|at| {
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
    let is_name = |side: Span<'_>| side.tokens.len() <= LONGEST_SIDE && side.has_terms();
    let (first, second) = (left.as_written(), right.as_written());
    let same = first.to_lowercase() == second.to_lowercase();
    let are_names = is_name(left) && is_name(right) && !same;
    are_names.then(|| (first.to_owned(), second.to_owned()))
}

// The earlier question whose words a question needs to be understood.

/// How many turns back an earlier question is looked for.
const TURNS: usize = 4;
/// Bytes that are read of an earlier question.
const READ: usize = 2_000;
/// A question with more words of its own stands alone, whatever it begins with.
const OWN: usize = 4;
/// A question of at most so many words that asks nothing is a fragment.
const FRAGMENT: usize = 3;
/// A part of a question with more words of its own needs no subject from another part.
const OWN_OF_PART: usize = 1;
/// Words that are taken from an earlier question.
const MOST_WORDS: usize = 12;

/// The earlier question that a question continues; `None` where it stands alone.
///
/// It is the last that stands alone: one that continues another says little of the topic itself.
pub fn earlier_question(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<Earlier> {
    if !leans(asked, literals) {
        return None;
    }
    let turns = history.iter().rev().take(TURNS).map(|turn| {
        let text = &turn.question[..turn.question.floor_char_boundary(READ)];
        (text, tokens(text))
    });
    let turns: Vec<(&str, Vec<Token>)> = turns.collect();
    let spans = turns.iter();
    let spans = spans.map(|(text, tokens)| Span::new(text, tokens).without_frames());
    let says = |span: &Span<'_>| {
        let small_talk = span.table.social();
        span.has_terms() && !span.table.uncovered(&small_talk, span.tokens).is_empty()
    };
    let spans: Vec<Span<'_>> = spans.filter(says).collect();
    let stands_alone = |span: &&Span<'_>| !leans(**span, &literals_of(span.as_written()));
    let previous = *spans.iter().find(stands_alone).or(spans.first())?;
    let mut words = topic_words(previous);
    if !literals.keywords().is_empty() {
        // "What does GENERATE mean?", "And REFINE?": the new name takes the place of the old one.
        let names = literals_of(previous.as_written()).keywords();
        words.retain(|word| !names.contains(word));
    }
    let question = previous.as_question();
    (!words.is_empty()).then_some(Earlier { question, words })
}

/// A part of a question with the subject of the whole behind it, where it says little of its own.
pub fn with_subject(part: Span<'_>, subject: Span<'_>) -> String {
    let (part_text, subject) = (part.as_written(), subject.as_written());
    let is_short = part.count_words() <= OWN_OF_PART || has_pronoun(part);
    let is_said = part_text.to_lowercase().contains(&subject.to_lowercase());
    let mark = if part.is_chinese() { "？" } else { "?" };
    if is_short && !is_said {
        format!("{part_text} ({subject}){mark}")
    } else {
        format!("{part_text}{mark}")
    }
}

/// The words of what an earlier question is about.
fn topic_words(previous: Span<'_>) -> Vec<String> {
    let subject = previous.subject();
    if subject.is_chinese() && subject.has_terms() {
        vec![subject.as_written().to_owned()]
    } else {
        subject.words().into_iter().take(MOST_WORDS).collect()
    }
}

/// Whether a question may need what was said before it.
fn leans(asked: Span<'_>, literals: &Literals) -> bool {
    let own = asked.count_words();
    let leads_on = asked.table.leads.longest(asked.tokens, 0).is_some();
    let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
    let starts = asked.table.starts.longest(asked.tokens, 0).is_some();
    let mut asking = asked.table.asks.values();
    let is_fragment = own <= FRAGMENT && !starts && !asking.any(|list| list.is_in(asked.tokens));
    // A subject that is known is left out in Chinese.
    let lacks_subject = asked.is_chinese() && own <= if starts { FRAGMENT } else { 1 };
    own == 0
        || own <= OWN && leads_on
        || !is_named && (own <= OWN && has_pronoun(asked) || lacks_subject || is_fragment)
}

fn has_pronoun(asked: Span<'_>) -> bool {
    asked.find(&asked.table.pronouns).is_some()
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
            "屏幕对比度和亮度在哪调",
            "会议和培训的时间是几点",
        ] {
            assert_eq!(read(text, &[]).parts, Parts::One, "{text}");
        }
    }
}
