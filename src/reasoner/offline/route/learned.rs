//! Is this small talk, is it complex: four logistic regressions of 10 to 31 KB, trained by
//! `assets/routing/train.py`, which says from what, and how well they do.
//!
//! What they are fed is the same here as there, and `vectors.jsonl` holds the script's own results for
//! a test to compare. Neither case nor punctuation is a feature: people leave out both, and the data of one
//! class may have neither.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::domain::Language;
use crate::reasoner::regex;

/// The factor of a vector of length 1, beside n-grams that count 1 each.
const VECTOR: f64 = 6.0;

const SMALL_TALK: &[u8] = include_bytes!("../../../../assets/routing/small-talk-en.bin");
const SMALL_TALK_ZH: &[u8] = include_bytes!("../../../../assets/routing/small-talk-zh.bin");
const COMPLEXITY: &[u8] = include_bytes!("../../../../assets/routing/complexity-en.bin");
const COMPLEXITY_ZH: &[u8] = include_bytes!("../../../../assets/routing/complexity-zh.bin");

/// How likely a message is small talk, 0 to 1, by its words and by its vector, where there is one. `None` in a language
/// that no weights were trained for.
pub fn small_talk(text: &str, language: Language, vector: &[f32]) -> Option<f64> {
    let words = tokens(text);
    let (file, longest, prints) = match language {
        Language::EN => (SMALL_TALK, 1, fingerprints_of_letters(&words)),
        Language::ZH => (SMALL_TALK_ZH, 2, fingerprints_of_words(&words)),
        _ => return None,
    };
    let weights = Weights::read(file)?;
    let mut counts = foreign_counts(&words, longest, |print| weights.knows(print));
    counts.extend(vector.iter().map(|value| VECTOR * f64::from(*value)));
    Some(weights.probability(&prints, &counts))
}

/// How likely a question is complex, 0 to 1. `None` in a language that no weights were trained for.
pub fn complexity(text: &str, language: Language) -> Option<f64> {
    let words = tokens(text);
    let (file, prints, counts) = match language {
        Language::EN => {
            let prints = fingerprints_of_form(&words);
            (COMPLEXITY, prints, complexity_counts(&words).to_vec())
        }
        Language::ZH => {
            let prints = fingerprints_of_words(&words);
            (COMPLEXITY_ZH, prints, length_counts(&words).to_vec())
        }
        _ => return None,
    };
    Some(Weights::read(file)?.probability(&prints, &counts))
}

// What the learned weights are fed; `assets/routing/train.py` computes the same.

/// More words than this say nothing new about the kind of a message.
const MOST_WORDS: usize = 80;
/// Runs of letters of these lengths are read.
const LETTERS: [usize; 2] = [3, 4];

/// A Han character, or a run of letters of any other script and figures.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    let han = r"\u{3400}-\u{4dbf}\u{4e00}-\u{9fff}\u{f900}-\u{faff}";
    let signs = concat!(
        r"\x00-/:-@\[-`{-\u{bf}\u{d7}\u{f7}\u{2000}-\u{2bff}\u{2e00}-\u{2e7f}\u{3000}-\u{303f}",
        r"\u{e000}-\u{f8ff}\u{fe00}-\u{fe4f}\u{ff00}-\u{ffef}\u{1f000}-\u{1ffff}",
    );
    regex(&format!("[{han}]|[^{han}{signs}]+"))
});
static DIGITS: LazyLock<Regex> = LazyLock::new(|| regex("[0-9]+"));

/// Lower-case words without apostrophes; a Han character is a word. A run of digits becomes `0`.
pub fn tokens(text: &str) -> Vec<String> {
    let text = text.replace(['\'', '’', '‘'], "");
    let text = DIGITS.replace_all(&text, "0");
    let words = WORD.find_iter(&text).take(MOST_WORDS);
    words.map(|word| word.as_str().to_lowercase()).collect()
}

/// Fingerprints of the words and pairs of words, the borders of the text among them; sorted, without repetition.
pub fn fingerprints_of_words(words: &[String]) -> Vec<u32> {
    fingerprints(words.iter().map(String::as_str).collect(), 2)
}

/// The same, and fingerprints of runs of letters within a word with its borders: what typing errors leave of it. A
/// sign in front tells the runs from words.
pub fn fingerprints_of_letters(words: &[String]) -> Vec<u32> {
    let mut prints = fingerprints_of_words(words);
    for word in words {
        let letters: Vec<char> = format!("<{word}>").chars().collect();
        for run in LETTERS.iter().flat_map(|length| letters.windows(*length)) {
            let run: String = ['#'].iter().chain(run).collect();
            prints.push(fingerprint(&[run]));
        }
    }
    sorted(prints)
}

