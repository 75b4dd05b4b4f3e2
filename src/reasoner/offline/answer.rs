//! The answer: whole blocks of the evidence, quoted with their sources.
//!
//! Nothing is written but frames and nothing is reassembled. One block answers a question; another one joins it only
//! for another part of the question or from another document.

mod choose;
mod listing;
mod quote;

use std::collections::HashSet;
use std::ops::Range;

use super::judge::Verdict;
use super::language::{Frames, filled, language_of, table};
use super::passage::BlockKind;
use super::passage::Passage;
use super::question::Part;
use crate::domain::{
    Confidence, Evidence, Language, LineRange, Outcome, Parts, Question, Quotation, ToolName,
};
use choose::{Choice, MOST_BLOCKS, NumberedParts, best, extent, of_both_sides};
use listing::{listing, place};
use quote::{MOST_LINES, QuotedBlock, quote};

/// Lines of the blocks behind the first one, as long as these are shorter.
const MOST_LINES_OF_OTHERS: usize = 6;
/// Places that are named below an answer, or where nothing answers.
const MOST_PLACES: usize = 3;
/// Passages below this share of the best grade are no place to look.
const NEAR_BEST: f64 = 0.25;

/// What is answered from.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    pub question: &'a Question,
    pub parts: &'a [Part],
    pub items: &'a [Evidence],
    pub verdict: &'a Verdict,
    /// A name in the question that occurs nowhere in the base.
    pub unknown: Option<&'a str>,
}

/// An answer as the engine gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct ComposedAnswer {
    pub text: String,
    pub outcome: Outcome,
    pub confidence: Option<Confidence>,
    pub quoted: Vec<Quotation>,
}

impl ComposedAnswer {
    /// An answer that quotes nothing.
    pub fn without_quotation(text: String, outcome: Outcome) -> Self {
        Self {
            text,
            outcome,
            confidence: None,
            quoted: Vec::new(),
        }
    }
}

/// Composes the answer to a question.
pub fn compose(material: Material<'_>) -> ComposedAnswer {
    let (question, passages) = (material.question, &material.verdict.passages);
    if let Some(text) = listing(question, material.items, passages) {
        return ComposedAnswer::without_quotation(text, Outcome::Answered);
    }
    let mut answer = Draft {
        material,
        frames: &table(question.language).frames,
        sections: Vec::new(),
        quoted: Vec::new(),
        confidence: Confidence::clamped(0.0),
        quotes_named_part: false,
    };
    answer.quote_blocks();
    answer.finish()
}

/// Quotes a block with its neighbours; its best sentence is in bold unless it is the only one.
fn quote_choice(
    choice: Choice,
    passages: &[Passage],
    most_lines: usize,
    frames: &Frames,
) -> QuotedBlock {
    let passage = &passages[choice.passage];
    let sentences = &choice.block(passages).sentences;
    let bold = choice.sentence.filter(|_| sentences.len() > 1);
    // A row without the header of its table is no Markdown, so marks around it would be shown.
    let bold = bold.map(|at| &sentences[at]);
    let bold = bold.filter(|it| {
        passage.blocks[choice.block].kind == BlockKind::Table || !it.text.starts_with('|')
    });
    let bold = bold.map(|it| &it.range);
    let lines = extent(choice, most_lines, passage);
    quote(passage, &lines, bold, choice.passage + 1, frames)
}

/// An answer in the making.
struct Draft<'a> {
    material: Material<'a>,
    frames: &'static Frames,
    sections: Vec<String>,
    /// The items that are quoted by their place, with the lines of the passage.
    quoted: Vec<(usize, Range<usize>)>,
    confidence: Confidence,
    /// Whether it quotes a part that the question names by its number.
    quotes_named_part: bool,
}

