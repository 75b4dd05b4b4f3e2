//! Quality of grading as a run gets it: all passages of a question in one batch, by the engine that
//! the settings name.
//!
//! A reply that cannot be read gives no grades. A run then counts each passage as 0.5 (R18); here
//! such passages are counted beside the figures and not in them, because they were not measured.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::figures::{Interval, JudgedProbability, calibrate, part, sweep, take_from};
use super::frame::{Measure, load_lines, print_measured, refuse_blank};
use crate::cli::interruption::unless_cancelled;
use crate::cli::output::{CommandFailure, print_notice};
use crate::config::Settings;
use crate::domain::{GradeThresholds, GraderAction, KEEP_FROM, SUFFICIENT_FROM, Score};
use crate::engine::StepRunner;
use crate::text::one_line;

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
    #[arg(long)]
    wrong: bool,
}

#[derive(Deserialize)]
struct QuestionLine {
    query: String,
    passages: Vec<PassageLine>,
    #[serde(default)]
    sub_questions: Vec<String>,
}

#[derive(Deserialize)]
struct PassageLine {
    text: String,
    /// A bool, or a grade as in a BEIR folder.
    relevant: Value,
    #[serde(default)]
    far_off: bool,
}

/// A question with its judged passages.
#[derive(Debug, Default)]
struct GradedQuestion {
    query: String,
    /// Its parts, as a run would have found them; mostly none.
    sub_questions: Vec<String>,
    passages: Vec<(PassageKind, String)>,
    /// Passages of other questions.
    drawn: Vec<(PassageKind, String)>,
}

/// How a passage stands to its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PassageKind {
    Relevant,
    Irrelevant,
    /// Known to have nothing to do with the question.
    FarOff,
}

/// Measures and prints the figures.
pub(super) fn run(args: &GradingArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let mut questions = load_lines(&args.file, FORM, read_question)?;
    let drawn = draw_far_off(&questions, args.far_off);
    for (question, drawn) in questions.iter_mut().zip(drawn) {
        question.drawn = drawn;
    }
    if args.far_off > 0 && questions.iter().all(|it| it.drawn.is_empty()) {
        let why = "--far-off draws from other questions, and there is no other in it";
        return Err(CommandFailure::of_file(&args.file, why));
    }
    print_measured(&questions, args.json, async |_| {
        Ok(GradingMeasure {
            args,
            grader: StepRunner::open(settings)?,
            thresholds: settings.limits.thresholds,
            questions: 0,
            grades: Vec::new(),
            unmeasured: 0,
            actions: [BTreeMap::new(), BTreeMap::new()],
            wrong: Vec::new(),
        })
    })
}

fn read_question(line: QuestionLine) -> Result<GradedQuestion, String> {
    refuse_blank("query", &line.query)?;
    if line.passages.is_empty() {
        return Err("there is no passage".to_owned());
    }
    let read = |(passage, at): (PassageLine, usize)| match passage.kind() {
        Ok(kind) => Ok((kind, passage.text)),
        Err(what) => Err(format!("passage {at}: {what}")),
    };
    Ok(GradedQuestion {
        query: line.query,
        sub_questions: line.sub_questions,
        passages: line
            .passages
            .into_iter()
            .zip(1..)
            .map(read)
            .collect::<Result<_, _>>()?,
        drawn: Vec::new(),
    })
}

impl PassageLine {
    fn kind(&self) -> Result<PassageKind, String> {
        refuse_blank("text", &self.text)?;
        let is_relevant = match &self.relevant {
            Value::Bool(relevant) => *relevant,
            Value::Number(grade) if grade.is_i64() => grade.as_i64() > Some(0),
            _ => return Err("relevant is neither true or false nor a whole number".to_owned()),
        };
        match (is_relevant, self.far_off) {
            (true, true) => Err("it is both relevant and far_off".to_owned()),
            (true, false) => Ok(PassageKind::Relevant),
            (false, true) => Ok(PassageKind::FarOff),
            (false, false) => Ok(PassageKind::Irrelevant),
        }
    }
}

