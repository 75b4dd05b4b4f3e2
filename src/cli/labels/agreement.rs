use serde_json::{Value, json};

use super::judged::JudgedRuns;
use crate::cli::eval::confuse;
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::CommandFailure;
use crate::config::Settings;
use crate::domain::{Complexity, GradeThresholds, GradedBy, LabelTarget};
use crate::engine::StepRunner;
use crate::protocol::EvidenceRecord;

/// What the limits make of a passage; a passage that a rule approved, or whose route is not graded, has no
/// grade.
const BANDS: [&str; 4] = ["dropped", "kept", "sufficient", "not_graded"];

/// Holds recorded and current decisions against the labels. Offline, today's router is asked; a model is
/// not.
pub(super) fn compare(judged: &JudgedRuns, settings: &Settings) -> Result<Value, CommandFailure> {
    let routes = judged.routes();
    let queries = routes.iter().map(|route| route.query);
    let today = if routes.is_empty() || settings.llm.is_some() {
        Vec::new()
    } else {
        routes_today(queries, settings)?
    };
    let mut taken = routes.iter().map(|route| route.taken);
    let mut today = today.into_iter().map(Some);
    let confused = |decided: &mut dyn Iterator<Item = Option<Complexity>>| {
        confuse(routes.iter().zip(decided).filter_map(|(route, decided)| {
            let expected = route.expected.iter().map(ToString::to_string);
            Some((expected.collect(), decided?.to_string()))
        }))
    };
    let (mut good, mut bad) = ([0; 4], [0; 4]);
    let (mut good_answers, mut bad_answers) = (0, 0);
    for run in &judged.runs {
        for (target, verdict) in run.labels.iter() {
            let (passages, answers) = if verdict.is_good() {
                (&mut good, &mut good_answers)
            } else {
                (&mut bad, &mut bad_answers)
            };
            match target {
                LabelTarget::Route => {}
                LabelTarget::Answer => *answers += 1,
                LabelTarget::Passage { id } => {
                    if let Some(item) = run.evidence.iter().find(|known| known.item.id == *id) {
                        passages[band_of(item, settings.limits.thresholds)] += 1;
                    }
                }
            }
        }
    }
    Ok(json!({
        "routes_taken": confused(&mut taken),
        "routes_today": confused(&mut today),
        "passages": {"good": count_bands(good), "bad": count_bands(bad)},
        "answers": {"good": good_answers, "bad": bad_answers},
    }))
}

/// The place in [`BANDS`] of a passage.
fn band_of(item: &EvidenceRecord, limits: GradeThresholds) -> usize {
    let is_measured = item.graded_by.is_some_and(GradedBy::is_measured);
    match item.grade.filter(|_| is_measured) {
        None => 3,
        Some(grade) if !limits.keeps(grade) => 0,
        Some(grade) if grade.value() < limits.sufficient_from => 1,
        Some(_) => 2,
    }
}

fn count_bands(counts: [usize; 4]) -> Value {
    let named = BANDS.map(str::to_owned).into_iter().zip(counts);
    named.map(|(band, count)| (band, json!(count))).collect()
}

/// What the router of the settings decides of each question, as the first of a conversation.
fn routes_today<'q>(
    queries: impl Iterator<Item = &'q str>,
    settings: &Settings,
) -> Result<Vec<Complexity>, CommandFailure> {
    let router = StepRunner::open(settings)?;
    interruptible(async |cancel| {
        let mut taken = Vec::new();
        for query in queries {
            let analysis = unless_cancelled(&cancel, router.route(query)).await??;
            taken.push(analysis.plan.complexity);
        }
        Ok(taken)
    })
}
