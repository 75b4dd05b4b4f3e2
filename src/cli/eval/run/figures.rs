use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::named_settings::NamedSettings;
use super::question::ExpectedRun;
use super::trial::{Checks, Trial};
use crate::cli::output::CommandFailure;
use crate::domain::{Outcome, dollars};
use crate::protocol::Latency;
use crate::text::{one_line, plural};

/// What must hold under every one of the settings.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits, each for every settings file")]
pub(super) struct Limits {
    /// The least share of routes that must be right, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_route: Option<f64>,
    /// The least share of questions whose sources must be among the evidence, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_sources: Option<f64>,
    /// The least share of answers that must be as expected (answer_contains, answer_lacks, outcome), 0
    /// to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_answers: Option<f64>,
    /// Highest allowed 95th percentile of the run time
    #[arg(long, value_name = "MS", value_parser = non_negative)]
    max_p95_ms: Option<f64>,
    /// The most reasoning calls a question may take, on average
    #[arg(long, value_name = "N", value_parser = non_negative)]
    max_calls: Option<f64>,
    /// The most US dollars that may be spent for all questions
    #[arg(long, value_name = "USD", value_parser = non_negative)]
    max_cost: Option<f64>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1, such as 0.9".to_owned())
}

fn non_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it must be a number from 0 on".to_owned())
}

/// The least share of what is expected that must hold.
struct ShareLimit {
    option: &'static str,
    limit: fn(&Limits) -> Option<f64>,
    /// What of a question says what is expected.
    field: &'static str,
    is_expected: fn(&ExpectedRun) -> bool,
    figure: fn(&RunFigures) -> Option<Share>,
    /// What the share counts.
    what: &'static str,
}

const SHARE_LIMITS: [ShareLimit; 3] = [
    ShareLimit {
        option: "--min-route",
        limit: |limits| limits.min_route,
        field: "route",
        is_expected: |question| !question.route.is_empty(),
        figure: |figures| figures.route,
        what: "routes are right",
    },
    ShareLimit {
        option: "--min-sources",
        limit: |limits| limits.min_sources,
        field: "sources",
        is_expected: |question| !question.sources.is_empty(),
        figure: |figures| figures.sources,
        what: "questions have their sources",
    },
    ShareLimit {
        option: "--min-answers",
        limit: |limits| limits.min_answers,
        field: "answer_contains, answer_lacks or outcome",
        is_expected: ExpectedRun::judges_answer,
        figure: |figures| figures.answers,
        what: "answers are as expected",
    },
];

/// The most that a figure may be.
struct FigureLimit {
    option: &'static str,
    limit: fn(&Limits) -> Option<f64>,
    figure: fn(&RunFigures) -> Option<f64>,
    unit: &'static str,
}

const FIGURE_LIMITS: [FigureLimit; 2] = [
    FigureLimit {
        option: "--max-p95-ms",
        limit: |limits| limits.max_p95_ms,
        figure: |figures| figures.p95_ms,
        unit: "ms is the 95th percentile",
    },
    FigureLimit {
        option: "--max-calls",
        limit: |limits| limits.max_calls,
        figure: RunFigures::calls_a_question,
        unit: "calls a question",
    },
];

impl Limits {
    /// A limit for something that no question specifies is a mistake: it would always hold.
    pub(super) fn check(
        &self,
        questions: &[ExpectedRun],
        file: &Path,
    ) -> Result<(), CommandFailure> {
        let is_idle =
            |of: &&ShareLimit| (of.limit)(self).is_some() && !questions.iter().any(of.is_expected);
        match SHARE_LIMITS.iter().find(is_idle) {
            None => Ok(()),
            Some(ShareLimit { option, field, .. }) => Err(CommandFailure::usage(format!(
                "{option}: no question of {} has {field}",
                file.display()
            ))),
        }
    }

    /// One line for each that is broken.
    fn broken(&self, figures: &RunFigures) -> Vec<String> {
        let mut broken = Vec::new();
        let name = &figures.settings;
        for of in &SHARE_LIMITS {
            if let (Some(limit), Some(share)) = ((of.limit)(self), (of.figure)(figures))
                && share.value() < limit
            {
                let Share { right, of: all } = share;
                let (option, what) = (of.option, of.what);
                broken.push(format!(
                    "{name}: {right} of {all} {what}, {option} asks for {limit}"
                ));
            }
        }
        for of in &FIGURE_LIMITS {
            if let (Some(limit), Some(figure)) = ((of.limit)(self), (of.figure)(figures))
                && figure > limit
            {
                let (option, unit) = (of.option, of.unit);
                broken.push(format!(
                    "{name}: {figure:.1} {unit}, {option} allows {limit}"
                ));
            }
        }
        match (self.max_cost, figures.cost_usd) {
            (Some(_), None) if figures.tokens() > 0 => broken.push(format!(
                "{name}: the cost is not known, as the model has no known price: --max-cost cannot hold \
                 ('kb-agent help models' tells of prices)"
            )),
            (Some(limit), Some(cost)) if cost > limit => broken.push(format!(
                "{name}: {} for all questions, --max-cost allows {}",
                dollars(cost),
                dollars(limit)
            )),
            _ => {}
        }
        broken
    }
}

/// A count out of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Share {
    pub right: usize,
    pub of: usize,
}

impl Share {
    fn value(self) -> f64 {
        self.right as f64 / self.of.max(1) as f64
    }

    /// What holds of those that are judged; `None` where none is.
    fn of_checks(checks: impl Iterator<Item = Option<bool>>) -> Option<Self> {
        let judged: Vec<bool> = checks.flatten().collect();
        let right = judged.iter().filter(|holds| **holds).count();
        (!judged.is_empty()).then_some(Self {
            right,
            of: judged.len(),
        })
    }
}

