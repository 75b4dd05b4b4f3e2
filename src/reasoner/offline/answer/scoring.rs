//! How well each unit would answer: by its words, its meaning, its form and the kind of thing it holds.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};
use crate::text::is_chinese;

use super::choose::{Choice, Wish};
use super::fit_to_say::{
    asks_what_it_is, contrasts, definition, is_field, opening_of, points_elsewhere, quotes,
};
use super::kindred::{KINDRED, holds};
use super::literals::Literals;
use super::named_things::{is_code_asked_for, wishes_for_code};
use super::passage::Passage;
use super::relevance::Vectors;
use super::several::asks_for_several;
use super::sought::Sought;
use super::supported::without_parts;
use super::units::{Kind, Unit};
use super::words::{SAYS_LITTLE, is_everywhere, terms, weights};

/// How many units of each passage are compared by meaning.
const UNITS: usize = 8;
/// What a sentence gains that names several things where several are asked for.
const ENUMERATES: f64 = 0.25;
/// What a field gains whose key is asked for: "Status: done" where the status is.
const ASKED_FIELD: f64 = 0.4;
/// What a unit gains that has the identifier that is all of the question.
const NAMED: f64 = 0.3;
/// What code gains where code is asked for.
const SHOWN: f64 = 0.3;
/// What a unit gains whose section is headed with the question's words.
const HEADED: f64 = 0.15;
/// A unit must hold this share of the question's words for the kind of thing in it to count.
const SPEAKS_FROM: f64 = 0.25;
/// What it costs to be in another language than the wanted one, where something is in that one.
const FOREIGN: f64 = 1.3;
/// What it costs to speak of what something is compared with, and not of it.
const OF_ANOTHER: f64 = 0.5;
/// What the sentence behind the former answer gains when its reason is asked, and what repeating
/// that answer costs.
const NEXT: f64 = 0.3;
const REPEATED: f64 = 0.5;

/// A unit that may be quoted, and what speaks for it.
pub(super) struct Scored {
    pub(super) choice: Choice,
    pub(super) score: f64,
    /// The share of the question's words that it holds itself, by weight.
    pub(super) share: f64,
    /// Whether a kind of thing is asked for that it does not hold.
    pub(super) lacks: bool,
}

/// The units of the passages that fit, best first.
pub(super) fn scored(
    wish: &Wish<'_>,
    passages: &[Passage],
    fit: &[(usize, f64)],
    embedder: &dyn Embedder,
) -> Result<Vec<Scored>, EmbedError> {
    let question = wish.question;
    let asking = Asking::of(wish, passages, fit);
    let asked = &asking.asked;
    let mut candidates: Vec<(Scored, &Unit)> = Vec::new();
    let held: Vec<Vec<HashSet<String>>> = fit
        .iter()
        .map(|(at, _)| {
            let units = passages[*at].units.iter();
            let held = |unit: &Unit| terms(&unit.words()).into_iter().collect();
            units
                .map(|unit| with_identifiers(held(unit), asked))
                .collect()
        })
        .collect();
    let mut weights = weights(asked, &held.concat());
    let found: Vec<HashSet<String>> = passages.iter().map(|p| p.held.clone()).collect();
    for (term, weight) in &mut weights {
        if is_everywhere(term, &found) {
            *weight *= SAYS_LITTLE;
        }
    }
    let all: f64 = asked
        .iter()
        .map(|term| weights[term])
        .sum::<f64>()
        .max(1e-9);
    for ((at, relevance), all_held) in fit.iter().zip(&held) {
        let passage = &passages[*at];
        let mut of_passage: Vec<(Scored, &Unit)> = passage
            .units
            .iter()
            .zip(all_held)
            .enumerate()
            .map(|(unit_at, (unit, held))| {
                let mut heading: HashSet<String> = terms(&unit.heading).into_iter().collect();
                let headed: f64 = asked
                    .iter()
                    .filter(|term| heading.contains(*term))
                    .map(|term| weights[term])
                    .sum();
                if leans_back(&passage.units, unit_at) || replies(&passage.units, unit_at) {
                    heading.extend(all_held[unit_at - 1].iter().cloned());
                }
                let own: f64 = asked
                    .iter()
                    .map(|term| match (held.contains(term), heading.contains(term)) {
                        (true, _) => weights[term],
                        (false, _) if holds(held, term) => KINDRED * weights[term],
                        (false, true) => 0.7 * weights[term],
                        (false, false) => 0.0,
                    })
                    .sum();
                let scored = Scored {
                    choice: Choice {
                        item: *at,
                        unit: unit_at,
                    },
                    score: own / all
                        + 0.05 / (1.0 + unit_at as f64)
                        + 0.3 * relevance
                        + HEADED * headed / all
                        + asking.form(passage, unit_at, own / all),
                    share: asked
                        .iter()
                        .filter(|term| holds(held, term))
                        .map(|term| weights[term])
                        .sum::<f64>()
                        / all,
                    lacks: asking.sought.is_some_and(|sought| !sought.is_in(unit)),
                };
                (scored, unit)
            })
            .collect();
        of_passage.sort_by(|a, b| by_score(&a.0, &b.0));
        of_passage.truncate(UNITS);
        candidates.append(&mut of_passage);
    }
    let mut scored = with_meaning(question, candidates, embedder)?;
    scored.sort_by(by_score);
    Ok(scored)
}

