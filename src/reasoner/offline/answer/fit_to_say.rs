//! Which units are made to be quoted: definitions and openings are, pointers to elsewhere are not.

use std::collections::HashSet;

use crate::text::is_chinese;

use super::literals::Literals;
use super::passage::Passage;
use super::several::asks_for_several;
use super::sought::Sought;
use super::topic::topic_of;
use super::units::{Kind, Unit};
use super::words::{is_weak, plain_words, spelt_out, terms};

/// A file begins before this line.
const BEGINNING: usize = 6;
/// A sentence of which this share is quoted questions tells nothing itself.
const MOSTLY_ASKS: f64 = 0.6;
/// From here on a unit defines what is asked for.
pub(super) const DEFINES: f64 = 0.35;

/// Whether nothing is asked but what something is, means or does.
pub(super) fn asks_what_it_is(question: &str) -> bool {
    let words = plain_words(question);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let english = matches!(word(0), "what" | "who")
        && matches!(word(1), "is" | "are" | "does" | "do" | "counts")
        || matches!(
            word(0),
            "define" | "explain" | "describe" | "erkläre" | "definiere"
        );
    let german = word(0) == "was"
        && matches!(
            word(1),
            "ist" | "sind" | "bedeutet" | "heißt" | "bezeichnet" | "versteht"
        );
    let chinese = ["什么", "解释", "介绍"]
        .iter()
        .any(|cue| question.contains(cue));
    english && (word(0) == "who" || Sought::of(question).is_none())
        || german
        || chinese && Sought::of(question).is_none()
}

/// Whether something is asked for as a whole: what a ticket, a page or a talk is about.
pub(super) fn asks_what_it_is_about(question: &str) -> bool {
    let line = format!(" {} ", plain_words(question).join(" "));
    let ends = line.trim_end().ends_with(" about");
    ends || [
        " worum geht ",
        " summary of ",
        " summarize ",
        " summarise ",
        " gist of ",
        " say ",
    ]
    .iter()
    .any(|cue| line.contains(cue))
        || [
            "关于什么",
            "说的是什么",
            "讲什么",
            "讲的是",
            "讲了什么",
            "什么问题",
            "概括",
        ]
        .iter()
        .any(|cue| question.contains(cue))
}

fn asks_how_it_works(question: &str) -> bool {
    let line = question.to_lowercase();
    line.starts_with("how ") && line.contains(" work")
        || ["怎么工作", "如何工作", "怎样工作", "工作原理"]
            .iter()
            .any(|cue| question.contains(cue))
}

/// What is asked "what is X" is best told by "X is …", and by an entry of a glossary first; anything
/// that is asked of one identifier by the row of its name.
pub(super) fn definition(question: &str, unit: &Unit) -> f64 {
    if !asks_what_it_is(question) && !asks_for_several(question) {
        return if is_row_of_its_name(question, unit) {
            DEFINES
        } else {
            0.0
        };
    }
    if names_a_setting(question, unit) {
        return DEFINES;
    }
    // An identifier is spoken of by its words: the path types are what `path_type` can be.
    let words = |text: &str| -> HashSet<String> { terms(&spelt_out(text)).into_iter().collect() };
    let topic = words(&topic_of(question));
    if topic.is_empty() {
        return 0.0;
    }
    // "What is the status of X" is not told by what X is.
    let named = !Literals::of(question).keywords().is_empty();
    let more = |term: &String| !topic.contains(term) && !is_weak(term);
    if named && words(question).iter().any(more) {
        return 0.0;
    }
    if let Some(row) = &unit.row {
        // A table of terms and codes tells in a row what its first cell is.
        let key = row.cells.iter().find(|cell| !cell.is_empty());
        return if key.is_some_and(|key| words(key) == topic) {
            0.45
        } else {
            0.0
        };
    }
    let Some(defined) = defined_by(&unit.text) else {
        return 0.0;
    };
    let entry = unit.text.starts_with(['*', '`', '_']);
    match (words(&defined) == topic, entry) {
        (true, true) => 0.75,
        (true, false) => 0.5,
        (false, _) => 0.0,
    }
}

/// What stands before "is", "means" or a colon at the beginning of a sentence; nothing where the
/// sentence says what it is not, or what it is about.
fn defined_by(text: &str) -> Option<String> {
    let text: String = text.chars().take(80).collect();
    let (end, verb) = DEFINING
        .iter()
        .filter_map(|verb| Some((text.find(verb)?, verb)))
        .filter(|(at, _)| *at > 0)
        .min()?;
    let after = &text[end + verb.len()..];
    let not = ["not ", "about ", "nicht ", "kein", "不", "like ", "unlike "];
    if not.iter().any(|word| after.starts_with(word)) {
        return None;
    }
    let head = &text[..end];
    // An abbreviation in brackets is another name, not a part of it.
    let head = head.split(['(', '（']).next().unwrap_or(head);
    let words: Vec<&str> = head.split_whitespace().collect();
    Some(words.join(" "))
}

#[rustfmt::skip]
const DEFINING: &[&str] = &[
    " is ", " are ", " means", " mean ", " stands for", " refers to", " ist ", " sind ", " bedeutet", " heißt ",
    ": ", " — ", " – ", "是", "指", "：",
];

/// Whether a sentence sets what is asked for against something else instead of telling it.
pub(super) fn contrasts(question: &str, unit: &Unit) -> bool {
    let opens = CONTRASTING.iter().any(|word| unit.text.starts_with(word));
    let asked = plain_words(question)
        .iter()
        .any(|word| matches!(word.as_str(), "and" | "or" | "und" | "oder"))
        || question.contains(['与', '和']);
    unit.kind == Kind::Sentence
        && asks_what_it_is(question)
        && !asked
        && (opens || is_of_two(&unit.heading, &terms(&topic_of(question))))
}

