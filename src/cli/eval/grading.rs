//! Quality of grading as a run gets it: all passages of a question in one batch, by the engine that
//! the settings name.
//!
//! A reply that cannot be read gives no grades. A run then counts each passage as 0.5 (R18); here
//! such passages are counted beside the figures and not in them, because they were not measured.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calibration::share;
use super::calibration::{Cut, Interval, JudgedProbability, THRESHOLDS, cut, intervals};
use super::records::record;
use super::records::{progress_bar, read};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_notice, print_text};
use crate::config::Settings;
use crate::domain::{GradeThresholds, GraderAction, KEEP_FROM, SUFFICIENT_FROM, Score};
use crate::engine::StepRunner;
use crate::text::{one_line, plural, sanitize};

/// Arguments of `eval grading`.
#[derive(Debug, Args)]
pub(super) struct GradingArgs {
    /// One JSON object a line: {"query", "passages": [{"text", "relevant", "far_off"?}],
    /// "sub_questions"?}
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also grade, for each question, N passages of other questions, as a base would hold them that
    /// knows nothing of it
    #[arg(long, value_name = "N", default_value_t = 0)]
    far_off: usize,
    /// Split each question as a run would, and grade against its parts too
    #[arg(long)]
    split: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also print each relevant passage that would be dropped, and each other one from 0.7 on
    #[arg(long, conflicts_with = "json")]
    wrong: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct GradingReport {
    #[serde(flatten)]
    figures: GradingFigures,
    questions: usize,
    /// Passages without a grade, because the reply could not be read.
    unmeasured: usize,
    confusion: BandsByRelevance,
    /// What a run would do with the judged passages of each question.
    actions: Actions,
    #[serde(skip_serializing_if = "Option::is_none")]
    far_off: Option<FarOff>,
    #[serde(skip)]
    engine: String,
    #[serde(skip)]
    wrong: Vec<String>,
}

/// Passages counted by what they are, and within that by grade.
#[derive(Debug, Default, Serialize)]
struct BandsByRelevance {
    relevant: Bands,
    irrelevant: Bands,
    #[serde(skip_serializing_if = "Option::is_none")]
    far_off: Option<Bands>,
}

/// Passages that have nothing to do with the question.
#[derive(Debug, Serialize)]
struct FarOff {
    n: usize,
    below_0_3: f64,
    from_0_7: f64,
    mean: f64,
    highest: f64,
    /// What a run would do if a base held nothing but the drawn ones; empty when none were drawn.
    actions: Actions,
}

/// Measures and prints the figures.
pub(super) fn run(grading: &GradingArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = read(&grading.file, "not found", question)?;
    let drawn = foreign(&questions, grading.far_off);
    if grading.far_off > 0 && drawn.iter().all(Vec::is_empty) {
        let file = grading.file.display();
        let why = "--far-off draws from other questions, and there is no other in it";
        return Err(CommandFailure::failed(format!("{file}: {why}")));
    }
    let report = interruptible(async |cancel| {
        tokio::select! {
            report = measure(grading, &questions, &drawn, settings) => report,
            () = cancel.cancelled() => Err(CommandFailure::interrupted()),
        }
    })?;
    if report.figures.relevant == 0 {
        let file = grading.file.display();
        print_notice(&format!(
            "{file}: no graded passage is relevant, so there is neither AUC nor recall"
        ));
    }
    if grading.json {
        print_json(&report)?;
    } else {
        if grading.wrong && !report.wrong.is_empty() {
            let rows = report.wrong.concat();
            print_text(format!("passage is\tgrade\tquestion\tpassage\n{rows}\n"))?;
        }
        print_text(report.as_text())?;
    }
    Ok(())
}

async fn measure(
    grading: &GradingArgs,
    questions: &[GradedQuestion],
    drawn: &[Vec<&str>],
    settings: &Settings,
) -> Result<GradingReport, CommandFailure> {
    let grader = StepRunner::open(settings)?;
    let bar = progress_bar(questions.len());
    let mut tally = GradingTally::default();
    for (question, drawn) in questions.iter().zip(drawn) {
        let query = &question.query;
        let parts = match &question.sub_questions {
            given if given.is_empty() && grading.split => {
                grader.route(query).await?.plan.sub_questions
            }
            given => given.clone(),
        };
        let own: Vec<&GradedPassage> = question.passages.iter().collect();
        let foreign: Vec<GradedPassage> = drawn
            .iter()
            .map(|text| GradedPassage::far_off(text))
            .collect();
        let batches = [(own, false), (foreign.iter().collect(), true)];
        for (batch, drawn) in batches.into_iter().filter(|(batch, _)| !batch.is_empty()) {
            let texts: Vec<&str> = batch.iter().map(|passage| passage.text.as_str()).collect();
            let scores = grader.grade(query, &parts, &texts).await?;
            tally.unmeasured += if scores.is_err() { batch.len() } else { 0 };
            let scores = scores.unwrap_or_default();
            if !scores.is_empty() {
                let actions = if drawn {
                    &mut tally.elsewhere
                } else {
                    &mut tally.actions
                };
                actions.add(&scores);
            }
            for (passage, score) in batch.iter().zip(&scores) {
                tally.add(query, passage, score.value());
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if tally.judged.is_empty() && tally.far_off.is_empty() {
        return Err(CommandFailure::failed(
            "no reply of the model held grades that can be read, so nothing was measured",
        ));
    }
    Ok(tally.report(questions.len(), grader.identity().model))
}

/// What has been graded so far.
#[derive(Default)]
struct GradingTally {
    judged: Vec<(f64, bool)>,
    far_off: Vec<f64>,
    unmeasured: usize,
    confusion: BandsByRelevance,
    actions: Actions,
    elsewhere: Actions,
    wrong: Vec<String>,
}

impl GradingTally {
    fn add(&mut self, query: &str, passage: &GradedPassage, score: f64) {
        let (bands, what) = if passage.far_off {
            self.far_off.push(score);
            (self.confusion.far_off.get_or_insert_default(), "far-off")
        } else {
            self.judged.push((score, passage.relevant));
            if passage.relevant {
                (&mut self.confusion.relevant, "relevant")
            } else {
                (&mut self.confusion.irrelevant, "irrelevant")
            }
        };
        bands.add(score);
        if passage.relevant && score < KEEP_FROM || !passage.relevant && score >= SUFFICIENT_FROM {
            let (query, text) = (one_line(query, 200), one_line(&passage.text, 100));
            self.wrong
                .push(format!("{what}\t{score:.3}\t{query}\t{text}\n"));
        }
    }

    fn report(self, questions: usize, engine: String) -> GradingReport {
        let bands = self.confusion.far_off.unwrap_or_default();
        let far_off = (!self.far_off.is_empty()).then(|| FarOff {
            n: bands.sum(),
            below_0_3: share(bands.below_0_3, bands.sum()),
            from_0_7: share(bands.from_0_7, bands.sum()),
            mean: self.far_off.iter().sum::<f64>() / self.far_off.len() as f64,
            highest: self.far_off.iter().copied().fold(0.0, f64::max),
            actions: self.elsewhere,
        });
        GradingReport {
            figures: GradingFigures::measure(&self.judged),
            questions,
            unmeasured: self.unmeasured,
            confusion: self.confusion,
            actions: self.actions,
            far_off,
            engine,
            wrong: self.wrong,
        }
    }
}

impl GradingReport {
    fn as_text(&self) -> String {
        let GradingFigures { n, relevant, .. } = self.figures;
        let mut text = format!(
            "grades, engine {}\n  {} of {}, relevant {relevant}\n{}",
            sanitize(&self.engine),
            plural(n, "passage"),
            plural(self.questions, "question"),
            self.figures.as_text(),
        );
        text.push_str(&format!(
            "\n  {:10}  below {KEEP_FROM}  {KEEP_FROM} to {SUFFICIENT_FROM}  from \
             {SUFFICIENT_FROM}         n\n",
            "passages"
        ));
        let BandsByRelevance {
            relevant,
            irrelevant,
            far_off,
        } = &self.confusion;
        let rows = [
            ("relevant", Some(relevant)),
            ("irrelevant", Some(irrelevant)),
        ];
        for (label, bands) in rows.into_iter().chain([("far-off", far_off.as_ref())]) {
            if let Some(bands) = bands {
                text.push_str(&format!(
                    "  {label:10}  {:>9}  {:>10}  {:>8}  {:>8}\n",
                    bands.below_0_3,
                    bands.from_0_3,
                    bands.from_0_7,
                    bands.sum()
                ));
            }
        }
        text.push_str(&format!("\n  a run would: {}\n", self.actions.as_text()));
        if let Some(far_off) = &self.far_off {
            text.push_str(&format!(
                "\n  far-off passages: below {KEEP_FROM} {:.3}, from {SUFFICIENT_FROM} on {:.3}, \
                 mean {:.3}, highest {:.3}\n",
                far_off.below_0_3, far_off.from_0_7, far_off.mean, far_off.highest
            ));
            if far_off.actions != Actions::default() {
                let actions = far_off.actions.as_text();
                text.push_str(&format!("  a run that found only them would: {actions}\n"));
            }
        }
        text.push_str(&format!("\n{}", self.figures.tables()));
        if self.unmeasured > 0 {
            text.push_str(&format!(
                "\n  not measured, because the reply could not be read, and in no figure: {} (a \
                 run counts each as 0.5)\n",
                plural(self.unmeasured, "passage")
            ));
        }
        text
    }
}

// Questions with judged passages, and passages that have nothing to do with them.

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "passages": [{"text": "…", "relevant": true}]}"#;

/// One line of the file.
#[derive(Debug)]
pub(super) struct GradedQuestion {
    pub query: String,
    /// Its parts, as a run would have found them; mostly none.
    pub sub_questions: Vec<String>,
    /// The passages to grade, at least one.
    pub passages: Vec<GradedPassage>,
}

/// One judged passage.
#[derive(Debug)]
pub(super) struct GradedPassage {
    pub text: String,
    pub relevant: bool,
    /// Known to have nothing to do with the question; never relevant.
    pub far_off: bool,
}

impl GradedPassage {
    /// A passage of another question.
    pub fn far_off(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            relevant: false,
            far_off: true,
        }
    }
}

#[derive(Deserialize)]
struct PassageLine {
    query: String,
    passages: Vec<JudgedPassage>,
    #[serde(default)]
    sub_questions: Vec<String>,
}

#[derive(Deserialize)]
struct JudgedPassage {
    text: String,
    relevant: Value,
    #[serde(default)]
    far_off: bool,
}

/// Reads one line; what is wrong with it is said in a few words.
pub(super) fn question(line: &str) -> Result<GradedQuestion, String> {
    let line: PassageLine = record(line, FORM)?;
    if line.query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    if line.passages.is_empty() {
        return Err("there is no passage".to_owned());
    }
    let passages = line.passages.into_iter().enumerate();
    let passages = passages.map(|(at, judged)| {
        let wrong = |what: &str| format!("passage {}: {what}", at + 1);
        let relevant = match &judged.relevant {
            Value::Bool(relevant) => *relevant,
            // A grade, as in a BEIR folder.
            Value::Number(grade) if grade.is_i64() => grade.as_i64() > Some(0),
            _ => {
                return Err(wrong(
                    "relevant is neither true or false nor a whole number",
                ));
            }
        };
        if judged.text.trim().is_empty() {
            return Err(wrong("the text is empty"));
        }
        if relevant && judged.far_off {
            return Err(wrong("it is both relevant and far_off"));
        }
        Ok(GradedPassage {
            text: judged.text,
            relevant,
            far_off: judged.far_off,
        })
    });
    Ok(GradedQuestion {
        query: line.query,
        sub_questions: line.sub_questions,
        passages: passages.collect::<Result<_, String>>()?,
    })
}

/// For each question up to `count` different passages of questions that ask something else, the
/// same on every run. Chosen by hash and not by place, because neighbours in a file are often of one
/// subject.
pub(super) fn foreign(questions: &[GradedQuestion], count: usize) -> Vec<Vec<&str>> {
    let all: Vec<(&str, &str)> = questions
        .iter()
        .flat_map(|question| {
            let texts = question
                .passages
                .iter()
                .map(|passage| passage.text.as_str());
            texts.map(|text| (question.query.as_str(), text))
        })
        .collect();
    let draw = |question: &GradedQuestion| {
        let own = question
            .passages
            .iter()
            .map(|passage| passage.text.as_str());
        let mut taken: HashSet<&str> = own.collect();
        let mut drawn = Vec::new();
        for turn in 0..count {
            let start = place(&question.query, turn, all.len());
            let (before, after) = all.split_at(start);
            let found = after
                .iter()
                .chain(before)
                .find(|(query, text)| *query != question.query && !taken.contains(text));
            let Some((_, text)) = found else {
                break;
            };
            taken.insert(text);
            drawn.push(*text);
        }
        drawn
    };
    questions.iter().map(draw).collect()
}

fn place(query: &str, turn: usize, among: usize) -> usize {
    let mut hasher = blake3::Hasher::new();
    hasher.update(query.as_bytes());
    hasher.update(&(turn as u64).to_le_bytes());
    let hash = hasher.finalize();
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]) as usize % among.max(1)
}

