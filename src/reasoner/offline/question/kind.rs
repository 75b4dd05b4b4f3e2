use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::super::language::{Phrases, Token, terms, tokens};
use super::span::Span;
use crate::domain::{Language, Literals, Parts, Question, QuestionKind};

/// The kind of answer that a question wants, by its first words that ask and what it names.
pub fn kind_of(asked: Span<'_>, literals: &Literals, parts: &Parts) -> QuestionKind {
    use QuestionKind::{
        Comparison, Definition, File, List, Other, Overview, Quantity, Relation, State, Who,
    };
    let wanted = kind_by_words(asked);
    let has = |list: &Phrases| list.is_in(asked.tokens);
    // "What does PROJ-7 depend on": of a named thing.
    let is_of_named = wanted == Some(Definition) && !literals.keywords().is_empty();
    let is_open = matches!(wanted, None | Some(List | Other | Quantity | Who));
    if matches!(parts, Parts::Sides { .. }) {
        Comparison
    } else if is_about_everything(asked, wanted) {
        Overview
    } else if (is_open || is_of_named) && has(&asked.table.relations) {
        Relation
    } else if matches!(wanted, Some(List | Other | Quantity))
        && has(&asked.table.states)
        && !values_said(asked.tokens, asked.language).is_empty()
    {
        State
    } else if !literals.paths.is_empty() {
        File
    } else {
        wanted.unwrap_or(Other)
    }
}

/// The kind that the first words that ask stand for. "Explain how" asks how.
fn kind_by_words(asked: Span<'_>) -> Option<QuestionKind> {
    let kind_at = |at| asked.table.asks_at(asked.tokens, at);
    let mut found = (0..asked.tokens.len()).filter_map(|at| Some((at, kind_at(at)?)));
    let (at, (length, kind)) = found.next()?;
    let behind = at + length;
    if kind == QuestionKind::Other && is_plural(asked.slice(behind..)) {
        return Some(QuestionKind::List);
    }
    let is_weak = matches!(kind, QuestionKind::Definition | QuestionKind::Other);
    let next = (behind..behind + 3).find_map(kind_at).map(|(_, kind)| kind);
    let next = next.filter(|next| is_weak && *next != QuestionKind::Other);
    Some(next.unwrap_or(kind))
}

/// Whether the first words mean several things by their ending: "drawers does the desk have". Names do not.
fn is_plural(rest: Span<'_>) -> bool {
    let table = rest.table;
    let is_form = |token: &Token| table.stop.has(&token.word) || table.generic.has(&token.word);
    let end = rest.tokens.iter().position(is_form);
    let nouns = rest.slice(..end.unwrap_or(rest.tokens.len())).words();
    nouns.iter().any(|noun| {
        let stem = terms(noun, rest.language).into_iter().next();
        let mut endings = table.plural.iter();
        endings.any(|ending| noun.ends_with(ending.as_str()))
            && noun.starts_with(char::is_lowercase)
            && stem.as_ref() != Some(noun)
    })
}

/// Whether nothing is asked but what all documents hold.
fn is_about_everything(asked: Span<'_>, wanted: Option<QuestionKind>) -> bool {
    use QuestionKind::{Definition, List, Other, Overview};
    let table = asked.table;
    let mut lists = vec![
        &table.whole,
        &table.holding,
        &table.stop,
        &table.starts,
        &table.generic,
    ];
    lists.extend(table.asks.values());
    matches!(wanted, None | Some(Definition | List | Other | Overview))
        && (wanted == Some(Overview) || table.whole.is_in(asked.tokens))
        && table.uncovered(&lists, asked.tokens).is_empty()
}

// The state that a question asks for, as documents may write it.

static STATES: LazyLock<BTreeMap<String, State>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/states.toml")).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// How a list of tasks marks it.
    #[serde(rename = "box")]
    mark: Option<String>,
    /// The words for it, by the code of their language.
    words: BTreeMap<String, Vec<String>>,
    /// The state of what is not in this one.
    denied: Option<String>,
    /// States that it stands for.
    #[serde(default)]
    includes: Vec<String>,
}

/// Words in front of a state that say it is not so.
const DENIALS: [&str; 17] = [
    "not", "t", "never", "nicht", "keine", "没", "未", "不", "не", "pas", "no", "não", "non",
    "sin", "sem", "senza", "sans",
];

/// The values that a field has in the state that is asked for, a box among them; none where the question
/// asks for no known state.
pub fn state_values(question: &Question) -> Vec<String> {
    if question.kind == QuestionKind::State {
        values_said(&tokens(&question.asked), question.language)
    } else {
        Vec::new()
    }
}

/// The values of the state that is said by the longest words, in English and in one other language: "not done" holds
/// "done" and means another state.
pub fn values_said(tokens: &[Token], language: Language) -> Vec<String> {
    let mut longest = 0;
    let mut said: Option<&State> = None;
    for state in STATES.values() {
        let words: Vec<String> = state.words.values().flatten().cloned().collect();
        let phrases = Phrases::from(words);
        for at in 0..tokens.len() {
            let length = phrases.longest(tokens, at).unwrap_or(0);
            let bytes: usize = tokens[at..at + length].iter().map(|it| it.word.len()).sum();
            let is_behind = |words: &[&str], count: usize| {
                let mut before = tokens[at.saturating_sub(count)..at].iter();
                before.any(|token| words.contains(&token.word.as_str()))
            };
            // "What has to be done" asks for no state.
            if bytes > longest && !is_behind(&["be", "to"], 1) {
                longest = bytes;
                said = match &state.denied {
                    _ if !is_behind(&DENIALS, 2) => Some(state),
                    Some(other) => STATES.get(other),
                    None => None,
                };
            }
        }
    }
    let included = said.iter().flat_map(|state| &state.includes);
    let included = included.filter_map(|name| STATES.get(name));
    let states = said.into_iter().chain(included);
    let mut languages = vec![Language::EN, language];
    languages.dedup();
    let values = states.flat_map(|state| {
        let words = languages.iter().filter_map(|it| state.words.get(it.0));
        words.flatten().chain(&state.mark)
    });
    values.cloned().collect()
}

#[cfg(test)]
mod states_tests {
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
