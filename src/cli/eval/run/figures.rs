use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::expect::{ANSWER, ExpectedRun, ROUTE, SOURCES};
use super::named_settings::NamedSettings;
use super::trial::Trial;
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

/// A limit that was given, and what breaks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Such as `--min-route 0.9`.
    pub limit: String,
    pub broken: Option<String>,
}

impl Limits {
    /// A limit for something that no question specifies is a mistake: it would always hold.
    pub(super) fn check(
        &self,
        questions: &[ExpectedRun],
        file: &Path,
    ) -> Result<(), CommandFailure> {
        let shares = [
            ("--min-route", self.min_route, ROUTE),
            ("--min-sources", self.min_sources, SOURCES),
            ("--min-answers", self.min_answers, ANSWER),
        ];
        for (option, limit, check) in shares {
            if limit.is_some() && !questions.iter().any(|asked| asked.expects(check)) {
                let (file, fields) = (file.display(), ExpectedRun::fields(check).join(" or "));
                let why = format!("{option}: no question of {file} has {fields}");
                return Err(CommandFailure::usage(why));
            }
        }
        Ok(())
    }

    /// What is said of each limit that is given.
    fn verdicts(&self, of: &RunFigures) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        let mut add = |option: &str, limit: f64, broken: Option<String>| {
            let limit = format!("{option} {limit}");
            verdicts.push(Verdict { limit, broken });
        };
        for (option, limit, share) in [
            ("--min-route", self.min_route, of.route),
            ("--min-sources", self.min_sources, of.sources),
            ("--min-answers", self.min_answers, of.answers),
        ] {
            if let (Some(limit), Some(share)) = (limit, share) {
                let Share { right, of: all } = share;
                let line = format!("{right} of {all} are right, {option} asks for {limit}");
                add(option, limit, (share.value() < limit).then_some(line));
            }
        }
        for (option, limit, figure) in [
            ("--max-p95-ms", self.max_p95_ms, of.p95_ms),
            ("--max-calls", self.max_calls, of.calls_a_question()),
        ] {
            if let (Some(limit), Some(figure)) = (limit, figure) {
                let line = format!("it is {figure:.1}, {option} allows {limit}");
                add(option, limit, (figure > limit).then_some(line));
            }
        }
        if let Some(limit) = self.max_cost {
            let broken = match of.cost_usd {
                None if of.tokens() > 0 => Some(
                    "the cost is not known, as the model has no known price: --max-cost cannot hold \
                     ('kb-agent help models' tells of prices)"
                        .to_owned(),
                ),
                Some(cost) if cost > limit => Some(format!(
                    "{} for all questions, --max-cost allows {}",
                    dollars(cost),
                    dollars(limit)
                )),
                _ => None,
            };
            add("--max-cost", limit, broken);
        }
        verdicts
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
    /// What is said of the limits.
    #[serde(skip)]
    pub verdicts: Vec<Verdict>,
}

impl RunFigures {
    fn new(settings: &NamedSettings, trials: &[Trial], limits: &Limits) -> Self {
        let share = |check: &str| {
            let checks = trials.iter().filter_map(|trial| trial.checks.get(check));
            Share::of_checks(checks.copied())
        };
        let ended = |outcome| {
            trials
                .iter()
                .filter(|it| it.outcome == Some(outcome))
                .count()
        };
        let complete = trials.iter().filter(|trial| trial.is_complete());
        let latency = Latency::from_times(complete.map(|trial| trial.cost.ms));
        let sum = |of: fn(&Trial) -> u64| trials.iter().map(of).fold(0, u64::saturating_add);
        let counted = trials.iter().filter(|trial| trial.cost.tokens() > 0);
        let costs: Option<Vec<f64>> = counted.map(|trial| trial.cost.cost_usd).collect();
        let costs = costs.filter(|costs| !costs.is_empty());
        let mut figures = Self {
            settings: settings.name.clone(),
            log: settings.with_log_apart().audit_log.display().to_string(),
            questions: trials.len(),
            route: share(ROUTE),
            sources: share(SOURCES),
            answers: share(ANSWER),
            answered: ended(Outcome::Answered),
            not_found: ended(Outcome::NotFound),
            failed: trials.len() - latency.count,
            calls: sum(|trial| u64::from(trial.cost.calls)),
            p50_ms: latency.median_ms,
            p95_ms: latency.p95_ms,
            prompt_tokens: sum(|trial| trial.cost.prompt_tokens),
            completion_tokens: sum(|trial| trial.cost.completion_tokens),
            cost_usd: costs.map(|costs| costs.iter().sum()),
            verdicts: Vec::new(),
        };
        figures.verdicts = limits.verdicts(&figures);
        figures
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
    /// The questions, of which none is asked yet.
    pub(super) fn begin(questions: Vec<ExpectedRun>) -> Self {
        let questions = questions.into_iter().map(|expected| AskedQuestion {
            expected,
            results: Vec::new(),
        });
        Self {
            questions: questions.collect(),
            summary: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Adds what came of every question under one of the settings.
    pub(super) fn add(&mut self, settings: &NamedSettings, trials: Vec<Trial>, limits: &Limits) {
        let name = &settings.name;
        let figures = RunFigures::new(settings, &trials, limits);
        let broken = figures.verdicts.iter().filter_map(|of| of.broken.as_ref());
        self.broken
            .extend(broken.map(|line| format!("{name}: {line}")));
        let asked = self.questions.iter().zip(&trials);
        let mut failed = asked.filter_map(|(asked, trial)| Some((asked, trial.trouble()?)));
        if let Some((asked, why)) = failed.next() {
            self.broken.push(format!(
                "{name}: {} of {} failed, the first {}: {}",
                figures.failed,
                plural(figures.questions, "question"),
                one_line(&asked.expected.id, 80),
                one_line(why, 400)
            ));
        }
        for (asked, trial) in self.questions.iter_mut().zip(trials) {
            let settings = name.clone();
            asked.results.push(NamedTrial { settings, trial });
        }
        self.summary.push(figures);
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
