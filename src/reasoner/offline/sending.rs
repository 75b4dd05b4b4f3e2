//! What of the evidence a language model gets to read: the blocks that are most likely to answer, within a number of
//! tokens.
//!
//! A small model reads some sixty tokens a second on two cores and answers no better from more of them, so every block
//! has to earn its place. The blocks of one item go together, in their order, below one number.

use std::collections::BTreeMap;

use super::judge::{Verdict, log_odds};
use super::passage::{Block, BlockKind, Passage};
use crate::agent::ports::ChosenItem;
use crate::domain::Evidence;

/// A block whose log-odds lie further below those of the best block is left out, as far as it was judged.
const WITHIN: f64 = 2.5;
/// Stands where lines of an item are left out.
const GAP: &str = "…";

/// A block by its place, with the highest chance that the question or one of its parts gives it.
struct RankedBlock {
    passage: usize,
    block: usize,
    chance: f64,
    /// Whether its passage was looked at.
    is_judged: bool,
}

/// Chooses blocks of the items until about `budget` tokens are spent, as `tokens` counts them; at least one.
pub fn choose_blocks(
    items: &[Evidence],
    verdict: &Verdict,
    budget: usize,
    tokens: &dyn Fn(&str) -> usize,
) -> Vec<ChosenItem> {
    let ranked = ranked(items, verdict);
    let best = ranked.first().map_or(0.0, |best| best.chance);
    let mut chosen: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<usize> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut left = budget;
    for ranked in &ranked {
        let is_far = ranked.is_judged && log_odds(best) - log_odds(ranked.chance) > WITHIN;
        let block = &verdict.passages[ranked.passage].blocks[ranked.block];
        if is_far || texts.contains(&block.text.as_str()) {
            continue;
        }
        let cost = tokens(&block.text);
        if cost > left && !order.is_empty() {
            continue;
        }
        left = left.saturating_sub(cost);
        texts.push(&block.text);
        if !order.contains(&ranked.passage) {
            order.push(ranked.passage);
        }
        chosen.entry(ranked.passage).or_default().push(ranked.block);
    }
    let item = |at: usize| {
        let passage = &verdict.passages[at];
        let blocks = chosen.get(&at).cloned().unwrap_or_default();
        chosen_item(at, passage, blocks)
    };
    if order.is_empty() {
        // Text without a block, such as lines of figures.
        return whole_items(items, budget, tokens);
    }
    order.into_iter().map(item).collect()
}

/// All blocks, the most likely first; those of passages that nobody looked at follow as the search found them.
fn ranked(items: &[Evidence], verdict: &Verdict) -> Vec<RankedBlock> {
    let judgements = || std::iter::once(&verdict.whole).chain(&verdict.of_parts);
    let mut all: Vec<RankedBlock> = Vec::new();
    for (passage, of_passage) in verdict.passages.iter().enumerate() {
        let is_judged = judgements().any(|judgement| judgement.looked_at(passage));
        for block in 0..of_passage.blocks.len() {
            let chances = judgements().map(|judgement| judgement.chances[passage][block]);
            all.push(RankedBlock {
                passage,
                block,
                chance: chances.fold(0.0, f64::max),
                is_judged,
            });
        }
    }
    let found = |it: &RankedBlock| items[it.passage].score.value();
    all.sort_by(|a, b| {
        let by_chance = b.chance.total_cmp(&a.chance);
        by_chance.then_with(|| found(b).total_cmp(&found(a)))
    });
    all
}

