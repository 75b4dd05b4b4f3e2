//! Lists that are the answer as a whole: items, table rows, or sections that are numbered.

use std::collections::HashSet;

use super::choose::{Choice, LONGEST_LIST};
use super::relevance::Passage;
use super::sentences::{Kind, Unit};
use super::words::{plain_words, terms};

/// A list must be announced with this share of the question's words.
const ANNOUNCED_FROM: f64 = 0.6;

/// The list that a question for several things asks for; `fit` holds the passages that may be
/// quoted and how relevant they are.
pub(super) fn whole_list(
    question: &str,
    passages: &[Passage],
    fit: &[(usize, f64)],
) -> Vec<Choice> {
    if !asks_for_several(question) {
        return Vec::new();
    }
    let wanted = number_in(question);
    let asked: Vec<String> = terms(&without_counts(question))
        .into_iter()
        .filter(|term| number_in(term).is_none())
        .collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(f64, f64, Vec<Choice>)> = Vec::new();
    for (at, relevance) in fit {
        for list in lists_of(*at, &passages[*at]) {
            let announced = share(&asked, &announcement(&passages[*at], &list));
            let counted = wanted.is_some_and(|wanted| wanted == list.len());
            let score = announced + 0.3 * relevance + if counted { 0.5 } else { 0.0 };
            let fits = announced >= ANNOUNCED_FROM && (wanted.is_none() || counted);
            if fits {
                found.push((score, announced, list));
            }
        }
    }
    let numbered = numbered_sections(&asked, passages, fit);
    let complete = wanted.map_or(numbered.len() >= 3, |wanted| wanted == numbered.len());
    if complete && numbered.len() > 1 {
        return numbered;
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    let Some((_, announced, best)) = found.first().cloned() else {
        return Vec::new();
    };
    let mut list = best.clone();
    if wanted.is_none() {
        // A file may part one list into several, each under a heading of its own.
        let name = |list: &[Choice]| passages[list[0].item].name().to_owned();
        for (_, as_much, other) in &found[1..] {
            if *as_much >= announced && name(other) == name(&best) {
                list.extend(other);
            }
        }
        list.sort();
    }
    list.truncate(LONGEST_LIST);
    list
}

fn asks_for_several(question: &str) -> bool {
    let line = format!(" {} ", plain_words(question).join(" "));
    let english = [
        "what are",
        "which are",
        "list",
        "how many",
        "steps",
        "name the",
        "name all",
        "all the",
    ];
    let chinese = ["哪些", "几", "列出", "步骤"];
    english.iter().any(|cue| line.contains(&format!(" {cue} ")))
        || chinese.iter().any(|cue| question.contains(cue))
        || !counts_zh(question).is_empty()
        || line.starts_with(" which ") && number_in(question).is_some()
        || line.starts_with(" what ") && number_in(question).is_some()
}

/// "The four rules" are four, and so are 四条规则.
fn number_in(text: &str) -> Option<usize> {
    if let [(_, count), ..] = counts_zh(text).as_slice() {
        return Some(*count);
    }
    let words = plain_words(text);
    let english = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    english
        .iter()
        .position(|number| words.iter().any(|word| word == number))
        .map(|at| at + 2)
}

/// Chinese numbers with their measure words, and what they count to.
fn counts_zh(text: &str) -> Vec<(String, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let numbers: Vec<char> = "两三四五六七八九十".chars().collect();
    chars
        .windows(2)
        .filter(|pair| "条个种类步项".contains(pair[1]))
        .filter_map(|pair| {
            let at = numbers.iter().position(|number| *number == pair[0])?;
            Some((pair.iter().collect(), at + 2))
        })
        .collect()
}

fn without_counts(question: &str) -> String {
    let mut rest = question.to_owned();
    for (words, _) in counts_zh(question) {
        rest = rest.replace(&words, " ");
    }
    rest
}

/// Runs of items or rows of one block.
fn lists_of(item: usize, passage: &Passage) -> Vec<Vec<Choice>> {
    let mut lists: Vec<(usize, Vec<Choice>)> = Vec::new();
    for (unit, quoted) in passage.units.iter().enumerate() {
        if !matches!(quoted.kind, Kind::Item | Kind::Row) {
            continue;
        }
        let choice = Choice { item, unit };
        match lists.last_mut() {
            Some((block, list)) if *block == quoted.block => list.push(choice),
            _ => lists.push((quoted.block, vec![choice])),
        }
    }
    lists.retain(|(_, list)| list.len() > 1);
    lists.into_iter().map(|(_, list)| list).collect()
}

/// What stands over a list: its heading, the file's name and the sentence before it.
fn announcement(passage: &Passage, list: &[Choice]) -> HashSet<String> {
    let first = list[0].unit;
    let heading = &passage.units[first].heading;
    let mut words: HashSet<String> = terms(heading).into_iter().collect();
    words.extend(terms(passage.name()));
    if first > 0 && passage.units[first - 1].heading == *heading {
        words.extend(terms(&passage.units[first - 1].text));
    }
    words
}

/// What each of "Rule 1: …", "Rule 2: …" says first, in the order of the numbers.
fn numbered_sections(asked: &[String], passages: &[Passage], fit: &[(usize, f64)]) -> Vec<Choice> {
    let mut sections: Vec<(String, usize, Choice)> = Vec::new();
    let at_hand = |passage: &Passage| {
        fit.iter()
            .any(|(at, _)| passages[*at].name() == passage.name())
    };
    for (item, passage) in passages.iter().enumerate().filter(|(_, p)| at_hand(p)) {
        let units: &[Unit] = &passage.units;
        for (unit, quoted) in units.iter().enumerate() {
            let first = unit == 0 || units[unit - 1].heading != quoted.heading;
            if let Some((name, number)) = numbered(&quoted.heading).filter(|_| first)
                && terms(&name).iter().any(|term| asked.contains(term))
            {
                let choice = Choice { item, unit };
                sections.push((name, number, choice));
            }
        }
    }
    sections.sort_by(|a, b| (&a.0, a.1, a.2).cmp(&(&b.0, b.1, b.2)));
    sections.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
    let one_kind = sections.windows(2).all(|pair| pair[0].0 == pair[1].0);
    let gapless = sections.iter().enumerate().all(|(at, s)| s.1 == at + 1);
    if !(one_kind && gapless) {
        return Vec::new();
    }
    sections.into_iter().map(|(_, _, choice)| choice).collect()
}

/// "Rule 2: few items" is rule and 2.
fn numbered(heading: &str) -> Option<(String, usize)> {
    let head = heading.split([':', '：']).next()?.trim();
    let (name, number) = head.rsplit_once(' ')?;
    Some((name.to_lowercase(), number.parse().ok()?))
}

fn share(asked: &[String], held: &HashSet<String>) -> f64 {
    let found = asked.iter().filter(|term| held.contains(*term)).count();
    found as f64 / asked.len() as f64
}
