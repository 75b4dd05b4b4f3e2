//! A question, read once a turn: what it names, what kind of answer it wants, what it is made of and
//! whether it may lean on the conversation. Words come from the tables of languages, none from here.

mod earlier;
mod kind;
mod literals;
mod part;
mod parts;
mod sides;
mod span;
mod spelling;
mod states;

pub(super) use part::{Part, parts};
pub(super) use spelling::correct_spelling;
pub(super) use states::state_values;

use crate::domain::{Question, QuestionKind, Turn};

use self::earlier::{earlier_question, told_before};
use self::kind::kind_of;
use self::literals::literals_of;
use self::parts::parts_of;
use self::span::Span;
use super::language::{terms, tokens};

/// Words in front that only acknowledge, in a conversation: "Got it. How do I change it?".
const ACKNOWLEDGED: usize = 2;
/// Tokens of the longest name whose meaning is asked for.
const LONGEST_NAME: usize = 8;

/// Reads a question in its conversation, oldest turn first. Linear in its length.
pub fn read(text: &str, history: &[Turn]) -> Question {
    let tokens = tokens(text);
    let whole = Span::new(text, &tokens);
    let language = whole.language;
    let (told, asked) = whole.split_context();
    let literals = literals_of(text);
    let parts = parts_of(asked);
    let kind = kind_of(asked, &literals, &parts);
    let is_told = |told: &Span<'_>| history.is_empty() || told.count_words() > ACKNOWLEDGED;
    let continues = match told.filter(is_told) {
        Some(told) => told_before(asked, &literals, told),
        None => earlier_question(asked, &literals, history),
    };
    let plain = definition(asked).or_else(|| without_order(asked, kind));
    let asked_terms = plain.as_deref().map(|text| terms(text, language));
    let mut all_terms = asked_terms.unwrap_or_else(|| asked.terms());
    if let Some(earlier) = &continues {
        all_terms.extend(terms(&earlier.words.join(" "), language));
    }
    Question {
        text: text.to_owned(),
        asked: plain.unwrap_or_else(|| asked.as_question()),
        language,
        terms: all_terms,
        words: asked.words(),
        kind,
        continues,
        parts,
        literals,
    }
}

/// The stems of what a question is about, without the words that ask, in order.
pub(super) fn subject_terms(question: &Question) -> Vec<String> {
    let tokens = tokens(&question.asked);
    Span::new(&question.asked, &tokens).subject().terms()
}

/// A question for the meaning of a name in its plain form. One that says more than a name is asked as it stands.
fn definition(asked: Span<'_>) -> Option<String> {
    let length = asked.table.defining.at(asked.tokens, 0)?;
    let end = asked.tokens.iter().rposition(|token| !token.is_mark())? + 1;
    let name = asked.slice(length..end.max(length));
    let subject = name.subject();
    let has_article = name.tokens.len() == subject.tokens.len() + 1;
    let is_whole = name.as_written().ends_with(subject.as_written())
        && (has_article || name.tokens.len() == subject.tokens.len());
    (is_whole && (1..=LONGEST_NAME).contains(&subject.tokens.len()))
        .then(|| asked.table.question_about(subject.as_written()))
}

/// What is to be listed, without the word that orders it: "List the ports" asks for nothing called a list.
fn without_order(asked: Span<'_>, kind: QuestionKind) -> Option<String> {
    let (length, ordered) = asked.table.asks_at(asked.tokens, 0)?;
    let is_order = ordered == QuestionKind::List && !asked.table.stop.has(&asked.tokens[0].word);
    let rest = asked.slice(length..);
    (kind == QuestionKind::List && is_order && rest.has_terms())
        .then(|| rest.as_written().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Parts;

    /// Each step reads a text once or a bounded piece of it: what these hold most of is what would be read
    /// again and again.
    #[test]
    fn r01_the_longest_question_is_read_whole() {
        for piece in [
            "of ",
            "what is it and ",
            "\"",
            "“",
            "ID-1 ",
            "a.md里",
            "please ",
            "它的",
            "?",
            ", the which ",
            "x",
            "。",
            "a.b.",
            "compare and with ",
            "it ",
        ] {
            let text: String = piece.repeat(64 * 1024 / piece.len());
            let turn = Turn {
                question: text.clone(),
                answer: String::new(),
            };
            let question = read(&text, &[turn]);
            assert_eq!(question.text.len(), text.len());
            assert_eq!(question.parts, Parts::One, "{piece}");
            assert!(question.literals.keywords().len() <= 64, "{piece}");
        }
    }

    #[test]
    fn r01_several_things_are_asked_for_by_their_noun() {
        use crate::domain::QuestionKind::{List, Other};
        for (text, kind) in [
            ("Which drawers does the desk have?", List),
            ("Which search tools are there?", List),
            ("Which AWS region is the backup kept in?", Other),
            ("Which port does it use?", Other),
            ("What happens at night?", Other),
        ] {
            assert_eq!(read(text, &[]).kind, kind, "{text}");
        }
    }

    #[test]
    fn r01_what_is_told_and_what_frames_is_not_what_is_asked() {
        for (text, asked) in [
            (
                "How do I check if the service is running?",
                "How do I check if the service is running?",
            ),
            (
                "How does the router know which tool to call?",
                "How does the router know which tool to call?",
            ),
            (
                "I would like to know whether the pump is on",
                "the pump is on",
            ),
            (
                "We use Redis. It runs on 6379. How do I restart it?",
                "How do I restart it?",
            ),
            (
                "What exactly is stored in the cache?",
                "What is stored in the cache?",
            ),
            ("what exactly is the cache?", "What is cache?"),
            ("List all the ports", "all the ports"),
            ("List", "List"),
            ("请列出所有的颜色", "所有的颜色"),
            ("Invoice no. 5 is missing. Where is it?", "Where is it?"),
            ("Was Dr. King born there?", "Was Dr. King born there?"),
            ("『胴丸』的名称是什么？", "『胴丸』的名称是什么？"),
        ] {
            assert_eq!(read(text, &[]).asked, asked, "{text}");
        }
        let turn = Turn {
            question: "What is the vector score threshold?".to_owned(),
            answer: "…".to_owned(),
        };
        let next = read("Got it. How do I change it?", &[turn]);
        let earlier = next.continues.unwrap();
        assert_eq!(earlier.question, "What is the vector score threshold?");
        assert_eq!(earlier.words, ["vector", "score", "threshold"]);
        let told = read("We use Redis. How do I restart it?", &[])
            .continues
            .unwrap();
        assert_eq!(
            (told.question.as_str(), told.words),
            ("", vec!["Redis".to_owned()])
        );
    }

    /// What stands in the place of a gap is not filled in again, and a topic is bounded.
    #[test]
    fn r05_a_topic_does_not_multiply() {
        let text = format!(
            "{}. And what {}?",
            "aa bb cc ".repeat(3_000),
            "{topic} ".repeat(4_000)
        );
        let question = read(&text, &[]);
        assert!(question.search_text().len() < 2 * text.len());
        let quoted = format!("{}{}", "a ".repeat(10_923), "\"".repeat(32_768));
        assert!(read(&quoted, &[]).text.len() == quoted.len());
    }
}
