//! Words of a question with what they weigh.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Each word of a question once, with its weight.
#[derive(Debug, Default)]
pub(super) struct Weighed {
    weights: BTreeMap<String, f64>,
    /// The sum of the weights; 1 where there are none, so that it can be divided by.
    total: f64,
    /// The heaviest weight; 1 where there are none.
    heaviest: f64,
}

/// What a word weighs at least that all units hold.
const FLOOR: f64 = 0.1;

impl Weighed {
    /// Weighs words that so many of `all` units hold: the inverse document frequency of Robertson and Spärck
    /// Jones (1976), each unit being a document.
    pub(super) fn new(
        words: impl Iterator<Item = String>,
        holding: impl Fn(&str) -> usize,
        all: usize,
    ) -> Self {
        let idf =
            |count: usize| (1.0 + (all as f64 - count as f64 + 0.5) / (count as f64 + 0.5)).ln();
        let once: BTreeSet<String> = words.collect();
        let weighed = once.into_iter().map(|word| {
            let weight = FLOOR + idf(holding(&word));
            (word, weight)
        });
        let weights: BTreeMap<String, f64> = weighed.collect();
        let or_one = |value: f64| if value > 0.0 { value } else { 1.0 };
        Self {
            total: or_one(weights.values().sum()),
            heaviest: or_one(weights.values().copied().fold(0.0, f64::max)),
            weights,
        }
    }

    /// The share of the words that any of these sets holds, by weight.
    pub(super) fn share(&self, held: &[&HashSet<String>]) -> f64 {
        self.of(held).iter().sum::<f64>() / self.total
    }

    /// The weight of the heaviest word that the set holds, as a share of the heaviest of all.
    pub(super) fn heaviest(&self, held: &HashSet<String>) -> f64 {
        self.of(&[held]).into_iter().fold(0.0, f64::max) / self.heaviest
    }

    /// The weights of the words that any of these sets holds, by word. Takes no longer than the shorter side.
    fn of(&self, held: &[&HashSet<String>]) -> Vec<f64> {
        if self.weights.len() <= held.iter().map(|held| held.len()).sum() {
            let found = self.weights.iter();
            let found = found.filter(|(word, _)| held.iter().any(|held| held.contains(*word)));
            return found.map(|(_, weight)| *weight).collect();
        }
        let once: BTreeSet<&String> = held.iter().copied().flatten().collect();
        once.into_iter()
            .filter_map(|word| self.weights.get(word).copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> HashSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn shares_are_the_same_from_either_side() {
        let words = ["otter", "pump", "well"].map(str::to_owned);
        let rare = |word: &str| usize::from(word != "otter");
        let weighed = Weighed::new(words.into_iter(), rare, 4);
        let few = [set(&["well"]), set(&["pump"])];
        let many = [
            set(&["well", "a", "b", "c", "d"]),
            set(&["pump", "well", "e", "f", "g"]),
        ];
        let share = |of: &[HashSet<String>; 2]| weighed.share(&[&of[0], &of[1]]);
        assert!((share(&few) - share(&many)).abs() < f64::EPSILON);
        assert!(share(&few) > 0.4 && share(&few) < 0.6, "{}", share(&few));
        assert!((weighed.heaviest(&set(&["otter"])) - 1.0).abs() < f64::EPSILON);
        assert!(weighed.heaviest(&many[0]) > 0.0 && weighed.heaviest(&many[0]) < 1.0);
        assert!(weighed.heaviest(&set(&["a"])) < f64::EPSILON);
    }
}
