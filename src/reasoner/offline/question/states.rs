//! The state that a question asks for, as documents may write it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::super::language::{Phrases, Token, tokens};
use crate::domain::{Question, QuestionKind};

static STATES: LazyLock<BTreeMap<String, State>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/language/states.toml")).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// How a list of tasks marks it.
    #[serde(rename = "box")]
    mark: Option<String>,
    words: Vec<String>,
    /// The state of what is not in this one.
    denied: Option<String>,
    /// States that it stands for.
    #[serde(default)]
    includes: Vec<String>,
}

/// The values that a field has in the state that is asked for, a box among them; none where the question
/// asks for no known state.
pub fn state_values(question: &Question) -> Vec<String> {
    if question.kind != QuestionKind::State {
        return Vec::new();
    }
    let tokens = tokens(&question.asked);
    let found = STATES
        .values()
        .filter_map(|state| Some((said(state, &tokens)?, state)));
    // "Not done" holds "done" and means another state.
    let longest = found.max_by_key(|((length, _), _)| *length);
    let state = longest.and_then(|((_, before), state)| {
        let denies = |token: &Token| DENIALS.contains(&token.word.as_str());
        if before.iter().any(denies) {
            STATES.get(state.denied.as_ref()?)
        } else {
            Some(state)
        }
    });
    let Some(state) = state else {
        return Vec::new();
    };
    let included = state.includes.iter().filter_map(|name| STATES.get(name));
    let mut values: Vec<String> = Vec::new();
    for state in std::iter::once(state).chain(included) {
        values.extend(state.words.iter().chain(&state.mark).cloned());
    }
    values
}

/// Words in front of a state that say it is not so.
const DENIALS: [&str; 8] = ["not", "t", "never", "nicht", "keine", "没", "未", "不"];

/// The length in bytes of the longest word for a state in a question, and the two tokens in front of it.
fn said<'a>(state: &State, tokens: &'a [Token]) -> Option<(usize, &'a [Token])> {
    let phrases = Phrases::from(state.words.clone());
    let said = (0..tokens.len()).filter_map(|at| {
        let last = at + phrases.at(tokens, at)? - 1;
        let before = &tokens[at.saturating_sub(2)..at];
        // "What has to be done" asks for no state.
        let is_wish = before
            .last()
            .is_some_and(|it| matches!(it.word.as_str(), "be" | "to"));
        (!is_wish).then(|| (tokens[last].range.end - tokens[at].range.start, before))
    });
    said.max_by_key(|(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        state_values(&Question {
            text: text.to_owned(),
            asked: text.to_owned(),
            kind: QuestionKind::State,
            ..Question::default()
        })
    }

    #[test]
    fn r11_a_state_is_asked_for_in_any_language() {
        for (text, value) in [
            ("Which tickets are open?", "[ ]"),
            ("Welche Aufgaben sind noch offen?", "open"),
            ("哪些任务还没做？", "[ ]"),
            ("Which tasks are not done?", "todo"),
            ("What is finished?", "[x]"),
            ("哪些工单已完成？", "closed"),
        ] {
            assert!(
                values(text).iter().any(|known| known == value),
                "{text}: {:?}",
                values(text)
            );
        }
        let unfinished = values("Which tasks are not done?");
        for text in [
            "Which tasks aren't done?",
            "Which tasks are not yet finished?",
            "哪些工单没有关闭？",
        ] {
            assert_eq!(values(text), unfinished, "{text}");
        }
        for text in [
            "Which tickets are urgent?",
            "Which tickets are not open?",
            "What has to be done before the release?",
        ] {
            assert!(values(text).is_empty(), "{text}");
        }
    }
}
