//! Which blocks are quoted.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::{Question, QuestionKind};

use super::super::judge::{Judgement, log_odds};
use super::super::language::terms;
use super::super::passage::{Block, Passage};

/// Blocks of an answer.
pub(super) const MOST_BLOCKS: usize = 3;
/// A block whose log-odds lie further below those of the best block adds nothing to it: of the questions over real
/// manuals that three blocks answer, the nearer ones answer all but one in fifty, with five blocks for every six.
const WITHIN: f64 = 2.0;

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

/// The best block, and those that are about as likely to answer: where it is not plain which block answers, the reader
/// needs the others too.
pub(super) fn best(judgement: &Judgement, passages: &[Passage]) -> Vec<(Choice, f64)> {
    let mut chosen: Vec<(Choice, f64)> = Vec::new();
    let block = |choice: &Choice| &passages[choice.passage].blocks[choice.block];
    for (choice, chance) in ranked(judgement) {
        let is_near = chosen
            .first()
            .is_none_or(|(_, best)| log_odds(*best) - log_odds(chance) <= WITHIN);
        if chosen.len() == MOST_BLOCKS || chance == 0.0 || !is_near {
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
