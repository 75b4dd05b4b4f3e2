//! The embedding as the judge uses it: stopped with the work that asked for it, and with the vectors of
//! the tokens of the texts that were looked at last.
//!
//! A run looks at one passage several times: in grading, in answering, and for each part and reading of a
//! question. A vector depends on its text alone, so nothing changes but the time that it takes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::agent::ports::{Caller, EmbedError, Embedder, TokenVectors, TokensWanted};

/// About 18 MB with 96 tokens a text and 384 numbers a token.
const MOST: NonZeroUsize = NonZeroUsize::new(128).unwrap();

/// The hash of a text, and which of its tokens.
type TokensKey = ([u8; 32], TokensWanted);

/// The vectors of the tokens of the texts that were looked at last.
pub(super) struct KnownTokens(Mutex<LruCache<TokensKey, TokenVectors>>);

impl Default for KnownTokens {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

/// An embedding for one piece of work, until that is stopped.
pub(super) struct WhileWanted<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) known: &'a KnownTokens,
    pub(super) stop: &'a AtomicBool,
}

impl WhileWanted<'_> {
    fn known(&self) -> MutexGuard<'_, LruCache<TokensKey, TokenVectors>> {
        self.known.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for WhileWanted<'_> {
    fn model_id(&self) -> &str {
        self.embedder.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.embedder.embed_stoppable(texts, self.stop.into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        _: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let hash = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
        let keys: Vec<TokensKey> = texts.iter().map(|text| (hash(text), tokens)).collect();
        let mut found: Vec<Option<TokenVectors>> = {
            let mut known = self.known();
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        let new: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        let missing: Vec<&str> = new.iter().map(|at| texts[*at]).collect();
        let made = self
            .embedder
            .embed_tokens(&missing, tokens, self.stop.into())?;
        let Some(made) = made.filter(|_| !self.stop.load(Ordering::Relaxed)) else {
            return Err(EmbedError("it was stopped".into()));
        };
        let mut known = self.known();
        for (at, vectors) in new.into_iter().zip(made) {
            known.put(keys[at], vectors.clone());
            found[at] = Some(vectors);
        }
        Ok(found.into_iter().collect())
    }

    fn knows(&self, word: &str) -> bool {
        self.embedder.knows(word)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const WANTED: TokensWanted = TokensWanted {
        most: 9,
        as_written: true,
    };

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
        let (known, stop) = (KnownTokens::default(), AtomicBool::new(false));
        let embedding = WhileWanted {
            embedder: &counting,
            known: &known,
            stop: &stop,
        };
        let lengths = |texts: &[&str]| -> Vec<f32> {
            let made = embedding
                .embed_tokens(texts, WANTED, (&stop).into())
                .unwrap();
            let made = made.unwrap().into_iter();
            made.map(|text| text.vectors[0][0]).collect()
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
        assert!(
            embedding
                .embed_tokens(&["a"], WANTED, (&stop).into())
                .is_err()
        );
    }
}
