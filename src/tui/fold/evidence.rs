//! What the answer rests on: items found, graded, removed and cited.

use crate::domain::{Citation, EvidenceId, GradedBy, LineRange, Score, ToolName};
use crate::protocol::{EventBody, EvidenceItem};
use crate::text::one_line;

/// All items of a run, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct EvidenceFold {
    rows: Vec<EvidenceRow>,
    /// After the answer: what its marks stand for.
    cited: Option<Vec<Citation>>,
}

/// One item and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceRow {
    /// Its name within the run.
    pub id: EvidenceId,
    /// Its file, clean.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// The same as a person looks it up.
    pub location: String,
    /// Which tool found it.
    pub tool: ToolName,
    /// By that tool's own measure; not a grade.
    pub found_with: Score,
    /// The beginning of the passage, clean.
    pub excerpt: String,
    /// The last verdict, if there was one.
    pub grade: Option<Grade>,
    /// Whether it is in the context.
    pub standing: Standing,
}

/// A verdict on one item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// The number.
    pub score: Score,
    /// Who says so.
    pub by: GradedBy,
}

/// Whether an item is in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    Kept,
    /// It was graded too low.
    Dropped,
    /// It was, and came back because nothing better was left.
    Low,
}

impl EvidenceFold {
    /// Takes the next event.
    pub fn apply(&mut self, body: &EventBody) {
        match body {
            EventBody::EvidenceAdded { items } => items.iter().for_each(|item| self.add(item)),
            EventBody::EvidenceGraded { scores, by, .. } => {
                for graded in scores {
                    if let Some(row) = self.row_mut(&graded.id) {
                        row.grade = Some(Grade {
                            score: graded.score,
                            by: *by,
                        });
                    }
                }
            }
            EventBody::EvidenceRemoved { id, .. } => {
                if let Some(row) = self.row_mut(id) {
                    row.standing = Standing::Dropped;
                }
            }
            EventBody::AnswerFinished { citations, .. } => self.cited = Some(citations.clone()),
            _ => {}
        }
    }

    /// What the answer refers to, then what else is in the context, each in its order, then what
    /// was dropped.
    pub fn rows(&self) -> impl Iterator<Item = &EvidenceRow> {
        let of = |place: u8| self.rows.iter().filter(move |row| self.place(row) == place);
        of(0).chain(of(1)).chain(of(2))
    }

    fn place(&self, row: &EvidenceRow) -> u8 {
        match row.standing {
            Standing::Dropped => 2,
            _ => u8::from(self.is_unused(row)),
        }
    }

    /// How many there are, dropped ones too.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many are in the context.
    pub fn kept(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| row.standing != Standing::Dropped)
            .count()
    }

    /// The number that the answer's marks give it, else its place among the kept, which is what
    /// a mark would say. `None`: it is not in the context, or the number stands for another.
    pub fn number(&self, row: &EvidenceRow) -> Option<usize> {
        let citations = self.cited.as_deref().unwrap_or_default();
        if let Some(citation) = citations.iter().find(|citation| citation.id == row.id) {
            return Some(citation.n);
        }
        self.rows
            .iter()
            .filter(|known| known.standing != Standing::Dropped)
            .position(|known| known.id == row.id)
            .map(|at| at + 1)
            .filter(|n| citations.iter().all(|citation| citation.n != *n))
    }

    /// Whether the answer is there and does not refer to this item of its context.
    pub fn is_unused(&self, row: &EvidenceRow) -> bool {
        row.standing != Standing::Dropped
            && self
                .cited
                .as_ref()
                .is_some_and(|cited| cited.iter().all(|citation| citation.id != row.id))
    }

    fn row_mut(&mut self, id: &EvidenceId) -> Option<&mut EvidenceRow> {
        self.rows.iter_mut().find(|row| row.id == *id)
    }

    fn add(&mut self, item: &EvidenceItem) {
        let mut row = EvidenceRow {
            id: item.id.clone(),
            source: one_line(&item.source, 400),
            lines: item.lines,
            location: item.location(),
            tool: item.tool,
            found_with: item.score,
            excerpt: one_line(&item.excerpt, 2 * EvidenceItem::EXCERPT_CHARS),
            grade: None,
            standing: if item.low {
                Standing::Low
            } else {
                Standing::Kept
            },
        };
        match self.row_mut(&item.id) {
            Some(known) => {
                // A grade speaks of the text that was graded; a grown passage has none yet.
                if known.lines == row.lines {
                    row.grade = known.grade;
                }
                *known = row;
            }
            None => self.rows.push(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GraderAction, Measured};
    use crate::protocol::ItemScore;

    fn item(id: &str, end: usize, low: bool) -> EvidenceItem {
        EvidenceItem {
            id: EvidenceId(id.to_owned()),
            source: "a.md".to_owned(),
            lines: LineRange { start: 1, end },
            tool: ToolName::GrepSearch,
            score: Score::clamped(0.4),
            excerpt: "text".to_owned(),
            low,
            place: None,
            measured: Measured::default(),
        }
    }

    fn fold(bodies: &[EventBody]) -> EvidenceFold {
        let mut fold = EvidenceFold::default();
        for body in bodies {
            fold.apply(body);
        }
        fold
    }

    #[test]
    fn r19_dropped_items_stay_visible_and_numbers_close_up() {
        let added = EventBody::EvidenceAdded {
            items: vec![item("e1", 2, false), item("e2", 2, false)],
        };
        let removed = EventBody::EvidenceRemoved {
            id: EvidenceId("e1".to_owned()),
            score: Score::clamped(0.1),
        };
        let fold = fold(&[added, removed]);
        let shown: Vec<_> = fold
            .rows()
            .map(|row| (row.id.0.as_str(), fold.number(row)))
            .collect();
        assert_eq!(shown, [("e2", Some(1)), ("e1", None)]);
        assert_eq!(fold.kept(), 1);
    }

    #[test]
    fn r22_a_known_id_comes_back_as_low() {
        let graded = EventBody::EvidenceGraded {
            scores: vec![ItemScore {
                id: EvidenceId("e1".to_owned()),
                score: Score::clamped(0.2),
            }],
            average: 0.0,
            action: GraderAction::ReRetrieve,
            by: GradedBy::Grader,
        };
        let removed = EventBody::EvidenceRemoved {
            id: EvidenceId("e1".to_owned()),
            score: Score::clamped(0.2),
        };
        let added = |low| EventBody::EvidenceAdded {
            items: vec![item("e1", 2, low)],
        };
        let fold = fold(&[added(false), graded, removed, added(true)]);
        let row = fold.rows().next().unwrap();
        assert_eq!(row.standing, Standing::Low);
        assert_eq!(
            row.grade.map(|grade| grade.score),
            Some(Score::clamped(0.2))
        );
    }
}
