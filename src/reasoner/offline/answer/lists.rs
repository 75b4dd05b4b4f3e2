//! Lists that are the answer as a whole: items, table rows, or sections that are headed alike.

use std::collections::HashSet;

use crate::domain::{Language, QuestionKind};

use super::super::evidence::{Passage, UnitKind};
use super::super::language::terms;
use super::super::question::things;
use super::asking::Wish;
use super::found::{Choice, Found};

/// A list must be announced with more than half of the words of what is asked for.
const ANNOUNCED_FROM: f64 = 0.6;
/// What the grade of its passage is worth to a list: it tells apart what is announced alike.
const GRADED: f64 = 0.3;
/// Fewer sections that are headed alike are no list.
const SECTIONS: usize = 3;

/// The list that a question for several things asks for; `fit` holds the passages that may be quoted.
pub(super) fn whole_list(wish: &Wish<'_>, found: Found<'_>, fit: &[usize]) -> Vec<Choice> {
    use QuestionKind::{Definition, List, Other};
    let question = wish.question;
    let (asked, wanted) = things(question);
    let several =
        question.kind == List || wanted.is_some() && matches!(question.kind, Definition | Other);
    if !several || asked.is_empty() {
        return Vec::new();
    }
    let mut lists: Vec<Announced> = Vec::new();
    for at in fit {
        let passage = &found.passages[*at];
        for list in lists_of(*at, passage) {
            let share = announced(passage, &list, &asked, question.language);
            if share >= ANNOUNCED_FROM {
                let score = share + GRADED * wish.judged.grades[*at];
                lists.push((list, share, score));
            }
        }
    }
    lists.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    let mut candidates: Vec<Vec<Choice>> = best_with_its_parts(&lists, found).into_iter().collect();
    let sections = sections(&asked, found, fit, question.language);
    let list = match wanted {
        None => sections
            .into_iter()
            .find(|sections| sections.len() >= SECTIONS)
            .map(|sections| sections.concat())
            .or_else(|| candidates.into_iter().next()),
        Some(wanted) => {
            let of_all = |sections: &Vec<Vec<Choice>>| {
                let all: usize = sections.iter().map(Vec::len).sum();
                sections.len() == wanted || all == wanted
            };
            candidates.extend(lists.into_iter().map(|(list, ..)| list));
            let first = candidates
                .first()
                .filter(|_| question.kind == List)
                .cloned();
            let list = candidates.into_iter().find(|list| list.len() == wanted);
            let sections = || sections.into_iter().find(of_all);
            list.or_else(|| sections().map(|sections| sections.concat()))
                .or(first)
        }
    };
    list.unwrap_or_default()
}

/// A list, the share of what is asked for that announces it, and that with its passage's grade.
type Announced = (Vec<Choice>, f64, f64);

/// The first of the lists with those of the same file and kind that are announced as well: a file may part one
/// list into several, each under a heading of its own.
fn best_with_its_parts(lists: &[Announced], found: Found<'_>) -> Option<Vec<Choice>> {
    let (best, share, _) = lists.first()?;
    let kind = |list: &[Choice]| found.passages[list[0].item].units[list[0].unit].kind;
    let file = |list: &[Choice]| &found.passages[list[0].item].source;
    let parted = lists.iter().filter(|(other, of_other, _)| {
        of_other >= share && file(other) == file(best) && kind(other) == kind(best)
    });
    let mut whole: Vec<Choice> = parted.flat_map(|(list, ..)| list.iter().copied()).collect();
    whole.sort_by_key(|choice| (found.passages[choice.item].start, *choice));
    whole.dedup();
    Some(whole)
}