/// Fingerprints of runs of up to three words of the form: words outside the list become one sign a run.
pub fn fingerprints_of_form(words: &[String]) -> Vec<u32> {
    let mut signs: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let sign = match word.as_str() {
            word if is_listed("form", word) || word == "0" => word,
            word if is_past(word) => "_ed",
            _ => "_",
        };
        match signs.last_mut() {
            Some(last) if sign == "_" && matches!(*last, "_" | "__") => *last = "__",
            _ => signs.push(sign),
        }
    }
    fingerprints(signs, 3)
}

/// How many runs of words no small talk of the training data holds, for each length up to
/// `longest`, and how many words there are; each 0 to 2.
pub fn foreign_counts(
    words: &[String],
    longest: usize,
    is_known: impl Fn(u32) -> bool,
) -> Vec<f64> {
    let foreign = (1..=longest).map(|length| {
        let runs = words.windows(length);
        let foreign = runs.filter(|run| !is_known(fingerprint(run)));
        capped(foreign.count(), 4, 2.0)
    });
    foreign.chain([capped(words.len(), 12, 12.0)]).collect()
}

/// The length of a question in three numbers from 0 to 2.
pub fn length_counts(words: &[String]) -> [f64; 3] {
    let count = words.len();
    [
        capped(count, 8, 8.0),
        capped(count.saturating_sub(8), 12, 12.0),
        capped(count.saturating_sub(20), 24, 12.0),
    ]
}

/// Length and build of a question in sixteen numbers from 0 to 2.
pub fn complexity_counts(words: &[String]) -> [f64; 16] {
    let count = words.len();
    let inner = words.get(1..).unwrap_or_default();
    let is_topic: Vec<bool> = words.iter().map(|word| !is_listed("form", word)).collect();
    let topic_runs = (0..count).filter(|at| is_topic[*at] && (*at == 0 || !is_topic[at - 1]));
    let first_asking = words.iter().position(|word| is_listed("asking", word));
    let first_is = |list| words.first().is_some_and(|word| is_listed(list, word));
    let inside = |wanted: &str| inner.iter().any(|word| word == wanted);
    let count_of = |list, words: &[String]| words.iter().filter(|it| is_listed(list, it)).count();
    [
        capped(count, 8, 8.0),
        capped(count.saturating_sub(8), 8, 8.0),
        capped(count.saturating_sub(16), 24, 12.0),
        capped(count_of("relative", inner), 3, 2.0),
        capped(count_of("preposition", words), 6, 3.0),
        capped(words.iter().filter(|word| is_past(word)).count(), 3, 2.0),
        f64::from(inside("or")),
        f64::from(inside("and")),
        f64::from(first_is("auxiliary")),
        f64::from(first_is("asking")),
        f64::from(first_asking.is_some_and(|at| at * 2 > count)),
        f64::from(first_asking.is_none()),
        capped(count_of("asking", words), 3, 2.0),
        capped(topic_runs.count(), 6, 3.0),
        capped(is_topic.iter().filter(|it| **it).count(), 12, 6.0),
        f64::from(words.iter().any(|word| word == "0")),
    ]
}

/// Whether a list of words by which the form of a question is read holds this one.
fn is_listed(list: &str, word: &str) -> bool {
    static LISTS: LazyLock<HashSet<(&str, &str)>> = LazyLock::new(|| {
        let lines = include_str!("../../../../assets/routing/words.txt").lines();
        let lists = lines.filter_map(|line| line.split_once(':'));
        let words = lists.flat_map(|(name, words)| words.split(' ').map(move |it| (name, it)));
        words.collect()
    });
    LISTS.contains(&(list, word))
}

fn is_past(word: &str) -> bool {
    word.ends_with("ed") && word.chars().count() > 4
}

fn capped(count: usize, most: usize, unit: f64) -> f64 {
    count.min(most) as f64 / unit
}

fn fingerprints(words: Vec<&str>, longest: usize) -> Vec<u32> {
    let mut prints: Vec<u32> = words.chunks(1).map(fingerprint).collect();
    let bordered = [vec!["<"], words, vec![">"]].concat();
    let runs = (2..=longest).flat_map(|length| bordered.windows(length));
    prints.extend(runs.map(fingerprint));
    sorted(prints)
}

fn sorted(mut prints: Vec<u32>) -> Vec<u32> {
    prints.sort_unstable();
    prints.dedup();
    prints
}

