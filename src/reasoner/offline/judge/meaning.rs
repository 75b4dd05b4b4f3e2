//! How near the blocks of a pool are to a question in meaning, token by token.
//!
//! One vector for a whole block says what it is about; whether it holds each thing that is asked for shows in its
//! tokens. So each token of the question looks for the nearest token of the block (late interaction: Khattab and
//! Zaharia, ColBERT, 2020), and a token that few blocks hold counts more.

use std::collections::{HashMap, HashSet};

use tokio_util::sync::CancellationToken;
use wide::f32x8;

use super::super::passage::{Block, Passage};
use super::matching;
use super::terms::{BlockTerms, Pool, Query};
use crate::agent::ports::{EmbedError, Embedder, TokenVectors, TokensWanted};
use crate::domain::Languages;
use crate::text::LetterCounts;

/// What is compared in meaning, which costs more than everything else that is measured of a block.
struct Limits {
    /// Blocks that are embedded, those that share most with the question in words.
    blocks: usize,
    /// Tokens of a block that are looked at, those of its headings included.
    tokens: usize,
}

impl Limits {
    /// More blocks of fewer tokens cost the same, and more often hold the one that answers: in English, where 64 tokens are
    /// a paragraph.
    const fn of(languages: Languages) -> Self {
        match languages {
            Languages::English => Self {
                blocks: 16,
                tokens: 64,
            },
            Languages::All => Self {
                blocks: 10,
                tokens: 96,
            },
        }
    }
}

/// Headings that stand before the text of a block, the innermost ones.
const HEADINGS: usize = 2;
/// How much the best sentence of a block counts where the blocks to be embedded are chosen.
const SENTENCE_SHARE: f64 = 0.3;

/// What the embedding tells of the blocks of a pool.
pub(super) struct Meaning {
    /// How near each block of each passage is to the question, -1 to 1.
    pub(super) nearness: Vec<Vec<f64>>,
    /// The log-odds that each block answers, by the network for English; 0 in other languages.
    pub(super) matching: Vec<Vec<f64>>,
    /// The languages of the embedding that compared them.
    pub(super) languages: Languages,
}

/// Compares the blocks with the question. A block that is not looked at is as far as the farthest of the others.
pub(super) fn compare(
    query: &Query,
    pool: &Pool,
    promising: &[bool],
    embedder: &dyn Embedder,
) -> Result<Meaning, EmbedError> {
    let mut chosen = nearest_in_words(query, pool, promising);
    let block_at = |(passage, block): &(usize, usize)| &pool.passages[*passage].blocks[*block];
    let texts = chosen.iter().map(block_at).map(text_below_headings);
    let texts: Vec<String> = texts.collect();
    let mut texts: Vec<&str> = std::iter::once(query.text.as_str())
        .chain(texts.iter().map(String::as_str))
        .collect();
    let languages = languages_of(query, &texts);
    let limits = Limits::of(languages);
    chosen.truncate(limits.blocks);
    texts.truncate(1 + limits.blocks);
    // Nobody cancels it: the embedder of a run brings the token of the run (`CancellableEmbedder`), and a measurement is
    // not cancelled.
    let cancel = CancellationToken::new();
    let wanted = TokensWanted {
        most: limits.tokens,
        languages,
    };
    let vectors = embedder.embed_tokens(&texts, wanted, (&cancel).into())?;
    let (question, blocks) = vectors
        .as_deref()
        .and_then(<[TokenVectors]>::split_first)
        .ok_or_else(|| EmbedError("it made no vector of the question".into()))?;
    let weights = token_weights(question, blocks);
    let near = |block| late_interaction(question, &weights, block);
    let nearness: Vec<f64> = blocks.iter().map(near).collect();
    let matching = match languages {
        Languages::English => matching::log_odds_in_english(question, blocks)?,
        Languages::All => vec![0.0; blocks.len()],
    };
    Ok(Meaning {
        nearness: spread(&nearness, &chosen, pool),
        matching: spread(&matching, &chosen, pool),
        languages,
    })
}

/// The values of the chosen blocks in their places; every other block has the least of them.
fn spread(values: &[f64], chosen: &[(usize, usize)], pool: &Pool) -> Vec<Vec<f64>> {
    let least = values.iter().copied().reduce(f64::min).unwrap_or_default();
    let all = |passage: &Passage| vec![least; passage.blocks.len()];
    let mut of_blocks: Vec<Vec<f64>> = pool.passages.iter().map(all).collect();
    for ((passage, block), value) in chosen.iter().zip(values) {
        of_blocks[*passage][*block] = *value;
    }
    of_blocks
}

/// A block as it is compared: its innermost headings, and what it says.
pub(super) fn text_below_headings(block: &Block) -> String {
    let headings = &block.headings[block.headings.len().saturating_sub(HEADINGS)..];
    format!("{}: {}", headings.join(" "), block.text)
}

/// The languages that an embedding must read to compare a question, the first of these texts, with the others.
fn languages_of(query: &Query, texts: &[&str]) -> Languages {
    let letters: LetterCounts = texts.iter().map(|it| LetterCounts::of_passage(it)).sum();
    if query.is_english && 2 * letters.foreign < letters.all {
        Languages::English
    } else {
        Languages::All
    }
}

