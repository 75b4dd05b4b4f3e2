//! The same sentences are looked at several times in a run: graded, graded again after a
//! refinement, quoted. Their vectors are the same each time.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::ports::{Caller, EmbedError, Embedder, TokenVectors, TokensWanted};

/// How many vectors are remembered where nothing else is said: a few runs' worth, about 12 MB at 384 dimensions.
const CAPACITY: usize = 8192;

/// An embedding that does not compute a vector twice.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vec<f32>>>,
    capacity: usize,
}

impl CachedEmbedder {
    /// Remembers what `inner` makes.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self::holding(CAPACITY, inner)
    }

    /// The same, up to so many vectors.
    pub fn holding(capacity: usize, inner: Arc<dyn Embedder>) -> Self {
        Self {
            inner,
            known: Mutex::default(),
            capacity,
        }
    }

    fn recall(&self, texts: &[&str]) -> Vec<Option<Vec<f32>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().map(|text| known.get(*text).cloned()).collect()
    }

    /// Everything is forgotten at once when it is full: a run that is going on then pays again
    /// for what it still needs, which is cheaper than keeping order on every look-up.
    fn remember(&self, texts: &[&str], vectors: &[Vec<f32>]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + texts.len() > self.capacity {
            known.clear();
        }
        for (text, vector) in texts.iter().zip(vectors).take(self.capacity) {
            known.insert((*text).to_owned(), vector.clone());
        }
    }
}

impl Embedder for CachedEmbedder {
    fn model_id(&self) -> &str {
        self.inner.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.embed_stoppable(texts, (&AtomicBool::new(false)).into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let mut found = self.recall(texts);
        let mut new: Vec<&str> = texts
            .iter()
            .zip(&found)
            .filter(|(_, vector)| vector.is_none())
            .map(|(text, _)| *text)
            .collect();
        new.sort_unstable();
        new.dedup();
        let Some(made) = self.inner.embed_stoppable(&new, caller)? else {
            return Ok(None);
        };
        if made.len() != new.len() {
            let message = format!("{} vectors for {} texts", made.len(), new.len());
            return Err(EmbedError(message.into()));
        }
        self.remember(&new, &made);
        for (text, slot) in texts.iter().zip(&mut found) {
            if slot.is_none()
                && let Ok(at) = new.binary_search(text)
            {
                *slot = Some(made[at].clone());
            }
        }
        Ok(Some(found.into_iter().flatten().collect()))
    }

    /// Vectors of tokens are too many to be remembered.
    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        self.inner.embed_tokens(texts, tokens, caller)
    }

    fn is_cpu_bound(&self) -> bool {
        self.inner.is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.inner.knows(word)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// One number for each text: its length. Counts what it was asked.
    #[derive(Default)]
    struct CountedLengths {
        asked: AtomicUsize,
    }

    impl Embedder for CountedLengths {
        fn model_id(&self) -> &'static str {
            "lengths"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.asked.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    #[test]
    fn a_vector_is_made_once_and_comes_back_in_its_place() {
        let inner = Arc::new(CountedLengths::default());
        let remembering = CachedEmbedder::new(inner.clone());
        let first = remembering.embed(&["bbb", "a", "bbb"]).unwrap();
        assert_eq!(first, [[3.0], [1.0], [3.0]]);
        let second = remembering.embed(&["cc", "a", "bbb"]).unwrap();
        assert_eq!(second, [[2.0], [1.0], [3.0]]);
        assert_eq!(inner.asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn it_holds_what_it_was_made_for() {
        for (capacity, asked) in [(2, 2), (1, 4)] {
            let inner = Arc::new(CountedLengths::default());
            let remembering = CachedEmbedder::holding(capacity, inner.clone());
            for text in ["a", "bb", "a", "bb"] {
                remembering.embed(&[text]).unwrap();
            }
            assert_eq!(inner.asked.load(Ordering::Relaxed), asked, "{capacity}");
        }
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let remembering = CachedEmbedder::new(Arc::new(CountedLengths::default()));
        for at in 0..3 * CAPACITY {
            remembering.embed(&[&at.to_string()]).unwrap();
        }
        let known = remembering.known.lock().unwrap();
        assert!(known.len() <= CAPACITY);
    }
}