/// For each question up to `count` different passages of questions that ask something else, the
/// same on every run. Chosen by hash and not by place, because neighbours in a file are often of one
/// subject.
fn draw_far_off(questions: &[GradedQuestion], count: usize) -> Vec<Vec<(PassageKind, String)>> {
    let all: Vec<(&str, &String)> = questions
        .iter()
        .flat_map(|of| {
            of.passages
                .iter()
                .map(|(_, text)| (of.query.as_str(), text))
        })
        .collect();
    let draw = |question: &GradedQuestion| {
        let mut taken: HashSet<&String> = question.passages.iter().map(|(_, text)| text).collect();
        let next = |turn: usize| {
            let turn = (turn as u64).to_le_bytes();
            let hash = blake3::hash(&[question.query.as_bytes(), &turn].concat());
            let [a, b, c, d, ..] = *hash.as_bytes();
            let at = u32::from_le_bytes([a, b, c, d]) as usize % all.len();
            let mut others = all[at..].iter().chain(&all[..at]);
            let (_, text) =
                others.find(|(query, text)| *query != question.query && !taken.contains(text))?;
            taken.insert(text);
            Some((PassageKind::FarOff, (*text).clone()))
        };
        (0..count).map_while(next).collect()
    };
    questions.iter().map(draw).collect()
}

struct GradingMeasure<'a> {
    args: &'a GradingArgs,
    grader: StepRunner,
    /// What a run holds grades against.
    thresholds: GradeThresholds,
    questions: usize,
    grades: Vec<(PassageKind, f64)>,
    /// Passages without a grade, because the reply could not be read.
    unmeasured: usize,
    /// What a run would do with the passages of each question, and with the drawn ones.
    actions: [BTreeMap<&'static str, usize>; 2],
    wrong: Vec<Value>,
}

