//! What the index holds.

use crate::domain::Languages;

/// What the index holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KbStatus {
    /// Its name for people: the folders' names.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that are found by their words only and never embedded.
    pub words_only: usize,
    /// Chunks that still wait for their embedding.
    pub pending: usize,
    /// The languages of its embedding, where there is a choice.
    pub languages: Option<Languages>,
}

impl KbStatus {
    /// How many chunks are to be embedded in all, with those that are by now.
    pub fn to_embed(&self) -> usize {
        let to_embed = self.chunks.saturating_sub(self.words_only);
        to_embed.max(self.pending)
    }

    /// A line about passages that are not embedded yet; `None` when all are.
    pub fn incomplete(&self) -> Option<String> {
        if self.pending == 0 {
            return None;
        }
        let all = self.to_embed();
        if all == 1 {
            let line = "the only passage is not embedded yet; it is found by its words only";
            return Some(line.to_owned());
        }
        Some(format!(
            "{} of {all} passages are embedded; the others are found by their words only",
            all - self.pending
        ))
    }
}
