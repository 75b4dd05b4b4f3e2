//! The words of passages, as the signals look at them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::language::{is_english, language_of, terms};
use super::super::passage::{Block, Passage};
use super::super::question::subject_terms;
use crate::domain::{Evidence, Language, Question, QuestionKind};
use crate::text::is_cjk;

/// The words of a passage.
#[derive(Debug)]
pub(super) struct PassageTerms {
    pub(super) blocks: Vec<BlockTerms>,
    /// Each name of the document, as words.
    pub(super) names: Vec<HashSet<String>>,
    /// All words of the passage, its headings and the names and path of its document.
    pub(super) all: HashSet<String>,
}

/// The words of a block.
#[derive(Debug)]
pub(super) struct BlockTerms {
    pub(super) stems: HashSet<String>,
    /// Words as they are written, in lower case.
    pub(super) raw_words: HashSet<String>,
    pub(super) grams: HashSet<String>,
    /// The words of the innermost heading.
    pub(super) heading: HashSet<String>,
    /// The words of the block, all headings above it and the names of its document.
    pub(super) with_topic: HashSet<String>,
    pub(super) sentences: Vec<HashSet<String>>,
}

impl PassageTerms {
    fn read(passage: &Passage) -> Self {
        let language = language_of(&passage.text);
        let set = |text: &str| -> HashSet<String> { terms(text, language).into_iter().collect() };
        let names = std::iter::once(&passage.title).chain(&passage.aliases);
        let names: Vec<HashSet<String>> = names.map(|name| set(bare(name))).collect();
        let blocks = passage.blocks.iter();
        let blocks = blocks.map(|block| BlockTerms::read(block, &names, language));
        let blocks: Vec<BlockTerms> = blocks.collect();
        let mut all = set(&passage.source.replace(['/', '.'], " "));
        all.extend(names.iter().flatten().cloned());
        all.extend(blocks.iter().flat_map(|it| &it.with_topic).cloned());
        Self { blocks, names, all }
    }
}

impl BlockTerms {
    fn read(block: &Block, names: &[HashSet<String>], language: Language) -> Self {
        let set = |text: &str| -> HashSet<String> { terms(text, language).into_iter().collect() };
        let stems = set(&block.text);
        let headings = terms(&block.headings.join("\n"), language);
        let with_topic = stems.iter().chain(&headings).chain(names.iter().flatten());
        let sentences = block.sentences.iter();
        Self {
            with_topic: with_topic.cloned().collect(),
            raw_words: raw_words(&block.text).collect(),
            grams: grams(stems.iter()),
            heading: set(bare(block.heading())),
            sentences: sentences.map(|it| set(&it.text)).collect(),
            stems,
        }
    }
}

/// A name without what stands in brackets behind it, which only tells it from its namesakes.
fn bare(name: &str) -> &str {
    name.split(['(', '（']).next().unwrap_or_default().trim()
}

/// Words as they are written, in lower case; of scripts without spaces pairs of characters.
pub(super) fn raw_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() || is_cjk(c));
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    let characters: Vec<char> = text.chars().collect();
    let pairs = characters.windows(2);
    let pairs = pairs.filter(|pair| pair.iter().copied().all(is_cjk));
    let pairs: Vec<String> = pairs.map(String::from_iter).collect();
    words.chain(pairs)
}

/// Three letters in a row, the ends of words marked; of pairs of characters each character.
pub(super) fn grams<'a>(terms: impl Iterator<Item = &'a String>) -> HashSet<String> {
    let mut found = HashSet::new();
    for term in terms {
        if term.chars().any(is_cjk) {
            found.extend(term.chars().map(String::from));
            continue;
        }
        let marked: Vec<char> = ['#'].into_iter().chain(term.chars()).chain(['#']).collect();
        found.extend(marked.windows(3).map(String::from_iter));
    }
    found
}

/// The passages of a question with their words, read once for the whole and its parts.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) passages: Vec<Passage>,
    pub(super) terms: Vec<PassageTerms>,
    /// What a search measured of each.
    pub(super) found: Vec<SearchMeasure>,
}

impl Pool {
    pub(super) fn read(items: &[Evidence]) -> Self {
        let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
        Self {
            terms: passages.iter().map(PassageTerms::read).collect(),
            found: items.iter().map(SearchMeasure::from_evidence).collect(),
            passages,
        }
    }
}

