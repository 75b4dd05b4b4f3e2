//! What is measured of the judge, and what its weights are fitted on.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, LineRange};

use super::answer;
pub use super::answer::QuotedBlock;
use super::judge::{PassageTerms, Pool, SearchMeasure, judge};
use super::passage::Passage;
use super::read;
use super::verdict::Verdict;

/// A passage to be judged.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// One without a file: a name would be one more thing to be judged.
    Text(&'a str),
    /// One paragraph below its title, with its sentences split before.
    Sentences(&'a str, &'a [&'a str]),
    /// A passage as a search found it.
    Found(&'a Evidence),
}

/// The signals of a block, and the lines that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Its lines in the file, from 1.
    pub lines: LineRange,
    /// Values in the order of [`super::signal_names`].
    pub row: Vec<f64>,
    /// The sentence that would be set in bold, by its place; `None` of a block without sentences.
    pub bold: Option<usize>,
}

impl QuotedBlock {
    /// Whether all of a sentence is among what is quoted; marks that only lay it out and white space do not count.
    pub fn shows(&self, sentence: &str) -> bool {
        let sentence = Given::Text(sentence).read().readable();
        let sentence = without_marks(&answer::cleaned(&sentence));
        without_marks(&self.text).contains(&sentence)
    }
}

/// A text on one line, without the marks that bold text begins and ends with.
fn without_marks(text: &str) -> String {
    let text = text.replace(['*', '`', '_'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The signals of each block of each passage of one question. Blocks while it embeds.
pub fn measure_signals(
    question: &str,
    given: &[Given<'_>],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Signals>>, EmbedError> {
    let passages: Vec<Passage> = given.iter().map(Given::read).collect();
    let found = given.iter().map(|given| match given {
        Given::Found(item) => SearchMeasure::from_evidence(item),
        Given::Text(_) | Given::Sentences(..) => SearchMeasure::default(),
    });
    let pool = Pool {
        terms: PassageTerms::read_all(&passages),
        found: found.collect(),
        passages: &passages,
    };
    let judged = judge(&read(question, &[]), &pool, passages.len(), embedder)?;
    let rows = judged.rows.into_iter().zip(judged.sentences);
    let all = passages.iter().zip(rows).map(|(passage, (rows, bold))| {
        let blocks = passage.blocks.iter().zip(rows).zip(bold);
        let signals = blocks.map(|((block, row), bold)| Signals {
            lines: LineRange {
                start: passage.start + block.lines.start,
                end: passage.start + block.lines.end - 1,
            },
            row,
            bold,
        });
        signals.collect()
    });
    Ok(all.collect())
}

/// What an answer quotes of a passage without a file; `None` where there is no block in it. Blocks while it embeds.
pub fn quote_best_block(
    question: &str,
    text: &str,
    embedder: &dyn Embedder,
) -> Result<Option<QuotedBlock>, EmbedError> {
    let question = read(question, &[]);
    let items = [Evidence::without_file(1, text)];
    let Verdict {
        passages, whole, ..
    } = Verdict::reach(&question, &[], &items, embedder)?;
    Ok(answer::quote_best_block(&question, &passages, &whole))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_sentence_is_shown_if_all_of_it_is_quoted() {
        let block = QuotedBlock {
            text: "It pumps\nwater. **See the guide (1) of `pump`.** Of the rest\n\n… 3 more lines [1]"
                .to_owned(),
            lines: 0..3,
            shown_lines: 2,
        };
        for (sentence, is_shown) in [
            ("It pumps water.", true),
            ("*It*  pumps\nwater. ", true),
            ("See [the guide](g.md) [1] of `pump`.", true),
            ("Of the rest nothing is known.", false),
            ("It pumps oil.", false),
        ] {
            assert_eq!(block.shows(sentence), is_shown, "{sentence}");
        }
    }
}
