//! Which units are made to be quoted: definitions and openings are, pointers to elsewhere are not.

use std::collections::HashSet;

use super::lists::asks_for_several;
use super::literals::Literals;
use super::passage::Passage;
use super::resolve::topic_of;
use super::sentences::{Kind, Unit};
use super::words::{plain_words, spelt_out, terms};

/// A file begins before this line.
const BEGINNING: usize = 6;
/// An opening of more sentences than one is at most this long, in characters.
const LONGEST_OPENING: usize = 400;

/// Whether nothing is asked but what something is, means or does.
pub(super) fn asks_what_it_is(question: &str) -> bool {
    let words = plain_words(question);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    matches!(word(0), "what" | "who") && matches!(word(1), "is" | "are" | "does" | "do")
        || matches!(word(0), "define" | "explain" | "describe")
        || question.contains("什么")
        || question.contains("解释")
        || question.contains("介绍")
}

fn asks_how_it_works(question: &str) -> bool {
    let line = question.to_lowercase();
    line.starts_with("how ") && line.contains(" work")
        || ["怎么工作", "如何工作", "怎样工作", "工作原理"]
            .iter()
            .any(|cue| question.contains(cue))
}

/// What is asked "what is X" is best told by "X is …", and by an entry of a glossary first.
pub(super) fn definition(question: &str, unit: &Unit) -> f64 {
    if !asks_what_it_is(question) && !asks_for_several(question) {
        return 0.0;
    }
    if names_a_setting(question, unit) {
        return 0.35;
    }
    // An identifier is spoken of by its words: the path types are what `path_type` can be.
    let topic: HashSet<String> = terms(&spelt_out(&topic_of(question))).into_iter().collect();
    let Some(defined) = defined_by(&unit.text).filter(|_| !topic.is_empty()) else {
        return 0.0;
    };
    let defined: HashSet<String> = terms(&spelt_out(&defined)).into_iter().collect();
    let entry = unit.kind == Kind::Item && unit.text.starts_with(['*', '`', '_']);
    match (defined == topic, entry) {
        (true, true) => 0.45,
        (true, false) => 0.35,
        (false, _) => 0.0,
    }
}

/// What stands before "is", "means" or a colon at the beginning of a sentence.
fn defined_by(text: &str) -> Option<String> {
    let text: String = text.chars().take(80).collect();
    let end = [
        " is ",
        " are ",
        " means",
        " mean ",
        " stands for",
        " refers to",
        ": ",
        " — ",
        " – ",
        "是",
        "指",
        "：",
    ]
    .iter()
    .filter_map(|verb| text.find(verb))
    .min()?;
    let head = &text[..end];
    // An abbreviation in brackets is another name, not a part of it.
    let head = head
        .split([' ', '（'])
        .take_while(|word| !word.starts_with('('));
    Some(head.collect::<Vec<_>>().join(" "))
}

/// Whether the row or item is about the identifier asked for, whole or by its words.
fn names_a_setting(question: &str, unit: &Unit) -> bool {
    let [name] = &Literals::of(question).identifiers[..] else {
        return false;
    };
    let wanted = terms(&spelt_out(name));
    let key = match &unit.row {
        Some(row) => row.cells.first().map_or("", String::as_str),
        None => unit.text.split([':', '：']).next().unwrap_or_default(),
    };
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
    let asked = terms(question);
    let nothing_else = asks_what_it_is(question) || asks_how_it_works(question) || asked == topic;
    if !first || topic.is_empty() || !nothing_else || asked.len() > topic.len() + 2 {
        return 0.0;
    }
    let heading = terms(&unit.heading);
    let begins_file = at == 0 && passage.start < BEGINNING;
    if heading == topic || begins_file && terms(passage.name()) == topic {
        0.5
    } else if heading.starts_with(&topic)
        || heading.len() <= topic.len() + 2 && topic.iter().all(|term| heading.contains(term))
    {
        0.35
    } else {
        0.0
    }
}

/// The first units of a section that opens with what is asked for, when a sentence alone does not
/// define it: at most two more of the same paragraph.
pub(super) fn rest_of_opening(question: &str, passage: &Passage, at: usize) -> usize {
    let opens = opening_of(question, passage, at) > 0.0 && asks_what_it_is(question);
    if !opens || definition(question, &passage.units[at]) > 0.0 {
        return 0;
    }
    let first = &passage.units[at];
    let mut length = first.text.chars().count();
    let follows = |unit: &&Unit| {
        length += unit.text.chars().count();
        unit.kind == Kind::Sentence
            && unit.block == first.block
            && length <= LONGEST_OPENING
            && !points_elsewhere(unit)
    };
    passage.units[at + 1..]
        .iter()
        .take(2)
        .take_while(follows)
        .count()
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
