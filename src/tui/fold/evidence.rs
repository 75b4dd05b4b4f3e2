//! What the answer rests on: items found, graded, removed and cited.

use crate::domain::{
    Citation, EvidenceId, GradedBy, LineRange, Measured, Score, ToolName, is_same_passage,
};
use crate::protocol::{EventBody, EvidenceItem, NumberedItem};
use crate::text::one_line;

/// All items of a run, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct EvidenceFold {
    found: Vec<EvidenceRow>,
    /// Once the prompt is made: the numbers that it gives. Older logs do not tell.
    numbered: Option<Vec<NumberedItem>>,
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
    /// The score by the tool's own measure; it is no grade.
    pub found_with: Score,
    /// The beginning of the passage, clean.
    pub excerpt: String,
    /// The last verdict, if there was one.
    pub grade: Option<Grade>,
    /// Whether it is in the context.
    pub standing: ContextState,
    /// The ranks and similarities by which it was found, as far as they were measured.
    pub measured: Measured,
    /// The item that holds it now, because its lines are among that one's.
    held_by: Option<EvidenceId>,
    /// Its file as it was reported, to ask for it; not to be drawn.
    pub file: String,
}

/// A verdict on one item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// The grade, 0–1; `None` of an item that was not looked at.
    pub score: Option<Score>,
    /// The grader or the rule that gave it, or did not look.
    pub by: GradedBy,
}

/// Whether an item is in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextState {
    /// It is in the context.
    Kept,
    /// It was graded too low.
    Dropped,
    /// It was graded too low, and came back because nothing better was left.
    Low,
    /// It is part of another item, which counts for both.
    Within,
}

impl EvidenceFold {
    /// Takes the next event.
    pub fn apply(&mut self, body: &EventBody) {
        match body {
            EventBody::EvidenceAdded { items } => items.iter().for_each(|item| self.add(item)),
            EventBody::EvidenceGraded { scores, by, .. } => {
                for graded in scores {
                    let (score, by) = (graded.grade(), *by);
                    if let Some(row) = self.row_mut(&graded.id) {
                        row.grade = Some(Grade { score, by });
                    }
                }
            }
            EventBody::EvidenceRemoved { id, .. } => {
                if let Some(row) = self.row_mut(id) {
                    row.standing = ContextState::Dropped;
                }
            }
            EventBody::EvidenceNumbered { items } => self.numbered = Some(items.clone()),
            EventBody::AnswerFinished { citations, .. } => self.cited = Some(citations.clone()),
            _ => {}
        }
    }

    /// The items that hold this one, from the nearest on.
    fn holders(&self, row: &EvidenceRow) -> impl Iterator<Item = &EvidenceRow> {
        let holder = |row: &EvidenceRow| self.get(row.held_by.as_ref()?);
        // A chain is no longer than the list, whatever a log says.
        std::iter::successors(holder(row), move |row| holder(row)).take(self.found.len())
    }

    /// What was sent, by number, then what else is in the context, then what was dropped. What is within
    /// another item has no row.
    pub fn rows(&self) -> impl Iterator<Item = &EvidenceRow> {
        let is_listed = |row: &&EvidenceRow| row.standing != ContextState::Within;
        let mut listed: Vec<_> = self.found.iter().filter(is_listed).collect();
        listed.sort_by_cached_key(|row| {
            let number = self.number(row).unwrap_or(usize::MAX);
            (!row.is_in_context(), number)
        });
        listed.into_iter()
    }

