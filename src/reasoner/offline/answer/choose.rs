//! Which units of which passages answer one question.
//!
//! The best unit with the rest of its paragraph and those near behind it, because the answer is in one of
//! the best three far more often than in the very best. A question for several things takes the whole list,
//! one that asks how takes all steps.

use crate::domain::{Question, QuestionKind};

use super::super::evidence::{Unit, UnitKind};
use super::asking::{Asking, Wish};
use super::found::{Choice, Found, LONGEST_LIST};
use super::lists::whole_list;

/// A unit whose log-odds are lower by more than this, so e times less likely, adds nothing to the best.
const NEAR: f64 = 1.0;
/// What is quoted of one paragraph is at most this long, in characters.
const LONGEST_PARAGRAPH: usize = 420;

/// The units to quote in reading order, and whether they are a list; `fit` holds the passages that may be
/// quoted, the best graded first.
pub(super) fn choose(wish: &Wish<'_>, found: Found<'_>, fit: &[usize]) -> (Vec<Choice>, bool) {
    let mut list = whole_list(wish, found, fit);
    list.retain(|choice| !wish.used.contains(choice));
    if !list.is_empty() {
        return (list, true);
    }
    let asking = Asking::of(wish, found, fit);
    let scored = scored(&asking, found, fit);
    let Some((best, _)) = scored.first().copied() else {
        return (Vec::new(), false);
    };
    let steps = steps(wish.question, best, found);
    if steps.len() > 1 && steps.iter().all(|choice| !wish.used.contains(choice)) {
        return (steps, false);
    }
    let unit = |choice: Choice| &found.passages[choice.item].units[choice.unit];
    let mut units = vec![best];
    units.extend(rest_of_paragraph(best, &asking, found));
    for (other, score) in &scored[1..] {
        let said = |choice: &Choice| unit(*choice).text == unit(*other).text;
        // Other code is another answer.
        let code = unit(best).kind == UnitKind::Code && unit(*other).kind == UnitKind::Code;
        if units.len() >= wish.most || scored[0].1 - score > NEAR {
            break;
        }
        if !code && !units.iter().any(said) {
            units.push(*other);
        }
    }
    let added: Vec<Choice> = units
        .iter()
        .flat_map(|choice| belonging(*choice, &asking, found))
        .filter(|choice| !wish.used.contains(choice))
        .collect();
    units.extend(added);
    units.sort();
    units.dedup();
    (units, false)
}

/// The unit that answers best.
pub(super) fn best(wish: &Wish<'_>, found: Found<'_>, fit: &[usize]) -> Option<Choice> {
    let asking = Asking::of(wish, found, fit);
    scored(&asking, found, fit)
        .first()
        .map(|(choice, _)| *choice)
}

/// The units of the passages that may be quoted with their log-odds, best first.
fn scored(asking: &Asking<'_>, found: Found<'_>, fit: &[usize]) -> Vec<(Choice, f64)> {
    let wish = asking.wish;
    let mut scored: Vec<(Choice, f64)> = Vec::new();
    for item in fit.iter().copied() {
        let (passage, seen) = (&found.passages[item], &found.seen[item]);
        for unit in 0..passage.units.len() {
            let choice = Choice { item, unit };
            if !wish.used.contains(&choice) && !asking.is_field_of_another(passage, unit) {
                let score = wish.judged.units[item][unit] + asking.form(passage, seen, unit);
                scored.push((choice, score));
            }
        }
    }
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored
}

/// The sentences that follow in the paragraph and are not quoted yet, then those before, as many as may be
/// said with the first.
fn rest_of_paragraph(first: Choice, asking: &Asking<'_>, found: Found<'_>) -> Vec<Choice> {
    let wish = asking.wish;
    let most = wish.most;
    let used = |unit: usize| {
        let choice = Choice {
            item: first.item,
            unit,
        };
        wish.used.contains(&choice)
    };
    let units = &found.passages[first.item].units;
    let one = &units[first.unit];
    let mut length = one.text.chars().count();
    let mut belongs = |unit: &Unit| {
        let longer = length + unit.text.chars().count();
        let belongs = unit.kind == UnitKind::Sentence
            && one.kind == UnitKind::Sentence
            && unit.block == one.block
            && !asking.was_told(unit)
            && longer <= LONGEST_PARAGRAPH;
        if belongs {
            length = longer;
        }
        belongs
    };
    let after = (first.unit + 1..units.len()).take_while(|at| !used(*at) && belongs(&units[*at]));
    let mut rest: Vec<usize> = after.take(most.saturating_sub(1)).collect();
    let left = most.saturating_sub(1 + rest.len());
    let before = (0..first.unit)
        .rev()
        .take_while(|at| !used(*at) && belongs(&units[*at]));
    rest.extend(before.take(left));
    let choice = |unit| Choice {
        item: first.item,
        unit,
    };
    rest.into_iter().map(choice).collect()
}