/// "X compared with Y", or "X and Y" where one of them is the topic: "X joins words and meaning" is
/// of X alone.
fn is_of_two(heading: &str, topic: &[String]) -> bool {
    let line = format!(" {} ", heading.to_lowercase());
    let holds = |joints: &[&str]| joints.iter().any(|joint| line.contains(joint));
    if holds(&[" compared ", " versus ", " vs ", " vs. ", "比较"]) {
        return true;
    }
    let mut parts = vec![line.as_str()];
    for joint in [" and ", " or ", " und ", " oder ", ", ", "与", "和", "、"] {
        parts = parts.iter().flat_map(|part| part.split(joint)).collect();
    }
    parts.len() > 1 && parts.iter().any(|part| terms(part) == topic)
}

#[rustfmt::skip]
const CONTRASTING: &[&str] = &[
    "Unlike ", "In contrast", "Compared ", "While ", "Whereas ", "However", "But ", "Instead", "Otherwise", "Anders als",
    "Im Gegensatz", "Dagegen", "但", "不同于", "相比",
];

/// Whether a row is that of the one identifier asked for, as it is written.
fn is_row_of_its_name(question: &str, unit: &Unit) -> bool {
    let [name] = &Literals::of(question).identifiers[..] else {
        return false;
    };
    let key = unit.row.as_ref().and_then(|row| row.cells.first());
    key.is_some_and(|key| key.trim_matches('`') == name)
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

/// What a section that is headed with the topic says first, when nothing else is asked; of what is
/// a document of its own, what its summary says.
pub(super) fn opening_of(question: &str, passage: &Passage, at: usize) -> f64 {
    let unit = &passage.units[at];
    let topic = terms(&topic_of(question));
    let asked = terms(question);
    let nothing_else = asks_what_it_is(question)
        || asks_how_it_works(question)
        || asks_what_it_is_about(question)
        || asked == topic;
    let first = at == 0 || !unit.opens.is_empty();
    let about = asks_what_it_is_about(question);
    let more = !about && asked.len() > topic.len() + 2;
    if !first || topic.is_empty() || !nothing_else || more {
        return 0.0;
    }
    let begins_file = at == 0 && passage.start < BEGINNING && passage.is_called(&topic);
    let headings = unit.opens.iter().chain([&unit.heading]);
    let best = headings
        .map(|heading| headed_with(heading, &topic))
        .fold(if begins_file { 0.5 } else { 0.0 }, f64::max);
    let summary = passage.is_home_of(&Literals::of(question).tickets)
        && unit.opens.iter().any(|heading| is_summary(heading));
    match unit.kind {
        // What a ticket is about need not be said with its name.
        Kind::Sentence if summary && about => 1.8,
        Kind::Sentence if summary => 0.8,
        Kind::Sentence | Kind::Code => best,
        // The first of several things is no opening.
        Kind::Item | Kind::Row => 0.3 * best,
    }
}

fn headed_with(heading: &str, topic: &[String]) -> f64 {
    let words = terms(heading);
    if words == topic {
        0.5
    } else if !is_of_two(heading, topic)
        && (words.starts_with(topic)
            || words.len() <= topic.len() + 2 && topic.iter().all(|term| words.contains(term)))
    {
        0.35
    } else {
        0.0
    }
}

/// Whether a section tells what its document is about.
fn is_summary(heading: &str) -> bool {
    let words = plain_words(heading);
    words.len() <= 2 && words.iter().any(|word| SUMMARIES.contains(&word.as_str()))
        || ["描述", "概述", "摘要", "简介", "说明"].contains(&heading.trim())
}

#[rustfmt::skip]
const SUMMARIES: &[&str] = &[
    "description", "summary", "abstract", "overview", "about", "introduction", "purpose", "what", "problem",
    "beschreibung", "zusammenfassung", "überblick", "worum",
];

/// Whether the unit is a field such as `Status: done`, which says little of what a thing is.
pub(super) fn is_field(unit: &Unit) -> bool {
    let key = unit.text.split_once(": ").map(|(key, _)| key);
    unit.kind == Kind::Item
        && unit.number.is_none()
        && key.is_some_and(|key| key.split(' ').count() <= 3 && !key.contains(['*', '`']))
}

/// "See the rules." tells nothing where the rules are not, nor does a sentence that is little more
/// than questions given as examples.
pub(super) fn points_elsewhere(unit: &Unit) -> bool {
    unit.kind == Kind::Sentence && asks_in_quotes(&unit.text) >= MOSTLY_ASKS
}

/// Whether a sentence gives the very question as an example.
pub(super) fn quotes(question: &str, unit: &Unit) -> bool {
    let asked = question.trim_end_matches(['?', '？', '。', '.', ' ']);
    let long = asked.chars().count() >= if is_chinese(asked) { 6 } else { 15 };
    long && unit.kind != Kind::Code && unit.text.to_lowercase().contains(&asked.to_lowercase())
}

/// The share of a sentence that stands in quotation marks and ends as a question.
fn asks_in_quotes(text: &str) -> f64 {
    let mut inside = 0;
    for piece in text.split(['"', '“', '”']) {
        if piece.ends_with(['?', '？']) {
            inside += piece.chars().count();
        }
    }
    inside as f64 / text.chars().count().max(1) as f64
}
