//! A question, as the signals look at it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::domain::{Language, Question, QuestionKind};

use super::super::question::subject_terms;
use super::terms::Pool;
use super::terms::{BlockTerms, grams, raw_words};

/// The words of a question with their weights among the blocks of a pool.
#[derive(Debug)]
pub(super) struct Query {
    /// What is compared in meaning.
    pub(super) text: String,
    pub(super) kind: QuestionKind,
    pub(super) language: Language,
    pub(super) words: IdfWeights,
    /// The words as they are written, small ones too.
    pub(super) written: IdfWeights,
    pub(super) grams: HashSet<String>,
    /// The words of what it is about, without those that ask.
    pub(super) subject: HashSet<String>,
}

impl Query {
    pub(super) fn read(question: &Question, pool: &Pool<'_>) -> Self {
        let blocks: Vec<&BlockTerms> = pool.terms.iter().flat_map(|it| &it.blocks).collect();
        let terms = &question.terms;
        let weigh = |words: Vec<String>, held: fn(&BlockTerms) -> &HashSet<String>| {
            let mut doc_freq: HashMap<&str, usize> = HashMap::new();
            for word in blocks.iter().flat_map(|block| held(block)) {
                *doc_freq.entry(word).or_default() += 1;
            }
            IdfWeights::new(words, &doc_freq, blocks.len())
        };
        Self {
            text: question.search_text(),
            kind: question.kind,
            language: question.language,
            words: weigh(terms.clone(), |block| &block.held),
            written: weigh(raw_words(&question.asked).collect(), |block| &block.written),
            grams: grams(terms.iter()),
            subject: subject_terms(question).into_iter().collect(),
        }
    }
}

/// Words, each once, with their inverse document frequency (Robertson and Spärck Jones 1976); a block counts as a
/// document.
#[derive(Debug)]
pub(super) struct IdfWeights {
    weights: BTreeMap<String, f64>,
    /// The sum of the weights; 1 where there are none.
    total: f64,
}

/// The weight of a word that all blocks hold.
const FLOOR: f64 = 0.1;

impl IdfWeights {
    fn new(words: Vec<String>, doc_freq: &HashMap<&str, usize>, documents: usize) -> Self {
        let idf = |word: &str| {
            let count = doc_freq.get(word).copied().unwrap_or_default() as f64;
            FLOOR + (1.0 + (documents as f64 - count + 0.5) / (count + 0.5)).ln()
        };
        let once: BTreeSet<String> = words.into_iter().collect();
        let weights: BTreeMap<String, f64> = once
            .into_iter()
            .map(|word| (word.clone(), idf(&word)))
            .collect();
        let total: f64 = weights.values().sum();
        Self {
            total: if total > 0.0 { total } else { 1.0 },
            weights,
        }
    }

    /// The share of the words that any of these sets holds, by weight.
    pub(super) fn share(&self, held: &[&HashSet<String>]) -> f64 {
        let is_held = |word: &String| held.iter().any(|held| held.contains(word));
        let found = self.weights.iter().filter(|(word, _)| is_held(word));
        found.map(|(_, weight)| weight).sum::<f64>() / self.total
    }
}
