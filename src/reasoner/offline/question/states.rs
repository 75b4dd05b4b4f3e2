//! The state that a question asks for, as documents may write it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::{Question, QuestionKind};
use crate::text::is_cjk;

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
    #[serde(default)]
    denied: Option<String>,
    /// States that it stands for.
    #[serde(default)]
    includes: Vec<String>,
}

/// The values that a field has in the state that is asked for, a box among them; none where the question
/// asks for no state that is known.
pub(in crate::reasoner::offline) fn state_values(question: &Question) -> Vec<String> {
    if question.kind != QuestionKind::State {
        return Vec::new();
    }
    let text = question.asked.to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let said = STATES.values().filter_map(|state| {
        let said = state
            .words
            .iter()
            .filter_map(|word| Said::of(word, &text, &words));
        Some((said.max_by_key(|said| said.length)?, state))
    });
    // "Not done" holds "done" and means another state.
    let Some((said, state)) = said.max_by_key(|(said, _)| said.length) else {
        return Vec::new();
    };
    let state = match (said.denied, &state.denied) {
        (false, _) => Some(state),
        (true, Some(other)) => STATES.get(other),
        (true, None) => None,
    };
    let Some(state) = state else {
        return Vec::new();
    };
    let others = state.includes.iter().filter_map(|name| STATES.get(name));
    let states = std::iter::once(state).chain(others);
    let mut values: Vec<String> = Vec::new();
    for value in states.flat_map(|state| state.words.iter().chain(&state.mark)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}

/// A state as a question says it.
struct Said {
    /// Characters.
    length: usize,
    /// Whether it is said not to be so.
    denied: bool,
}

impl Said {
    /// Of a state's word in the text and its words; none where it is not said, or only wished for.
    fn of(state: &str, text: &str, words: &[&str]) -> Option<Self> {
        let length = state.chars().count();
        if state.contains(is_cjk) {
            let before = &text[..text.find(state)?];
            let denied = before.chars().rev().take(2).any(|c| "没未不".contains(c));
            return Some(Self { length, denied });
        }
        let parts: Vec<&str> = state.split(' ').collect();
        let at = words
            .windows(parts.len())
            .position(|window| window == parts)?;
        let before = &words[at.saturating_sub(2)..at];
        // "What has to be done" asks for no state.
        if before
            .last()
            .is_some_and(|word| matches!(*word, "be" | "to"))
        {
            return None;
        }
        let denies = |word: &&str| matches!(*word, "not" | "t" | "never" | "nicht" | "keine");
        Some(Self {
            length,
            denied: before.iter().any(denies),
        })
    }
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
