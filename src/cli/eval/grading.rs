//! Quality of grading as a run gets it: all passages of a question in one batch, by the engine that
//! the settings name.
//!
//! A reply that cannot be read gives no grades. A run then counts each passage as 0.5 (R18); here
//! such passages are counted beside the figures and not in them, because they were not measured.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::confusion::share;
use super::graded_passages::{GradedPassage, GradedQuestion, foreign, question};
use super::grades::{Actions, Bands, GradingFigures};
use super::records::{progress_bar, read};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_notice, print_text};
use crate::config::Settings;
use crate::domain::{KEEP_FROM, SUFFICIENT_FROM};
use crate::engine::Grader;
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
    let grader = Grader::open(settings)?;
    let bar = progress_bar(questions.len());
    let mut tally = GradingTally::default();
    for (question, drawn) in questions.iter().zip(drawn) {
        let query = &question.query;
        let parts = match &question.sub_questions {
            given if given.is_empty() && grading.split => grader.sub_questions(query).await?,
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
            let answer = grader.grade(query, &parts, &texts).await?;
            tally.unmeasured += if answer.scores.is_err() {
                batch.len()
            } else {
                0
            };
            let scores = answer.scores.unwrap_or_default();
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