// Whether grades tell relevant passages from others, whether they mean what they say, and what
// they lead a run to do.
//
// Where a figure is not defined, because nothing is relevant or nothing reaches a threshold, there
// is none: a 0 would be a figure that was not measured.

/// Intervals of the calibration table, all of one width.
const INTERVALS: usize = 10;

/// The figures of judged passages; the names are fixed.
#[derive(Debug, Serialize)]
pub(super) struct GradingFigures {
    /// Passages that were graded.
    pub n: usize,
    /// How many of these are relevant.
    pub relevant: usize,
    /// How likely a relevant passage has a higher grade than an irrelevant one; a tie counts half.
    pub auc: Option<f64>,
    /// Share of those from 0.7 on that is relevant.
    pub precision_at_0_7: Option<f64>,
    /// Share of the relevant that is from 0.7 on.
    pub recall_at_0_7: Option<f64>,
    /// Share of the irrelevant that is dropped.
    pub irrelevant_below_0_3: Option<f64>,
    /// Mean square of what the grade lacks to 1 if relevant, and exceeds 0 if not (Brier 1950).
    pub brier: f64,
    /// Mean distance of grade and share of relevant ones in an interval of the calibration table,
    /// each passage counting alike (expected calibration error, Naeini 2015).
    pub calibration_error: f64,
    /// One row for each interval of grades that is not empty.
    pub calibration: Vec<Interval>,
    /// One row for each threshold.
    pub sweep: Vec<Threshold>,
}