/// Runs of items or rows of one block.
fn lists_of(item: usize, passage: &Passage) -> Vec<Vec<Choice>> {
    let mut lists: Vec<(usize, Vec<Choice>)> = Vec::new();
    for (unit, quoted) in passage.units.iter().enumerate() {
        if !matches!(quoted.kind, UnitKind::Item | UnitKind::Row) {
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

/// The share of what is asked for that stands over a list: in its heading, its file's name, its first
/// column and the sentence before it.
fn announced(passage: &Passage, list: &[Choice], asked: &[String], language: Language) -> f64 {
    let first = list[0].unit;
    let unit = &passage.units[first];
    let of = |text: &str| terms(text, language);
    let column = unit.row.as_ref().and_then(|(columns, _)| columns.first());
    let column = of(column.map_or("", String::as_str));
    let heading = of(&unit.heading);
    // "Which ports are open?" asks for ports, whatever else is said of them, and search tools are tools.
    let names_them = |named: &[String]| named.last().is_some_and(|last| asked.last() == Some(last));
    if names_them(&column) || names_them(&heading) {
        return 1.0;
    }
    let mut said: HashSet<String> = heading.into_iter().chain(column).collect();
    if first > 0 && passage.units[first - 1].heading == unit.heading {
        said.extend(of(&passage.units[first - 1].text));
    }
    let file = of(&passage.title).into_iter();
    let file = file.chain(of(&passage.source.replace(['/', '.'], " ")));
    // A file on ports may hold lists of other things below other headings.
    let thing = asked.last().is_some_and(|thing| said.contains(thing));
    if unit.heading.is_empty() || thing {
        said.extend(file);
    }
    let held = asked.iter().filter(|term| said.contains(*term)).count();
    held as f64 / asked.len() as f64
}

/// The list, or what is said first, of each section that is headed with a kind of what is asked for, as
/// "Search tools" are tools, or with its number, as "Rule 2: few items" is: of each file the numbered ones
/// and the others, those with most sections first.
fn sections(
    asked: &[String],
    found: Found<'_>,
    fit: &[usize],
    language: Language,
) -> Vec<Vec<Vec<Choice>>> {
    let Some(thing) = asked.last() else {
        return Vec::new();
    };
    let mut groups: Vec<((&str, bool), Vec<Section<'_>>)> = Vec::new();
    let at_hand = |passage: &Passage| {
        let mut fit = fit.iter();
        fit.any(|at| found.passages[*at].source == passage.source)
    };
    let passages = found.passages.iter().enumerate();
    for (item, passage) in passages.filter(|(_, passage)| at_hand(passage)) {
        for (unit, first) in passage.units.iter().enumerate() {
            let opens = unit == 0 || passage.units[unit - 1].heading != first.heading;
            let heading = first.heading.split([':', '：']).next().unwrap_or_default();
            let words = terms(heading, language);
            let numbered = words.len() == 2
                && words.first() == Some(thing)
                && words[1].chars().all(char::is_numeric);
            if !opens || !numbered && (words.len() < 2 || words.last() != Some(thing)) {
                continue;
            }
            let key = (passage.source.as_str(), numbered);
            let section = (passage.start, first.heading.as_str(), Choice { item, unit });
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sections)) => sections.push(section),
                None => groups.push((key, vec![section])),
            }
        }
    }
    groups.sort_by_key(|((_, numbered), sections)| (!numbered, std::cmp::Reverse(sections.len())));
    let lists = groups.into_iter().map(|(_, mut sections)| {
        sections.sort_by_key(|(start, _, first)| (*start, *first));
        let mut seen = HashSet::new();
        sections.retain(|(_, heading, _)| seen.insert(*heading));
        let each = sections.into_iter();
        each.map(|(_, heading, first)| listed(first, heading, found))
            .collect()
    });
    lists.collect()
}

/// The list below a heading, else the first unit.
fn listed(first: Choice, heading: &str, found: Found<'_>) -> Vec<Choice> {
    let passage = &found.passages[first.item];
    let of_section = |list: &Vec<Choice>| passage.units[list[0].unit].heading == heading;
    let list = lists_of(first.item, passage).into_iter().find(of_section);
    list.unwrap_or_else(|| vec![first])
}

/// The first line of its passage, its heading and its first unit.
type Section<'a> = (usize, &'a str, Choice);

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, passage};

    const PORTS: &str = "# Ports\n\nOpen ports of the server:\n\n- 22 for ssh\n- 445 for smb\n\n## Notes\n\n- ask first\n- \
        close the door";
    const RULES: &str = "# Rules\n\n## Rule 1: knock\n\nKnock at the door.\n\n## Rule 2: wait\n\nWait for a word.\n\n\
        ## Rule 3: enter\n\nEnter the room.\n\n## Why\n\nThe room is small.";

    #[test]
    fn r23_a_list_is_quoted_whole_and_no_other() {
        let colours = "# Paint\n\nThe colours are:\n\n1. green\n2. red\n\nThe brushes are:\n\n- flat\n- round\n- thin";
        for (source, text, question, told, kept_back) in [
            (
                "ports.md",
                PORTS,
                "Which ports are open?",
                vec!["22", "445"],
                "ask first",
            ),
            (
                "rules.md",
                RULES,
                "What are the three rules?",
                vec!["Knock", "Wait", "Enter"],
                "small",
            ),
            (
                "rules.md",
                RULES,
                "List the rules",
                vec!["Knock", "Wait", "Enter"],
                "small",
            ),
            (
                "paint.md",
                colours,
                "Which two colours are there?",
                vec!["1. green", "2. red"],
                "flat",
            ),
            // There are not so many; those there are answer.
            (
                "paint.md",
                colours,
                "Which five brushes are there?",
                vec!["flat", "round", "thin"],
                "green",
            ),
        ] {
            let (answer, _) = Sample::of(&[passage(source, text)]).answer(question, &[]);
            for told in told {
                assert!(answer.contains(told), "{question}: {told} in {answer}");
            }
            assert!(!answer.contains(kept_back), "{question}: {answer}");
        }
    }

    #[test]
    fn r23_a_list_that_is_cut_says_so() {
        let colours = |count: usize| {
            let items: Vec<String> = (1..=count).map(|at| format!("- shade {at}")).collect();
            let items = items.join("\n");
            let text = format!("# Paint\n\nThe colours are:\n\n{items}");
            Sample::of(&[passage("paint.md", &text)])
                .answer("Which colours are there?", &[])
                .0
        };
        let (all, cut) = (colours(40), colours(41));
        let last = |answer: &str, shade| answer.contains(&format!("shade {shade} ["));
        assert!(last(&all, 40) && !all.contains("Only the first"), "{all}");
        assert!(last(&cut, 40) && !last(&cut, 41), "{cut}");
        assert!(cut.ends_with("(Only the first 40 are listed.)"), "{cut}");
    }
}
