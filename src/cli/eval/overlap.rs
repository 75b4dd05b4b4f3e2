//! How much of a question's words a sentence holds, by inverse document frequency: what a sentence
//! can be chosen by without any engine, and so what an engine must do better than.
//!
//! Words are runs of letters and digits in lower case, neither stemmed nor left out; of scripts
//! without spaces, single characters and neighbouring pairs. The document frequencies are those of
//! all passages of a set, also where only some of its questions are asked.

use std::collections::{BTreeSet, HashMap};

use crate::text::is_cjk;

/// In how many passages each word stands.
#[derive(Debug, Default)]
pub(super) struct DocFreq {
    passages: usize,
    holding: HashMap<String, usize>,
}

impl DocFreq {
    /// Counts one more passage.
    pub fn add<'a>(&mut self, sentences: impl Iterator<Item = &'a str>) {
        self.passages += 1;
        let words: BTreeSet<String> = sentences.flat_map(words).collect();
        for word in words {
            *self.holding.entry(word).or_default() += 1;
        }
    }

    fn idf(&self, word: &str) -> f64 {
        let holding = self.holding.get(word).copied().unwrap_or(0) as f64;
        (1.0 + (self.passages as f64 - holding + 0.5) / (holding + 0.5)).ln()
    }

    /// The share of the question's words that each sentence holds, by idf, 0–1.
    pub fn overlap(&self, question: &str, sentences: &[&str]) -> Vec<f64> {
        let asked: Vec<(String, f64)> = words(question)
            .into_iter()
            .map(|word| {
                let idf = self.idf(&word);
                (word, idf)
            })
            .collect();
        let all: f64 = asked.iter().map(|(_, idf)| idf).sum();
        let share = |sentence: &&str| {
            let held = words(sentence);
            let shared = asked.iter().filter(|(word, _)| held.contains(word));
            let shared: f64 = shared.map(|(_, idf)| idf).sum();
            if all > 0.0 { shared / all } else { 0.0 }
        };
        sentences.iter().map(share).collect()
    }
}

/// In the order of their letters, so that sums over them are the same on every run.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut before = None;
    for c in text.to_lowercase().chars().chain([' ']) {
        let is_cjk = is_cjk(c);
        if !is_cjk && c.is_alphanumeric() {
            word.push(c);
        } else if !word.is_empty() {
            found.insert(std::mem::take(&mut word));
        }
        if is_cjk {
            found.insert(c.to_string());
            if let Some(before) = before {
                found.insert(String::from_iter([before, c]));
            }
        }
        before = is_cjk.then_some(c);
    }
    found
}

/// The place of the highest number; of equal ones the first.
pub(super) fn first_best(scores: &[f64]) -> Option<usize> {
    let places = (0..scores.len()).rev();
    places.max_by(|&a, &b| scores[a].total_cmp(&scores[b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_characters_with_their_pairs() {
        let found: Vec<String> = words("The R2-pump: 40 °C!").into_iter().collect();
        assert_eq!(found, ["40", "c", "pump", "r2", "the"]);
        let found: Vec<String> = words("用A泵水").into_iter().collect();
        assert_eq!(found, ["a", "水", "泵", "泵水", "用"]);
    }

    #[test]
    fn rare_words_of_the_set_count_more() {
        let mut doc_freq = DocFreq::default();
        for passage in [&["a b"][..], &["a", "a c"], &["a"]] {
            doc_freq.add(passage.iter().copied());
        }
        // Of three passages all hold a, one holds c, none holds d.
        let (a, c, d) = (
            (1.0_f64 + 0.5 / 3.5).ln(),
            (1.0_f64 + 2.5 / 1.5).ln(),
            (1.0_f64 + 3.5 / 0.5).ln(),
        );
        let found = doc_freq.overlap("A, c? d!", &["a a", "c", "b"]);
        for (found, expected) in found.iter().zip([a, c, 0.0]) {
            assert!((found - expected / (a + c + d)).abs() < 1e-12, "{found}");
        }
        assert_eq!(doc_freq.overlap("?", &["a"]), [0.0]);
    }

    #[test]
    fn of_equal_sentences_the_first_is_taken() {
        assert_eq!(first_best(&[0.1, 0.4, 0.4, 0.2]), Some(1));
        assert_eq!(first_best(&[0.0, 0.0]), Some(0));
        assert_eq!(first_best(&[]), None);
    }
}
