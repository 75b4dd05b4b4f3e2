//! What the learned weights are fed; `assets/routing/train.py` computes the same.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::language::regex;

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
        lists
            .flat_map(|(name, words)| words.split(' ').map(move |word| (name, word)))
            .collect()
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
