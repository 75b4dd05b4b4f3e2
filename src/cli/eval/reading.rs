//! Quality of reading: which sentence of a passage the engine takes for the answer, whether the block that it
//! quotes holds the answer, and whether its grades tell a passage that answers from one that only sounds like it.
//!
//! Beside the engine's choice stand the choices of idf overlap, of the embedding's cosine, and of
//! their sum, which need no engine: where they are as good, the engine buys nothing. A passage is
//! graded together with the others of its question, as a run grades what it found.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use indicatif::ProgressBar;
use serde::Serialize;

use super::calibration::JudgedProbability;
use super::grades::{auc, number, part};
use super::judged::bar;
use super::overlap::{DocFreq, first_best};
use super::reading_set::{ReadingPassage, ReadingQuestion, ReadingSet};
use crate::cli::columns::{Column, Side, column, table, terminal_width};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_notice, print_text};
use crate::config::Settings;
use crate::engine::Grader;
use crate::text::{is_chinese, one_line, plural, sanitize};

/// What stands above the figures of the sets.
const COLUMNS: [Column; 12] = [
    column("set", Side::Left, 0),
    column("n", Side::Right, 0),
    column("answerable", Side::Right, 4),
    column("in block", Side::Right, 0),
    column("lines", Side::Right, 0),
    column("p90", Side::Right, 0),
    column("sentence@1", Side::Right, 0),
    column("idf@1", Side::Right, 3),
    column("cosine@1", Side::Right, 2),
    column("sum@1", Side::Right, 1),
    column("answer AUC", Side::Right, 0),
    column("passage AUC", Side::Right, 0),
];
/// What they mean.
const MEANING: &str = "
  in block is how often a sentence that answers lies in the block that is quoted, not in what is cut
  off; lines and p90: the median and the 90th percentile of its lines, 100 columns wide.
  @1 is how often the sentence taken first answers: the engine's, that of idf overlap, of cosine, and
  of their sum. answer AUC: passages that answer before those asked in vain; passage AUC: before those
  near and far.
";

/// Arguments of `eval reading`.
#[derive(Debug, Args)]
pub(super) struct ReadingScores {
    /// Holds passages.jsonl: {"id", "set", "title"?, "sentences"}, and questions.jsonl: {"query",
    /// "set", "passage", "answers", "near"?, "far"?}, answers being sentences, counted from 0; none
    /// where the passage does not answer
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Ask at most N questions of each set, evenly spread over it
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct ReadingReport {
    sets: BTreeMap<String, ReadingFigures>,
    /// Passages without a grade, because the reply could not be read.
    unmeasured: usize,
    #[serde(skip)]
    engine: String,
}

/// The figures of one set. Where one is not defined, there is none.
#[derive(Debug, Serialize)]
struct ReadingFigures {
    /// Questions asked.
    n: usize,
    /// Of these, the ones that their passage answers; the others are in `answerable_auc` alone.
    answerable: usize,
    /// How often a sentence that answers is all within the block that the engine would quote; nothing of an endpoint,
    /// which writes its answers.
    block_holds_answer: Option<f64>,
    /// The median of the lines that the quoted blocks take on a screen of 100 columns.
    block_lines_median: Option<usize>,
    /// Nine of ten quoted blocks take at most so many.
    block_lines_p90: Option<usize>,
    /// How often the sentence that the engine would set in bold answers; nothing of an endpoint, which does not tell.
    sentence_at_1: Option<f64>,
    /// The same of the sentence that holds most of the question's words.
    idf_at_1: Option<f64>,
    /// The same of the sentence that is nearest in meaning.
    cosine_at_1: Option<f64>,
    /// The same by the sum of the two.
    idf_cosine_at_1: Option<f64>,
    /// How likely a passage that answers has a higher grade than one that was asked in vain.
    answerable_auc: Option<f64>,
    /// How likely a passage that answers has a higher grade than one near or far.
    passage_auc: Option<f64>,
}

/// Measures and prints the figures.
pub(super) fn run(reading: &ReadingScores, settings: &Settings) -> Result<(), CommandFailure> {
    let set = ReadingSet::read(&reading.dir)?;
    let sets = set.by_set(reading.limit);
    let report = interruptible(async |cancel| {
        tokio::select! {
            report = measure(&set, &sets, settings) => report,
            () = cancel.cancelled() => Err(CommandFailure::interrupted()),
        }
    })?;
    for (name, figures) in &report.sets {
        if figures.answerable == 0 {
            let name = one_line(name, 100);
            print_notice(&format!(
                "{name}: no passage answers its question, so no sentence can be right"
            ));
        }
    }
    if reading.json {
        print_json(&report)?;
    } else {
        print_text(report.as_text())?;
    }
    Ok(())
}

async fn measure(
    set: &ReadingSet,
    sets: &BTreeMap<&str, Vec<&ReadingQuestion>>,
    settings: &Settings,
) -> Result<ReadingReport, CommandFailure> {
    let mut doc_freqs: BTreeMap<&str, DocFreq> = BTreeMap::new();
    for passage in &set.passages {
        let doc_freq = doc_freqs.entry(&passage.set).or_default();
        doc_freq.add(passage.non_empty().map(|(_, sentence)| sentence));
    }
    let nothing = DocFreq::default();
    let grader = Grader::open_for_many(settings)?;
    let bar = bar(sets.values().map(Vec::len).sum());
    let mut figures = BTreeMap::new();
    let mut unmeasured = 0;
    for (&name, questions) in sets {
        let mut reader = ReadingRun {
            passages: &set.passages,
            doc_freq: doc_freqs.get(name).unwrap_or(&nothing),
            grader: &grader,
            tally: ReadingTally::default(),
        };
        reader.read_all(questions, &bar).await?;
        unmeasured += reader.tally.unmeasured;
        figures.insert(name.to_owned(), reader.tally.figures(questions.len()));
    }
    bar.finish_and_clear();
    Ok(ReadingReport {
        sets: figures,
        unmeasured,
        engine: grader.identity().model,
    })
}

/// Asks the questions of one set.
struct ReadingRun<'a> {
    passages: &'a [ReadingPassage],
    doc_freq: &'a DocFreq,
    grader: &'a Grader,
    tally: ReadingTally,
}

