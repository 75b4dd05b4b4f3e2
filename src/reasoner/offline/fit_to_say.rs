//! Which units are made to be quoted: definitions and openings are, pointers to elsewhere are not.

use super::literals::Literals;
use super::relevance::Passage;
use super::resolve::topic_of;
use super::sentences::{Kind, Unit};
use super::words::{plain_words, spelt_out, terms};

/// What is asked "what is X" is best told by "X is …".
pub(super) fn definition(question: &str, unit: &Unit) -> f64 {
    let words = plain_words(question);
    let asks = words
        .first()
        .is_some_and(|word| word == "what" || word == "who")
        && words
            .get(1)
            .is_some_and(|word| word == "is" || word == "are" || word == "does")
        || question.contains("什么");
    if !asks {
        return 0.0;
    }
    if names_a_setting(question, unit) {
        return 0.35;
    }
    let topic = topic_of(question).to_lowercase();
    let text = unit.text.to_lowercase();
    let text = text.trim_start_matches(['*', '`', '“', '"']);
    let text = ["the ", "a ", "an "]
        .iter()
        .find_map(|article| text.strip_prefix(article))
        .unwrap_or(text);
    let Some(rest) = text
        .strip_prefix(topic.as_str())
        .filter(|_| !topic.is_empty())
    else {
        return 0.0;
    };
    let rest = rest.trim_start_matches(['*', '`', '”', '"', 's', ' ']);
    let defines = [
        "is ",
        "are ",
        "means",
        "stands for",
        "refers to",
        ":",
        "—",
        "是",
        "指",
        "：",
    ]
    .iter()
    .any(|verb| rest.starts_with(verb));
    if defines { 0.35 } else { 0.0 }
}

/// Whether the row or item is about the identifier asked for, whole or by its words.
fn names_a_setting(question: &str, unit: &Unit) -> bool {
    let [name] = &Literals::of(question).identifiers[..] else {
        return false;
    };
    let wanted = terms(&spelt_out(name));
    let key = unit.text.split([':', '：']).next().unwrap_or_default();
    let held = terms(key);
    matches!(unit.kind, Kind::Row | Kind::Item)
        && !wanted.is_empty()
        && wanted.iter().all(|term| held.contains(term))
}

/// What a section that is headed with the topic says first, when nothing else is asked.
pub(super) fn opening_of(question: &str, passage: &Passage, at: usize) -> f64 {
    let unit = &passage.units[at];
    let first = at == 0 || passage.units[at - 1].heading != unit.heading;
    let topic = terms(&topic_of(question));
    if !first || topic.is_empty() || terms(question).len() > topic.len() + 2 {
        return 0.0;
    }
    let heading = terms(&unit.heading);
    let named = at == 0 && terms(passage.name()) == topic;
    if named || heading == topic {
        0.5
    } else if heading.starts_with(&topic) {
        0.35
    } else {
        0.0
    }
}

/// "See the rules." tells nothing where the rules are not, nor does a question given as example.
pub(super) fn points_elsewhere(unit: &Unit) -> bool {
    let told = [
        " told in ",
        " described in ",
        " listed in ",
        " explained in ",
    ];
    if unit.kind != Kind::Sentence {
        return false;
    }
    unit.text.chars().count() < 60 && told.iter().any(|word| unit.text.contains(word))
        || unit.text.contains("？”")
        || ["See ", "详见", "英文说明见", "英文介绍见"]
            .iter()
            .any(|word| unit.text.starts_with(word))
}
