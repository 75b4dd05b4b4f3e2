//! The earlier question whose words a question needs to be understood.

use super::super::language::{Token, tokens};
use super::literals::literals_of;
use super::span::Span;
use crate::domain::{Earlier, Literals, QuestionKind, Turn};

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
/// Words in front of a pronoun that may be a verb and what belongs to it.
const BEFORE: usize = 2;
/// A pronoun further behind, in tokens, has something in front of it.
const PRONOUN_WITHIN: usize = 24;

/// The earlier question that a question continues; `None` where it stands alone.
pub fn earlier_question(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<Earlier> {
    if history.is_empty() || !leans(asked, literals) {
        return None;
    }
    let recent = history.iter().rev().take(TURNS).map(|turn| {
        let text = &turn.question[..turn.question.floor_char_boundary(READ)];
        (text, tokens(text))
    });
    let recent: Vec<(&str, Vec<Token>)> = recent.collect();
    let questions = recent
        .iter()
        .map(|(text, tokens)| Span::new(text, tokens).without_frames());
    let is_social = |span: &Span<'_>| {
        span.table
            .uncovered(&span.table.social(), span.tokens)
            .is_empty()
    };
    let questions: Vec<Span<'_>> = questions
        .filter(|span| span.has_terms() && !is_social(span))
        .collect();
    // A question that continues another one says little of the topic itself.
    let stands_alone = |span: &&Span<'_>| !leans(**span, &literals_of(span.as_written()));
    let previous = questions.iter().find(stands_alone).or(questions.first())?;
    let mut words = topic_words(*previous);
    if !literals.keywords().is_empty() {
        // "What does GENERATE mean?", "And REFINE?": the new name takes the place of the old one.
        let named = literals_of(previous.as_written()).keywords();
        words.retain(|word| !named.contains(word));
    }
    (!words.is_empty()).then(|| Earlier {
        question: previous.as_question(),
        words,
    })
}

/// What is told before a question in the same message, where the question needs it.
pub fn told_before(asked: Span<'_>, literals: &Literals, told: Span<'_>) -> Option<Earlier> {
    let needs_it = asked.find(&asked.table.pronouns).is_some() || leans(asked, literals);
    let words = topic_words(told);
    (needs_it && !words.is_empty()).then(|| Earlier {
        question: String::new(),
        words,
    })
}

/// A part of a question with the subject of the whole behind it, where it says little of its own.
pub fn with_subject(part: Span<'_>, subject: Span<'_>) -> Option<String> {
    let subject = subject.as_written();
    let is_short = part.count_words() <= OWN_OF_PART || has_open_pronoun(part);
    let question = part.as_written().trim_end_matches(['?', '？']);
    let is_said = question.to_lowercase().contains(&subject.to_lowercase());
    let mark = if part.is_unspaced() { "？" } else { "?" };
    (is_short && !is_said && !subject.is_empty())
        .then(|| part.table.with_topic(question, subject) + mark)
}

/// What an earlier question is about: the one thing that it names, else its subject.
fn topic_words(previous: Span<'_>) -> Vec<String> {
    let subject = previous.subject();
    let is_in_subject = |name: &String| {
        let name = name.to_lowercase();
        subject.tokens.iter().any(|token| token.word == name)
    };
    match literals_of(previous.as_written()).keywords().as_slice() {
        [only] if is_in_subject(only) => vec![only.clone()],
        _ if subject.is_unspaced() => vec![subject.as_written().to_owned()],
        _ => subject.words().into_iter().take(MOST_WORDS).collect(),
    }
}

/// Whether a question may need what was said before it.
fn leans(asked: Span<'_>, literals: &Literals) -> bool {
    let own = asked.count_words();
    let leads_on = asked.table.leads.at(asked.tokens, 0).is_some();
    let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
    let is_short = own <= OWN;
    own == 0
        || leads_on && is_short
        || !is_named && is_short && (has_open_pronoun(asked) || lacks_subject(asked))
        || !is_named && is_fragment(asked)
}

/// Whether a language that leaves known subjects out begins with a verb, or asks how and why of one.
fn lacks_subject(asked: Span<'_>) -> bool {
    use QuestionKind::{How, When, Where, Why};
    let (table, tokens) = (asked.table, asked.tokens);
    let asks = table.asks_at(tokens, 0);
    let is_of_subject = asks.is_some_and(|(_, kind)| matches!(kind, How | Why | When | Where));
    table.drops_subjects
        && asked.count_words() <= FRAGMENT
        && (is_of_subject || table.starts.at(tokens, 0).is_some())
}

/// Whether a question is a few words that ask nothing.
fn is_fragment(asked: Span<'_>) -> bool {
    let mut asking = asked.table.asks.values();
    asked.count_words() <= FRAGMENT
        && asked.table.starts.at(asked.tokens, 0).is_none()
        && !asking.any(|list| list.is_in(asked.tokens))
}

/// Whether so little stands in front of the first pronoun that it means nothing there: "how high can I set it".
fn has_open_pronoun(asked: Span<'_>) -> bool {
    let head = asked.slice(..asked.tokens.len().min(PRONOUN_WITHIN));
    head.find(&asked.table.pronouns).is_some_and(|(at, _)| {
        let before = asked.slice(..at);
        before.subject().count_words() <= BEFORE && before.find(&asked.table.part_joints).is_none()
    })
}