/// What all questions came to under one of the settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RunFigures {
    pub settings: String,
    /// The log of the runs.
    pub log: String,
    pub questions: usize,
    /// Routes that are right; `None` where no question says which is.
    pub route: Option<Share>,
    /// Questions whose sources are all among the evidence.
    pub sources: Option<Share>,
    /// Answers that are as expected.
    pub answers: Option<Share>,
    pub answered: usize,
    pub not_found: usize,
    pub failed: usize,
    pub calls: u64,
    /// Median run time.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// US dollars; `None` where nothing was counted or one run has no known price.
    pub cost_usd: Option<f64>,
}

impl RunFigures {
    fn new(settings: &NamedSettings, trials: &[Trial]) -> Self {
        let checks = |check: fn(Checks) -> Option<bool>| {
            Share::of_checks(trials.iter().map(|trial| check(trial.checks)))
        };
        let ended = |outcome| {
            trials
                .iter()
                .filter(|it| it.outcome == Some(outcome))
                .count()
        };
        let complete = trials.iter().filter(|trial| trial.is_complete());
        let times: Vec<f64> = complete.map(|trial| trial.cost.ms).collect();
        let latency = Latency::from_samples(&times);
        let sum = |of: fn(&Trial) -> u64| trials.iter().map(of).fold(0, u64::saturating_add);
        let counted = trials.iter().filter(|trial| trial.cost.tokens() > 0);
        let costs: Option<Vec<f64>> = counted.map(|trial| trial.cost.cost_usd).collect();
        let costs = costs.filter(|costs| !costs.is_empty());
        Self {
            settings: settings.name.clone(),
            log: settings.with_log_apart().audit_log.display().to_string(),
            questions: trials.len(),
            route: checks(|checks| checks.route_right),
            sources: checks(|checks| checks.sources_found),
            answers: checks(|checks| checks.answer_right),
            answered: ended(Outcome::Answered),
            not_found: ended(Outcome::NotFound),
            failed: trials.len() - times.len(),
            calls: sum(|trial| u64::from(trial.cost.calls)),
            p50_ms: latency.median_ms,
            p95_ms: latency.p95_ms,
            prompt_tokens: sum(|trial| trial.cost.prompt_tokens),
            completion_tokens: sum(|trial| trial.cost.completion_tokens),
            cost_usd: costs.map(|costs| costs.iter().sum()),
        }
    }

    /// Tokens both ways.
    pub(super) fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }

    fn calls_a_question(&self) -> Option<f64> {
        (self.questions > 0).then(|| self.calls as f64 / self.questions as f64)
    }
}

/// All that came of it; its serde form is the object of `eval run --json`.
#[derive(Debug, Serialize)]
pub(super) struct RunReport {
    pub questions: Vec<AskedQuestion>,
    /// Summaries by settings, in the order in which these were given.
    pub summary: Vec<RunFigures>,
    /// One line for each limit that is broken and for each of the settings under which runs failed.
    pub broken: Vec<String>,
}

/// A question and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct AskedQuestion {
    #[serde(flatten)]
    pub expected: ExpectedRun,
    /// Results in the order of the settings.
    pub results: Vec<NamedTrial>,
}

/// What came of a question under one of the settings.
#[derive(Debug, Serialize)]
pub(super) struct NamedTrial {
    pub settings: String,
    #[serde(flatten)]
    pub trial: Trial,
}

impl RunReport {
    pub(super) fn new(
        questions: Vec<ExpectedRun>,
        trials: Vec<Vec<Trial>>,
        variants: &[NamedSettings],
        limits: &Limits,
    ) -> Self {
        let names = || variants.iter().map(|variant| variant.name.as_str());
        let summary: Vec<RunFigures> = variants
            .iter()
            .zip(&trials)
            .map(|(variant, trials)| RunFigures::new(variant, trials))
            .collect();
        let mut broken: Vec<String> = summary.iter().flat_map(|of| limits.broken(of)).collect();
        for (figures, trials) in summary.iter().zip(&trials) {
            let failed = questions.iter().zip(trials);
            let mut failed = failed.filter_map(|(asked, trial)| Some((asked, trial.trouble()?)));
            if let Some((asked, why)) = failed.next() {
                broken.push(format!(
                    "{}: {} of {} failed, the first {}: {}",
                    figures.settings,
                    figures.failed,
                    plural(figures.questions, "question"),
                    one_line(&asked.id, 80),
                    one_line(why, 400)
                ));
            }
        }
        let mut columns: Vec<_> = trials.into_iter().map(Vec::into_iter).collect();
        let questions = questions.into_iter().map(|expected| {
            let of_question = names().zip(&mut columns);
            let results = of_question.filter_map(|(name, trials)| {
                Some(NamedTrial {
                    settings: name.to_owned(),
                    trial: trials.next()?,
                })
            });
            AskedQuestion {
                results: results.collect(),
                expected,
            }
        });
        Self {
            questions: questions.collect(),
            summary,
            broken,
        }
    }

    /// The logs of the runs, each once, with the names of the settings whose runs it holds.
    pub(super) fn logs(&self) -> Vec<(&str, Vec<&str>)> {
        let mut logs: Vec<(&str, Vec<&str>)> = Vec::new();
        for RunFigures { log, settings, .. } in &self.summary {
            match logs.iter_mut().find(|(known, _)| known == log) {
                Some((_, names)) => names.push(settings),
                None => logs.push((log, vec![settings])),
            }
        }
        logs
    }
}
