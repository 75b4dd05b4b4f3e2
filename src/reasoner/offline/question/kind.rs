use super::super::language::Phrases;
use super::span::Span;
use crate::domain::{Literals, Parts, QuestionKind};

/// The kind of answer that a question wants, by its first words that ask and what it names.
pub fn kind_of(asked: Span<'_>, literals: &Literals, parts: &Parts) -> QuestionKind {
    use QuestionKind::{
        Comparison, Definition, File, List, Other, Overview, Quantity, Relation, State, Who,
    };
    let wanted = kind_by_words(asked);
    let has = |list: &Phrases| list.is_in(asked.tokens);
    // "What does PROJ-7 depend on": of a named thing.
    let is_of_named = wanted == Some(Definition) && !literals.keywords().is_empty();
    let is_open = matches!(wanted, None | Some(List | Other | Quantity | Who));
    if matches!(parts, Parts::Sides { .. }) {
        Comparison
    } else if is_about_everything(asked, wanted) {
        Overview
    } else if (is_open || is_of_named) && has(&asked.table.relations) {
        Relation
    } else if matches!(wanted, Some(List | Other | Quantity)) && has(&asked.table.states) {
        State
    } else if !literals.paths.is_empty() {
        File
    } else {
        wanted.unwrap_or(Other)
    }
}

/// The kind that the first words that ask stand for. "Explain how" asks how.
fn kind_by_words(asked: Span<'_>) -> Option<QuestionKind> {
    let kind_at = |at| asked.table.asks_at(asked.tokens, at);
    let mut found = (0..asked.tokens.len()).filter_map(|at| Some((at, kind_at(at)?)));
    let (at, (length, kind)) = found.next()?;
    let behind = at + length;
    if kind == QuestionKind::Other && is_plural(asked.slice(behind..)) {
        return Some(QuestionKind::List);
    }
    let is_weak = matches!(kind, QuestionKind::Definition | QuestionKind::Other);
    let next = (behind..behind + 3).find_map(kind_at).map(|(_, kind)| kind);
    let next = next.filter(|next| is_weak && *next != QuestionKind::Other);
    Some(next.unwrap_or(kind))
}

/// Whether the noun in front of the verb is plural by its ending. Names are not, whatever they end with.
fn is_plural(rest: Span<'_>) -> bool {
    let noun = rest.before_verb();
    let at = if noun.tokens.len() < rest.tokens.len() {
        noun.tokens.len() - 1
    } else {
        0
    };
    let noun = rest.slice(at..=at);
    let word = noun.as_written();
    let has_ending = rest
        .table
        .plural
        .iter()
        .any(|it| word.ends_with(it.as_str()));
    has_ending
        && word.starts_with(char::is_lowercase)
        && !rest.table.generic.has(word)
        && noun.terms().first().is_some_and(|stem| stem != word)
}

/// Whether nothing is asked but what all documents hold.
fn is_about_everything(asked: Span<'_>, wanted: Option<QuestionKind>) -> bool {
    use QuestionKind::{Definition, List, Other, Overview};
    let (table, tokens) = (asked.table, asked.tokens);
    let lists = [
        &table.whole,
        &table.holding,
        &table.stop,
        &table.starts,
        &table.generic,
    ];
    let lists: Vec<&Phrases> = lists.into_iter().chain(table.asks.values()).collect();
    matches!(wanted, None | Some(Definition | List | Other | Overview))
        && (wanted == Some(Overview) || table.whole.is_in(tokens))
        && table.uncovered(&lists, tokens).is_empty()
}
