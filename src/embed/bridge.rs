//! Questions in other languages over vectors of the model for English.
//!
//! The two models of the binary write the same sentence to different places. A linear map, fitted by least squares on
//! sentences and their translations (`assets/embedding/bridge/fit.py`), takes a vector of the one to about where the other
//! would have put the English sentence (Mikolov et al., Exploiting Similarities among Languages for Machine Translation, 2013).

use half::f16;

use super::{DIMENSIONS, normalised};

/// Maps a vector of multilingual-e5-small to the space of all-MiniLM-L6-v2. The result has length 1.
pub(super) fn map_to_english(vector: &[f32]) -> Vec<f32> {
    // Within the function: the bytes of a static are copied into the metadata at every build.
    let table: &[u8] = include_bytes!("../../assets/embedding/bridge/to_english.f16");
    let (numbers, _) = table.as_chunks::<2>();
    let mut mapped = vec![0.0; DIMENSIONS];
    // The last row is the offset, which each vector gets whole.
    let inputs = vector.iter().copied().chain([1.0]);
    for (input, row) in inputs.zip(numbers.chunks(DIMENSIONS)) {
        for (sum, number) in mapped.iter_mut().zip(row) {
            *sum += input * f16::from_le_bytes(*number).to_f32();
        }
    }
    normalised(mapped)
}

#[cfg(test)]
mod tests {
    use super::super::{BuiltInModel, SentenceEmbedding};
    use super::*;
    use crate::agent::ports::Embedder;

    #[test]
    fn a_question_in_another_language_lands_nearest_to_its_passage() {
        let passages = [
            "Rotate the API keys every ninety days.",
            "The oven must be preheated before the bread goes in.",
            "Employees get twenty-five days of holiday a year.",
        ];
        let questions = [
            "Wie oft werden die API-Schlüssel gewechselt?",
            "¿Cuándo se precalienta el horno para el pan?",
            "员工每年有多少天假期？",
        ];
        let english = SentenceEmbedding::new(BuiltInModel::English);
        let passages = english.embed(&passages).unwrap();
        let multilingual = SentenceEmbedding::new(BuiltInModel::Multilingual);
        for (at, question) in questions.iter().enumerate() {
            let asked = map_to_english(&multilingual.embed(&[question]).unwrap()[0]);
            let cosine = |passage: &[f32]| passage.iter().zip(&asked).map(|(a, b)| a * b).sum();
            let cosines: Vec<f32> = passages.iter().map(|passage| cosine(passage)).collect();
            let best = cosines.iter().copied().fold(f32::MIN, f32::max);
            assert!(
                (cosines[at] - best).abs() < f32::EPSILON,
                "{question}: {cosines:?}"
            );
        }
    }
}
