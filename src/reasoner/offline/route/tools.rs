//! The kind of looking-up, and the tools worth trying.

use crate::domain::{Literals, QueryType, Question, QuestionKind, ToolName, ToolRecord};

/// What kind of looking-up a question asks for.
pub fn query_type(question: &Question) -> QueryType {
    let literals = &question.literals;
    let has_path = !literals.paths.is_empty();
    let has_keyword = !literals.keywords().is_empty();
    match question.kind {
        // Links are followed from something; without a name there is nothing to follow.
        QuestionKind::Relation if has_path || has_keyword => QueryType::Relational,
        QuestionKind::File | QuestionKind::Overview => QueryType::FileDiscovery,
        _ if has_path => QueryType::FileDiscovery,
        _ if has_keyword => QueryType::Exact,
        _ => QueryType::Conceptual,
    }
}

/// The tools worth trying, best first; after calls that led nowhere others than those.
pub fn tools_for(kind: QueryType, literals: &Literals, failed: &[ToolRecord]) -> Vec<ToolName> {
    use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile, VectorSearch};
    let first = match kind {
        QueryType::Exact => GrepSearch,
        QueryType::Relational => GraphRelated,
        QueryType::FileDiscovery if !literals.paths.is_empty() => ReadFile,
        // What this tool brings is approved unseen, so only where a file is asked for.
        QueryType::FileDiscovery => LocalFileQa,
        QueryType::Conceptual | QueryType::Chitchat => HybridSearch,
    };
    let untried = |tool: &ToolName| failed.iter().all(|record| record.call.tool() != *tool);
    let others = [first, HybridSearch, VectorSearch, GrepSearch].into_iter();
    let mut tools: Vec<ToolName> = others.filter(untried).take(1).collect();
    // A file that is named without lines may be one that the documents only speak of.
    let has_lines = literals.paths.iter().any(|path| path.start.is_some());
    let is_file = tools.contains(&LocalFileQa) || tools.contains(&ReadFile) && has_lines;
    // After a failure the plan asks in other words what was asked before.
    if !is_file && !tools.contains(&HybridSearch) {
        tools.push(HybridSearch);
    }
    tools
}
