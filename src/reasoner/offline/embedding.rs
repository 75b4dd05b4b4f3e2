//! The embedding as the judge uses it: stopped with the work that asked for it, and with the vectors of
//! the texts that were looked at last.
//!
//! A run looks at one passage several times: in grading, in answering, and for each part and reading of a
//! question. A vector depends on its text alone, so nothing changes but the time that it takes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::agent::ports::{EmbedError, Embedder};

/// About 3 MB with vectors of 384 numbers.
const MOST: NonZeroUsize = NonZeroUsize::new(2_048).unwrap();

/// The vectors of the texts that were embedded last, by the hashes of these.
pub(super) struct Vectors(Mutex<LruCache<[u8; 32], Vec<f32>>>);

impl Default for Vectors {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

/// An embedding for one piece of work, until that is stopped.
pub(super) struct WhileWanted<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) vectors: &'a Vectors,
    pub(super) stop: &'a AtomicBool,
}

impl Embedder for WhileWanted<'_> {
    fn model_id(&self) -> &str {
        self.embedder.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let stopped = || EmbedError("it was stopped".into());
        if self.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let keys: Vec<[u8; 32]> = texts
            .iter()
            .map(|text| *blake3::hash(text.as_bytes()).as_bytes())
            .collect();
        let mut found: Vec<Option<Vec<f32>>> = {
            let mut known = self
                .vectors
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        let new: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        if !new.is_empty() {
            let missing: Vec<&str> = new.iter().map(|at| texts[*at]).collect();
            let made = self.embedder.embed_stoppable(&missing, self.stop.into())?;
            let made = made.ok_or_else(stopped)?;
            let mut known = self
                .vectors
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (at, vector) in new.into_iter().zip(made) {
                known.put(keys[at], vector.clone());
                found[at] = Some(vector);
            }
        }
        let all: Option<Vec<Vec<f32>>> = found.into_iter().collect();
        all.ok_or_else(|| EmbedError("it made fewer vectors than texts".into()))
    }

    fn knows(&self, word: &str) -> bool {
        self.embedder.knows(word)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts what it is given.
    struct Counting(AtomicUsize);

    impl Embedder for Counting {
        fn model_id(&self) -> &'static str {
            "counting"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    #[test]
    fn r17_a_text_is_embedded_once_however_often_it_is_looked_at() {
        let counting = Counting(AtomicUsize::new(0));
        let (vectors, stop) = (Vectors::default(), AtomicBool::new(false));
        let embedding = WhileWanted {
            embedder: &counting,
            vectors: &vectors,
            stop: &stop,
        };
        let lengths = |texts: &[&str]| -> Vec<f32> {
            let made = embedding.embed(texts).unwrap();
            made.into_iter().map(|vector| vector[0]).collect()
        };
        assert_eq!(lengths(&["a", "bb", "ccc"]), [1.0, 2.0, 3.0]);
        assert_eq!(lengths(&["dddd", "bb", "a"]), [4.0, 2.0, 1.0]);
        assert!(lengths(&[]).is_empty());
        assert_eq!(counting.0.load(Ordering::Relaxed), 4);
        let many: Vec<String> = (0..=MOST.get()).map(|at| at.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        lengths(&many);
        lengths(&many[MOST.get()..]);
        assert_eq!(counting.0.load(Ordering::Relaxed), 4 + many.len());
        lengths(&["a"]);
        assert_eq!(counting.0.load(Ordering::Relaxed), 5 + many.len());
        stop.store(true, Ordering::Relaxed);
        assert!(embedding.embed(&["a"]).is_err());
    }
}