/// FNV-1a over the words with a space between them, folded to 24 bits.
fn fingerprint(words: &[impl AsRef<str>]) -> u32 {
    let mut value: u32 = 0x811c_9dc5;
    for (at, word) in words.iter().enumerate() {
        let space = if at == 0 { "" } else { " " };
        for byte in space.bytes().chain(word.as_ref().bytes()) {
            value = (value ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    (value ^ (value >> 24)) & 0x00ff_ffff
}

// A file of weights: `KBR1`, the bias and the worth of one step as `f32`, then as `u16` the number
// of counts, of known runs and of n-grams; the weights of the counts as `f32`, the fingerprints of
// the known runs, and for each n-gram its fingerprint and its weight as `i8` steps. Numbers are
// little-endian, but fingerprints have three bytes and lie in big-endian order, sorted.

const MAGIC: &[u8] = b"KBR1";
const PRINT: usize = 3;
const ENTRY: usize = PRINT + 1;

/// A file of weights as it lies in the program; nothing is copied.
pub struct Weights {
    bias: f64,
    step: f64,
    counts: &'static [u8],
    known: &'static [u8],
    table: &'static [u8],
}

impl Weights {
    /// Reads a file; `None` where it is none.
    pub fn read(file: &'static [u8]) -> Option<Self> {
        let rest = file.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_at_checked(14)?;
        let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (counts, rest) = rest.split_at_checked(4 * number(8))?;
        let (known, table) = rest.split_at_checked(PRINT * number(10))?;
        (table.len() == ENTRY * number(12)).then_some(Self {
            bias: float(&head[..4]),
            step: float(&head[4..8]),
            counts,
            known,
            table,
        })
    }

    /// `prints` without repetition.
    pub fn probability(&self, prints: &[u32], counts: &[f64]) -> f64 {
        let steps: i32 = prints.iter().map(|print| self.weight(*print)).sum();
        let mut score = self.bias + self.step * f64::from(steps);
        for (weight, count) in self.counts.chunks_exact(4).zip(counts) {
            score += float(weight) * count;
        }
        1.0 / (1.0 + (-score.clamp(-60.0, 60.0)).exp())
    }

    fn weight(&self, print: u32) -> i32 {
        find::<ENTRY>(self.table, print).map_or(0, |entry| i32::from(entry[PRINT].cast_signed()))
    }

    /// Whether small talk of the training data holds a run of words.
    pub fn knows(&self, print: u32) -> bool {
        find::<PRINT>(self.known, print).is_some()
    }
}

fn float(bytes: &[u8]) -> f64 {
    let bytes = bytes.try_into();
    bytes.map_or(0.0, |bytes| f64::from(f32::from_le_bytes(bytes)))
}

/// The record of `SIZE` bytes that begins with this fingerprint.
fn find<const SIZE: usize>(records: &'static [u8], print: u32) -> Option<&'static [u8; SIZE]> {
    let (records, _) = records.as_chunks::<SIZE>();
    let wanted = print.to_be_bytes();
    let found = records.binary_search_by(|record| record[..PRINT].cmp(&wanted[1..]));
    found.ok().map(|at| &records[at])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The script that trains wrote down what it computes; the program must compute the same.
    #[test]
    fn the_program_and_the_training_agree() {
        let mut compared: BTreeMap<String, usize> = BTreeMap::new();
        for line in include_str!("../../../../assets/routing/vectors.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = row["text"].as_str().unwrap();
            let model = row["model"].as_str().unwrap();
            let vector = row["vector"].as_array().into_iter().flatten();
            let vector: Vec<f32> = vector.map(|value| value.as_f64().unwrap() as f32).collect();
            let computed = match model {
                "small-talk-en" => small_talk(text, Language::EN, &vector),
                "small-talk-zh" => small_talk(text, Language::ZH, &[]),
                "complexity-zh" => complexity(text, Language::ZH),
                _ => complexity(text, Language::EN),
            };
            let computed = computed.unwrap();
            let expected = row["probability"].as_f64().unwrap();
            assert!(
                (computed - expected).abs() < 5e-6,
                "{model}: {text:?}: {computed}, not {expected}"
            );
            *compared.entry(model.to_owned()).or_default() += 1;
        }
        assert_eq!(compared.len(), 4);
        assert!(compared.values().all(|count| *count >= 15), "{compared:?}");
    }

    #[test]
    fn case_and_punctuation_change_nothing() {
        let question = "What is the name of the team that owns the service behind the portal?";
        let expected = complexity(question, Language::EN);
        for other in [
            question.to_lowercase(),
            question.to_uppercase(),
            question.trim_end_matches('?').to_owned(),
            question.replace(' ', "  "),
        ] {
            assert_eq!(complexity(&other, Language::EN), expected, "{other}");
        }
        assert_eq!(
            small_talk("What’s up?", Language::EN, &[]),
            small_talk("whats up", Language::EN, &[])
        );
    }
}

#[cfg(test)]
mod weights_tests {
    use super::*;

    #[test]
    fn the_files_of_weights_can_be_read_and_are_small() {
        for file in [SMALL_TALK, SMALL_TALK_ZH, COMPLEXITY, COMPLEXITY_ZH] {
            let weights = Weights::read(file).unwrap();
            assert!(weights.table.len() > 1_000 && file.len() <= 32 * 1024);
            for records in [weights.table.chunks(ENTRY), weights.known.chunks(PRINT)] {
                let prints: Vec<&[u8]> = records.map(|record| &record[..PRINT]).collect();
                assert!(prints.is_sorted_by(|a, b| a < b));
            }
            assert!(Weights::read(&file[..file.len() - 1]).is_none());
        }
        assert!(Weights::read(b"KBR1").is_none());
        assert!(Weights::read(b"").is_none());
    }
}
