//! The tokenizer of XLM-RoBERTa: text in one form, cut at spaces, each word into its most probable pieces.
//!
//! The cut is that of SentencePiece's unigram model (Kudo, Subword regularization, 2018). `tokenizers` reads
//! the same vocabulary into tables of its own, which takes it .7 s; here it is an automaton that is used where
//! it lies. No piece reaches over a space, so words are cut one by one and a text
//! far beyond the limit costs no more than the part read.

use fst::raw::{Fst, Output};

/// What stands before each word in place of a space.
const SPACE: &str = "\u{2581}";
/// How many bytes without a space are cut as one word; a longer run is cut as several.
const LONGEST_WORD: usize = 4096;
/// How much less probable a character without a piece is than the least probable piece.
const UNKNOWN_COSTS: f32 = 10.0;

const FIRST: i32 = 0;
const LAST: i32 = 2;
const UNKNOWN: i32 = 3;

static PIECES: &[u8] = include_bytes!("../../assets/embedding/multilingual/pieces.fst");
static SCORES: &[u8] = include_bytes!("../../assets/embedding/multilingual/scores.f32");
static FORMS: &[u8] = include_bytes!("../../assets/embedding/multilingual/forms.bin");

/// A vocabulary with the probability of each piece, and the way to cut a text into it.
pub struct Unigram {
    /// Maps the bytes of a piece to its number.
    pieces: Fst<&'static [u8]>,
    /// The logarithm of the probability of each piece, by number.
    scores: &'static [[u8; 4]],
    /// What an unknown character scores.
    unknown: f32,
    forms: Forms,
}

/// The best cut of a word up to one of its bytes.
#[derive(Clone, Copy)]
struct Cut {
    score: f32,
    /// Where the last piece begins.
    start: usize,
    piece: i32,
}

impl Unigram {
    /// The vocabulary of 250,002 pieces that multilingual-e5-small has.
    ///
    /// # Errors
    ///
    /// Says what is wrong where the asset is damaged.
    pub fn xlm_roberta() -> Result<Self, String> {
        let pieces = Fst::new(PIECES).map_err(|error| format!("the vocabulary: {error}"))?;
        let (scores, _) = SCORES.as_chunks::<4>();
        let least = scores.iter().map(|score| f32::from_le_bytes(*score));
        Ok(Self {
            pieces,
            scores,
            unknown: least.fold(0.0, f32::min) - UNKNOWN_COSTS,
            forms: Forms::open(FORMS).ok_or("the table of forms is cut off")?,
        })
    }

    /// The text between its two marks, at most `max` tokens in all.
    pub fn encode(&self, text: &str, max: usize) -> Vec<i32> {
        let room = max.saturating_sub(2);
        let mut ids = vec![FIRST];
        let mut word = String::from(SPACE);
        let mut rest = text;
        while !rest.is_empty() && ids.len() <= room {
            let (form, read) = self.forms.form_at(rest);
            rest = &rest[read..];
            for c in form.chars() {
                if c == ' ' {
                    self.finish(&mut word, &mut ids);
                    word.push_str(SPACE);
                } else {
                    word.push(c);
                }
            }
            if word.len() >= LONGEST_WORD {
                self.finish(&mut word, &mut ids);
            }
        }
        self.finish(&mut word, &mut ids);
        ids.truncate(room + 1);
        ids.push(LAST);
        ids
    }

    /// Whether a token stands for something in a text: it is no mark and not unknown.
    pub fn is_known(token: i32) -> bool {
        token > UNKNOWN
    }

    /// Appends the pieces of the word and empties it. A word of nothing but its space is none.
    fn finish(&self, word: &mut String, ids: &mut Vec<i32>) {
        if !word.is_empty() && word != SPACE {
            self.cut(word, ids);
        }
        word.clear();
    }

