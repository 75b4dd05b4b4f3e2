//! Chinese text in English words, for an embedding that was trained on English.
//!
//! The model's vocabulary has a few hundred Chinese characters and has seen hardly any of them: to it
//! all Chinese texts are alike. A dictionary's short senses, in the order of the text, are no English,
//! but a sentence embedding reads them as what they are about; and question and passage go through
//! the same words, whichever of the two languages each is in.
//!
//! Words are found by the most probable cut of a run of characters (as jieba does it: a path through
//! the words of a dictionary with their counts). See `assets/gloss/NOTICE` for what that is made from.

mod dictionary;

use std::borrow::Cow;

use dictionary::{Dictionary, Word};

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
    if let Some(dictionary) = Dictionary::open() {
        let words = cut(run, &dictionary).into_iter();
        for sense in words.flat_map(|word| dictionary.senses(word)) {
            english.push(' ');
            english.push_str(sense);
        }
    } else {
        tracing::error!("the dictionary of Chinese words is damaged");
    }
    english.push(' ');
    run.clear();
}

/// The words of the most probable cut; characters that are no word are left out.
fn cut(run: &[char], dictionary: &Dictionary) -> Vec<Word> {
    // Of each place: the best logarithm of a probability up to it, where its last word begins, and that word.
    let mut best: Vec<(f64, usize, Option<Word>)> =
        vec![(f64::NEG_INFINITY, 0, None); run.len() + 1];
    best[0].0 = 0.0;
    for start in 0..run.len() {
        let before = best[start].0;
        let mut reach = |len: usize, log_count: f64, word: Option<Word>| {
            let score = before + log_count - ALL;
            if score > best[start + len].0 {
                best[start + len] = (score, start, word);
            }
        };
        let mut stands_alone = false;
        for word in dictionary.words_at(&run[start..]) {
            stands_alone |= word.len() == 1;
            reach(word.len(), word.log_count(), Some(word));
        }
        if !stands_alone {
            reach(1, 0.0, None);
        }
    }
    let mut words = Vec::new();
    let mut end = run.len();
    while end > 0 {
        let (_, start, word) = best[end];
        words.extend(word);
        end = start;
    }
    words.reverse();
    words
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

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
