//! Lists that are the answer as a whole: items, table rows, or sections that are numbered.

use std::collections::HashSet;

use crate::text::is_chinese;

use super::choose::{Choice, LONGEST_LIST};
use super::passage::Passage;
use super::several::{asked_noun, asks_for_several, number_in, without_counts};
use super::units::{Kind, Unit};
use super::words::terms;

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
    let asked = things_asked_for(question);
    if asked.is_empty() {
        return Vec::new();
    }
    let complete = |found: &[Vec<Choice>]| {
        let all: usize = found.iter().map(Vec::len).sum();
        let counted = |wanted| wanted == found.len() || wanted == all;
        wanted.map_or(found.len() >= 3, counted) && found.len() > 1
    };
    let numbered = numbered_sections(&asked, passages, fit);
    if complete(&numbered) {
        return numbered.concat();
    }
    let mut found: Vec<Announced> = Vec::new();
    for (at, relevance) in fit {
        for list in lists_of(*at, &passages[*at]) {
            let counted = wanted.is_some_and(|wanted| wanted == list.len());
            if let Some(mut announced) = Announced::of(question, list, &asked, &passages[*at])
                && (wanted.is_none() || counted)
            {
                announced.score += 0.3 * relevance + if counted { 0.5 } else { 0.0 };
                found.push(announced);
            }
        }
    }
    found.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.list.cmp(&b.list))
    });
    let kinds = kinds(&asked, passages, fit);
    let settled = found
        .first()
        .is_some_and(|best| best.in_column || wanted.is_some());
    if complete(&kinds) && !settled {
        return kinds.concat();
    }
    let Some(best) = found.first() else {
        return Vec::new();
    };
    let mut list = best.list.clone();
    if wanted.is_none() {
        // A file may part one list into several, each under a heading of its own.
        let parted = found[1..]
            .iter()
            .filter(|other| other.continues(best, passages));
        list.extend(parted.flat_map(|other| other.list.iter().copied()));
        in_file_order(&mut list, passages);
    }
    list.truncate(LONGEST_LIST);
    list
}

/// A list and how well it is announced as what is asked for.
struct Announced {
    list: Vec<Choice>,
    /// The share of what is asked for in its heading, its file's name and the sentence before it.
    share: f64,
    score: f64,
    /// Whether the first column is headed with what is asked for.
    in_column: bool,
}

impl Announced {
    fn of(question: &str, list: Vec<Choice>, asked: &[String], passage: &Passage) -> Option<Self> {
        let first = &passage.units[list[0].unit];
        let column = first.row.as_ref().and_then(|row| row.columns.first());
        let column = terms(column.map_or("", String::as_str));
        let in_column = !column.is_empty() && column.iter().all(|term| asked.contains(term));
        let mut said = announcement(passage, &list);
        said.extend(column.iter().cloned());
        let heading = terms(&first.heading);
        let noun = asked_noun(question);
        let is_noun = |terms: &[String]| noun.as_deref().is_some_and(|noun| terms == [noun]);
        // "Which ports are open?" asks for ports, whatever is said of them.
        let named = is_noun(&heading) || is_noun(&column);
        let share = if named { 1.0 } else { share(asked, &said) };
        let told = heading.iter().filter(|term| asked.contains(term)).count();
        let exact = told as f64 / heading.len().max(1) as f64;
        let score = share + 0.3 * exact + if in_column { 0.5 } else { 0.0 };
        // A heading of several words, all of them asked for, announces it as well.
        let headed = told > 1 && told == heading.len() && share >= 0.4;
        (share >= ANNOUNCED_FROM || headed).then_some(Self {
            list,
            share,
            score,
            in_column,
        })
    }

    /// Whether it is another part of the same list: of one file, one kind and one head.
    fn continues(&self, best: &Self, passages: &[Passage]) -> bool {
        let file = |one: &Self| passages[one.list[0].item].source();
        let unit = |one: &Self| &passages[one.list[0].item].units[one.list[0].unit];
        let head = |one: &Self| {
            let row = unit(one).row.as_ref();
            row.and_then(|row| row.columns.first().cloned())
        };
        self.share >= best.share
            && file(self) == file(best)
            && unit(self).kind == unit(best).kind
            && head(self) == head(best)
    }
}

fn in_file_order(list: &mut [Choice], passages: &[Passage]) {
    list.sort_by_key(|choice| (passages[choice.item].start, *choice));
}

