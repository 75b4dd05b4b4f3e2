//! The retrieval tools, one a file.
//!
//! A tool is a function of the knowledge base, its arguments and what a question is limited to. A new one is a file
//! here, a line in `run_tool`, and its call and description in `domain::tool`, which plans, prompts, schemas and the
//! screen read. Evidence is always exactly the lines it names.

mod filter_diagnosis;
mod graph_related;
mod grep_search;
mod grow;
mod hits;
mod hybrid_search;
mod local_file_qa;
mod read_file;
mod toolbox;
mod vector_search;
mod why;

use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, ToolCall};
use crate::kb::{KnowledgeBase, Scope};
pub use toolbox::KbToolbox;
pub use why::{CallView, view_of_call};

/// Runs the tool that is called, on the thread of the caller. Of what it finds the passages are left that
/// the question is about.
fn run_tool(
    base: &KnowledgeBase,
    call: &ToolCall,
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    let mut found = call_tool(base, call, scope, caller)?;
    found.retain(|item| scope.lets_through(&item.text));
    Ok(found)
}

fn call_tool(
    base: &KnowledgeBase,
    call: &ToolCall,
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    match call {
        ToolCall::VectorSearch { query, k } => vector_search::run(base, query, *k, scope, caller),
        ToolCall::GrepSearch { query } => grep_search::run(base, query, scope, caller),
        ToolCall::HybridSearch {
            semantic_query,
            exact_keywords,
        } => hybrid_search::run(base, semantic_query, exact_keywords, scope, caller),
        ToolCall::ReadFile {
            path,
            start_line,
            end_line,
        } => read_file::run(base, path, *start_line, *end_line, scope, caller),
        ToolCall::LocalFileQa {
            query,
            path,
            field,
            value,
        } => {
            let filter = (field.as_deref(), value.as_deref());
            local_file_qa::run(base, query, path.as_deref(), filter, scope, caller)
        }
        ToolCall::GraphRelated { entity_id } => graph_related::run(base, entity_id, scope, caller),
    }
}
