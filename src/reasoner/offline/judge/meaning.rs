//! How near the blocks of a pool are to a question in meaning.

use std::collections::{HashMap, HashSet};

use crate::agent::ports::{EmbedError, Embedder};

use super::pool::Pool;
use super::query::Query;
use super::terms::BlockTerms;

/// Sentences that are embedded, of the blocks that share most with the question. An embedding costs more than
/// everything else that is measured of a block.
const MOST_EMBEDDED: usize = 16;

/// Bytes below which a sentence says little without the heading above it, as "At dawn." does.
const LEANS_ON_HEADING: usize = 50;
/// Sentences of a block that are embedded.
const EMBEDDED_OF_BLOCK: usize = 2;

/// The cosine of the question and the nearest sentence of each block of each passage, -1 to 1. Blocks of which nothing is
/// embedded have the lowest cosine of all.
pub(super) fn cosines(
    query: &Query,
    pool: &Pool<'_>,
    promising: &[bool],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<f64>>, EmbedError> {
    let chosen = nearest_in_words(query, pool, promising);
    let text = |place: &SentencePlace| {
        let block = &pool.passages[place.passage].blocks[place.block];
        let sentence = block.sentences[place.sentence].text.as_str();
        if sentence.len() < LEANS_ON_HEADING {
            format!("{}: {sentence}", block.heading())
        } else {
            sentence.to_owned()
        }
    };
    let sentences: Vec<String> = chosen.iter().map(text).collect();
    let mut texts: Vec<&str> = std::iter::once(query.text.as_str())
        .chain(sentences.iter().map(String::as_str))
        .collect();
    let mut once = HashSet::new();
    texts.retain(|text| !text.trim().is_empty() && once.insert(*text));
    let vectors: HashMap<&str, Vec<f32>> =
        texts.iter().copied().zip(embedder.embed(&texts)?).collect();
    let cosine = |text: &str| {
        let (a, b) = (vectors.get(query.text.as_str())?, vectors.get(text)?);
        Some(f64::from(a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>()))
    };
    let known: Vec<f64> = sentences
        .iter()
        .map(|text| cosine(text).unwrap_or_default())
        .collect();
    let lowest = known.iter().copied().reduce(f64::min).unwrap_or_default();
    let passages = pool.passages.iter();
    let mut cosines: Vec<Vec<f64>> = passages
        .map(|passage| vec![lowest; passage.blocks.len()])
        .collect();
    for (place, cosine) in chosen.iter().zip(known) {
        let known = &mut cosines[place.passage][place.block];
        *known = known.max(cosine);
    }
    Ok(cosines)
}

/// Where a sentence stands.
struct SentencePlace {
    passage: usize,
    block: usize,
    sentence: usize,
}

/// The best sentences, by their words, of the blocks that share most with the question: the best one of each block
/// before the second best of any.
fn nearest_in_words(query: &Query, pool: &Pool<'_>, promising: &[bool]) -> Vec<SentencePlace> {
    let mut ranked: Vec<((usize, f64), SentencePlace)> = Vec::new();
    let passages = pool.terms.iter().enumerate();
    for (passage, terms) in passages.filter(|(at, _)| promising[*at]) {
        let found = pool.found[passage].score;
        for (block, terms) in terms.blocks.iter().enumerate() {
            let of_block = query.words.share(&[&terms.with_topic]) + found;
            let best = best_sentences(query, terms)
                .into_iter()
                .take(EMBEDDED_OF_BLOCK);
            for (place, (sentence, share)) in best.enumerate() {
                let place_of = SentencePlace {
                    passage,
                    block,
                    sentence,
                };
                ranked.push(((place, share + of_block), place_of));
            }
        }
    }
    ranked.sort_by(|((a, one), _), ((b, other), _)| a.cmp(b).then(other.total_cmp(one)));
    ranked.truncate(MOST_EMBEDDED);
    ranked.into_iter().map(|(_, place)| place).collect()
}

/// The sentences of a block by how much they share with the question in words, the best first; of equal ones the
/// first.
pub(super) fn best_sentences(query: &Query, block: &BlockTerms) -> Vec<(usize, f64)> {
    let score = |sentence: &HashSet<String>| {
        query.words.share(&[sentence, &block.heading]) + query.words.share(&[sentence])
    };
    let mut scores: Vec<(usize, f64)> = block.sentences.iter().map(score).enumerate().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores
}
