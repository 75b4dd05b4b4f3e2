//! The passages that a search finds, and what it remembers while it goes through the files: little, and the same whichever thread
//! comes by which file first.
//!
//! What a word is worth is known only at the end, when it is known in how many files it stands.
//! Until then passages that would rank alike in any case (same words, together on a line or not,
//! as many matches) are one class, and of a class only the first few in the order of the files can
//! ever be shown. Should there be very many classes, those with the fewest words go first. Both
//! rules keep what they would keep of all passages together, however these are dealt out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{LineRange, Place, Score};

/// The most matches that are counted; more do not make a passage better.
const MANY_HITS: u8 = 20;
/// Passages remembered by a thread, at most twice; more only if more are asked for.
pub(super) const MAX_REMEMBERED: usize = 4096;

/// Where a passage is and which words it holds, one bit each.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Where among the roots its file is found.
    pub root: usize,
    pub path: Arc<PathBuf>,
    pub lines: LineRange,
    pub class: RankClass,
    /// The line that holds the most words; the first of them.
    pub best_line: usize,
    /// Where that line begins in the file.
    pub offset: u64,
}

/// Passages of one class rank alike, whatever the words are worth. Best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RankClass {
    words: (u32, u32),
    /// The words that a heading in it holds: what stands below is about them.
    heading_mask: u64,
    hits: u8,
    pub mask: u64,
    /// The best of its single lines: words that stand together belong together.
    pub best_mask: u64,
}

impl RankClass {
    /// Makes the class of a passage of one line.
    pub fn of_line(mask: u64, is_heading: bool) -> Self {
        Self {
            heading_mask: if is_heading { mask } else { 0 },
            words: (mask.count_ones(), mask.count_ones()),
            hits: 1,
            mask,
            best_mask: mask,
        }
    }

    /// Adds one more line; returns whether it is the best so far.
    pub fn add(&mut self, mask: u64, is_heading: bool) -> bool {
        if is_heading {
            self.heading_mask |= mask;
        }
        let better = mask.count_ones() > self.words.1;
        if better {
            self.best_mask = mask;
        }
        self.mask |= mask;
        self.words = (self.mask.count_ones(), self.best_mask.count_ones());
        self.hits = (self.hits + 1).min(MANY_HITS);
        better
    }

    /// How often it matches, up to [`MANY_HITS`].
    pub fn hits(self) -> u8 {
        self.hits
    }

    /// Whether no passage can be better.
    pub fn is_best(self, full: u64) -> bool {
        self.best_mask == full && self.hits == MANY_HITS
    }
}

