use super::super::language::Phrases;
use super::spans::Span;
use crate::domain::{Literals, Parts, QuestionKind};

/// The kind of answer that a question wants, by its first words that ask and what it names.
pub(super) fn kind_of(asked: Span<'_>, literals: &Literals, parts: &Parts) -> QuestionKind {
    use QuestionKind::{
        Comparison, Definition, File, List, Other, Overview, Quantity, Relation, State, Who,
    };
    let said = asked_for(asked);
    let holds = |list: &Phrases| list.first(asked.tokens).is_some();
    let open = matches!(said, None | Some(List | Other | Quantity | Who));
    // "What does PROJ-7 depend on": of a named thing.
    let of_named = said == Some(Definition) && !literals.keywords().is_empty();
    if matches!(parts, Parts::Sides { .. }) {
        Comparison
    } else if is_of_all(asked, said) {
        Overview
    } else if (open || of_named) && holds(&asked.table.relations) {
        Relation
    } else if matches!(said, Some(List | Other | Quantity)) && holds(&asked.table.states) {
        State
    } else if !literals.paths.is_empty() {
        File
    } else {
        said.unwrap_or(Other)
    }
}

/// What the first words that ask want. "Explain how" asks how.
fn asked_for(asked: Span<'_>) -> Option<QuestionKind> {
    let count = asked.tokens.len();
    let first = (0..count).find_map(|at| Some((at, asked.table.asks.at(asked.tokens, at)?)));
    let (at, (length, kind)) = first?;
    if kind == QuestionKind::Other && asked.is_plural(at + length) {
        return Some(QuestionKind::List);
    }
    let weak = matches!(kind, QuestionKind::Definition | QuestionKind::Other);
    let behind = at + length..(at + length + 3).min(count);
    let mut behind = behind;
    let next = behind.find_map(|at| asked.table.asks.at(asked.tokens, at));
    let next = next
        .map(|(_, next)| next)
        .filter(|next| weak && *next != QuestionKind::Other);
    Some(next.unwrap_or(kind))
}

/// Whether nothing is asked but what all documents hold.
fn is_of_all(asked: Span<'_>, said: Option<QuestionKind>) -> bool {
    use QuestionKind::{Definition, List, Other, Overview};
    if !matches!(said, None | Some(Definition | List | Other | Overview)) {
        return false;
    }
    is_made_of(asked, said == Some(Overview), &asked.table.whole)
}

/// Whether nothing is said but a name of the `wholes`, which `named` may stand for, and words of what it holds.
fn is_made_of(asked: Span<'_>, mut named: bool, wholes: &Phrases) -> bool {
    let (table, tokens) = (asked.table, asked.tokens);
    let mut at = 0;
    while at < tokens.len() {
        let name = wholes.at(tokens, at);
        named |= name.is_some();
        let asks = table.asks.at(tokens, at).map(|(length, _)| length);
        let others = [&table.holding, &table.stop, &table.starts, &table.generic];
        let other = others.iter().filter_map(|list| list.at(tokens, at)).max();
        match name.or(asks.max(other)) {
            Some(length) => at += length,
            None if tokens[at].is_mark() => at += 1,
            None => return false,
        }
    }
    named
}
