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
use super::passage::{BlockKind, Passage};
use super::question::Part;
use crate::agent::ports::{ChosenItem, QuotedText};
use crate::domain::{
    Confidence, Evidence, KEEP_FROM, Language, Outcome, Parts, Question, Quotation, ToolName,
};
use crate::text::one_line;
use choose::{Choice, MOST_QUOTED_BLOCKS, NumberedParts, best, extent, of_both_sides};
use listing::{listing, place};
use quote::{MOST_LINES, quote};

/// Lines of the blocks behind the first one, as long as these are shorter.
const MOST_LINES_OF_OTHERS: usize = 6;
/// Places that are named below an answer, or where nothing answers.
const MOST_PLACES: usize = 3;
/// Lines of the nearest passage that are shown where nothing answers, and the characters of each.
const MOST_LINES_OF_NEAREST: usize = 2;
const LONGEST_LINE_OF_NEAREST: usize = 160;
/// Passages below this share of the best grade are no place to look.
const NEAR_BEST: f64 = 0.25;

/// An answer as the engine gives it.
#[derive(Debug)]
pub struct ComposedAnswer {
    pub text: String,
    pub outcome: Outcome,
    pub confidence: Option<Confidence>,
    /// How likely the evidence answers, also where that is too little for an answer; `None` of a list.
    pub chance: Option<Confidence>,
    pub quoted: Vec<Quotation>,
    /// The quoted items by their place, each with the lines of its passage that are shown.
    pub shown: Vec<(usize, Range<usize>)>,
}

