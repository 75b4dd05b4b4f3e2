use super::super::language::{Token, tokens};
use super::literals::literals_of;
use super::ordinals::by_place;
use super::spans::Span;
use crate::domain::{Literals, QuestionKind, Turn};

/// How many turns back a topic is looked for.
const REACH: usize = 4;
/// Of an earlier question so much is read, in bytes.
const READ: usize = 2_000;
/// With more words of its own a question stands alone, whatever it begins with.
const OWN: usize = 4;
/// So few words that ask nothing are a fragment.
const FRAGMENT: usize = 3;

/// The question with the topic of the conversation, where it may lean on that.
pub(super) fn with_topic(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<String> {
    let last = history.last()?;
    let place = |topic: Span<'_>| by_place(asked, &last.answer, topic);
    let last_read = tokens(head(&last.question));
    let last_asked = Span::of(head(&last.question), &last_read).unframed();
    if let Some(meant) = place(last_asked.subject()) {
        return Some(meant);
    }
    if !leans(asked, literals) {
        return None;
    }
    let earlier = history.iter().rev().take(REACH);
    let earlier = earlier.map(|turn| head(&turn.question));
    let read: Vec<(&str, Vec<Token>)> = earlier.map(|text| (text, tokens(text))).collect();
    let spans: Vec<Span<'_>> = read
        .iter()
        .map(|(text, tokens)| Span::of(text, tokens).unframed())
        .collect();
    let mut said = spans
        .iter()
        .filter(|span| span.says() && !is_social(**span));
    // A question that leans on an earlier one says little of the topic itself.
    let alone = said
        .clone()
        .find(|span| !leans(**span, &literals_of(span.written())));
    let previous = alone.or_else(|| said.next())?;
    instead(asked, literals, *previous).or_else(|| leaning_on(asked, topic(*previous)))
}

/// So much of an earlier question as is read.
fn head(question: &str) -> &str {
    let end = (0..=READ.min(question.len())).rfind(|end| question.is_char_boundary(*end));
    &question[..end.unwrap_or(0)]
}

/// The question with the topic of what is told before it in the same message, where it names that by a
/// pronoun or names nothing itself.
pub(super) fn with_what_was_told(asked: Span<'_>, told: Span<'_>) -> Option<String> {
    let topic = topic(told);
    let names = !literals_of(asked.written()).keywords().is_empty();
    let means = asked.first(&asked.table.pronouns).is_some();
    let mark = if asked.is_dense() { "？" } else { "?" };
    leaning_on(asked, topic)
        .or_else(|| (means && !names && topic.says()).then(|| added(asked, topic.written(), mark)))
}

/// The question with a topic: in the place of the pronoun that stands for it, else behind it. `None`
/// where it needs none.
pub(super) fn leaning_on(asked: Span<'_>, topic: Span<'_>) -> Option<String> {
    let topic = topic.written();
    if topic.is_empty() {
        return None;
    }
    let lead = leads(asked);
    let end = asked
        .tokens
        .iter()
        .rposition(|token| !token.is_mark())
        .map_or(0, |at| at + 1);
    let mark = if asked.is_dense() { "？" } else { "?" };
    let rest = asked.part(lead..end.max(lead));
    if let Some((at, length)) = pronoun(rest) {
        let before = rest.part(0..at).written();
        let after = rest.part(at + length..rest.tokens.len()).written();
        let space = if asked.is_dense() { "" } else { " " };
        let pieces: Vec<&str> = [before, topic, after]
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect();
        return Some(format!("{}{mark}", pieces.join(space)));
    }
    (lead > 0 || rest.content() == 0 || lacks_subject(rest))
        .then(|| added(if rest.says() { rest } else { asked }, topic, mark))
        .or_else(|| is_fragment(rest).then(|| added(rest, topic, mark)))
}

fn added(question: Span<'_>, topic: &str, mark: &str) -> String {
    let forms = &question.table.forms;
    let question = question.written().trim_end_matches(['?', '？']);
    format!("{}{mark}", forms.with_topic(question, topic))
}

/// The earlier question asked of another name: "What does GENERATE mean?", "And REFINE?".
fn instead(asked: Span<'_>, literals: &Literals, previous: Span<'_>) -> Option<String> {
    let rest = asked.part(leads(asked)..asked.tokens.len());
    let before = literals_of(previous.written());
    let pairs = [
        (&literals.ids, &before.ids),
        (&literals.identifiers, &before.identifiers),
        (&literals.quotations, &before.quotations),
    ];
    let named = pairs
        .into_iter()
        .find_map(|(now, then)| match (&now[..], &then[..]) {
            ([now], [then]) if now != then => Some((now, then)),
            _ => None,
        });
    let (now, then) = named.filter(|_| rest.subject().tokens.len() <= 1)?;
    let text = previous.written();
    let place = text
        .to_lowercase()
        .find(&then.to_lowercase())
        .filter(|_| text.is_ascii())?;
    let mark = if previous.is_dense() { "？" } else { "?" };
    Some(format!(
        "{}{now}{}{mark}",
        &text[..place],
        text[place + then.len()..].trim_end_matches('?')
    ))
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

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn after(questions: &[&str], query: &str) -> Option<String> {
        let turn = |question: &&str| Turn {
            question: (*question).to_owned(),
            answer: "…".to_owned(),
        };
        let history: Vec<Turn> = questions.iter().map(turn).collect();
        read(query, &history).with_topic
    }

    #[test]
    fn r05_a_question_that_may_lean_is_also_read_with_its_topic() {
        for (before, query, read) in [
            (
                "What is the vector score threshold?",
                "and its default?",
                "vector score threshold default?",
            ),
            (
                "What is the vector score threshold?",
                "how is it changed?",
                "how is vector score threshold changed?",
            ),
            (
                "What is the vector score threshold?",
                "and the default?",
                "the default (vector score threshold)?",
            ),
            (
                "What does GENERATE mean?",
                "what about REFINE?",
                "What does REFINE mean?",
            ),
            (
                "How does hybrid search work?",
                "why?",
                "why (hybrid search)?",
            ),
            (
                "什么是快速路径？",
                "它的默认值是多少？",
                "快速路径的默认值是多少？",
            ),
            (
                "Was ist eine Kaution?",
                "Und wann wird sie gezahlt?",
                "wann wird Kaution gezahlt?",
            ),
        ] {
            assert_eq!(after(&[before], query).as_deref(), Some(read), "{query}");
        }
        assert_eq!(
            after(
                &["What is hybrid search?", "how is it tuned?", "thanks"],
                "and its limits?"
            )
            .as_deref(),
            Some("hybrid search limits?")
        );
    }

    #[test]
    fn r05_a_question_that_stands_alone_is_read_once() {
        for query in [
            "What is the vector score threshold?",
            "which rule says that few items pass",
            "What is hybrid search and how does it work?",
            "PROJ-123",
            "什么是混合检索？",
            "compare simple and complex",
            "Wie funktioniert die hybride Suche?",
        ] {
            assert_eq!(after(&["What is chitchat?"], query), None, "{query}");
        }
        assert_eq!(after(&[], "and its default?"), None);
        assert_eq!(after(&["hello"], "and its default?"), None);
    }
}
