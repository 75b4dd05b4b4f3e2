//! What the learned weights are fed; `assets/routing/train.py` computes the same.

use std::collections::HashSet;
use std::sync::LazyLock;

/// More words than this say nothing new about the kind of a message.
const MOST_WORDS: usize = 80;
const BEGIN: &str = "<";
const END: &str = ">";
/// Runs of letters of these lengths are read; the sign tells them from words.
const LETTERS: [usize; 2] = [3, 4];
const LETTER_SIGN: &str = "#";

/// Lower-case words without apostrophes; a Han character is a word. A run of digits becomes `0`.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if words.len() >= MOST_WORDS {
            return words;
        }
        if matches!(c, '\'' | '’' | '‘') {
            continue;
        }
        let han = is_han(c);
        if han || is_sign(c) {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if han {
                words.push(c.to_string());
            }
        } else if c.is_ascii_digit() {
            if !word.ends_with('0') {
                word.push('0');
            }
        } else {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words.truncate(MOST_WORDS);
    words
}

/// The words and pairs of words, the borders of the text among them; sorted, without repetition.
pub(super) fn fingerprints_of_words(words: &[String]) -> Vec<u32> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    fingerprints(&words, 2)
}

/// Words, pairs of words, and runs of three and four letters within a word, its borders counting as letters: what
/// typing errors leave of it.
pub(super) fn fingerprints_of_letters(words: &[String]) -> Vec<u32> {
    let mut prints = fingerprints_of_words(words);
    for word in words {
        let letters: Vec<char> = BEGIN
            .chars()
            .chain(word.chars())
            .chain(END.chars())
            .collect();
        for length in LETTERS {
            let runs = letters.windows(length);
            prints.extend(runs.map(|run| {
                let run: String = LETTER_SIGN.chars().chain(run.iter().copied()).collect();
                fingerprint([run.as_str()].into_iter())
            }));
        }
    }
    prints.sort_unstable();
    prints.dedup();
    prints
}

/// Runs of up to three words of the form: words outside the list become one sign a run.
pub(super) fn fingerprints_of_form(words: &[String]) -> Vec<u32> {
    let mut signs: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let sign = if listed("form", word) {
            word.as_str()
        } else if word == "0" {
            "0"
        } else if is_past(word) {
            "_ed"
        } else {
            "_"
        };
        match signs.last_mut() {
            Some(last) if sign == "_" && matches!(*last, "_" | "__") => *last = "__",
            _ => signs.push(sign),
        }
    }
    fingerprints(&signs, 3)
}

/// How many runs of words no small talk of the training data holds, for each length up to
/// `longest`, and how many words there are; each 0 to 2.
pub(super) fn foreign_counts(
    words: &[String],
    longest: usize,
    knows: impl Fn(u32) -> bool,
) -> Vec<f64> {
    let mut counts: Vec<f64> = (1..=longest)
        .map(|length| {
            let runs = words.windows(length);
            let foreign = runs.filter(|run| !knows(fingerprint(run.iter().map(String::as_str))));
            capped(foreign.count(), 4, 2.0)
        })
        .collect();
    counts.push(capped(words.len(), 12, 12.0));
    counts
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
    let about: Vec<bool> = words.iter().map(|word| !listed("form", word)).collect();
    let runs = (0..count).filter(|at| about[*at] && (*at == 0 || !about[at - 1]));
    let asking = |word: &String| listed("asking", word);
    let first_asking = words.iter().position(asking);
    let first_is = |list| words.first().is_some_and(|word| listed(list, word));
    let inside = |wanted: &str| inner.iter().any(|word| word == wanted);
    let many = |list, words: &[String]| words.iter().filter(|word| listed(list, word)).count();
    [
        capped(count, 8, 8.0),
        capped(count.saturating_sub(8), 8, 8.0),
        capped(count.saturating_sub(16), 24, 12.0),
        capped(many("relative", inner), 3, 2.0),
        capped(many("preposition", words), 6, 3.0),
        capped(words.iter().filter(|word| is_past(word)).count(), 3, 2.0),
        flag(inside("or")),
        flag(inside("and")),
        flag(first_is("auxiliary")),
        flag(first_is("asking")),
        flag(first_asking.is_some_and(|at| at * 2 > count)),
        flag(first_asking.is_none()),
        capped(many("asking", words), 3, 2.0),
        capped(runs.count(), 6, 3.0),
        capped(about.iter().filter(|it| **it).count(), 12, 6.0),
        flag(words.iter().any(|word| word == "0")),
    ]
}

/// Whether a list of words by which the form of a question is read holds this one.
fn listed(list: &str, word: &str) -> bool {
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

fn fingerprints(words: &[&str], longest: usize) -> Vec<u32> {
    let bordered: Vec<&str> = [BEGIN]
        .into_iter()
        .chain(words.iter().copied())
        .chain([END])
        .collect();
    let mut prints: Vec<u32> = words
        .iter()
        .map(|word| fingerprint([*word].into_iter()))
        .collect();
    for length in 2..=longest {
        let runs = bordered.windows(length);
        prints.extend(runs.map(|run| fingerprint(run.iter().copied())));
    }
    prints.sort_unstable();
    prints.dedup();
    prints
}

/// FNV-1a over the words with a space between them, folded to 24 bits.
fn fingerprint<'a>(words: impl Iterator<Item = &'a str>) -> u32 {
    let mut value: u32 = 0x811c_9dc5;
    for (at, word) in words.enumerate() {
        let space = if at == 0 { "" } else { " " };
        for byte in space.bytes().chain(word.bytes()) {
            value = (value ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    (value ^ (value >> 24)) & 0x00ff_ffff
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// What parts words; the letters of all scripts do not.
fn is_sign(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => !c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}'
        | '×'
        | '÷'
        | '\u{2000}'..='\u{2bff}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fe00}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{1f000}'..='\u{1ffff}' => true,
        _ => false,
    }
}
