//! The kind of looking-up, and the tools worth trying.

use crate::domain::{Literals, QueryType, Question, QuestionKind, ToolName, ToolRecord};

/// What kind of looking-up a question asks for.
pub(super) fn query_type(question: &Question) -> QueryType {
    let literals = &question.literals;
    let named = !(literals.keywords().is_empty() && literals.paths.is_empty());
    match question.kind {
        // Links are followed from something; without a name there is nothing to follow.
        QuestionKind::Relation if named => QueryType::Relational,
        QuestionKind::File | QuestionKind::Overview => QueryType::FileDiscovery,
        _ if !literals.paths.is_empty() => QueryType::FileDiscovery,
        _ if literals.keywords().is_empty() => QueryType::Conceptual,
        _ => QueryType::Exact,
    }
}

/// The tools worth trying, best first; after calls that led nowhere others than those.
pub(super) fn tools_for(
    kind: QueryType,
    literals: &Literals,
    failed: &[ToolRecord],
) -> Vec<ToolName> {
    use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile, VectorSearch};
    let wished = match kind {
        QueryType::Exact => vec![GrepSearch, HybridSearch],
        QueryType::Relational => vec![GraphRelated, HybridSearch],
        QueryType::FileDiscovery if !literals.paths.is_empty() => vec![ReadFile],
        QueryType::FileDiscovery => vec![LocalFileQa],
        QueryType::Conceptual | QueryType::Chitchat => vec![HybridSearch],
    };
    if failed.is_empty() {
        return wished;
    }
    let tried = |tool: &ToolName| failed.iter().any(|record| record.call.tool() == *tool);
    let mut tools: Vec<ToolName> = wished.into_iter().filter(|tool| !tried(tool)).collect();
    if tools.is_empty() {
        // What `local_file_qa` brings is approved unseen, so only where a file is asked for.
        let files = (kind == QueryType::FileDiscovery).then_some(LocalFileQa);
        let others = files
            .into_iter()
            .chain([HybridSearch, VectorSearch, GrepSearch]);
        tools.extend(others.filter(|tool| !tried(tool)).take(1));
    }
    // The plan asks in other words what was asked before.
    if !tools.contains(&HybridSearch) {
        tools.push(HybridSearch);
    }
    tools
}