impl ReadingRun<'_> {
    async fn read_all(
        &mut self,
        questions: &[&ReadingQuestion],
        bar: &ProgressBar,
    ) -> Result<(), CommandFailure> {
        for question in questions {
            self.grade(question).await?;
            if !question.answers.is_empty() {
                tokio::task::block_in_place(|| self.choose(question))?;
            }
            bar.inc(1);
        }
        Ok(())
    }

    async fn grade(&mut self, question: &ReadingQuestion) -> Result<(), CommandFailure> {
        let places = [&[question.own], &question.others[..]].concat();
        let texts: Vec<String> = places.iter().map(|at| self.passages[*at].text()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let graded = self.grader.grade(&question.query, &[], &texts).await?;
        let Ok(scores) = graded.scores else {
            self.tally.unmeasured += places.len();
            return Ok(());
        };
        let answers = !question.answers.is_empty();
        for (at, score) in scores.iter().enumerate() {
            let is_own = at == 0;
            if is_own {
                self.tally.asked.push((score.value(), answers));
            }
            if answers {
                self.tally.among_others.push((score.value(), is_own));
            }
        }
        Ok(())
    }

    /// Blocks while it embeds.
    fn choose(&mut self, question: &ReadingQuestion) -> Result<(), CommandFailure> {
        let passage = &self.passages[question.own];
        let (places, texts): (Vec<usize>, Vec<&str>) = passage.non_empty().unzip();
        let query = &question.query;
        let overlaps = self.doc_freq.overlap(query, &texts);
        let cosines = self.grader.cosines(query, &texts)?;
        let both = overlaps.iter().zip(&cosines).map(|(a, b)| a + b);
        let both: Vec<f64> = both.collect();
        let best = self.grader.best_sentence(query, &passage.title, &texts)?;
        let block = self.grader.quote_best_block(query, &passage.text())?;
        let answers = |(at, text): (&usize, &&str)| {
            let block = block.as_ref();
            question.answers.contains(at) && block.is_some_and(|block| block.shows(text))
        };
        let is_in_block = places.iter().zip(&texts).any(answers);
        let right = |best: Option<usize>| {
            let place = best.map(|best| places[best]);
            usize::from(place.is_some_and(|at| question.answers.contains(&at)))
        };
        let tally = &mut self.tally;
        tally.answerable += 1;
        if let Some(best) = best {
            *tally.engine.get_or_insert(0) += right(Some(best));
        }
        if let Some(block) = block {
            tally.in_block += usize::from(is_in_block);
            tally.block_lines.push(block.shown_lines);
        }
        tally.idf += right(first_best(&overlaps));
        tally.cosine += right(first_best(&cosines));
        tally.idf_cosine += right(first_best(&both));
        Ok(())
    }
}

