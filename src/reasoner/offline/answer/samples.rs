//! Documents for the tests of this room, judged by an embedding that compares letters.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, EvidenceId, LineRange, Measured, Outcome, Score, ToolName, Turn};

use super::super::evidence::Passage;
use super::super::judge::{Judged, Seen, judge, judge_reading};
use super::super::question::{read, readings};
use super::{Found, compose};

/// What was found, read.
pub(super) struct Sample {
    pub(super) items: Vec<Evidence>,
    pub(super) passages: Vec<Passage>,
    seen: Vec<Seen>,
}

impl Sample {
    pub(super) fn of(items: &[Evidence]) -> Self {
        let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
        Self {
            items: items.to_vec(),
            seen: passages.iter().map(Seen::read).collect(),
            passages,
        }
    }

    pub(super) fn found(&self) -> Found<'_> {
        Found {
            items: &self.items,
            passages: &self.passages,
            seen: &self.seen,
        }
    }

    pub(super) fn judged(&mut self, text: &str) -> Judged {
        let asked = (&self.passages[..], &mut self.seen[..]);
        judge(&read(text, &[]), text, asked, &Letters).unwrap()
    }

    /// The answer to a question of one part.
    pub(super) fn answer(&mut self, text: &str, history: &[Turn]) -> (String, Outcome) {
        let judged = readings(&read(text, history), &[])
            .into_iter()
            .map(|reading| {
                let asked = (&self.passages[..], &mut self.seen[..]);
                let judged = judge_reading(&reading, &self.items, asked, &Letters).unwrap();
                (reading, judged)
            });
        let judged: Vec<_> = judged.collect();
        compose(&judged, history, self.found())
    }
}

/// A whole file.
pub(super) fn passage(source: &str, text: &str) -> Evidence {
    Evidence {
        id: EvidenceId("e1".to_owned()),
        source: source.to_owned(),
        lines: LineRange {
            start: 1,
            end: text.lines().count().max(1),
        },
        tool: ToolName::HybridSearch,
        score: Score::UNKNOWN,
        text: text.to_owned(),
        low: false,
        place: None,
        measured: Measured::default(),
    }
}

/// Each text points where its characters do.
struct Letters;

impl Embedder for Letters {
    fn model_id(&self) -> &'static str {
        "letters"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let one = |text: &&str| {
            let mut vector = [0.01_f32; 64];
            let letters = text.chars().filter(|c| c.is_alphanumeric());
            for letter in letters.flat_map(char::to_lowercase) {
                vector[letter as usize % 64] += 1.0;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().map(|x| x / length).collect()
        };
        Ok(texts.iter().map(one).collect())
    }
}
