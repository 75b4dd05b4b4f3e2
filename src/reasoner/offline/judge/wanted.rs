//! What kind of thing a question wants, and what kinds a unit tells: by the words of a table and the
//! shapes of words.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Language;
use crate::text::is_cjk;

use super::super::language::terms;

/// What would answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Number,
    Time,
    Name,
    Reason,
}

/// What a unit tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Told {
    /// Its words for numbers, digits or not.
    pub(super) numbers: HashSet<String>,
    /// Its words for times, years among them.
    pub(super) times: HashSet<String>,
    /// The words of names, those that a capital in the midst of a sentence shows.
    pub(super) names: HashSet<String>,
    pub(super) reason: bool,
    /// Whether it begins with a word that stands for something said before it.
    pub(in super::super) leans: bool,
}

/// The words of one language, longest match anywhere in the text; those of a script with spaces are
/// whole words.
#[derive(Debug, Deserialize)]
struct Words {
    wants_number: Vec<String>,
    wants_time: Vec<String>,
    wants_name: Vec<String>,
    wants_reason: Vec<String>,
    numbers: Vec<String>,
    times: Vec<String>,
    reasons: Vec<String>,
    leaning: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Table {
    en: Words,
    zh: Words,
    de: Words,
}

static TABLE: LazyLock<Option<Table>> =
    LazyLock::new(|| toml::from_str(include_str!("../../../../assets/judge/wanted.toml")).ok());

/// What a question wants; nothing where no word of it says.
pub(super) fn wanted(question: &str, language: Language) -> Option<Wanted> {
    let words = words(language)?;
    let text = spaced(question, language);
    [
        (&words.wants_number, Wanted::Number),
        (&words.wants_time, Wanted::Time),
        (&words.wants_name, Wanted::Name),
        (&words.wants_reason, Wanted::Reason),
    ]
    .into_iter()
    .find(|(words, _)| holds(&text, words, language))
    .map(|(_, wanted)| wanted)
}

/// What a unit tells.
pub(super) fn told(unit: &str, language: Language) -> Told {
    let Some(words) = words(language) else {
        return Told::default();
    };
    let text = spaced(unit, language);
    let in_digits = |is: fn(&str) -> bool| {
        let words = unit.split(|c: char| !c.is_alphanumeric() || is_cjk(c));
        words.filter(move |word| is(word)).map(str::to_lowercase)
    };
    let in_words = |words: &[String]| {
        let held = words
            .iter()
            .filter(|word| holds(&text, std::slice::from_ref(word), language));
        held.flat_map(|word| terms(word, language))
            .collect::<Vec<_>>()
    };
    let of = |is, words: &[String]| in_digits(is).chain(in_words(words)).collect();
    Told {
        numbers: of(
            |word| word.starts_with(|c: char| c.is_numeric()),
            &words.numbers,
        ),
        times: of(is_year, &words.times),
        names: if language == Language::En {
            names(unit)
        } else {
            HashSet::new()
        },
        reason: holds(&text, &words.reasons, language),
        leans: begins_with_one(&text, &words.leaning),
    }
}

fn begins_with_one(text: &str, words: &[String]) -> bool {
    words
        .iter()
        .any(|word| text.trim_start().starts_with(word.as_str()))
}

fn words(language: Language) -> Option<&'static Words> {
    let table = TABLE.as_ref()?;
    Some(match language {
        Language::En => &table.en,
        Language::Zh => &table.zh,
        Language::De => &table.de,
    })
}

/// Words in lower case with one space around each; Chinese as it is.
fn spaced(text: &str, language: Language) -> String {
    if language == Language::Zh {
        return text.to_owned();
    }
    let mut words = String::from(" ");
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        words.push_str(&word.to_lowercase());
        words.push(' ');
    }
    words
}

fn holds(text: &str, words: &[String], language: Language) -> bool {
    words.iter().any(|word| match language {
        Language::Zh => text.contains(word.as_str()),
        _ => text.contains(&format!(" {word} ")),
    })
}

/// Four digits from 1000 to 2099.
fn is_year(word: &str) -> bool {
    let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    digits && (word.starts_with('1') || word.starts_with("20"))
}

/// The words of names: those that a capital in the midst of a sentence shows.
pub(super) fn names(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut begins = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !begins && bare.starts_with(char::is_uppercase) {
            found.extend(terms(bare, Language::En));
        }
        begins = word.ends_with(['.', '!', '?', ':', '"', '“', '(']);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_wants_a_kind_of_thing() {
        for (question, language, kind) in [
            (
                "How many pumps are there?",
                Language::En,
                Some(Wanted::Number),
            ),
            ("When was it built?", Language::En, Some(Wanted::Time)),
            ("Who built it?", Language::En, Some(Wanted::Name)),
            ("Why does it leak?", Language::En, Some(Wanted::Reason)),
            ("What is a pump?", Language::En, None),
            ("Whenever it rains, what happens?", Language::En, None),
            ("水泵有多少个？", Language::Zh, Some(Wanted::Number)),
            ("水泵为什么漏水？", Language::Zh, Some(Wanted::Reason)),
            ("Wann wurde sie gebaut?", Language::De, Some(Wanted::Time)),
        ] {
            assert_eq!(wanted(question, language), kind, "{question}");
        }
    }

    #[test]
    fn a_unit_tells_kinds_of_things() {
        let told = told(
            "It was built in 1931 by Ada Stone, for 12 crowns.",
            Language::En,
        );
        let sorted = |words: &HashSet<String>| {
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.sort_unstable();
            words.join(" ")
        };
        assert_eq!(sorted(&told.numbers), "12 1931");
        assert_eq!(sorted(&told.times), "1931");
        assert_eq!(
            sorted(&told.names),
            terms("Ada Stone", Language::En).join(" ")
        );
        assert!(told.leans && !told.reason);
    }
}