/// The question's words without those that say how it should be answered.
pub(super) fn things_asked_for(question: &str) -> Vec<String> {
    let mut rest = without_counts(question);
    for form in [
        "分别",
        "叫什么名字",
        "叫什么",
        "的名字",
        "名称",
        "列出",
        "所有",
        "全部",
        "一共",
        "总共",
        "步骤",
        "表格",
        "显示",
        "需要",
        "支持",
        "可用",
        "可以",
    ] {
        rest = rest.replace(form, " ");
    }
    let form = |term: &String| FORM.contains(&term.as_str()) || number_in(term).is_some();
    terms(&rest)
        .into_iter()
        .filter(|term| !form(term))
        .fold(Vec::new(), |mut asked, term| {
            if !asked.contains(&term) {
                asked.push(term);
            }
            asked
        })
}

/// Stems of words of the form.
#[rustfmt::skip]
const FORM: &[&str] = &[
    "list", "nam", "name", "all", "every", "tabl", "table", "many", "exist", "availabl", "available", "support", "kind",
    "typ", "type", "sort", "step", "possibl", "possible", "different", "display", "print", "enumerat", "need", "required",
    "requir", "choos", "us", "use",
];

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
    words.extend(terms(&passage.source().replace(['/', '.'], " ")));
    if first > 0 && passage.units[first - 1].heading == *heading {
        words.extend(terms(&passage.units[first - 1].text));
    }
    words
}

/// What each of "Rule 1: …", "Rule 2: …" says first, in the order of the numbers.
fn numbered_sections(
    asked: &[String],
    passages: &[Passage],
    fit: &[(usize, f64)],
) -> Vec<Vec<Choice>> {
    let mut sections: Vec<(String, usize, Choice)> = Vec::new();
    let at_hand = |passage: &Passage| {
        fit.iter()
            .any(|(at, _)| passages[*at].source() == passage.source())
    };
    for (item, passage) in passages.iter().enumerate().filter(|(_, p)| at_hand(p)) {
        for unit in openings(&passage.units) {
            if let Some((name, number)) = numbered(&passage.units[unit].heading)
                && terms(&name).iter().any(|term| asked.contains(term))
            {
                sections.push((name, number, Choice { item, unit }));
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
    sections
        .into_iter()
        .map(|(_, _, choice)| vec![choice])
        .collect()
}

/// Sections of one file that are each headed with a kind of what is asked for, "Search tools" and
/// "File tools" where tools are: the list of each, or what it says first.
fn kinds(asked: &[String], passages: &[Passage], fit: &[(usize, f64)]) -> Vec<Vec<Choice>> {
    let mut files: Vec<(&str, Vec<(usize, Choice)>)> = Vec::new();
    let at_hand = |passage: &Passage| {
        let mut fit = fit.iter();
        fit.any(|(at, _)| passages[*at].source() == passage.source())
    };
    for (item, passage) in passages.iter().enumerate().filter(|(_, p)| at_hand(p)) {
        for unit in openings(&passage.units) {
            let heading = &passage.units[unit].heading;
            // "Six tools" announces them all and is no kind of them.
            let heading = heading.split([':', '：']).next().unwrap_or(heading);
            let counts = number_in(heading).is_some();
            let heading = terms(heading);
            // Chinese puts the kind before the thing: 搜索工具 are 工具, whatever else they are called.
            let noun = match asked.last() {
                Some(last) if is_chinese(last) => std::slice::from_ref(last),
                _ => asked,
            };
            if !counts && heading.len() > noun.len() && heading.ends_with(noun) {
                let section = (passage.start, Choice { item, unit });
                match files.iter_mut().find(|(file, _)| *file == passage.source()) {
                    Some((_, sections)) => sections.push(section),
                    None => files.push((passage.source(), vec![section])),
                }
            }
        }
    }
    files.sort_by_key(|(_, sections)| std::cmp::Reverse(sections.len()));
    let Some((_, mut sections)) = files.into_iter().next() else {
        return Vec::new();
    };
    sections.sort();
    let listed = |first: Choice| {
        let passage = &passages[first.item];
        let heading = &passage.units[first.unit].heading;
        let of_section = |list: &Vec<Choice>| passage.units[list[0].unit].heading == *heading;
        let list = lists_of(first.item, passage).into_iter().find(of_section);
        list.unwrap_or_else(|| vec![first])
    };
    sections
        .into_iter()
        .map(|(_, first)| listed(first))
        .collect()
}

/// The first unit below each heading.
fn openings(units: &[Unit]) -> Vec<usize> {
    let first = |at: &usize| *at == 0 || units[at - 1].heading != units[*at].heading;
    (0..units.len()).filter(first).collect()
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