/// Passages by the thresholds of the graph.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Bands {
    /// They leave the context (R19).
    pub below_0_3: usize,
    /// They stay and speak for REFINE (R20).
    pub from_0_3: usize,
    /// They speak for GENERATE.
    pub from_0_7: usize,
}

/// Questions by what their passages lead a run to do (R20).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct Actions {
    pub generate: usize,
    pub refine: usize,
    pub re_retrieve: usize,
}

/// What taking everything from `threshold` on for relevant would come to.
#[derive(Debug, Serialize)]
pub(super) struct Threshold {
    #[serde(rename = "threshold")]
    pub from: f64,
    /// Nothing when no passage is taken.
    pub precision: Option<f64>,
    /// Nothing when no passage is relevant.
    pub recall: Option<f64>,
    pub f1: Option<f64>,
    /// Share of all passages that is taken.
    pub kept: f64,
}

impl GradingFigures {
    /// Measures the grade of each passage and whether it is relevant; there is at least one.
    pub fn measure(judged: &[JudgedProbability]) -> Self {
        let relevant = judged.iter().filter(|(_, it)| *it).count();
        let irrelevant = judged.len() - relevant;
        let dropped = judged.iter().filter(|(p, it)| !it && *p < KEEP_FROM);
        let sure = Threshold::measure(judged, SUFFICIENT_FROM);
        let square = |(p, it): &(f64, bool)| (p - f64::from(u8::from(*it))).powi(2);
        let n = judged.len().max(1) as f64;
        let edges: Vec<f64> = (0..=INTERVALS)
            .map(|at| at as f64 / INTERVALS as f64)
            .collect();
        let calibration = intervals(judged, &edges);
        let off = |interval: &Interval| (interval.mean - interval.share).abs() * interval.n as f64;
        Self {
            n: judged.len(),
            relevant,
            auc: auc(judged),
            precision_at_0_7: sure.precision,
            recall_at_0_7: sure.recall,
            irrelevant_below_0_3: part(dropped.count(), irrelevant),
            brier: judged.iter().map(square).sum::<f64>() / n,
            calibration_error: calibration.iter().map(off).sum::<f64>() / n,
            calibration,
            sweep: THRESHOLDS.map(|at| Threshold::measure(judged, at)).into(),
        }
    }

