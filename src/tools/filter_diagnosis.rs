//! Which filter of a question left nothing.

use tokio_util::sync::CancellationToken;

use super::hits::is_relevant;
use crate::kb::{KbError, KnowledgeBase, Scope};

/// So many passages are looked for without a filter.
const LOOKED_FOR: usize = 10;

/// Which filters leave nothing at all, else those without which something is found for the query; `None`
/// where it is not for them.
pub(super) fn explain_empty_filters(
    base: &KnowledgeBase,
    scope: &Scope,
    query: &str,
    cancel: &CancellationToken,
) -> Result<Option<String>, KbError> {
    if let Some(why) = scope.why_empty(base, cancel)? {
        return Ok(Some(format!("{why}.")));
    }
    let mut without = Vec::new();
    for (at, written) in scope.filter_texts().enumerate() {
        let wider = scope.without_filter(base, at, cancel)?;
        let hits = base.hybrid(query, &[], LOOKED_FOR, wider.limits(cancel.into()))?;
        let found = hits.iter().filter(|hit| is_relevant(hit)).count();
        if found > 0 {
            without.push(format!("without {written}, {}", passages(found)));
        }
    }
    Ok((!without.is_empty()).then(|| format!("The filters left nothing: {}.", without.join("; "))))
}

fn passages(count: usize) -> String {
    match count {
        1 => "1 passage is found".to_owned(),
        LOOKED_FOR => format!("{count} passages and more are found"),
        _ => format!("{count} passages are found"),
    }
}
