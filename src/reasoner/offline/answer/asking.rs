//! What a question asks of the form of a unit: what no collection has which the judge was fitted on.

use std::collections::HashSet;

use crate::domain::{Language, Question, QuestionKind};
use crate::text::{is_chinese, stem};

use super::super::evidence::{Passage, Unit, UnitKind};
use super::super::judge::{Judged, Seen};
use super::super::language::{says_name, terms};
use super::super::question::{subject_terms, wants_code};
use super::found::{Choice, Found};
use super::quoting::plain;

/// What the form of a unit tells of it, in log-odds: that it is the entry of what is asked for, or has its form; or
/// the contrary. Reasoned, not fitted: one such
/// sign makes seven to one of an even chance, and a second one of the contrary undoes it.
const FORM: f64 = 2.0;
/// What it costs to be in the other language, where something is in that of the question, and to have been told
/// before: as much as two signs.
const USELESS: f64 = 2.0 * FORM;

/// With more words it is no key of a field.
const KEY: usize = 3;
/// What stands in front of a colon names something where it is no longer, in characters.
const HEAD: usize = 80;

/// What is asked, and how much may be said.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) question: &'a Question,
    pub(super) judged: &'a Judged,
    /// The other side of a comparison.
    pub(super) other: Option<&'a str>,
    /// How many units, where they are no list.
    pub(super) most: usize,
    /// What another part of the answer has quoted.
    pub(super) used: &'a [Choice],
    /// The answer before, where its reason is asked for; empty otherwise.
    pub(super) told: &'a str,
}

/// What a question asks, read once for all units.
pub(super) struct Asking<'a> {
    pub(super) wish: &'a Wish<'a>,
    /// The words of what it is about.
    subject: Vec<String>,
    /// The same, each once.
    subjects: HashSet<String>,
    /// All words that are asked, each once.
    asked: HashSet<String>,
    /// The words of the other side of a comparison that are not its own.
    other: HashSet<String>,
    /// Whether the whole of what is asked is what something is.
    plain: bool,
    chinese: bool,
    pub(super) wants: Wants,
    /// What stands among the passages that may be quoted.
    among: Among,
}

/// Which form of an answer is asked for.
pub(super) struct Wants {
    pub(super) code: bool,
    pub(super) list: bool,
}

/// What is so of at least one passage that fits.
struct Among {
    /// It is in the language of the question.
    own_language: bool,
    /// The same, and it says an id or a name of code that is asked about.
    own_names: bool,
    /// It is of the file that an id asked about is the name of.
    home: bool,
}

impl<'a> Asking<'a> {
    pub(super) fn of(wish: &'a Wish<'a>, found: Found<'_>, fit: &[usize]) -> Self {
        let question = wish.question;
        let chinese = question.language == Language::Zh;
        let units = || fit.iter().flat_map(|at| &found.passages[*at].units);
        let own = |unit: &&Unit| unit.kind != UnitKind::Code && is_chinese(&unit.text) == chinese;
        let subject = subject_terms(question);
        let subjects: HashSet<String> = subject.iter().cloned().collect();
        Self {
            other: terms(wish.other.unwrap_or_default(), question.language)
                .into_iter()
                .filter(|term| !subjects.contains(term))
                .collect(),
            plain: question.terms.iter().all(|term| subjects.contains(term)),
            wants: Wants {
                code: wants_code(question),
                list: question.kind == QuestionKind::List,
            },
            among: Among {
                own_language: units().any(|unit| own(&unit)),
                own_names: units().filter(own).any(|unit| says_any(question, unit)),
                home: fit.iter().any(|at| is_home(question, &found.passages[*at])),
            },
            chinese,
            asked: question.terms.iter().cloned().collect(),
            subject,
            subjects,
            wish,
        }
    }

    /// What the form of a unit adds to its log-odds.
    pub(super) fn form(&self, passage: &Passage, seen: &Seen, at: usize) -> f64 {
        let unit = &passage.units[at];
        let is_code = unit.kind == UnitKind::Code;
        let words = &seen.units[at];
        let held = |term: &String| words.held.contains(term) || words.heading.contains(term);
        let another = self.other.iter().any(held) && !self.subjects.iter().any(held);
        let asks = unit.text.trim_end().ends_with(['?', '？']);
        let at_home = is_home(self.wish.question, passage);
        let names_it = says_any(self.wish.question, unit);
        let other_language = !is_code && is_chinese(&unit.text) != self.chinese;
        let names_alone = names_it && !self.among.own_names;
        let foreign = self.among.own_language && other_language && !names_alone && !at_home;
        let signs = [
            (self.is_entry(passage, seen, at), FORM),
            (self.is_asked_field(unit), FORM),
            (at_home, FORM),
            (names_it, FORM),
            (is_code && self.wants.code, FORM),
            (self.wants.list && enumerates(unit), FORM),
            (asks, -FORM),
            (another, -FORM),
            (self.was_told(unit), -USELESS),
            (foreign, -USELESS),
        ];
        signs.iter().filter(|sign| sign.0).map(|sign| sign.1).sum()
    }

