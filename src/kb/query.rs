//! What can be searched for.

use super::error::KbError;

/// The query without spaces around it; an error where nothing is left.
pub(super) fn not_empty(query: &str) -> Result<&str, KbError> {
    let query = query.trim();
    if query.is_empty() {
        return Err(KbError::BadQuery(
            "query is empty; say what to look for".to_owned(),
        ));
    }
    Ok(query)
}