impl Draft<'_> {
    fn quote_blocks(&mut self) {
        let question = self.material.question;
        let (passages, whole) = (
            &self.material.verdict.passages,
            &self.material.verdict.whole,
        );
        let mut chosen = best(question, whole, passages);
        let best = chosen.first().map_or(0.0, |best| best.chance);
        let of_both = match &question.parts {
            Parts::Sides { left, right } => of_both_sides([left, right], question, whole, passages),
            Parts::One | Parts::Several { .. } => None,
        };
        match of_both.filter(|it| it.is_near(&chosen)) {
            Some(of_both) => {
                chosen.retain(|choice| *choice != of_both);
                chosen.insert(0, of_both);
            }
            None if self.quote_parts() => return,
            None => {}
        }
        self.confidence = whole.confidence(best);
        let parts = NumberedParts::named_in(question);
        let is_named = |choice: &Choice| parts.nearness(choice.block(passages)) > 0;
        self.quotes_named_part = chosen.first().is_some_and(is_named);
        for choice in chosen {
            self.add(None, choice);
        }
    }

    /// Quotes a block for each part, and says of which parts nothing is found. Quotes nothing and returns `false` where
    /// no part is answered.
    fn quote_parts(&mut self) -> bool {
        let Material { parts, verdict, .. } = self.material;
        let answer_from = self.answer_from();
        let mut least = 1.0;
        let mut found: Vec<Option<Choice>> = Vec::new();
        for (part, judgement) in parts.iter().zip(&verdict.of_parts) {
            let best = best(&part.question, judgement, &verdict.passages);
            let best = best.first().copied();
            let confidence = best.map_or(0.0, |it| judgement.confidence(it.chance).value());
            least = confidence.min(least);
            found.push(best.filter(|_| confidence >= answer_from));
        }
        if found.iter().all(Option::is_none) {
            return false;
        }
        // One block for all parts speaks of none of them alone.
        let block = |found: &Option<Choice>| found.map(|choice| (choice.passage, choice.block));
        let is_one = found.iter().all(|it| block(it) == block(&found[0]));
        for (part, choice) in parts.iter().zip(found).take(MOST_BLOCKS) {
            if let Some(choice) = choice {
                self.add(Some(&part.label).filter(|_| !is_one), choice);
            } else {
                let missing = format!("**{}**\n\n{}", part.label, self.frames.missing);
                self.sections.push(missing);
            }
        }
        // What answers one part is worth showing, however little is known of the others.
        self.confidence = Confidence::clamped(answer_from.max(least));
        true
    }

    /// The lowest confidence with which an answer is given. What a file or a part that the question
    /// names says is always told.
    fn answer_from(&self) -> f64 {
        let is_named = |item: &Evidence| item.tool == ToolName::ReadFile;
        if self.quotes_named_part || self.material.items.iter().any(is_named) {
            0.0
        } else {
            self.material.verdict.whole.answer_from()
        }
    }

    /// Quotes a block below a label; one that is quoted already is not quoted again.
    fn add(&mut self, label: Option<&String>, choice: Choice) {
        let most_lines = if self.quoted.is_empty() {
            MOST_LINES
        } else {
            MOST_LINES_OF_OTHERS
        };
        let passages = &self.material.verdict.passages;
        let QuotedBlock { text, lines, .. } =
            quote_choice(choice, passages, most_lines, self.frames);
        let overlaps = |(item, other): &(usize, Range<usize>)| {
            *item == choice.passage && other.start < lines.end && lines.start < other.end
        };
        if self.quoted.len() < MOST_BLOCKS && !self.quoted.iter().any(overlaps) {
            let heading = label.map(|label| format!("**{label}**\n\n"));
            self.sections.push(heading.unwrap_or_default() + &text);
            self.quoted.push((choice.passage, lines));
        }
    }

    fn finish(mut self) -> ComposedAnswer {
        let Material {
            question,
            verdict,
            unknown,
            ..
        } = self.material;
        let is_answered = self.confidence.value() >= self.answer_from() && unknown.is_none();
        if self.quoted.is_empty() || !is_answered {
            return self.not_found();
        }
        let language = language_of(&self.sections.join("\n"));
        if let Some(earlier) = &question.continues {
            let about = filled(&self.frames.about, &earlier.question);
            self.sections.insert(0, about);
        }
        if (language == Language::ZH) != (question.language == Language::ZH) {
            self.sections.push(self.frames.untranslated.clone());
        }
        self.add_places(&self.frames.see_also);
        let quotation = |(item, lines): &(usize, Range<usize>)| {
            let first = verdict.passages[*item].start;
            Quotation {
                n: item + 1,
                lines: LineRange {
                    start: first + lines.start,
                    end: first + lines.end - 1,
                },
            }
        };
        ComposedAnswer {
            text: self.sections.join("\n\n"),
            outcome: Outcome::Answered,
            confidence: Some(self.confidence),
            quoted: self.quoted.iter().map(quotation).collect(),
        }
    }

    /// Writes that nothing answers the question, and where the nearest passage is.
    fn not_found(mut self) -> ComposedAnswer {
        self.quoted.clear();
        self.sections = vec![match self.material.unknown {
            Some(word) => filled(&self.frames.never_said, format!("“{word}”")),
            None => self.frames.nothing.clone(),
        }];
        self.add_places(&self.frames.nearest);
        ComposedAnswer::without_quotation(self.sections.join("\n\n"), Outcome::NotFound)
    }

    /// Names the best places that are not quoted below a heading, best first, one a document section.
    fn add_places(&mut self, heading: &str) {
        let Verdict {
            passages, whole, ..
        } = self.material.verdict;
        let grades = &whole.grades;
        let best = grades.iter().copied().fold(0.0, f64::max);
        let is_quoted = |at: &usize| self.quoted.iter().any(|(item, _)| item == at);
        let mut order: Vec<usize> = (0..passages.len()).collect();
        order.retain(|at| grades[*at] >= NEAR_BEST * best && !is_quoted(at));
        order.sort_by(|a, b| grades[*b].total_cmp(&grades[*a]));
        let mut named = HashSet::new();
        let mut lines = Vec::new();
        for at in order {
            let passage = &passages[at];
            let blocks = passage.blocks.iter().zip(&whole.chances[at]);
            let best = blocks.rev().max_by(|a, b| a.1.total_cmp(b.1));
            let heading = best.map_or("", |(block, _)| block.heading());
            if named.insert((&passage.source, heading)) {
                lines.push(place(passage, heading, at + 1));
            }
        }
        lines.truncate(MOST_PLACES);
        if !lines.is_empty() {
            self.sections
                .push(format!("{heading}\n{}", lines.join("\n")));
        }
    }
}
