//! Chinese text in English words, for an embedding that was trained on English.
//!
//! The model's vocabulary has a few hundred Chinese characters and has seen hardly any of them: to it
//! all Chinese texts are alike. A dictionary's short senses, in the order of the text, are no English,
//! but a sentence embedding reads them as what they are about; and question and passage go through
//! the same words, whichever of the two languages each is in.
//!
//! Words are found by the most probable cut of a run of characters (as jieba does it: a path through
//! the words of a dictionary with their counts). The dictionary is searched where it lies, in sorted
//! lines, unpacked when the first Chinese text comes. See `assets/gloss/NOTICE` for what it is made from.

use std::borrow::Cow;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

/// Sorted lines of a word, ten times the logarithm of its count, and what it means.
static WORDS: LazyLock<String> = LazyLock::new(|| {
    let packed = include_bytes!("../../assets/gloss/zh-en.tsv.gz");
    let mut words = String::new();
    if let Err(error) = GzDecoder::new(packed.as_slice()).read_to_string(&mut words) {
        tracing::error!(%error, "the dictionary of Chinese words is damaged");
    }
    words
});
/// Longer words are not in it, in characters.
const LONGEST: usize = 5;
/// The logarithm of the count of all words together.
const ALL: f64 = 18.0;
/// More characters than this fill what the model reads several times over.
const READ: usize = 2_000;

/// The text with its Chinese in English words; as it is where it has none.
pub(super) fn in_english(text: &str) -> Cow<'_, str> {
    if !text.contains(is_han) {
        return Cow::Borrowed(text);
    }
    let mut english = String::with_capacity(text.len());
    let mut run = Vec::new();
    for c in text.chars().take(READ) {
        if is_han(c) {
            run.push(c);
        } else {
            append_senses(&mut run, &mut english);
            english.push(c);
        }
    }
    append_senses(&mut run, &mut english);
    Cow::Owned(english)
}

/// Appends what a run of characters means and empties it.
fn append_senses(run: &mut Vec<char>, english: &mut String) {
    if run.is_empty() {
        return;
    }
    for word in cut(run) {
        if let Some(entry) = entry(&word).filter(|entry| !entry.means.is_empty()) {
            english.push(' ');
            english.push_str(entry.means);
        }
    }
    english.push(' ');
    run.clear();
}

/// The words of the most probable cut.
fn cut(run: &[char]) -> Vec<String> {
    // Of each place: the best logarithm of a probability up to it, and where its last word begins.
    let mut best = vec![(f64::NEG_INFINITY, 0); run.len() + 1];
    best[0].0 = 0.0;
    for start in 0..run.len() {
        let mut word = String::new();
        for end in start + 1..=run.len().min(start + LONGEST) {
            word.push(run[end - 1]);
            let often = match entry(&word) {
                Some(entry) => entry.often,
                None if end == start + 1 => 0.0,
                None => continue,
            };
            let score = best[start].0 + often - ALL;
            if score > best[end].0 {
                best[end] = (score, start);
            }
        }
    }
    let mut words = Vec::new();
    let mut end = run.len();
    while end > 0 {
        let start = best[end].1;
        words.push(run[start..end].iter().collect());
        end = start;
    }
    words.reverse();
    words
}

/// A line of the dictionary.
struct GlossEntry {
    /// The logarithm of its count.
    often: f64,
    /// Its senses; empty where it only builds sentences.
    means: &'static str,
}

/// Searches by halving between line ends.
fn entry(word: &str) -> Option<GlossEntry> {
    let bytes = WORDS.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low.midpoint(high);
        let start = bytes[low..middle].iter().rposition(|byte| *byte == b'\n');
        let start = start.map_or(low, |at| low + at + 1);
        let end = bytes[start..].iter().position(|byte| *byte == b'\n');
        let end = end.map_or(bytes.len(), |at| start + at);
        let mut cells = WORDS.get(start..end)?.split('\t');
        match cells.next()?.cmp(word) {
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => {
                let often = cells.next()?.parse::<f64>().ok()? / 10.0;
                let means = cells.next()?;
                return Some(GlossEntry { often, means });
            }
        }
    }
    None
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_dictionary_is_found() {
        let words: Vec<&str> = WORDS.lines().filter_map(|l| l.split('\t').next()).collect();
        assert!(words.is_sorted_by(|a, b| a < b));
        assert!(words.len() > 50_000);
        for word in words
            .iter()
            .step_by(97)
            .chain(words.first())
            .chain(words.last())
        {
            assert!(entry(word).is_some(), "{word}");
            assert!(word.chars().count() <= LONGEST, "{word}");
        }
        for word in ["", "a", "的的", "龘龘", "一二三四五"] {
            assert!(entry(word).is_none(), "{word}");
        }
    }

    #[test]
    fn chinese_is_glossed_in_english_and_everything_else_stays() {
        for (text, words) in [
            ("证据的分数", &["evidence", "mark"] as &[&str]),
            ("怎样修改 threshold？", &["amend", "threshold？"]),
            ("會議室在哪裡", &["meeting room"]),
        ] {
            let english = in_english(text);
            for word in words {
                assert!(english.contains(word), "{text}: {english}");
            }
            assert!(!english.contains(is_han), "{text}: {english}");
        }
        for text in ["", "Where is it?", "カタカナ", "naïve café"] {
            assert!(matches!(in_english(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn very_long_text_is_read_in_part() {
        let long = "知识".repeat(100_000);
        assert!(in_english(&long).len() < 100_000);
    }
}
