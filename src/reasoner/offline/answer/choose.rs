//! Which blocks are quoted.

use std::collections::HashSet;
use std::ops::Range;

use crate::domain::Question;

use super::super::judge::{Judgement, log_odds};
use super::super::language::terms;
use super::super::passage::{Block, BlockKind, Passage};
use super::super::question::NumberedParts;
use super::quote::shown_height;

/// Blocks of an answer.
pub const MOST_BLOCKS: usize = 3;
/// A block whose log-odds lie further below those of the best block adds nothing to it: of the questions over the
/// manuals of `assets/judge/NOTICE` that three blocks answer, the nearer ones answer all but one in fifty, with five blocks for every six.
const WITHIN: f64 = 2.0;

/// A block that may be quoted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The place of its passage, and its own in there.
    pub passage: usize,
    pub block: usize,
    /// The sentence to be set in bold, by its place in the block.
    pub sentence: Option<usize>,
    /// How likely it answers.
    pub chance: f64,
}

impl Choice {
    pub fn block(self, passages: &[Passage]) -> &Block {
        &passages[self.passage].blocks[self.block]
    }

    /// Whether it is about as likely to answer as the first of these.
    pub fn is_near(&self, chosen: &[Self]) -> bool {
        let best = chosen.first();
        best.is_none_or(|best| log_odds(best.chance) - log_odds(self.chance) <= WITHIN)
    }
}

/// All blocks, the most likely first; of equal ones the first.
fn ranked(judgement: &Judgement) -> Vec<Choice> {
    let mut all: Vec<Choice> = Vec::new();
    for (passage, chances) in judgement.chances.iter().enumerate() {
        let blocks = (0..).zip(chances.iter().zip(&judgement.sentences[passage]));
        all.extend(blocks.map(|(block, (chance, sentence))| Choice {
            passage,
            block,
            sentence: *sentence,
            chance: *chance,
        }));
    }
    all.sort_by(|a, b| b.chance.total_cmp(&a.chance));
    all
}

/// The best block, and those that are about as likely to answer: where it is not plain which block answers, the reader
/// needs the others too. Of a part that the question names by its number, only its own blocks.
pub fn best(question: &Question, judgement: &Judgement, passages: &[Passage]) -> Vec<Choice> {
    let parts = NumberedParts::named_in(question);
    let mut ranked = ranked(judgement);
    let nearness = |choice: &Choice| parts.nearness(choice.block(passages));
    let nearest = ranked.iter().map(nearness).max().unwrap_or_default();
    ranked.retain(|choice| nearness(choice) == nearest);
    let mut chosen: Vec<Choice> = Vec::new();
    for choice in ranked {
        let is_named = nearest > 0 && chosen.is_empty();
        let is_likely = choice.chance > 0.0 && choice.is_near(&chosen);
        if chosen.len() == MOST_BLOCKS || !is_likely && !is_named {
            break;
        }
        let block = choice.block(passages);
        let is_repeated = |other: &Choice| other.block(passages).text == block.text;
        if may_answer(block, question) && !chosen.iter().any(is_repeated) {
            chosen.push(choice);
        }
    }
    chosen
}

/// What metadata say is no answer to anything but a question for a field.
fn may_answer(block: &Block, question: &Question) -> bool {
    let asked = terms(&question.asked, question.language);
    let mut labels = block.text.lines().filter_map(|line| line.split_once(':'));
    let is_asked = |(label, _)| {
        let label = label_terms(label, question);
        label.iter().any(|term| asked.contains(term))
    };
    block.kind != BlockKind::Fields || labels.any(is_asked)
}

/// The most likely block that names both sides of a comparison, itself or by its heading.
pub fn of_both_sides(
    sides: [&str; 2],
    question: &Question,
    judgement: &Judgement,
    passages: &[Passage],
) -> Option<Choice> {
    let words =
        |text: &str| -> HashSet<String> { terms(text, question.language).into_iter().collect() };
    let [left, right] = sides.map(words);
    let names_both = |choice: &Choice| {
        let block = choice.block(passages);
        let held = words(&format!("{}\n{}", block.heading(), block.text));
        [&left - &right, &right - &left]
            .iter()
            .all(|side| 2 * side.intersection(&held).count() > side.len())
    };
    ranked(judgement).into_iter().find(names_both)
}

/// Lines of a passage that are quoted for its best block: the block with its neighbours in the section, as long as all
/// of that is short.
pub fn extent(choice: Choice, most_lines: usize, passage: &Passage) -> Range<usize> {
    let block = &passage.blocks[choice.block];
    let belongs = |at: usize| {
        let other = passage.blocks.get(at);
        let is_field = |block: &Block| block.kind == BlockKind::Fields;
        other.is_some_and(|it| it.headings == block.headings && is_field(it) == is_field(block))
    };
    let lines_of = |first: usize, last: usize| {
        passage.blocks[first].lines.start..passage.blocks[last].lines.end
    };
    let fits = |first, last| shown_height(passage, &lines_of(first, last)) <= most_lines;
    let (mut first, mut last) = (choice.block, choice.block);
    while belongs(last + 1) && fits(first, last + 1) {
        last += 1;
    }
    while first > 0 && belongs(first - 1) && fits(first - 1, last) {
        first -= 1;
    }
    lines_of(first, last)
}

/// The words of the label of a field, such as `depends_on`.
pub fn label_terms(label: &str, question: &Question) -> Vec<String> {
    terms(&label.replace(['_', '-'], " "), question.language)
}