impl Candidate {
    fn place(&self) -> (usize, &PathBuf, usize) {
        (self.root, &self.path, self.lines.start)
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Candidates are in the order of their files, as the walk of the index lists them.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

/// The passages that one thread, or all of them, have found.
#[derive(Debug)]
pub(super) struct Tally {
    /// How many of a class are kept.
    keep: usize,
    classes: BTreeMap<RankClass, BTreeSet<Candidate>>,
    remembered: usize,
    /// For each word, how many files hold it.
    holding: Vec<usize>,
    /// How many files were searched.
    files: usize,
}

impl Tally {
    pub fn new(words: usize, keep: usize) -> Self {
        Self {
            keep,
            classes: BTreeMap::new(),
            remembered: 0,
            holding: vec![0; words],
            files: 0,
        }
    }

    /// How many passages of a class are kept.
    pub fn keep(&self) -> usize {
        self.keep
    }

    /// Counts a file with the words that it holds anywhere.
    pub fn count_file(&mut self, mask: u64) {
        self.files += 1;
        for (word, count) in self.holding.iter_mut().enumerate() {
            *count += usize::from(mask & (1 << word) != 0);
        }
    }

    /// Remembers a passage if it may be one of the best.
    pub fn offer(&mut self, candidate: Candidate) {
        let class = self.classes.entry(candidate.class).or_default();
        if class.len() >= self.keep {
            if class.last().is_some_and(|last| *last < candidate) {
                return;
            }
            class.pop_last();
            self.remembered -= 1;
        }
        class.insert(candidate);
        self.remembered += 1;
        if self.remembered >= 2 * MAX_REMEMBERED.max(self.keep) {
            self.forget();
        }
    }

    /// Takes what another thread found, or what one file holds.
    pub fn join(&mut self, other: Self) {
        self.files += other.files;
        for (count, more) in self.holding.iter_mut().zip(other.holding) {
            *count += more;
        }
        for candidate in other.classes.into_values().flatten() {
            self.offer(candidate);
        }
    }

    /// The passages with the share of the query that each covers, best first.
    pub fn ranked(mut self) -> Vec<(Candidate, f64)> {
        self.forget();
        let weights = self.weights();
        let all: f64 = weights.iter().sum();
        let mut classes: Vec<_> = self.classes.into_iter().collect();
        // Whole numbers sort; the millionth part of a weight does not matter.
        let worth = |mask: u64| (weight_of(mask, &weights) * 1e6) as u64;
        let rank = |class: &RankClass| {
            let words = (worth(class.mask), worth(class.best_mask));
            (words, worth(class.heading_mask), class.hits())
        };
        classes.sort_by_cached_key(|(class, _)| std::cmp::Reverse(rank(class)));
        classes
            .chunk_by(|(a, _), (b, _)| {
                // Classes of equal worth stand together in the order of the files.
                rank(a) == rank(b)
            })
            .flat_map(|equals| {
                let mut together: Vec<&Candidate> = equals
                    .iter()
                    .flat_map(|(_, candidates)| candidates)
                    .collect();
                together.sort();
                together
            })
            .map(|candidate| {
                let covered = weight_of(candidate.class.mask, &weights);
                (candidate.clone(), covered / all.max(f64::MIN_POSITIVE))
            })
            .collect()
    }

    /// Keeps the passages with the most words, and of those the first.
    fn forget(&mut self) {
        let most = MAX_REMEMBERED.max(self.keep);
        let mut kept = 0;
        for (_, candidates) in self.classes.iter_mut().rev() {
            let room = most - kept;
            while candidates.len() > room {
                candidates.pop_last();
            }
            kept += candidates.len();
        }
        self.classes.retain(|_, candidates| !candidates.is_empty());
        self.remembered = kept;
    }

    /// The weight of each word of the query: rarer words among the files weigh more.
    fn weights(&self) -> Vec<f64> {
        let files = self.files as f64;
        self.holding
            .iter()
            .map(|&holding| {
                let holding = holding as f64;
                ((files - holding + 0.5) / (holding + 0.5)).ln_1p()
            })
            .collect()
    }
}

fn weight_of(mask: u64, weights: &[f64]) -> f64 {
    weights
        .iter()
        .enumerate()
        .filter(|(word, _)| mask & (1 << word) != 0)
        .map(|(_, weight)| weight)
        .sum()
}

/// How many lines are shown before and after a match.
pub(super) const CONTEXT_LINES: usize = 10;
/// The most lines of a merged passage, or a file that matches everywhere would be one passage.
pub(super) const MAX_PASSAGE_LINES: usize = 80;
/// The most bytes of a passage: wide lines are shown with fewer lines around them.
pub(super) const MAX_PASSAGE_BYTES: usize = 40_000;
/// The most bytes that are shown of one line; longer lines are data.
pub(crate) const MAX_LINE_BYTES: usize = 4000;

/// Matching lines with what surrounds them.
#[derive(Debug, Clone, PartialEq)]
pub struct GrepPassage {
    /// The file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// The lines from the first match to the last.
    pub matching: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The text of these lines.
    pub text: String,
    /// The share of the query's words that it holds, rare words counting more; 1.0 for a pattern.
    pub score: Score,
}

/// How a query was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    /// Words, any of which may match.
    Words,
    /// A regular expression.
    Pattern,
    /// Words after all: as the regular expression that it is by its marks, it is found nowhere.
    WordsOfPattern,
    /// Literal text, though it has the marks of a regular expression: it does not compile.
    BrokenPattern,
    /// Literal text, because there is no word in it.
    Marks,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(file: usize, line: usize, masks: &[u64]) -> Candidate {
        let mut class = RankClass::of_line(masks[0], false);
        for &mask in &masks[1..] {
            class.add(mask, false);
        }
        Candidate {
            root: 0,
            path: Arc::new(PathBuf::from(format!("f{file:03}"))),
            lines: LineRange {
                start: line,
                end: line,
            },
            class,
            best_line: line,
            offset: 0,
        }
    }

    fn places(tally: Tally) -> Vec<String> {
        tally
            .ranked()
            .into_iter()
            .map(|(found, _)| format!("{}:{}", found.path.display(), found.lines.start))
            .collect()
    }

    #[test]
    fn what_is_kept_does_not_depend_on_who_found_it_when() {
        let all: Vec<Candidate> = (0..20_000_usize)
            .map(|n| {
                let mask = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52 | 1;
                candidate(n % 200, n, &[mask])
            })
            .collect();
        let mut results = Vec::new();
        for threads in [1, 2, 7] {
            let mut tallies: Vec<Tally> = (0..threads).map(|_| Tally::new(12, 3)).collect();
            for (n, found) in all.iter().enumerate() {
                tallies[n * 31 % threads].offer(found.clone());
            }
            tallies[0].count_file(0xFFF);
            let together = tallies.into_iter().reduce(|mut all, one| {
                all.join(one);
                all
            });
            results.push(places(together.unwrap()));
        }
        assert_eq!(results[0].len(), MAX_REMEMBERED);
        assert!(results.iter().all(|found| *found == results[0]));
    }

    #[test]
    fn headings_and_many_matches_come_before_the_first_files() {
        let mut tally = Tally::new(1, 5);
        tally.offer(candidate(1, 1, &[1; 3]));
        tally.offer(candidate(2, 1, &[1; 9]));
        let mut headed = candidate(3, 1, &[1]);
        headed.class = RankClass::of_line(1, true);
        tally.offer(headed);
        for _ in 0..4 {
            tally.count_file(1);
        }
        assert_eq!(places(tally), ["f003:1", "f002:1", "f001:1"]);
    }

    #[test]
    fn a_rare_word_is_worth_more_than_a_common_one() {
        let mut tally = Tally::new(2, 5);
        tally.offer(candidate(1, 1, &[0b01, 0b01, 0b01]));
        tally.offer(candidate(2, 1, &[0b10]));
        tally.offer(candidate(3, 9, &[0b01, 0b10]));
        tally.offer(candidate(4, 1, &[0b11]));
        for mask in [0b01, 0b10, 0b11, 0b11, 0b01, 0b01, 0, 0, 0, 0] {
            tally.count_file(mask);
        }
        assert_eq!(places(tally), ["f004:1", "f003:9", "f002:1", "f001:1"]);
    }
}