/// The blocks that share most with the question in words, by the places of their passages and their own.
fn nearest_in_words(query: &Query, pool: &Pool, promising: &[bool]) -> Vec<(usize, usize)> {
    let mut ranked: Vec<(f64, (usize, usize))> = Vec::new();
    let passages = pool.terms.iter().enumerate();
    for (passage, terms) in passages.filter(|(at, _)| promising[*at]) {
        for (block, terms) in terms.blocks.iter().enumerate() {
            let sentence = best_sentence(query, terms).map_or(0.0, |it| it.1);
            let share = query.stems.share(&[&terms.with_topic]);
            let found = &pool.found[passage];
            let found = found.score + found.meaning_rank;
            ranked.push((share + found + SENTENCE_SHARE * sentence, (passage, block)));
        }
    }
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let most = Limits::of(Languages::English).blocks;
    ranked
        .into_iter()
        .take(most)
        .map(|(_, place)| place)
        .collect()
}

/// The inverse document frequency of each token of a question (Spärck Jones 1972), a block counting as a document; smoothed,
/// so that a token that all blocks hold counts too. Words have another form (`terms.rs`).
fn token_weights(question: &TokenVectors, blocks: &[TokenVectors]) -> Vec<f32> {
    let mut doc_freq: HashMap<i32, usize> = HashMap::new();
    for block in blocks {
        let once: HashSet<i32> = block.tokens.iter().copied().collect();
        for token in once {
            *doc_freq.entry(token).or_default() += 1;
        }
    }
    let count = blocks.len() as f32;
    let weight = |token: &i32| {
        let held = doc_freq.get(token).copied().unwrap_or_default() as f32;
        (1.0 + count / (1.0 + held)).ln()
    };
    question.tokens.iter().map(weight).collect()
}

/// The weighed mean cosine of the tokens of a question, each with the nearest token of a block; 0 where one of the two
/// has no token that the embedding knows.
fn late_interaction(question: &TokenVectors, weights: &[f32], block: &TokenVectors) -> f64 {
    let nearest = |token: &Vec<f32>| {
        let others = block.vectors.iter();
        let cosines = others.map(|other| dot_product(token, other));
        cosines.reduce(f32::max).unwrap_or_default()
    };
    let tokens = question.vectors.iter().zip(weights);
    let sum: f32 = tokens.map(|(token, weight)| weight * nearest(token)).sum();
    let total: f32 = weights.iter().sum();
    let has_weight = total > 0.0;
    if has_weight {
        f64::from(sum / total)
    } else {
        0.0
    }
}

/// The dot product of two vectors of one length.
fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let eights = a.iter().zip(b).fold(f32x8::ZERO, |sum, (a, b)| {
        sum + f32x8::new(*a) * f32x8::new(*b)
    });
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    eights.reduce_add() + rest.sum::<f32>()
}

/// The place of the sentence of a block that shares most with the question in words, the first of equal ones, and how
/// much.
pub(super) fn best_sentence(query: &Query, block: &BlockTerms) -> Option<(usize, f64)> {
    let share = |sentence: &HashSet<String>| {
        query.stems.share(&[sentence, &block.heading]) + query.stems.share(&[sentence])
    };
    let shares = block.sentences.iter().map(share).enumerate();
    shares.rev().max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tokens: &[i32]) -> TokenVectors {
        let direction = |token: &i32| (0..8).map(|at| f32::from(u8::from(at == *token))).collect();
        TokenVectors {
            tokens: tokens.to_vec(),
            vectors: tokens.iter().map(direction).collect(),
        }
    }

    #[test]
    fn r17_a_token_that_few_blocks_hold_counts_more_than_one_that_all_hold() {
        let question = text(&[2, 3]);
        let blocks = [text(&[2]), text(&[2, 5]), text(&[2, 3])];
        let weights = token_weights(&question, &blocks);
        assert!(weights[1] > weights[0] && weights[0] > 0.0);
        let near = blocks.map(|block| late_interaction(&question, &weights, &block));
        assert!((near[2] - 1.0).abs() < 1e-6);
        assert!(near[0] < 0.5 && near[0] > 0.0, "the common one alone");
    }

    #[test]
    fn r17_texts_of_one_vector_are_compared_by_it() {
        let (question, same, other) = (text(&[2]), text(&[2]), text(&[3]));
        let weights = token_weights(&question, std::slice::from_ref(&same));
        assert!((late_interaction(&question, &weights, &same) - 1.0).abs() < 1e-6);
        assert!(late_interaction(&question, &weights, &other).abs() < 1e-6);
    }

    #[test]
    fn r17_a_text_without_known_tokens_is_near_to_nothing() {
        let (some, none) = (text(&[2]), text(&[]));
        let weights = token_weights(&some, std::slice::from_ref(&none));
        assert!(late_interaction(&some, &weights, &none).abs() < 1e-6);
        assert!(late_interaction(&none, &[], &some).abs() < 1e-6);
    }
}