    /// The first lines, without the tables.
    pub fn as_text(&self) -> String {
        format!(
            "  AUC {}\n  precision from {SUFFICIENT_FROM} on {}, recall {}\n  \
             irrelevant below {KEEP_FROM} {}\n  Brier score {:.3}, calibration error {:.3}\n",
            number(self.auc),
            number(self.precision_at_0_7),
            number(self.recall_at_0_7),
            number(self.irrelevant_below_0_3),
            self.brier,
            self.calibration_error,
        )
    }

    /// Calibration and sweep.
    pub fn tables(&self) -> String {
        let mut text = "  grade          n       mean   relevant\n".to_owned();
        for Interval {
            from,
            to,
            n,
            mean,
            share,
        } in &self.calibration
        {
            text.push_str(&format!(
                "  {from:.1}-{to:.1}  {n:>8}  {mean:>9.3}  {share:>9.3}\n"
            ));
        }
        text.push_str("\n  threshold  precision     recall         F1       kept\n");
        for at in &self.sweep {
            text.push_str(&format!(
                "  {:>9.1}  {:>9}  {:>9}  {:>9}  {:>9.3}\n",
                at.from,
                number(at.precision),
                number(at.recall),
                number(at.f1),
                at.kept
            ));
        }
        text
    }
}