impl ReadingPassage {
    /// As a document would hold it.
    fn text(&self) -> String {
        let sentences: Vec<&str> = self.non_empty().map(|(_, sentence)| sentence).collect();
        let apart = if sentences.iter().any(|it| is_chinese(it)) {
            ""
        } else {
            " "
        };
        let text = sentences.join(apart);
        if self.title.trim().is_empty() {
            text
        } else {
            format!("# {}\n\n{text}", self.title)
        }
    }
}

/// What has been counted so far.
#[derive(Default)]
struct ReadingTally {
    answerable: usize,
    /// Right choices; nothing where the engine tells no sentence.
    engine: Option<usize>,
    /// Answers that lie in the quoted block.
    in_block: usize,
    /// The lines of each quoted block; nothing where the engine quotes none.
    block_lines: Vec<usize>,
    idf: usize,
    cosine: usize,
    idf_cosine: usize,
    /// The grades of the questions' own passages, and whether they answer.
    asked: Vec<JudgedProbability>,
    /// Of questions that are answered, the grades of all their passages, and whether they answer.
    among_others: Vec<JudgedProbability>,
    unmeasured: usize,
}

impl ReadingTally {
    fn figures(&self, n: usize) -> ReadingFigures {
        let share = |right: usize| part(right, self.answerable);
        ReadingFigures {
            n,
            answerable: self.answerable,
            block_holds_answer: share(self.in_block).filter(|_| !self.block_lines.is_empty()),
            block_lines_median: percentile(&self.block_lines, 50),
            block_lines_p90: percentile(&self.block_lines, 90),
            sentence_at_1: self.engine.and_then(share),
            idf_at_1: share(self.idf),
            cosine_at_1: share(self.cosine),
            idf_cosine_at_1: share(self.idf_cosine),
            answerable_auc: auc(&self.asked),
            passage_auc: auc(&self.among_others),
        }
    }
}

/// The least of the numbers that so many of a hundred do not exceed (nearest rank); nothing of none.
fn percentile(numbers: &[usize], percent: usize) -> Option<usize> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let rank = (percent * sorted.len()).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

impl ReadingReport {
    fn as_text(&self) -> String {
        let mut text = format!("reading, engine {}\n", sanitize(&self.engine));
        let rows = self.sets.iter().map(|(name, figures)| {
            let shares = [
                figures.sentence_at_1,
                figures.idf_at_1,
                figures.cosine_at_1,
                figures.idf_cosine_at_1,
                figures.answerable_auc,
                figures.passage_auc,
            ];
            let counts = [figures.n, figures.answerable].map(|n| n.to_string());
            let lines = [figures.block_lines_median, figures.block_lines_p90];
            let lines = lines.map(|lines| lines.map_or("-".to_owned(), |n| n.to_string()));
            let cells = [one_line(name, 24)].into_iter().chain(counts);
            let cells = cells.chain([number(figures.block_holds_answer)]);
            cells.chain(lines).chain(shares.map(number)).collect()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        text.push_str(&table(&COLUMNS, &rows, terminal_width()));
        text.push_str(MEANING);
        if self.unmeasured > 0 {
            text.push_str(&format!(
                "\n  not measured, because the reply could not be read, and in no AUC: {}\n",
                plural(self.unmeasured, "passage")
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_numbers() {
        let lines: Vec<usize> = (1..=10).rev().collect();
        assert_eq!(percentile(&lines, 50), Some(5));
        assert_eq!(percentile(&lines, 90), Some(9));
        assert_eq!(percentile(&[7, 1], 90), Some(7));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
