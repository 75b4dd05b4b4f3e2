//! The answer: whole blocks of the evidence, quoted with their sources.
//!
//! Nothing is written but frames and nothing is reassembled. One block answers a question; another one joins it only
//! for another part of the question or from another document.

mod choose;
mod frames;
mod listing;
mod material;
mod places;
mod quote;

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::{
    Confidence, Evidence, Language, LineRange, Outcome, Parts, Question, Quotation, ToolName,
};

use self::choose::{Choice, MOST_BLOCKS, best, extent, is_near_best, of_both_sides};
use self::frames::{Frames, filled};
pub(super) use self::material::Material;
use self::places::place;
pub(super) use self::quote::without_citations;
use self::quote::{MOST_LINES, quote};
use super::judge::Judgement;
use super::language::language_of;
use super::passage::Passage;
use super::question::Part;

/// The best block of all passages as an answer that quotes no other one shows it; `None` where there is none.
pub(super) fn quote_best_block(
    question: &Question,
    passages: &[Passage],
    judgement: &Judgement,
) -> Option<quote::Quote> {
    let (choice, _) = best(question, judgement, passages).first().copied()?;
    let passage = &passages[choice.passage];
    let lines = extent(choice, MOST_LINES, passage);
    let bold = bold_bytes(choice, passage);
    let frames = Frames::for_language(question.language);
    Some(quote(passage, &lines, bold, choice.passage + 1, frames))
}

/// The bytes of a passage that are set in bold for a choice: those of its sentence, unless the block has no other one.
fn bold_bytes(choice: Choice, passage: &Passage) -> Option<&Range<usize>> {
    let sentences = &passage.blocks[choice.block].sentences;
    let sentence = choice.sentence.filter(|_| sentences.len() > 1);
    sentence.map(|at| &sentences[at].range)
}

/// Lines of the blocks behind the first one, as long as these are shorter.
const MOST_LINES_OF_OTHERS: usize = 6;
/// Places that are named below an answer, or where nothing answers.
const MOST_PLACES: usize = 3;
/// Passages below this share of the best grade are no place to look.
const NEAR_BEST: f64 = 0.25;

/// An answer as the engine gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composed {
    pub(super) text: String,
    pub(super) outcome: Outcome,
    pub(super) confidence: Option<Confidence>,
    pub(super) quoted: Vec<Quotation>,
}

impl Composed {
    fn without_quotation(text: String, outcome: Outcome) -> Self {
        Self {
            text,
            outcome,
            confidence: None,
            quoted: Vec::new(),
        }
    }
}

/// Composes the answer to a question.
pub(super) fn compose(material: Material<'_>) -> Composed {
    if let Some(text) = listing::listing(&material) {
        return Composed::without_quotation(text, Outcome::Answered);
    }
    let mut answer = Draft {
        material,
        frames: Frames::for_language(material.question.language),
        sections: Vec::new(),
        quoted: Vec::new(),
        confidence: Confidence::clamped(0.0),
    };
    answer.quote_blocks();
    answer.finish()
}

/// An answer in the making.
struct Draft<'a> {
    material: Material<'a>,
    frames: &'static Frames,
    sections: Vec<String>,
    /// The items that are quoted by their place, with the lines of the passage.
    quoted: Vec<(usize, Range<usize>)>,
    confidence: Confidence,
}