impl Threshold {
    fn measure(judged: &[JudgedProbability], from: f64) -> Self {
        let Cut {
            taken,
            hits,
            right,
            n,
        } = cut(judged, from);
        Self {
            from,
            precision: part(hits, taken),
            recall: part(hits, right),
            f1: part(2 * hits, taken + right),
            kept: share(taken, n),
        }
    }
}

impl Bands {
    pub fn add(&mut self, score: f64) {
        *if score < KEEP_FROM {
            &mut self.below_0_3
        } else if score < SUFFICIENT_FROM {
            &mut self.from_0_3
        } else {
            &mut self.from_0_7
        } += 1;
    }

    pub fn sum(&self) -> usize {
        self.below_0_3 + self.from_0_3 + self.from_0_7
    }
}

impl Actions {
    /// Counts what a run would do with these grades.
    pub fn add(&mut self, scores: &[Score]) {
        let thresholds = GradeThresholds::default();
        *match thresholds.action_for(thresholds.average_of_kept(scores.iter().copied())) {
            GraderAction::Generate => &mut self.generate,
            GraderAction::Refine => &mut self.refine,
            GraderAction::ReRetrieve => &mut self.re_retrieve,
        } += 1;
    }

    pub fn as_text(&self) -> String {
        format!(
            "GENERATE {}, REFINE {}, RE_RETRIEVE {}",
            self.generate, self.refine, self.re_retrieve
        )
    }
}

/// A figure, or a dash where there is none.
pub(super) fn number(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.3}"))
}

/// `part` of `whole`, nothing of nothing.
pub(super) fn part(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| share(part, whole))
}

/// How likely a relevant passage has a higher grade than an irrelevant one, a tie counting half: the
/// area under the curve of Mann and Whitney's U, by ranks from the lowest grade on, equal grades
/// sharing the mean of theirs.
pub(super) fn auc(judged: &[JudgedProbability]) -> Option<f64> {
    let mut order: Vec<&JudgedProbability> = judged.iter().collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut ranks) = (0, 0.0);
    for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
        ranks += rank * equal.iter().filter(|(_, it)| *it).count() as f64;
        before += equal.len();
    }
    let relevant = judged.iter().filter(|(_, it)| *it).count() as f64;
    let pairs = relevant * (judged.len() as f64 - relevant);
    (pairs > 0.0).then(|| (ranks - relevant * (relevant + 1.0) / 2.0) / pairs)
}

#[cfg(test)]
mod graded_passages_tests {
    use super::*;