/// What a search measured of a passage, each 0 where it measured nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SearchMeasure {
    /// How likely it is relevant, 0–1.
    pub(super) score: f64,
    /// The cosine with the question.
    pub(super) cosine: f64,
    /// One by its rank by meaning.
    pub(super) meaning_rank: f64,
}

impl SearchMeasure {
    fn from_evidence(item: &Evidence) -> Self {
        let measured = &item.measured;
        let is_ranked = measured.lexical_rank.or(measured.vector_rank).is_some();
        Self {
            score: if is_ranked { item.score.value() } else { 0.0 },
            cosine: measured.cosine.unwrap_or_default(),
            meaning_rank: measured.vector_rank.map_or(0.0, |rank| 1.0 / rank as f64),
        }
    }
}

// A question, as the signals look at it.

/// The words of a question with their weights among the blocks of a pool.
#[derive(Debug)]
pub(super) struct Query {
    /// What is compared in meaning.
    pub(super) text: String,
    pub(super) kind: QuestionKind,
    pub(super) is_english: bool,
    /// The stems of the words that carry it.
    pub(super) stems: IdfWeights,
    /// The words as they are written, small ones too.
    pub(super) raw_words: IdfWeights,
    pub(super) grams: HashSet<String>,
    /// The words of what it is about, without those that ask.
    pub(super) subject: HashSet<String>,
    /// The share of the stems that any passage of the pool holds.
    pub(super) held: f64,
}

impl Query {
    pub(super) fn read(question: &Question, pool: &Pool) -> Self {
        let blocks: Vec<&BlockTerms> = pool.terms.iter().flat_map(|it| &it.blocks).collect();
        let terms = &question.terms;
        let weigh = |words: Vec<String>, words_of: fn(&BlockTerms) -> &HashSet<String>| {
            let mut doc_freq: HashMap<&str, usize> = HashMap::new();
            for word in blocks.iter().flat_map(|block| words_of(block)) {
                *doc_freq.entry(word).or_default() += 1;
            }
            IdfWeights::new(words, &doc_freq, blocks.len())
        };
        let stems = weigh(terms.clone(), |block| &block.stems);
        let all: Vec<&HashSet<String>> = pool.terms.iter().map(|it| &it.all).collect();
        Self {
            text: question.search_text(),
            kind: question.kind,
            is_english: question.language == Language::EN && is_english(&question.text),
            held: stems.share(&all),
            stems,
            raw_words: weigh(raw_words(&question.asked).collect(), |block| {
                &block.raw_words
            }),
            grams: grams(terms.iter()),
            subject: subject_terms(question).into_iter().collect(),
        }
    }
}

/// Words, each once, with their inverse document frequency (Robertson and Spärck Jones 1976); a block counts as a
/// document. Tokens are weighed by another form (`meaning.rs`): the weights of the judge are fitted on both as they are.
#[derive(Debug)]
pub(super) struct IdfWeights {
    weights: BTreeMap<String, f64>,
    /// The sum of the weights; 1 where there are none.
    total: f64,
}

/// Added to every weight, so that a word that all blocks hold counts a little.
const FLOOR: f64 = 0.1;

impl IdfWeights {
    fn new(words: Vec<String>, doc_freq: &HashMap<&str, usize>, documents: usize) -> Self {
        let idf = |word: &str| {
            let count = doc_freq.get(word).copied().unwrap_or_default() as f64;
            FLOOR + (1.0 + (documents as f64 - count + 0.5) / (count + 0.5)).ln()
        };
        let weights: BTreeMap<String, f64> = words
            .into_iter()
            .map(|word| (word.clone(), idf(&word)))
            .collect();
        let total: f64 = weights.values().sum();
        Self {
            total: if total > 0.0 { total } else { 1.0 },
            weights,
        }
    }

    /// The share of the words that any of these sets holds, by weight.
    pub(super) fn share(&self, held: &[&HashSet<String>]) -> f64 {
        let is_held = |word: &String| held.iter().any(|held| held.contains(word));
        let found = self.weights.iter().filter(|(word, _)| is_held(word));
        found.map(|(_, weight)| weight).sum::<f64>() / self.total
    }
}
