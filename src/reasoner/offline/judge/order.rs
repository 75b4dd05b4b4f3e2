//! Which words of a question are neighbours.

use std::collections::HashSet;

/// Words that stand at most this far apart are near each other.
const NEAR: usize = 3;

/// The pairs of neighbouring words of a question, in alphabetical order within a pair.
#[derive(Debug, Default)]
pub(super) struct NeighbourPairs(HashSet<(String, String)>);

impl NeighbourPairs {
    pub(super) fn of(terms: &[String]) -> Self {
        let pairs = terms.windows(2).map(|pair| sorted(&pair[0], &pair[1]));
        Self(pairs.map(|(a, b)| (a.clone(), b.clone())).collect())
    }

    /// The share of the pairs whose words stand near each other in a text, in either order.
    pub(super) fn share_near(&self, text: &[String]) -> f64 {
        let mut near = HashSet::new();
        for (at, one) in text.iter().enumerate() {
            let behind = text[at + 1..].iter().take(NEAR);
            near.extend(behind.map(|other| sorted(one, other)));
        }
        let is_near = |(a, b): &&(String, String)| near.contains(&(a, b));
        self.0.iter().filter(is_near).count() as f64 / self.0.len().max(1) as f64
    }
}

fn sorted<'a>(a: &'a String, b: &'a String) -> (&'a String, &'a String) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_neighbours_of_a_question_are_found_near_each_other() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let pairs = NeighbourPairs::of(&words("run ignored tests"));
        assert!((pairs.share_near(&words("the tests that are ignored")) - 0.5).abs() < 1e-9);
        assert!((pairs.share_near(&words("ignored run the tests")) - 1.0).abs() < 1e-9);
        assert!(pairs.share_near(&words("run a b c d ignored")) < 1e-9);
        assert!(NeighbourPairs::of(&[]).share_near(&words("a b")) < 1e-9);
    }
}
