use super::super::language::{Phrases, Token, terms};
use super::span::Span;
use super::states::values_said;
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
    } else if matches!(wanted, Some(List | Other | Quantity))
        && has(&asked.table.states)
        && !values_said(asked.tokens, asked.language).is_empty()
    {
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

/// Whether the first words mean several things by their ending: "drawers does the desk have". Names do not.
fn is_plural(rest: Span<'_>) -> bool {
    let table = rest.table;
    let is_form = |token: &Token| table.stop.has(&token.word) || table.generic.has(&token.word);
    let end = rest.tokens.iter().position(is_form);
    let nouns = rest.slice(..end.unwrap_or(rest.tokens.len())).words();
    nouns.iter().any(|noun| {
        let stem = terms(noun, rest.language).into_iter().next();
        let mut endings = table.plural.iter();
        endings.any(|ending| noun.ends_with(ending.as_str()))
            && noun.starts_with(char::is_lowercase)
            && stem.as_ref() != Some(noun)
    })
}

/// Whether nothing is asked but what all documents hold.
fn is_about_everything(asked: Span<'_>, wanted: Option<QuestionKind>) -> bool {
    use QuestionKind::{Definition, List, Other, Overview};
    let table = asked.table;
    let mut lists = vec![
        &table.whole,
        &table.holding,
        &table.stop,
        &table.starts,
        &table.generic,
    ];
    lists.extend(table.asks.values());
    matches!(wanted, None | Some(Definition | List | Other | Overview))
        && (wanted == Some(Overview) || table.whole.is_in(asked.tokens))
        && table.uncovered(&lists, asked.tokens).is_empty()
}
