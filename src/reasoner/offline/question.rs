//! A question, read once a turn: what it names, what kind of answer it wants, what it is made of and
//! whether it may lean on the conversation. Words come from the tables of languages, none from here.

mod earlier;
mod kind;
mod literals;
mod parts;
mod span;

use super::language::{terms, tokens};
use crate::domain::{Parts, Question, Turn};
use earlier::{Correction, corrected_question, earlier_question};
use kind::kind_of;
pub use kind::state_values;
pub use literals::correct_spelling;
use literals::literals_of;
use parts::parts_of;
use span::Span;

/// Reads a question in its conversation, oldest turn first. Linear in its length.
pub fn read(text: &str, history: &[Turn]) -> Question {
    let tokens = tokens(text);
    let before = history.last().map_or("", |turn| turn.question.as_str());
    let whole = Span::new(text, &tokens).in_conversation(before);
    let correction = Correction::read(whole);
    let asked = correction.as_ref().map_or(whole, |it| it.meant);
    let asked = asked.without_frames();
    let literals = literals_of(text);
    let parts = parts_of(asked);
    let continues = match &correction {
        Some(correction) => corrected_question(correction, history),
        None => earlier_question(asked, &literals, history),
    };
    let is_left_out = correction.is_some() || asked.is_left_out(&literals);
    let mut all_terms = asked.terms();
    if let Some(earlier) = &continues {
        all_terms.extend(terms(&earlier.words.join(" "), asked.language));
    }
    Question {
        text: text.to_owned(),
        asked: asked.as_question(),
        language: asked.language,
        terms: all_terms,
        words: asked.words(),
        topics: asked.topics(),
        subject: asked.subject().as_written().to_owned(),
        lacks_topic: is_left_out && continues.is_none(),
        kind: kind_of(asked, &literals, &parts),
        continues,
        parts,
        literals,
    }
}

/// The stems of what a question is about, without the words that ask, in order.
pub fn subject_terms(question: &Question) -> Vec<String> {
    let tokens = tokens(&question.asked);
    Span::new(&question.asked, &tokens).subject().terms()
}

/// A part of a question, as a question of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub question: Question,
    /// The heading of its piece of an answer.
    pub label: String,
}

/// The parts that a route was planned with; without any, the question is one.
pub fn parts(question: &Question, planned: &[String]) -> Vec<Part> {
    let names = match &question.parts {
        Parts::Sides { left, right } => vec![left, right],
        Parts::One | Parts::Several { .. } => planned.iter().collect(),
    };
    let part = |(text, name): (&String, &String)| Part {
        question: read(text, &[]),
        label: name
            .trim_end_matches(['?', '？', '.', '。', ' '])
            .to_owned(),
    };
    planned.iter().zip(names).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn r01_what_frames_a_question_is_not_asked() {
        for (text, asked) in [
            (
                "How do I check if the service is running?",
                "How do I check if the service is running?",
            ),
            (
                "I would like to know whether the pump is on",
                "the pump is on",
            ),
            ("Hello, please tell me: what is net++?", "what is net++?"),
            ("List", "List"),
            ("Was Dr. King born there?", "Was Dr. King born there?"),
            ("『胴丸』的名称是什么？", "『胴丸』的名称是什么？"),
        ] {
            assert_eq!(read(text, &[]).asked, asked, "{text}");
        }
    }

    #[test]
    fn r05_what_leans_on_the_question_before_is_searched_with_its_words() {
        let turn = Turn {
            question: "What is the vector score threshold?".to_owned(),
            answer: "…".to_owned(),
        };
        let next = read("Got it. How do I change it?", &[turn]);
        let earlier = next.continues.unwrap();
        assert_eq!(earlier.question, "What is the vector score threshold?");
        assert_eq!(earlier.words, ["vector", "score", "threshold"]);
    }

    #[test]
    fn r05_what_is_lacking_is_taken_as_it_was_said() {
        for (first, second, searched, language) in [
            (
                "Is the cache kept after a restart?",
                "Why?",
                "Why? Is the cache kept after a restart",
                "en",
            ),
            (
                "How do I back up to S3?",
                "to B2 too?",
                "to B2 too? I back up to",
                "en",
            ),
            // A word or two do not tell their language.
            (
                "Wie sichere ich nach S3?",
                "B2 auch?",
                "B2 auch? sichere ich nach S3",
                "de",
            ),
        ] {
            let turn = Turn {
                question: first.to_owned(),
                answer: "…".to_owned(),
            };
            let question = read(second, &[turn]);
            assert_eq!(question.search_text(), searched);
            assert_eq!(question.language.0, language);
        }
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
