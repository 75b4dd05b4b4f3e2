//! Which blocks are quoted.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::{ConfidenceLevel, Question, QuestionKind};

use super::super::judge::Judgement;
use super::super::language::terms;
use super::super::passage::{Block, Passage};

/// Blocks of an answer.
pub(super) const MOST_BLOCKS: usize = 3;
/// A block below this share of the chance of the best one adds nothing to it.
const NEAR_BEST: f64 = 0.2;

/// A block, by the place of its passage and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) passage: usize,
    pub(super) block: usize,
    /// The sentence to be set in bold, by its place in the block.
    pub(super) sentence: Option<usize>,
}

/// All blocks, the most likely first; of equal ones the first.
pub(super) fn ranked(judgement: &Judgement) -> Vec<(Choice, f64)> {
    let mut all: Vec<(Choice, f64)> = Vec::new();
    for (passage, chances) in judgement.chances.iter().enumerate() {
        for (block, chance) in chances.iter().enumerate() {
            let sentence = judgement.sentences[passage][block];
            let choice = Choice {
                passage,
                block,
                sentence,
            };
            all.push((choice, *chance));
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// The best block and, until the answer is sure, the next best ones: where the first may not answer, the reader needs
/// another one.
pub(super) fn best(judgement: &Judgement, passages: &[Passage]) -> Vec<(Choice, f64)> {
    let mut chosen: Vec<(Choice, f64)> = Vec::new();
    let block = |choice: &Choice| &passages[choice.passage].blocks[choice.block];
    for (choice, chance) in ranked(judgement) {
        let chances: Vec<f64> = chosen.iter().map(|(_, chance)| *chance).collect();
        let is_sure = judgement.confidence(&chances).level() == ConfidenceLevel::Sure;
        let is_far = chances
            .first()
            .is_some_and(|best| chance < NEAR_BEST * best);
        if chosen.len() == MOST_BLOCKS || is_far || !chosen.is_empty() && is_sure {
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

/// The most likely block that names both sides of a comparison, itself or by its heading.
pub(super) fn of_both_sides(
    sides: (&str, &str),
    question: &Question,
    judgement: &Judgement,
    passages: &[Passage],
) -> Option<(Choice, f64)> {
    let words =
        |text: &str| -> HashSet<String> { terms(text, question.language).into_iter().collect() };
    let (left, right) = (words(sides.0), words(sides.1));
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

/// The lines to quote for a block: the whole section where its heading is the term whose meaning is asked for.
pub(super) fn extent(choice: Choice, question: &Question, passage: &Passage) -> Range<usize> {
    let block = &passage.blocks[choice.block];
    let subject: HashSet<String> = super::super::question::subject_terms(question)
        .into_iter()
        .collect();
    let heading: HashSet<String> = terms(block.heading(), question.language)
        .into_iter()
        .collect();
    let is_definition =
        question.kind == QuestionKind::Definition && !heading.is_empty() && heading == subject;
    if !is_definition {
        return block.lines.clone();
    }
    let of_section = |other: &&Block| other.headings == block.headings;
    let section = passage.blocks.iter().filter(of_section);
    let hull = section.map(|block| block.lines.clone());
    let hull = hull.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    hull.unwrap_or_else(|| block.lines.clone())
}