/// All steps of what is done in steps, with what stands between and directly below them, where one of them is
/// chosen and the question asks how; of very many, those up to the one that was chosen.
fn steps(question: &Question, chosen: Choice, found: Found<'_>) -> Vec<Choice> {
    let units = &found.passages[chosen.item].units;
    let one = &units[chosen.unit];
    let Some(number) = one.number.filter(|_| question.kind == QuestionKind::How) else {
        return Vec::new();
    };
    // Where the numbers do not go on, another list begins; one list within another shares its block.
    let (mut begin, mut lowest, mut block) = (chosen.unit, number, one.block);
    for (at, unit) in units[..chosen.unit].iter().enumerate().rev() {
        match unit.number {
            _ if unit.heading != one.heading => break,
            Some(number) if number < lowest || unit.block == block => {
                (begin, lowest, block) = (at, number, unit.block);
            }
            Some(_) => break,
            None => {}
        }
    }
    let (mut end, mut highest, mut block) = (chosen.unit + 1, number, one.block);
    for (at, unit) in units.iter().enumerate().skip(chosen.unit + 1) {
        match unit.number {
            _ if unit.heading != one.heading => break,
            Some(number) if number > highest || unit.block == block => {
                (end, highest, block) = (at + 1, number, unit.block);
            }
            Some(_) => break,
            None if at == end && (unit.block == block || unit.kind == UnitKind::Code) => {
                end = at + 1;
            }
            None => {}
        }
    }
    let first = begin.max((chosen.unit + 1).saturating_sub(LONGEST_LIST));
    let choice = |unit| Choice {
        item: chosen.item,
        unit,
    };
    (first..end.min(first + LONGEST_LIST + 1))
        .map(choice)
        .collect()
}

/// What a chosen unit is not complete without: what it announces with its final colon, what it leans on,
/// and the example below it where one is asked for.
fn belonging(choice: Choice, asking: &Asking<'_>, found: Found<'_>) -> Vec<Choice> {
    let units = &found.passages[choice.item].units;
    let one = &units[choice.unit];
    let at = |unit: usize| Choice {
        item: choice.item,
        unit,
    };
    let below = |unit: &&Unit| unit.heading == one.heading;
    let mut belonging = Vec::new();
    if one.text.ends_with([':', '：']) {
        let run = units[choice.unit + 1..].iter().take_while(below);
        let run = run.take_while(|unit| unit.kind != UnitKind::Sentence);
        let count = run.take(LONGEST_LIST).count();
        belonging.extend((choice.unit + 1..=choice.unit + count).map(at));
    }
    let leaning = one.kind == UnitKind::Sentence
        && choice.unit > 0
        && units[choice.unit - 1].block == one.block
        && !asking.was_told(&units[choice.unit - 1])
        && found.seen[choice.item].units[choice.unit].leans;
    if leaning {
        belonging.push(at(choice.unit - 1));
    }
    if asking.wants.code && one.kind == UnitKind::Sentence {
        let mut code = units[choice.unit + 1..].iter().take_while(below);
        let code = code.position(|unit| unit.kind == UnitKind::Code);
        belonging.extend(code.map(|code| at(choice.unit + 1 + code)));
    }
    belonging
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, passage};
    use crate::domain::Turn;

    #[test]
    fn r23_steps_are_told_whole() {
        let text = "# Oven\n\n## Clean the oven\n\n1. Switch the oven off.\n\n   It is hot for an hour.\n2. Clean the oven:\n   \
            - the door,\n   - the floor.\n3. Run this.\n\n   ```sh\n   oven --dry\n   ```\n4. Shut the door.\n\n\
            Then bake.\n\n1. Take flour.\n2. Take salt.";
        let mut sample = Sample::of(&[passage("oven.md", text)]);
        let (answer, _) = sample.answer("How do I clean the oven?", &[]);
        for told in [
            "1. Switch",
            "an hour",
            "2. Clean",
            "- the door",
            "- the floor",
            "oven --dry",
            "4. Shut",
        ] {
            assert!(answer.contains(told), "{told} in {answer}");
        }
        assert!(
            !answer.contains("Take flour") && !answer.contains("Then bake"),
            "{answer}"
        );
    }

    #[test]
    fn r05_a_reason_is_not_what_was_said_before() {
        let text = "# Pump\n\nThe pump stops at night [2]. It stops because the well runs dry.";
        let mut sample = Sample::of(&[passage("pump.md", text)]);
        let turn = Turn {
            question: "When does the pump stop?".to_owned(),
            answer: "The pump stops at night (2). [1]".to_owned(),
        };
        let (answer, _) = sample.answer("why?", &[turn]);
        assert!(
            answer.contains("the well runs dry") && !answer.contains("at night"),
            "{answer}"
        );
    }

    #[test]
    fn r23_what_is_in_the_language_asked_in_comes_first() {
        let items = [
            passage("pumpe.md", "# pump\n\n水泵 pump 夜里停。"),
            passage("pump.md", "# Pump\n\nThe pump stops at night."),
        ];
        let (answer, _) = Sample::of(&items).answer("When does the pump stop?", &[]);
        assert!(answer.starts_with("The pump stops at night."), "{answer}");
    }

    #[test]
    fn r23_a_field_answers_for_its_own_document() {
        let items = [
            passage("tickets/TK-1.md", "# TK-1\n\nStatus: done\nOwner: the yard"),
            passage("tickets/TK-2.md", "# TK-2\n\nStatus: open\nAfter: TK-1"),
        ];
        let (answer, _) = Sample::of(&items).answer("What is the status of TK-1?", &[]);
        assert!(
            answer.contains("Status: done") && !answer.contains("open"),
            "{answer}"
        );
    }
}
