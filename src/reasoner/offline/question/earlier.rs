//! The earlier question whose words a question needs to be understood.

use super::super::language::{Token, tokens};
use super::literals::literals_of;
use super::span::Span;
use crate::domain::{Earlier, Literals, Turn};

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
    let spans = turns
        .iter()
        .map(|(text, tokens)| Span::new(text, tokens).without_frames());
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
