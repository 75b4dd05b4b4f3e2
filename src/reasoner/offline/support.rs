//! Which block of the evidence says a sentence of an answer.
//!
//! A sentence is carried by the passage that holds most of its words, weighed by how rare they are in what was sent,
//! and says things as near to it in meaning. What a passage does not hold of it, a number above all, speaks against it.
//! The limits below are set by hand and not fitted: how often a mark is right has not been measured yet.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use regex::Regex;

use super::language::{language_of, terms, trimmed};
use super::passage::{BlockKind, markdown_blocks};
use crate::agent::ports::{EmbedError, Embedder, Support};
use crate::domain::{Evidence, Language};
use crate::reasoner::regex;

/// A sentence with fewer words that carry meaning says too little to be looked for.
const FEWEST_TERMS: usize = 2;
/// The least share of a sentence's words, by weight, that the passage which carries it holds.
const CARRIED_FROM: f64 = 0.6;
/// How much the cosine of sentence and passage counts beside the share of words.
const NEARNESS_SHARE: f64 = 0.5;

/// Citations behind a sentence.
static MARKS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:[ \t]*\[\d+(?:\s*[,;]\s*\d+)*\])+[.。]?"));
/// The number of a citation.
static MARK: LazyLock<Regex> = LazyLock::new(|| regex(r"\[\d+(?:\s*[,;]\s*\d+)*\]"));
/// A number as people write it.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\d+(?:[.,]\d+)*"));

/// The sentences of an answer from a byte on, with the citations behind them. The last one is left out where more may
/// come. Code and tables have none, as no mark could stand in them.
pub fn sentences(text: &str, from: usize, is_all: bool) -> Vec<Range<usize>> {
    let (blocks, _) = markdown_blocks(text, &[]);
    let in_text = |kind| matches!(kind, BlockKind::Paragraph | BlockKind::List);
    let blocks = blocks.iter().filter(|block| in_text(block.kind));
    let mut found: Vec<Range<usize>> = Vec::new();
    for sentence in blocks.flat_map(|block| &block.sentences) {
        let mut range = sentence.range.clone();
        // What stands before a sentence may be the citation of the one before it.
        if let Some(last) = found.last_mut()
            && let Some(marks) = MARKS.find(&text[last.end..])
        {
            last.end += marks.end();
            range.start = range.start.max(last.end);
        }
        if range.start < range.end && text[range.clone()].contains(char::is_alphanumeric) {
            found.push(range);
        }
    }
    if let Some(last) = found.last_mut()
        && let Some(marks) = MARKS.find(&text[last.end..])
    {
        last.end += marks.end();
    }
    if !is_all {
        found.pop();
    }
    let found = found.into_iter().map(|it| trimmed(text, it));
    found.filter(|sentence| sentence.start >= from).collect()
}

/// What carries each of these sentences. Blocks while it embeds.
pub fn find_support(
    query: &str,
    sentences: &[&str],
    context: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<Support>, EmbedError> {
    let sources: Vec<SourceTerms> = context.iter().map(SourceTerms::read).collect();
    let mut doc_freq: HashMap<&str, usize> = HashMap::new();
    for term in sources.iter().flat_map(|source| &source.terms) {
        *doc_freq.entry(term).or_default() += 1;
    }
    let count = sources.len() as f64;
    let weight = |term: &str| {
        let held = doc_freq.get(term).copied().unwrap_or_default() as f64;
        (1.0 + (count + 1.0) / (held + 0.5)).ln()
    };
    let languages: HashSet<Language> = context.iter().map(|item| language_of(&item.text)).collect();
    let asked: HashSet<String> = terms(query, language_of(query)).into_iter().collect();
    let plain: Vec<String> = sentences
        .iter()
        .map(|sentence| MARK.replace_all(sentence, "").into_owned())
        .collect();
    let nearness = nearness(&plain, context, embedder)?;
    let support = |(sentence, near): (&String, &Vec<f64>)| {
        let said: HashSet<String> = terms(sentence, language_of(sentence)).into_iter().collect();
        // Words of one language tell nothing of a passage in another.
        let is_translated = !languages.contains(&language_of(sentence));
        if said.len() < FEWEST_TERMS || said.is_subset(&asked) || is_translated {
            return Support::Unknown;
        }
        let total: f64 = said.iter().map(|term| weight(term)).sum();
        let numbers: Vec<&str> = NUMBER.find_iter(sentence).map(|it| it.as_str()).collect();
        let score = |at: usize| {
            let source = &sources[at];
            let held = said.iter().filter(|term| source.terms.contains(*term));
            let share = held.map(|term| weight(term)).sum::<f64>() / total;
            let is_new = |number: &&str| !source.text.contains(*number);
            let has_new_number = numbers.iter().any(is_new);
            share + NEARNESS_SHARE * near[at] - f64::from(has_new_number) * 0.5
        };
        let scored = (0..sources.len()).map(|at| (at, score(at)));
        let best = scored.rev().max_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((at, score)) if score >= CARRIED_FROM => Support::Item(at + 1),
            _ => Support::None,
        }
    };
    Ok(plain.iter().zip(&nearness).map(support).collect())
}

