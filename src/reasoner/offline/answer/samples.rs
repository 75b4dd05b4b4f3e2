//! Documents for the tests of this room, judged by an embedding that compares letters.

use crate::domain::{
    Evidence, EvidenceId, LineRange, Measured, Outcome, Score, ToolName, Topic, Turn,
};

use super::super::evidence::Passage;
use super::super::judge::letters::Letters;
use super::super::judge::{Judged, Seen, judge, judge_reading};
use super::super::question::{read, readings};
use super::compose;
use super::found::Found;

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
        topic: Topic::default(),
        low: false,
        place: None,
        measured: Measured::default(),
    }
}
