//! What the documents say of both sides of a comparison at once.

use std::collections::HashSet;

use crate::domain::Language;
use crate::text::is_chinese;

use super::super::evidence::UnitKind;
use super::super::language::terms;
use super::found::{Choice, Found};

/// At most this many sentences that speak of both.
const MOST: usize = 3;

/// The rows of one table that stand for the sides, to be shown below each other under their head; `fits`
/// are the passages that may be quoted.
pub(super) fn rows_of_both(
    sides: [&str; 2],
    language: Language,
    found: Found<'_>,
    fits: &[usize],
) -> Option<Vec<Choice>> {
    let row_of = |side: &str| {
        let side = terms(side, language);
        let mut rows: Vec<(&str, &[String], Choice)> = Vec::new();
        for item in fits.iter().copied() {
            let passage = &found.passages[item];
            for (unit, quoted) in passage.units.iter().enumerate() {
                let Some((columns, cells)) = &quoted.row else {
                    continue;
                };
                let key = cells.first().map_or("", String::as_str);
                let column = columns.first().map_or("", String::as_str);
                // "exit code 1" is the row "1" below "exit code".
                let named = terms(&format!("{column} {} {key}", quoted.heading), language);
                let key = terms(key, language);
                let is_side = !key.is_empty()
                    && key.iter().all(|term| side.contains(term))
                    && side.iter().all(|term| named.contains(term));
                if is_side {
                    rows.push((&passage.source, columns, Choice { item, unit }));
                }
            }
        }
        rows
    };
    let (first, second) = (row_of(sides[0]), row_of(sides[1]));
    first.iter().find_map(|(source, columns, choice)| {
        let other = second
            .iter()
            .find(|other| (other.0, other.1) == (*source, *columns) && other.2 != *choice)?;
        Some(vec![*choice, other.2])
    })
}

/// Sentences of a section that is headed with both sides, or that name both themselves, but for those in
/// `used`.
pub(super) fn of_both(
    sides: [&str; 2],
    language: Language,
    found: Found<'_>,
    fits: &[usize],
    used: &[Choice],
) -> Vec<Choice> {
    let chinese = language == Language::Zh;
    let sides = sides.map(|side| terms(side, language));
    let apart = |one: &[String], other: &[String]| one.iter().any(|term| !other.contains(term));
    if !apart(&sides[0], &sides[1]) || !apart(&sides[1], &sides[0]) {
        return Vec::new();
    }
    let holds = |held: &HashSet<String>| sides.iter().flatten().all(|term| held.contains(term));
    let mut both: Vec<(bool, Choice)> = Vec::new();
    for item in fits.iter().copied() {
        let words = found.seen[item].units.iter();
        for (unit, (quoted, words)) in found.passages[item].units.iter().zip(words).enumerate() {
            let choice = Choice { item, unit };
            let headed = holds(&words.heading);
            if quoted.kind == UnitKind::Sentence
                && is_chinese(&quoted.text) == chinese
                && (headed || holds(&words.held))
                && !used.contains(&choice)
            {
                both.push((!headed, choice));
            }
        }
    }
    both.sort();
    both.dedup();
    both.truncate(MOST);
    let mut chosen: Vec<Choice> = both.into_iter().map(|(_, choice)| choice).collect();
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, passage};
    use super::*;

    #[test]
    fn r23_what_is_said_of_both_sides_is_found_in_any_language() {
        for (text, sides, language, said) in [
            (
                "# Saws\n\nA jigsaw is light. A jigsaw cuts curves and a panel saw cuts lines.",
                ["jigsaw", "panel saw"],
                Language::En,
                1,
            ),
            (
                "# 锯\n\n曲线锯很轻。曲线锯锯弯，手工锯锯直。",
                ["曲线锯", "手工锯"],
                Language::Zh,
                1,
            ),
            (
                "# Sägen\n\nDie Stichsäge ist leicht. Stichsägen sägen Kurven, Kreissägen nur gerade.",
                ["Stichsäge", "Kreissäge"],
                Language::De,
                1,
            ),
            (
                "# Saws\n\nA saw is a saw.",
                ["saw", "the saw"],
                Language::En,
                0,
            ),
        ] {
            let sample = Sample::of(&[passage("saws.md", text)]);
            let both = of_both(sides, language, sample.found(), &[0], &[]);
            assert_eq!(both.len(), said, "{text}");
            assert_eq!(of_both(sides, language, sample.found(), &[0], &both), []);
        }
    }

    #[test]
    fn r23_rows_of_both_sides_stand_in_one_table() {
        let text = "# Exit codes\n\n| exit code | means |\n|---|---|\n| 0 | fine |\n| 1 | failed |\n| 2 | misused |";
        let sample = Sample::of(&[passage("exit.md", text)]);
        let rows = |sides| rows_of_both(sides, Language::En, sample.found(), &[0]);
        let both = rows(["exit code 0", "exit code 2"]).unwrap();
        assert_eq!(both.iter().map(|row| row.unit).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(rows(["exit code 0", "exit code 7"]), None);
        assert_eq!(rows(["exit code 1", "exit code 1"]), None);
    }
}
