use serde::Serialize;

use super::judged::{JudgedRoute, JudgedRuns};
use crate::cli::eval::{ClassFigures, ConfusionMatrix};
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::{CommandFailure, table};
use crate::config::Settings;
use crate::domain::{Complexity, GradeThresholds, GradedBy, LabelTarget, LabelVerdict};
use crate::engine::StepRunner;
use crate::protocol::{EvidenceRecord, RunRecord};

/// Compares recorded and current decisions with the labels.
#[derive(Debug, Default, Serialize)]
pub(super) struct Agreement {
    /// Routes that were taken, against the labels; nothing where none is judged.
    routes_taken: Option<ClassFigures>,
    /// The same of what the router of the settings decides today; nothing where that is a model.
    routes_today: Option<ClassFigures>,
    /// Judged passages by what the limits make of their grades.
    passages: ByVerdict<GradeBands>,
    answers: ByVerdict<usize>,
    /// Whether a model would be asked for today's routes.
    #[serde(skip)]
    asks_model: bool,
    #[serde(skip)]
    limits: GradeThresholds,
}

/// What was judged good, and bad.
#[derive(Debug, Default, Serialize)]
struct ByVerdict<T> {
    good: T,
    bad: T,
}

impl<T> ByVerdict<T> {
    fn side(&mut self, said: LabelVerdict) -> &mut T {
        if said.is_good() {
            &mut self.good
        } else {
            &mut self.bad
        }
    }
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

const BANDS: &str = "passages|dropped|kept|sufficient|not graded";

impl Agreement {
    /// Counts what the labels say. Offline, today's router is asked; a model is not.
    pub(super) fn measure(
        judged: &JudgedRuns,
        settings: &Settings,
    ) -> Result<Self, CommandFailure> {
        let routes = judged.routes();
        let asks_model = settings.llm.is_some() && !routes.is_empty();
        let today = if asks_model || routes.is_empty() {
            Vec::new()
        } else {
            routes_today(&routes, settings)?
        };
        let mut agreement = Self {
            routes_taken: confusion(routes.iter().map(|route| (route, route.taken))),
            routes_today: confusion(routes.iter().zip(today)),
            asks_model,
            limits: settings.limits.thresholds,
            ..Self::default()
        };
        for run in &judged.runs {
            for (target, said) in run.labels.iter() {
                agreement.take(run, target, said);
            }
        }
        Ok(agreement)
    }

    fn take(&mut self, run: &RunRecord, target: &LabelTarget, said: LabelVerdict) {
        match target {
            LabelTarget::Route => {}
            LabelTarget::Answer => *self.answers.side(said) += 1,
            LabelTarget::Passage { id } => {
                if let Some(item) = run.evidence.iter().find(|known| known.item.id == *id) {
                    self.passages.side(said).add(item, self.limits);
                }
            }
        }
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        if let Some(taken) = &self.routes_taken {
            text.push_str(&format!("routes as taken\n{}\n", taken.as_text()));
        }
        if let Some(today) = &self.routes_today {
            text.push_str(&format!("routes by today's router\n{}\n", today.as_text()));
        }
        if self.asks_model {
            text.push_str(
                "today's router is a model: 'kb-agent labels export' and 'kb-agent eval routing' ask it\n\n",
            );
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
        let ByVerdict { good, bad } = self.answers;
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
            let analysis = unless_cancelled(&cancel, router.route(route.query)).await??;
            decided.push(Some(analysis.plan.complexity));
        }
        Ok(decided)
    })
}