    fn asked(query: &str, texts: &[&str]) -> GradedQuestion {
        GradedQuestion {
            query: query.to_owned(),
            sub_questions: Vec::new(),
            passages: texts
                .iter()
                .map(|text| GradedPassage::far_off(text))
                .collect(),
        }
    }

    #[test]
    fn foreign_passages_are_of_other_questions_and_different() {
        let questions = [
            asked("a", &["one", "two", "shared"]),
            asked("b", &["three", "shared", "three"]),
            asked("a", &["four"]),
        ];
        let drawn = foreign(&questions, 5);
        let sorted = |at: usize| {
            let mut texts = drawn[at].clone();
            texts.sort_unstable();
            texts
        };
        assert_eq!(sorted(0), ["three"]);
        assert_eq!(sorted(1), ["four", "one", "two"]);
        assert_eq!(sorted(2), ["shared", "three"]);
        assert_eq!(foreign(&questions, 2), foreign(&questions, 2));
        assert!(foreign(&questions, 0).iter().all(Vec::is_empty));
        assert!(foreign(&questions[..1], 3)[0].is_empty());
    }
}

#[cfg(test)]
mod grades_tests {
    use super::*;

    fn near(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn the_figures_are_those_worked_out_by_hand() {
        let judged = [
            (0.9, true),
            (0.8, false),
            (0.5, true),
            (0.5, false),
            (0.1, false),
            (0.0, true),
        ];
        let figures = GradingFigures::measure(&judged);
        // Of nine pairs: 0.9 wins three, 0.5 wins one and halves one, 0.0 wins none.
        assert!(near(figures.auc, 4.5 / 9.0));
        assert!(near(figures.precision_at_0_7, 0.5));
        assert!(near(figures.recall_at_0_7, 1.0 / 3.0));
        assert!(near(figures.irrelevant_below_0_3, 1.0 / 3.0));
        let brier = (0.01 + 0.64 + 0.25 + 0.25 + 0.01 + 1.0) / 6.0;
        assert!((figures.brier - brier).abs() < 1e-9);
        // Intervals: 0–.1 {0.0 yes}, .1–.2 {.1 no}, .5–.6 {.5 yes, .5 no}, .8–.9 {no}, .9–1 {yes}.
        let error = (1.0 + 0.1 + 0.0 + 0.8 + 0.1) / 6.0;
        assert!((figures.calibration_error - error).abs() < 1e-9);
        assert_eq!(figures.calibration.iter().map(|i| i.n).sum::<usize>(), 6);
        let half = &figures.sweep[4];
        assert!(near(half.precision, 0.5) && near(half.recall, 2.0 / 3.0));
        assert!(near(half.f1, 4.0 / 7.0) && (half.kept - 4.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_defined_is_no_figure() {
        let figures = GradingFigures::measure(&[(0.2, false), (0.4, false)]);
        assert_eq!(
            (figures.auc, figures.precision_at_0_7, figures.recall_at_0_7),
            (None, None, None)
        );
        assert!(near(figures.irrelevant_below_0_3, 0.5));
        let figures = GradingFigures::measure(&[(0.2, true)]);
        assert_eq!((figures.auc, figures.irrelevant_below_0_3), (None, None));
        assert!(figures.as_text().contains("AUC -"));
        let same = GradingFigures::measure(&[(0.5, true), (0.5, false), (0.5, false)]);
        assert!(near(same.auc, 0.5));
    }

    #[test]
    fn r20_bands_and_actions_are_the_graphs_own() {
        let mut bands = Bands::default();
        for score in [0.0, 0.299, 0.3, 0.699, 0.7, 1.0] {
            bands.add(score);
        }
        assert_eq!((bands.below_0_3, bands.from_0_3, bands.from_0_7), (2, 2, 2));
        assert_eq!(bands.sum(), 6);
        let mut actions = Actions::default();
        for scores in [&[0.9, 0.1][..], &[0.7, 0.4], &[0.2, 0.29], &[]] {
            let scores: Vec<Score> = scores.iter().copied().map(Score::clamped).collect();
            actions.add(&scores);
        }
        let expected = Actions {
            generate: 1,
            refine: 1,
            re_retrieve: 2,
        };
        assert_eq!(actions, expected);
    }
}
