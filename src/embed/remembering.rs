//! The same texts are looked at several times in a run: searched, graded, graded again after a refinement, quoted.
//! Their vectors are the same each time.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::agent::ports::{Caller, EmbedError, Embedder, TokenVectors, TokensWanted};

/// How many vectors are remembered where nothing else is said: a few runs' worth, about 12 MB at 384 dimensions.
const CAPACITY: usize = 8192;
/// Number of texts whose token vectors are kept where nothing else is said: about 18 MB with 96 tokens a text.
const TEXTS_WITH_TOKENS: usize = 128;

/// An embedding that does not compute a vector twice.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    vectors: Cache<String, Vec<f32>>,
    tokens: Cache<(String, TokensWanted), TokenVectors>,
}

impl CachedEmbedder {
    /// Remembers what `inner` makes.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self::holding(CAPACITY, TEXTS_WITH_TOKENS, inner)
    }

    /// Remembers up to so many vectors of whole texts, and the token vectors of up to so many texts.
    pub fn holding(capacity: usize, texts_with_tokens: usize, inner: Arc<dyn Embedder>) -> Self {
        Self {
            inner,
            vectors: Cache::holding(capacity),
            tokens: Cache::holding(texts_with_tokens),
        }
    }
}

/// What was used last.
struct Cache<K, V>(Mutex<LruCache<K, V>>);

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    fn holding(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::new(capacity)))
    }

    /// The values of all keys; those of unknown keys are made, each once, by their places. `None` where that was stopped.
    fn get_or_make(
        &self,
        keys: &[K],
        embed: impl FnOnce(&[usize]) -> Result<Option<Vec<V>>, EmbedError>,
    ) -> Result<Option<Vec<V>>, EmbedError> {
        let mut found: Vec<Option<V>> = {
            let mut known = self.0.lock();
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        let mut once = HashSet::new();
        let new = (0..keys.len()).filter(|at| found[*at].is_none() && once.insert(&keys[*at]));
        let new: Vec<usize> = new.collect();
        let Some(made) = embed(&new)? else {
            return Ok(None);
        };
        if made.len() != new.len() {
            let message = format!("{} vectors for {} texts", made.len(), new.len());
            return Err(EmbedError(message.into()));
        }
        let mut known = self.0.lock();
        for (at, value) in new.iter().zip(&made) {
            known.put(keys[*at].clone(), value.clone());
        }
        let made: HashMap<&K, V> = new.iter().map(|at| &keys[*at]).zip(made).collect();
        for (key, slot) in keys.iter().zip(&mut found) {
            if slot.is_none() {
                *slot = made.get(key).cloned();
            }
        }
        Ok(found.into_iter().collect())
    }
}

impl Embedder for CachedEmbedder {
    fn model_id(&self) -> &str {
        self.inner.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.embed_stoppable(texts, (&CancellationToken::new()).into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let keys: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        self.vectors.get_or_make(&keys, |new| {
            let new: Vec<&str> = new.iter().map(|at| texts[*at]).collect();
            self.inner.embed_stoppable(&new, caller)
        })
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let keys = texts.iter().map(|text| ((*text).to_owned(), tokens));
        let keys: Vec<(String, TokensWanted)> = keys.collect();
        self.tokens.get_or_make(&keys, |new| {
            let new: Vec<&str> = new.iter().map(|at| texts[*at]).collect();
            self.inner.embed_tokens(&new, tokens, caller)
        })
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
    use crate::domain::Languages;

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
            let remembering = CachedEmbedder::holding(capacity, 1, inner.clone());
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
        assert!(remembering.vectors.0.lock().len() <= CAPACITY);
    }

    #[test]
    fn r17_the_tokens_of_a_text_are_embedded_once_however_often_it_is_looked_at() {
        let inner = Arc::new(CountedLengths::default());
        let remembering = CachedEmbedder::new(inner.clone());
        let cancel = CancellationToken::new();
        let wanted = |most| TokensWanted {
            most,
            languages: Languages::English,
        };
        let lengths = |texts: &[&str], most| -> Vec<f32> {
            let made = remembering.embed_tokens(texts, wanted(most), (&cancel).into());
            let made = made.unwrap().unwrap().into_iter();
            made.map(|text| text.vectors[0][0]).collect()
        };
        assert_eq!(lengths(&["a", "bb", "ccc"], 9), [1.0, 2.0, 3.0]);
        assert_eq!(lengths(&["dddd", "bb", "a"], 9), [4.0, 2.0, 1.0]);
        assert_eq!(inner.asked.load(Ordering::Relaxed), 4);
        lengths(&["a"], 8);
        assert_eq!(inner.asked.load(Ordering::Relaxed), 5, "other tokens");
        for at in 0..TEXTS_WITH_TOKENS {
            lengths(&[&format!("text {at}")], 9);
        }
        lengths(&["a"], 9);
        let asked = 6 + TEXTS_WITH_TOKENS;
        assert_eq!(
            inner.asked.load(Ordering::Relaxed),
            asked,
            "it was too long ago"
        );
    }
}
