use serde::Serialize;

use super::judged::{JudgedRoute, JudgedRuns};
use crate::cli::eval::{ClassFigures, ConfusionMatrix};
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::{CommandFailure, table};
use crate::config::Settings;
use crate::domain::{Complexity, GradeThresholds, GradedBy, LabelTarget};
use crate::engine::StepRunner;
use crate::protocol::{EvidenceRecord, RunRecord};

/// Compares recorded and current decisions with the labels.
#[derive(Debug, Default, Serialize)]
pub(super) struct Agreement {
    /// Routes that were taken, against the labels; nothing where none is judged.
    routes_taken: Option<ClassFigures>,
    routes_today: RoutesToday,
    passages: PassageBands,
    answers: Counts,
    #[serde(skip)]
    limits: GradeThresholds,
}

/// What today's router decides of the judged questions; its serde form is the figures or null.
#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
enum RoutesToday {
    /// No route is judged.
    #[default]
    Nothing,
    /// A model would be asked.
    AsksModel,
    /// The router is offline and was asked.
    Decided(ClassFigures),
}

/// Judged passages by what the limits make of their grades.
#[derive(Debug, Default, Serialize)]
struct PassageBands {
    good: GradeBands,
    bad: GradeBands,
}

/// How many passages the limits drop, keep, or count as sufficient.
#[derive(Debug, Default, Serialize)]
struct GradeBands {
    dropped: usize,
    kept: usize,
    sufficient: usize,
    /// A rule approved them, or their route is not graded.
    not_graded: usize,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    good: usize,
    bad: usize,
}

const BANDS: &str = "passages|dropped|kept|sufficient|not graded";

impl Agreement {
    /// Counts what the labels say. Offline, today's router is asked; a model is not.
    pub(super) fn measure(
        judged: &JudgedRuns,
        settings: &Settings,
    ) -> Result<Self, CommandFailure> {
        let routes = judged.routes();
        let taken = confusion(routes.iter().map(|route| (route, route.taken)));
        let routes_today = if routes.is_empty() {
            RoutesToday::Nothing
        } else if settings.llm.is_some() {
            RoutesToday::AsksModel
        } else {
            let today = routes_today(&routes, settings)?;
            let today = confusion(routes.iter().zip(today));
            today.map_or(RoutesToday::Nothing, RoutesToday::Decided)
        };
        let mut agreement = Self {
            routes_taken: taken,
            routes_today,
            limits: settings.limits.thresholds,
            ..Self::default()
        };
        for run in &judged.runs {
            agreement.take(run);
        }
        Ok(agreement)
    }

    fn take(&mut self, run: &RunRecord) {
        for (target, said) in run.labels.iter() {
            let id = match target {
                LabelTarget::Route => continue,
                LabelTarget::Answer if said.is_good() => {
                    self.answers.good += 1;
                    continue;
                }
                LabelTarget::Answer => {
                    self.answers.bad += 1;
                    continue;
                }
                LabelTarget::Passage { id } => id,
            };
            let bands = if said.is_good() {
                &mut self.passages.good
            } else {
                &mut self.passages.bad
            };
            if let Some(item) = run.evidence.iter().find(|known| known.item.id == *id) {
                bands.add(item, self.limits);
            }
        }
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        if let Some(taken) = &self.routes_taken {
            text.push_str(&format!("routes as taken\n{}\n", taken.as_text()));
        }
        match &self.routes_today {
            RoutesToday::Nothing => {}
            RoutesToday::AsksModel => text.push_str(
                "today's router is a model: 'kb-agent labels export' and 'kb-agent eval routing' ask it\n\n",
            ),
            RoutesToday::Decided(today) => {
                text.push_str(&format!("routes by today's router\n{}\n", today.as_text()));
            }
        }
        let rows = [("good", &self.passages.good), ("bad", &self.passages.bad)];
        if rows.iter().any(|(_, bands)| bands.count() > 0) {
            let rows = rows.map(|(name, bands)| bands.row(name));
            text.push_str(&table(BANDS, &rows));
            text.push_str(&format!(
                "dropped: graded below {:.2}; sufficient: {:.2} or more\n\n",
                self.limits.keep_from, self.limits.sufficient_from
            ));
        }
        let Counts { good, bad } = self.answers;
        if good + bad > 0 {
            text.push_str(&format!("answers: {good} good, {bad} bad\n"));
        }
        text.trim_end().to_owned() + "\n"
    }
}

impl GradeBands {
    fn add(&mut self, item: &EvidenceRecord, limits: GradeThresholds) {
        let grade = item
            .grade
            .filter(|_| item.graded_by.is_some_and(GradedBy::is_measured));
        *match grade {
            None => &mut self.not_graded,
            Some(grade) if !limits.keeps(grade) => &mut self.dropped,
            Some(grade) if grade.value() >= limits.sufficient_from => &mut self.sufficient,
            Some(_) => &mut self.kept,
        } += 1;
    }

    fn count(&self) -> usize {
        self.dropped + self.kept + self.sufficient + self.not_graded
    }

    fn row(&self, name: &str) -> Vec<String> {
        let counts = [self.dropped, self.kept, self.sufficient, self.not_graded];
        let counts = counts.iter().map(ToString::to_string);
        [name.to_owned()].into_iter().chain(counts).collect()
    }
}

/// Builds the confusion matrix; `None` without decisions.
fn confusion<'r>(
    decided: impl Iterator<Item = (&'r JudgedRoute<'r>, Option<Complexity>)>,
) -> Option<ClassFigures> {
    let mut matrix = ConfusionMatrix::default();
    for (route, decided) in decided {
        if let Some(decided) = decided {
            let expected = route.expected.iter();
            let expected: Vec<String> = expected.map(|one| one.as_str().to_owned()).collect();
            matrix.add(&expected, decided.as_str());
        }
    }
    matrix.figures()
}

/// What the router of the settings decides of each question, as the first of a conversation.
fn routes_today(
    judged: &[JudgedRoute<'_>],
    settings: &Settings,
) -> Result<Vec<Option<Complexity>>, CommandFailure> {
    let router = StepRunner::open(settings)?;
    interruptible(async |cancel| {
        let mut decided = Vec::new();
        for route in judged {
            let routed = unless_cancelled(&cancel, router.route(route.query)).await??;
            decided.push(Some(routed.plan.complexity));
        }
        Ok(decided)
    })
}
