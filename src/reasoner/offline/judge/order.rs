//! The order of a question's words, and how much of it a text keeps.

use std::collections::{HashMap, HashSet};

/// Words that stand at most so far apart are near each other.
const NEAR: usize = 3;
/// Runs are sought in so many of the question's words: more would be a text and no question.
const MOST_ASKED: usize = 200;

/// The words of a question in order.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// A number for each different word.
    numbers: HashMap<String, usize>,
    /// How often two words are neighbours, the lower number first.
    neighbours: HashMap<(usize, usize), usize>,
    /// The places of each word among the first [`MOST_ASKED`].
    places: Vec<Vec<usize>>,
    length: usize,
}

impl Order {
    pub(super) fn of(terms: &[String]) -> Self {
        let mut order = Self {
            length: terms.len(),
            ..Self::default()
        };
        let mut before = None;
        for (at, term) in terms.iter().enumerate() {
            let next = order.numbers.len();
            let number = *order.numbers.entry(term.clone()).or_insert(next);
            order.places.resize(order.numbers.len(), Vec::new());
            if at < MOST_ASKED {
                order.places[number].push(at);
            }
            if let Some(before) = before.replace(number) {
                *order.neighbours.entry(sorted(before, number)).or_default() += 1;
            }
        }
        order
    }

    /// The share of its neighbours that stand near each other in `told`, in either order.
    pub(super) fn near_pairs<'a>(&self, told: impl Iterator<Item = &'a String>) -> f64 {
        let told: Vec<Option<usize>> = told.map(|term| self.numbers.get(term).copied()).collect();
        let mut near = HashSet::new();
        for (at, one) in told.iter().enumerate() {
            let behind = told[at + 1..].iter().take(NEAR);
            let pairs = behind.filter_map(|other| Some(sorted((*one)?, (*other)?)));
            near.extend(pairs);
        }
        let found = near.iter().filter_map(|pair| self.neighbours.get(pair));
        found.sum::<usize>() as f64 / self.length.saturating_sub(1).max(1) as f64
    }

    /// The longest run of words that stands in `told` too, as a share of all.
    pub(super) fn longest_run(&self, told: &[String]) -> f64 {
        let mut longest = 0;
        // How long a run ends at each place of the question with the word before.
        let mut runs: HashMap<usize, usize> = HashMap::new();
        for term in told {
            let mut next = HashMap::new();
            let places = self.numbers.get(term).map(|number| &self.places[*number]);
            for at in places.into_iter().flatten() {
                let before = at.checked_sub(1).and_then(|at| runs.get(&at));
                let length = 1 + before.copied().unwrap_or(0);
                longest = longest.max(length);
                next.insert(*at, length);
            }
            runs = next;
        }
        longest as f64 / self.length.max(1) as f64
    }
}

fn sorted(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