impl ComposedAnswer {
    /// An answer that quotes nothing.
    pub fn without_quotation(text: String, outcome: Outcome) -> Self {
        Self {
            text,
            outcome,
            confidence: None,
            chance: None,
            quoted: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// What it quotes of these items, as they are numbered here; `None` where it quotes none of them.
    pub fn quotation(
        &self,
        chosen: &[ChosenItem],
        passages: &[Passage],
        language: Language,
    ) -> Option<QuotedText> {
        let mut texts = Vec::new();
        let mut quoted = Vec::new();
        for (at, lines) in &self.shown {
            let Some(place) = chosen.iter().position(|item| item.at == *at) else {
                continue;
            };
            let passage = &passages[*at];
            let frames = &table(language).frames;
            let (text, lines) = quote(passage, lines, None, place + 1, frames);
            texts.push(text);
            quoted.push(Quotation {
                n: place + 1,
                lines: passage.lines_in_file(&lines),
            });
        }
        let text = texts.join("\n\n");
        (!quoted.is_empty()).then_some(QuotedText { text, quoted })
    }
}

/// Composes the answer to a question out of the items and what was judged of them. `unknown` is a name in the question
/// that occurs nowhere in the base.
pub fn compose(
    question: &Question,
    parts: &[Part],
    items: &[Evidence],
    verdict: &Verdict,
    unknown: Option<&str>,
) -> ComposedAnswer {
    if let Some(text) = listing(question, items, &verdict.passages) {
        return ComposedAnswer::without_quotation(text, Outcome::Answered);
    }
    // What a file that the question names says is always told.
    let names_file = items.iter().any(|item| item.tool == ToolName::ReadFile);
    let mut answer = Draft {
        question,
        verdict,
        frames: &table(question.language).frames,
        sections: Vec::new(),
        quoted: Vec::new(),
        confidence: Confidence::clamped(0.0),
        answer_from: if names_file {
            0.0
        } else {
            verdict.whole.answers_from()
        },
    };
    answer.quote_blocks(parts);
    answer.finish(unknown)
}

/// Says that nothing answers the question, and where the nearest passages are.
pub fn nothing_answers(question: &Question, verdict: &Verdict) -> String {
    let draft = Draft {
        question,
        verdict,
        frames: &table(question.language).frames,
        sections: Vec::new(),
        quoted: Vec::new(),
        confidence: Confidence::clamped(0.0),
        answer_from: verdict.whole.answers_from(),
    };
    draft.not_found(None).text
}

/// An answer in the making.
struct Draft<'a> {
    question: &'a Question,
    verdict: &'a Verdict,
    frames: &'static Frames,
    sections: Vec<String>,
    /// The items that are quoted by their place, with the lines of the passage.
    quoted: Vec<(usize, Range<usize>)>,
    confidence: Confidence,
    /// The lowest confidence with which an answer is given.
    answer_from: f64,
}

impl Draft<'_> {
    fn quote_blocks(&mut self, parts: &[Part]) {
        let (question, verdict) = (self.question, self.verdict);
        let (whole, passages) = (&verdict.whole, &verdict.passages);
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
            None if self.quote_parts(parts) => return,
            None => {}
        }
        self.confidence = whole.confidence(best);
        let named = NumberedParts::named_in(question);
        let is_named = |choice: &Choice| named.nearness(choice.block(passages)) > 0;
        if chosen.first().is_some_and(is_named) {
            // As with a file: what a part that the question names by its number says.
            self.answer_from = 0.0;
        }
        for choice in chosen {
            self.add(None, choice);
        }
    }

    /// Quotes a block for each part, and says of which parts nothing is found. Quotes nothing and returns `false` where
    /// no part is answered.
    fn quote_parts(&mut self, parts: &[Part]) -> bool {
        let verdict = self.verdict;
        let mut least = 1.0;
        let mut found: Vec<Option<Choice>> = Vec::new();
        for (part, judgement) in parts.iter().zip(&verdict.of_parts) {
            let best = best(&part.question, judgement, &verdict.passages);
            let best = best.first().copied();
            let confidence = best.map_or(0.0, |it| judgement.confidence(it.chance).value());
            least = confidence.min(least);
            found.push(best.filter(|_| confidence >= self.answer_from));
        }
        if found.iter().all(Option::is_none) {
            return false;
        }
        // One block for all parts speaks of none of them alone.
        let block = |found: &Option<Choice>| found.map(|choice| (choice.passage, choice.block));
        let is_one = found.iter().all(|it| block(it) == block(&found[0]));
        for (part, choice) in parts.iter().zip(found).take(MOST_QUOTED_BLOCKS) {
            if let Some(choice) = choice {
                self.add(Some(&part.label).filter(|_| !is_one), choice);
            } else {
                let missing = format!("**{}**\n\n{}", part.label, self.frames.missing);
                self.sections.push(missing);
            }
        }
        // What answers one part is worth showing, however little is known of the others.
        self.confidence = Confidence::clamped(self.answer_from.max(least));
        true
    }

    /// Quotes a block with its neighbours below a label, its best sentence in bold unless it is the only one. One that is
    /// quoted already is not quoted again.
    fn add(&mut self, label: Option<&String>, choice: Choice) {
        let most_lines = if self.quoted.is_empty() {
            MOST_LINES
        } else {
            MOST_LINES_OF_OTHERS
        };
        let passage = &self.verdict.passages[choice.passage];
        let block = &passage.blocks[choice.block];
        let bold = choice.sentence.filter(|_| block.sentences.len() > 1);
        // A row without the header of its table is no Markdown, so marks around it would be shown.
        let bold = bold.map(|at| &block.sentences[at]);
        let bold = bold.filter(|it| block.kind == BlockKind::Table || !it.text.starts_with('|'));
        let bold = bold.map(|it| &it.range);
        let lines = extent(choice, most_lines, passage);
        let (text, lines) = quote(passage, &lines, bold, choice.passage + 1, self.frames);
        let overlaps = |(item, other): &(usize, Range<usize>)| {
            *item == choice.passage && other.start < lines.end && lines.start < other.end
        };
        if self.quoted.len() < MOST_QUOTED_BLOCKS && !self.quoted.iter().any(overlaps) {
            let heading = label.map(|label| format!("**{label}**\n\n"));
            self.sections.push(heading.unwrap_or_default() + &text);
            self.quoted.push((choice.passage, lines));
        }
    }

    fn finish(mut self, unknown: Option<&str>) -> ComposedAnswer {
        let is_answered = self.confidence.value() >= self.answer_from && unknown.is_none();
        if self.quoted.is_empty() || !is_answered {
            return self.not_found(unknown);
        }
        let language = language_of(&self.sections.join("\n"));
        if let Some(earlier) = &self.question.continues {
            let about = filled(&self.frames.about, &earlier.question);
            self.sections.insert(0, about);
        }
        if (language == Language::ZH) != (self.question.language == Language::ZH) {
            self.sections.push(self.frames.untranslated.clone());
        }
        self.add_places(&self.frames.see_also);
        let quotation = |(item, lines): &(usize, Range<usize>)| Quotation {
            n: item + 1,
            lines: self.verdict.passages[*item].lines_in_file(lines),
        };
        ComposedAnswer {
            text: self.sections.join("\n\n"),
            outcome: Outcome::Answered,
            confidence: Some(self.confidence),
            chance: Some(self.confidence),
            quoted: self.quoted.iter().map(quotation).collect(),
            shown: self.quoted.clone(),
        }
    }

    /// Writes that nothing answers the question, and where the nearest passage is.
    fn not_found(mut self, unknown: Option<&str>) -> ComposedAnswer {
        self.quoted.clear();
        let grades = self.verdict.whole.grades.iter().flatten();
        let is_near = grades.copied().any(|grade| grade >= KEEP_FROM);
        self.sections = vec![match unknown {
            Some(word) => filled(&self.frames.never_said, format!("“{word}”")),
            None if is_near => self.frames.unclear.clone(),
            None => self.frames.nothing.clone(),
        }];
        if is_near {
            self.show_nearest();
        }
        self.add_places(&self.frames.nearest);
        ComposedAnswer {
            chance: Some(self.confidence),
            ..ComposedAnswer::without_quotation(self.sections.join("\n\n"), Outcome::NotFound)
        }
    }

    /// Shows the beginning of the block that is nearest.
    fn show_nearest(&mut self) {
        let passages = &self.verdict.passages;
        let Some(choice) = best(self.question, &self.verdict.whole, passages)
            .into_iter()
            .next()
        else {
            return;
        };
        let (passage, block) = (&passages[choice.passage], choice.block(passages));
        let bytes = passage.bytes_of(&block.lines);
        let shown = passage.markup.readable(&passage.text, &bytes);
        let lines = shown.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.take(MOST_LINES_OF_NEAREST).map(|line| {
            // Without signs that would be taken for the answer's own.
            let line = line.replace(['[', ']', '`', '|', '*', '<', '>', '#'], " ");
            format!("> {}", one_line(&line, LONGEST_LINE_OF_NEAREST))
        });
        let quoted = lines.collect::<Vec<_>>().join("\n");
        if !quoted.is_empty() {
            self.sections
                .push(format!("{quoted} [{}]", choice.passage + 1));
        }
    }

    /// Names the best places that are not quoted below a heading, best first, one a document section.
    fn add_places(&mut self, heading: &str) {
        let (passages, whole) = (&self.verdict.passages, &self.verdict.whole);
        let best = whole.grades.iter().flatten().copied().fold(0.0, f64::max);
        let grade = |at: &usize| whole.grades[*at].unwrap_or_default();
        let is_quoted = |at: &usize| self.quoted.iter().any(|(item, _)| item == at);
        let mut order: Vec<usize> = (0..passages.len()).collect();
        order.retain(|at| whole.looked_at(*at) && grade(at) >= NEAR_BEST * best && !is_quoted(at));
        order.sort_by(|a, b| grade(b).total_cmp(&grade(a)));
        let mut named = HashSet::new();
        let mut lines = vec![heading.to_owned()];
        for at in order {
            let passage = &passages[at];
            let blocks = passage.blocks.iter().zip(&whole.chances[at]);
            let best = blocks.rev().max_by(|a, b| a.1.total_cmp(b.1));
            let heading = best.map_or("", |(block, _)| block.heading());
            if named.insert((&passage.source, heading)) {
                lines.push(place(passage, heading, at + 1));
            }
        }
        lines.truncate(1 + MOST_PLACES);
        if lines.len() > 1 {
            self.sections.push(lines.join("\n"));
        }
    }
}
