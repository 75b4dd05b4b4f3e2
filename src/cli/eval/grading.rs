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

use super::calibration::{Calibration, JudgedProbability, Threshold, figure, part, share};
use super::records::{listed, measured, progress_bar, read, record};
use crate::cli::output::{CommandFailure, print_notice, print_result, table};
use crate::config::Settings;
use crate::domain::{GradeThresholds, GraderAction, KEEP_FROM, SUFFICIENT_FROM, Score};
use crate::engine::StepRunner;
use crate::text::{one_line, plural, sanitize};

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "passages": [{"text": "…", "relevant": true}]}"#;
/// Intervals of the calibration table, all of one width.
const INTERVALS: usize = 10;

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

/// Measures and prints the figures.
pub(super) fn run(grading: &GradingArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let questions = read(&grading.file, question)?;
    let drawn = foreign(&questions, grading.far_off);
    if grading.far_off > 0 && drawn.iter().all(Vec::is_empty) {
        let why = "--far-off draws from other questions, and there is no other in it";
        return Err(CommandFailure::of_file(&grading.file, why));
    }
    let report = measured(measure(grading, &questions, &drawn, settings))?;
    if report.figures.relevant == 0 {
        let file = grading.file.display();
        print_notice(&format!(
            "{file}: no graded passage is relevant, so there is neither AUC nor recall"
        ));
    }
    Ok(print_result(grading.json, &report, || report.as_text())?)
}

/// What has been graded.
#[derive(Default)]
struct Graded {
    grades: Vec<(PassageKind, f64)>,
    unmeasured: usize,
    /// What a run would do with the passages of each question, and with those of others.
    actions: [Actions; 2],
    wrong: Vec<String>,
}