impl Draft<'_> {
    fn quote_blocks(&mut self) {
        let Material {
            question,
            parts,
            verdict,
            ..
        } = self.material;
        let (passages, whole) = (&verdict.passages, &verdict.whole);
        let mut chosen = best(question, whole, passages);
        // A side of which nothing is found is told of only where the whole is not answered either.
        let of_whole = chosen
            .first()
            .map_or(0.0, |(_, chance)| whole.confidence(*chance).value());
        let at_least = if of_whole < self.answer_from() {
            0.0
        } else {
            self.answer_from()
        };
        if let Parts::Sides { left, right } = &question.parts {
            let both = of_both_sides((left, right), question, whole, passages);
            match both.filter(|(_, chance)| is_near_best(*chance, &chosen)) {
                Some(both) => {
                    chosen.retain(|(choice, _)| *choice != both.0);
                    chosen.insert(0, both);
                }
                None if self.quote_parts(parts, &verdict.of_parts, at_least) => return,
                None => {}
            }
        } else if self.quote_parts(parts, &verdict.of_parts, 0.0) {
            return;
        }
        chosen.truncate(MOST_BLOCKS);
        let best = chosen.iter().map(|(_, chance)| *chance).fold(0.0, f64::max);
        self.confidence = whole.confidence(best);
        for (choice, _) in chosen {
            self.add(None, choice);
        }
    }

    /// Quotes a block for each part, and says of which parts nothing is found. Quotes nothing and returns `false` where
    /// no part is answered, or one with less than this confidence.
    fn quote_parts(&mut self, parts: &[Part], of_parts: &[Judgement], at_least: f64) -> bool {
        let passages = &self.material.verdict.passages;
        let first = |(part, judgement): (&Part, &Judgement)| {
            let (choice, chance) = best(&part.question, judgement, passages).first().copied()?;
            Some((choice, judgement.confidence(chance)))
        };
        let found: Vec<Option<(Choice, Confidence)>> =
            parts.iter().zip(of_parts).map(first).collect();
        let answer_from = self.answer_from();
        let is_answered = |found: &Option<(Choice, Confidence)>| {
            found.is_some_and(|(_, confidence)| confidence.value() >= answer_from)
        };
        let confidence = |found: &Option<(Choice, Confidence)>| {
            found.map_or(0.0, |(_, confidence)| confidence.value())
        };
        let least = found.iter().map(confidence).fold(1.0, f64::min);
        if !found.iter().any(is_answered) || least < at_least {
            return false;
        }
        let block = |found: &Option<(Choice, Confidence)>| {
            found.map(|(choice, _)| (choice.passage, choice.block))
        };
        // One block for all parts speaks of none of them alone.
        let is_one = found.iter().all(|it| block(it) == block(&found[0]));
        for (part, found) in parts.iter().zip(&found).take(MOST_BLOCKS) {
            match found.filter(|_| is_answered(found)) {
                Some((choice, _)) if is_one => self.add(None, choice),
                Some((choice, _)) => self.add(Some(&part.label), choice),
                None => self
                    .sections
                    .push(format!("**{}**\n\n{}", part.label, self.frames.missing)),
            }
        }
        // What answers one part is worth showing, however little is known of the others.
        self.confidence = Confidence::clamped(least.max(answer_from));
        true
    }

    /// From which confidence on an answer is given. What a file says that the question names is always told.
    fn answer_from(&self) -> f64 {
        let is_named = |item: &Evidence| item.tool == ToolName::ReadFile;
        if self.material.items.iter().any(is_named) {
            0.0
        } else {
            self.material.verdict.whole.answer_from()
        }
    }

    /// Quotes a block below a label; one that is quoted already is not quoted again.
    fn add(&mut self, label: Option<&str>, choice: Choice) {
        let passage = &self.material.verdict.passages[choice.passage];
        let most_lines = if self.quoted.is_empty() {
            MOST_LINES
        } else {
            MOST_LINES_OF_OTHERS
        };
        let lines = extent(choice, most_lines, passage);
        let overlaps = |(item, other): &(usize, Range<usize>)| {
            *item == choice.passage && other.start < lines.end && lines.start < other.end
        };
        if self.quoted.iter().any(overlaps) || self.quoted.len() == MOST_BLOCKS {
            return;
        }
        let bold = bold_bytes(choice, passage);
        let quote = quote(passage, &lines, bold, choice.passage + 1, self.frames);
        let heading = label.map(|label| format!("**{label}**\n\n"));
        let heading = heading.unwrap_or_default();
        self.sections.push(format!("{heading}{}", quote.text));
        self.quoted.push((choice.passage, quote.lines));
    }

    fn finish(mut self) -> Composed {
        let Material {
            question,
            verdict,
            unknown,
            ..
        } = self.material;
        let passages = &verdict.passages;
        let confidence = self.confidence;
        if self.quoted.is_empty() || confidence.value() < self.answer_from() || unknown.is_some() {
            return self.not_found();
        }
        let quoted = language_of(&self.sections.join("\n"));
        let is_foreign = (quoted == Language::Zh) != (question.language == Language::Zh);
        if let Some(earlier) = &question.continues {
            let about = filled(&self.frames.about, &earlier.question);
            self.sections.insert(0, about);
        }
        if is_foreign {
            self.sections.push(self.frames.untranslated.clone());
        }
        self.add_places(&self.frames.see_also);
        let quotation = |(item, lines): &(usize, Range<usize>)| Quotation {
            n: item + 1,
            lines: LineRange {
                start: passages[*item].start + lines.start,
                end: passages[*item].start + lines.end - 1,
            },
        };
        Composed {
            text: self.sections.join("\n\n"),
            outcome: Outcome::Answered,
            confidence: Some(confidence),
            quoted: self.quoted.iter().map(quotation).collect(),
        }
    }

    /// That nothing answers, and where the nearest is.
    fn not_found(mut self) -> Composed {
        self.quoted.clear();
        self.sections = vec![match self.material.unknown {
            Some(word) => filled(&self.frames.never_said, format!("“{word}”")),
            None => self.frames.nothing.clone(),
        }];
        self.add_places(&self.frames.nearest);
        Composed::without_quotation(self.sections.join("\n\n"), Outcome::NotFound)
    }

    /// Names the best places that are not quoted below a heading, best first, one a document section.
    fn add_places(&mut self, heading: &str) {
        let Material { items, verdict, .. } = self.material;
        let (passages, whole) = (&verdict.passages, &verdict.whole);
        let grades = whole.grades();
        let best = grades.iter().copied().fold(0.0, f64::max);
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.retain(|at| {
            grades[*at] >= NEAR_BEST * best && !self.quoted.iter().any(|(item, _)| item == at)
        });
        order.sort_by(|a, b| grades[*b].total_cmp(&grades[*a]).then(a.cmp(b)));
        let line = |at: usize| {
            let chances = &whole.chances[at];
            let block = (0..chances.len())
                .rev()
                .max_by(|a, b| chances[*a].total_cmp(&chances[*b]));
            place(&items[at], &passages[at], block, at + 1)
        };
        let mut lines: Vec<String> = order.into_iter().map(line).collect();
        let mut seen = HashSet::new();
        lines.retain(|line| seen.insert(line.split_once("] ").map(|(_, name)| name.to_owned())));
        lines.truncate(MOST_PLACES);
        if !lines.is_empty() {
            self.sections
                .push(format!("{heading}\n{}", lines.join("\n")));
        }
    }
}
