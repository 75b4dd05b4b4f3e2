use std::ops::Range;

use super::super::language::{number_at, table};
use super::spans::Span;
use crate::text::one_line;

/// Characters of an item that is called by its own words.
const LONGEST: usize = 160;
/// Characters of what stands before a colon and names the rest.
const NAME: usize = 60;

/// The question with the item of the last answer that it means by its place: "and the second one?".
pub(super) fn by_place(asked: Span<'_>, answer: &str, topic: Span<'_>) -> Option<String> {
    let (place, number) = (0..asked.tokens.len().min(REACH)).find_map(|at| ordinal(asked, at))?;
    let items: Vec<&str> = answer.lines().filter_map(item).collect();
    let item = match number {
        LAST => items.last(),
        number => items.get(usize::try_from(number).ok()?.checked_sub(1)?),
    }?;
    let name = named(item);
    let lead = asked.table.leads.at(asked.tokens, 0).unwrap_or(0);
    let lead = lead.min(place.start);
    let before = asked.part(lead..place.start);
    let after = asked.part(place.end..asked.tokens.len());
    let forms = &table(asked.language).forms;
    if before.says() || after.says() {
        let pieces = [before.written(), name.as_str(), after.written()];
        let pieces: Vec<&str> = pieces
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect();
        let joint = if asked.is_dense() { "" } else { " " };
        return Some(pieces.join(joint));
    }
    let about = match topic.written() {
        "" => name,
        topic => forms.with_topic(&name, topic),
    };
    Some(forms.about.replace("{}", &about))
}

/// The number that stands for the last.
const LAST: u64 = u64::MAX;
/// An ordinal is looked for in so many tokens in front.
const REACH: usize = 32;

/// The place of an ordinal that stands for a thing, and its number.
fn ordinal(asked: Span<'_>, at: usize) -> Option<(Range<usize>, u64)> {
    let ordinals = &asked.table.ordinals;
    let tokens = asked.tokens;
    let named = || {
        let from = at + ordinals.articles.at(tokens, at)?;
        let word = ordinals.words.get(&tokens.get(from)?.word);
        let counted = || number_at(tokens, from, asked.language).filter(|_| ordinals.counted);
        let (number, length) = word.map(|number| (*number, 1)).or_else(counted)?;
        Some((number, from + length))
    };
    let last = ordinals.last.at(tokens, at);
    let (number, behind) = last.map(|length| (LAST, at + length)).or_else(named)?;
    let things = ordinals.things.at(tokens, behind);
    let end = behind + things.unwrap_or(0);
    let closes = tokens.get(end).is_none_or(|token| {
        token.is_mark()
            || asked.table.stop.has(&token.word)
            || asked.table.asks.at(tokens, end).is_some()
    });
    // "The second rule" may well stand alone, and so may 第二条规则.
    let alone = if ordinals.counted || things.is_none() {
        closes
    } else {
        true
    };
    (alone && (things.is_some() || end == tokens.len())).then_some((at..end, number))
}

/// A line that is an item of a list, without its sign and its source.
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let numbered = || {
        let (number, rest) = line.split_once(". ")?;
        number.chars().all(|c| c.is_ascii_digit()).then_some(rest)
    };
    let item = line.strip_prefix("- ").or_else(numbered)?;
    Some(without_sources(item))
}

/// Without the numbers of sources behind it.
fn without_sources(item: &str) -> &str {
    let item = item.trim_end();
    let source = item
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once(" ["));
    match source {
        Some((rest, number)) if number.chars().all(|c| c.is_ascii_digit()) => without_sources(rest),
        _ => item,
    }
}

/// What an item is called: what it names in front of a colon, else its own words.
fn named(item: &str) -> String {
    let plain = item.replace(['`', '*'], "");
    let name = plain.split([':', '：']).next().unwrap_or_default().trim();
    if name.chars().count() <= NAME && name.len() < plain.trim().len() {
        name.to_owned()
    } else {
        one_line(plain.trim_end_matches(['.', '。']), LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::domain::Turn;

    fn after(answer: &str, query: &str) -> Option<String> {
        let turn = Turn {
            question: "What are the three rules?".to_owned(),
            answer: answer.to_owned(),
        };
        read(query, &[turn]).with_topic
    }

    #[test]
    fn r05_an_item_of_the_last_answer_is_meant_by_its_place() {
        let answer = "The rules: [1]\n1. `first_rule`: matches files [1] [2]\n2. `few_items`: up to two [1]\n3. HTTP 404 [2]";
        for (query, meant) in [
            ("and the second one?", "What is few_items (three rules)?"),
            ("the second", "What is few_items (three rules)?"),
            (
                "when does the second one match?",
                "when does few_items match",
            ),
            ("and the last one?", "What is HTTP 404 (three rules)?"),
            ("那第二个呢？", "few_items（three rules）是什么？"),
            ("第二条什么时候匹配", "few_items什么时候匹配"),
        ] {
            assert_eq!(after(answer, query).as_deref(), Some(meant), "{query}");
        }
        assert_ne!(
            after("No list.", "and the second one?").as_deref(),
            Some("few_items")
        );
        assert_eq!(
            after(
                answer,
                "What does the second law of thermodynamics say about heat?"
            ),
            None
        );
    }
}