async fn measure(
    grading: &GradingArgs,
    questions: &[GradedQuestion],
    drawn: &[Vec<&str>],
    settings: &Settings,
) -> Result<GradingReport, CommandFailure> {
    let grader = StepRunner::open(settings)?;
    let bar = progress_bar(questions.len());
    let mut all = Graded::default();
    for (question, drawn) in questions.iter().zip(drawn) {
        let query = &question.query;
        let parts = if question.sub_questions.is_empty() && grading.split {
            grader.route(query).await?.plan.sub_questions
        } else {
            question.sub_questions.clone()
        };
        let own = question.passages.iter();
        let own = own.map(|passage| (passage.kind, passage.text.as_str()));
        let others = drawn.iter().map(|text| (PassageKind::FarOff, *text));
        let batches: [Vec<_>; 2] = [own.collect(), others.collect()];
        for (at, batch) in batches.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            let Ok(scores) = grader.grade(query, &parts, &texts).await? else {
                all.unmeasured += batch.len();
                continue;
            };
            all.actions[at].add(&scores);
            for ((kind, text), score) in batch.iter().zip(scores) {
                let grade = score.value();
                all.grades.push((*kind, grade));
                if grading.wrong && kind.is_wrong(grade) {
                    let (query, text) = (one_line(query, 200), one_line(text, 100));
                    let kind = kind.as_str();
                    let row = format!("{kind}\t{grade:.3}\t{query}\t{text}\n");
                    all.wrong.push(row);
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if all.grades.is_empty() {
        return Err(CommandFailure::failed(
            "no reply of the model held grades that can be read, so nothing was measured",
        ));
    }
    let engine = grader.identity().model;
    Ok(GradingReport::new(all, questions.len(), engine))
}

/// What is printed.
#[derive(Debug, Serialize)]
struct GradingReport {
    #[serde(flatten)]
    figures: GradingFigures,
    questions: usize,
    /// Passages without a grade, because the reply could not be read.
    unmeasured: usize,
    confusion: BandsByKind,
    /// What a run would do with the judged passages of each question.
    actions: Actions,
    #[serde(skip_serializing_if = "Option::is_none")]
    far_off: Option<FarOff>,
    #[serde(skip)]
    engine: String,
    #[serde(skip)]
    wrong: Vec<String>,
}

/// Passages by what they are, and within that by grade.
#[derive(Debug, Serialize)]
struct BandsByKind {
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

impl GradingReport {
    fn new(all: Graded, questions: usize, engine: String) -> Self {
        let of_kind = |wanted: PassageKind| {
            let grades = all.grades.iter().filter(move |(kind, _)| *kind == wanted);
            grades.map(|(_, grade)| *grade)
        };
        let judged = all
            .grades
            .iter()
            .filter(|(kind, _)| *kind != PassageKind::FarOff);
        let judged = judged.map(|(kind, grade)| (*grade, *kind == PassageKind::Relevant));
        let judged: Vec<JudgedProbability> = judged.collect();
        let [actions, elsewhere] = all.actions;
        let bands = Bands::count(of_kind(PassageKind::FarOff));
        let n = bands.sum();
        let far_off = (n > 0).then(|| FarOff {
            n,
            below_0_3: share(bands.below_0_3, n),
            from_0_7: share(bands.from_0_7, n),
            mean: of_kind(PassageKind::FarOff).sum::<f64>() / n as f64,
            highest: of_kind(PassageKind::FarOff).fold(0.0, f64::max),
            actions: elsewhere,
        });
        Self {
            figures: GradingFigures::measure(&judged),
            questions,
            unmeasured: all.unmeasured,
            confusion: BandsByKind {
                relevant: Bands::count(of_kind(PassageKind::Relevant)),
                irrelevant: Bands::count(of_kind(PassageKind::Irrelevant)),
                far_off: (n > 0).then_some(bands),
            },
            actions,
            far_off,
            engine,
            wrong: all.wrong,
        }
    }

    fn as_text(&self) -> String {
        let GradingFigures { n, relevant, .. } = self.figures;
        let confusion = &self.confusion;
        let bands = [
            ("relevant", &confusion.relevant),
            ("irrelevant", &confusion.irrelevant),
        ];
        let titles = format!(
            "passages|below {KEEP_FROM}|{KEEP_FROM} to {SUFFICIENT_FROM}|from {SUFFICIENT_FROM}|n"
        );
        let mut text = listed("passage is\tgrade\tquestion\tpassage", &self.wrong);
        text.push_str(&format!(
            "grades, engine {}\n  {} of {}, relevant {relevant}\n{}\n{}\n  a run would: {}\n",
            sanitize(&self.engine),
            plural(n, "passage"),
            plural(self.questions, "question"),
            self.figures.as_text(),
            table(&titles, &bands.map(|(kind, bands)| bands.row(kind))),
            self.actions.as_text()
        ));
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
        let tables = self.figures.tables.as_text("relevant");
        text.push_str(&format!("\n{tables}"));
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

/// One line of the file.
#[derive(Debug)]
pub(super) struct GradedQuestion {
    pub query: String,
    /// Its parts, as a run would have found them; mostly none.
    pub sub_questions: Vec<String>,
    /// The passages to grade, at least one.
    pub passages: Vec<GradedPassage>,
}

impl GradedQuestion {
    /// The texts of its passages.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.passages.iter().map(|passage| passage.text.as_str())
    }
}

/// One judged passage.
#[derive(Debug)]
pub(super) struct GradedPassage {
    pub text: String,
    pub kind: PassageKind,
}

/// How a passage stands to its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassageKind {
    Relevant,
    Irrelevant,
    /// Known to have nothing to do with the question.
    FarOff,
}

impl PassageKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Relevant => "relevant",
            Self::Irrelevant => "irrelevant",
            Self::FarOff => "far-off",
        }
    }

    /// Whether a run would do the wrong thing with a passage of this grade.
    fn is_wrong(self, grade: f64) -> bool {
        match self {
            Self::Relevant => grade < KEEP_FROM,
            Self::Irrelevant | Self::FarOff => grade >= SUFFICIENT_FROM,
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
    let passages = line.passages.into_iter().zip(1..).map(|(judged, at)| {
        let kind = judged.kind();
        let kind = kind.map_err(|what| format!("passage {at}: {what}"));
        let text = judged.text;
        kind.map(|kind| GradedPassage { text, kind })
    });
    Ok(GradedQuestion {
        query: line.query,
        sub_questions: line.sub_questions,
        passages: passages.collect::<Result<_, String>>()?,
    })
}

impl JudgedPassage {
    fn kind(&self) -> Result<PassageKind, &'static str> {
        let is_relevant = match &self.relevant {
            Value::Bool(relevant) => *relevant,
            // A grade, as in a BEIR folder.
            Value::Number(grade) if grade.is_i64() => grade.as_i64() > Some(0),
            _ => return Err("relevant is neither true or false nor a whole number"),
        };
        match (is_relevant, self.far_off) {
            _ if self.text.trim().is_empty() => Err("the text is empty"),
            (true, true) => Err("it is both relevant and far_off"),
            (true, false) => Ok(PassageKind::Relevant),
            (false, true) => Ok(PassageKind::FarOff),
            (false, false) => Ok(PassageKind::Irrelevant),
        }
    }
}

/// For each question up to `count` different passages of questions that ask something else, the
/// same on every run. Chosen by hash and not by place, because neighbours in a file are often of one
/// subject.
pub(super) fn foreign<'q>(questions: &'q [GradedQuestion], count: usize) -> Vec<Vec<&'q str>> {
    let pairs = |of: &'q GradedQuestion| of.texts().map(move |text| (of.query.as_str(), text));
    let all: Vec<(&str, &str)> = questions.iter().flat_map(pairs).collect();
    let draw = |question: &'q GradedQuestion| {
        let mut taken: HashSet<&str> = question.texts().collect();
        let drawn = (0..count).map_while(|turn| {
            let (before, after) = all.split_at(place(&question.query, turn, all.len()));
            let mut others = after.iter().chain(before);
            let is_new = |it: &&(&str, &str)| it.0 != question.query && !taken.contains(it.1);
            let (_, text) = others.find(is_new)?;
            taken.insert(text);
            Some(*text)
        });
        drawn.collect::<Vec<&str>>()
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
    #[serde(flatten)]
    pub tables: Calibration,
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

impl GradingFigures {
    /// Measures the grade of each passage and whether it is relevant.
    pub fn measure(judged: &[JudgedProbability]) -> Self {
        let relevant = judged.iter().filter(|(_, it)| *it).count();
        let dropped = judged.iter().filter(|(p, it)| !it && *p < KEEP_FROM);
        let sure = Threshold::measure(judged, SUFFICIENT_FROM);
        let square = |(p, it): &(f64, bool)| (p - f64::from(u8::from(*it))).powi(2);
        let n = judged.len().max(1) as f64;
        let edges = (0..=INTERVALS).map(|at| at as f64 / INTERVALS as f64);
        let tables = Calibration::measure(judged, &edges.collect::<Vec<_>>());
        let off = tables
            .calibration
            .iter()
            .map(|of| (of.mean - of.share).abs() * of.n as f64);
        Self {
            n: judged.len(),
            relevant,
            auc: auc(judged),
            precision_at_0_7: sure.precision,
            recall_at_0_7: sure.recall,
            irrelevant_below_0_3: part(dropped.count(), judged.len() - relevant),
            brier: judged.iter().map(square).sum::<f64>() / n,
            calibration_error: off.sum::<f64>() / n,
            tables,
        }
    }

    /// The first lines, without the tables.
    pub fn as_text(&self) -> String {
        format!(
            "  AUC {}\n  precision from {SUFFICIENT_FROM} on {}, recall {}\n  \
             irrelevant below {KEEP_FROM} {}\n  Brier score {:.3}, calibration error {:.3}\n",
            figure(self.auc),
            figure(self.precision_at_0_7),
            figure(self.recall_at_0_7),
            figure(self.irrelevant_below_0_3),
            self.brier,
            self.calibration_error,
        )
    }
}

impl Bands {
    pub fn count(grades: impl Iterator<Item = f64>) -> Self {
        let mut bands = Self::default();
        for grade in grades {
            *match grade {
                dropped if dropped < KEEP_FROM => &mut bands.below_0_3,
                kept if kept < SUFFICIENT_FROM => &mut bands.from_0_3,
                _ => &mut bands.from_0_7,
            } += 1;
        }
        bands
    }

    pub fn sum(&self) -> usize {
        self.below_0_3 + self.from_0_3 + self.from_0_7
    }

    fn row(&self, kind: &str) -> Vec<String> {
        let counts = [self.below_0_3, self.from_0_3, self.from_0_7, self.sum()];
        let counts = counts.iter().map(ToString::to_string);
        [kind.to_owned()].into_iter().chain(counts).collect()
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
                .map(|text| GradedPassage {
                    text: (*text).to_owned(),
                    kind: PassageKind::FarOff,
                })
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
        let counted = figures.tables.calibration.iter().map(|of| of.n);
        assert_eq!(counted.sum::<usize>(), 6);
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
        let bands = Bands::count([0.0, 0.299, 0.3, 0.699, 0.7, 1.0].into_iter());
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
