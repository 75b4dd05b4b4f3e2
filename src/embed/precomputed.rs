//! Vectors that were made before: texts that the program carries need not be embedded again on
//! every machine.
//!
//! The file is one line with the id of the model, and then for each text its hash and its vector in
//! whole numbers with a scale, which is all that an index keeps of it: an edited text has another hash and
//! goes to the model.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::ports::{BulkPriority, Caller, EmbedError, Embedder};

use super::DIMENSIONS;

const HASH_BYTES: usize = 16;
const SCALE_BYTES: usize = 4;
const RECORD_BYTES: usize = HASH_BYTES + SCALE_BYTES + DIMENSIONS;

type TextHash = [u8; HASH_BYTES];

/// An embedding that takes the vectors it has from a file and asks the model for all others.
pub struct Precomputed {
    inner: Arc<dyn Embedder>,
    vectors: HashMap<TextHash, &'static [u8]>,
}

impl Precomputed {
    /// The vectors in `file`, unless another model than `inner` made them.
    pub fn new(inner: Arc<dyn Embedder>, file: &'static [u8]) -> Self {
        let end = file.iter().position(|byte| *byte == b'\n');
        let (model, records) = file.split_at(end.unwrap_or(file.len()));
        let vectors = if model == inner.model_id().as_bytes() {
            let (records, _) = records
                .get(1..)
                .unwrap_or_default()
                .as_chunks::<RECORD_BYTES>();
            let split = records
                .iter()
                .filter_map(|record| record.split_first_chunk());
            split.map(|(hash, vector)| (*hash, vector)).collect()
        } else {
            HashMap::new()
        };
        Self { inner, vectors }
    }

    /// How many vectors there are.
    pub fn count(&self) -> usize {
        self.vectors.len()
    }

    /// The file for these texts and their vectors, in the order of their hashes.
    pub fn file(model: &str, texts: &[(String, Vec<f32>)]) -> Vec<u8> {
        let hashed = texts.iter().map(|(text, vector)| (hash(text), vector));
        let mut records: Vec<_> = hashed.collect();
        records.sort_unstable_by_key(|(hash, _)| *hash);
        records.dedup_by_key(|(hash, _)| *hash);
        let mut file = format!("{model}\n").into_bytes();
        for (hash, vector) in records {
            let largest = vector.iter().map(|number| number.abs()).fold(0.0, f32::max);
            let scale = largest.max(f32::MIN_POSITIVE) / f32::from(i8::MAX);
            let whole = vector.iter().map(|number| (number / scale).round() as i8);
            file.extend(hash);
            file.extend(scale.to_le_bytes());
            file.extend(whole.map(i8::cast_unsigned));
        }
        file
    }

    fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let (scale, numbers) = self.vectors.get(&hash(text))?.split_first_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        let numbers = numbers.iter().map(|number| f32::from(number.cast_signed()));
        Some(numbers.map(|number| number * scale).collect())
    }

    fn or_else(
        &self,
        texts: &[&str],
        embed: impl FnOnce(&[&str]) -> Result<Option<Vec<Vec<f32>>>, EmbedError>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let mut found: Vec<Option<Vec<f32>>> = texts.iter().map(|text| self.vector(text)).collect();
        let missing = |(_, vector): &(&&str, &Option<Vec<f32>>)| vector.is_none();
        let others = texts.iter().zip(&found).filter(missing);
        let others: Vec<&str> = others.map(|(text, _)| *text).collect();
        if !others.is_empty() {
            let Some(made) = embed(&others)? else {
                return Ok(None);
            };
            if made.len() != others.len() {
                let message = format!("{} vectors for {} texts", made.len(), others.len());
                return Err(EmbedError(message.into()));
            }
            let empty = found.iter_mut().filter(|vector| vector.is_none());
            for (slot, vector) in empty.zip(made) {
                *slot = Some(vector);
            }
        }
        Ok(Some(found.into_iter().flatten().collect()))
    }
}

impl Embedder for Precomputed {
    fn model_id(&self) -> &str {
        self.inner.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.or_else(texts, |others| self.inner.embed(others).map(Some))?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn is_cpu_bound(&self) -> bool {
        self.inner.is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.inner.knows(word)
    }

    fn length_now(&self) -> Option<usize> {
        self.inner.length_now()
    }

    fn last_refusal(&self) -> Option<EmbedError> {
        self.inner.last_refusal()
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.or_else(texts, |others| self.inner.embed_stoppable(others, caller))
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.or_else(texts, |others| {
            self.inner.embed_unless(others, priority, cancel)
        })
    }
}

fn hash(text: &str) -> TextHash {
    let mut hash = [0; HASH_BYTES];
    blake3::Hasher::new()
        .update(text.as_bytes())
        .finalize_xof()
        .fill(&mut hash);
    hash
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// A vector of nothing but the text's length; keeps what it was asked.
    struct Lengths {
        id: &'static str,
        asked: Mutex<Vec<String>>,
    }

    impl Lengths {
        fn new(id: &'static str) -> Arc<Self> {
            Arc::new(Self {
                id,
                asked: Mutex::default(),
            })
        }
    }

    impl Embedder for Lengths {
        fn model_id(&self) -> &str {
            self.id
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            let mut asked = self.asked.lock();
            asked.extend(texts.iter().map(|text| (*text).to_owned()));
            Ok(texts.iter().map(|text| of_length(text.len())).collect())
        }
    }

    fn of_length(length: usize) -> Vec<f32> {
        vec![length as f32; DIMENSIONS]
    }

    fn file() -> &'static [u8] {
        let known = [("aa", 20), ("bbb", 30)];
        let known = known.map(|(text, vector)| (text.to_owned(), of_length(vector)));
        Precomputed::file("lengths", &known).leak()
    }

    #[test]
    fn only_what_is_not_in_the_file_is_asked_of_the_model() {
        let inner = Lengths::new("lengths");
        let embedder = Precomputed::new(inner.clone(), file());
        assert_eq!(embedder.count(), 2);
        let made = embedder.embed(&["new", "bbb", "n", "aa", "bbb"]).unwrap();
        assert_eq!(made, [3, 30, 1, 20, 30].map(of_length));
        assert_eq!(*inner.asked.lock(), ["new", "n"]);
        let cancel = CancellationToken::new();
        assert!(
            embedder
                .embed_unless(&["aa"], BulkPriority::Idle, &cancel)
                .unwrap()
                .is_some()
        );
        assert_eq!(inner.asked.lock().len(), 2);
    }

    #[test]
    fn another_model_makes_all_vectors_itself() {
        let embedder = Precomputed::new(Lengths::new("other"), file());
        assert_eq!(embedder.count(), 0);
        assert_eq!(embedder.embed(&["aa"]).unwrap(), [of_length(2)]);
    }

    #[test]
    fn a_file_that_is_cut_off_holds_what_is_whole() {
        for (bytes, whole) in [(0, 0), (7, 0), (8, 0), (8 + RECORD_BYTES, 1), (9, 0)] {
            let cut = &file()[..bytes];
            assert_eq!(
                Precomputed::new(Lengths::new("lengths"), cut).count(),
                whole
            );
        }
    }
}
