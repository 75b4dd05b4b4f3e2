//! The tools over the folder `kb` of a workplace, and what they find.

use std::sync::Arc;

use kb_agent::domain::{Evidence, ToolCall};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use kb_agent::kb::KnowledgeBase;
use kb_agent::tools::KbToolbox;
use tokio_util::sync::CancellationToken;

use crate::workplace::Workplace;

/// The tools over an index that holds the folder as it is now.
pub fn toolbox(place: &Workplace) -> KbToolbox {
    let roots = [place.path().join("kb")];
    let embedding = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
    let base = KnowledgeBase::open(&roots, &place.path().join("index"), embedding).unwrap();
    base.update(&|_| (), &CancellationToken::new()).unwrap();
    KbToolbox::new(Arc::new(base))
}

/// A call of each tool that a scope limits, for the rent or PROJ-7.
pub fn calls() -> Vec<ToolCall> {
    let query = "rent".to_owned();
    let file_qa = |query: &str| ToolCall::LocalFileQa {
        query: query.to_owned(),
        path: None,
        field: None,
        value: None,
    };
    vec![
        ToolCall::VectorSearch {
            query: query.clone(),
            k: None,
        },
        ToolCall::GrepSearch {
            query: query.clone(),
        },
        ToolCall::HybridSearch {
            semantic_query: query.clone(),
            exact_keywords: Vec::new(),
        },
        file_qa(&query),
        file_qa("*"),
        ToolCall::GraphRelated {
            entity_id: "PROJ-7".to_owned(),
        },
    ]
}

/// The documents of what was found, each once.
pub fn sources(found: &[Evidence]) -> Vec<&str> {
    let mut sources: Vec<&str> = found.iter().map(|item| item.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}
