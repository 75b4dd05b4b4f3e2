//! An embedding for tests.

use crate::agent::ports::{EmbedError, Embedder};

/// Each text points where its characters do.
pub(in super::super) struct Letters;

impl Embedder for Letters {
    fn model_id(&self) -> &'static str {
        "letters"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let one = |text: &&str| {
            let mut vector = [0.01_f32; 64];
            let letters = text.chars().filter(|c| c.is_alphanumeric());
            for letter in letters.flat_map(char::to_lowercase) {
                vector[letter as usize % 64] += 1.0;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().map(|x| x / length).collect()
        };
        Ok(texts.iter().map(one).collect())
    }
}
