//! What is measured of the judge, and what its weights are fitted on.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, LineRange};

use super::answer::quote_block;
use super::judge::{PassageTerms, Pool, SearchMeasure, judge, measure};
use super::passage::Passage;
use super::read;

/// A passage to be judged.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// One without a file: a name would be one more thing to be judged.
    Text(&'a str),
    /// One paragraph below its title, with its sentences split before.
    Sentences(&'a str, &'a [&'a str]),
    /// As a search found it.
    Found(&'a Evidence),
}

/// The signals of a block, and the lines that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Its lines in the file, from 1.
    pub lines: LineRange,
    /// In the order of [`super::signal_names`].
    pub row: Vec<f64>,
}

/// What the best block of a passage shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedBlock {
    /// The sentences that it shows, by their place.
    pub sentences: std::ops::Range<usize>,
    /// Lines that it takes on a screen.
    pub shown_lines: usize,
}

/// The signals of each block of each passage of one question. Blocks while it embeds.
pub fn measure_signals(
    question: &str,
    given: &[Given<'_>],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Signals>>, EmbedError> {
    let passages: Vec<Passage> = given.iter().map(Given::read).collect();
    let found = given.iter().map(|given| match given {
        Given::Found(item) => SearchMeasure::of(item),
        Given::Text(_) | Given::Sentences(..) => SearchMeasure::default(),
    });
    let pool = Pool {
        terms: PassageTerms::read_all(&passages),
        found: found.collect(),
        passages: &passages,
    };
    let rows = measure(&read(question, &[]), &pool, passages.len(), embedder)?;
    let all = passages.iter().zip(rows).map(|(passage, rows)| {
        let blocks = passage.blocks.iter().zip(rows);
        let signals = blocks.map(|(block, row)| Signals {
            lines: LineRange {
                start: passage.start + block.lines.start,
                end: passage.start + block.lines.end - 1,
            },
            row,
        });
        signals.collect()
    });
    Ok(all.collect())
}

/// Which sentence of a passage is set in bold, by its place; `None` where there is none. Blocks while it embeds.
pub fn best_sentence(
    question: &str,
    title: &str,
    sentences: &[&str],
    embedder: &dyn Embedder,
) -> Result<Option<usize>, EmbedError> {
    let passages = [Passage::of_sentences(title, sentences)];
    let pool = pool_of(&passages);
    let judged = judge(&read(question, &[]), &pool, 1, embedder)?;
    Ok(judged.sentences[0].first().copied().flatten())
}

/// What an answer shows of a passage that is one paragraph: the sentences around the best one. Blocks while it
/// embeds.
pub fn quote_best_block(
    question: &str,
    title: &str,
    sentences: &[&str],
    embedder: &dyn Embedder,
) -> Result<Option<QuotedBlock>, EmbedError> {
    let best = best_sentence(question, title, sentences, embedder)?;
    let passage = Passage::of_sentences(title, sentences);
    let Some(block) = passage.blocks.first() else {
        return Ok(None);
    };
    let quote = quote_block(
        &passage,
        &block.lines,
        best.map(|at| &block.sentences[at].range),
    );
    Ok(Some(QuotedBlock {
        sentences: quote.lines,
        shown_lines: quote.shown_lines,
    }))
}

fn pool_of(passages: &[Passage]) -> Pool<'_> {
    Pool {
        terms: PassageTerms::read_all(passages),
        found: vec![SearchMeasure::default(); passages.len()],
        passages,
    }
}

impl Given<'_> {
    fn read(&self) -> Passage {
        match self {
            Self::Sentences(title, sentences) => Passage::of_sentences(title, sentences),
            Self::Text(text) => Passage::read(&Evidence::without_file(1, text)),
            Self::Found(item) => Passage::read(item),
        }
    }
}