/// The candidates with how near each is to the question in meaning, alone and below its heading.
fn with_meaning(
    question: &str,
    candidates: Vec<(Scored, &Unit)>,
    embedder: &dyn Embedder,
) -> Result<Vec<Scored>, EmbedError> {
    let told: Vec<String> = candidates
        .iter()
        .map(|(_, unit)| unit.in_context())
        .collect();
    let mut texts = vec![question];
    texts.extend(told.iter().map(String::as_str));
    texts.extend(candidates.iter().map(|(_, unit)| unit.text.as_str()));
    let vectors = Vectors::of(&texts, embedder)?;
    let scored = |((mut scored, unit), told): ((Scored, &Unit), &String)| {
        let in_context = vectors.cosine(question, told);
        scored.score += in_context + vectors.cosine(question, &unit.text);
        scored
    };
    Ok(candidates.into_iter().zip(&told).map(scored).collect())
}

/// What a question asks, read once for all units.
struct Asking<'a> {
    wish: &'a Wish<'a>,
    asked: Vec<String>,
    several: bool,
    wishes_code: bool,
    sought: Option<Sought>,
    tickets: Vec<String>,
    /// Whether something that fits is in the language that is wanted.
    in_wanted: bool,
    /// The question, where it is an identifier and nothing else.
    identifier: Option<&'a str>,
}

impl<'a> Asking<'a> {
    fn of(wish: &'a Wish<'a>, passages: &[Passage], fit: &[(usize, f64)]) -> Self {
        let question = wish.question;
        let is_wanted = |(at, _): &(usize, f64)| {
            let mut units = passages[*at].units.iter();
            units.any(|unit| unit.kind != Kind::Code && is_chinese(&unit.text) == wish.chinese)
        };
        Self {
            wish,
            asked: without_parts(terms(question)),
            several: asks_for_several(question),
            wishes_code: wishes_for_code(question),
            sought: Sought::of(question),
            tickets: Literals::of(question).tickets,
            in_wanted: fit.iter().any(is_wanted),
            identifier: Some(question.trim())
                .filter(|name| Literals::of(question).identifiers == [*name]),
        }
    }

    /// Whether all words of a field's key are asked for.
    fn names_key(&self, key: &str) -> bool {
        let key = terms(key);
        !key.is_empty() && key.iter().all(|term| self.asked.contains(term))
    }

