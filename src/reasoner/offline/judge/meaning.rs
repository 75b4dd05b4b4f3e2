//! How near the blocks of a pool are to a question in meaning.

use std::collections::{HashMap, HashSet};

use crate::agent::ports::{EmbedError, Embedder};

use super::Pool;
use super::query::Query;
use super::terms::BlockTerms;

/// Blocks of which a sentence is embedded, those that share most with the question. An embedding costs more than
/// everything else that is measured of a block.
const MOST_EMBEDDED: usize = 16;

/// The cosine of the question and the best sentence of each block of each passage, -1 to 1. Blocks of which nothing is
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
        block.sentences[place.sentence].text.as_str()
    };
    let mut texts: Vec<&str> = std::iter::once(query.text.as_str())
        .chain(chosen.iter().map(text))
        .collect();
    let mut once = HashSet::new();
    texts.retain(|text| !text.trim().is_empty() && once.insert(*text));
    let vectors: HashMap<&str, Vec<f32>> =
        texts.iter().copied().zip(embedder.embed(&texts)?).collect();
    let cosine = |text: &str| {
        let (a, b) = (vectors.get(query.text.as_str())?, vectors.get(text)?);
        Some(f64::from(a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>()))
    };
    let known: Vec<f64> = chosen
        .iter()
        .map(|place| cosine(text(place)).unwrap_or_default())
        .collect();
    let lowest = known.iter().copied().reduce(f64::min).unwrap_or_default();
    let passages = pool.passages.iter();
    let mut cosines: Vec<Vec<f64>> = passages
        .map(|passage| vec![lowest; passage.blocks.len()])
        .collect();
    for (place, cosine) in chosen.iter().zip(known) {
        cosines[place.passage][place.block] = cosine;
    }
    Ok(cosines)
}

/// Where a sentence stands.
struct SentencePlace {
    passage: usize,
    block: usize,
    sentence: usize,
}

/// The best sentence, by its words, of each of the blocks that share most with the question.
fn nearest_in_words(query: &Query, pool: &Pool<'_>, promising: &[bool]) -> Vec<SentencePlace> {
    let mut ranked: Vec<(f64, SentencePlace)> = Vec::new();
    for (passage, terms) in pool
        .terms
        .iter()
        .enumerate()
        .filter(|(at, _)| promising[*at])
    {
        let found = pool.found[passage].score;
        for (block, terms) in terms.blocks.iter().enumerate() {
            let Some((sentence, share)) = best_sentence(query, terms) else {
                continue;
            };
            let score = share + query.words.share(&[&terms.with_topic]) + found;
            ranked.push((
                score,
                SentencePlace {
                    passage,
                    block,
                    sentence,
                },
            ));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(MOST_EMBEDDED);
    ranked.into_iter().map(|(_, place)| place).collect()
}

/// The sentence of a block that shares most words with the question and how much it shares. Of equal ones it is
/// the first.
pub(super) fn best_sentence(query: &Query, block: &BlockTerms) -> Option<(usize, f64)> {
    let score = |at: usize| {
        let sentence = &block.sentences[at];
        query.words.share(&[sentence, &block.heading]) + query.words.share(&[sentence])
    };
    let scores = (0..block.sentences.len()).map(|at| (at, score(at)));
    scores.rev().max_by(|a, b| a.1.total_cmp(&b.1))
}
