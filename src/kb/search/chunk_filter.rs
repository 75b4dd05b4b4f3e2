//! The chunks that say what a question's filters ask for.

use std::collections::HashSet;
use std::sync::Arc;

use crate::kb::error::KbError;
use crate::kb::index::phrases::Phrase;
use crate::kb::index::{ChunkFilter, ChunkId, FetchOptions, Reader, Within};

/// Chunks whose text is looked at together.
const AT_ONCE: usize = 512;

/// The chunks that a search may find; `None` for all. The index tells which chunks hold the words; only
/// for words in quotes the texts of these are looked at.
pub(crate) fn chunk_filter(
    reader: &dyn Reader,
    within: Within<'_>,
) -> Result<Option<Arc<ChunkFilter>>, KbError> {
    let Some(phrase_filter) = within.phrase_filter else {
        return Ok(None);
    };
    let mut filter = ChunkFilter::default();
    for words in &phrase_filter.phrases {
        let mut holding = chunks_saying(reader, words, within)?;
        if let Some(known) = &filter.only {
            holding.retain(|chunk| known.contains(chunk));
        }
        filter.only = Some(holding);
    }
    for words in &phrase_filter.without {
        filter.without.extend(if words.is_one() {
            reader
                .chunks_with(&words.terms(), within)?
                .into_iter()
                .collect()
        } else {
            chunks_saying(reader, words, within)?
        });
    }
    if let Some(only) = &mut filter.only {
        only.retain(|chunk| !filter.without.contains(chunk));
        filter.without.clear();
    }
    Ok(Some(Arc::new(filter)))
}

/// The chunks in which these words stand together.
fn chunks_saying(
    reader: &dyn Reader,
    words: &Phrase,
    within: Within<'_>,
) -> Result<HashSet<ChunkId>, KbError> {
    let mut likely = reader.chunks_with(&words.terms(), within)?;
    likely.sort_unstable();
    let mut found = HashSet::new();
    for some in likely.chunks(AT_ONCE) {
        let fetched = reader.fetch(some, FetchOptions::PASSAGES, within.limits())?;
        for (chunk, fetched) in some.iter().zip(fetched) {
            let passage = fetched.and_then(|fetched| fetched.passage);
            if passage.is_some_and(|passage| words.stand_in_text(&passage.text)) {
                found.insert(*chunk);
            }
        }
    }
    Ok(found)
}
