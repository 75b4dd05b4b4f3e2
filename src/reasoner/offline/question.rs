//! A question, read once a turn: what it names, what kind of answer it wants, what it is made of and
//! whether it may lean on the conversation. Words come from the tables of languages, none from here.

mod earlier;
mod kind;
mod literals;
mod mended;
mod part;
mod parts;
mod sides;
mod spans;
mod states;

pub(super) use mended::mended;
pub(super) use part::{Part, parts};
pub(super) use states::state_values;

use crate::domain::{Question, QuestionKind, Turn};

use self::kind::kind_of;
use self::literals::literals_of;
use self::parts::parts_of;
use self::spans::Span;

/// Reads a question in its conversation, oldest turn first. Linear in its length.
pub fn read(text: &str, history: &[Turn]) -> Question {
    let tokens = super::language::tokens(text);
    let whole = Span::of(text, &tokens);
    let (told, asked) = whole.told_and_asked();
    let literals = literals_of(text);
    let parts = parts_of(asked);
    let kind = kind_of(asked, &literals, &parts);
    let told = told.filter(|told| history.is_empty() || told.content() > ACKNOWLEDGED);
    let continues = match told {
        Some(told) => earlier::told(asked, told),
        None => earlier::earlier(asked, &literals, history),
    };
    let defined = defined(asked).or_else(|| ordered(asked, kind));
    let mut terms = match &defined {
        Some(text) => super::language::terms(text, whole.language),
        None => asked.terms(),
    };
    if let Some(earlier) = &continues {
        terms.extend(super::language::terms(
            &earlier.words.join(" "),
            whole.language,
        ));
    }
    Question {
        text: text.to_owned(),
        asked: defined.unwrap_or_else(|| marked(asked, text)),
        language: whole.language,
        terms,
        words: earlier::content_words(asked),
        kind,
        continues,
        parts,
        literals,
    }
}

/// The words of what a question is about, without those that ask, in order.
pub(super) fn subject_terms(question: &Question) -> Vec<String> {
    let tokens = super::language::tokens(&question.asked);
    Span::of(&question.asked, &tokens).subject().terms()
}

/// What asks only what a few words are, in the plain form.
fn defined(asked: Span<'_>) -> Option<String> {
    let length = asked.table.frames.defining.at(asked.tokens, 0)?;
    let end = asked.tokens.iter().rposition(|token| !token.is_mark())? + 1;
    let name = asked.part(length..end.max(length));
    let subject = name.subject();
    // What says more than a name is asked as it stands.
    let article = name.tokens.len() - subject.tokens.len();
    let whole = article <= 1 && name.written().ends_with(subject.written());
    let words = subject.tokens.len();
    (whole && (1..=DEFINED).contains(&words))
        .then(|| asked.table.forms.about.replace("{}", subject.written()))
}

/// What is to be listed, without the word that orders it: "List the ports" asks for nothing called a list.
fn ordered(asked: Span<'_>, kind: QuestionKind) -> Option<String> {
    let (length, of) = asked.table.asks.at(asked.tokens, 0)?;
    let is_order = !asked.table.stop.has(&asked.tokens[0].word);
    let rest = asked.part(length..asked.tokens.len());
    (kind == QuestionKind::List && of == kind && is_order && rest.says())
        .then(|| rest.written().to_owned())
}

/// In a conversation so few words in front only acknowledge: "Got it. How do I change it?".
const ACKNOWLEDGED: usize = 2;
/// Of so many tokens a name is at most.
const DEFINED: usize = 8;

/// What is asked as it is written, with the mark that the whole ends with.
fn marked(asked: Span<'_>, text: &str) -> String {
    let written = asked.written();
    let mark = text
        .trim_end()
        .chars()
        .next_back()
        .filter(|c| matches!(c, '?' | '？'));
    let mark = mark.filter(|c| !written.is_empty() && !written.ends_with(*c));
    written.chars().chain(mark).collect()
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
