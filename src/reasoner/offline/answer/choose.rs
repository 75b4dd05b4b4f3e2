//! Which blocks are quoted.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::Question;

use super::super::judge::{Judgement, log_odds};
use super::super::language::terms;
use super::super::passage::{Block, BlockKind, Passage};
use super::quote::shown_height;

/// Blocks of an answer.
pub const MOST_BLOCKS: usize = 3;
/// A block whose log-odds lie further below those of the best block adds nothing to it: of the questions over the
/// manuals of `assets/judge/NOTICE` that three blocks answer, the nearer ones answer all but one in fifty, with five blocks for every six.
const WITHIN: f64 = 2.0;

/// A block, by the place of its passage and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub passage: usize,
    pub block: usize,
    /// The sentence to be set in bold, by its place in the block.
    pub sentence: Option<usize>,
}

/// All blocks, the most likely first; of equal ones the first.
fn ranked(judgement: &Judgement) -> Vec<(Choice, f64)> {
    let mut all: Vec<(Choice, f64)> = Vec::new();
    for (passage, sentences) in judgement.sentences.iter().enumerate() {
        let sentences = (0..).zip(sentences.iter().copied());
        let choices = sentences.map(|(block, sentence)| Choice {
            passage,
            block,
            sentence,
        });
        all.extend(choices.zip(judgement.chances[passage].iter().copied()));
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// The best block, and those that are about as likely to answer: where it is not plain which block answers, the reader
/// needs the others too.
pub fn best(
    question: &Question,
    judgement: &Judgement,
    passages: &[Passage],
) -> Vec<(Choice, f64)> {
    let mut chosen: Vec<(Choice, f64)> = Vec::new();
    let block = |choice: &Choice| &passages[choice.passage].blocks[choice.block];
    let asked = terms(&question.asked, question.language);
    let has_asked_field = |block: &Block| {
        let mut labels = block.text.lines().filter_map(|line| line.split_once(':'));
        labels.any(|(label, _)| {
            label_terms(label, question)
                .iter()
                .any(|term| asked.contains(term))
        })
    };
    for (choice, chance) in ranked(judgement) {
        // What metadata say is no answer to anything but a question for a field.
        if block(&choice).kind == BlockKind::Fields && !has_asked_field(block(&choice)) {
            continue;
        }
        if chosen.len() == MOST_BLOCKS || chance == 0.0 || !is_near_best(chance, &chosen) {
            break;
        }
        if !chosen
            .iter()
            .any(|(other, _)| block(other).text == block(&choice).text)
        {
            chosen.push((choice, chance));
        }
    }
    chosen
}

/// Whether a block is about as likely to answer as the first of these.
pub fn is_near_best(chance: f64, chosen: &[(Choice, f64)]) -> bool {
    let best = chosen.first();
    best.is_none_or(|(_, best)| log_odds(*best) - log_odds(chance) <= WITHIN)
}

/// The most likely block that names both sides of a comparison, itself or by its heading.
pub fn of_both_sides(
    sides: [&str; 2],
    question: &Question,
    judgement: &Judgement,
    passages: &[Passage],
) -> Option<(Choice, f64)> {
    let words =
        |text: &str| -> HashSet<String> { terms(text, question.language).into_iter().collect() };
    let [left, right] = sides.map(words);
    let (only_left, only_right) = (&left - &right, &right - &left);
    let names = |block: &Block, side: &HashSet<String>| {
        let held = words(&format!("{}\n{}", block.heading(), block.text));
        !side.is_empty() && 2 * side.intersection(&held).count() > side.len()
    };
    let names_both = |(choice, _): &(Choice, f64)| {
        let block = &passages[choice.passage].blocks[choice.block];
        names(block, &only_left) && names(block, &only_right)
    };
    ranked(judgement).into_iter().find(names_both)
}

/// Lines of a passage that are quoted for its best block: the block with its neighbours in the section, as long as all
/// of that is short.
pub fn extent(choice: Choice, most_lines: usize, passage: &Passage) -> Range<usize> {
    let block = &passage.blocks[choice.block];
    let is_text = |block: &Block| block.kind != BlockKind::Fields;
    let lines_of = |first: usize, last: usize| {
        passage.blocks[first].lines.start..passage.blocks[last].lines.end
    };
    let is_added = |at: usize, first: usize, last: usize| {
        let other = passage.blocks.get(at);
        other.is_some_and(|other| {
            other.headings == block.headings
                && is_text(other) == is_text(block)
                && shown_height(passage, &lines_of(first, last)) <= most_lines
        })
    };
    let (mut first, mut last) = (choice.block, choice.block);
    loop {
        if is_added(last + 1, first, last + 1) {
            last += 1;
        } else if first > 0 && is_added(first - 1, first - 1, last) {
            first -= 1;
        } else {
            return lines_of(first, last);
        }
    }
}

/// The words of the label of a field: `depends_on`, `**Depends on**`.
pub fn label_terms(label: &str, question: &Question) -> Vec<String> {
    terms(&label.replace(['_', '-', '*'], " "), question.language)
}