    /// What speaks for a unit beside its words, and what against it; `share` of the question's
    /// words it holds.
    fn form(&self, passage: &Passage, at: usize, share: f64) -> f64 {
        let question = self.wish.question;
        let unit = &passage.units[at];
        let is_code = unit.kind == Kind::Code;
        let speaks = share >= SPEAKS_FROM;
        let shown = is_code && (self.wishes_code || self.sought == Some(Sought::Way) && speaks)
            || is_code_asked_for(question, unit);
        let kind = self.sought.filter(|sought| speaks && sought.is_in(unit));
        let at_home = passage.is_home_of(&self.tickets);
        // A document in the other language is quoted only where none is in the one that is wanted.
        let foreign = self.in_wanted
            && !at_home
            && self.wish.chinese != is_chinese(&unit.text)
            && (is_chinese(&unit.text) || unit.kind == Kind::Sentence);
        let told = |unit: &Unit| !self.wish.told.is_empty() && self.wish.told.contains(&unit.text);
        let follows = at > 0 && told(&passage.units[at - 1]) && !told(unit);
        let key = unit.text.split(": ").next().unwrap_or_default();
        let named = || terms(key).iter().any(|term| self.asked.contains(term));
        let field = asks_what_it_is(question) && is_field(unit) && !named();
        let mut held = passage.unit_terms[at].clone();
        held.extend(terms(&unit.heading));
        let of_another = self.wish.sides.is_of_another(&held);
        let gains = [
            (self.several && share >= 0.5 && enumerates(unit), ENUMERATES),
            (shown, SHOWN),
            (
                self.identifier.is_some_and(|name| unit.text.contains(name)),
                NAMED,
            ),
            (follows, NEXT),
            (at_home, 0.5),
            (told(unit), -REPEATED),
            (of_another, -OF_ANOTHER),
            (field, -0.3),
            (is_field(unit) && self.names_key(key), ASKED_FIELD),
            (contrasts(question, unit), -0.25),
            (is_question(unit), -0.5),
            (points_elsewhere(unit), -0.5),
            (quotes(question, unit), -0.5),
            (foreign, -FOREIGN),
        ];
        let gained: f64 = gains.iter().filter(|gain| gain.0).map(|gain| gain.1).sum();
        gained
            + kind.map_or(0.0, Sought::worth)
            + definition(question, unit)
            + opening_of(question, passage, at)
    }
}

/// The words held, and the identifiers asked for all of whose parts are held: "path types" are
/// what `path_type` stands for.
fn with_identifiers(mut held: HashSet<String>, asked: &[String]) -> HashSet<String> {
    for term in asked.iter().filter(|term| term.contains('_')) {
        let parts = terms(&term.replace('_', " "));
        if !parts.is_empty() && parts.iter().all(|part| held.contains(part)) {
            held.insert(term.clone());
        }
    }
    held
}

/// Whether a unit begins with a pronoun for what the one before it speaks of.
pub(super) fn leans_back(units: &[Unit], at: usize) -> bool {
    let unit = &units[at];
    let first = unit.text.split(' ').next().unwrap_or_default();
    let pronoun = [
        "It", "Its", "They", "Their", "This", "These", "That", "Both",
    ]
    .contains(&first)
        || ["它", "其", "这", "该"]
            .iter()
            .any(|word| unit.text.starts_with(word));
    pronoun && unit.kind == Kind::Sentence && at > 0 && units[at - 1].block == unit.block
}

fn by_score(a: &Scored, b: &Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.choice.cmp(&b.choice))
}

/// A question in a document is what its next sentence answers, and no answer itself.
fn is_question(unit: &Unit) -> bool {
    let text = unit.text.trim_end_matches(['"', '”', '.']);
    let quotes = text.contains(['"', '“']);
    unit.kind == Kind::Sentence && text.ends_with(['?', '？']) && !quotes
}

fn replies(units: &[Unit], at: usize) -> bool {
    at > 0 && is_question(&units[at - 1]) && units[at - 1].block == units[at].block
}

/// Whether a sentence names several things: "A, B and C", "A、B 和 C".
fn enumerates(unit: &Unit) -> bool {
    let text = &unit.text;
    let joined = [" and ", " or ", ", and ", ", or "]
        .iter()
        .any(|joint| text.contains(joint));
    unit.kind == Kind::Sentence && (text.contains(", ") && joined || text.contains('、'))
}