fn chosen_item(at: usize, passage: &Passage, mut blocks: Vec<usize>) -> ChosenItem {
    blocks.sort_unstable();
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut before: Option<&Block> = None;
    for block in blocks.iter().map(|at| &passage.blocks[*at]) {
        if let Some(before) = before {
            let is_next = passage.blocks.iter().all(|other| {
                other.lines.start < before.lines.end || other.lines.start >= block.lines.start
            });
            text.push_str(if is_next { "\n\n" } else { "\n\n…\n\n" });
        } else if block.lines.start > 0 && block.heading().is_empty() {
            text.push_str(GAP);
            text.push('\n');
        }
        if before.is_none_or(|before| before.headings != block.headings)
            && !block.heading().is_empty()
        {
            text.push_str(&format!("# {}\n", block.headings.join(" › ")));
        }
        text.push_str(&sent_text(passage, block));
        lines.push(passage.lines_in_file(&block.lines));
        before = Some(block);
    }
    ChosenItem { at, text, lines }
}

/// A block as a model reads it: code as it is written, and text without what only lays it out.
fn sent_text(passage: &Passage, block: &Block) -> String {
    match block.kind {
        BlockKind::Code | BlockKind::Table => passage.text[passage.bytes_of(&block.lines)]
            .trim_end()
            .to_owned(),
        _ => block.text.clone(),
    }
}

fn whole_items(
    items: &[Evidence],
    budget: usize,
    tokens: &dyn Fn(&str) -> usize,
) -> Vec<ChosenItem> {
    let mut left = budget;
    let mut chosen = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let cost = tokens(&item.text);
        if cost > left && !chosen.is_empty() {
            continue;
        }
        left = left.saturating_sub(cost);
        chosen.push(ChosenItem {
            at,
            text: item.text.clone(),
            lines: Vec::new(),
        });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::question::{self, read};
    use super::*;
    use crate::embed::{CachedEmbedder, JudgeEmbedder};
    use std::sync::Arc;

    const GATE: &str = "# Gate\n\nThe gate of the town opens at seven in the morning.\n\n\
                        # Wall\n\nThe wall is built of red brick and was mended in spring.\n\n\
                        # Market\n\nThe market sells bread, cheese and cloth on two days of a week.";

    fn chosen(query: &str, texts: &[&str], budget: usize) -> Vec<ChosenItem> {
        let items: Vec<Evidence> = (1..)
            .zip(texts)
            .map(|(number, text)| Evidence::without_file(number, text))
            .collect();
        let question = read(query, &[]);
        let parts = question::parts(&question, &[]);
        let embedder = CachedEmbedder::new(Arc::new(JudgeEmbedder::built_in()));
        let verdict = Verdict::reach(&question, &parts, &items, &embedder).unwrap();
        choose_blocks(&items, &verdict, budget, &|text| {
            text.split_whitespace().count()
        })
    }

    #[test]
    fn r23_a_model_reads_the_blocks_that_are_most_likely_to_answer_within_its_budget() {
        let other = "# Bakery\n\nThe bakery sells rolls made of rye.";
        let sent = chosen("When does the gate open?", &[other, GATE], 12);
        assert_eq!(sent[0].at, 1);
        assert!(sent[0].text.contains("opens at seven"), "{sent:?}");
        assert_eq!(sent[0].lines[0].start, 3);
        let words = |item: &ChosenItem| item.text.matches(['.']).count();
        assert_eq!(sent.iter().map(words).sum::<usize>(), 1, "{sent:?}");
        // The best block is sent however long it is.
        assert_eq!(chosen("When does the gate open?", &[GATE], 1).len(), 1);
    }

    #[test]
    fn r23_what_stands_twice_is_sent_once_and_text_without_blocks_as_it_is() {
        let sent = chosen("When does the gate open?", &[GATE, GATE], 400);
        let texts: Vec<&str> = sent.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts.join("\n").matches("opens at seven").count(), 1);
        let whole = whole_items(
            &[
                Evidence::without_file(1, "1 2 3"),
                Evidence::without_file(2, "4 5 6 7"),
            ],
            4,
            &|text| text.split_whitespace().count(),
        );
        let places: Vec<usize> = whole.iter().map(|item| item.at).collect();
        assert_eq!(places, [0]);
    }
}