    /// Whether the answer before says it, the reason of which is asked for.
    pub(super) fn was_told(&self, unit: &Unit) -> bool {
        !self.wish.told.is_empty() && self.wish.told.contains(&plain(&unit.text))
    }

    /// Whether all words of a field's key are asked for: "Status: done" where the status is.
    fn is_asked_field(&self, unit: &Unit) -> bool {
        let key = self.field_key(unit).unwrap_or_default();
        !key.is_empty() && key.iter().all(|term| self.asked.contains(term))
    }

    /// Whether a unit is a field at the head of another file than that of the id asked about: it may name
    /// that, but speaks of itself.
    pub(super) fn is_field_of_another(&self, passage: &Passage, unit: usize) -> bool {
        let unit = &passage.units[unit];
        self.among.home
            && passage.start == 1
            && unit.block == passage.units[0].block
            && !is_home(self.wish.question, passage)
            && self.field_key(unit).is_some()
    }

    /// The words of the key, where the unit is a field.
    fn field_key(&self, unit: &Unit) -> Option<Vec<String>> {
        let is_field = unit.kind == UnitKind::Item && unit.number.is_none();
        let head = head_of(unit).filter(|head| is_field && head.len() < unit.text.len())?;
        let key = terms(head, self.wish.question.language);
        (1..=KEY).contains(&key.len()).then_some(key)
    }

    /// Whether a unit is the entry of exactly what is asked for: the first below a heading, title or file
    /// name of these words, the row or item with this key, or the sentence that begins with them.
    fn is_entry(&self, passage: &Passage, seen: &Seen, at: usize) -> bool {
        let unit = &passage.units[at];
        let head = match (&unit.row, unit.kind) {
            (Some((_, cells)), _) => cells.first().map(String::as_str),
            (None, UnitKind::Code) => None,
            _ => head_of(unit),
        };
        let head = head.unwrap_or_default();
        let mut settings = self.wish.question.literals.identifiers.iter();
        if settings.any(|name| name == head.trim_matches('`')) {
            return true;
        }
        let language = self.wish.question.language;
        let plain = self.plain && !self.subject.is_empty();
        // "How do I restore a file?" is answered below "Restore a file".
        let is_asked = |named: &HashSet<String>| {
            plain && *named == self.subjects || !self.asked.is_empty() && *named == self.asked
        };
        let read = |text: &str| terms(text, language).into_iter().collect();
        let sentence = |unit: &Unit| unit.kind == UnitKind::Sentence;
        let first = at == 0 || passage.units[at - 1].heading != unit.heading;
        let opening = || passage.units.iter().position(sentence).unwrap_or(0);
        let begins = passage.start == 1 && at == opening();
        first && sentence(unit) && is_asked(&seen.units[at].heading)
            || begins && (is_asked(&read(&passage.title)) || is_asked(&read(stem(&passage.source))))
            || !head.is_empty() && is_asked(&read(head))
            || plain
                && self.wish.question.kind == QuestionKind::Definition
                && sentence(unit)
                && seen.units[at].terms.starts_with(&self.subject)
    }
}

/// Whether a unit says an id or a name of code that is asked about.
fn says_any(question: &Question, unit: &Unit) -> bool {
    let literals = &question.literals;
    let mut names = literals.ids.iter().chain(&literals.identifiers);
    names.any(|name| says_name(&unit.text, name))
}

/// What stands in front of the first colon, or all of a short text without one.
fn head_of(unit: &Unit) -> Option<&str> {
    let head = unit.text.split([':', '：']).next()?;
    head.chars().nth(HEAD).is_none().then_some(head)
}

/// Whether the file is called by an id that is asked about: its fields speak of that.
fn is_home(question: &Question, passage: &Passage) -> bool {
    let mut ids = question.literals.ids.iter();
    ids.any(|id| id.eq_ignore_ascii_case(stem(&passage.source)))
}

/// Whether a sentence names several things: "A, B and C", "A、B 和 C".
fn enumerates(unit: &Unit) -> bool {
    unit.kind == UnitKind::Sentence
        && (unit.text.matches(", ").count() > 1 || unit.text.contains('、'))
}