    /// How many rows there are, dropped ones too.
    pub fn len(&self) -> usize {
        self.rows().count()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many are in the context.
    pub fn kept_count(&self) -> usize {
        self.found.iter().filter(|row| row.is_in_context()).count()
    }

    /// How many the prompt of the answer holds, once it is made.
    pub fn sent(&self) -> Option<usize> {
        self.numbered.as_ref().map(Vec::len)
    }

    /// Whether the prompt of the answer is made and does not hold this item of the context.
    pub fn is_left_out(&self, row: &EvidenceRow) -> bool {
        row.is_in_context() && self.numbered.is_some() && self.number(row).is_none()
    }

    /// The lines of an item that were sent, where that is not all of it.
    pub fn sent_lines(&self, id: &EvidenceId) -> &[LineRange] {
        let numbered = self.numbered.iter().flatten();
        let item = numbered.into_iter().find(|item| item.id == *id);
        item.map_or(&[], |item| &item.sent)
    }

    /// How many of them the answer refers to, once it is there.
    pub fn cited_count(&self) -> Option<usize> {
        self.cited.as_ref().map(Vec::len)
    }

    /// The number that the prompt gives it, and the answer's marks with it; no other is drawn. Logs
    /// that do not tell of numbers have those of the citations.
    pub fn number(&self, row: &EvidenceRow) -> Option<usize> {
        if let Some(items) = &self.numbered {
            return Some(items.iter().find(|item| item.id == row.id)?.n);
        }
        let mut cited = self.cited.iter().flatten();
        Some(cited.find(|citation| citation.id == row.id)?.n)
    }

    /// Whether the answer is there and does not refer to this item of its context.
    pub fn is_unused(&self, row: &EvidenceRow) -> bool {
        let is_cited = |cited: &Vec<Citation>| cited.iter().any(|one| one.id == row.id);
        row.is_in_context() && self.cited.as_ref().is_some_and(|cited| !is_cited(cited))
    }

    /// File and lines of an item.
    pub fn place(&self, id: &EvidenceId) -> Option<String> {
        self.get(id).map(EvidenceRow::place)
    }

    /// The items that this one holds, because their lines are among its own, and those within them.
    pub fn held_by(&self, holder: &EvidenceId) -> Vec<&EvidenceRow> {
        let is_held = |row: &&EvidenceRow| self.holders(row).any(|other| other.id == *holder);
        self.found.iter().filter(is_held).collect()
    }

    /// The item of that name.
    pub fn get(&self, id: &EvidenceId) -> Option<&EvidenceRow> {
        self.found.iter().find(|row| row.id == *id)
    }

    fn row_mut(&mut self, id: &EvidenceId) -> Option<&mut EvidenceRow> {
        self.found.iter_mut().find(|row| row.id == *id)
    }

    fn add(&mut self, item: &EvidenceItem) {
        let standing = if item.low {
            ContextState::Low
        } else {
            ContextState::Kept
        };
        let mut row = EvidenceRow {
            id: item.id.clone(),
            source: one_line(&item.source, 400),
            lines: item.lines,
            location: item.location(),
            tool: item.tool,
            found_with: item.score,
            excerpt: one_line(&item.excerpt, 2 * EvidenceItem::EXCERPT_CHARS),
            grade: item.known_grade.map(|known| Grade {
                score: Some(known.grade),
                by: known.by,
            }),
            standing,
            measured: item.measured,
            held_by: None,
            file: item.source.clone(),
        };
        // An item that has grown over others holds them from now on (R14), by the very law that made it
        // grow.
        for other in &mut self.found {
            if other.id != item.id
                && other.is_in_context()
                && is_same_passage((&other.file, other.lines), (&item.source, item.lines))
            {
                other.standing = ContextState::Within;
                other.held_by = Some(item.id.clone());
            }
        }
        let Some(known) = self.row_mut(&item.id) else {
            return self.found.push(row);
        };
        // A grade speaks of the text that was graded; a grown passage has none yet.
        if known.lines == row.lines && row.grade.is_none() {
            row.grade = known.grade;
        }
        *known = row;
    }
}

impl EvidenceRow {
    /// File and lines, as a person looks it up.
    pub fn place(&self) -> String {
        format!("{}:{}", self.source, self.location)
    }

    fn is_in_context(&self) -> bool {
        matches!(self.standing, ContextState::Kept | ContextState::Low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Evidence, GraderAction, Topic, add_evidence};
    use crate::protocol::ItemScore;
    use proptest::prelude::*;

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
            known_grade: None,
            by: None,
        }
    }

    fn fold(bodies: &[EventBody]) -> EvidenceFold {
        let mut fold = EvidenceFold::default();
        for body in bodies {
            fold.apply(body);
        }
        fold
    }

    fn ids_and_numbers(fold: &EvidenceFold) -> Vec<(&str, Option<usize>)> {
        fold.rows()
            .map(|row| (row.id.0.as_str(), fold.number(row)))
            .collect()
    }

