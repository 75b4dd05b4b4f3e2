//! What a question continues: the earlier question whose words it needs to be understood.

use super::super::language::{Sign, Token, tokens};
use super::literals::literals_of;
use super::spans::Span;
use crate::domain::{Earlier, Literals, QuestionKind, Turn};

/// How many turns back an earlier question is looked for.
const REACH: usize = 4;
/// Bytes that are read of an earlier question.
const READ: usize = 2_000;
/// A question with more words of its own stands alone, whatever it begins with.
const OWN: usize = 4;
/// A question of fewer words that asks nothing is a fragment.
const FRAGMENT: usize = 3;
/// A part of a question with more words of its own needs no subject from another part.
const OWN_OF_PART: usize = 2;
/// Words that are taken from an earlier question.
const MOST_WORDS: usize = 12;

/// The earlier question that a question continues; `None` where it stands alone.
pub(super) fn earlier(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<Earlier> {
    if history.is_empty() || !leans(asked, literals) {
        return None;
    }
    let texts: Vec<&str> = history
        .iter()
        .rev()
        .take(REACH)
        .map(|turn| head(&turn.question))
        .collect();
    let read: Vec<Vec<Token>> = texts.iter().map(|text| tokens(text)).collect();
    let questions: Vec<Span<'_>> = texts
        .iter()
        .zip(&read)
        .map(|(text, tokens)| Span::of(text, tokens).unframed())
        .filter(|span| span.says() && !is_social(*span))
        .collect();
    // A question that continues another one says little of the topic itself.
    let alone = questions
        .iter()
        .find(|span| !leans(**span, &literals_of(span.written())));
    let previous = alone.or_else(|| questions.first())?;
    let mut words = topic_words(*previous);
    if !literals.keywords().is_empty() {
        // "What does GENERATE mean?", "And REFINE?": the new name takes the place of the old one.
        let named = literals_of(previous.written()).keywords();
        words.retain(|word| !named.contains(word));
    }
    (!words.is_empty()).then(|| Earlier {
        question: previous.written().to_owned(),
        words,
    })
}

/// What is told before a question in the same message, where the question needs it.
pub(super) fn told(asked: Span<'_>, told: Span<'_>) -> Option<Earlier> {
    let has_pronoun = asked.first(&asked.table.pronouns).is_some();
    let words = topic_words(told);
    ((has_pronoun || needs_subject(asked)) && !words.is_empty()).then(|| Earlier {
        question: String::new(),
        words,
    })
}

/// A part of a question with the subject of the whole behind it, where it says little of its own.
pub(super) fn with_subject(part: Span<'_>, subject: Span<'_>) -> Option<String> {
    let subject = subject.written();
    let is_short = part.content() <= OWN_OF_PART || pronoun(part).is_some();
    let written = part.written().trim_end_matches(['?', '？']);
    let is_said = written.to_lowercase().contains(&subject.to_lowercase());
    let mark = if part.is_dense() { "？" } else { "?" };
    (is_short && !is_said && !subject.is_empty())
        .then(|| format!("{}{mark}", part.table.forms.with_topic(written, subject)))
}

/// The beginning of an earlier question.
fn head(question: &str) -> &str {
    &question[..question.floor_char_boundary(READ)]
}

/// What an earlier question is about: the one thing that it names, else all but what asks.
fn topic(previous: Span<'_>) -> Span<'_> {
    let literals = literals_of(previous.written());
    let subject = previous.subject();
    let [only] = &literals.keywords()[..] else {
        return subject;
    };
    let named = subject
        .tokens
        .iter()
        .position(|token| token.word == only.to_lowercase());
    named.map_or(subject, |at| subject.part(at..at + 1))
}

/// The words of what an earlier question is about; of Chinese, the whole run of characters.
fn topic_words(previous: Span<'_>) -> Vec<String> {
    let topic = topic(previous);
    if topic.is_dense() {
        return vec![topic.written().to_owned()];
    }
    let mut words = content_words(topic);
    words.truncate(MOST_WORDS);
    words
}

/// The words that carry meaning as they are written, each once.
pub(super) fn content_words(span: Span<'_>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for at in (0..span.tokens.len()).filter(|at| span.tokens[*at].sign == Sign::Word) {
        let token = span.part(at..at + 1);
        let word = token.written().to_owned();
        if token.says() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Whether a question may mean something that was said before it.
fn leans(asked: Span<'_>, literals: &Literals) -> bool {
    let own = asked.content();
    if own == 0 || leads(asked) > 0 && own <= OWN {
        return true;
    }
    let named = !literals.keywords().is_empty() || !literals.paths.is_empty();
    !named
        && (own <= OWN && (pronoun(asked).is_some() || lacks_subject(asked)) || is_fragment(asked))
}

fn needs_subject(asked: Span<'_>) -> bool {
    let rest = asked.part(leads(asked)..asked.tokens.len());
    leads(asked) > 0 || rest.content() == 0 || lacks_subject(rest) || is_fragment(rest)
}

/// Whether a language that leaves known subjects out begins with a verb or asks how and why of one.
fn lacks_subject(asked: Span<'_>) -> bool {
    use QuestionKind::{How, When, Where, Why};
    let (table, tokens) = (asked.table, asked.tokens);
    let asks = table.asks.at(tokens, 0);
    let of_it = asks.is_some_and(|(_, kind)| matches!(kind, How | Why | When | Where));
    table.drops_subjects
        && asked.content() <= FRAGMENT
        && (of_it || table.starts.at(tokens, 0).is_some())
}

/// Few words that ask nothing.
fn is_fragment(asked: Span<'_>) -> bool {
    let asks = |at: usize| asked.table.asks.at(asked.tokens, at).is_some();
    asked.content() <= FRAGMENT
        && asked.table.starts.at(asked.tokens, 0).is_none()
        && !(0..asked.tokens.len()).any(asks)
}

/// The first pronoun in front of which little stands that it could mean: "how high can I set it".
fn pronoun(asked: Span<'_>) -> Option<(usize, usize)> {
    let found = asked
        .part(0..asked.tokens.len().min(PRONOUN_WITHIN))
        .first(&asked.table.pronouns);
    found.filter(|(at, _)| {
        let before = asked.part(0..*at);
        before.subject().content() <= BEFORE && before.first(&asked.table.joints.parts).is_none()
    })
}

/// So many words in front of a pronoun may be a verb and what belongs to it.
const BEFORE: usize = 2;
/// A pronoun further behind has something in front of it.
const PRONOUN_WITHIN: usize = 24;

/// How many tokens in front only lead on from what was said.
fn leads(asked: Span<'_>) -> usize {
    asked.table.leads.at(asked.tokens, 0).unwrap_or(0)
}

/// Whether a message only greets, thanks or the like.
fn is_social(span: Span<'_>) -> bool {
    let said = &span.table.said;
    let lists = [&said.greeting, &said.thanks, &said.goodbye, &said.identity];
    lists.iter().any(|list| list.make_up(span.tokens))
}
