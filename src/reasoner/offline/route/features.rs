//! What the learned weights are fed; `assets/routing/train.py` computes the same.

use std::collections::HashSet;
use std::sync::LazyLock;

/// More words than this say nothing new about the kind of a message.
const MOST_WORDS: usize = 80;
/// Runs of letters of these lengths are read.
const LETTERS: [usize; 2] = [3, 4];

/// Lower-case words without apostrophes; a Han character is a word. A run of digits becomes `0`.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let letters = text.chars().filter(|c| !matches!(c, '\'' | '’' | '‘'));
    // The sign at the end ends the last word.
    for c in letters.chain([' ']) {
        if is_han(c) || is_sign(c) {
            words.push(std::mem::take(&mut word));
            words.extend(is_han(c).then(|| c.to_string()));
        } else if !c.is_ascii_digit() {
            word.extend(c.to_lowercase());
        } else if !word.ends_with('0') {
            word.push('0');
        }
    }
    words.retain(|word| !word.is_empty());
    words.truncate(MOST_WORDS);
    words
}

/// Fingerprints of the words and pairs of words, the borders of the text among them; sorted, without repetition.
pub(super) fn fingerprints_of_words(words: &[String]) -> Vec<u32> {
    fingerprints(words.iter().map(String::as_str).collect(), 2)
}

/// Fingerprints of words, pairs of words, and runs of three and four letters within a word, its borders counting as
/// letters: what typing errors leave of it. A sign in front tells the runs from words.
pub(super) fn fingerprints_of_letters(words: &[String]) -> Vec<u32> {
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
pub(super) fn fingerprints_of_form(words: &[String]) -> Vec<u32> {
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
pub(super) fn foreign_counts(
    words: &[String],
    longest: usize,
    is_known: impl Fn(u32) -> bool,
) -> Vec<f64> {
    let foreign = (1..=longest).map(|length| {
        let runs = words.windows(length);
        capped(
            runs.filter(|run| !is_known(fingerprint(run))).count(),
            4,
            2.0,
        )
    });
    foreign.chain([capped(words.len(), 12, 12.0)]).collect()
}

/// The length of a question in three numbers from 0 to 2.
pub(super) fn length_counts(words: &[String]) -> [f64; 3] {
    let count = words.len();
    [
        capped(count, 8, 8.0),
        capped(count.saturating_sub(8), 12, 12.0),
        capped(count.saturating_sub(20), 24, 12.0),
    ]
}

/// Length and build of a question in sixteen numbers from 0 to 2.
pub(super) fn complexity_counts(words: &[String]) -> [f64; 16] {
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
        flag(inside("or")),
        flag(inside("and")),
        flag(first_is("auxiliary")),
        flag(first_is("asking")),
        flag(first_asking.is_some_and(|at| at * 2 > count)),
        flag(first_asking.is_none()),
        capped(count_of("asking", words), 3, 2.0),
        capped(topic_runs.count(), 6, 3.0),
        capped(is_topic.iter().filter(|it| **it).count(), 12, 6.0),
        flag(words.iter().any(|word| word == "0")),
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

fn flag(it: bool) -> f64 {
    f64::from(u8::from(it))
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

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a character separates words; the letters of all scripts do not.
fn is_sign(c: char) -> bool {
    #[rustfmt::skip]
    let is_other_sign = matches!(
        u32::from(c),
        0x80..=0xbf | 0xd7 | 0xf7 | 0x2000..=0x2bff | 0x2e00..=0x2e7f | 0x3000..=0x303f | 0xe000..=0xf8ff
        | 0xfe00..=0xfe4f | 0xff00..=0xffef | 0x1_f000..=0x1_ffff
    );
    is_other_sign || c.is_ascii() && !c.is_ascii_alphanumeric()
}