    #[test]
    fn r19_dropped_items_stay_visible_and_have_no_number() {
        let added = EventBody::EvidenceAdded {
            items: vec![item("e1", 2, false), in_file("b.md", item("e2", 2, false))],
        };
        let removed = EventBody::EvidenceRemoved {
            id: EvidenceId("e1".to_owned()),
            score: Score::clamped(0.1),
            not_looked_at: false,
        };
        let mut fold = fold(&[added, removed]);
        assert_eq!(ids_and_numbers(&fold), [("e2", None), ("e1", None)]);
        assert_eq!((fold.kept_count(), fold.len() - fold.kept_count()), (1, 1));
        fold.apply(&numbered(&["e2"]));
        assert_eq!(ids_and_numbers(&fold), [("e2", Some(1)), ("e1", None)]);
        assert_eq!(fold.sent(), Some(1));
    }

    #[test]
    fn shown_what_a_larger_item_holds_is_counted_once() {
        let added = |items| EventBody::EvidenceAdded { items };
        let at = |id, start, end| EvidenceItem {
            lines: LineRange { start, end },
            ..item(id, end, false)
        };
        let first = added(vec![at("e1", 1, 4), at("e2", 9, 12), at("e3", 20, 30)]);
        let mut fold = fold(&[first, added(vec![at("e1", 1, 10)])]);
        assert_eq!(
            (
                fold.kept_count(),
                fold.len(),
                fold.len() - fold.kept_count()
            ),
            (2, 2, 0)
        );
        fold.apply(&added(vec![at("e3", 1, 30)]));
        fold.apply(&numbered(&["e3"]));
        assert_eq!(
            (
                fold.kept_count(),
                fold.sent(),
                fold.len() - fold.kept_count()
            ),
            (1, Some(1), 0)
        );
        assert_eq!(ids_and_numbers(&fold), [("e3", Some(1))]);
        assert_eq!(fold.held_by(&EvidenceId("e3".to_owned())).len(), 2);
    }

    #[test]
    fn shown_numbers_of_older_logs_are_those_of_their_citations() {
        let added = EventBody::EvidenceAdded {
            items: vec![item("e1", 2, false), in_file("b.md", item("e2", 2, false))],
        };
        let mut fold = fold(&[added]);
        assert_eq!(ids_and_numbers(&fold), [("e1", None), ("e2", None)]);
        fold.apply(&EventBody::AnswerFinished {
            text: "So [1].".to_owned(),
            confidence: None,
            confidence_level: None,
            citations: vec![Citation {
                quoted: Vec::new(),
                n: 1,
                id: EvidenceId("e2".to_owned()),
                source: "b.md".to_owned(),
                lines: LineRange { start: 1, end: 2 },
                place: None,
            }],
            supported: Vec::new(),
            quotation_from: None,
        });
        assert_eq!(ids_and_numbers(&fold), [("e2", Some(1)), ("e1", None)]);
        assert_eq!((fold.sent(), fold.cited_count()), (None, Some(1)));
    }

    fn in_file(file: &str, item: EvidenceItem) -> EvidenceItem {
        EvidenceItem {
            source: file.to_owned(),
            ..item
        }
    }

    fn numbered(ids: &[&str]) -> EventBody {
        let items = ids.iter().enumerate().map(|(at, id)| NumberedItem {
            n: at + 1,
            id: EvidenceId((*id).to_owned()),
            sent: Vec::new(),
        });
        EventBody::EvidenceNumbered {
            items: items.collect(),
        }
    }

