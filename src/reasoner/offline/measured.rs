//! What is measured of the judge, and what its weights are fitted on.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, Question};

use super::evidence::Passage;
use super::judge::{Seen, Signals, judge, signals};
use super::language::language_of;

/// A passage without a file: a name would be one more thing to be judged.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// As a document holds it.
    Text(&'a str),
    /// One paragraph below its title, with its sentences split before.
    Sentences(&'a str, &'a [&'a str]),
}

/// What the judge looks at, of each passage of one question. Blocks while it embeds.
pub fn look_at(
    question: &str,
    passages: &[Given<'_>],
    embedder: &dyn Embedder,
) -> Result<Signals, EmbedError> {
    let passages: Vec<Passage> = passages.iter().map(Given::read).collect();
    let mut seen: Vec<Seen> = passages.iter().map(Seen::read).collect();
    signals(question, (&passages, &mut seen), embedder)
}

/// Which sentence of a passage says it best, by its place; nothing where there is none. Blocks while
/// it embeds.
pub fn best_sentence(
    question: &str,
    title: &str,
    sentences: &[&str],
    embedder: &dyn Embedder,
) -> Result<Option<usize>, EmbedError> {
    let asked = Question {
        text: question.to_owned(),
        asked: question.to_owned(),
        language: language_of(question),
        ..Question::default()
    };
    let passage = Passage::of_sentences(title, sentences);
    let mut seen = [Seen::read(&passage)];
    let judged = judge(&asked, question, (&[passage], &mut seen), embedder)?;
    let units = judged.units.first().map_or(&[][..], Vec::as_slice);
    // Of equal ones the first.
    Ok((0..units.len())
        .rev()
        .max_by(|a, b| units[*a].total_cmp(&units[*b])))
}

impl Given<'_> {
    fn read(&self) -> Passage {
        match self {
            Self::Sentences(title, sentences) => Passage::of_sentences(title, sentences),
            Self::Text(text) => Passage::read(&Evidence::without_file(1, text)),
        }
    }
}