    /// Appends the most probable pieces; unknown characters side by side are one token.
    fn cut(&self, word: &str, ids: &mut Vec<i32>) {
        let mut best: Vec<Option<Cut>> = vec![None; word.len() + 1];
        for (start, c) in word.char_indices() {
            let before = match best[start] {
                Some(cut) => cut.score,
                None if start == 0 => 0.0,
                None => continue,
            };
            let mut reach = |end: usize, piece: i32, score: f32| {
                let score = before + score;
                if best[end].is_none_or(|known| score > known.score) {
                    best[end] = Some(Cut {
                        score,
                        start,
                        piece,
                    });
                }
            };
            let (mut node, mut output) = (self.pieces.root(), Output::zero());
            for (at, byte) in word.as_bytes()[start..].iter().enumerate() {
                let Some(index) = node.find_input(*byte) else {
                    break;
                };
                let step = node.transition(index);
                (node, output) = (self.pieces.node(step.addr), output.cat(step.out));
                if node.is_final() {
                    let piece = output.cat(node.final_output()).value() as usize;
                    let score = self.scores.get(piece).copied().unwrap_or_default();
                    let piece = i32::try_from(piece).unwrap_or(UNKNOWN);
                    reach(start + at + 1, piece, f32::from_le_bytes(score));
                }
            }
            reach(start + c.len_utf8(), UNKNOWN, self.unknown);
        }
        let from = ids.len();
        let mut end = word.len();
        while let Some(cut) = best[end].filter(|_| end > 0) {
            let is_same_gap =
                cut.piece == UNKNOWN && ids.len() > from && ids.last() == Some(&UNKNOWN);
            if !is_same_gap {
                ids.push(cut.piece);
            }
            end = cut.start;
        }
        ids[from..].reverse();
    }
}

/// What is written in place of what: NFKC with some spaces and signs more, as SentencePiece keeps it, in a
/// double array (Aoe, An efficient implementation of trie structures, 1989) as Darts-clone lays it out.
struct Forms {
    units: &'static [[u8; 4]],
    texts: &'static [u8],
}

impl Forms {
    fn open(bytes: &'static [u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<4>()?;
        let (units, texts) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        let units = units.as_chunks::<4>().0;
        Some(Self { units, texts })
    }

    /// What stands for the beginning of a text that is not empty, and how many bytes that is for: the longest
    /// that has another form, or one character as it is.
    fn form_at<'a>(&self, text: &'a str) -> (&'a str, usize)
    where
        Self: 'a,
    {
        let first = text.chars().next().map_or(0, char::len_utf8);
        let mut found = (&text[..first], first);
        let unit = |at: usize| self.units.get(at).map(|unit| u32::from_le_bytes(*unit));
        let offset = |unit: u32| ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize;
        let Some(root) = unit(0) else {
            return found;
        };
        let mut at = offset(root);
        for (place, byte) in text.bytes().enumerate() {
            at ^= usize::from(byte);
            let Some(here) = unit(at).filter(|here| here & 0x8000_00ff == u32::from(byte)) else {
                break;
            };
            at ^= offset(here);
            if here & (1 << 8) != 0
                && let Some(form) = unit(at).and_then(|leaf| self.text_at(leaf & 0x7fff_ffff))
                && text.is_char_boundary(place + 1)
            {
                found = (form, place + 1);
            }
        }
        found
    }

    fn text_at(&self, start: u32) -> Option<&'static str> {
        let rest = self.texts.get(start as usize..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// As SentencePiece 0.2 cuts them with the same vocabulary.
    #[test]
    fn tokens_are_those_of_the_reference() {
        let tokens = Unigram::xlm_roberta().unwrap();
        let reference = include_str!("../../tests/multilingual/cuts.tsv");
        let mut lines = 0;
        for line in reference.lines() {
            let (text, ids) = line.split_once('\t').unwrap();
            let ids: Vec<i32> = ids
                .split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect();
            let made = tokens.encode(text, 1_000);
            assert_eq!(made[1..made.len() - 1], ids, "{text:?}");
            lines += 1;
        }
        assert!(lines >= 200, "{lines}");
    }

    #[test]
    fn a_long_text_is_cut() {
        let tokens = Unigram::xlm_roberta().unwrap();
        for text in [
            "word ".repeat(5_000),
            "知识".repeat(100_000),
            "\u{fffd}x".repeat(9_000),
        ] {
            let ids = tokens.encode(&text, 512);
            assert_eq!((ids.len(), ids.last()), (512, Some(&LAST)));
        }
        assert_eq!(tokens.encode("", 512), [FIRST, LAST]);
        assert_eq!(tokens.encode(" \t\u{3000}", 512), [FIRST, LAST]);
    }

    /// Writes pieces.fst of the lines that `make.py` has written to the file PIECES.
    #[test]
    #[ignore = "makes an asset"]
    fn write_the_vocabulary() {
        let lines = fs::read_to_string(std::env::var_os("PIECES").unwrap()).unwrap();
        let pieces = lines.lines().map(|line| {
            let (piece, id) = line.rsplit_once('\t').unwrap();
            (piece, id.parse().unwrap())
        });
        let map = fst::Map::from_iter(pieces).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/embedding/multilingual");
        fs::write(folder.join("pieces.fst"), map.as_fst().as_bytes()).unwrap();
    }
}
