//! The dictionary of Chinese words, searched where it lies: nothing is unpacked.
//!
//! Laid out by `assets/gloss/make.py`, which says how. A lookup that leads out of the data finds nothing.

use std::iter;

/// English words have at most so many bytes.
const LONGEST_ENGLISH: usize = 32;

const DATA: &[u8] = include_bytes!("../../../assets/gloss/zh-en.bin");

/// Words by their first character.
pub(super) struct Dictionary {
    /// A character, and where the words that begin with it start in `words`; ordered.
    firsts: &'static [[u8; 6]],
    words: &'static [u8],
    /// How many English words have one byte, two bytes, and so on.
    lengths: &'static [[u8; 2]],
    /// The English words, the short ones first.
    english: &'static [u8],
}

/// A word of the dictionary.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// Its characters behind the first.
    rest: &'static [[u8; 2]],
    /// Ten times the logarithm of its count.
    log_count_tenths: u8,
    /// The numbers of the English words; none where it only builds sentences.
    senses: &'static [[u8; 2]],
}

impl Dictionary {
    /// The one in the program; `None` if its data is cut off.
    pub fn open() -> Option<Self> {
        let (firsts, data) = DATA.split_first_chunk()?;
        let (words, data) = data.split_first_chunk()?;
        let firsts = 6 * u32::from_le_bytes(*firsts) as usize;
        let (firsts, data) = data.split_at_checked(firsts)?;
        let (words, data) = data.split_at_checked(u32::from_le_bytes(*words) as usize)?;
        let (lengths, english) = data.split_at_checked(2 * LONGEST_ENGLISH)?;
        Some(Self {
            firsts: firsts.as_chunks().0,
            words,
            lengths: lengths.as_chunks().0,
            english,
        })
    }

    /// The words that `text` begins with, the short ones first.
    pub fn words_at(&self, text: &[char]) -> impl Iterator<Item = Word> {
        let (first, rest) = match text {
            [first, rest @ ..] => (u16::try_from(u32::from(*first)).ok(), rest),
            [] => (None, text),
        };
        let words = first.into_iter().flat_map(|first| self.words_with(first));
        words.filter(move |word| word.begins(rest))
    }

    /// Those that begin with this character, in their order.
    fn words_with(&self, first: u16) -> impl Iterator<Item = Word> + use<> {
        let number = |[low, high, ..]: &[u8; 6]| u16::from_le_bytes([*low, *high]);
        let start = |[_, _, start @ ..]: &[u8; 6]| u32::from_le_bytes(*start) as usize;
        let at = self.firsts.binary_search_by_key(&first, number);
        let range = at.ok().map(|at| {
            let next = self.firsts.get(at + 1);
            start(&self.firsts[at])..next.map_or(self.words.len(), start)
        });
        let mut words = range
            .and_then(|range| self.words.get(range))
            .unwrap_or_default();
        iter::from_fn(move || Word::take(&mut words))
    }

    /// What a word means, in English words.
    pub fn senses(&self, word: Word) -> impl Iterator<Item = &'static str> {
        let numbers = word.senses.iter().map(|number| u16::from_le_bytes(*number));
        numbers.filter_map(|number| self.english_word(number.into()))
    }

    fn english_word(&self, mut number: usize) -> Option<&'static str> {
        let mut words = self.english;
        for (length, count) in (1..).zip(self.lengths) {
            let count = u16::from_le_bytes(*count).into();
            if number < count {
                let word = words.get(number * length..(number + 1) * length)?;
                return str::from_utf8(word).ok();
            }
            number -= count;
            words = words.get(count * length..)?;
        }
        None
    }
}

impl Word {
    /// The first of `words`, taken from them.
    fn take(words: &mut &'static [u8]) -> Option<Self> {
        let ([counts, log_count_tenths], rest) = words.split_first_chunk()?;
        let (characters, rest) = rest.split_at_checked(2 * usize::from(counts % 8))?;
        let (senses, rest) = rest.split_at_checked(2 * usize::from(counts / 8))?;
        *words = rest;
        Some(Self {
            rest: characters.as_chunks().0,
            log_count_tenths: *log_count_tenths,
            senses: senses.as_chunks().0,
        })
    }

    /// Whether what stands behind its first character begins `text`.
    fn begins(&self, text: &[char]) -> bool {
        let same = |(one, other): (&[u8; 2], &char)| {
            u32::from(u16::from_le_bytes(*one)) == u32::from(*other)
        };
        self.rest.len() <= text.len() && self.rest.iter().zip(text).all(same)
    }

    /// In characters.
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// The logarithm of its count.
    pub fn log_count(&self) -> f64 {
        f64::from(self.log_count_tenths) / 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All words, each with its first character.
    fn all(dictionary: &Dictionary) -> impl Iterator<Item = (char, Word)> {
        dictionary.firsts.iter().flat_map(|[low, high, ..]| {
            let first = u16::from_le_bytes([*low, *high]);
            let c = char::from_u32(first.into()).unwrap();
            dictionary.words_with(first).map(move |word| (c, word))
        })
    }

    fn characters(first: char, word: &Word) -> Vec<char> {
        let rest = word.rest.iter().map(|c| u16::from_le_bytes(*c).into());
        let rest = rest.map(|c| char::from_u32(c).unwrap());
        iter::once(first).chain(rest).collect()
    }

    #[test]
    fn every_word_of_the_dictionary_is_found() {
        let dictionary = Dictionary::open().unwrap();
        let words: Vec<(Vec<char>, Word)> = all(&dictionary)
            .map(|(first, word)| (characters(first, &word), word))
            .collect();
        assert!(words.is_sorted_by(|(a, _), (b, _)| a < b));
        assert!(words.len() > 100_000);
        for (text, word) in &words {
            let longer = [text.as_slice(), &['龘']].concat();
            let found = dictionary.words_at(&longer).last().unwrap();
            assert_eq!(
                (found.len(), found.log_count_tenths),
                (text.len(), word.log_count_tenths)
            );
            assert_eq!(dictionary.senses(*word).count(), word.senses.len());
        }
    }

    #[test]
    fn the_words_that_a_text_begins_with_are_found_in_order() {
        let dictionary = Dictionary::open().unwrap();
        let found = |text: &str| -> Vec<(usize, String)> {
            let text: Vec<char> = text.chars().collect();
            let words = dictionary.words_at(&text);
            let meant = |word: Word| dictionary.senses(word).collect::<Vec<_>>().join(" ");
            words.map(|word| (word.len(), meant(word))).collect()
        };
        let meant = [(1, "end finish"), (2, "end terminal")];
        assert_eq!(
            found("终端的"),
            meant.map(|(len, text)| (len, text.to_owned()))
        );
        // Two characters that are words, and no word together.
        assert!(found("的的").iter().all(|(len, _)| *len == 1));
        for text in ["", "a", "龘龘", "𠀀"] {
            assert!(found(text).is_empty(), "{text}");
        }
        assert_eq!(found("的")[0].1, "");
    }
}