impl Measure for GradingMeasure<'_> {
    type Line = GradedQuestion;

    async fn add(
        &mut self,
        question: &GradedQuestion,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure> {
        let mut parts = question.sub_questions.clone();
        if parts.is_empty() && self.args.split {
            let routed = unless_cancelled(cancel, self.grader.route(&question.query)).await??;
            parts = routed.plan.sub_questions;
        }
        self.questions += 1;
        let batches = [&question.passages, &question.drawn];
        for (batch, actions) in batches.into_iter().zip(&mut self.actions) {
            if batch.is_empty() {
                continue;
            }
            let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let graded = self.grader.grade(&question.query, &parts, &texts);
            let Ok(scores) = unless_cancelled(cancel, graded).await?? else {
                self.unmeasured += batch.len();
                continue;
            };
            let action = action_for(&scores, self.thresholds);
            *actions.entry(action.as_str()).or_default() += 1;
            for ((kind, text), score) in batch.iter().zip(scores) {
                let grade = score.value();
                self.grades.push((*kind, grade));
                if self.args.wrong && kind.is_wrong(grade) {
                    self.wrong.push(json!({
                        "kind": kind.as_str(), "grade": grade,
                        "question": question.query, "text": one_line(text, 100),
                    }));
                }
            }
        }
        Ok(())
    }

    async fn figures(self) -> Result<Value, CommandFailure> {
        if self.grades.is_empty() {
            return Err(CommandFailure::failed(
                "no reply of the model held grades that can be read, so nothing was measured",
            ));
        }
        let mut figures = measure_grades(&self.grades);
        figures["engine"] = json!(self.grader.identity().model);
        figures["questions"] = json!(self.questions);
        figures["unmeasured"] = json!(self.unmeasured);
        let [actions, elsewhere] = self.actions.map(|counts| {
            let all = GraderAction::ALL.map(|action| {
                let count = counts.get(action.as_str());
                (action.as_str(), count.copied().unwrap_or(0))
            });
            json!(BTreeMap::from(all))
        });
        figures["actions"] = actions;
        if figures["far_off"].is_object() {
            figures["far_off"]["actions"] = elsewhere;
        }
        if self.args.wrong {
            figures["wrong"] = json!(self.wrong);
        }
        if figures["relevant"] == 0 {
            let file = self.args.file.display();
            print_notice(&format!(
                "{file}: no graded passage is relevant, so there is neither AUC nor recall"
            ));
        }
        Ok(figures)
    }
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

/// The figures of graded passages; `None` where one is not defined.
///
/// `brier` is the mean square of what a grade lacks to 1 if relevant, and exceeds 0 if not (Brier 1950);
/// `calibration_error` the mean distance of grade and share of relevant ones in an interval of the
/// calibration table, each passage counting alike (Naeini 2015).
fn measure_grades(grades: &[(PassageKind, f64)]) -> Value {
    let of_kind = |wanted: PassageKind| {
        let grades = grades.iter().filter(|(kind, _)| *kind == wanted);
        grades.map(|(_, grade)| *grade).collect::<Vec<f64>>()
    };
    let [relevant, irrelevant] = [PassageKind::Relevant, PassageKind::Irrelevant].map(of_kind);
    let far_off = of_kind(PassageKind::FarOff);
    let judged: Vec<JudgedProbability> = (relevant.iter().map(|grade| (*grade, true)))
        .chain(irrelevant.iter().map(|grade| (*grade, false)))
        .collect();
    let mean = |sum: f64| sum / judged.len().max(1) as f64;
    let square = |(p, is_relevant): &(f64, bool)| (p - f64::from(u8::from(*is_relevant))).powi(2);
    let edges: Vec<f64> = (0..=INTERVALS)
        .map(|at| at as f64 / INTERVALS as f64)
        .collect();
    let calibration = calibrate(&judged, &edges);
    let error = |of: &Interval| (of.mean - of.share).abs() * of.n as f64;
    let sure = take_from(&judged, SUFFICIENT_FROM);
    let mut figures = json!({
        "n": judged.len(),
        "relevant": relevant.len(),
        "auc": area_under_curve(&judged),
        "precision_at_0_7": sure["precision"],
        "recall_at_0_7": sure["recall"],
        "irrelevant_below_0_3": part(count_bands(&irrelevant)[0], irrelevant.len()),
        "brier": mean(judged.iter().map(square).sum()),
        "calibration_error": mean(calibration.iter().map(error).sum()),
        "confusion": {"relevant": bands(&relevant), "irrelevant": bands(&irrelevant)},
        "calibration": calibration,
        "sweep": sweep(&judged),
    });
    if !far_off.is_empty() {
        let [dropped, _, sure] = count_bands(&far_off);
        figures["far_off"] = json!({
            "n": far_off.len(),
            "below_0_3": part(dropped, far_off.len()),
            "from_0_7": part(sure, far_off.len()),
            "mean": far_off.iter().sum::<f64>() / far_off.len() as f64,
            "highest": far_off.iter().copied().fold(0.0, f64::max),
        });
    }
    figures
}

/// Counts grades by the thresholds of the graph: those that are dropped (R19), those that stay and speak
/// for REFINE (R20), and those that speak for GENERATE.
fn count_bands(grades: &[f64]) -> [usize; 3] {
    let below = |limit: f64| grades.iter().filter(|grade| **grade < limit).count();
    let (dropped, not_sure) = (below(KEEP_FROM), below(SUFFICIENT_FROM));
    [dropped, not_sure - dropped, grades.len() - not_sure]
}

fn bands(grades: &[f64]) -> Value {
    let [dropped, refined, sure] = count_bands(grades);
    json!({"below_0_3": dropped, "from_0_3": refined, "from_0_7": sure})
}

/// What a run would do with these grades (R20).
fn action_for(scores: &[Score], thresholds: GradeThresholds) -> GraderAction {
    thresholds.action_for(thresholds.average_of_kept(scores.iter().copied()))
}

/// How likely a relevant passage has a higher grade than an irrelevant one, a tie counting half.
///
/// The area under the curve of Mann and Whitney's U: ranks count from the lowest grade on, and equal
/// grades share the mean of theirs.
fn area_under_curve(judged: &[JudgedProbability]) -> Option<f64> {
    let mut order = judged.to_vec();
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
mod tests {
    use super::*;

    fn asked(query: &str, texts: &[&str]) -> GradedQuestion {
        let passages = texts.iter();
        GradedQuestion {
            query: query.to_owned(),
            passages: passages
                .map(|text| (PassageKind::Irrelevant, (*text).to_owned()))
                .collect(),
            ..GradedQuestion::default()
        }
    }

    #[test]
    fn drawn_passages_are_of_other_questions_and_different() {
        let questions = [
            asked("a", &["one", "two", "shared"]),
            asked("b", &["three", "shared", "three"]),
            asked("a", &["four"]),
        ];
        let drawn = draw_far_off(&questions, 5);
        let sorted = |at: usize| {
            let mut texts: Vec<&str> = drawn[at].iter().map(|(_, text)| text.as_str()).collect();
            texts.sort_unstable();
            texts
        };
        assert_eq!(sorted(0), ["three"]);
        assert_eq!(sorted(1), ["four", "one", "two"]);
        assert_eq!(sorted(2), ["shared", "three"]);
        assert_eq!(draw_far_off(&questions, 2), draw_far_off(&questions, 2));
        assert!(draw_far_off(&questions, 0).iter().all(Vec::is_empty));
        assert!(draw_far_off(&questions[..1], 3)[0].is_empty());
    }

    fn measured(judged: &[JudgedProbability]) -> Value {
        let kind = |is_relevant| {
            if is_relevant {
                PassageKind::Relevant
            } else {
                PassageKind::Irrelevant
            }
        };
        let grades = judged.iter().map(|(grade, it)| (kind(*it), *grade));
        measure_grades(&grades.collect::<Vec<_>>())
    }

    #[track_caller]
    fn near(figure: &Value, expected: f64) {
        let figure = figure.as_f64().unwrap();
        assert!((figure - expected).abs() < 1e-9, "{figure}");
    }

    #[test]
    fn the_figures_are_those_worked_out_by_hand() {
        let figures = measured(&[
            (0.9, true),
            (0.8, false),
            (0.5, true),
            (0.5, false),
            (0.1, false),
            (0.0, true),
        ]);
        // Of nine pairs: 0.9 wins three, 0.5 wins one and halves one, 0.0 wins none.
        near(&figures["auc"], 4.5 / 9.0);
        near(&figures["precision_at_0_7"], 0.5);
        near(&figures["recall_at_0_7"], 1.0 / 3.0);
        near(&figures["irrelevant_below_0_3"], 1.0 / 3.0);
        near(
            &figures["brier"],
            (0.01 + 0.64 + 0.25 + 0.25 + 0.01 + 1.0) / 6.0,
        );
        // Intervals: 0–.1 {0.0 yes}, .1–.2 {.1 no}, .5–.6 {.5 yes, .5 no}, .8–.9 {no}, .9–1 {yes}.
        near(
            &figures["calibration_error"],
            (1.0 + 0.1 + 0.0 + 0.8 + 0.1) / 6.0,
        );
        assert_eq!(figures["calibration"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn what_is_not_defined_is_no_figure() {
        let figures = measured(&[(0.2, false), (0.4, false)]);
        for name in ["auc", "precision_at_0_7", "recall_at_0_7"] {
            assert!(figures[name].is_null(), "{name}");
        }
        near(&figures["irrelevant_below_0_3"], 0.5);
        let figures = measured(&[(0.2, true)]);
        assert!(figures["auc"].is_null() && figures["irrelevant_below_0_3"].is_null());
        let same = measured(&[(0.5, true), (0.5, false), (0.5, false)]);
        near(&same["auc"], 0.5);
    }

    #[test]
    fn r20_bands_and_actions_are_the_graphs_own() {
        assert_eq!(count_bands(&[0.0, 0.299, 0.3, 0.699, 0.7, 1.0]), [2, 2, 2]);
        for (scores, expected) in [
            (&[0.9, 0.1][..], GraderAction::Generate),
            (&[0.7, 0.4], GraderAction::Refine),
            (&[0.2, 0.29], GraderAction::ReRetrieve),
            (&[], GraderAction::ReRetrieve),
        ] {
            let scores: Vec<Score> = scores.iter().copied().map(Score::clamped).collect();
            assert_eq!(action_for(&scores, GradeThresholds::default()), expected);
        }
        let strict = GradeThresholds {
            sufficient_from: 0.95,
            ..GradeThresholds::default()
        };
        let refined = action_for(&[Score::clamped(0.9)], strict);
        assert_eq!(refined, GraderAction::Refine);
    }
}