/// The words of an item as it was sent.
struct SourceTerms {
    terms: HashSet<String>,
    text: String,
}

impl SourceTerms {
    fn read(item: &Evidence) -> Self {
        let text = format!(
            "{}\n{}\n{}",
            item.topic.title,
            item.topic.headings.join("\n"),
            item.text
        );
        Self {
            terms: terms(&text, language_of(&item.text)).into_iter().collect(),
            text,
        }
    }
}

/// The cosine of each sentence with each item.
fn nearness(
    sentences: &[String],
    context: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<f64>>, EmbedError> {
    let texts: Vec<&str> = context
        .iter()
        .map(|item| item.text.as_str())
        .chain(sentences.iter().map(String::as_str))
        .collect();
    // The embedder of a run brings the stop of the run.
    let never_stopped = AtomicBool::new(false);
    let vectors = embedder.embed_stoppable(&texts, (&never_stopped).into())?;
    let vectors = vectors.unwrap_or_default();
    let (of_items, of_sentences) = vectors.split_at(context.len().min(vectors.len()));
    let cosine = |a: &Vec<f32>, b: &Vec<f32>| {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(a * b));
        products.sum::<f64>()
    };
    let near = |sentence: &Vec<f32>| of_items.iter().map(|item| cosine(item, sentence)).collect();
    Ok(of_sentences.iter().map(near).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An embedding in which everything is as far from everything else.
    struct Apart;

    impl Embedder for Apart {
        fn model_id(&self) -> &'static str {
            "apart"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            let unit = |at| {
                let mut vector = vec![0.0; texts.len()];
                vector[at] = 1.0;
                vector
            };
            Ok((0..texts.len()).map(unit).collect())
        }
    }

    fn texts(text: &str, from: usize, is_all: bool) -> Vec<&str> {
        let found = sentences(text, from, is_all).into_iter();
        found.map(|range| &text[range]).collect()
    }

    #[test]
    fn r23_a_sentence_is_over_where_the_next_one_begins_and_has_its_citations() {
        let text = "The gate is blue. [1] It opens at seven";
        assert_eq!(texts(text, 0, false), ["The gate is blue. [1]"]);
        assert_eq!(
            texts(text, 0, true),
            ["The gate is blue. [1]", "It opens at seven"]
        );
        assert_eq!(texts(text, 22, true), ["It opens at seven"]);
        assert_eq!(texts("The gate is", 0, false), [""; 0]);
        let list = "Two colours:\n\n- blue [1]\n- red\n\n```sh\nrun. it\n```\n";
        assert_eq!(texts(list, 0, true), ["Two colours:", "blue [1]", "red"]);
    }

    #[test]
    fn r23_a_sentence_is_carried_by_the_item_that_says_it_and_no_number_is_made_up() {
        let context = [
            Evidence::without_file(1, "The east gate opens at 7 in the morning."),
            Evidence::without_file(2, "Lanterns along the wall burn linseed oil."),
        ];
        let found = |sentence: &str| {
            find_support("When does it open?", &[sentence], &context, &Apart).unwrap()[0]
        };
        assert_eq!(
            found("The east gate opens at 7 in the morning [2]."),
            Support::Item(1)
        );
        assert_eq!(
            found("Linseed oil burns in the lanterns."),
            Support::Item(2)
        );
        assert_eq!(
            found("The east gate opens at 9 in the morning."),
            Support::None
        );
        assert_eq!(
            found("Dragons guard a treasure of silver coins."),
            Support::None
        );
        assert_eq!(found("Yes."), Support::Unknown);
        assert_eq!(
            found("Das östliche Tor öffnet am Morgen um sieben Uhr."),
            Support::Unknown
        );
    }
}
