//! Which blocks are quoted.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::judge::{Judgement, log_odds};
use super::super::language::{TABLES, terms};
use super::super::passage::{Block, BlockKind, Passage};
use super::quote::height;
use crate::domain::Question;
use crate::reasoner::regex;

/// Blocks of an answer.
pub const MOST_QUOTED_BLOCKS: usize = 3;
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
    /// How likely it answers; 0 where its passage was not looked at.
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
        let is_likely = judgement.looked_at(choice.passage) && choice.is_near(&chosen);
        if chosen.len() == MOST_QUOTED_BLOCKS || !is_likely && !is_named {
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
/// of that is short. The one sentence that a section begins with comes before the others: it says in short what follows.
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
    let fits =
        |first, last| height(passage, &passage.bytes_of(&lines_of(first, last))) <= most_lines;
    let (mut first, mut last) = (choice.block, choice.block);
    if let Some(above) = first.checked_sub(1)
        && belongs(above)
        && (above == 0 || !belongs(above - 1))
        && passage.blocks[above].kind == BlockKind::Paragraph
        && passage.blocks[above].sentences.len() == 1
        && fits(above, last)
    {
        first = above;
    }
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

/// The number of a part, as people write it: `4`, `4.2`, `12a`, `IV`, `B`, `四`.
const NUMBER: &str = r"(?:\d+(?:\.\d+)*[a-z]?|[IVXLC]{2,}|[A-HJ-Z]|[一二三四五六七八九十百]+)";

/// A part named by its number: `clause 4.2`, `§ 3`, `第4条`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let names = names();
    regex(&format!(
        r"(?:§+\s*|\b(?i:{names})\s+)(?P<after>{NUMBER})\b|第\s*(?P<before>{NUMBER})\s*(?:{names})"
    ))
});

/// What a part begins with that has a number: `4.2 Termination`, `§ 3`, `Step 2: …`, `第四条`.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    let names = names();
    regex(&format!(
        r"^\W*(?P<name>§+\s*|第\s*|(?i:{names})\s+)?(?P<number>{NUMBER})(?P<end>[.):：*]|\s|$|{names})"
    ))
});

/// What numbered parts are called in any language, as alternatives of a pattern.
fn names() -> String {
    let names = TABLES.values().flat_map(|table| &table.numbered_parts);
    let names: Vec<String> = names.map(|name| regex::escape(name)).collect();
    names.join("|")
}

/// The parts of documents that a question names by their numbers.
#[derive(Debug, Default)]
pub struct NumberedParts(Vec<String>);

impl NumberedParts {
    /// Reads them from the question.
    pub fn named_in(question: &Question) -> Self {
        let found = NAMED.captures_iter(&question.asked);
        let numbers = found.filter_map(|it| it.name("after").or(it.name("before")));
        Self(numbers.map(|number| number.as_str().to_owned()).collect())
    }

    /// How near a block is to one of the parts: 2 where it stands right below its heading or begins with its number, 1
    /// where it stands in a part of it, else 0.
    pub fn nearness(&self, block: &Block) -> u8 {
        let is_headed = |heading: &String| self.0.iter().any(|part| begins(heading, part));
        let is_item = |text: &str| self.0.iter().any(|part| begins_item(text, part));
        let has_item = block.sentences.iter().any(|it| is_item(&it.text));
        if has_item || block.headings.last().is_some_and(is_headed) {
            2
        } else {
            u8::from(block.headings.iter().any(is_headed))
        }
    }
}

/// Whether a heading begins with the number of the part; `A quick start` does not begin with a number.
fn begins(heading: &str, part: &str) -> bool {
    let is_figure = part.starts_with(|c: char| c.is_ascii_digit() || !c.is_ascii());
    number(heading).is_some_and(|(number, is_marked)| number == part && (is_marked || is_figure))
}

/// Whether a text begins with the number as the number of an item: `3 apples` does not.
fn begins_item(text: &str, part: &str) -> bool {
    let is_marked_by_itself = part.contains('.');
    number(text)
        .is_some_and(|(number, is_marked)| number == part && (is_marked || is_marked_by_itself))
}

/// The number that a text begins with, and whether a name before it or a sign behind it says that it is one.
fn number(text: &str) -> Option<(&str, bool)> {
    let found = HEADING.captures(text)?;
    let ends_number = matches!(&found["end"], "." | ")" | ":" | "：");
    let is_marked = found.name("name").is_some() || ends_number;
    Some((found.name("number")?.as_str(), is_marked))
}

#[cfg(test)]
mod extent_tests {
    use super::*;
    use crate::domain::Evidence;

    #[test]
    fn r23_the_sentence_that_a_section_begins_with_is_quoted_along() {
        let lines = |count: usize| "It goes on\n".repeat(count) + "so.\n";
        let text = format!("# Resume\n\nYes, it resumes.\n\n{}\n{}", lines(6), lines(3));
        let other = format!(
            "# Resume\n\nIt is so. It really is.\n\n{}\n{}",
            lines(6),
            lines(3)
        );
        for (text, block, expected) in [(&text, 1, 2..11), (&text, 2, 4..16), (&other, 1, 4..16)] {
            let passage = Passage::read(&Evidence::without_file(1, text));
            let choice = Choice {
                passage: 0,
                block,
                sentence: None,
                chance: 1.0,
            };
            assert_eq!(extent(choice, 12, &passage), expected, "{text}");
        }
    }
}

#[cfg(test)]
mod numbered_tests {
    use super::*;
    use crate::reasoner::offline::question::read;

    #[test]
    fn parts_are_named_by_a_word_and_a_number() {
        for (question, expected) in [
            ("What does clause 4.2 say?", &["4.2"][..]),
            ("Summarise § 3 and §12a", &["3", "12a"]),
            ("Compare Article IV with Appendix B", &["IV", "B"]),
            ("Was steht in Abschnitt 2.1?", &["2.1"]),
            ("第4条和第五章说了什么", &["4", "五"]),
            ("What changed in 4.2?", &[]),
            ("Which part is broken?", &[]),
            ("What is the main part I need?", &[]),
        ] {
            assert_eq!(
                NumberedParts::named_in(&read(question, &[])).0,
                expected,
                "{question}"
            );
        }
    }

    #[test]
    fn a_part_begins_with_its_number() {
        for heading in [
            "4.2 Termination",
            "4.2. Bye",
            "§ 4.2",
            "Clause 4.2: Bye",
            "**4.2** Bye",
        ] {
            assert!(begins(heading, "4.2"), "{heading}");
        }
        for heading in ["4.2.1 More", "4.21 Other", "Release 4.2", "4 Term"] {
            assert!(!begins(heading, "4.2"), "{heading}");
        }
        assert!(
            begins("第四条 终止", "四") && begins("Appendix A", "A") && begins("A. Rates", "A")
        );
        assert!(!begins("A quick start", "A"));
        assert!(begins_item("3. Press the key.", "3") && begins_item("4.2 Either side", "4.2"));
        assert!(!begins_item("3 apples are left.", "3"));
    }
}
