//! Searching the files themselves, as they are now, with ripgrep's own libraries.
//!
//! Words and patterns are distinguished in `pattern`. Lines that match anything are found first, in
//! `search`; a passage is such a line with some lines around it, merged with its neighbours where
//! they overlap. `tally` ranks passages by which of the query's words they hold, rare words counting more; the
//! score is that share, so it says the same in every base: 1.0 is "all of them". Only what comes out best is
//! read again, in `show`.

mod pattern;
mod search;
mod show;
mod tally;

use super::error::KbError;
use super::index::Within;
use super::source::{Roots, TextCache};
use pattern::Pattern;

pub(super) use tally::MAX_LINE_BYTES;
pub use tally::{GrepPassage, ReadAs};

/// The best `k` passages for words or a regular expression, and for which of them it was taken;
/// [`KbError::Stopped`] soon after that is wanted.
pub(super) fn grep(
    roots: &Roots,
    texts: &TextCache,
    query: &str,
    k: usize,
    within: Within<'_>,
) -> Result<(Vec<GrepPassage>, ReadAs), KbError> {
    let query = not_empty(query)?;
    let (mut pattern, mut read_as) = Pattern::parse(query)?;
    // Some more, in case a file is gone by the time it is shown.
    let keep = k.saturating_mul(2).max(1);
    // What passages say is known only when they are shown: then as many as are remembered are needed.
    let keep = within.phrase_filter.map_or(keep, |_| tally::MAX_REMEMBERED);
    let mut ranked = search::search_all(roots, texts, &pattern, keep, within)?.ranked();
    if ranked.is_empty() && query.contains(char::is_whitespace) {
        // "What is (chunking)?" is a pattern by its marks only.
        let had_marks = matches!(read_as, ReadAs::Pattern | ReadAs::BrokenPattern);
        (pattern, read_as) = Pattern::of_words(query)?;
        if had_marks && read_as == ReadAs::Words {
            read_as = ReadAs::WordsOfPattern;
        }
        ranked = search::search_all(roots, texts, &pattern, keep, within)?.ranked();
    }
    Ok((
        show::show(roots, texts, ranked, &pattern, k, within)?,
        read_as,
    ))
}

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
