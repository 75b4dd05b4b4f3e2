//! How a tool call sees one passage: where it stands in the lists of the call, and what cuts it off.

use tokio_util::sync::CancellationToken;

use super::hits::is_relevant_by;
use super::{hybrid_search, local_file_qa, run_tool, vector_search};
use crate::domain::{Cut, ListPlace, PassageRanks, Score, ToolCall};
use crate::kb::{KnowledgeBase, PassageLines, Scope};

/// How far the passages of a search of the files are looked through.
const GREP_DEPTH: usize = 1000;

/// How a call sees a passage.
#[derive(Debug, Clone, Default)]
pub struct CallView {
    /// The scores of what it returns now.
    pub scores: Vec<Score>,
    /// The place of the item with the passage among it, from 1.
    pub position: Option<usize>,
    /// Where the passage stands in its lists.
    pub ranks: PassageRanks,
    /// What cuts the passage off.
    pub cut: Option<Cut>,
    /// Why it fails now.
    pub error: Option<String>,
}

/// Makes a call once more and looks for a passage in it; `text` is what the passage says. Blocks.
pub fn view_of_call(
    base: &KnowledgeBase,
    call: &ToolCall,
    scope: &Scope,
    (passage, text): (PassageLines<'_>, &str),
    cancel: &CancellationToken,
) -> CallView {
    let mut view = CallView::default();
    match run_tool(base, call, scope, cancel.into()) {
        Ok(found) => {
            let mut places = found.iter();
            let place = places.position(|item| {
                item.source == passage.source && item.lines.overlaps(passage.lines)
            });
            view.position = place.map(|at| at + 1);
            view.scores = found.iter().map(|item| item.score).collect();
        }
        Err(error) => view.error = Some(error.to_string()),
    }
    if !scope.holds(passage.source) || !scope.lets_through(text) {
        view.cut = Some(Cut::Filter);
        return view;
    }
    let within = scope.limits(cancel.into());
    let ranks = match call {
        ToolCall::HybridSearch {
            semantic_query,
            exact_keywords,
        } => base.ranks(
            semantic_query,
            exact_keywords,
            hybrid_search::TOP,
            passage,
            within,
        ),
        ToolCall::LocalFileQa {
            query, value: None, ..
        } => {
            let topic = local_file_qa::topic(query);
            base.ranks(&topic, &[], local_file_qa::POOL, passage, within)
        }
        ToolCall::VectorSearch { query, .. } => base.ranks_by_meaning(query, passage, within),
        ToolCall::GrepSearch { query } => base.ranks_in_files(query, GREP_DEPTH, passage, within),
        ToolCall::LocalFileQa { .. }
        | ToolCall::ReadFile { .. }
        | ToolCall::GraphRelated { .. } => Ok(PassageRanks::default()),
    };
    match ranks {
        Ok(ranks) => view.ranks = ranks,
        Err(error) => {
            view.error.get_or_insert(error.to_string());
        }
    }
    if view.position.is_none() {
        view.cut = Some(cut(call, &view));
    }
    view
}

/// What cuts off a passage that the call does not return.
fn cut(call: &ToolCall, view: &CallView) -> Cut {
    let PassageRanks {
        words,
        meaning,
        fused,
    } = view.ranks;
    let is_in_a_list = words.is_some() || meaning.is_some();
    let is_relevant = is_relevant_by(words.is_some(), meaning.map(|place| place.score));
    let of_search = |rank: Option<usize>, k: usize| match rank {
        _ if !is_in_a_list => Cut::NoMatch,
        Some(rank) if rank <= k && !is_relevant => Cut::Floor,
        Some(_) => Cut::BeyondK,
        None => Cut::Candidates,
    };
    let rank = |place: Option<ListPlace>| place.map(|place| place.rank);
    match call {
        _ if view.error.is_some() => Cut::Failed,
        ToolCall::HybridSearch { .. } => of_search(rank(fused), hybrid_search::TOP),
        ToolCall::VectorSearch { k, .. } => of_search(rank(meaning), vector_search::passages(*k)),
        ToolCall::GrepSearch { .. } if words.is_none() => Cut::NoMatch,
        ToolCall::LocalFileQa { value: None, .. } if !is_in_a_list => Cut::NoMatch,
        ToolCall::GrepSearch { .. } | ToolCall::LocalFileQa { value: None, .. } => Cut::BeyondK,
        ToolCall::LocalFileQa { .. }
        | ToolCall::ReadFile { .. }
        | ToolCall::GraphRelated { .. } => Cut::Elsewhere,
    }
}
