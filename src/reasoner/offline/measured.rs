//! The signals that the judge looks at, as numbers: what its weights are fitted on (`benches/judge_signals.rs`).

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, LineRange};

use super::judge::{PassageTerms, Pool, SearchMeasure, judge};
use super::passage::Passage;
use super::read;

/// The signals of a block, and the lines that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Its lines in the file, from 1.
    pub lines: LineRange,
    /// Values in the order of [`super::signal_names`].
    pub row: Vec<f64>,
}

/// The signals of each block of each item, for one question. Blocks while it embeds.
pub fn measure_signals(
    question: &str,
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Signals>>, EmbedError> {
    let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
    let pool = Pool {
        terms: PassageTerms::read_all(&passages),
        found: items.iter().map(SearchMeasure::from_evidence).collect(),
        passages: &passages,
    };
    let judged = judge(&read(question, &[]), &pool, passages.len(), embedder)?;
    let all = passages.iter().zip(judged.rows).map(|(passage, rows)| {
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
