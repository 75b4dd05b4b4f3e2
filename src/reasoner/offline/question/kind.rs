use super::spans::Span;
use crate::domain::{Literals, Parts, QuestionKind};

/// The kind of answer that a question wants, by its first words that ask and what it names.
pub(super) fn kind_of(asked: Span<'_>, literals: &Literals, parts: &Parts) -> QuestionKind {
    use QuestionKind::{
        Comparison, Definition, File, List, Other, Overview, Quantity, Relation, State, Who,
    };
    let said = asked_for(asked);
    let holds = |list: &super::super::language::Phrases| list.first(asked.tokens).is_some();
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
    let weak = matches!(kind, QuestionKind::Definition | QuestionKind::Other);
    let behind = at + length..(at + length + 3).min(count);
    let mut behind = behind;
    let next = behind.find_map(|at| asked.table.asks.at(asked.tokens, at));
    Some(next.filter(|_| weak).map_or(kind, |(_, next)| next))
}

/// Whether nothing is asked but what all documents hold.
fn is_of_all(asked: Span<'_>, said: Option<QuestionKind>) -> bool {
    use QuestionKind::{Definition, List, Other, Overview};
    if !matches!(said, None | Some(Definition | List | Other | Overview)) {
        return false;
    }
    let (table, tokens) = (asked.table, asked.tokens);
    let mut whole = said == Some(Overview);
    let mut at = 0;
    while at < tokens.len() {
        let named = table.whole.at(tokens, at);
        whole |= named.is_some();
        let asks = table.asks.at(tokens, at).map(|(length, _)| length);
        let others = [&table.holding, &table.stop, &table.starts, &table.generic];
        let other = others.iter().filter_map(|list| list.at(tokens, at)).max();
        match named.or(asks.max(other)) {
            Some(length) => at += length,
            None if tokens[at].is_mark() => at += 1,
            None => return false,
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn r01_the_words_that_ask_tell_the_kind() {
        use QuestionKind::*;
        for (text, kind) in [
            ("What is hybrid search?", Definition),
            ("Please explain how the index is built", How),
            ("Could you tell me why the build fails?", Why),
            ("when does the lease end", When),
            ("How many retries are there?", Quantity),
            ("Who signs the contract?", Who),
            ("What are the steps of an import?", List),
            ("Which file describes the cache?", File),
            ("what does notes/plan.md say", File),
            ("Which tickets are open?", State),
            ("What depends on the billing service?", Relation),
            ("What is in this knowledge base?", Overview),
            ("What is a knowledge base?", Definition),
            ("vector search", Other),
            ("什么是快速路径？", Definition),
            ("请问怎么重置密码", How),
            ("押金是多少？", Quantity),
            ("哪些工单未完成？", State),
            ("合同什么时候到期", When),
            ("这个知识库里有什么？", Overview),
            ("Was ist eine Kaution?", Definition),
            ("Wie viele Tage Urlaub gibt es?", Quantity),
            ("Kannst du mir bitte sagen, wo der Schlüssel liegt?", Where),
            ("Welche Tickets sind offen?", State),
        ] {
            assert_eq!(read(text, &[]).kind, kind, "{text}");
        }
    }
}