    #[test]
    fn shown_what_is_in_the_context_and_not_in_the_prompt_was_not_sent() {
        let added = EventBody::EvidenceAdded {
            items: vec![item("e1", 2, false), in_file("b.md", item("e2", 9, false))],
        };
        let mut fold = fold(&[added]);
        let left_out = |fold: &EvidenceFold| {
            let rows = fold.rows().filter(|row| fold.is_left_out(row));
            rows.map(|row| row.id.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(left_out(&fold), [""; 0]);
        let sent = vec![LineRange { start: 3, end: 4 }];
        let id = EvidenceId("e2".to_owned());
        let items = vec![NumberedItem {
            n: 1,
            id: id.clone(),
            sent: sent.clone(),
        }];
        fold.apply(&EventBody::EvidenceNumbered { items });
        assert_eq!(left_out(&fold), ["e1"]);
        assert_eq!(fold.sent_lines(&id), sent);
    }

    #[test]
    fn r22_a_known_id_comes_back_as_low() {
        let graded = EventBody::EvidenceGraded {
            scores: vec![ItemScore {
                id: EvidenceId("e1".to_owned()),
                score: Score::clamped(0.2),
                not_looked_at: false,
            }],
            average: 0.0,
            action: GraderAction::ReRetrieve,
            by: GradedBy::Grader,
        };
        let removed = EventBody::EvidenceRemoved {
            id: EvidenceId("e1".to_owned()),
            score: Score::clamped(0.2),
            not_looked_at: false,
        };
        let added = |low| EventBody::EvidenceAdded {
            items: vec![item("e1", 2, low)],
        };
        let fold = fold(&[added(false), graded, removed, added(true)]);
        let row = fold.rows().next().unwrap();
        assert_eq!(row.standing, ContextState::Low);
        assert_eq!(
            row.grade.and_then(|grade| grade.score),
            Some(Score::clamped(0.2))
        );
    }

    fn found(source: u8, start: usize, lines: usize) -> Evidence {
        Evidence {
            id: EvidenceId(String::new()),
            source: format!("{source}.md"),
            lines: LineRange {
                start,
                end: start + lines,
            },
            place: None,
            tool: ToolName::GrepSearch,
            score: Score::clamped(0.5),
            measured: Measured::default(),
            text: "text".to_owned(),
            topic: Topic::default(),
            low: false,
            by: None,
        }
    }

    proptest! {
        /// Whatever is found, grows together and is dropped: what is drawn is what the agent holds.
        #[test]
        fn shown_counts_and_numbers_are_those_of_the_context(
            rounds in prop::collection::vec(
                (
                    prop::collection::vec((0..3_u8, 1..60_usize, 0..20_usize), 0..8),
                    prop::collection::vec(0..20_usize, 0..3),
                ),
                1..5,
            ),
            marks in prop::collection::vec(0..30_usize, 0..4),
        ) {
            let mut fold = EvidenceFold::default();
            let mut context = Vec::new();
            let mut next_id = 0;
            for (items, dropped) in rounds {
                let items = items.into_iter().map(|(source, start, lines)| found(source, start, lines));
                let touched = add_evidence(&mut context, items.collect(), &mut next_id);
                let items = context.iter().filter(|item| touched.contains(&item.id));
                let items = items.map(EvidenceItem::from).collect();
                fold.apply(&EventBody::EvidenceAdded { items });
                for at in dropped {
                    if at < context.len() {
                        let id = context.remove(at).id;
                        let (score, not_looked_at) = (Score::ZERO, at % 2 == 0);
                        fold.apply(&EventBody::EvidenceRemoved { id, score, not_looked_at });
                    }
                }
                prop_assert_eq!(fold.kept_count(), context.len());
                prop_assert!(fold.rows().all(|row| fold.number(row).is_none()));
            }
            let ids: Vec<_> = context.iter().map(|item| item.id.0.as_str()).collect();
            fold.apply(&numbered(&ids));
            prop_assert_eq!(fold.sent(), Some(context.len()));
            let before: Vec<_> = fold.rows().map(|row| (row.id.clone(), fold.number(row))).collect();
            let drawn = before.iter().filter(|(_, number)| number.is_some()).count();
            prop_assert_eq!(drawn, context.len());

            let mut marks: Vec<usize> = marks.into_iter().filter(|at| *at < context.len()).collect();
            marks.sort_unstable();
            marks.dedup();
            let citations = marks.iter().map(|at| Citation {
                quoted: Vec::new(),
                n: at + 1,
                id: context[*at].id.clone(),
                source: context[*at].source.clone(),
                lines: context[*at].lines,
                place: None,
            });
            let citations: Vec<_> = citations.collect();
            fold.apply(&EventBody::AnswerFinished { text: String::new(), citations: citations.clone(), confidence: None, confidence_level: None, supported: Vec::new(), quotation_from: None });
            prop_assert_eq!(fold.cited_count(), Some(citations.len()));
            for row in fold.rows() {
                let number = before.iter().find(|(id, _)| *id == row.id).and_then(|(_, n)| *n);
                prop_assert_eq!(fold.number(row), number, "a number changed");
                let citation = citations.iter().find(|citation| citation.id == row.id);
                prop_assert!(citation.is_none_or(|citation| Some(citation.n) == number));
            }
        }
    }
}
